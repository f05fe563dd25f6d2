// The tokens that may follow a context: a probability for each token that follows some suffix of it. All other tokens
// have their probability without context, times one factor; so a distribution needs no pass over the vocabulary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ngramdb/lm/lm_column.hpp"

namespace ngramdb {
namespace lm {

struct TokenShares {
  double rest = 1.0;            // the factor of tokens that are not listed
  std::vector<int64_t> places;  // ascending: places of types in the vocabulary; `</s>` comes after all types
  std::vector<double> probs;
};

// Tokens with what they have, gathered from the longest suffix to the shortest.
class ShareList {
 public:
  using Entry = std::pair<Code, double>;

  double rest() const { return rest_; }
  void set_rest(double rest) { rest_ = rest; }

  // Ascending by code, once a suffix has been ended.
  const std::vector<Entry>& entries() const { return entries_; }

  void reserve(size_t n_more) { entries_.reserve(entries_.size() + n_more); }
  void add(Code code, double amount) { entries_.emplace_back(code, amount); }

  // End a suffix, whose tokens were added in the order of their codes: make one entry of all that a token has, their sum,
  // or what a longer suffix gave it.
  void sum() {
    merge([](double has, double amount) { return has + amount; });
  }
  void keep_first() {
    merge([](double has, double) { return has; });
  }

 private:
  static bool is_before(const Entry& a, const Entry& b) { return a.first < b.first; }

  template <class Change>
  void merge(Change change) {
    const auto added = entries_.begin() + static_cast<std::ptrdiff_t>(n_merged_);
    // A damaged file may have them in any order.
    if (!std::is_sorted(added, entries_.end(), is_before)) std::stable_sort(added, entries_.end(), is_before);
    merged_.clear();
    merged_.reserve(entries_.size());
    const auto take = [&](const Entry& entry) {
      if (!merged_.empty() && merged_.back().first == entry.first) {
        merged_.back().second = change(merged_.back().second, entry.second);
      } else {
        merged_.push_back(entry);
      }
    };
    auto has = entries_.begin();
    auto next = added;
    while (has != added && next != entries_.end()) take(next->first < has->first ? *next++ : *has++);
    std::for_each(has, added, take);
    std::for_each(next, entries_.end(), take);
    entries_.swap(merged_);
    n_merged_ = entries_.size();
  }

  double rest_ = 1.0;
  size_t n_merged_ = 0;
  std::vector<Entry> entries_, merged_;
};

}  // namespace lm
}  // namespace ngramdb
