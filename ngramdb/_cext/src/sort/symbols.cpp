// Passes over symbols and rows, for all widths of symbols.
#include <algorithm>

#include "ngramdb/sort/construction.hpp"

namespace ngramdb {

// A round takes less than a nanosecond.
constexpr uint64_t kPiece = 16 * uint64_t{kStopInterval};

template <class Sym>
SymbolCounts count_symbols(const Sym* text, uint64_t n, StopFlag stop) {
  SymbolCounts counts;
  for (uint64_t base = 0; base < n; base += kPiece) {
    check_stop(stop);
    const uint64_t end = std::min(base + kPiece, n);
    uint64_t n_separators = 0;
    Sym largest = 0;
    for (uint64_t i = base; i < end; ++i) {
      n_separators += text[i] == 0;
      largest = std::max(largest, text[i]);
    }
    counts.n_separators += n_separators;
    counts.largest = std::max<uint32_t>(counts.largest, largest);
  }
  return counts;
}

template <class Id, class Sym>
void write_symbols(const Id* ids, const int64_t* offsets, uint64_t n, Sym* out, StopFlag stop) {
  uint64_t n_since = 0;
  for (uint64_t k = 0; k < n; ++k) {
    const int64_t start = offsets[k], length = offsets[k + 1] - start;
    for (int64_t i = 0; i < length; ++i) out[i] = static_cast<Sym>(uint32_t{ids[start + i]} + 1);
    out[length] = 0;
    out += length + 1;
    n_since += static_cast<uint64_t>(length) + 1;
    if (n_since < kPiece) continue;
    n_since = 0;
    check_stop(stop);
  }
}

bool are_inside(const uint32_t* rows, uint64_t n_rows, uint64_t step, uint32_t mask, uint64_t n_text, StopFlag stop) {
  bool inside = true;
  for (uint64_t base = 0; base < n_rows; base += kPiece) {
    check_stop(stop);
    const uint64_t end = std::min(base + kPiece, n_rows);
    for (uint64_t i = base; i < end; i += step) inside = inside && (rows[i] & mask) < n_text;
  }
  return inside;
}

template SymbolCounts count_symbols(const uint8_t*, uint64_t, StopFlag);
template SymbolCounts count_symbols(const uint16_t*, uint64_t, StopFlag);
template SymbolCounts count_symbols(const uint32_t*, uint64_t, StopFlag);

#define NGRAMDB_WRITE_SYMBOLS(Id)                                                             \
  template void write_symbols(const Id*, const int64_t*, uint64_t, uint8_t*, StopFlag);       \
  template void write_symbols(const Id*, const int64_t*, uint64_t, uint16_t*, StopFlag);      \
  template void write_symbols(const Id*, const int64_t*, uint64_t, uint32_t*, StopFlag);

NGRAMDB_WRITE_SYMBOLS(uint8_t)
NGRAMDB_WRITE_SYMBOLS(uint16_t)
NGRAMDB_WRITE_SYMBOLS(uint32_t)

}  // namespace ngramdb
