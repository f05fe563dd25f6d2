// A segment in another program's layout with reversed documents, as in infini-gram's version 5: a text
// of separators and, after each, a document's tokens from its last to its first, and a table over that text.
//
// Positions here are in reading order: the i-th token of a document is at its start plus i, though the file has it as
// far before the document's end. The table is sorted by the preceding text, so the
// rows of an n-gram are those of its reverse, and they are numbered by its length, too: the number of a row is a
// place in the table, with the n-gram's length in the bits above. All rows, none of which is known to begin
// with anything, have length 0. So a row determines where the n-gram that was searched for begins, as in other kinds;
// but the rows of an n-gram are not among those of its beginnings (`is_nested`).
//
// Counting, places and documents cost what they cost in other kinds. What follows an n-gram is read at each of its
// occurrences, where other kinds search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ngramdb/segment/table_segment.hpp"

namespace ngramdb {

template <class Sym, bool kByBytes>
class ReversedTableSegment final : public SampledSegment {
 public:
  // As TableSegment. The arrays have offsets, and a separator.
  ReversedTableSegment(const TableArrays& a, std::string name) : table_(a, std::move(name)) {
    if (a.offsets == nullptr || a.separator == kNoToken) {
      throw std::invalid_argument("documents that stand in reverse have separators, and offsets");
    }
  }

  uint64_t n_rows() const override { return table_.n_rows(); }
  uint64_t n_documents() const override { return table_.n_documents(); }
  uint64_t n_positions() const override { return table_.n_positions(); }

  Position position(Row row) const override { return mirrored(first_of(row)); }

  uint32_t tokens(Position at, uint32_t n, TokenId* out) const override {
    if (at == 0 || at >= n_positions()) return 0;
    const Span span = table_.span(table_.document_of(at));
    if (at >= span.stop) return 0;
    const uint32_t most = static_cast<uint32_t>(std::min<uint64_t>(n, span.stop - at));
    const Position first = span.start + (span.stop - 1 - at);
    for (uint32_t i = 0; i < most; ++i) {
      out[i] = table_.symbol(first - i);
      if (out[i] == kNoToken) return i;
    }
    return most;
  }

  Span span(DocNumber document) const override { return table_.span(document); }

  bool in_token_order() const override { return false; }
  bool is_nested() const override { return false; }
  TokenId rank(TokenId id) const override { return table_.rank(id); }

  bool has_rows(Range rows) const override {
    const uint64_t n_places = n_rows() + (depth_of(rows.lo) > 1 ? table_.n_separators() : 0);
    return rows.lo <= rows.hi && depth_of(rows.lo) == depth_of(rows.hi) && place_of(rows.hi) <= n_places;
  }

  // For rows that begin with an n-gram, all that do, unless depth is 0.
  void children(Range rows, uint32_t depth, std::vector<Child>& out, StopFlag stop) const override {
    if (rows.size() == 0) return;
    if (depth == 0 && depth_of(rows.lo) <= 1) {
      const size_t n_before = out.size();
      table_.children({place_of(rows.lo), place_of(rows.hi)}, 0, out, stop);
      for (size_t i = n_before; i < out.size(); ++i) out[i].rows = as_rows(out[i].rows, 1);
      return;
    }
    if (depth < depth_of(rows.lo)) {
      out.push_back({next_of(rows.lo, depth), rows});
      return;
    }
    std::vector<Run> runs;
    const uint64_t n_ends = count_nexts(rows, depth, runs, stop);
    if (runs.size() + (n_ends > 0) == 1) {
      out.push_back({n_ends > 0 ? kNoToken : runs[0].id, rows});
      return;
    }
    std::vector<TokenId> ids = tokens_of(rows.lo, depth);
    if (n_ends > 0) out.push_back({kNoToken, checked(ends_of(ids), n_ends)});
    ids.push_back(0);
    for (const Run& run : runs) {
      check_stop(stop);
      ids.back() = run.id;
      out.push_back({run.id, checked(rows_of(ids), static_cast<uint64_t>(run.count))});
    }
  }

  void find(const Request* requests, Range* answers, size_t n) const override {
    size_t n_ids = 0;
    for (size_t i = 0; i < n; ++i) n_ids += requests[i].n;
    std::vector<TokenId> ids(n_ids);
    std::vector<Request> reversed(n);
    TokenId* next = ids.data();
    for (size_t i = 0; i < n; ++i) {
      const Request& request = requests[i];
      reversed[i].ids = next;
      reversed[i].n = std::min(request.n, kMostTokens);
      std::reverse_copy(request.ids, request.ids + reversed[i].n, next);
      next += reversed[i].n;
    }
    table_.find(reversed.data(), answers, n);
    for (size_t i = 0; i < n; ++i) {
      if (requests[i].n > kMostTokens && answers[i].size() > 0) {
        throw std::invalid_argument("an n-gram of more than " + std::to_string(kMostTokens) +
                                    " tokens cannot be looked up where documents stand in reverse");
      }
      answers[i] = requests[i].n == 0 ? all() : as_rows(answers[i], reversed[i].n);
    }
  }

