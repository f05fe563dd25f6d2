// The most probable tokens of a distribution, and draws from it, without a pass over the vocabulary: the tokens without
// context are sorted once, and after a context only the listed ones (token_shares.hpp) are looked at.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

namespace ngramdb {
namespace lm {

// The distribution after a context: places of tokens, ascending, with their probabilities. Any other token has `rest`
// times its value without context.
struct Listed {
  const int64_t* places;
  const double* probs;
  size_t n;
  double rest;
};

struct DrawnPlace {
  int64_t place = -1;  // below 0: nothing is possible
  double prob = 0.0;   // divided by the sum of all
};

// The tokens by their values without context, the greatest first; among equals the first place.
class Ranking {
 public:
  using Entry = std::pair<double, int64_t>;  // a probability and a place

  // Values are finite and at least 0; anything else, as in a damaged file, counts as 0.
  Ranking(const double* alone, size_t n) : alone_(alone, alone + n), order_(n), ranks_(n), sorted_(n) {
    for (double& value : alone_) value = is_possible(value) ? value : 0.0;
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) { return value_at(a) > value_at(b); });
    for (size_t r = 0; r < n; ++r) {
      ranks_[static_cast<size_t>(order_[r])] = static_cast<int32_t>(r);
      sorted_[r] = value_at(order_[r]);
    }
    while (n_possible_ < n && sorted_[n_possible_] > 0.0) ++n_possible_;
    plain_ = std::make_shared<const Weights>(Weights{1.0, alone_, sums_of(alone_)});
  }

  size_t size() const { return alone_.size(); }

  // The sum of all probabilities.
  double total(const Listed& listed) const {
    double sum = 0.0, gone = 0.0;
    for (size_t i = 0; i < listed.n; ++i) {
      if (is_possible(listed.probs[i])) sum += listed.probs[i];
      gone += alone_[place_of(listed, i)];
    }
    return sum + listed.rest * std::max(0.0, plain_->sums.back() - gone);
  }

  // The k most probable, ascending by place; fewer if the probabilities of others are 0. Among equals the first places
  // count.
  std::vector<Entry> top(const Listed& listed, size_t k) const {
    std::vector<Entry> best;
    double least = 0.0;  // of the k best so far
    const auto shrink = [&] {
      keep_best(best, k);
      if (k > 0 && best.size() == k) least = std::max_element(best.begin(), best.end(), is_before)->first;
    };
    for (size_t i = 0; i < listed.n; ++i) {
      if (!(listed.probs[i] >= least) || !is_possible(listed.probs[i])) continue;
      best.emplace_back(listed.probs[i], listed.places[i]);
      if (best.size() / 2 > k + kSpare) shrink();
    }
    shrink();
    size_t n_others = 0;
    for (size_t r = 0; r < n_possible_ && n_others < k; ++r) {
      const double prob = listed.rest * sorted_[r];
      if (!(prob > 0.0) || prob < least) break;
      if (is_listed(listed, order_[r])) continue;
      best.emplace_back(prob, order_[r]);
      ++n_others;
    }
    keep_best(best, k);
    std::sort(best.begin(), best.end(), [](const Entry& a, const Entry& b) { return a.second < b.second; });
    return best;
  }

  // A token drawn by probabilities to the power of 1 / temperature, from as few of the most probable as have a share of
  // all. The tokens are in a row, the most probable first; `at`, at least 0 and below 1, is the place of the one that is returned.
  DrawnPlace draw(const Listed& listed, double temperature, double share, double at) const {
    const std::shared_ptr<const Weights> weights = weights_for(temperature);
    const Row row(*this, listed, *weights);
    double end = row.total();
    if (share < 1.0) end = row.find(share * end * (1.0 - kRounding), false).sum;
    Found found = row.find(at * end, true);
    if (found.place < 0) {
      const std::vector<Entry> best = top(listed, 1);
      if (best.empty()) return {};
      found = {best[0].second, best[0].first, 0.0};
    }
    return {found.place, found.prob / (temperature == 1.0 ? row.total() : total(listed))};
  }

  // Returns true if the places are ascending and in the vocabulary, and the rest for others is a number.
  bool fits(const Listed& listed) const {
    for (size_t i = 0; i < listed.n; ++i) {
      if (listed.places[i] < (i == 0 ? 0 : listed.places[i - 1] + 1)) return false;
    }
    return (listed.n == 0 || listed.places[listed.n - 1] < static_cast<int64_t>(size())) && std::isfinite(listed.rest) &&
           listed.rest >= 0.0;
  }

