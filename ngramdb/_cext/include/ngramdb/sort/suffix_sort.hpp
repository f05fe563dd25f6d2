// Suffix sorting in document-end order: by keys if that is expected to be faster, otherwise by induction (sais.hpp).
// The order is the same.
#pragma once

#include "ngramdb/sort/key_sort.hpp"
#include "ngramdb/base/memory.hpp"
#include "ngramdb/segment/row_lcps.hpp"
#include "ngramdb/sort/sais.hpp"

namespace ngramdb {

// Shorter texts are sorted in some milliseconds either way.
constexpr uint32_t kFewestForKeys = 1u << 16;

// Fills sa[0, n) with the positions of all suffixes in document-end order; the first n_separators rows
// are the separators themselves, by position.
//
// With an lcp_width, the other rows have LCPs of this many bits (rows.hpp), for which positions leave room.
//
// text: n symbols, each < n_symbols; the last one is a separator (0). n < 2^32 - 1. Works on several threads as far
// as `cores` has free ones (null: none). Raises Interrupted if its work must stop (checked every few
// milliseconds), std::bad_alloc if memory runs out.
template <class Sym>
void sort_suffixes(const Sym* text, uint32_t* sa, uint32_t n, uint32_t n_separators, uint32_t n_symbols,
                   uint32_t lcp_width, CoreBudget* cores, StopFlag stop) {
  if (n >= kFewestForKeys) return_free_memory();  // of reading and tokenizing
  // Counters of all symbols, two sets of them or more, must be small beside the rows.
  if (n >= kFewestForKeys && n_symbols <= n / 4) {
    const uint32_t width = sizeof(Sym) < 4 ? lcp_width : 0;
    keysort::Sorter<Sym> sorter(text, sa, n, n_symbols, width, cores, keysort::Limits{}, stop);
    if (sorter.sort()) {
      if (width != lcp_width) mark_lcps(text, n, sa + n_separators, n - n_separators, lcp_width, cores, stop);
      return;
    }
  }
  suffix_sort(text, sa, n, n_separators, n_symbols, stop);
  mark_lcps(text, n, sa + n_separators, n - n_separators, lcp_width, cores, stop);
}

}  // namespace ngramdb
