// The symbols on either side of rows, as language models read them. Members of SuffixSegment; included by
// suffix_segment.hpp.
#pragma once

#include "ngramdb/segment/suffix_segment.hpp"

namespace ngramdb {

template <class Sym>
void SuffixSegment<Sym>::neighbours(Range range, uint32_t depth, Code* lefts, Code* nexts) const {
  constexpr uint32_t kAhead = 16;
  const Interval rows = interval_of(range);
  need_suffixes(rows, depth + 1);
  for (uint32_t row = rows.lo; row < rows.hi; ++row) {
    if (row + kAhead < rows.hi) prefetch_line(a_.text + a_.rows[row + kAhead] + depth);
    const uint64_t at = a_.rows[row], behind = at + depth;
    if (__builtin_expect(behind >= a_.n_text, 0)) refuse(row, behind);
    *lefts++ = at == 0 ? kBorder : code_of_symbol(a_.text[at - 1]);
    *nexts++ = code_of_symbol(a_.text[behind]);
  }
}

template <class Sym>
uint32_t SuffixSegment<Sym>::prefix(Row row, uint32_t n, Code last, Code* out, Code* left) const {
  need_suffixes(interval_of({row, row + 1}), n);
  const uint32_t at = position_of(static_cast<uint32_t>(row));
  *left = at == 0 ? kBorder : code_of_symbol(a_.text[at - 1]);
  const uint64_t stop = std::min<uint64_t>(uint64_t{at} + n, a_.n_text);
  uint32_t length = 0;
  for (uint64_t i = at; i < stop; ++i) {
    const Code code = code_of_symbol(a_.text[i]);
    out[length++] = code;
    if (code == kBorder || code == last) break;
  }
  return length;
}

// Processes a word of symbols at a time: its bits show where two rows differ, and where one of them ends.
template <class Sym>
Outline SuffixSegment<Sym>::outline_by_words(const Sym* at, const Sym* before, uint32_t n, uint64_t lasts) const {
  Outline found{n, n, kBorder, false};
  for (uint32_t i = 0; i < n; i += kWordSymbols) {
    uint64_t word, word_before;
    std::memcpy(&word, at + i, sizeof(word));
    std::memcpy(&word_before, before + i, sizeof(word));
    if (found.lcp == n && word != word_before) found.lcp = std::min(n, i + first_symbol_of(word ^ word_before));
    const uint64_t ends = zeros_in<Sym>(word) | zeros_in<Sym>(word ^ lasts);
    if (__builtin_expect(ends != 0, 0)) {
      const uint32_t end = i + first_symbol_of(ends);
      found.ends = end < n;
      found.length = std::min(n, end + 1);
      break;
    }
  }
  found.lcp = std::min(found.lcp, found.length);
  return found;
}

template <class Sym>
Outline SuffixSegment<Sym>::outline(uint64_t at, uint64_t before, uint32_t n, Sym last) const {
  Outline found{0, 0, kBorder, false};
  const uint64_t stop = std::min<uint64_t>(at + n, a_.n_text);
  bool is_alike = true;
  for (uint64_t i = at; i < stop && !found.ends; ++i, ++before) {
    const Sym symbol = a_.text[i];
    is_alike = is_alike && before < a_.n_text && a_.text[before] == symbol;
    found.lcp += is_alike;
    ++found.length;
    found.ends = symbol == 0 || symbol == last;
  }
  return found;
}

template <class Sym>
void SuffixSegment<Sym>::outlines(Range range, uint32_t n, Code last, Outline* out) const {
  constexpr uint32_t kAhead = 24;
  constexpr uint64_t kOnes = ~uint64_t{0} / static_cast<uint64_t>(static_cast<Sym>(~Sym{0}));
  const Interval rows = interval_of(range);
  Sym end = 0;
  const TokenId last_id = TokenId{last} - 1;
  if (last != kBorder && !code_.encode(&last_id, 1, &end)) end = 0;
  // Rows nearer to the text's end are read symbol by symbol.
  const uint64_t n_words = (uint64_t{n} + kWordSymbols - 1) / kWordSymbols * kWordSymbols;
  need_suffixes({rows.lo - (rows.lo != 0), rows.hi}, static_cast<uint32_t>(n_words));
  uint64_t before = rows.lo == 0 ? a_.n_text : position_of(rows.lo - 1);
  for (uint32_t row = rows.lo; row < rows.hi; ++row) {
    if (row + kAhead < a_.n_rows) prefetch_line(a_.text + a_.rows[row + kAhead]);
    const uint64_t at = position_of(row);
    if (std::max(at, before) + n_words <= a_.n_text) {
      *out = outline_by_words(a_.text + at, a_.text + before, n, kOnes * end);
    } else {
      *out = outline(at, before, n, end);
    }
    (out++)->left = at == 0 ? kBorder : code_of_symbol(a_.text[at - 1]);
    before = at;
  }
}

template <class Sym>
Range SuffixSegment<Sym>::narrow(Range range, uint32_t depth, TokenId next) const {
  const Interval rows = interval_of(range);
  Sym symbol = 0;
  if (next != kNoToken && !code_.encode(&next, 1, &symbol)) return {rows.lo, rows.lo};
  const auto bound = [&](uint32_t lo, uint32_t hi, bool is_upper) {
    while (lo < hi) {
      const uint32_t middle = lo + (hi - lo) / 2;
      const Sym found = needed_symbol(middle, depth);
      if (found < symbol || (is_upper && found == symbol)) {
        lo = middle + 1;
      } else {
        hi = middle;
      }
    }
    return lo;
  };
  const uint32_t lo = bound(rows.lo, rows.hi, false);
  return {lo, bound(lo, rows.hi, true)};
}

}  // namespace ngramdb
