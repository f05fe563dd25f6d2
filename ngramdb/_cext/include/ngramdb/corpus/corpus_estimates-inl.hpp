// P(token | context), of pairs and of whole documents. Members of CorpusIndex; included by src/corpus/corpus_index.cpp alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/corpus/corpus_index.hpp"
#include "ngramdb/base/memory.hpp"

namespace ngramdb {

// The estimate after a context of `depth` tokens, whose rows are given.
inline Estimate CorpusIndex::estimate_of(int64_t cont_count, int64_t context_count, const Range* ranges, uint32_t depth,
                                         StopFlag stop) const {
  const bool sparse = context_count > 0 && (cont_count == context_count ||
                                            (cont_count == 0 && is_sparse(ranges, depth, context_count, stop)));
  return {cont_count, context_count, static_cast<int32_t>(depth + 1), sparse};
}

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
// subtracted. If less is subtracted than remains, that token follows most of the added rows, and therefore the middle one
// of some added segment: the rows that it follows are adjacent.
inline bool CorpusIndex::is_net_sparse(const Range* ranges, uint32_t depth, int64_t count, StopFlag stop) const {
  if (count <= n_subtracted(ranges)) {
    std::vector<Run> next;
    merge_continuations(ranges, depth, next, stop);
    return next.size() == 1 && next[0].count == count;
  }
  const auto token_behind = [&](size_t s, Row row) {
    return segments_[s]->only_continuation(Range{row, row + 1}, depth);
  };
  for (size_t c = 0; c < width(); ++c) {
    if (signs_[c] < 0 || ranges[c].size() == 0) continue;
    const int64_t id = token_behind(c, ranges[c].lo + ranges[c].size() / 2);
    if (id < 0) continue;
    int64_t net = 0;
    for (size_t s = 0; s < width(); ++s) {
      net += signs_[s] * static_cast<int64_t>(segments_[s]->narrow(ranges[s], depth, id).size());
    }
    if (net == count) return true;
  }
  return false;
}

void CorpusIndex::estimate(const int64_t* contexts, const int64_t* offsets, const int64_t* tokens, size_t n,
                                  bool longest_suffix, uint32_t order, Estimate* out, StopFlag stop) const {
  if (longest_suffix) {
    estimate_suffixes(contexts, offsets, tokens, n, order, out, stop);
  } else {
    estimate_ngrams(contexts, offsets, tokens, n, order, out, stop);
  }
}

inline void CorpusIndex::estimate_ngrams(const int64_t* contexts, const int64_t* offsets, const int64_t* tokens,
                                         size_t n, uint32_t order, Estimate* out, StopFlag stop) const {
  // Context and context + token are two searches that run side by side.
  Room<Request, 2 * kLanes> requests;
  int64_t counts[2 * kLanes];
  std::vector<Range> ranges(2 * std::min(kLanes, n) * width());
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
    find(requests, 2 * m, counts, ranges.data(), stop);
    for (size_t i = 0; i < m; ++i) {
      const Range* const context = ranges.data() + 2 * i * width();
      out[base + i] = estimate_of(counts[2 * i + 1], counts[2 * i], context, requests[2 * i].n, stop);
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
      find_longest_alone(suffixes[0], ranges.data(), stop);
    } else {
      find_longest(suffixes, ranges.data(), m, stop);
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
    extend(requests, ranges.data(), m, counts, nullptr, stop);
    for (size_t i = 0; i < m; ++i) {
      const Suffix& x = suffixes[i];
      out[base + i] = estimate_of(counts[i], x.count, ranges.data() + i * width(), x.length, stop);
    }
  }
}

// ---- whole documents ------------------------------------------------------------------------------------

void CorpusIndex::score(const int64_t* ids, size_t n, bool longest_suffix, uint32_t order,
                               Estimate* out, StopFlag stop, int64_t least) const {
  if (longest_suffix) {
    score_suffixes(ids, n, order, out, stop, least);
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
    find(requests, 2 * m, counts, ranges.data(), stop);
    for (size_t i = 0; i < m; ++i) {
      const Range* const context = ranges.data() + 2 * i * width();
      out[base + i] = estimate_of(counts[2 * i + 1], counts[2 * i], context, requests[2 * i].n, stop);
    }
  }
}

// Contexts that reach back to the document's start: once one does not occur, no later one does.
inline void CorpusIndex::score_whole_contexts(const int64_t* ids, size_t n, Estimate* out, StopFlag stop) const {
  std::vector<Range> ranges(width()), next(width());
  for (size_t s = 0; s < width(); ++s) ranges[s] = segments_[s]->all();
  int64_t context_count = n_tokens();
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopLanes == 0) check_stop(stop);
    const uint32_t depth = static_cast<uint32_t>(i);
    int64_t cont_count = 0;
    if (context_count > 0) {
      Request request{ids, depth + 1, depth, true};
      extend(&request, ranges.data(), 1, &cont_count, next.data(), stop);
    }
    out[i] = estimate_of(cont_count, context_count, ranges.data(), depth, stop);
    ranges.swap(next);
    context_count = cont_count;
  }
}

