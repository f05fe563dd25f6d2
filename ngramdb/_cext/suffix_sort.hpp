// Suffix sorting in document-end order: by keys where that promises to be faster, by induction (sais.hpp) elsewhere.
// The order is the same.
#pragma once

#include "key_sort.hpp"
#include "memory.hpp"
#include "sais.hpp"

namespace ngramdb {

// Shorter texts are sorted in some milliseconds either way.
constexpr uint32_t kFewestForKeys = 1u << 16;

// Fills sa[0, n) with the positions of all suffixes in document-end order; the first n_separators rows
// are the separators themselves, by position.
//
// text: n symbols, each < n_symbols; the last one is a separator (0). n < 2^32 - 1. Works on several threads as far
// as `cores` has some free (null: it has none). Raises Interrupted when its work shall stop (looked at every few
// milliseconds), std::bad_alloc when memory ends.
template <class Sym>
void sort_suffixes(const Sym* text, uint32_t* sa, uint32_t n, uint32_t n_separators, uint32_t n_symbols, Cores* cores,
                   StopFlag stop) {
  if (n >= kFewestForKeys) return_free_memory();  // of reading and tokenizing
  // Counters of all symbols, two sets of them or more, must be small beside the rows.
  if (n >= kFewestForKeys && n_symbols <= n / 4) {
    keysort::Sorter<Sym> sorter(text, sa, n, n_symbols, cores, keysort::Limits{}, stop);
    if (sorter.sort()) return;
  }
  suffix_sort(text, sa, n, n_separators, n_symbols, stop);
}

}  // namespace ngramdb
