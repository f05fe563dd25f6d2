// Merges for the three widths of symbols.
#include "ngramdb/sort/row_merging.hpp"

namespace ngramdb {

std::unique_ptr<RowMerge> make_row_merge(uint32_t symbol_bytes, const std::vector<MergeInput>& inputs) {
  if (symbol_bytes == 1) return std::make_unique<MergeOf<uint8_t>>(inputs);
  if (symbol_bytes == 2) return std::make_unique<MergeOf<uint16_t>>(inputs);
  return std::make_unique<MergeOf<uint32_t>>(inputs);
}

}  // namespace ngramdb
