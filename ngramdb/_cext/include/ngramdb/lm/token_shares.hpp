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

  // Ascending by code, once `sum` or `keep_first` was called.
  const std::vector<Entry>& entries() const { return entries_; }

  void add(Code code, double amount) { entries_.emplace_back(code, amount); }

  // Makes one entry of all that a token has: their sum, or the first one.
  void sum() {
    merge([](double has, double amount) { return has + amount; });
  }
  void keep_first() {
    merge([](double has, double) { return has; });
  }

  // The same when the list has grown: many suffixes may have the same successors.
  void sum_if_many() {
    if (entries_.size() >= most_) sum();
  }
  void keep_first_if_many() {
    if (entries_.size() >= most_) keep_first();
  }

 private:
  static constexpr size_t kMany = size_t{1} << 20;

  template <class Change>
  void merge(Change change) {
    std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.first < b.first; });
    size_t n = 0;
    for (const Entry& entry : entries_) {
      if (n > 0 && entries_[n - 1].first == entry.first) {
        entries_[n - 1].second = change(entries_[n - 1].second, entry.second);
      } else {
        entries_[n++] = entry;
      }
    }
    entries_.resize(n);
    most_ = std::max(kMany, 2 * n);
  }

  double rest_ = 1.0;
  size_t most_ = kMany;
  std::vector<Entry> entries_;
};

}  // namespace lm
}  // namespace ngramdb