// The document is cut into pieces that are worked on side by side, so that their memory accesses overlap. Within a
// piece the match slides: it is extended by the token scored while that occurs, else the longest
// suffix that still occurs is searched for among the shorter ones.
inline void CorpusIndex::score_suffixes(const int64_t* ids, size_t n, uint32_t order, Estimate* out,
                                        StopFlag stop, int64_t least) const {
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
  for (size_t s = 0; s < w; ++s) everything[s] = segments_[s]->all();
  const int64_t total_tokens = n_tokens();
  EndedMatches matches;
  EndedMatches::Key ended[kLanes];

  for (size_t p = 0; p < n_pieces; ++p) {
    pieces[p] = {n * p / n_pieces, n * (p + 1) / n_pieces};
    suffixes[p] = Suffix{};
    suffixes[p].end = ids + pieces[p].at;
    suffixes[p].too_long = usable_length(static_cast<int64_t>(pieces[p].at), order) + 1;
    suffixes[p].count = total_tokens;
    std::copy_n(everything.data(), w, ranges.data() + p * w);
  }
  find_longest(suffixes, ranges.data(), n_pieces, stop, least);

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
    extend(requests, within.data(), m, counts, extended.data(), stop);
    size_t n_searched = 0;
    for (size_t k = 0; k < m; ++k) {
      const size_t p = active[k];
      Suffix& x = suffixes[p];
      out[pieces[p].at] = estimate_of(counts[k], x.count, within.data() + k * w, x.length, stop);
      ++pieces[p].at;
      const uint32_t longest = usable_length(static_cast<int64_t>(pieces[p].at), order);
      if (counts[k] >= least && x.length + 1 <= longest) {
        ++x.length;
        x.count = counts[k];
        std::copy_n(extended.data() + k * w, w, ranges.data() + p * w);
        continue;
      }
      if (pieces[p].at == pieces[p].stop) continue;
      Suffix& y = searched[n_searched];
      y = Suffix{};
      y.end = ids + pieces[p].at;
      ended[n_searched] = {};
      if (counts[k] < least && x.length >= kLongMatch) {
        ended[n_searched] = EndedMatches::key_of(within.data() + k * w, w, x.length, y.end[-1]);
        if (matches.get(ended[n_searched], y.end, x, ranges.data() + p * w)) continue;
      }
      y.count = total_tokens;
      // Known from the step before: the token after the whole match does not occur, or is longer than the order allows.
      y.too_long = std::min(x.length, longest) + 1;
      if (counts[k] >= least) y.first_probe = longest;  // a suffix of what occurs
      search_of[n_searched++] = p;
    }
    for (size_t k = 0; k < n_searched; ++k) std::copy_n(everything.data(), w, found.data() + k * w);
    find_longest(searched, found.data(), n_searched, stop, least);
    for (size_t k = 0; k < n_searched; ++k) {
      suffixes[search_of[k]] = searched[k];
      std::copy_n(found.data() + k * w, w, ranges.data() + search_of[k] * w);
      if (ended[k][1] > 0) matches.put(ended[k], searched[k], found.data() + k * w, w);
    }
  }
}

}  // namespace ngramdb
