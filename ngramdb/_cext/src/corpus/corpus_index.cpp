#include "ngramdb/corpus/corpus_index.hpp"

#include "ngramdb/corpus/corpus_counts-inl.hpp"
#include "ngramdb/corpus/corpus_distributions-inl.hpp"
#include "ngramdb/corpus/corpus_estimates-inl.hpp"
#include "ngramdb/corpus/corpus_matches-inl.hpp"
#include "ngramdb/corpus/corpus_suffixes-inl.hpp"

namespace ngramdb {

void CorpusIndex::find(const Request* requests, size_t n, int64_t* counts, Range* ranges,
                              StopFlag stop) const {
  if (n <= kFewRequests && find_alongside(requests, n, counts, ranges)) return;
  Room<Range, 2 * kLanes> answers;
  for (size_t base = 0, m; base < n; base += m) {
    m = n_searched_together(requests + base, std::min(n - base, 2 * kLanes));
    const uint64_t work = work_of(requests + base, m);
    std::fill(counts + base, counts + base + m, int64_t{0});
    for (size_t s = 0; s < width(); ++s) {
      spend(stop, work);
      segments_[s]->find(requests + base, answers, m);
      for (size_t i = 0; i < m; ++i) {
        counts[base + i] += signs_[s] * static_cast<int64_t>(answers[i].size());
        if (ranges != nullptr) ranges[(base + i) * width() + s] = answers[i];
      }
    }
  }
}

// Few requests: the searches of a dozen segments run side by side, as those of many requests do in one, the last segment's
// first: what is subtracted is small, and found while the large ones are waited for. False when a request is too long for
// that; nothing has been answered then.
inline bool CorpusIndex::find_alongside(const Request* requests, size_t n, int64_t* counts, Range* ranges) const {
  for (size_t i = 0; i < n; ++i) {
    if (requests[i].n > kProbeTokens || requests[i].narrow) return false;
  }
  constexpr size_t kProbes = 12;
  struct Lane {
    const Segment* segment;
    size_t number, request;  // of the segment, and which request
  };
  Probe probes[kProbes];
  Lane lanes[kProbes];
  size_t active[kProbes];
  std::fill(counts, counts + n, int64_t{0});
  size_t s = width() - 1, i = 0;  // whose turn it is to begin
  for (size_t left = n * width(); left > 0;) {
    const size_t m = std::min(kProbes, left);
    left -= m;
    for (size_t k = 0; k < m; ++k) {
      lanes[k] = {segments_[s], s, i};
      segments_[s]->begin(requests[i], probes[k]);
      active[k] = k;
      if (++i == n) {
        i = 0;
        --s;
      }
    }
    const int n_levels = levels_ahead(m);
    for (size_t n_active = m; n_active > 0;) {
      size_t n_left = 0;
      for (size_t k = 0; k < n_active; ++k) {
        const size_t lane = active[k];
        if (lanes[lane].segment->advance(probes[lane], n_levels)) active[n_left++] = lane;
      }
      n_active = n_left;
    }
    for (size_t k = 0; k < m; ++k) {
      const Lane& lane = lanes[k];
      const Range answer = lane.segment->found(probes[k]);
      counts[lane.request] += signs_[lane.number] * static_cast<int64_t>(answer.size());
      if (ranges != nullptr) ranges[lane.request * width() + lane.number] = answer;
    }
  }
  return true;
}

// Narrows each request within its own rows of every segment.
inline void CorpusIndex::extend(Request* requests, const Range* within, size_t n, int64_t* counts,
                                Range* ranges, StopFlag stop) const {
  Room<Range, kLanes> answers;
  std::fill(counts, counts + n, int64_t{0});
  for (size_t s = 0; s < width(); ++s) {
    for (size_t i = 0; i < n; ++i) requests[i].within = within[i * width() + s];
    find_stoppably(*segments_[s], requests, answers, n, stop);
    for (size_t i = 0; i < n; ++i) {
      counts[i] += signs_[s] * static_cast<int64_t>(answers[i].size());
      if (ranges != nullptr) ranges[i * width() + s] = answers[i];
    }
  }
}

}  // namespace ngramdb

