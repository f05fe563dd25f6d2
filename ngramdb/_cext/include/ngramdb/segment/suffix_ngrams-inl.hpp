// Rows as n-grams, and positions as places in documents. Members of SuffixSegment; included by suffix_segment.hpp.
#pragma once

#include "ngramdb/segment/suffix_segment.hpp"

namespace ngramdb {

// ---- runs of rows with the same n-gram ------------------------------------------------------------------

// A pass over the LCPs finds where runs begin; the text there shows whether the n-gram has n tokens.
template <class Sym>
uint32_t SuffixSegment<Sym>::ngram_runs_by_lcps(uint32_t from, uint32_t n, uint32_t bits, Range* out, size_t room,
                                                size_t* n_found, StopFlag stop) const {
  constexpr uint32_t kPass = 1024;  // rows whose runs are read together
  const uint32_t n_rows = static_cast<uint32_t>(a_.n_rows);
  uint32_t starts[kPass + 1];
  uint32_t n_starts = 0;  // the last run's end is not known yet
  const auto begin_run = [&](uint32_t row) {
    prefetch_line(a_.text + a_.rows[row]);
    starts[n_starts++] = row;
  };
  const auto is_complete = [&](uint32_t row) {
    const uint64_t position = position_of(row);
    if (position + n > a_.n_text) return false;
    for (uint32_t i = 0; i < n; ++i) {
      if (a_.text[position + i] == 0) return false;
    }
    return true;
  };
  size_t found = 0;
  uint32_t next = n_rows;
  if (from < n_rows) begin_run(from);
  for (uint32_t base = from + 1; n_starts > 0; base += kPass) {
    if ((base - from) % kStopInterval == 1) check_stop(stop);
    const uint32_t end = std::min(n_rows - base, kPass) + base;
    for (uint32_t piece = base; piece < end; piece += kPieceRows) {
      uint64_t below = lcps_below(a_.rows, piece, std::min(end - piece, kPieceRows), bits);
      for (; below != 0; below &= below - 1) begin_run(piece + static_cast<uint32_t>(__builtin_ctzll(below)));
    }
    const bool is_last = end == n_rows;
    const uint32_t n_whole = is_last ? n_starts : n_starts - 1;
    for (uint32_t i = 0; i < n_whole; ++i) {
      if (!is_complete(starts[i])) continue;
      if (found == room) {
        next = starts[i];
        n_starts = 0;
        break;
      }
      out[found++] = {starts[i], i + 1 < n_starts ? starts[i + 1] : end};
    }
    if (is_last || n_starts == 0) break;
    starts[0] = starts[n_starts - 1];
    n_starts = 1;
  }
  *n_found = found;
  return next;
}

// One pass over the rows, whose texts are fetched ahead: about the cost of an independent read per row. With kShort,
// the n-gram fits a word, and two rows are compared by one comparison.
template <class Sym>
template <bool kShort>
uint32_t SuffixSegment<Sym>::ngram_runs_as(uint32_t from, uint32_t n, Range* out, size_t room, size_t* n_found,
                                           StopFlag stop) const {
  constexpr uint32_t kAhead = 32;
  const uint32_t n_rows = static_cast<uint32_t>(a_.n_rows);
  uint64_t mask = ~uint64_t{0};
  if (kShort && n < kWordSymbols) {
    Sym symbols[kWordSymbols] = {};
    for (uint32_t i = 0; i < n; ++i) symbols[i] = static_cast<Sym>(~Sym{0});
    std::memcpy(&mask, symbols, sizeof(mask));
  }
  const DocumentMap& map = document_map();
  const auto tokens_behind = [&](uint32_t position) {
    const uint32_t stop = a_.starts[document_at(map, position) + 1] - 1;
    if (a_.breaks.n == 0) return stop - position;
    return static_cast<uint32_t>(piece_at(position, {position, stop}).stop) - position;
  };
  size_t found = 0;
  bool valid = false;      // the current run's n-gram has n tokens
  uint64_t current = 0;    // its symbols (kShort)
  uint32_t first = from;   // its first row
  uint32_t at = 0;         // its text
  for (uint32_t row = from; row < n_rows; ++row) {
    if ((row - from) % kStopInterval == kStopInterval - 1) check_stop(stop);
    if (row + kAhead < n_rows) prefetch_line(a_.text + a_.rows[row + kAhead]);
    const uint32_t position = position_of(row);
    bool same, complete;
    uint64_t word = 0;
    if (kShort && position + uint64_t{kWordSymbols} <= a_.n_text) {
      std::memcpy(&word, a_.text + position, sizeof(word));
      word &= mask;
      same = valid && word == current;
      complete = same || zeros_in<Sym>(word | ~mask) == 0;
    } else {
      const uint64_t left = std::min<uint64_t>(n, a_.n_text - position);
      complete = left == n && tokens_behind(position) >= n;
      same = complete && valid && std::memcmp(a_.text + position, a_.text + at, sizeof(Sym) * n) == 0;
      if (kShort) std::memcpy(&word, a_.text + position, sizeof(Sym) * left);
      if (kShort) word &= mask;
    }
    if (same) continue;
    if (valid) {
      out[found++] = {first, row};
      if (found == room) {
        *n_found = found;
        return row;
      }
    }
    valid = complete;
    current = word;
    first = row;
    at = position;
  }
  if (valid) out[found++] = {first, n_rows};
  *n_found = found;
  return n_rows;
}

template <class Sym>
Row SuffixSegment<Sym>::ngram_runs(Row from_row, uint32_t n, Range* out, size_t room, size_t* n_found,
                                   StopFlag stop) const {
  verify_suffixes();
  const uint32_t from = static_cast<uint32_t>(from_row);
  const uint64_t bits = 8 * sizeof(Sym) * uint64_t{n};
  if (a_.rows.has_lcps() && bits <= a_.rows.most_lcp()) {
    return ngram_runs_by_lcps(from, n, static_cast<uint32_t>(bits), out, room, n_found, stop);
  }
  return n <= kWordSymbols ? ngram_runs_as<true>(from, n, out, room, n_found, stop)
                           : ngram_runs_as<false>(from, n, out, room, n_found, stop);
}

template <class Sym>
bool SuffixSegment<Sym>::tokens_of_row(Row row, uint32_t n, TokenId* out) const {
  need_suffixes(interval_of({row, row + 1}), n);
  const uint64_t position = position_of(static_cast<uint32_t>(row));
  if (position + n > a_.n_text) return false;
  for (uint32_t i = 0; i < n; ++i) {
    const Sym symbol = a_.text[position + i];
    if (symbol == 0) return false;
    out[i] = code_.decode(symbol);
  }
  return true;
}

// ---- places in documents --------------------------------------------------------------------------------

template <class Sym>
uint64_t SuffixSegment<Sym>::count_rows_in(Range range, const uint8_t* documents) const {
  const Interval rows = interval_of(range);
  row_words_.need(rows.lo, rows.size());
  const DocumentMap& map = document_map();
  constexpr uint32_t kAhead = 16;
  uint32_t count = 0;
  for (uint32_t row = rows.lo; row < rows.hi; ++row) {
    if (row + kAhead < a_.n_rows) {
      const uint32_t ahead = a_.rows[row + kAhead];
      if (ahead < a_.n_text) prefetch_line(map.first.data() + (ahead >> map.shift));
    }
    const uint32_t document = document_at(map, position_of(row));
    count += (documents[document / 8] >> (document % 8)) & 1u;
  }
  return count;
}

template <class Sym>
void SuffixSegment<Sym>::documents_at(PositionsIn places, size_t n, DocNumber* documents, uint32_t* before) const {
  const DocumentMap& map = document_map();
  constexpr size_t kAhead = 16;
  places.with([&](const auto* positions) {
    for (size_t i = 0; i < n; ++i) {
      if (i + kAhead < n && positions[i + kAhead] < a_.n_text) {
        prefetch_line(map.first.data() + (positions[i + kAhead] >> map.shift));
      }
      if (positions[i] >= a_.n_text) refuse(i, positions[i]);
      const uint32_t position = static_cast<uint32_t>(positions[i]), document = document_at(map, position);
      documents[i] = document;
      before[i] = position - a_.starts[document];
      if (a_.breaks.n > 0) before[i] -= static_cast<uint32_t>(a_.breaks.within({a_.starts[document], position}));
    }
  });
}

template <class Sym>
void SuffixSegment<Sym>::tokens_at(PositionsIn places, size_t n, int64_t ahead, TokenId* out) const {
  symbols_.need_many(n);
  constexpr size_t kAhead = 24;
  places.with([&](const auto* positions) {
    const auto place = [&](size_t i) { return positions[i] + static_cast<uint64_t>(ahead); };
    for (size_t i = 0; i < n; ++i) {
      // A place before the text wraps around to one after it.
      if (i + kAhead < n && place(i + kAhead) < a_.n_text) prefetch_line(a_.text + place(i + kAhead));
      const uint64_t at = place(i);
      symbols_.need(at, 1);
      const Sym symbol = at < a_.n_text ? a_.text[at] : Sym{0};
      out[i] = symbol == 0 ? kNoToken : code_.decode(symbol);
    }
  });
}

}  // namespace ngramdb
