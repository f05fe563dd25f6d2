// Passes over the rows of several segments in order, what is subtracted taken from what is added.
//
// Only the outline of each row is read: the number of symbols that it shares with the row before, its end,
// and its left neighbour. Segments are merged by these: a row with a longer common prefix with the last row than
// others comes before them, and the others' common prefixes with it are then as they were; only where two are equal,
// symbols are compared, from there on (Ng and Kakehi, "Merging string sequences by longest common prefixes", IPSJ Digital
// Courier, 2008).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ngramdb/lm/suffix_walk.hpp"
#include "ngramdb/segment/token_order.hpp"

namespace ngramdb {
namespace lm {

// `count` rows alike: they share all symbols (at most as many as the pass reads, or up to and with the border or
// separator) and their left neighbour. They share `lcp` symbols with the unit before.
struct Unit {
  uint32_t length;
  uint32_t lcp;
  Code left;
  bool ends;  // whether the last symbol ends a sentence
  int64_t count;
  const Column* column;  // the column of one of the rows
  Row row;
};

// A part of the rows of each column: all that begin with one of some types, and none that begins with another.
using Share = std::vector<Range>;

// The rows of all types, in order, by shares of about `n_least` rows. Rows of separators, and of tokens that have all been
// taken away, are in none.
inline std::vector<Share> shares_of(const Columns& columns, const Vocabulary& vocabulary, uint64_t n_least) {
  const size_t w = columns.width();
  std::vector<Share> shares;
  const auto follow = [&](const Range* rows) {
    if (shares.empty() || columns.n_rows(shares.back().data()) >= n_least) return false;
    for (size_t s = 0; s < w; ++s) {
      const Range& before = shares.back()[s];
      if (rows[s].size() > 0 && before.size() > 0 && rows[s].lo != before.hi) return false;
    }
    return true;
  };
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const Range* const rows = vocabulary.ranges.data() + i * w;
    if (!follow(rows)) shares.emplace_back(w);
    for (size_t s = 0; s < w; ++s) {
      Range& share = shares.back()[s];
      if (rows[s].size() > 0) share = {share.size() == 0 ? rows[s].lo : share.lo, rows[s].hi};
    }
  }
  return shares;
}

// Rows in the order of token ids, and their outlines, of a column whose rows are in another order.
class OutlinesInTokenOrder {
 public:
  // For rows that begin with whole types; at most m symbols of each are read.
  OutlinesInTokenOrder(const Column& column, Range rows, uint32_t m)
      : column_(column), rows_(column.segment(), rows), symbols_(m), before_(m) {}

  // The next ones, at most `room`; returns how many.
  size_t fill(Outline* out, size_t room) {
    found_.clear();
    Row row;
    while (found_.size() < room && rows_.next(&row, nullptr)) {
      *out++ = outline(row);
      found_.push_back(row);
    }
    return found_.size();
  }

  // The i-th row of the last ones.
  Row row(size_t i) const { return found_[i]; }

 private:
  Outline outline(Row row) {
    Code left;
    const uint32_t length = column_.prefix(row, static_cast<uint32_t>(symbols_.size()), symbols_.data(), &left);
    const uint32_t most = std::min(length, n_before_);
    uint32_t lcp = 0;
    while (lcp < most && symbols_[lcp] == before_[lcp]) ++lcp;
    const bool ends = column_.is_end(symbols_[length - 1]);
    symbols_.swap(before_);
    n_before_ = length;
    return {length, lcp, left, ends};
  }

  const Column& column_;
  RowsInTokenOrder rows_;
  std::vector<Code> symbols_, before_;
  uint32_t n_before_ = 0;
  std::vector<Row> found_;
};

// Calls see(Unit) for each unit of a share, of which at most max_length symbols are read.
template <class See>
class UnitPass {
 public:
  UnitPass(const Columns& columns, uint32_t max_length, See see)
      : columns_(columns), max_length_(max_length), see_(std::move(see)) {
    cursors_.resize(columns.width());
  }

  // look(n): called after every few rows, with how many they were.
  template <class Look>
  void run(const Share& share, Look look) {
    begin(share);
    if (n_cursors_ == 1 && columns_.only_added()) {
      take_one(look);
    } else {
      take_merged(look);
    }
  }

 private:
  // Rows whose outlines are read together.
  static constexpr size_t kBlock = 256;

  // Reads a column's rows in order.
  struct Cursor {
    const Column* column = nullptr;
    Row next = 0, end = 0;  // rows that are not yet in the block
    Row first = 0;          // of the block
    size_t at = 0, size = 0;
    uint32_t lcp = 0;  // of the row that it is at, with the last row of all
    bool has_symbols = false;
    std::vector<Code> symbols;  // of that row, if they were needed
    std::unique_ptr<OutlinesInTokenOrder> ordered;  // if the column's rows are in another order
    Outline block[kBlock];

    Row row() const { return ordered == nullptr ? first + at : ordered->row(at); }
    const Outline& outline() const { return block[at]; }
    // Advances to the next row, whose lcp is with this one.
    bool advance(uint32_t m) {
      if (++at >= size && !fill(m)) return false;
      lcp = outline().lcp;
      has_symbols = false;
      return true;
    }

    bool fill(uint32_t m) {
      if (ordered != nullptr) {
        at = 0;
        return (size = ordered->fill(block, kBlock)) > 0;
      }
      if (next == end) return false;
      first = next;
      next = std::min<Row>(end, next + kBlock);
      size = next - first;
      at = 0;
      column->outlines({first, next}, m, block);
      return true;
    }
  };

