// Functions that build and verify the arrays of a segment, for symbols of type uint8_t, uint16_t and uint32_t: declarations
// alone, for callers that need not compile the rest.
#pragma once

#include <cstdint>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/thread_team.hpp"
#include "ngramdb/segment/keys.hpp"
#include "ngramdb/segment/rows.hpp"

namespace ngramdb {

// The composition of a text.
struct SymbolCounts {
  uint64_t n_separators = 0;
  uint32_t largest = 0;
};

// src/sort/symbols.cpp
template <class Sym>
SymbolCounts count_symbols(const Sym* text, uint64_t n, StopFlag stop);

// Writes n documents ids[offsets[i], offsets[i + 1]) as symbols: each id plus one, and a 0 after each document.
template <class Id, class Sym>
void write_symbols(const Id* ids, const int64_t* offsets, uint64_t n, Sym* out, StopFlag stop);

// Returns true if the position of every step-th row, its bits under the mask, is below n_text.
bool are_inside(const uint32_t* rows, uint64_t n_rows, uint64_t step, uint32_t mask, uint64_t n_text, StopFlag stop);

// suffix_sort.hpp
template <class Sym>
void sort_suffixes(const Sym* text, uint32_t* sa, uint32_t n, uint32_t n_separators, uint32_t n_symbols,
                   uint32_t lcp_width, CoreBudget* cores, StopFlag stop);

// row_lcps.hpp
template <class Sym>
void mark_lcps(const Sym* text, uint64_t n_text, uint32_t* rows, uint64_t n_rows, uint32_t lcp_width, CoreBudget* cores,
               StopFlag stop);

// far_index.hpp
template <class Sym>
void build_far_index(const Sym* text, uint64_t n_text, Rows rows, uint64_t n_rows, uint64_t stride, LongKey* keys,
                     uint8_t* lcps, CoreBudget* cores, StopFlag stop);

// row_checking.hpp
template <class Sym>
uint64_t first_wrong_row(const Sym* text, uint64_t n_text, Rows rows, uint64_t n_rows, CoreBudget* cores,
                         StopFlag stop);

// sampled_keys.hpp
template <class Sym>
void build_key_tree(const Sym* text, uint64_t n_text, Rows rows, uint64_t n_rows, uint64_t* tree, uint64_t* rest,
                    StopFlag stop);

}  // namespace ngramdb
