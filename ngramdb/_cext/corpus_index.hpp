// Questions to several segments at once. Every answer is a sum over segments, each with its sign: added segments
// count +1, subtracted ones -1.
//
// A token sequence "occurs" when its net count is positive. Net counts never grow with length, so the longest
// suffix that occurs is found by search over lengths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cores.hpp"
#include "memory.hpp"
#include "prefetch.hpp"
#include "segment.hpp"

namespace ngramdb {

// What P(token | context) is made of. effective_n: length of the context that was used, plus one. sparse: the
// context has just one continuation.
struct Estimate {
  int64_t cont_count = 0;
  int64_t context_count = 0;
  int32_t effective_n = 0;
  bool sparse = false;
};

struct Distribution {
  std::vector<Run> runs;         // of next tokens, ascending by id; counts are net, none is zero
  int64_t n_ends = 0;            // occurrences of the context at a document's end
  int64_t context_count = 0;
  uint32_t context_length = 0;   // of the suffix that was used
  bool is_left_out = false;      // the context occurs more often than asked for
};

// One of several distributions whose runs stand one behind the other: where its own end.
struct DistributionEnd {
  uint64_t n_runs = 0;  // up to here
  int64_t n_ends = 0;
  int64_t context_count = 0;
  int64_t context_length = 0;
};

class CorpusIndex {
 public:
  // Searches that are kept in flight.
  static constexpr size_t kLanes = 32;
  // Up to so many requests, several segments are searched side by side: more of them overlap within a segment, at a
  // lower price.
  static constexpr size_t kFewRequests = 2;
  // Questions between two looks at the stop flag: 20 µs of counts with one segment, 20 ms of long contexts with dozens.
  static constexpr size_t kStopLanes = 8 * kLanes;

  void add(const Segment* segment, int sign) {
    segments_.push_back(segment);
    signs_.push_back(sign);
    only_added_ = only_added_ && sign > 0;
  }

  size_t n_segments() const { return segments_.size(); }
  const Segment* segment(size_t i) const { return segments_[i]; }

  int64_t n_tokens() const {
    int64_t sum = 0;
    for (size_t s = 0; s < segments_.size(); ++s) sum += signs_[s] * static_cast<int64_t>(segments_[s]->n_rows());
    return sum;
  }

  // Net counts of n requests; with `ranges`, also the rows in every segment, ranges[i * n_segments + s].
  void find(const Request* requests, size_t n, int64_t* counts, Range* ranges = nullptr) const;

  int64_t count(const int64_t* ids, uint32_t n) const {
    const Request request{ids, n};
    int64_t answer;
    find(&request, 1, &answer);
    return answer;
  }

  // n-grams as ids[offsets[i], offsets[i + 1]).
  // Large batches are worked on by several threads.
  void count_many(const int64_t* ids, const int64_t* offsets, size_t n, int64_t* counts,
                  StopFlag stop = nullptr) const;

  // P(token | context) of n pairs. order: 0, or the number of tokens that an n-gram has at most.
  void estimate(const int64_t* contexts, const int64_t* offsets, const int64_t* tokens, size_t n, bool longest_suffix,
                uint32_t order, Estimate* out, StopFlag stop = nullptr) const;

  // Estimates for every token of a document, given the tokens before it.
  void score(const int64_t* ids, size_t n, bool longest_suffix, uint32_t order, Estimate* out,
             StopFlag stop = nullptr) const;

  Distribution distribution(const int64_t* context, uint32_t n, bool longest_suffix, uint32_t order, int64_t most,
                            StopFlag stop) const;

  // The same for n contexts ids[offsets[i], offsets[i + 1]): their runs one behind the other, and where each one's end.
  void distributions(const int64_t* ids, const int64_t* offsets, size_t n, bool longest_suffix, uint32_t order,
                     std::vector<Run>& runs, DistributionEnd* ends, StopFlag stop) const;

