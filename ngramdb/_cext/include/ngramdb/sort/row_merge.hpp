// Merging suffix arrays: the interface. row_merging.hpp implements it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/segment/rows.hpp"

namespace ngramdb {

// A bit of `wanted` is for so many positions.
constexpr uint32_t kWantedBlock = 8;

// One text and its suffix array, whose symbols mean the same in all inputs.
struct MergeInput {
  const void* text = nullptr;  // documents, each followed by a separator (0)
  uint64_t n_text = 0;
  Rows rows;
  uint64_t n_rows = 0;
  bool has_lcps = true;  // whether the LCPs of its rows are of these symbols
  bool in_large_pages = false;  // whether the text is: read-ahead then pays off
  // The beginnings of documents, and flags of those that remain; null if all do.
  const uint32_t* starts = nullptr;
  const uint8_t* kept = nullptr;
  uint64_t n_documents = 0;
  // For read(), without removed documents: a bit per kWantedBlock positions, of which the others' rows are left out; null
  // to read all rows.
  const uint64_t* wanted = nullptr;
  std::string file;  // what errors call it
};

// The LCP of two suffixes that are equal up to the ends of their documents.
constexpr int64_t kEqualLcp = INT64_MAX;

// Receives the rows of a merge in their order.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // A suffix, and its exact LCP in bits with the row before, or kEqualLcp. Returns false to end the reading.
  virtual bool row(uint32_t input, uint32_t position, int64_t lcp) = 0;
};

// A merge, whatever the width of symbols. First plan(), then count() for every chunk, then merge() for every chunk and
// join() for every chunk but the first; each of these in any thread, count() and merge() of different chunks at once.
class RowMerge {
 public:
  virtual ~RowMerge() = default;

  // Divides the work into chunks of about this many rows; returns their number.
  virtual uint64_t plan(uint64_t chunk_rows, StopFlag stop) = 0;
  // The number of remaining rows of the chunk, without those that are left out.
  virtual uint64_t count(uint64_t chunk, StopFlag stop) = 0;
  // Writes the chunk's `n_rows` rows, of which the first is row `first_row`, with LCPs of this many bits, or far LCPs into
  // `lcps` if that is not null; and those of their keys that the directory has into level 0 of `tree`, and into `rest`.
  virtual void merge(uint64_t chunk, uint64_t first_row, uint32_t* out, uint64_t n_rows, uint32_t lcp_width,
                     uint8_t* lcps, uint64_t* tree, uint64_t* rest, StopFlag stop) = 0;
  // Passes all rows from the chunk's first one on to a reader, until it returns false.
  virtual void read(uint64_t chunk, RowReader& reader, StopFlag stop) = 0;
  // The first of an input's rows in a chunk; behind the last chunk, their number.
  virtual uint64_t bound(uint64_t chunk, uint32_t input) const = 0;
  // The LCP of a chunk's first row with the last row of the one before, both of which have been made, or `most`.
  virtual uint32_t joint(uint64_t chunk, uint32_t most) = 0;

  // The number of comparisons of two symbols.
  uint64_t n_compared() const { return n_compared_; }

 protected:
  std::atomic<uint64_t> n_compared_{0};
};

// A merge of texts with symbols of this many bytes.
std::unique_ptr<RowMerge> make_row_merge(uint32_t symbol_bytes, const std::vector<MergeInput>& inputs);

}  // namespace ngramdb
