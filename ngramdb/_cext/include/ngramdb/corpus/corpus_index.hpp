// Questions to several segments at once. Every answer is a sum over segments, each with its sign: added segments
// count +1, subtracted ones -1.
//
// A token sequence "occurs" when its net count is positive. Net counts never grow with length, so the longest
// suffix that occurs is found by search over lengths.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "ngramdb/segment/stoppable_find.hpp"

namespace ngramdb {

// The counts behind P(token | context). effective_n: length of the context that was used, plus one. sparse: the
// context has just one continuation.
struct Estimate {
  int64_t cont_count = 0;
  int64_t context_count = 0;
  int32_t effective_n = 0;
  bool sparse = false;
};

// index.pyx makes arrays of them, by a dtype that is written by hand.
static_assert(sizeof(Estimate) == 24 && offsetof(Estimate, cont_count) == 0 && offsetof(Estimate, context_count) == 8 &&
                  offsetof(Estimate, effective_n) == 16 && offsetof(Estimate, sparse) == 20 && sizeof(bool) == 1,
              "ESTIMATE in index.pyx has another layout");

struct Distribution {
  std::vector<Run> runs;         // of successors, ascending by id; counts are net, none is zero
  int64_t n_ends = 0;            // occurrences of the context at a document's end
  int64_t context_count = 0;
  uint32_t context_length = 0;   // of the suffix that was used
  bool is_left_out = false;      // the context occurs more often than asked for
};

// One of several distributions whose runs are stored one after the other: the end of its runs.
struct DistributionEnd {
  uint64_t n_runs = 0;  // up to here
  int64_t n_ends = 0;
  int64_t context_count = 0;
  int64_t context_length = 0;
};

// The longest suffix of a text that occurs, kept while tokens are appended.
struct Match {
  std::vector<int64_t> ids;    // the last tokens of the text, at least those of the suffix
  uint32_t length = 0;         // of the suffix
  int64_t count = 0;           // net
  std::vector<Range> ranges;   // its rows in each segment
};

// Tokens of a context that a model of this order reads; 0: no limit.
inline uint32_t usable_length(int64_t length, uint32_t order) {
  const int64_t most = order == 0 ? int64_t{UINT32_MAX} - 2 : int64_t{order} - 1;
  return static_cast<uint32_t>(std::min(length, most));
}

// Room for n values that are written before they are read: to fill it first would take some percent of a single
// question's time.
template <class T, size_t n>
class Room {
 public:
  static_assert(std::is_trivially_copyable<T>::value, "values are assigned to raw memory");
  operator T*() { return reinterpret_cast<T*>(bytes_); }  // NOLINT: stands for an array

 private:
  alignas(T) unsigned char bytes_[n * sizeof(T)];
};

class CorpusIndex {
 public:
  // Searches that are kept in flight.
  static constexpr size_t kLanes = 32;
  // Up to this many requests, segments are searched side by side: more of them overlap within a segment, at a lower price.
  static constexpr size_t kFewRequests = 2;
  // Questions between two interrupt checks: 20 µs of counts with one segment, 20 ms of long contexts with dozens.
  static constexpr size_t kStopLanes = 8 * kLanes;
  // Tokens that a match keeps beside those of its suffix.
  static constexpr size_t kKeptTokens = 1024;

  void add(const Segment* segment, int sign) {
    segments_.push_back(segment);
    signs_.push_back(sign);
    only_added_ = only_added_ && sign > 0;
  }

  size_t n_segments() const { return segments_.size(); }
  int sign(size_t i) const { return signs_[i]; }
  const Segment* segment(size_t i) const { return segments_[i]; }

  int64_t n_tokens() const {
    int64_t sum = 0;
    for (size_t s = 0; s < segments_.size(); ++s) sum += signs_[s] * static_cast<int64_t>(segments_[s]->n_rows());
    return sum;
  }

  // Net counts of n requests; with `ranges`, also the rows in every segment, ranges[i * n_segments + s].
  void find(const Request* requests, size_t n, int64_t* counts, Range* ranges = nullptr,
            StopFlag stop = nullptr) const;

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
  // least: with longest_suffix, how often a suffix must occur.
  void score(const int64_t* ids, size_t n, bool longest_suffix, uint32_t order, Estimate* out,
             StopFlag stop = nullptr, int64_t least = 1) const;

  // Makes a match that of an empty text.
  void begin(Match& match) const;

  // Appends tokens[i] to the text of matches[i], different ones. least: how often a suffix must occur.
  //
  // Cost: a search among the rows of each match; if that fails, two or three rounds of searches.
  void append(Match* const* matches, const int64_t* tokens, size_t n, int64_t least, StopFlag stop) const;

  // Searches the longest suffix of the tokens that the match knows, as if they were the whole text.
  void search(Match& match, int64_t least, StopFlag stop) const;

