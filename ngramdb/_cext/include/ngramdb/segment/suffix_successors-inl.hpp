// Successors of the rows of a range. Members of SuffixSegment; included by suffix_segment.hpp.
#pragma once

#include "ngramdb/segment/suffix_segment.hpp"

namespace ngramdb {

// A pass over the LCPs finds where runs begin; one symbol of each is read, all fetched ahead. So are the rows: what
// the processor fetches by itself begins late, and ends with the page.
template <class Sym>
uint64_t SuffixSegment<Sym>::successors_by_lcps(Interval rows, uint32_t depth, uint32_t bits, std::vector<Run>& runs,
                                                StopFlag stop) const {
  constexpr uint32_t kPass = 1024;  // rows whose runs are read together
  constexpr uint32_t kRowsAhead = 512;
  uint32_t starts[kPass + 2], places[kPass + 1];
  uint32_t n = 0;  // runs found; the last one's end is not known yet
  const auto begin_run = [&](uint32_t row) {
    const uint64_t place = uint64_t{a_.rows[row]} + depth;
    if (__builtin_expect(place >= a_.n_text, 0)) refuse(row, place);
    prefetch_line(a_.text + place);
    starts[n] = row;
    places[n++] = static_cast<uint32_t>(place);
  };
  const size_t n_before = runs.size();
  row_words_.need(rows.lo, rows.size());
  if (lcps_are_beside()) far_lcps_.need(rows.lo, rows.size());
  fetch_rows(rows.lo, std::min<uint64_t>(rows.hi, uint64_t{rows.lo} + kRowsAhead));
  begin_run(rows.lo);
  for (uint32_t base = rows.lo + 1;; base += kPass) {
    if ((base - rows.lo) % kStopInterval == 1) check_stop(stop);
    const uint32_t end = std::min(rows.hi - base, kPass) + base;
    for (uint32_t piece = base; piece < end; piece += kPieceRows) {
      const uint64_t ahead = uint64_t{piece} + kRowsAhead;
      fetch_rows(ahead, std::min<uint64_t>(rows.hi, ahead + kPieceRows));
      uint64_t below = lcps_below(a_.rows, piece, std::min(end - piece, kPieceRows), bits);
      for (; below != 0; below &= below - 1) begin_run(piece + static_cast<uint32_t>(__builtin_ctzll(below)));
    }
    const bool is_last = end == rows.hi;
    const uint32_t n_whole = is_last ? n : n - 1;
    const size_t at = runs.size();
    runs.resize(at + n_whole);
    Run* const out = runs.data() + at;
    if (symbols_.is_left()) {
      for (uint32_t i = 0; i < n_whole; ++i) symbols_.need(places[i], 1);
    }
    starts[n] = end;
    const Sym* const text = a_.text;
    const SymbolCode<Sym> code = code_;
    for (uint32_t i = 0; i < n_whole; ++i) out[i] = {code.decode(text[places[i]]), starts[i + 1] - starts[i]};
    if (is_last) break;
    starts[0] = starts[n - 1];
    places[0] = places[n - 1];
    n = 1;
  }
  // The separator is the smallest symbol.
  if (runs[n_before].id != kNoToken) return 0;
  const uint64_t n_ends = runs[n_before].count;
  runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(n_before));
  return n_ends;
}

