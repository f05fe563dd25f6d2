// The arrays of a segment in another program's layout, and what makes a segment of them (table_segment.hpp,
// reversed_table_segment.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

// Arrays that somebody else keeps, usually mapped files.
struct TableArrays {
  const void* text = nullptr;
  uint64_t n_text = 0;  // tokens and separators
  const uint8_t* table = nullptr;
  uint64_t n_table = 0;  // pointers: one for each of them
  uint32_t pointer_bytes = 0;
  uint32_t unit = 1;  // what a pointer, or an offset, counts as one token: 1, or the bytes of a token
  // The separators that documents begin with; null if separators, if any, end documents.
  const uint64_t* offsets = nullptr;
  uint64_t n_documents = 0;  // of these
  TokenId separator = kNoToken;
  // First words of every stride-th row (table_key), ascending; null if they are not known yet.
  const uint64_t* keys = nullptr;
  uint64_t n_keys = 0, stride = 0;
};

// Most sampled rows: 512 KB of keys, which take 30 ms to read, once.
constexpr uint64_t kMostTableKeys = uint64_t{1} << 16;
inline uint64_t table_stride(uint64_t n_rows) { return std::max<uint64_t>(16, n_rows / kMostTableKeys + 1); }

// The interface of segments in such layouts, for any width of tokens.
class SampledSegment : public Segment {
 public:
  // The keys that searches use, of every stride-th row: n_rows / stride, rounded up.
  virtual void sample(uint64_t stride, uint64_t* keys, StopFlag stop) const = 0;
  virtual void set_keys(const uint64_t* keys, uint64_t n_keys, uint64_t stride) = 0;
};

// token_bytes: 1, 2 or 4. is_reversed: documents are stored in reverse, sorted by bytes.
SampledSegment* new_table_segment(const TableArrays& a, uint32_t token_bytes, bool by_bytes, bool is_reversed,
                                  std::string name);

}  // namespace ngramdb