 private:
  // Sums that are rounded differently must not make a nucleus differ.
  static constexpr double kRounding = 1e-12;
  // Candidates of the k best are sorted out when there are twice as many as that many more than k.
  static constexpr size_t kSpare = 16;
  // Temperatures whose weights are kept.
  static constexpr size_t kKept = 4;

  // Values without context, to the power of 1 / temperature, and divided by the greatest one; and their sums over the
  // first ranks: over none, one, …, all.
  struct Weights {
    double temperature;
    std::vector<double> alone;
    std::vector<double> sums;
  };

  struct Found {
    int64_t place = -1;
    double prob = 0.0;
    double sum = 0.0;  // of the weights up to this token
  };

  // All tokens, the most probable first, with running sums of weights. Tokens of similar probability are in one bucket,
  // and only those of one bucket are sorted.
  class Row {
   public:
    Row(const Ranking& ranking, const Listed& listed, const Weights& weights)
        : ranking_(ranking), listed_(listed), weights_(weights) {
      const double most_alone = ranking.n_possible_ > 0 ? ranking.sorted_[0] : 0.0;
      rest_weight_ = listed.rest;
      if (weights.temperature != 1.0) {
        log_most_ = std::log(ranking.greatest(listed));
        rest_weight_ = raised(listed.rest * most_alone);
        raised_.resize(listed.n);
        for (size_t i = 0; i < listed.n; ++i) raised_[i] = is_possible(listed.probs[i]) ? raised(listed.probs[i]) : 0.0;
      }
      first_ = bucket_of(listed.rest * most_alone);
      last_ = ranking.n_possible_ > 0 ? bucket_of(listed.rest * ranking.sorted_[ranking.n_possible_ - 1]) : first_;
      buckets_.assign(listed.n, kNowhere);
      without_.assign(listed.n, kNowhere);
      for (size_t i = 0; i < listed.n; ++i) {
        const double alone = ranking.alone_[ranking.place_of(listed, i)];
        if (alone > 0.0) without_[i] = bucket_of(listed.rest * alone);
        if (!is_possible(listed.probs[i])) continue;
        buckets_[i] = bucket_of(listed.probs[i]);
        first_ = std::max(first_, buckets_[i]);
        last_ = std::min(last_, buckets_[i]);
      }
      sums_.assign(first_ - last_ + 1u, 0.0);
      gone_.assign(first_ - last_ + 1u, 0.0);
      for (size_t i = 0; i < listed.n; ++i) {
        if (buckets_[i] != kNowhere) sums_[buckets_[i] - last_] += weight(i);
        if (without_[i] != kNowhere) gone_[without_[i] - last_] += weights.alone[ranking.place_of(listed, i)];
      }
      const double gone = std::accumulate(gone_.begin(), gone_.end(), 0.0);
      total_ = std::accumulate(sums_.begin(), sums_.end(), 0.0) +
               rest_weight_ * std::max(0.0, weights.sums.back() - gone);
    }

    double total() const { return total_; }

    // The first token with which the sum is `wanted`, or above: more than that. The last one if sums stay below.
    Found find(double wanted, bool above) const {
      const auto reaches = [&](double sum) { return above ? sum > wanted : sum >= wanted; };
      Bucket bucket, passed;
      for (bucket.number = size_t{first_} + 1; bucket.number-- > last_;) {
        bucket.end = rank_below(bucket.number, bucket.rank);
        const double others = weights_.sums[bucket.end] - weights_.sums[bucket.rank] - gone_[bucket.number - last_];
        const double after = bucket.sum + sums_[bucket.number - last_] + rest_weight_ * std::max(0.0, others);
        if (reaches(after)) {
          const Found found = in_bucket(bucket, reaches);
          if (found.place >= 0) return found;
        } else if (after > bucket.sum) {
          passed = bucket;
        }
        bucket.sum = after;
        bucket.rank = bucket.end;
      }
      return in_bucket(passed, reaches);
    }

   private:
    // Three bits of the mantissa: at most an eighth apart.
    static constexpr int kShift = 49;
    static constexpr uint16_t kNowhere = 0xffff;  // no bucket of a number above 0

    struct Item {
      double prob;
      int64_t place;
      double weight;
    };

    // A bucket; its tokens that are not listed have ranks from `rank` up to `end`. sum: of the buckets before.
    struct Bucket {
      size_t number = 0, rank = 0, end = 0;
      double sum = 0.0;
    };

    static uint16_t bucket_of(double prob) {
      uint64_t bits;
      std::memcpy(&bits, &prob, sizeof bits);
      return static_cast<uint16_t>(bits >> kShift);
    }

    double raised(double prob) const { return std::exp((std::log(prob) - log_most_) / weights_.temperature); }
    double weight(size_t i) const { return raised_.empty() ? listed_.probs[i] : raised_[i]; }

