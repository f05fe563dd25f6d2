// What follows the rows of a range, and which documents they stand in. Members of SuffixSegment; included by
// suffix_segment.hpp.
#pragma once

#include "suffix_segment.hpp"

namespace ngramdb {

// ---- continuations --------------------------------------------------------------------------------------

// Rows are sorted by their next symbol, so runs are found by bisection: an interval whose two ends agree is one run.
// All intervals of a level are looked at together, so that their reads overlap: about 2 r log2(n / r)
// independent reads for r runs in n rows, and never more than n.
template <class Sym>
uint64_t SuffixSegment<Sym>::continuations(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const {
  if (rows.size() == 0) return 0;
  struct Piece {
    uint32_t lo, hi;  // inclusive
    Sym first, last;
  };
  std::vector<Piece> level{{rows.lo, rows.hi - 1, symbol_behind(rows.lo, depth), symbol_behind(rows.hi - 1, depth)}};
  std::vector<Piece> next;
  std::vector<std::pair<uint32_t, Sym>> starts;  // first row seen of each run; later ones of the same run are dropped
  constexpr size_t kRowAhead = 24, kTextAhead = 12;
  while (!level.empty()) {
    sais::check_stop(stop);
    next.clear();
    const size_t n = level.size();
    for (size_t i = 0; i < n; ++i) {
      if (i + kRowAhead < n) {
        const Piece& far = level[i + kRowAhead];
        __builtin_prefetch(a_.rows + far.lo + (far.hi - far.lo) / 2);
        const Piece& near = level[i + kTextAhead];
        __builtin_prefetch(a_.text + a_.rows[near.lo + (near.hi - near.lo) / 2] + depth);
      }
      const Piece piece = level[i];
      if (piece.first == piece.last) {
        starts.emplace_back(piece.lo, piece.first);
        continue;
      }
      if (piece.hi - piece.lo == 1) {
        starts.emplace_back(piece.lo, piece.first);
        starts.emplace_back(piece.hi, piece.last);
        continue;
      }
      const uint32_t middle = piece.lo + (piece.hi - piece.lo) / 2;
      const Sym symbol = symbol_behind(middle, depth);
      next.push_back({piece.lo, middle, piece.first, symbol});
      next.push_back({middle, piece.hi, symbol, piece.last});
    }
    level.swap(next);
  }
  std::sort(starts.begin(), starts.end());
  uint64_t n_ends = 0;
  for (size_t i = 0; i < starts.size();) {
    size_t j = i + 1;
    while (j < starts.size() && starts[j].second == starts[i].second) ++j;
    const uint32_t count = (j < starts.size() ? starts[j].first : rows.hi) - starts[i].first;
    if (starts[i].second == 0) {
      n_ends += count;
    } else {
      runs.push_back({code_.decode(starts[i].second), count});
    }
    i = j;
  }
  return n_ends;
}

// ---- documents ------------------------------------------------------------------------------------------

template <class Sym>
const typename SuffixSegment<Sym>::DocumentMap& SuffixSegment<Sym>::document_map() const {
  std::call_once(map_once_, [this] {
    const uint64_t mean = std::max<uint64_t>(1, a_.n_text / std::max<uint64_t>(1, a_.n_documents));
    while ((uint64_t{2} << map_.shift) <= mean / 2 + 1) ++map_.shift;
    uint64_t document = 0;
    map_.first.resize((a_.n_text >> map_.shift) + 1);
    for (uint64_t bucket = 0; bucket < map_.first.size(); ++bucket) {
      const uint64_t position = bucket << map_.shift;
      while (document + 1 < a_.n_documents && a_.starts[document + 1] <= position) ++document;
      map_.first[bucket] = static_cast<uint32_t>(document);
    }
    if (a_.n_documents > 0 && a_.starts[a_.n_documents] != a_.n_text) {
      throw CorruptPointer{file_, a_.n_documents, a_.starts[a_.n_documents], a_.n_text};
    }
  });
  return map_;
}

template <class Sym>
void SuffixSegment<Sym>::documents_of(Range rows, std::vector<uint32_t>& out, StopFlag stop) const {
  const DocumentMap& map = document_map();
  constexpr uint32_t kAhead = 16;
  // A bitmap costs a pass over all documents; sorting costs about 30 ns a document found.
  const bool dense = rows.size() >= a_.n_documents / 64;
  std::vector<uint64_t> seen(dense ? a_.n_documents / 64 + 1 : 0);
  for (uint32_t row = rows.lo; row < rows.hi; ++row) {
    if ((row - rows.lo) % sais::kStopInterval == 0) sais::check_stop(stop);
    if (row + kAhead < rows.hi) {
      const uint32_t ahead = a_.rows[row + kAhead];
      if (ahead < a_.n_text) __builtin_prefetch(map.first.data() + (ahead >> map.shift));
    }
    const uint32_t document = document_at(map, position_of(row));
    if (dense) {
      seen[document / 64] |= uint64_t{1} << (document % 64);
    } else {
      out.push_back(document);
    }
  }
  if (!dense) {
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return;
  }
  for (uint32_t word = 0; word < seen.size(); ++word) {
    for (uint64_t bits = seen[word]; bits != 0; bits &= bits - 1) {
      out.push_back(64 * word + static_cast<uint32_t>(__builtin_ctzll(bits)));
    }
  }
}

// Whether the n symbols of a query (n >= 1) stand somewhere in [first, last). Blocks of symbols are first looked through
// for the query's first two, without a branch inside, so that it is done in vectors.
template <class Sym>
bool contains(const Sym* first, const Sym* last, const Sym* query, uint32_t n) {
  constexpr std::ptrdiff_t kBlock = 64;
  if (last - first < static_cast<std::ptrdiff_t>(n)) return false;
  const Sym* const stop = last - n + 1;  // no occurrence begins here or behind
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

template <class Sym>
void SuffixSegment<Sym>::filter_documents(const uint32_t* documents, size_t n_documents, const int64_t* ids,
                                          uint32_t n, std::vector<uint32_t>& out, StopFlag stop) const {
  std::vector<Sym> query(n);
  if (!code_.encode(ids, n, query.data())) return;
  uint64_t n_read = 0;
  for (size_t i = 0; i < n_documents; ++i) {
    const Range symbols = document_symbols(documents[i]);
    n_read += symbols.size();
    if (n_read > sais::kStopInterval) {
      sais::check_stop(stop);
      n_read = 0;
    }
    if (n == 0) {
      out.push_back(documents[i]);
      continue;
    }
    if (symbols.size() < n) continue;
    const Sym* const first = a_.text + symbols.lo;
    if (contains(first, first + symbols.size(), query.data(), n)) out.push_back(documents[i]);
  }
}

}  // namespace ngramdb