  Range narrow(Range rows, uint32_t depth, TokenId next) const override {
    if (rows.size() == 0 || (depth == 0 && next == kNoToken)) return {};
    std::vector<TokenId> ids = tokens_of(rows.lo, depth);
    if (next == kNoToken) return ends_of(ids);
    ids.push_back(next);
    return rows_of(ids);
  }

  uint64_t successors(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const override {
    if (depth == 0 || depth < depth_of(rows.lo)) return Segment::successors(rows, depth, runs, stop);
    return count_nexts(rows, depth, runs, stop);
  }

  TokenId only_continuation(Range rows, uint32_t depth) const override {
    if (rows.size() == 0) return kNoToken;
    const TokenId first = next_of(rows.lo, depth);
    for (Row row = rows.lo + 1; row < rows.hi; ++row) {
      if (next_of(row, depth) != first) return kManyTokens;
    }
    return first;
  }

  void neighbours(Range rows, uint32_t depth, Code* lefts, Code* nexts) const override {
    each_first(rows, nullptr, [&](Position first) {
      *lefts++ = static_cast<Code>(table_.symbol(first + 1) + 1);
      *nexts++ = static_cast<Code>(symbol_after(first, depth) + 1);
    });
  }

  uint32_t prefix(Row row, uint32_t n, Code last, Code* out, Code* left) const override {
    const Position first = first_of(row);
    *left = static_cast<Code>(table_.symbol(first + 1) + 1);
    for (uint32_t i = 0; i < n; ++i) {
      out[i] = static_cast<Code>(symbol_after(first, i) + 1);
      if (out[i] == kBorder || out[i] == last) return i + 1;
    }
    return n;
  }

  bool tokens_of_row(Row row, uint32_t n, TokenId* out) const override {
    const Position first = first_of(row);
    for (uint32_t i = 0; i < n; ++i) {
      out[i] = symbol_after(first, i);
      if (out[i] == kNoToken) return false;
    }
    return true;
  }

  void prefetch_row(Row row) const override { table_.prefetch_row(place_of(row)); }

  void scan_windows(PositionsIn starts, PositionsIn stops, size_t n_windows, const TokenId* ids, uint32_t n,
                    std::vector<Position>& out, StopFlag stop) const override {
    if (n == 0) return;
    Span span{};
    for (size_t i = 0; i < n_windows; ++i) {
      const Position end = std::min<Position>(stops[i], n_positions());
      for (Position at = std::max<Position>(starts[i], 1); at < end; ++at) {
        if ((at - starts[i]) % kStopInterval == 0) check_stop(stop, i, n_windows);
        if (at < span.start || at > span.stop) span = table_.span(table_.document_of(at));
        if (at + n > span.stop) continue;
        const Position first = span.start + (span.stop - 1 - at);
        uint32_t k = 0;
        while (k < n && table_.symbol(first - k) == ids[k]) ++k;
        if (k == n) out.push_back(at);
      }
    }
  }

  void sample(uint64_t stride, uint64_t* keys, StopFlag stop) const override { table_.sample(stride, keys, stop); }
  void set_keys(const uint64_t* keys, uint64_t n_keys, uint64_t stride) override {
    table_.set_keys(keys, n_keys, stride);
  }

 protected:
  DocNumber document_at(Position position) const override { return table_.document_of(position); }

 private:
  // Above the bits of a place: the number of tokens that its n-gram has.
  static constexpr int kPlaceBits = 44;
  static constexpr uint32_t kMostTokens = (uint32_t{1} << (62 - kPlaceBits)) - 2;
  static constexpr size_t kBlock = 32;  // rows whose text is fetched together
  static constexpr uint64_t kTableFrom = 4096;  // rows whose next tokens are counted in a table

  static uint64_t place_of(Row row) { return row & ((uint64_t{1} << kPlaceBits) - 1); }
  static uint64_t depth_of(Row row) { return row >> kPlaceBits; }
  static Range as_rows(Range places, uint64_t depth) {
    return {places.lo | depth << kPlaceBits, places.hi | depth << kPlaceBits};
  }

  // The place of a row's first token in the file.
  Position first_of(Row row) const {
    const uint64_t depth = depth_of(row);
    return table_.position(place_of(row)) + (depth > 0 ? depth - 1 : 0);
  }

  // A place of a document in the file, as its reader numbers it; the other way round as well.
  Position mirrored(Position at) const {
    const Span span = table_.span(table_.document_of(at));
    return span.start + (span.stop - 1 - at);
  }

  TokenId symbol_after(Position first, uint32_t depth) const {
    return first < depth ? kNoToken : table_.symbol(first - depth);
  }
  TokenId next_of(Row row, uint32_t depth) const { return symbol_after(first_of(row), depth); }

  std::vector<TokenId> tokens_of(Row row, uint32_t depth) const {
    std::vector<TokenId> ids(depth);
    tokens_of_row(row, depth, ids.data());
    return ids;
  }

  // Rows that a search found, where as many were read: another number means that the table is not in order.
  Range checked(Range rows, uint64_t n) const {
    if (rows.size() != n) table_.refuse(place_of(rows.lo), rows.size());
    return rows;
  }

  Range rows_of(const std::vector<TokenId>& ids) const {
    const Request request{ids.data(), static_cast<uint32_t>(ids.size())};
    Range rows;
    find(&request, &rows, 1);
    return rows;
  }

  // The rows of an n-gram whose documents end after it: in the file, a separator precedes its reverse.
  Range ends_of(std::vector<TokenId> ids) const {
    std::reverse(ids.begin(), ids.end());
    const uint32_t n = static_cast<uint32_t>(ids.size());
    return as_rows(table_.after_separator(ids.data(), n), uint64_t{n} + 1);
  }

  template <class Visit>
  void each_first(Range rows, StopFlag stop, Visit visit) const {
    Position firsts[kBlock];
    for (Row lo = rows.lo; lo < rows.hi; lo += kBlock) {
      if ((lo - rows.lo) % kStopInterval < kBlock) check_stop(stop, lo - rows.lo, rows.size());
      const size_t n = std::min<size_t>(kBlock, rows.hi - lo);
      for (size_t i = 0; i < n; ++i) {
        firsts[i] = first_of(lo + i);
        table_.prefetch_symbol(firsts[i]);
      }
      for (size_t i = 0; i < n; ++i) visit(firsts[i]);
    }
  }

  // Appends the counts of tokens after the first `depth` tokens of the rows, ascending; returns how many
  // documents end there.
  uint64_t count_nexts(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const {
    // Tokens of one or two bytes can be counted in a table, whereas sorting a million takes 60 ms.
    if (sizeof(Sym) <= 2 && rows.size() > kTableFrom) return count_by_table(rows, depth, runs, stop);
    constexpr size_t kPiece = size_t{1} << 20;
    std::vector<TokenId> ids;
    std::vector<Run> found, merged;
    uint64_t n_ends = 0;
    const auto settle = [&] {
      std::sort(ids.begin(), ids.end());
      merged.clear();
      size_t old = 0;
      for (size_t i = 0; i < ids.size();) {
        size_t end = i + 1;
        while (end < ids.size() && ids[end] == ids[i]) ++end;
        while (old < found.size() && found[old].id < ids[i]) merged.push_back(found[old++]);
        Run run{ids[i], static_cast<int64_t>(end - i)};
        if (old < found.size() && found[old].id == run.id) run.count += found[old++].count;
        merged.push_back(run);
        i = end;
      }
      merged.insert(merged.end(), found.begin() + static_cast<std::ptrdiff_t>(old), found.end());
      found.swap(merged);
      ids.clear();
    };
    each_first(rows, stop, [&](Position first) {
      const TokenId next = symbol_after(first, depth);
      if (next == kNoToken) {
        ++n_ends;
        return;
      }
      ids.push_back(next);
      if (ids.size() == kPiece) settle();
    });
    settle();
    runs.insert(runs.end(), found.begin(), found.end());
    return n_ends;
  }

  uint64_t count_by_table(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const {
    constexpr size_t kSize = size_t{1} << 16;
    std::vector<int64_t> counts(kSize + 1);  // the first one of documents' ends
    each_first(rows, stop, [&](Position first) { ++counts[static_cast<size_t>(symbol_after(first, depth) + 1)]; });
    for (size_t i = 0; i < kSize; ++i) {
      if (counts[i + 1] > 0) runs.push_back({static_cast<TokenId>(i), counts[i + 1]});
    }
    return static_cast<uint64_t>(counts[0]);
  }

  TableSegment<Sym, kByBytes> table_;
};

}  // namespace ngramdb
