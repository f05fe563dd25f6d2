// The types of a corpus: which tokens occur, how often, and in which rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/lm/successors.hpp"

namespace ngramdb {
namespace lm {

// The types of a corpus, ascending, with their counts and rows.
class Vocabulary {
 public:
  Vocabulary(const Columns& columns, StopFlag stop) {
    const size_t w = columns.width();
    struct Entry {
      Code code;
      uint32_t column;
      Range rows;
    };
    std::vector<Entry> entries;
    for (size_t s = 0; s < w; ++s) {
      for (const Child& run : runs_of_types(columns[s].segment(), stop)) {
        if (run.id == columns.separator()) continue;
        entries.push_back({static_cast<Code>(run.id + 1), static_cast<uint32_t>(s), run.rows});
      }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.code < b.code; });
    for (size_t i = 0; i < entries.size();) {
      const Code code = entries[i].code;
      int64_t count = 0;
      std::vector<Range> rows(w);
      for (; i < entries.size() && entries[i].code == code; ++i) {
        rows[entries[i].column] = entries[i].rows;
        count += columns[entries[i].column].sign() * static_cast<int64_t>(entries[i].rows.size());
      }
      if (count <= 0) continue;
      codes.push_back(code);
      counts.push_back(count);
      ranges.insert(ranges.end(), rows.begin(), rows.end());
    }
    const Code largest = codes.empty() ? 0 : codes.back();
    // A table as long as the ids, unless they are so far apart that searching takes less memory.
    if (largest < kDense || largest < 8 * codes.size()) {
      index_.assign(size_t{largest} + 1, -1);
      for (size_t i = 0; i < codes.size(); ++i) index_[codes[i]] = static_cast<int32_t>(i);
    }
  }

  size_t size() const { return codes.size(); }

  // Number of a code's type, or -1.
  int64_t find(int64_t code) const {
    if (code <= 0) return -1;
    if (!index_.empty()) return static_cast<uint64_t>(code) < index_.size() ? index_[static_cast<size_t>(code)] : -1;
    const auto found = std::lower_bound(codes.begin(), codes.end(), static_cast<Code>(code));
    return found != codes.end() && *found == code ? found - codes.begin() : -1;
  }

  // Fetches what is known of a code's type.
  void prefetch(int64_t code, size_t width) const {
    const int64_t type = find(code);
    if (type < 0) return;
    prefetch_line(counts.data() + type);
    prefetch_line(ranges.data() + static_cast<size_t>(type) * width);
  }

  std::vector<Code> codes;
  std::vector<int64_t> counts;
  std::vector<Range> ranges;  // of type i in segment s: ranges[i * width + s]

 private:
  static std::vector<Child> runs_of_types(const Segment& segment, StopFlag stop) {
    std::vector<Child> found;
    if (!segment.in_token_order()) {
      segment.children(segment.all(), 0, found, stop);
      return found;
    }
    std::vector<Run> runs;  // a kind may know a faster way to these
    segment.successors(segment.all(), 0, runs, stop);
    Row lo = 0;
    for (const Run& run : runs) {
      const Row hi = lo + static_cast<Row>(run.count);
      found.push_back({run.id, {lo, hi}});
      lo = hi;
    }
    return found;
  }

  static constexpr Code kDense = 1u << 22;
  std::vector<int32_t> index_;
};

}  // namespace lm
}  // namespace ngramdb
