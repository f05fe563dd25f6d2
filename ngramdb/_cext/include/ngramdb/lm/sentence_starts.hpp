// Starts of sentences in the order of the rows there, without a pass over all rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/base/stoppable_sort.hpp"
#include "ngramdb/segment/segment.hpp"

namespace ngramdb {
namespace lm {

// Orders positions by the text there up to the document's end, then by position: groups that begin alike are divided
// by their next two tokens until they differ (multikey sorting by words: Bentley and Sedgewick, "Fast algorithms for
// sorting and searching strings", SODA 1997).
//
// Cost: no token is read that does not distinguish two texts; 16 bytes of memory a position.
class TextOrder {
 public:
  TextOrder(const Segment& segment, StopFlag stop) : segment_(segment), stop_(stop) {}

  void sort(std::vector<Position>& positions) {
    places_.clear();
    places_.reserve(positions.size());
    for (const Position at : positions) places_.push_back({0, at});
    std::vector<Group> groups{{0, places_.size(), 0}};
    while (!groups.empty()) {
      const Group group = groups.back();
      groups.pop_back();
      order(group);
      for (size_t i = group.lo; i < group.hi;) {
        const size_t lo = i;
        while (i < group.hi && places_[i].key == places_[lo].key) ++i;
        const bool has_ended = static_cast<Code>(places_[lo].key) == kBorder;
        if (i - lo > 1 && !has_ended) groups.push_back({lo, i, group.depth + kSymbols});
      }
    }
    for (size_t i = 0; i < places_.size(); ++i) positions[i] = places_[i].at;
  }

 private:
  static constexpr uint32_t kSymbols = 2;

  struct Place {
    uint64_t key;  // codes of the next symbols
    Position at;
    bool operator<(const Place& other) const { return key != other.key ? key < other.key : at < other.at; }
  };
  // Places [lo, hi) share their first `depth` symbols.
  struct Group {
    size_t lo, hi;
    uint64_t depth;
  };

  void order(const Group& group) {
    for (size_t i = group.lo; i < group.hi; ++i) {
      places_[i].key = key_at(places_[i].at + group.depth);
      if (++n_read_ % kStopInterval == 0) check_stop(stop_);
    }
    const auto first = places_.begin() + static_cast<std::ptrdiff_t>(group.lo);
    const auto last = places_.begin() + static_cast<std::ptrdiff_t>(group.hi);
    if (!std::is_sorted(first, last)) sort_stoppably(first, last, stop_);
  }

  uint64_t key_at(Position at) const {
    TokenId ids[kSymbols] = {kNoToken, kNoToken};
    segment_.tokens(at, kSymbols, ids);
    return static_cast<uint64_t>(ids[0] + 1) << 32 | static_cast<uint64_t>(ids[1] + 1);
  }

  const Segment& segment_;
  const StopFlag stop_;
  std::vector<Place> places_;
  uint64_t n_read_ = 0;
};

}  // namespace lm
}  // namespace ngramdb
