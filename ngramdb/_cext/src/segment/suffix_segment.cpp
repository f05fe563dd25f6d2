// Segments in ngramdb's own layout, for the three widths of symbols.
#include "ngramdb/segment/suffix_segment.hpp"

namespace ngramdb {

template <class Sym>
Segment* new_suffix_segment(const SegmentArrays<Sym>& arrays, std::string file) {
  return new SuffixSegment<Sym>(arrays, std::move(file));
}

template Segment* new_suffix_segment(const SegmentArrays<uint8_t>&, std::string);
template Segment* new_suffix_segment(const SegmentArrays<uint16_t>&, std::string);
template Segment* new_suffix_segment(const SegmentArrays<uint32_t>&, std::string);

}  // namespace ngramdb