// Rows are sorted by their next symbol: a piece of them that begins as the next piece does is one run. Other pieces are
// split, all of them at a time, so that reads overlap, and small ones into rows. Some 4 r log2(n / r) independent
// reads for r runs in n rows, and never more than n; large pieces are split at places for which the directory has a row's
// first symbols, so that neither the row nor the text is read. If LCPs are long enough, they give the runs of small pieces.
template <class Sym>
uint64_t SuffixSegment<Sym>::successors(Range range, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const {
  const Interval rows = interval_of(range);
  constexpr uint32_t kFew = 8, kParts = 4;
  // To read this many rows takes no longer than to look for the runs in them.
  constexpr uint32_t kFewAtFirst = 256;
  // To pass over this many LCPs takes no longer than that, at first and later.
  constexpr uint32_t kFewLcpsAtFirst = 1u << 15, kFewLcps = 1u << 12;
  constexpr size_t kAhead = 16;
  if (rows.size() == 0) return 0;
  const uint64_t bits = 8 * sizeof(Sym) * (uint64_t{depth} + 1);
  const bool by_lcps = a_.rows.has_lcps() && bits <= a_.rows.most_lcp();
  if (by_lcps && rows.size() <= kFewLcpsAtFirst) {
    return successors_by_lcps(rows, depth, static_cast<uint32_t>(bits), runs, stop);
  }
  prefetch_ends(range);
  constexpr uint32_t kInDirectory = symbols_per_word<Sym>();
  const auto is_sampled = [&](uint32_t row) { return depth < kInDirectory && row % kRowsPerSample == 0; };
  const auto symbol_at = [&](uint32_t row) -> Sym {
    if (!is_sampled(row)) return needed_symbol(row, depth);
    directory_.need(row / kRowsPerSample, 1);
    return static_cast<Sym>(tree_.level[0][row / kRowsPerSample] >> (64 - 8 * sizeof(Sym) * (depth + 1)));
  };
  // From this row up to the next piece's.
  struct Piece {
    uint32_t row;
    Sym symbol;
  };
  std::vector<Piece> pieces{{rows.lo, needed_symbol(rows.lo, depth)}}, split;
  if (rows.size() > 1) pieces.push_back({rows.hi - 1, needed_symbol(rows.hi - 1, depth)});
  std::vector<uint32_t> unread;  // pieces of `split`
  split.reserve(std::min(rows.size(), kFewAtFirst));
  unread.reserve(split.capacity());
  const auto differs = [&](size_t i) { return i + 1 < pieces.size() && pieces[i].symbol != pieces[i + 1].symbol; };
  for (uint32_t few = kFewAtFirst;; few = kFew) {
    split.clear();
    unread.clear();
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (i % kStopInterval == 0) check_stop(stop);
      split.push_back(pieces[i]);
      if (!differs(i)) continue;
      const uint32_t row = pieces[i].row, size = pieces[i + 1].row - row, n_parts = size <= few ? size : kParts;
      if (by_lcps && size <= kFewLcps) continue;
      for (uint32_t part = 1; part < n_parts; ++part) {
        uint32_t at = row + static_cast<uint32_t>(uint64_t{size} * part / n_parts);
        if (depth < kInDirectory && n_parts < size && size >= kParts * kRowsPerSample) at -= at % kRowsPerSample;
        if (!is_sampled(at)) prefetch_line(a_.rows.word(at));
        unread.push_back(static_cast<uint32_t>(split.size()));
        split.push_back({at, 0});
      }
    }
    if (unread.empty()) break;
    const auto fetch = [&](size_t i) {
      const uint32_t row = split[unread[i]].row;
      if (is_sampled(row)) {
        prefetch_line(tree_.level[0] + row / kRowsPerSample);
      } else {
        prefetch_line(a_.text + a_.rows[row] + depth);
      }
    };
    for (size_t i = 0; i < std::min(kAhead, unread.size()); ++i) fetch(i);
    for (size_t i = 0; i < unread.size(); ++i) {
      if (i % kStopInterval == 0) check_stop(stop);
      if (i + kAhead < unread.size()) fetch(i + kAhead);
      Piece& piece = split[unread[i]];
      piece.symbol = symbol_at(piece.row);
    }
    pieces.swap(split);
  }
  uint64_t n_ends = 0;
  const size_t n_before = runs.size();
  for (size_t i = 0; i < pieces.size(); ++i) {
    const uint32_t row = pieces[i].row, end = i + 1 < pieces.size() ? pieces[i + 1].row : rows.hi;
    // A piece continues the run in which the previous one ended.
    const size_t before = runs.size();
    if (by_lcps && differs(i)) {
      n_ends += successors_by_lcps({row, end}, depth, static_cast<uint32_t>(bits), runs, stop);
    } else if (pieces[i].symbol == 0) {
      n_ends += end - row;
    } else {
      runs.push_back({code_.decode(pieces[i].symbol), end - row});
    }
    if (before > n_before && runs.size() > before && runs[before].id == runs[before - 1].id) {
      runs[before - 1].count += runs[before].count;
      runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(before));
    }
  }
  return n_ends;
}

}  // namespace ngramdb