    // The first rank, from `rank` on, whose token is below the bucket if it is not listed.
    size_t rank_below(size_t bucket, size_t rank) const {
      const auto begin = ranking_.sorted_.begin();
      const auto end = begin + static_cast<std::ptrdiff_t>(ranking_.n_possible_);
      const auto found = std::partition_point(begin + static_cast<std::ptrdiff_t>(rank), end, [&](double alone) {
        return bucket_of(listed_.rest * alone) >= bucket;
      });
      return static_cast<size_t>(found - begin);
    }

    template <class Reaches>
    Found in_bucket(const Bucket& bucket, Reaches reaches) const {
      size_t rank = bucket.rank;
      const size_t end = bucket.end;
      double sum = bucket.sum;
      std::vector<Item> items;
      std::vector<size_t> gone;
      for (size_t i = 0; i < listed_.n; ++i) {
        if (buckets_[i] == bucket.number) items.push_back({listed_.probs[i], listed_.places[i], weight(i)});
        if (without_[i] == bucket.number) {
          gone.push_back(static_cast<size_t>(ranking_.ranks_[ranking_.place_of(listed_, i)]));
        }
      }
      std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
        return is_before({a.prob, a.place}, {b.prob, b.place});
      });
      std::sort(gone.begin(), gone.end());
      Found found;
      auto item = items.begin();
      auto skipped = gone.begin();
      while (true) {
        while (rank < end && skipped != gone.end() && *skipped <= rank) rank += *skipped++ == rank;
        if (rank >= end && item == items.end()) return found;
        const int64_t place = rank < end ? ranking_.order_[rank] : -1;
        const double prob = rank < end ? listed_.rest * ranking_.sorted_[rank] : 0.0;
        if (rank >= end || (item != items.end() && is_before({item->prob, item->place}, {prob, place}))) {
          found = {item->place, item->prob, sum += item->weight};
          ++item;
        } else {
          found = {place, prob, sum += rest_weight_ * weights_.alone[static_cast<size_t>(place)]};
          ++rank;
        }
        if (reaches(sum)) return found;
      }
    }

    const Ranking& ranking_;
    const Listed& listed_;
    const Weights& weights_;
    double log_most_ = 0.0, rest_weight_ = 0.0, total_ = 0.0;
    std::vector<double> raised_;
    uint16_t first_ = 0, last_ = 0;          // buckets: of the most and of the least probable token
    std::vector<uint16_t> buckets_, without_;  // of each listed token, and its own if it were not listed
    std::vector<double> sums_;     // weights of listed tokens, by bucket
    std::vector<double> gone_;     // what they would have if they were not listed, without `rest`
  };

  static bool is_possible(double value) { return value > 0.0 && std::isfinite(value); }
  double value_at(int32_t place) const { return alone_[static_cast<size_t>(place)]; }

  static bool is_before(const Entry& a, const Entry& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  }

  static void keep_best(std::vector<Entry>& entries, size_t k) {
    if (entries.size() <= k) return;
    std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(k), entries.end(), is_before);
    entries.resize(k);
  }

  static bool is_listed(const Listed& listed, int64_t place) {
    return std::binary_search(listed.places, listed.places + listed.n, place);
  }

  size_t place_of(const Listed& listed, size_t i) const { return static_cast<size_t>(listed.places[i]); }

  double greatest(const Listed& listed) const {
    const std::vector<Entry> best = top(listed, 1);
    return best.empty() ? 1.0 : best[0].first;
  }

  std::vector<double> sums_of(const std::vector<double>& values) const {
    std::vector<double> sums(1, 0.0);
    for (const int32_t place : order_) sums.push_back(sums.back() + values[static_cast<size_t>(place)]);
    return sums;
  }

  std::shared_ptr<const Weights> weights_for(double temperature) const {
    if (temperature == 1.0) return plain_;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& known : kept_) {
      if (known->temperature == temperature) return known;
    }
    Weights made{temperature, alone_, {}};
    const double log_most = sorted_.empty() ? 0.0 : std::log(sorted_[0]);
    for (double& value : made.alone) value = value > 0.0 ? std::exp((std::log(value) - log_most) / temperature) : 0.0;
    made.sums = sums_of(made.alone);
    if (kept_.size() == kKept) kept_.erase(kept_.begin());
    kept_.push_back(std::make_shared<const Weights>(std::move(made)));
    return kept_.back();
  }

  std::vector<double> alone_;
  std::vector<int32_t> order_, ranks_;
  std::vector<double> sorted_;  // values by rank
  size_t n_possible_ = 0;       // values above 0
  std::shared_ptr<const Weights> plain_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const Weights>> kept_;
};

}  // namespace lm
}  // namespace ngramdb