  void begin(const Share& share) {
    n_cursors_ = 0;
    for (size_t s = 0; s < columns_.width(); ++s) {
      if (share[s].size() == 0) continue;
      Cursor& cursor = cursors_[n_cursors_];
      cursor.column = &columns_[s];
      cursor.next = share[s].lo;
      cursor.end = share[s].hi;
      cursor.at = cursor.size = 0;
      cursor.ordered.reset();
      if (!columns_[s].segment().in_token_order()) {
        cursor.ordered = std::make_unique<OutlinesInTokenOrder>(columns_[s], share[s], max_length_);
      }
      if (cursor.advance(max_length_)) ++n_cursors_;
    }
    last_lcp_ = 0;
  }

  template <class Look>
  void take_one(Look look) {
    Cursor& cursor = cursors_[0];
    uint64_t n_done = 0;
    do {
      const Outline& found = cursor.outline();
      see_(Unit{found.length, cursor.lcp, found.left, found.ends, 1, cursor.column, cursor.row()});
      if (++n_done % kLookInterval == 0) look(kLookInterval);
    } while (cursor.advance(max_length_));
    look(n_done % kLookInterval);
  }

  template <class Look>
  void take_merged(Look look) {
    uint64_t n_done = 0;
    for (size_t s = 0; s < n_cursors_; ++s) cursors_[s].lcp = 0;
    while (n_cursors_ > 0) {
      const size_t s = first_cursor();
      take(cursors_[s]);
      if (!cursors_[s].advance(max_length_)) {
        std::swap(cursors_[s], cursors_[n_cursors_ - 1]);
        --n_cursors_;
      }
      if (++n_done % kLookInterval == 0) look(kLookInterval);
    }
    flush_block();
    look(n_done % kLookInterval);
  }

  // The cursor at the least row; the others' lcps are with that row then.
  size_t first_cursor() {
    size_t first = 0;
    for (size_t s = 1; s < n_cursors_; ++s) {
      if (cursors_[s].lcp > cursors_[first].lcp) first = s;
    }
    const uint32_t lcp = cursors_[first].lcp;
    const size_t start = first;
    cursors_[first].lcp = UINT32_MAX;  // with itself
    for (size_t s = start + 1; s < n_cursors_; ++s) {
      if (cursors_[s].lcp != lcp) continue;
      uint32_t common = lcp;
      if (!is_before(cursors_[s], cursors_[first], common)) {
        cursors_[s].lcp = common;
        continue;
      }
      // All rows compared before are at least as large as the first one, and so share no more than it does.
      for (size_t before = start; before < s; ++before) {
        if (cursors_[before].lcp >= lcp) cursors_[before].lcp = std::min(cursors_[before].lcp, common);
      }
      first = s;
      cursors_[first].lcp = UINT32_MAX;
    }
    cursors_[first].lcp = lcp;
    return first;
  }

  // Returns true if a's row is below b's, with which it shares `common` symbols; sets `common` to the number they share.
  bool is_before(Cursor& a, Cursor& b, uint32_t& common) const {
    const uint32_t most = std::min(a.outline().length, b.outline().length);
    if (common >= most) return a.outline().length < b.outline().length;
    const Code *const x = symbols_of(a), *const y = symbols_of(b);
    while (common < most && x[common] == y[common]) ++common;
    if (common == most) return a.outline().length < b.outline().length;
    return x[common] < y[common];
  }

  const Code* symbols_of(Cursor& cursor) const {
    if (!cursor.has_symbols) {
      cursor.symbols.resize(max_length_);
      Code left;
      cursor.column->prefix(cursor.row(), max_length_, cursor.symbols.data(), &left);
      cursor.has_symbols = true;
    }
    return cursor.symbols.data();
  }

  void take(const Cursor& cursor) {
    const Outline& found = cursor.outline();
    if (columns_.only_added()) {
      see_(Unit{found.length, cursor.lcp, found.left, found.ends, 1, cursor.column, cursor.row()});
      return;
    }
    // A row that shares all of its symbols with the one before has as many as that.
    if (block_.empty() || cursor.lcp < found.length) {
      flush_block();
      const uint32_t lcp = std::min(last_lcp_, cursor.lcp);
      block_unit_ = {found.length, lcp, found.left, found.ends, 0, cursor.column, cursor.row()};
    }
    block_.emplace_back(found.left, cursor.column->sign());
  }

  // Rows that are alike up to the greatest length: what is subtracted cancels what was added, by left neighbour.
  void flush_block() {
    if (block_.empty()) return;
    if (block_.size() > 1) std::sort(block_.begin(), block_.end());
    const uint32_t lcp = block_unit_.lcp;
    bool is_seen = false;
    for (size_t i = 0; i < block_.size();) {
      const Code left = block_[i].first;
      int64_t net = 0;
      for (; i < block_.size() && block_[i].first == left; ++i) net += block_[i].second;
      if (net <= 0) continue;
      block_unit_.lcp = is_seen ? block_unit_.length : lcp;
      block_unit_.left = left;
      block_unit_.count = net;
      see_(block_unit_);
      is_seen = true;
    }
    block_.clear();
    // The lcp of the next row is with a unit that was not seen.
    last_lcp_ = is_seen ? UINT32_MAX : lcp;
  }

  static constexpr uint64_t kLookInterval = 1u << 14;

  const Columns& columns_;
  const uint32_t max_length_;
  See see_;
  std::vector<Cursor> cursors_;
  size_t n_cursors_ = 0;
  uint32_t last_lcp_ = 0;  // of the last row with the last unit that was seen
  Unit block_unit_{};
  std::vector<std::pair<Code, int32_t>> block_;
};

}  // namespace lm
}  // namespace ngramdb
