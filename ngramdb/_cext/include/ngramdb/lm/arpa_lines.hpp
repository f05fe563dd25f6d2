// Lines of an ARPA file: `log10 p`, the words, and `log10 backoff` unless the order is the highest.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ngramdb {

// Digits after the decimal point. Logarithms of doubles are above -324, so a scaled one fits in 64 bits.
constexpr int kArpaDigits = 8;
constexpr uint64_t kArpaScale = 100000000;

// Appends the shortest decimal of a value that is rounded to kArpaDigits digits, as Arrow casts a double to a string:
// "-0.5", "3", "-1.2e-7" (below 1e-6), "-inf".
inline void append_decimal(double value, std::string& to) {
  if (std::isnan(value)) {
    to += "nan";
    return;
  }
  if (value < 0) to += '-';
  value = std::fabs(value);
  if (value >= 1e10) {
    to += "inf";
    return;
  }
  const uint64_t scaled = static_cast<uint64_t>(std::llround(value * static_cast<double>(kArpaScale)));
  if (scaled > 0 && scaled < 100) {
    const bool two = scaled >= 10;
    to += static_cast<char>('0' + (two ? scaled / 10 : scaled));
    if (two && scaled % 10 != 0) (to += '.') += static_cast<char>('0' + scaled % 10);
    to += two ? "e-7" : "e-8";
    return;
  }
  to += std::to_string(scaled / kArpaScale);
  uint64_t rest = scaled % kArpaScale;
  if (rest == 0) return;
  char digits[kArpaDigits];
  for (int i = kArpaDigits - 1; i >= 0; --i, rest /= 10) digits[i] = static_cast<char>('0' + rest % 10);
  int n = kArpaDigits;
  while (digits[n - 1] == '0') --n;
  (to += '.').append(digits, static_cast<size_t>(n));
}

// Words by code: bytes [starts[code], starts[code + 1]).
struct Names {
  const char* bytes;
  const int64_t* starts;
  uint64_t size;
};

// Appends the lines of n-grams [first, n_ngrams) until `limit` bytes are there; returns the first n-gram that is left.
//
// `codes` has a row of n_ngrams codes for each position of the n-grams; `backoffs` may be null. An n-gram with a code
// that is too large stops the work: the result is its number, and `is_known` false.
inline uint64_t append_lines(const double* probs, const double* backoffs, const int64_t* codes, uint64_t n_ngrams,
                             uint64_t order, const Names& names, uint64_t first, size_t limit, std::string& to,
                             bool& is_known) {
  uint64_t i = first;
  for (; i < n_ngrams && to.size() < limit; ++i) {
    append_decimal(probs[i], to);
    for (uint64_t k = 0; k < order; ++k) {
      const uint64_t code = static_cast<uint64_t>(codes[k * n_ngrams + i]);
      if (code >= names.size) {
        is_known = false;
        return i;
      }
      to += k == 0 ? '\t' : ' ';
      to.append(names.bytes + names.starts[code], static_cast<size_t>(names.starts[code + 1] - names.starts[code]));
    }
    if (backoffs != nullptr) append_decimal(backoffs[i], to += '\t');
    to += '\n';
  }
  return i;
}

}  // namespace ngramdb
