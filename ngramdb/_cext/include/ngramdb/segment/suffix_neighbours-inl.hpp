// What stands on either side of rows, as language models read it. Members of SuffixSegment; included by
// suffix_segment.hpp.
#pragma once

#include "ngramdb/segment/suffix_segment.hpp"

namespace ngramdb {

template <class Sym>
void SuffixSegment<Sym>::neighbours(Range range, uint32_t depth, Code* lefts, Code* nexts) const {
  verify_suffixes();
  constexpr uint32_t kAhead = 16;
  const Interval rows = interval_of(range);
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
  verify_suffixes();
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

template <class Sym>
Range SuffixSegment<Sym>::narrow(Range range, uint32_t depth, TokenId next) const {
  verify_suffixes();
  const Interval rows = interval_of(range);
  Sym symbol = 0;
  if (next != kNoToken && !code_.encode(&next, 1, &symbol)) return {rows.lo, rows.lo};
  const auto bound = [&](uint32_t lo, uint32_t hi, bool is_upper) {
    while (lo < hi) {
      const uint32_t middle = lo + (hi - lo) / 2;
      const Sym found = symbol_behind(middle, depth);
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
