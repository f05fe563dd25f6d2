// Windows of text that occur several times, found in a pass over the rows of suffix arrays: the interface.
// src/corpus/duplicate_windows.cpp implements it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/sort/row_merge.hpp"

namespace ngramdb {

// The rank of a document that does not count.
constexpr uint32_t kLeftOut = ~uint32_t{0};

// A text whose windows are compared; no documents are removed from `input`.
struct WindowText {
  MergeInput input;
  const uint32_t* ranks = nullptr;  // of its documents, all different over all texts: the smallest is the best
  uint64_t* marks = nullptr;  // a bit per position
};

// The window of a position begins there, lies within a document, and has `length` symbols; or, with weights of symbols,
// it is the shortest one whose symbols weigh at least `length`.
struct WindowRule {
  uint64_t length = 1;
  const uint32_t* weights = nullptr;
  uint64_t n_weights = 0;
  uint64_t min_count = 2;  // windows that occur more rarely are ignored
  bool marks_starts = false;  // mark the positions of all occurrences, not the symbols to cut
  bool keeps_one = true;  // the best occurrence of each window is not cut
};

// Marks occurrences of repeated windows. First sample() for every text that is to be sampled, then choose() for every one
// of them, then plan(), then mark() for every chunk; each but plan() in any thread.
class DuplicateWindows {
 public:
  virtual ~DuplicateWindows() = default;
  // The number of texts to sample: none where rows alone tell enough.
  virtual uint64_t n_sampled() const = 0;
  virtual void sample(uint32_t text, StopFlag stop) = 0;
  virtual void choose(uint32_t text, StopFlag stop) = 0;
  // Divides the rows into at most this many chunks; returns their number.
  virtual uint64_t plan(uint64_t n_chunks, StopFlag stop) = 0;
  virtual void mark(uint64_t chunk, StopFlag stop) = 0;
};

// Texts (at least one) with symbols of this many bytes, which mean the same in all.
std::unique_ptr<DuplicateWindows> make_duplicate_windows(uint32_t symbol_bytes, const std::vector<WindowText>& texts,
                                                         const WindowRule& rule);

// The half-open ranges of set bits among the first n: appends their beginnings and ends.
void ranges_of_bits(const uint64_t* bits, uint64_t n, std::vector<uint32_t>& starts, std::vector<uint32_t>& stops,
                    StopFlag stop);

}  // namespace ngramdb
