// Next-token distributions. Members of CorpusIndex; included by src/corpus/corpus_index.cpp alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/corpus/corpus_index.hpp"
#include "ngramdb/base/stoppable_sort.hpp"

namespace ngramdb {

// Appends net counts by token, ascending, zeros left out; returns the net number of document ends.
inline int64_t CorpusIndex::merge_continuations(const Range* ranges, uint32_t depth, std::vector<Run>& runs,
                                                StopFlag stop) const {
  const size_t first = runs.size();
  int64_t n_ends = 0;
  for (size_t s = 0; s < width(); ++s) {
    const size_t n_before = runs.size();
    n_ends += signs_[s] * static_cast<int64_t>(segments_[s]->successors(ranges[s], depth, runs, stop));
    if (signs_[s] > 0) continue;
    for (size_t i = n_before; i < runs.size(); ++i) runs[i].count = -runs[i].count;
  }
  if (width() == 1 && only_added_) return n_ends;
  const auto precedes = [](const Run& a, const Run& b) { return a.id < b.id; };
  sort_stoppably(runs.begin() + static_cast<std::ptrdiff_t>(first), runs.end(), precedes, stop);
  size_t last = first;
  for (size_t i = first; i < runs.size();) {
    Run sum{runs[i].id, 0};
    for (; i < runs.size() && runs[i].id == sum.id; ++i) sum.count += runs[i].count;
    if (sum.count != 0) runs[last++] = sum;
  }
  runs.resize(last);
  return n_ends;
}

Distribution CorpusIndex::distribution(const int64_t* context, uint32_t n, bool longest_suffix, uint32_t order,
                                              int64_t most, StopFlag stop) const {
  Distribution answer;
  const uint32_t length = usable_length(n, order);
  std::vector<Range> ranges(width());
  if (longest_suffix) {
    Suffix suffix;
    begin_longest(context + n, length, suffix, ranges.data());
    find_longest_alone(suffix, ranges.data(), stop);
    answer.context_length = suffix.length;
    answer.context_count = suffix.count;
  } else {
    const Request request{context + (n - length), length};
    find(&request, 1, &answer.context_count, ranges.data(), stop);
    answer.context_length = length;
  }
  answer.is_left_out = answer.context_count > most;
  if (answer.is_left_out) return answer;
  answer.n_ends = merge_continuations(ranges.data(), answer.context_length, answer.runs, stop);
  return answer;
}

void CorpusIndex::distributions(const int64_t* ids, const int64_t* offsets, size_t n, bool longest_suffix,
                                       uint32_t order, std::vector<Run>& runs, DistributionEnd* ends,
                                       StopFlag stop) const {
  Suffix suffixes[kLanes];
  Request requests[kLanes];
  int64_t counts[kLanes];
  std::vector<Range> ranges(kLanes * width());
  for (size_t base = 0; base < n; base += kLanes) {
    if (base % kStopLanes == 0) check_stop(stop, base, n);
    const size_t m = std::min(kLanes, n - base);
    for (size_t i = 0; i < m; ++i) {
      const int64_t* const end = ids + offsets[base + i + 1];
      const uint32_t length = usable_length(offsets[base + i + 1] - offsets[base + i], order);
      requests[i] = Request{end - length, length};
      if (longest_suffix) begin_longest(end, length, suffixes[i], ranges.data() + i * width());
    }
    if (longest_suffix) {
      find_longest(suffixes, ranges.data(), m, stop);
    } else {
      find(requests, m, counts, ranges.data(), stop);
    }
    for (size_t i = 0; i < m; ++i) {
      DistributionEnd& answer = ends[base + i];
      answer.context_length = longest_suffix ? suffixes[i].length : requests[i].n;
      answer.context_count = longest_suffix ? suffixes[i].count : counts[i];
      for (size_t s = 0; s < width(); ++s) {
        segments_[s]->prefetch_continuations(ranges[i * width() + s], static_cast<uint32_t>(answer.context_length));
      }
    }
    for (size_t i = 0; i < m; ++i) {
      DistributionEnd& answer = ends[base + i];
      const uint32_t depth = static_cast<uint32_t>(answer.context_length);
      answer.n_ends = merge_continuations(ranges.data() + i * width(), depth, runs, stop);
      answer.n_runs = runs.size();
    }
  }
}

}  // namespace ngramdb
