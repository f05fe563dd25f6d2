// The functions of construction.hpp for the three widths of symbols.
#include "ngramdb/segment/far_index.hpp"
#include "ngramdb/segment/row_lcps.hpp"
#include "ngramdb/segment/sampled_keys.hpp"
#include "ngramdb/sort/row_checking.hpp"
#include "ngramdb/sort/suffix_sort.hpp"

namespace ngramdb {

#define NGRAMDB_CONSTRUCTION(Sym)                                                                                    \
  template void sort_suffixes(const Sym*, uint32_t*, uint32_t, uint32_t, uint32_t, uint32_t, CoreBudget*, StopFlag); \
  template void mark_lcps(const Sym*, uint64_t, uint32_t*, uint64_t, uint32_t, CoreBudget*, StopFlag);               \
  template void build_far_index(const Sym*, uint64_t, Rows, uint64_t, uint64_t, LongKey*, uint8_t*, CoreBudget*,     \
                                StopFlag);                                                                           \
  template uint64_t first_wrong_row(const Sym*, uint64_t, Rows, uint64_t, CoreBudget*, StopFlag);                    \
  template void build_key_tree(const Sym*, uint64_t, Rows, uint64_t, uint64_t*, uint64_t*, StopFlag);

NGRAMDB_CONSTRUCTION(uint8_t)
NGRAMDB_CONSTRUCTION(uint16_t)
NGRAMDB_CONSTRUCTION(uint32_t)

}  // namespace ngramdb
