// Verifying a suffix array: that its rows are in document-end order, and the LCPs in them, or beside them, are right.
//
// Each row is compared with the one before. Matches of any length are compared in passing (suffix_matches.hpp), so that
// no array of the text's size is needed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/base/thread_team.hpp"
#include "ngramdb/segment/keys.hpp"
#include "ngramdb/segment/row_lcps.hpp"
#include "ngramdb/segment/rows.hpp"
#include "ngramdb/sort/suffix_matches.hpp"

namespace ngramdb {

// Compares rows of one text with those before them.
template <class Sym>
class RowCheck {
 public:
  RowCheck(const std::vector<DocumentText<Sym>>& texts, Rows rows)
      : text_(texts.front()), rows_(rows), matches_(texts) {}

  // Returns true if the row is a token's, follows the row before it in order, and has the LCP with it.
  bool is_right(uint64_t row) {
    const uint32_t position = rows_[row];
    if (position >= text_.size || text_.symbols[position] == 0) return false;
    const Key key = key_at(text_.symbols, text_.size, position);
    const uint32_t common = row == 0 ? 0 : common_bits(last_key_, key);
    const uint32_t lcp = std::min(common, ngramdb::most_lcp(rows_.lcp_width()));
    const bool is_right_beside = rows_.lcp_bytes(row) == nullptr || *rows_.lcp_bytes(row) == far_lcp(common, position);
    const bool ascends = row == 0 || comes_after(key, position);
    last_key_ = key;
    last_position_ = position;
    return ascends && lcp == held_lcp(row) && is_right_beside;
  }

  // Begins before a row other than the first; false if the row before it leads out of the text.
  bool begin(uint64_t row) {
    last_position_ = rows_[row - 1];
    if (last_position_ >= text_.size) return false;
    last_key_ = key_at(text_.symbols, text_.size, last_position_);
    return true;
  }

 private:
  uint32_t held_lcp(uint64_t row) const {
    return static_cast<uint32_t>(uint64_t{*rows_.word(row)} >> (32 - rows_.lcp_width()));
  }

  // The far LCP of suffixes whose keys have this many bits in common.
  uint32_t far_lcp(uint32_t common, uint32_t position) const {
    if (common < 128) return common;
    const LongKey before = long_key(text_.symbols + last_position_, text_.size - last_position_);
    return std::min(common_bits(before, long_key(text_.symbols + position, text_.size - position)), kMostFarLcp);
  }

  bool comes_after(const Key& key, uint32_t position) {
    constexpr uint64_t kKeySymbols = 16 / sizeof(Sym);
    if (key.first != last_key_.first) return last_key_.first < key.first;
    if (key.rest != last_key_.rest) return last_key_.rest < key.rest;
    // Keys have nothing but zeros from the separator on; equal suffixes are in the order of their positions.
    if (static_cast<Sym>(key.rest) == 0) return last_position_ < position;
    uint64_t n = 0;
    if (!matches_.common({0, last_position_}, {0, position}, kKeySymbols, &n)) return false;
    const Sym before = text_.symbols[last_position_ + n], after = text_.symbols[position + n];
    return before == after ? last_position_ < position : before < after;
  }

  DocumentText<Sym> text_;
  Rows rows_;
  SuffixMatches<Sym> matches_;
  Key last_key_{0, 0};
  uint32_t last_position_ = 0;
};

// The first row that is not right, or n_rows. The text need not be sound.
//
// Cost: a random read of the text per row, shared by as many threads as there are free cores, 1 MB each.
template <class Sym>
uint64_t first_wrong_row(const Sym* text, uint64_t n_text, Rows rows, uint64_t n_rows, CoreBudget* cores,
                         StopFlag stop) {
  constexpr uint64_t kAhead = 32;
  const std::vector<DocumentText<Sym>> texts{{text, n_text}};
  ThreadTeam team(cores, stop);
  std::vector<uint64_t> wrong(team.size(), n_rows);
  team.run([&](uint32_t t) {
    const uint64_t start = n_rows * t / team.size(), end = n_rows * (t + 1) / team.size();
    RowCheck<Sym> check(texts, rows);
    bool is_right = start == 0 || check.begin(start);
    for (uint64_t row = start; row < end; ++row) {
      if ((row - start) % kStopInterval == 0) team.look(t);
      if (row + kAhead < end && rows[row + kAhead] < n_text) prefetch_line(text + rows[row + kAhead]);
      is_right = is_right && check.is_right(row);
      if (!is_right) {
        wrong[t] = row;
        return;
      }
    }
  });
  return *std::min_element(wrong.begin(), wrong.end());
}

}  // namespace ngramdb