  // Net count of the match and one token more; with `ranges`, also the rows.
  int64_t count_after(const Match& match, int64_t token, Range* ranges, StopFlag stop) const;

  // Next tokens of the match, as in `distribution`.
  Distribution distribution(const Match& match, StopFlag stop) const;

  Distribution distribution(const int64_t* context, uint32_t n, bool longest_suffix, uint32_t order, int64_t most,
                            StopFlag stop) const;

  // The same for n contexts ids[offsets[i], offsets[i + 1]): their runs one after the other, and the end of each one's.
  void distributions(const int64_t* ids, const int64_t* offsets, size_t n, bool longest_suffix, uint32_t order,
                     std::vector<Run>& runs, DistributionEnd* ends, StopFlag stop) const;

 private:
  // A context that ends at `end`: the longest of its suffixes that occurs, or so far the best known.
  struct Suffix {
    const int64_t* end = nullptr;
    uint32_t length = 0;    // occurs
    uint32_t too_long = 0;  // does not occur, or must not be read
    int64_t count = 0;
    uint32_t probe = 0;
    uint32_t first_probe = 3;  // matches are short far more often than not
  };

  // Remembers the suffixes that remained of long matches when these ended: in a text that repeats itself the same matches
  // end many times.
  class EndedMatches {
   public:
    // The first row of a match, its length and the token: they identify what is left of it.
    using Key = std::array<uint64_t, 3>;

    static Key key_of(const Range* ranges, size_t width, uint32_t length, int64_t token) {
      size_t s = 0;
      while (s + 1 < width && ranges[s].size() == 0) ++s;
      return {ranges[s].lo * width + s, length, static_cast<uint64_t>(token)};
    }

    // end: of the new context
    bool get(const Key& key, const int64_t* end, Suffix& suffix, Range* ranges) const {
      const auto found = matches_.find(key);
      if (found == matches_.end()) return false;
      suffix = found->second.first;
      suffix.end = end;
      std::copy(found->second.second.begin(), found->second.second.end(), ranges);
      return true;
    }

    void put(const Key& key, const Suffix& suffix, const Range* ranges, size_t width) {
      if (matches_.size() * width >= kMost) matches_.clear();
      matches_[key] = {suffix, std::vector<Range>(ranges, ranges + width)};
    }

   private:
    static constexpr size_t kMost = size_t{1} << 18;
    std::map<Key, std::pair<Suffix, std::vector<Range>>> matches_;
  };

  size_t width() const { return segments_.size(); }
  bool find_alongside(const Request* requests, size_t n, int64_t* counts, Range* ranges) const;
  void extend(Request* requests, const Range* within, size_t n, int64_t* counts, Range* ranges, StopFlag stop) const;
  void begin_longest(const int64_t* end, uint32_t length, Suffix& suffix, Range* ranges) const;
  void find_longest(Suffix* suffixes, Range* ranges, size_t n, StopFlag stop, int64_t least = 1) const;
  void find_longest_alone(Suffix& suffix, Range* ranges, StopFlag stop, int64_t least = 1) const;
  void append_lanes(Match* const* matches, const int64_t* tokens, size_t n, int64_t least, StopFlag stop) const;
  Estimate estimate_of(int64_t cont_count, int64_t context_count, const Range* ranges, uint32_t depth,
                       StopFlag stop) const;
  bool is_sparse(const Range* ranges, uint32_t depth, int64_t count, StopFlag stop) const;
  bool is_net_sparse(const Range* ranges, uint32_t depth, int64_t count, StopFlag stop) const;
  void count_piece(const int64_t* ids, const int64_t* offsets, const std::vector<uint32_t>& order, size_t start,
                   size_t end, size_t n, int64_t* counts, StopFlag stop) const;
  int64_t n_subtracted(const Range* ranges) const;
  int64_t merge_continuations(const Range* ranges, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const;
  void estimate_ngrams(const int64_t* contexts, const int64_t* offsets, const int64_t* tokens, size_t n,
                       uint32_t order, Estimate* out, StopFlag stop) const;
  void estimate_suffixes(const int64_t* contexts, const int64_t* offsets, const int64_t* tokens, size_t n,
                         uint32_t order, Estimate* out, StopFlag stop) const;
  void score_ngrams(const int64_t* ids, size_t n, uint32_t order, Estimate* out, StopFlag stop) const;
  void score_whole_contexts(const int64_t* ids, size_t n, Estimate* out, StopFlag stop) const;
  void score_suffixes(const int64_t* ids, size_t n, uint32_t order, Estimate* out, StopFlag stop,
                      int64_t least) const;

  std::vector<const Segment*> segments_;
  std::vector<int> signs_;
  bool only_added_ = true;
};

}  // namespace ngramdb
