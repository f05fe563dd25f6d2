// Segments in other programs' layouts, for the three widths of tokens.
#include "ngramdb/segment/reversed_table_segment.hpp"

namespace ngramdb {

template <template <class, bool> class Kind, bool kByBytes>
SampledSegment* new_table_segment_as(const TableArrays& a, uint32_t token_bytes, std::string name) {
  if (token_bytes == 1) return new Kind<uint8_t, kByBytes>(a, std::move(name));
  if (token_bytes == 2) return new Kind<uint16_t, kByBytes>(a, std::move(name));
  return new Kind<uint32_t, kByBytes>(a, std::move(name));
}

SampledSegment* new_table_segment(const TableArrays& a, uint32_t token_bytes, bool by_bytes, bool is_reversed,
                                         std::string name) {
  if (is_reversed) return new_table_segment_as<ReversedTableSegment, true>(a, token_bytes, std::move(name));
  return by_bytes ? new_table_segment_as<TableSegment, true>(a, token_bytes, std::move(name))
                  : new_table_segment_as<TableSegment, false>(a, token_bytes, std::move(name));
}

}  // namespace ngramdb
