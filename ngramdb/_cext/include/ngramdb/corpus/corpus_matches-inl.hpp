// Matches that move along a text token by token. Members of CorpusIndex; included by src/corpus/corpus_index.cpp alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/corpus/corpus_index.hpp"

namespace ngramdb {

void CorpusIndex::begin(Match& match) const {
  match.ids.clear();
  match.length = 0;
  match.count = n_tokens();
  match.ranges.resize(width());
  for (size_t s = 0; s < width(); ++s) match.ranges[s] = segments_[s]->all();
}

void CorpusIndex::append(Match* const* matches, const int64_t* tokens, size_t n, int64_t least, StopFlag stop) const {
  for (size_t base = 0; base < n; base += kLanes) {
    if (base % kStopLanes == 0) check_stop(stop);
    append_lanes(matches + base, tokens + base, std::min(kLanes, n - base), least, stop);
  }
}

inline void CorpusIndex::append_lanes(Match* const* matches, const int64_t* tokens, size_t n, int64_t least,
                                      StopFlag stop) const {
  const size_t w = width();
  Request requests[kLanes];
  int64_t counts[kLanes];
  Room<Range, kLanes> few;
  std::vector<Range> many(n * w > kLanes ? 2 * n * w : n * w);
  Range* const within = many.data();
  Range* const found = n * w > kLanes ? many.data() + n * w : few;
  for (size_t i = 0; i < n; ++i) {
    Match& match = *matches[i];
    match.ids.push_back(tokens[i]);
    const size_t kept = std::max<size_t>(kKeptTokens, size_t{match.length} + 1);
    if (match.ids.size() > 2 * kept) {
      match.ids.erase(match.ids.begin(), match.ids.end() - static_cast<std::ptrdiff_t>(kept));
    }
    const int64_t* const end = match.ids.data() + match.ids.size();
    requests[i] = Request{end - match.length - 1, match.length + 1, match.length, true};
    std::copy_n(match.ranges.data(), w, within + i * w);
  }
  try {
    extend(requests, within, n, counts, found, stop);
  } catch (...) {
    for (size_t i = 0; i < n; ++i) matches[i]->ids.pop_back();
    throw;
  }
  Suffix suffixes[kLanes];
  size_t which[kLanes], n_ended = 0;
  for (size_t i = 0; i < n; ++i) {
    Match& match = *matches[i];
    if (counts[i] >= least) {
      ++match.length;
      match.count = counts[i];
      std::copy_n(found + i * w, w, match.ranges.data());
      continue;
    }
    // The token after the whole match does not occur, so that what occurs is shorter.
    begin_longest(match.ids.data() + match.ids.size(), match.length, suffixes[n_ended], within + n_ended * w);
    which[n_ended++] = i;
  }
  try {
    if (n_ended == 1) {
      find_longest_alone(suffixes[0], within, stop, least);
    } else {
      find_longest(suffixes, within, n_ended, stop, least);
    }
  } catch (...) {
    for (size_t k = 0; k < n_ended; ++k) matches[which[k]]->ids.pop_back();
    throw;
  }
  for (size_t k = 0; k < n_ended; ++k) {
    Match& match = *matches[which[k]];
    match.length = suffixes[k].length;
    match.count = suffixes[k].count;
    std::copy_n(within + k * w, w, match.ranges.data());
  }
}

void CorpusIndex::search(Match& match, int64_t least, StopFlag stop) const {
  match.ranges.resize(width());
  Suffix suffix;
  const uint32_t length = usable_length(static_cast<int64_t>(match.ids.size()), 0);
  begin_longest(match.ids.data() + match.ids.size(), length, suffix, match.ranges.data());
  find_longest(&suffix, match.ranges.data(), 1, stop, least);
  match.length = suffix.length;
  match.count = suffix.count;
}

int64_t CorpusIndex::count_after(const Match& match, int64_t token, Range* ranges, StopFlag stop) const {
  std::vector<int64_t> ids(match.ids.end() - match.length, match.ids.end());
  ids.push_back(token);
  Request request{ids.data(), match.length + 1, match.length, true};
  int64_t count = 0;
  extend(&request, match.ranges.data(), 1, &count, ranges, stop);
  return count;
}

Distribution CorpusIndex::distribution(const Match& match, StopFlag stop) const {
  Distribution answer;
  answer.context_length = match.length;
  answer.context_count = match.count;
  answer.n_ends = merge_continuations(match.ranges.data(), match.length, answer.runs, stop);
  return answer;
}

}  // namespace ngramdb