 private:
  // A context that ends at `end`: the longest of its suffixes that occurs, or so far the best known.
  struct Suffix {
    const int64_t* end = nullptr;
    uint32_t length = 0;    // occurs
    uint32_t too_long = 0;  // does not occur, or must not be looked at
    int64_t count = 0;
    uint32_t probe = 0;
    uint32_t first_probe = 3;  // matches are short far more often than not
  };

  size_t width() const { return segments_.size(); }
  bool find_alongside(const Request* requests, size_t n, int64_t* counts, Range* ranges) const;
  void extend(Request* requests, const Range* within, size_t n, int64_t* counts, Range* ranges) const;
  void begin_longest(const int64_t* end, uint32_t length, Suffix& suffix, Range* ranges) const;
  void find_longest(Suffix* suffixes, Range* ranges, size_t n) const;
  void find_longest_alone(Suffix& suffix, Range* ranges) const;
  bool is_sparse(const Range* ranges, uint32_t depth, int64_t count, StopFlag stop) const;
  bool is_net_sparse(const Range* ranges, uint32_t depth, int64_t count, StopFlag stop) const;
  void count_piece(const int64_t* ids, const int64_t* offsets, const std::vector<uint32_t>& order, size_t start,
                   size_t end, size_t n, int64_t* counts) const;
  int64_t n_subtracted(const Range* ranges) const;
  int64_t merge_continuations(const Range* ranges, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const;
  void estimate_ngrams(const int64_t* contexts, const int64_t* offsets, const int64_t* tokens, size_t n,
                       uint32_t order, Estimate* out, StopFlag stop) const;
  void estimate_suffixes(const int64_t* contexts, const int64_t* offsets, const int64_t* tokens, size_t n,
                         uint32_t order, Estimate* out, StopFlag stop) const;
  void score_ngrams(const int64_t* ids, size_t n, uint32_t order, Estimate* out, StopFlag stop) const;
  void score_whole_contexts(const int64_t* ids, size_t n, Estimate* out, StopFlag stop) const;
  void score_suffixes(const int64_t* ids, size_t n, uint32_t order, Estimate* out, StopFlag stop) const;

  std::vector<const Segment*> segments_;
  std::vector<int> signs_;
  bool only_added_ = true;
};

inline void CorpusIndex::find(const Request* requests, size_t n, int64_t* counts, Range* ranges) const {
  if (width() > 1 && n <= kFewRequests && find_alongside(requests, n, counts, ranges)) return;
  Range answers[2 * kLanes];
  for (size_t base = 0; base < n; base += 2 * kLanes) {
    const size_t m = std::min(n - base, 2 * kLanes);
    std::fill(counts + base, counts + base + m, int64_t{0});
    for (size_t s = 0; s < width(); ++s) {
      segments_[s]->find(requests + base, answers, m);
      for (size_t i = 0; i < m; ++i) {
        counts[base + i] += signs_[s] * static_cast<int64_t>(answers[i].size());
        if (ranges != nullptr) ranges[(base + i) * width() + s] = answers[i];
      }
    }
  }
}

// Few requests to several segments: the searches of a dozen segments run side by side, as those of many requests do in
// one, the last segment's first: what is subtracted is small, and found while the large ones are waited for. False when a
// request is too long for that; nothing has been answered then.
inline bool CorpusIndex::find_alongside(const Request* requests, size_t n, int64_t* counts, Range* ranges) const {
  for (size_t i = 0; i < n; ++i) {
    if (requests[i].n > kProbeTokens || requests[i].narrow) return false;
  }
  constexpr size_t kProbes = 12;
  Probe probes[kProbes];
  size_t active[kProbes];
  std::fill(counts, counts + n, int64_t{0});
  const size_t total = n * width();  // number k is request k % n
  const auto segment_of = [&](size_t k) { return width() - 1 - k / n; };
  for (size_t base = 0; base < total; base += kProbes) {
    const size_t m = std::min(kProbes, total - base);
    for (size_t k = 0; k < m; ++k) {
      segments_[segment_of(base + k)]->begin(requests[(base + k) % n], probes[k]);
      active[k] = k;
    }
    const int n_levels = levels_ahead(m);
    for (size_t n_active = m; n_active > 0;) {
      size_t n_left = 0;
      for (size_t k = 0; k < n_active; ++k) {
        if (segments_[segment_of(base + active[k])]->advance(probes[active[k]], n_levels)) active[n_left++] = active[k];
      }
      n_active = n_left;
    }
    for (size_t k = 0; k < m; ++k) {
      const size_t s = segment_of(base + k), i = (base + k) % n;
      const Range answer = segments_[s]->found(probes[k]);
      counts[i] += signs_[s] * static_cast<int64_t>(answer.size());
      if (ranges != nullptr) ranges[i * width() + s] = answer;
    }
  }
  return true;
}

// ---- batches of counts ----------------------------------------------------------------------------------

namespace batch {

// Batches of at least so many queries are sorted first: neighbours then share cache lines.
constexpr size_t kSortFrom = 1024;
// … unless they are longer than so many tokens on the average: fetching them out of order then costs more than it saves.
constexpr int64_t kSortedLength = 16;

// Order of the n-grams by their first two tokens (as far as 33 bits tell them apart), by counting sort.
inline std::vector<uint32_t> sorted_order(const int64_t* ids, const int64_t* offsets, size_t n) {
  constexpr int kDigit = 11;
  constexpr uint64_t kMask = (1u << kDigit) - 1;
  uint64_t largest = 0;
  for (size_t i = 0; i < n; ++i) {
    if (offsets[i + 1] > offsets[i]) largest = std::max(largest, static_cast<uint64_t>(ids[offsets[i]]) & 0xffffffffu);
  }
  int bits = 1;
  while (bits < 32 && (largest >> bits) != 0) ++bits;
  std::vector<uint64_t> keys(n), next_keys(n);
  std::vector<uint32_t> order(n), next_order(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t length = offsets[i + 1] - offsets[i];
    const uint64_t first = length > 0 ? static_cast<uint64_t>(ids[offsets[i]]) & 0xffffffffu : 0;
    const uint64_t second = length > 1 ? static_cast<uint64_t>(ids[offsets[i] + 1]) & 0xffffffffu : 0;
    // second may have more bits than the largest first token: cut, it is but a hint
    const uint64_t cut = std::min<uint64_t>(second, (uint64_t{1} << bits) - 1);
    const uint64_t key = (first << bits) | cut;
    keys[i] = 2 * bits > 3 * kDigit ? key >> (2 * bits - 3 * kDigit) : key;
    order[i] = static_cast<uint32_t>(i);
  }
  std::vector<size_t> start(size_t{1} << kDigit);
  for (int pass = 0; pass < 3 && pass * kDigit < 2 * bits; ++pass) {
    std::fill(start.begin(), start.end(), size_t{0});
    for (size_t i = 0; i < n; ++i) ++start[(keys[i] >> (pass * kDigit)) & kMask];
    size_t sum = 0;
    for (size_t& entry : start) {
      const size_t size = entry;
      entry = sum;
      sum += size;
    }
    for (size_t i = 0; i < n; ++i) {
      const size_t to = start[(keys[i] >> (pass * kDigit)) & kMask]++;
      next_keys[to] = keys[i];
      next_order[to] = order[i];
    }
    keys.swap(next_keys);
    order.swap(next_order);
  }
  return order;
}

// Batches of at least so many queries, milliseconds of work, are shared by all cores that are free, in pieces of about
// half a millisecond: on a busy machine the last piece may have to be waited for, and a
// thread takes some 30 microseconds to start.
constexpr size_t kShareFrom = 8192;
constexpr size_t kPiece = 1024;

}  // namespace batch

inline void CorpusIndex::count_many(const int64_t* ids, const int64_t* offsets, size_t n, int64_t* counts,
                                    StopFlag stop) const {
  std::vector<uint32_t> order;
  if (n >= batch::kSortFrom && offsets[n] - offsets[0] <= batch::kSortedLength * static_cast<int64_t>(n)) {
    order = batch::sorted_order(ids, offsets, n);
  }
  Team team(n >= batch::kShareFrom ? &Cores::of_machine() : nullptr, stop);
  std::atomic<size_t> next{0};
  team.run([&](uint32_t thread) {
    for (size_t start; (start = next.fetch_add(batch::kPiece)) < n;) {
      team.look(thread);
      count_piece(ids, offsets, order, start, std::min(start + batch::kPiece, n), n, counts);
    }
  });
}

// Queries start … end - 1 of n, in their order if there is one.
inline void CorpusIndex::count_piece(const int64_t* ids, const int64_t* offsets, const std::vector<uint32_t>& order,
                                     size_t start, size_t end, size_t n, int64_t* counts) const {
  Request requests[kLanes];
  int64_t answers[kLanes];
  constexpr size_t kAhead = 2 * kLanes;
  for (size_t base = start; base < end; base += kLanes) {
    const size_t m = std::min(kLanes, end - base);
    for (size_t i = 0; i < m; ++i) {
      if (!order.empty() && base + i + kAhead < n) {
        prefetch_line(offsets + order[base + i + kAhead]);
        const size_t soon = order[base + i + kAhead / 2];
        constexpr int64_t kPerLine = 64 / sizeof(int64_t);
        for (int64_t id = offsets[soon]; id < offsets[soon + 1]; id += kPerLine) prefetch_line(ids + id);
      }
      const size_t q = order.empty() ? base + i : order[base + i];
      requests[i] = Request{ids + offsets[q], static_cast<uint32_t>(offsets[q + 1] - offsets[q])};
    }
    find(requests, m, answers);
    for (size_t i = 0; i < m; ++i) counts[order.empty() ? base + i : order[base + i]] = answers[i];
  }
}

// ---- longest suffixes -----------------------------------------------------------------------------------

// Nothing is known of the `length` tokens before `end`: the empty suffix occurs everywhere.
inline void CorpusIndex::begin_longest(const int64_t* end, uint32_t length, Suffix& suffix, Range* ranges) const {
  suffix = Suffix{};
  suffix.end = end;
  suffix.too_long = length + 1;
  suffix.count = n_tokens();
  for (size_t s = 0; s < width(); ++s) ranges[s] = {0, static_cast<uint32_t>(segments_[s]->n_rows())};
}

// One probe a round and suffix: doubling lengths until one does not occur, then bisection.
inline void CorpusIndex::find_longest(Suffix* suffixes, Range* ranges, size_t n) const {
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
    find(requests, m, counts, found.data());
    for (size_t k = 0; k < m; ++k) {
      Suffix& x = suffixes[which[k]];
      if (counts[k] > 0) {
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
inline void CorpusIndex::find_longest_alone(Suffix& suffix, Range* ranges) const {
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
    find(requests, m, counts, found.data());
    for (uint32_t k = 0; k < m; ++k) {
      if (counts[k] <= 0) {
        suffix.too_long = requests[k].n;
        break;
      }
      suffix.length = requests[k].n;
      suffix.count = counts[k];
      std::copy_n(found.data() + k * width(), width(), ranges);
    }
  }
}

// ---- estimates ------------------------------------------------------------------------------------------

// True when the context (count > 0) has one continuation and never ends a document.
inline bool CorpusIndex::is_sparse(const Range* ranges, uint32_t depth, int64_t count, StopFlag stop) const {
  if (!only_added_ && n_subtracted(ranges) > 0) return is_net_sparse(ranges, depth, count, stop);
  int64_t only = kManyTokens;
  for (size_t s = 0; s < width(); ++s) {
    if (ranges[s].size() == 0) continue;
    const int64_t id = segments_[s]->only_continuation(ranges[s], depth);
    if (id < 0 || (only >= 0 && only != id)) return false;
    only = id;
  }
  return only >= 0;
}

inline int64_t CorpusIndex::n_subtracted(const Range* ranges) const {
  int64_t sum = 0;
  for (size_t s = 0; s < width(); ++s) sum += signs_[s] < 0 ? ranges[s].size() : 0;
  return sum;
}

// The same where subtracted segments have the context, too. All that the others have but one token must then be
// taken off. Where less is taken off than stays, that token is behind most of the added rows, so behind the middle one
// of some added segment: rows are sorted by it.
inline bool CorpusIndex::is_net_sparse(const Range* ranges, uint32_t depth, int64_t count, StopFlag stop) const {
  if (count <= n_subtracted(ranges)) {
    std::vector<Run> next;
    merge_continuations(ranges, depth, next, stop);
    return next.size() == 1 && next[0].count == count;
  }
  const auto token_behind = [&](size_t s, uint32_t row) {
    return segments_[s]->only_continuation(Range{row, row + 1}, depth);
  };
  const auto first_above = [&](size_t s, int64_t id) {  // first row whose next token is above
    uint32_t lo = ranges[s].lo, hi = ranges[s].hi;
    while (lo < hi) {
      const uint32_t middle = lo + (hi - lo) / 2;
      if (token_behind(s, middle) <= id) {
        lo = middle + 1;
      } else {
        hi = middle;
      }
    }
    return static_cast<int64_t>(lo);
  };
  for (size_t c = 0; c < width(); ++c) {
    if (signs_[c] < 0 || ranges[c].size() == 0) continue;
    const int64_t id = token_behind(c, ranges[c].lo + ranges[c].size() / 2);
    if (id < 0) continue;
    int64_t net = 0;
    for (size_t s = 0; s < width(); ++s) net += signs_[s] * (first_above(s, id) - first_above(s, id - 1));
    if (net == count) return true;
  }
  return false;
}

inline void CorpusIndex::estimate(const int64_t* contexts, const int64_t* offsets, const int64_t* tokens, size_t n,
                                  bool longest_suffix, uint32_t order, Estimate* out, StopFlag stop) const {
  if (longest_suffix) {
    estimate_suffixes(contexts, offsets, tokens, n, order, out, stop);
  } else {
    estimate_ngrams(contexts, offsets, tokens, n, order, out, stop);
  }
}

inline uint32_t usable_length(int64_t length, uint32_t order) {
  const int64_t most = order == 0 ? int64_t{UINT32_MAX} - 2 : int64_t{order} - 1;
  return static_cast<uint32_t>(std::min(length, most));
}

inline void CorpusIndex::estimate_ngrams(const int64_t* contexts, const int64_t* offsets, const int64_t* tokens,
                                         size_t n, uint32_t order, Estimate* out, StopFlag stop) const {
  // Context and context + token are two searches that run side by side.
  Request requests[2 * kLanes];
  int64_t counts[2 * kLanes];
  std::vector<Range> ranges(2 * kLanes * width());
  std::vector<int64_t> ids;
  for (size_t base = 0; base < n; base += kLanes) {
    if (base % kStopLanes == 0) check_stop(stop, base, n);
    const size_t m = std::min(kLanes, n - base);
    ids.clear();
    size_t total = 0;
    for (size_t i = base; i < base + m; ++i) total += usable_length(offsets[i + 1] - offsets[i], order) + size_t{1};
    ids.reserve(total);
    for (size_t i = 0; i < m; ++i) {
      const uint32_t length = usable_length(offsets[base + i + 1] - offsets[base + i], order);
      const int64_t* const end = contexts + offsets[base + i + 1];
      const int64_t* const joined = ids.data() + ids.size();
      ids.insert(ids.end(), end - length, end);
      ids.push_back(tokens[base + i]);
      requests[2 * i] = Request{joined, length};
      requests[2 * i + 1] = Request{joined, length + 1};
    }
    find(requests, 2 * m, counts, ranges.data());
    for (size_t i = 0; i < m; ++i) {
      const int64_t context_count = counts[2 * i], cont_count = counts[2 * i + 1];
      bool sparse = context_count > 0 && cont_count == context_count;
      if (context_count > 0 && cont_count == 0) {
        sparse = is_sparse(ranges.data() + 2 * i * width(), requests[2 * i].n, context_count, stop);
      }
      out[base + i] = {cont_count, context_count, static_cast<int32_t>(requests[2 * i].n + 1), sparse};
    }
  }
}

inline void CorpusIndex::estimate_suffixes(const int64_t* contexts, const int64_t* offsets, const int64_t* tokens,
                                           size_t n, uint32_t order, Estimate* out, StopFlag stop) const {
  Suffix suffixes[kLanes];
  Request requests[kLanes];
  int64_t counts[kLanes];
  std::vector<Range> ranges(kLanes * width());
  std::vector<int64_t> ids;
  for (size_t base = 0; base < n; base += kLanes) {
    if (base % kStopLanes == 0) check_stop(stop, base, n);
    const size_t m = std::min(kLanes, n - base);
    for (size_t i = 0; i < m; ++i) {
      const uint32_t length = usable_length(offsets[base + i + 1] - offsets[base + i], order);
      begin_longest(contexts + offsets[base + i + 1], length, suffixes[i], ranges.data() + i * width());
    }
    if (m == 1) {
      find_longest_alone(suffixes[0], ranges.data());
    } else {
      find_longest(suffixes, ranges.data(), m);
    }
    ids.clear();
    size_t total = 0;
    for (size_t i = 0; i < m; ++i) total += suffixes[i].length + size_t{1};
    ids.reserve(total);
    for (size_t i = 0; i < m; ++i) {
      const uint32_t length = suffixes[i].length;
      const int64_t* const joined = ids.data() + ids.size();
      ids.insert(ids.end(), suffixes[i].end - length, suffixes[i].end);
      ids.push_back(tokens[base + i]);
      requests[i] = Request{joined, length + 1, length, true};
    }
    extend(requests, ranges.data(), m, counts, nullptr);
    for (size_t i = 0; i < m; ++i) {
      const Suffix& x = suffixes[i];
      bool sparse = x.count > 0 && counts[i] == x.count;
      if (x.count > 0 && counts[i] == 0) sparse = is_sparse(ranges.data() + i * width(), x.length, x.count, stop);
      out[base + i] = {counts[i], x.count, static_cast<int32_t>(x.length + 1), sparse};
    }
  }
}

// Narrows each request within its own rows of every segment.
inline void CorpusIndex::extend(Request* requests, const Range* within, size_t n, int64_t* counts,
                                Range* ranges) const {
  Range answers[kLanes];
  std::fill(counts, counts + n, int64_t{0});
  for (size_t s = 0; s < width(); ++s) {
    for (size_t i = 0; i < n; ++i) requests[i].within = within[i * width() + s];
    segments_[s]->find(requests, answers, n);
    for (size_t i = 0; i < n; ++i) {
      counts[i] += signs_[s] * static_cast<int64_t>(answers[i].size());
      if (ranges != nullptr) ranges[i * width() + s] = answers[i];
    }
  }
}

// ---- whole documents ------------------------------------------------------------------------------------

inline void CorpusIndex::score(const int64_t* ids, size_t n, bool longest_suffix, uint32_t order,
                               Estimate* out, StopFlag stop) const {
  if (longest_suffix) {
    score_suffixes(ids, n, order, out, stop);
  } else if (order > 0) {
    score_ngrams(ids, n, order, out, stop);
  } else {
    score_whole_contexts(ids, n, out, stop);
  }
}

inline void CorpusIndex::score_ngrams(const int64_t* ids, size_t n, uint32_t order, Estimate* out,
                                      StopFlag stop) const {
  Request requests[2 * kLanes];
  int64_t counts[2 * kLanes];
  std::vector<Range> ranges(2 * kLanes * width());
  for (size_t base = 0; base < n; base += kLanes) {
    if (base % kStopLanes == 0) check_stop(stop);
    const size_t m = std::min(kLanes, n - base);
    for (size_t i = 0; i < m; ++i) {
      const uint32_t length = usable_length(static_cast<int64_t>(base + i), order);
      requests[2 * i] = Request{ids + base + i - length, length};
      requests[2 * i + 1] = Request{ids + base + i - length, length + 1};
    }
    find(requests, 2 * m, counts, ranges.data());
    for (size_t i = 0; i < m; ++i) {
      const int64_t context_count = counts[2 * i], cont_count = counts[2 * i + 1];
      bool sparse = context_count > 0 && cont_count == context_count;
      if (context_count > 0 && cont_count == 0) {
        sparse = is_sparse(ranges.data() + 2 * i * width(), requests[2 * i].n, context_count, stop);
      }
      out[base + i] = {cont_count, context_count, static_cast<int32_t>(requests[2 * i].n + 1), sparse};
    }
  }
}

// Contexts that reach back to the document's start: once one does not occur, no later one does.
inline void CorpusIndex::score_whole_contexts(const int64_t* ids, size_t n, Estimate* out, StopFlag stop) const {
  std::vector<Range> ranges(width()), next(width());
  for (size_t s = 0; s < width(); ++s) ranges[s] = {0, static_cast<uint32_t>(segments_[s]->n_rows())};
  int64_t context_count = n_tokens();
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopLanes == 0) check_stop(stop);
    int64_t cont_count = 0;
    bool sparse = false;
    if (context_count > 0) {
      Request request{ids, static_cast<uint32_t>(i + 1), static_cast<uint32_t>(i), true};
      extend(&request, ranges.data(), 1, &cont_count, next.data());
      sparse = cont_count == context_count ||
               (cont_count == 0 && is_sparse(ranges.data(), static_cast<uint32_t>(i), context_count, stop));
      ranges.swap(next);
    }
    out[i] = {cont_count, context_count, static_cast<int32_t>(i + 1), sparse};
    context_count = cont_count;
  }
}

// The document is cut into pieces that are worked on side by side, so that their memory accesses overlap. Within a
// piece the match slides: it is extended by the token scored while that occurs, else the longest
// suffix that still occurs is searched for among the shorter ones.
inline void CorpusIndex::score_suffixes(const int64_t* ids, size_t n, uint32_t order, Estimate* out,
                                        StopFlag stop) const {
  touch_pages(out, sizeof(Estimate) * n, [&] { check_stop(stop); });
  constexpr size_t kShortestPiece = 24;  // the search at a piece's start costs as much as a few tokens
  const size_t n_pieces = std::max<size_t>(1, std::min(kLanes, n / kShortestPiece));
  struct Piece {
    size_t at, stop;
  };
  Piece pieces[kLanes];
  Suffix suffixes[kLanes], searched[kLanes];
  size_t search_of[kLanes], active[kLanes];
  Request requests[kLanes];
  int64_t counts[kLanes];
  const size_t w = width();
  std::vector<Range> ranges(kLanes * w), within(kLanes * w), extended(kLanes * w), found(kLanes * w);
  std::vector<Range> everything(w);
  for (size_t s = 0; s < w; ++s) everything[s] = {0, static_cast<uint32_t>(segments_[s]->n_rows())};
  const int64_t total_tokens = n_tokens();

  for (size_t p = 0; p < n_pieces; ++p) {
    pieces[p] = {n * p / n_pieces, n * (p + 1) / n_pieces};
    suffixes[p] = Suffix{};
    suffixes[p].end = ids + pieces[p].at;
    suffixes[p].too_long = usable_length(static_cast<int64_t>(pieces[p].at), order) + 1;
    suffixes[p].count = total_tokens;
    std::copy_n(everything.data(), w, ranges.data() + p * w);
  }
  find_longest(suffixes, ranges.data(), n_pieces);

  for (size_t round = 0;; ++round) {
    if (round % (kStopLanes / kLanes) == 0) check_stop(stop);
    size_t m = 0;
    for (size_t p = 0; p < n_pieces; ++p) {
      if (pieces[p].at == pieces[p].stop) continue;
      const uint32_t length = suffixes[p].length;
      requests[m] = Request{ids + pieces[p].at - length, length + 1, length, true};
      std::copy_n(ranges.data() + p * w, w, within.data() + m * w);
      active[m++] = p;
    }
    if (m == 0) return;
    extend(requests, within.data(), m, counts, extended.data());
    size_t n_searched = 0;
    for (size_t k = 0; k < m; ++k) {
      const size_t p = active[k];
      Suffix& x = suffixes[p];
      bool sparse = x.count > 0 && counts[k] == x.count;
      if (x.count > 0 && counts[k] == 0) sparse = is_sparse(within.data() + k * w, x.length, x.count, stop);
      out[pieces[p].at] = {counts[k], x.count, static_cast<int32_t>(x.length + 1), sparse};
      ++pieces[p].at;
      const uint32_t longest = usable_length(static_cast<int64_t>(pieces[p].at), order);
      if (counts[k] > 0 && x.length + 1 <= longest) {
        ++x.length;
        x.count = counts[k];
        std::copy_n(extended.data() + k * w, w, ranges.data() + p * w);
        continue;
      }
      if (pieces[p].at == pieces[p].stop) continue;
      Suffix& y = searched[n_searched];
      y = Suffix{};
      y.end = ids + pieces[p].at;
      y.count = total_tokens;
      // What has just been seen: the token behind the whole match does not occur, or is longer than the order allows.
      y.too_long = std::min(x.length, longest) + 1;
      if (counts[k] > 0) y.first_probe = longest;  // a suffix of what occurs
      search_of[n_searched++] = p;
    }
    for (size_t k = 0; k < n_searched; ++k) std::copy_n(everything.data(), w, found.data() + k * w);
    find_longest(searched, found.data(), n_searched);
    for (size_t k = 0; k < n_searched; ++k) {
      suffixes[search_of[k]] = searched[k];
      std::copy_n(found.data() + k * w, w, ranges.data() + search_of[k] * w);
    }
  }
}

// ---- distributions --------------------------------------------------------------------------------------

// Appends net counts by token, ascending, zeros left out; returns the net number of document ends.
inline int64_t CorpusIndex::merge_continuations(const Range* ranges, uint32_t depth, std::vector<Run>& runs,
                                                StopFlag stop) const {
  const size_t first = runs.size();
  int64_t n_ends = 0;
  for (size_t s = 0; s < width(); ++s) {
    const size_t n_before = runs.size();
    n_ends += signs_[s] * static_cast<int64_t>(segments_[s]->continuations(ranges[s], depth, runs, stop));
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

inline Distribution CorpusIndex::distribution(const int64_t* context, uint32_t n, bool longest_suffix, uint32_t order,
                                              int64_t most, StopFlag stop) const {
  Distribution answer;
  const uint32_t length = usable_length(n, order);
  std::vector<Range> ranges(width());
  if (longest_suffix) {
    Suffix suffix;
    begin_longest(context + n, length, suffix, ranges.data());
    find_longest_alone(suffix, ranges.data());
    answer.context_length = suffix.length;
    answer.context_count = suffix.count;
  } else {
    const Request request{context + (n - length), length};
    find(&request, 1, &answer.context_count, ranges.data());
    answer.context_length = length;
  }
  answer.is_left_out = answer.context_count > most;
  if (answer.is_left_out) return answer;
  answer.n_ends = merge_continuations(ranges.data(), answer.context_length, answer.runs, stop);
  return answer;
}

inline void CorpusIndex::distributions(const int64_t* ids, const int64_t* offsets, size_t n, bool longest_suffix,
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
      find_longest(suffixes, ranges.data(), m);
    } else {
      find(requests, m, counts, ranges.data());
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
