// The longest suffix of a context that occurs. Members of CorpusIndex; included by src/corpus/corpus_index.cpp alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/corpus/corpus_index.hpp"

namespace ngramdb {

// Nothing is known of the `length` tokens before `end`: the empty suffix occurs everywhere.
inline void CorpusIndex::begin_longest(const int64_t* end, uint32_t length, Suffix& suffix, Range* ranges) const {
  suffix = Suffix{};
  suffix.end = end;
  suffix.too_long = length + 1;
  suffix.count = n_tokens();
  for (size_t s = 0; s < width(); ++s) ranges[s] = segments_[s]->all();
}

// One probe a round and suffix: doubling lengths until one occurs fewer than `least` times, then bisection.
inline void CorpusIndex::find_longest(Suffix* suffixes, Range* ranges, size_t n, StopFlag stop,
                                      int64_t least) const {
  Request requests[kLanes];
  int64_t counts[kLanes];
  size_t which[kLanes];
  std::vector<Range> found(kLanes * width());
  for (;;) {
    size_t m = 0;
    for (size_t i = 0; i < n; ++i) {
      Suffix& x = suffixes[i];
      if (x.length + 1 >= x.too_long) continue;
      const uint32_t gap = x.too_long - x.length;
      const uint32_t ahead = x.probe == 0 ? x.first_probe : std::max<uint32_t>(1, std::min(gap / 2, x.length + 1));
      x.probe = x.length + std::min(ahead, gap - 1);
      requests[m] = Request{x.end - x.probe, x.probe};
      which[m++] = i;
    }
    if (m == 0) return;
    find(requests, m, counts, found.data(), stop);
    for (size_t k = 0; k < m; ++k) {
      Suffix& x = suffixes[which[k]];
      if (counts[k] >= least) {
        x.length = x.probe;
        x.count = counts[k];
        std::copy_n(found.data() + k * width(), width(), ranges + which[k] * width());
      } else {
        x.too_long = x.probe;
      }
    }
  }
}

// Several lengths a round, since their searches overlap: two or three rounds for matches of up to ten tokens, and
// for contexts that occur whole.
inline void CorpusIndex::find_longest_alone(Suffix& suffix, Range* ranges, StopFlag stop, int64_t least) const {
  constexpr uint32_t kProbes = 4;
  constexpr uint32_t kFirst[kProbes - 1] = {2, 5, 10};
  Request requests[kProbes];
  int64_t counts[kProbes];
  std::vector<Range> found(kProbes * width());
  bool first_round = true;
  while (suffix.length + 1 < suffix.too_long) {
    const uint32_t gap = suffix.too_long - suffix.length;
    uint32_t m = 0;
    const auto probe = [&](uint32_t length) {
      if (length <= (m == 0 ? suffix.length : requests[m - 1].n) || length >= suffix.too_long) return;
      requests[m++] = Request{suffix.end - length, length};
    };
    if (first_round) {
      for (const uint32_t ahead : kFirst) probe(suffix.length + ahead);
      probe(suffix.too_long - 1);
    } else if (gap <= kProbes + 1) {
      for (uint32_t ahead = 1; ahead < gap; ++ahead) probe(suffix.length + ahead);
    } else {
      for (uint32_t k = 1; k <= kProbes; ++k) {
        probe(suffix.length + static_cast<uint32_t>(uint64_t{gap} * k / (kProbes + 1)));
      }
    }
    first_round = false;
    find(requests, m, counts, found.data(), stop);
    for (uint32_t k = 0; k < m; ++k) {
      if (counts[k] < least) {
        suffix.too_long = requests[k].n;
        break;
      }
      suffix.length = requests[k].n;
      suffix.count = counts[k];
      std::copy_n(found.data() + k * width(), width(), ranges);
    }
  }
}

}  // namespace ngramdb
