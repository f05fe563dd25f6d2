// Batches of counts. Members of CorpusIndex; included by src/corpus/corpus_index.cpp alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "ngramdb/base/thread_team.hpp"
#include "ngramdb/corpus/corpus_index.hpp"
#include "ngramdb/base/prefetch.hpp"

namespace ngramdb {

namespace batch {

// Batches of at least this many queries are sorted first: neighbours then share cache lines.
constexpr size_t kSortFrom = 1024;
// … unless they are longer than this many tokens on average: fetching them out of order then costs more than it saves.
constexpr int64_t kSortedLength = 16;

// Order of the n-grams by their first two tokens (as far as 33 bits distinguish them), by counting sort; none if they
// come in it.
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
  if (std::is_sorted(keys.begin(), keys.end())) return {};
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

// Batches of at least this many queries, milliseconds of work, are shared by all free cores, in pieces of about
// half a millisecond: on a busy machine the last piece may have to be waited for, and a
// thread takes about 30 microseconds to start.
constexpr size_t kShareFrom = 8192;
constexpr size_t kPiece = 1024;

}  // namespace batch

void CorpusIndex::count_many(const int64_t* ids, const int64_t* offsets, size_t n, int64_t* counts,
                                    StopFlag stop) const {
  std::vector<uint32_t> order;
  if (n >= batch::kSortFrom && offsets[n] - offsets[0] <= batch::kSortedLength * static_cast<int64_t>(n)) {
    order = batch::sorted_order(ids, offsets, n);
  }
  ThreadTeam team(n >= batch::kShareFrom ? &CoreBudget::of_machine() : nullptr, stop);
  std::atomic<size_t> next{0};
  team.run([&](uint32_t thread) {
    for (size_t start; (start = next.fetch_add(batch::kPiece)) < n;) {
      team.look(thread);
      Poll poll = team.poll_of(thread);
      count_piece(ids, offsets, order, start, std::min(start + batch::kPiece, n), n, counts, &poll);
    }
  });
}

// Queries start … end - 1 of n, in their order if there is one.
inline void CorpusIndex::count_piece(const int64_t* ids, const int64_t* offsets, const std::vector<uint32_t>& order,
                                     size_t start, size_t end, size_t n, int64_t* counts,
                                     StopFlag stop) const {
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
    find(requests, m, answers, nullptr, stop);
    for (size_t i = 0; i < m; ++i) counts[order.empty() ? base + i : order[base + i]] = answers[i];
  }
}

}  // namespace ngramdb
