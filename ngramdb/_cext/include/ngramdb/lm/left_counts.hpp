// Successors of frequent n-grams without a pass over their rows, for texts that repeat themselves: the left neighbours of
// "x w" are those of "x" without those of the rows that w does not follow, which are few if w is the rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ngramdb/lm/successors.hpp"

namespace ngramdb {
namespace lm {

// The left neighbours of an n-gram with their net counts.
class LeftCounts {
 public:
  void add(Code left, int64_t n) {
    int64_t& count = counts_[left];
    n_positive_ -= count > 0;
    count += n;
    n_positive_ += count > 0;
    if (count == 0) counts_.erase(left);
  }

  // Adds those of some rows of a segment, each this many times.
  void add(const Column& column, Range rows, int64_t times, StopFlag stop) {
    constexpr Row kPiece = 512;
    Code lefts[kPiece], nexts[kPiece];
    for (; rows.lo < rows.hi; rows.lo += std::min(kPiece, rows.size())) {
      const Row n = std::min(kPiece, rows.size());
      column.read({rows.lo, rows.lo + n}, 0, lefts, nexts);
      for (Row i = 0; i < n; ++i) add(lefts[i], times * column.sign());
      spend(stop, 2 * n);
    }
  }

  // Number of different left neighbours.
  int64_t n_positive() const { return n_positive_; }

 private:
  std::unordered_map<Code, int64_t> counts_;
  int64_t n_positive_ = 0;
};

// Calls visit(Successor) for every successor with a positive net count, ascending by code, as Columns::successors does.
// lefts: of the rows, one range per segment, of an n-gram of `depth` tokens; unchanged in the end. Rows that the most
// frequent successor follows are not read.
template <class Visit>
void visit_successors(const Columns& columns, const Range* rows, uint32_t depth, LeftCounts& lefts, StopFlag stop,
                      Visit visit) {
  struct Part {
    Code code;
    size_t column;
    Range rows;
  };
  struct Group {
    size_t first, last;
    uint64_t n_rows;
    Successor found;
  };
  std::vector<Part> parts;
  std::vector<Child> children;
  for (size_t s = 0; s < columns.width(); ++s) {
    children.clear();
    if (rows[s].size() > 0) columns[s].segment().children(rows[s], depth, children, stop);
    for (const Child& child : children) {
      const bool is_border = child.id == kNoToken || child.id == columns.separator();
      parts.push_back({is_border ? kBorder : static_cast<Code>(child.id + 1), s, child.rows});
    }
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.code < b.code; });
  std::vector<Group> groups;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (groups.empty() || groups.back().found.code != parts[i].code) groups.push_back({i, i, 0, {parts[i].code, 0, 0}});
    groups.back().last = i + 1;
    groups.back().n_rows += parts[i].rows.size();
    groups.back().found.count += columns[parts[i].column].sign() * static_cast<int64_t>(parts[i].rows.size());
  }
  const auto largest = std::max_element(groups.begin(), groups.end(),
                                        [](const Group& a, const Group& b) { return a.n_rows < b.n_rows; });
  const auto add_group = [&](const Group& group, LeftCounts& to, int64_t times) {
    for (size_t i = group.first; i < group.last; ++i) to.add(columns[parts[i].column], parts[i].rows, times, stop);
  };
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    if (group == largest) continue;
    LeftCounts own;
    add_group(*group, own, 1);
    group->found.n_left = own.n_positive();
    add_group(*group, lefts, -1);
  }
  if (largest != groups.end()) largest->found.n_left = lefts.n_positive();
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    if (group != largest) add_group(*group, lefts, 1);
    if (group->found.count > 0) visit(group->found);
  }
}

}  // namespace lm
}  // namespace ngramdb
