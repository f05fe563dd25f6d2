// The far index of a segment (far_index.hpp) as an array.
#pragma once

#include <cstdint>

#include "ngramdb/segment/keys.hpp"

namespace ngramdb {

inline uint64_t n_far_keys(uint64_t n_rows, uint64_t stride) { return (n_rows + stride - 1) / stride; }

// Nothing here is owned; `keys` is null if a segment has no far index.
struct FarIndex {
  const LongKey* keys = nullptr;  // of rows 0, stride, 2 stride, …
  const uint8_t* lcps = nullptr;
  uint64_t stride = 1;
};

}  // namespace ngramdb
