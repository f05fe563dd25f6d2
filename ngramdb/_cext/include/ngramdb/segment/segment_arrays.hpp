// The arrays of a segment in ngramdb's own layout, and what makes a segment of them.
#pragma once

#include <cstdint>
#include <string>

#include "ngramdb/segment/far_keys.hpp"
#include "ngramdb/segment/rows.hpp"
#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

class Checksums;

template <class Sym>
struct SegmentArrays {
  const Sym* text = nullptr;  // documents, each followed by a separator, with one at each break
  uint64_t n_text = 0;
  Rows rows;
  uint64_t n_rows = 0;
  const uint64_t* tree = nullptr;
  const uint64_t* rest = nullptr;
  const uint32_t* starts = nullptr;  // n_documents + 1; the last one is n_text
  uint64_t n_documents = 0;
  Breaks breaks;  // few, and checked when the segment is opened
  uint64_t gap = 0;
  Checksums* checksums = nullptr;  // of the file of the arrays; null if nothing is verified here
  uint64_t most_verified = 0;  // bytes of rows and of text that are verified; of more, pointers are checked alone
  FarIndex far;  // for remote files, if they have one
};

// Sym: uint8_t, uint16_t or uint32_t. `file` is named in errors. The caller owns the segment, and keeps the arrays.
template <class Sym>
Segment* new_suffix_segment(const SegmentArrays<Sym>& arrays, std::string file);

}  // namespace ngramdb
