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
    // In a damaged file they may stand in any order.
    if (!std::is_sorted(added, entries_.end(), is_before)) std::stable_sort(added, entries_.end(), is_before);
    merged_.resize(entries_.size());
    std::merge(entries_.begin(), added, added, entries_.end(), merged_.begin(), is_before);
    size_t n = 0;
    for (const Entry& entry : merged_) {
      if (n > 0 && merged_[n - 1].first == entry.first) {
        merged_[n - 1].second = change(merged_[n - 1].second, entry.second);
      } else {
        merged_[n++] = entry;
      }
    }
    merged_.resize(n);
    entries_.swap(merged_);
    n_merged_ = n;
  }

  double rest_ = 1.0;
  size_t n_merged_ = 0;
  std::vector<Entry> entries_, merged_;
};

}  // namespace lm
}  // namespace ngramdb
