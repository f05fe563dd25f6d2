// What an interpolated model would know of tokens of its own corpus if each were not there: the counts that its
// parameters are fitted to, with every token left out once (leave-one-out).
//
// Without one occurrence of "x h w" the number of different tokens before "h w" falls by one if "x h w" occurs once, and
// the sum for h with it; all other numbers of this chain of suffixes stay.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ngramdb/lm/language_model.hpp"

namespace ngramdb {
namespace lm {

// N-gram lengths of a token from `first` to `last` that are alike: a(hw), and the tokens after h.
struct LeftOutLevel {
  size_t first, last;
  int64_t adjusted;
  SuccessorCounts next;
};

struct LeftOut {
  std::vector<LeftOutLevel> levels;  // of each token, the shortest first
  std::vector<size_t> ends;          // of each token's levels
  std::vector<int64_t> weights;      // of each token: how often its block is there

  // The sum of the tokens' log-probabilities, and its gradient, as levels. base: the probability of each token below all
  // levels. Of a run of lengths above those with parameters of their own, kMostAlike count.
  double log_likelihood(const std::vector<Level>& levels_of, double base, std::vector<Level>* slopes,
                        StopFlag stop) const {
    struct Step {
      const LeftOutLevel* at;
      size_t length;
      double shorter, add, share;
    };
    slopes->assign(levels_of.size(), Level{});
    std::vector<Step> steps;
    double sum = 0.0;
    size_t next = 0;
    for (size_t token = 0; token < ends.size(); ++token) {
      steps.clear();
      double p = base;
      for (; next < ends[token]; ++next) {
        const LeftOutLevel& at = levels[next];
        const size_t last = std::min(at.last, std::max(at.first, levels_of.size()) + kMostAlike);
        for (size_t n = at.first; n <= last; ++n) {
          const size_t length = std::min(n, levels_of.size()) - 1;
          const Smoothing& used = levels_of[length].of(at.next);
          const double add = discounted(at.adjusted, used.discount) / total_of(at.next, used);
          const double share = share_of_shorter(at.next, used);
          steps.push_back({&at, length, p, add, share});
          p = add + share * p;
        }
      }
      spend(stop, 4 * steps.size());
      const double weight = static_cast<double>(weights[token]);
      sum += weight * std::log(p);
      double slope = weight / p;
      for (; !steps.empty(); steps.pop_back()) {
        const Step& step = steps.back();
        const SuccessorCounts& tokens = step.at->next;
        Level& level = (*slopes)[step.length];
        Smoothing& to = tokens.n[0] + tokens.n[1] + tokens.n[2] == 1 ? level.lone : level.other;
        const double part = slope / total_of(tokens, levels_of[step.length].of(tokens));
        const double by_concentration = part * ((1.0 - step.share) * step.shorter - step.add);
        for (size_t k = 0; k < 3; ++k) to.discount[k] += part * static_cast<double>(tokens.n[k]) * step.shorter;
        if (step.at->adjusted > 0) to.discount[static_cast<size_t>(std::min<int64_t>(step.at->adjusted, 3) - 1)] -= part;
        to.concentration += by_concentration;
        to.per_type += by_concentration * static_cast<double>(tokens.n[0] + tokens.n[1] + tokens.n[2]);
        slope *= step.share;
      }
    }
    return sum;
  }

 private:
  static constexpr size_t kMostAlike = 64;
};

// Blocks of sentences, chosen by their text, so that the choice does not depend on how the corpus is stored.
class LeftOutSample {
 public:
  // n_wanted: about how many tokens.
  LeftOutSample(const Model& model, uint64_t n_wanted, StopFlag stop)
      : model_(model), columns_(model.data_->columns), stop_(stop), searches_(columns_), graph_(Walk::graph_of(model.walk_)),
        walk_(model.walk_, &graph_) {
    const uint64_t n_tokens = static_cast<uint64_t>(columns_.n_tokens() + columns_.n_sentences());
    one_in_ = std::max<uint64_t>(1, n_tokens / std::max<uint64_t>(1, n_wanted));
  }

  LeftOut levels() {
    choose();
    for (const auto& block : blocks_) {
      if (block.second > 0) read(block.first, block.second);
    }
    return std::move(found_);
  }

 private:
  static constexpr size_t kBlock = 64;
  static constexpr size_t kContext = 192;

