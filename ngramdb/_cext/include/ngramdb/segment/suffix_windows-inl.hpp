// Occurrences in parts of the text, and occurrences counted by document. Members of SuffixSegment; included by
// suffix_segment.hpp.
#pragma once

#include "ngramdb/base/stoppable_sort.hpp"
#include "ngramdb/segment/suffix_segment.hpp"

namespace ngramdb {

// Appends the positions in [first, stop) at which the n symbols of a query (n >= 1) begin; what begins there may reach
// beyond `stop`, but not beyond `end`. Blocks are looked through for the query's first symbols without a branch
// inside, so that it is done in vectors.
template <class Sym>
void find_all(const Sym* text, uint64_t first, uint64_t stop, uint64_t end, const Sym* query, uint32_t n,
              std::vector<Position>& out) {
  constexpr uint64_t kBlock = 64;
  if (end < n) return;
  stop = std::min(stop, end - n + 1);
  const Sym one = query[0], two = query[n > 1 ? 1 : 0];
  const uint32_t second = n > 1 ? 1 : 0;
  const auto take = [&](uint64_t at) {
    if (text[at] == one && std::memcmp(text + at, query, sizeof(Sym) * n) == 0) out.push_back(at);
  };
  uint64_t at = first;
  for (; at + kBlock <= stop; at += kBlock) {
    uint32_t found = 0;
    for (uint64_t k = 0; k < kBlock; ++k) {
      found += static_cast<uint32_t>(text[at + k] == one) & static_cast<uint32_t>(text[at + k + second] == two);
    }
    if (found == 0) continue;
    for (uint64_t k = 0; k < kBlock; ++k) take(at + k);
  }
  for (; at < stop; ++at) take(at);
}

template <class Sym>
void SuffixSegment<Sym>::scan_windows(PositionsIn starts, PositionsIn stops, size_t n_windows, const TokenId* ids,
                                      uint32_t n, std::vector<Position>& out, StopFlag stop) const {
  symbols_.need_many(n_windows);
  constexpr size_t kAhead = 8;
  // A window's first symbol may be far away.
  constexpr uint64_t kWindow = 64;
  // A place at which all but the last symbols match costs a comparison of n symbols, 64 of them about as much as a
  // place without a match.
  const uint64_t place_cost = 1 + n / 64;
  const uint64_t piece = std::max<uint64_t>(8 * kStopInterval / place_cost, 1);
  std::vector<Sym> query(n);
  if (n == 0 || !code_.encode(ids, n, query.data())) return;
  uint64_t n_read = 0;
  for (size_t i = 0; i < n_windows; ++i) {
    if (i + kAhead < n_windows && starts[i + kAhead] < a_.n_text) prefetch_line(a_.text + starts[i + kAhead]);
    const uint64_t last = std::min<uint64_t>(stops[i], a_.n_text);
    if (starts[i] >= last) continue;
    symbols_.need(starts[i], last - starts[i] + n);
    n_read += (last - starts[i]) * place_cost + kWindow;
    if (n_read > 8 * kStopInterval) {
      check_stop(stop, i, n_windows);
      n_read = 0;
    }
    // Long windows in pieces, with interrupt checks within them.
    for (uint64_t first = starts[i]; first < last; first += piece) {
      if (first > starts[i]) check_stop(stop);
      find_all(a_.text, first, std::min<uint64_t>(last, first + piece), a_.n_text, query.data(), n, out);
    }
  }
}

template <class Sym>
void SuffixSegment<Sym>::count_documents(Range range, std::vector<DocNumber>& documents, std::vector<uint32_t>& counts,
                                         StopFlag stop) const {
  const Interval rows = interval_of(range);
  row_words_.need(rows.lo, rows.size());
  const DocumentMap& map = document_map();
  constexpr uint32_t kAhead = 16;
  // A counter for each document costs a pass over all of them; sorting costs about 30 ns per occurrence.
  const bool dense = rows.size() >= a_.n_documents / 64;
  std::vector<uint32_t> found(dense ? a_.n_documents : 0);
  for (uint32_t row = rows.lo; row < rows.hi; ++row) {
    if ((row - rows.lo) % kStopInterval == 0) check_stop(stop, row - rows.lo, rows.size());
    if (row + kAhead < rows.hi) {
      const uint32_t ahead = a_.rows[row + kAhead];
      if (ahead < a_.n_text) prefetch_line(map.first.data() + (ahead >> map.shift));
    }
    const uint32_t document = document_at(map, position_of(row));
    if (dense) {
      ++found[document];
    } else {
      found.push_back(document);
    }
  }
  if (dense) {
    for (uint32_t document = 0; document < found.size(); ++document) {
      if (found[document] == 0) continue;
      documents.push_back(document);
      counts.push_back(found[document]);
    }
    return;
  }
  sort_stoppably(found.begin(), found.end(), stop);
  for (size_t i = 0; i < found.size();) {
    size_t j = i + 1;
    while (j < found.size() && found[j] == found[i]) ++j;
    documents.push_back(found[i]);
    counts.push_back(static_cast<uint32_t>(j - i));
    i = j;
  }
}

}  // namespace ngramdb
