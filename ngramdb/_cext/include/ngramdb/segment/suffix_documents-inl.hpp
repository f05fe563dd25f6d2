// Documents of the rows of a range. Members of SuffixSegment; included by suffix_segment.hpp.
#pragma once

#include "ngramdb/base/stoppable_sort.hpp"
#include "ngramdb/segment/suffix_segment.hpp"

namespace ngramdb {

template <class Sym>
const typename SuffixSegment<Sym>::DocumentMap& SuffixSegment<Sym>::document_map() const {
  starts_.verify_all();  // which may have to wait for other threads: not within what they wait for
  std::call_once(map_once_, [this] {
    const uint64_t mean = std::max<uint64_t>(1, a_.n_text / std::max<uint64_t>(1, a_.n_documents));
    constexpr uint64_t kFew = uint64_t{1} << 17;  // entries, half a megabyte
    while ((uint64_t{2} << map_.shift) <= mean / 2 + 1 && a_.n_text >> map_.shift >= kFew) ++map_.shift;
    uint64_t document = 0;
    map_.first.resize((a_.n_text >> map_.shift) + 1);
    for (uint64_t bucket = 0; bucket < map_.first.size(); ++bucket) {
      const uint64_t position = bucket << map_.shift;
      while (document + 1 < a_.n_documents && a_.starts[document + 1] <= position) ++document;
      map_.first[bucket] = static_cast<uint32_t>(document);
    }
    if (a_.n_documents > 0 && a_.starts[a_.n_documents] != a_.n_text) {
      refuse(a_.n_documents, a_.starts[a_.n_documents]);
    }
  });
  return map_;
}

template <class Sym>
void SuffixSegment<Sym>::documents_of(Range range, std::vector<DocNumber>& out, StopFlag stop) const {
  const Interval rows = interval_of(range);
  row_words_.need(rows.lo, rows.size());
  const DocumentMap& map = document_map();
  constexpr uint32_t kAhead = 16;
  // A bitmap costs a pass over all documents; sorting costs about 30 ns per document found.
  const bool dense = rows.size() >= a_.n_documents / 64;
  std::vector<uint64_t> seen(dense ? a_.n_documents / 64 + 1 : 0);
  for (uint32_t row = rows.lo; row < rows.hi; ++row) {
    if ((row - rows.lo) % kStopInterval == 0) check_stop(stop, row - rows.lo, rows.size());
    if (row + kAhead < rows.hi) {
      const uint32_t ahead = a_.rows[row + kAhead];
      if (ahead < a_.n_text) prefetch_line(map.first.data() + (ahead >> map.shift));
    }
    const uint32_t document = document_at(map, position_of(row));
    if (dense) {
      seen[document / 64] |= uint64_t{1} << (document % 64);
    } else {
      out.push_back(document);
    }
  }
  if (!dense) {
    sort_stoppably(out.begin(), out.end(), stop);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return;
  }
  for (uint32_t word = 0; word < seen.size(); ++word) {
    for (uint64_t bits = seen[word]; bits != 0; bits &= bits - 1) {
      out.push_back(64 * word + static_cast<uint32_t>(__builtin_ctzll(bits)));
    }
  }
}

// Rows after the last of the expected documents, soon most of them, take about a nanosecond each.
template <class Sym>
void SuffixSegment<Sym>::first_documents(Range range, size_t most, std::vector<DocNumber>& out, StopFlag stop) const {
  const Interval rows = interval_of(range);
  // Each document that comes is put in its place among those there are.
  constexpr size_t kMostPlaces = 1024;
  if (most > kMostPlaces) {
    Segment::first_documents(range, most, out, stop);
    return;
  }
  if (most == 0) return;
  row_words_.need(rows.lo, rows.size());
  const DocumentMap& map = document_map();
  std::vector<DocNumber> found;
  found.reserve(most + 1);
  uint64_t limit = a_.n_text;  // positions from here on add no document
  for (uint32_t row = rows.lo; row < rows.hi; ++row) {
    if ((row - rows.lo) % kStopInterval == 0) check_stop(stop, row - rows.lo, rows.size());
    const uint32_t position = position_of(row);
    if (__builtin_expect(position >= limit, 1)) continue;
    const DocNumber document = document_at(map, position);
    const auto place = std::lower_bound(found.begin(), found.end(), document);
    if (place != found.end() && *place == document) continue;
    found.insert(place, document);
    if (found.size() > most) found.pop_back();
    if (found.size() == most) limit = a_.starts[found.back()];
  }
  out.insert(out.end(), found.begin(), found.end());
}

// The parts of the text that contain any of the documents are marked in a bitmap that stays in the cache: rows elsewhere,
// most of them, take about a nanosecond each.
template <class Sym>
bool SuffixSegment<Sym>::documents_among(Range range, const DocNumber* documents, size_t n_documents,
                                         std::vector<DocNumber>& out, StopFlag stop) const {
  constexpr uint32_t kParts = 1u << 16;
  const Interval rows = interval_of(range);
  row_words_.need(rows.lo, rows.size());
  uint32_t shift = 0;
  while (a_.n_text >> shift >= kParts) ++shift;
  const uint32_t n_parts = static_cast<uint32_t>(a_.n_text >> shift) + 1;
  if (n_documents > n_parts / 8) return false;
  std::vector<uint64_t> marked(n_parts / 64 + 1);
  std::vector<Interval> texts(n_documents);
  uint64_t n_marked = 0;
  for (size_t i = 0; i < n_documents; ++i) {
    texts[i] = document_symbols(documents[i]);
    const uint32_t last = texts[i].hi >> shift;
    n_marked += last - (texts[i].lo >> shift) + 1;
    if (n_marked > n_parts / 4) return false;
    for (uint32_t part = texts[i].lo >> shift; part <= last; ++part) marked[part / 64] |= uint64_t{1} << (part % 64);
  }
  std::vector<uint8_t> hit(n_documents);
  for (uint32_t row = rows.lo; row < rows.hi; ++row) {
    if ((row - rows.lo) % kStopInterval == 0) check_stop(stop, row - rows.lo, rows.size());
    const uint32_t position = position_of(row), part = position >> shift;
    if (__builtin_expect((marked[part / 64] >> (part % 64) & 1) == 0, 1)) continue;
    // The last one that starts here or before.
    const Interval* low = texts.data();
    for (size_t n = n_documents; n > 1;) {
      const size_t half = n / 2;
      low = low[half].lo <= position ? low + half : low;
      n -= half;
    }
    if (low->lo <= position && position < low->hi) hit[static_cast<size_t>(low - texts.data())] = 1;
  }
  for (size_t i = 0; i < n_documents; ++i) {
    if (hit[i] != 0) out.push_back(documents[i]);
  }
  return true;
}

// Returns true if the n symbols of a query (n >= 1) occur in [first, last). Blocks of symbols are first searched for the
// query's first two, without a branch inside, so that the loop is vectorized.
template <class Sym>
bool contains(const Sym* first, const Sym* last, const Sym* query, uint32_t n) {
  constexpr std::ptrdiff_t kBlock = 64;
  if (last - first < static_cast<std::ptrdiff_t>(n)) return false;
  const Sym* const stop = last - n + 1;  // no occurrence begins here or after
  const Sym* at = first;
  if (n >= 2) {
    const Sym one = query[0], two = query[1];
    while (stop - at >= kBlock) {
      uint32_t found = 0;
      for (std::ptrdiff_t k = 0; k < kBlock; ++k) {
        found += static_cast<uint32_t>(at[k] == one) & static_cast<uint32_t>(at[k + 1] == two);
      }
      if (found != 0) {
        for (const Sym* end = at + kBlock; at < end; ++at) {
          if (std::memcmp(at, query, sizeof(Sym) * n) == 0) return true;
        }
      } else {
        at += kBlock;
      }
    }
  }
  for (; (at = std::find(at, stop, query[0])) != stop; ++at) {
    if (std::memcmp(at, query, sizeof(Sym) * n) == 0) return true;
  }
  return false;
}

// The same for a document of any length, with interrupt checks.
template <class Sym>
bool contains_stoppably(const Sym* first, const Sym* last, const Sym* query, uint32_t n, StopFlag stop) {
  constexpr std::ptrdiff_t kPiece = 64 * kStopInterval;  // about a millisecond
  while (last - first > kPiece + static_cast<std::ptrdiff_t>(n)) {
    check_stop(stop);
    if (contains(first, first + kPiece + (n - 1), query, n)) return true;
    first += kPiece;
  }
  return contains(first, last, query, n);
}

template <class Sym>
void SuffixSegment<Sym>::filter_documents(const DocNumber* documents, size_t n_documents, const TokenId* ids,
                                          uint32_t n, std::vector<DocNumber>& out, StopFlag stop) const {
  symbols_.need_many(n_documents);
  std::vector<Sym> query(n);
  if (!code_.encode(ids, n, query.data())) return;
  // Symbols are looked through in a fraction of a nanosecond each, but a document's first one may be far away.
  constexpr uint64_t kDocument = 64;
  uint64_t n_read = 0;
  constexpr uint32_t kPerLine = 64 / sizeof(Sym), kLines = 8;  // the processor fetches what follows by itself
  for (size_t i = 0; i < n_documents; ++i) {
    const Interval symbols = document_symbols(documents[i]);
    if (i + 1 < n_documents) {
      const Interval next = document_symbols(documents[i + 1]);
      const uint32_t end = std::min(next.hi, next.lo + kLines * kPerLine);
      for (uint32_t at = next.lo; at < end; at += kPerLine) prefetch_line(a_.text + at);
    }
    n_read += symbols.size() + kDocument;
    if (n_read > 8 * kStopInterval) {
      check_stop(stop, i, n_documents);
      n_read = 0;
    }
    if (n == 0) {
      out.push_back(documents[i]);
      continue;
    }
    if (symbols.size() < n) continue;
    symbols_.need(symbols.lo, symbols.size());
    const Sym* const first = a_.text + symbols.lo;
    if (contains_stoppably(first, first + symbols.size(), query.data(), n, stop)) out.push_back(documents[i]);
  }
}

}  // namespace ngramdb
