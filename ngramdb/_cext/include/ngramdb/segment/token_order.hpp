// Rows in the order of token ids, of segments whose files are sorted otherwise (segment.hpp).
//
// Rows that share their first tokens are adjacent in any kind of segment, so each run of them is split by the
// next token, and its parts by their ids, until they are few enough to be sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "ngramdb/base/stoppable_sort.hpp"
#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

namespace token_order {

// The same runs, with equal parts apart: descending by id, as a stack takes them; documents' ends, the smallest, last.
inline void split(const Segment& segment, Range rows, uint32_t depth, std::vector<Child>& out, StopFlag stop) {
  out.clear();
  segment.children(rows, depth, out, stop);
  std::sort(out.begin(), out.end(), [](const Child& a, const Child& b) { return a.id > b.id; });
}

// The number of tokens that all of the rows share, given that they share `depth`; at most `most`. Fewer if finding out
// takes more than two reads.
inline uint32_t shared(const Segment& segment, Range rows, uint32_t depth, uint32_t most) {
  if (!segment.is_nested() && rows.size() > 1) return std::min(depth, most);
  const Position first = segment.position(rows.lo), last = segment.position(rows.hi - 1);
  for (; depth < most; ++depth) {
    const TokenId id = defaults::token_at(segment, first + depth);
    if (id == kNoToken || defaults::token_at(segment, last + depth) != id) return depth;
  }
  return depth;
}

}  // namespace token_order

// Returns true if the suffix at position a comes before that at b by token ids; they share `depth` tokens.
inline bool is_before(const Segment& segment, Position a, Position b, uint32_t depth = 0) {
  constexpr uint32_t kPiece = 16;
  TokenId x[kPiece], y[kPiece];
  for (Position at = depth;; at += kPiece) {
    const uint32_t n_x = segment.tokens(a + at, kPiece, x), n_y = segment.tokens(b + at, kPiece, y);
    const uint32_t n = std::min(n_x, n_y);
    for (uint32_t i = 0; i < n; ++i) {
      if (x[i] != y[i]) return x[i] < y[i];
    }
    if (n < kPiece) return n_x != n_y ? n_x < n_y : a < b;
  }
}

// One row after the other. Memory: that of some thousand rows, or of all suffixes that are equal.
class RowsInTokenOrder {
 public:
  RowsInTokenOrder(const Segment& segment, Range rows) : segment_(segment) {
    if (rows.size() > 0) open_.push_back({rows, 0, false});
  }

  // False at the end.
  bool next(Row* row, StopFlag stop) {
    while (at_ == sorted_.size()) {
      if (open_.empty()) return false;
      refill(stop);
    }
    *row = sorted_[at_++].second;
    return true;
  }

 private:
  static constexpr uint64_t kFew = 4096;  // rows that are sorted by comparing them

  struct Part {
    Range rows;
    uint32_t depth;  // tokens that they share
    bool are_equal;  // and end after them
  };

  void refill(StopFlag stop) {
    sorted_.clear();
    at_ = 0;
    const Part part = open_.back();
    open_.pop_back();
    if (part.are_equal || part.rows.size() <= kFew) {
      sort(part, stop);
      return;
    }
    const uint32_t depth = token_order::shared(segment_, part.rows, part.depth, UINT32_MAX);
    token_order::split(segment_, part.rows, depth, children_, stop);
    for (const Child& child : children_) open_.push_back({child.rows, depth + 1, child.id == kNoToken});
  }

  void sort(const Part& part, StopFlag stop) {
    check_stop(stop);
    for (Row row = part.rows.lo; row < part.rows.hi; ++row) sorted_.emplace_back(segment_.position(row), row);
    if (part.are_equal) {
      sort_stoppably(sorted_.begin(), sorted_.end(), stop);
      return;
    }
    const auto precedes = [&](const Placed& a, const Placed& b) { return is_before(segment_, a.first, b.first, part.depth); };
    sort_stoppably(sorted_.begin(), sorted_.end(), precedes, stop);
  }

  using Placed = std::pair<Position, Row>;

  const Segment& segment_;
  std::vector<Part> open_;  // in reverse order
  std::vector<Child> children_;
  std::vector<Placed> sorted_;
  size_t at_ = 0;
};

// One n-gram of n tokens (n >= 1) after the other: its rows.
class RunsInTokenOrder {
 public:
  RunsInTokenOrder(const Segment& segment, Range rows, uint32_t n) : segment_(segment), n_(n) {
    if (rows.size() > 0) open_.push_back({rows, 0});
  }

  // False at the end.
  bool next(Range* rows, StopFlag stop) {
    while (!open_.empty()) {
      const Part part = open_.back();
      open_.pop_back();
      const uint32_t depth = token_order::shared(segment_, part.rows, part.depth, n_);
      if (depth == n_) {
        n_passed_ += part.rows.size();
        *rows = part.rows;
        return true;
      }
      token_order::split(segment_, part.rows, depth, children_, stop);
      for (const Child& child : children_) {
        if (child.id == kNoToken) {
          n_passed_ += child.rows.size();
        } else {
          open_.push_back({child.rows, depth + 1});
        }
      }
    }
    return false;
  }

  // Rows that need no more looking at.
  uint64_t n_passed() const { return n_passed_; }

 private:
  struct Part {
    Range rows;
    uint32_t depth;
  };

  const Segment& segment_;
  const uint32_t n_;
  uint64_t n_passed_ = 0;
  std::vector<Part> open_;
  std::vector<Child> children_;
};

}  // namespace ngramdb