  // The tokens of a block, after those before it; kBegin and kEnd at the borders of its sentence.
  struct Block {
    std::vector<int64_t> context, tokens;
    bool operator<(const Block& other) const {
      return tokens != other.tokens ? tokens < other.tokens : context < other.context;
    }
  };

  void choose() {
    for (size_t s = 0; s < columns_.width(); ++s) {
      columns_[s].each_start(stop_, [&](Position at) { choose_from(columns_[s], at); });
    }
  }

  // Of the sentence that starts at a position only the tokens that a block needs are in memory.
  void choose_from(const Column& column, Position at) {
    std::vector<int64_t> ids{kBegin};
    size_t from = 1;
    for (bool has_ended = false; !has_ended;) {
      const Code code = column.code_at(at++);
      has_ended = code == kBorder;
      ids.push_back(has_ended ? kEnd : int64_t{code} - 1);
      if (!has_ended && ids.size() < from + kBlock) continue;
      if (hash_of(ids.data() + from, ids.size() - from) % one_in_ == 0) {
        const auto middle = ids.begin() + static_cast<std::ptrdiff_t>(from);
        blocks_[Block{{ids.begin(), middle}, {middle, ids.end()}}] += column.sign();
      }
      if (ids.size() > kContext) ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(kContext));
      from = ids.size();
      spend(stop_, kBlock);
    }
  }

  static uint64_t hash_of(const int64_t* ids, size_t n) {
    uint64_t x = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < n; ++i) {
      x = (x ^ static_cast<uint64_t>(ids[i])) * 0xbf58476d1ce4e5b9u;
      x ^= x >> 29;
    }
    return x;
  }

  void read(const Block& block, int64_t weight) {
    std::vector<int64_t> ids = block.context;
    ids.insert(ids.end(), block.tokens.begin(), block.tokens.end());
    const bool begins = ids[0] == kBegin;
    size_t at = block.context.size();
    model_.locate(walk_, {ids.data() + begins, at - begins, begins}, searches_, work_, stop_);
    for (; at < ids.size(); ++at) {
      if (ids[at] == kEnd) {
        model_.step_to_end(walk_, work_, stop_);
      } else {
        model_.step(walk_, ids.data(), at, searches_, work_, stop_);
      }
      add_levels();
      found_.ends.push_back(found_.levels.size());
      found_.weights.push_back(weight);
    }
  }

  void add_levels() {
    const size_t first = found_.levels.size();
    int64_t longer = 0;  // occurrences of the token after the next longer context; 0 if that is not known
    if (walk_.starts_before.alive) {
      longer = walk_.starts_extended;
      const size_t n = size_t{walk_.starts_before.n_tokens} + 2;
      add(n, n, walk_.starts_before.next, longer, true);
    }
    walk_.each_edge([&](NodeId v, const Edge& edge) {
      const SuffixNode& node = graph_[v];
      const size_t n = size_t{node.length} + 1;
      const bool raw = model_.is_raw(n);
      const Record record = v == kRoot ? Record{} : walk_.record(v, work_, stop_);
      add(n, n, v == kRoot ? model_.settings_.empty : record.next, raw ? edge.extended : edge.n_left,
          raw || edge.extended == 1 || longer == 1);
      if (node.shortest < node.length) {
        add(size_t{node.shortest} + 1, n - 1, {record.n_next, 0, {record.n_next, 0, 0}}, 1, edge.extended == 1);
      }
      longer = edge.extended;
    });
    std::reverse(found_.levels.begin() + static_cast<std::ptrdiff_t>(first), found_.levels.end());
  }

  // is_less: without this occurrence a(hw) is one less.
  void add(size_t first, size_t last, SuccessorCounts next, int64_t adjusted, bool is_less) {
    const auto place = [](int64_t count) { return static_cast<size_t>(std::min<int64_t>(count, 3) - 1); };
    if (is_less && adjusted > 0) {
      --next.total;
      --next.n[place(adjusted)];
      if (--adjusted > 0) ++next.n[place(adjusted)];
    }
    if (next.total <= 0) return;
    found_.levels.push_back({first, last, adjusted, next});
  }

  const Model& model_;
  const Columns& columns_;
  const StopFlag stop_;
  uint64_t one_in_ = 1;
  std::map<Block, int64_t> blocks_;
  Searches searches_;
  Workspace work_;
  SuffixGraph graph_;
  Walk walk_;
  LeftOut found_;
};

}  // namespace lm
}  // namespace ngramdb
