// What may follow a context: a probability for each token that follows some suffix of it. All other tokens have what
// they have without context, times one factor; so a distribution is known without going through the vocabulary.
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

// Tokens with what they have so far, from the shortest suffix to the longest.
class ShareList {
 public:
  using Entry = std::pair<Code, double>;

  double rest() const { return rest_; }
  const std::vector<Entry>& entries() const { return entries_; }

  void scale(double factor) {
    rest_ *= factor;
    for (Entry& entry : entries_) entry.second *= factor;
  }

  void set_rest(double rest) { rest_ = rest; }

  // Changes tokens, ascending by code: change(what a token has, its amount). Those that are not listed have 0.
  template <class Change>
  void update(const std::vector<Entry>& amounts, Change change) {
    list(amounts);
    auto at = entries_.begin();
    for (const Entry& amount : amounts) {
      at = std::lower_bound(at, entries_.end(), amount, by_code);
      at->second = change(at->second, amount.second);
    }
  }

 private:
  static bool by_code(const Entry& a, const Entry& b) { return a.first < b.first; }

  void list(const std::vector<Entry>& amounts) {
    const size_t n_listed = entries_.size();
    size_t at = 0;
    for (const Entry& amount : amounts) {
      const auto stop = entries_.begin() + static_cast<std::ptrdiff_t>(n_listed);
      const auto found = std::lower_bound(entries_.begin() + static_cast<std::ptrdiff_t>(at), stop, amount, by_code);
      at = static_cast<size_t>(found - entries_.begin());
      if (found == stop || found->first != amount.first) entries_.emplace_back(amount.first, 0.0);
    }
    std::inplace_merge(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(n_listed), entries_.end(),
                       by_code);
  }

  double rest_ = 1.0;
  std::vector<Entry> entries_;  // ascending by code
};

}  // namespace lm
}  // namespace ngramdb
