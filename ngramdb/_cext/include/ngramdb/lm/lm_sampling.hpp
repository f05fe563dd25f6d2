// Drawing tokens one after the other by a model's probabilities, without making a distribution for each.
//
// Interpolated models: from the longest context to the shortest each level either gives the token, by its discounted
// counts, or leaves it to the next one. Stupid backoff: a level gives what no longer context has; its scores are divided by their
// sum.
#pragma once

#include <random>
#include <stdexcept>

#include "ngramdb/lm/language_model.hpp"

namespace ngramdb {
namespace lm {

// A token, or kEnd, and its probability; unknown tokens are left out of both.
struct Drawn {
  int64_t id = kEnd;
  double prob = 0.0;
};

class Sampler {
 public:
  static constexpr int64_t kUnknown = -1;

  // For interpolated models and stupid backoff. The model must live as long.
  Sampler(const Model& model, const int64_t* ids, size_t n, bool begins, StopFlag stop)
      : model_(model),
        searches_(model.data_->columns),
        graph_(Walk::graph_of(model.walk_)),
        walk_(model.walk_, &graph_) {
    if (!model_.is_interpolated() && model_.settings_.kind != Kind::kBackoff) {
      throw std::invalid_argument("this model's tokens are drawn from its distribution");
    }
    const Model::Context used = model_.behind_border(ids, n, begins);
    begins_ = used.begins;
    context_.assign(used.ids, used.ids + used.n);
    model_.locate(walk_, used, searches_, work_, stop);
    model_.unigram_sums(stop);
  }

  // The next token; the same for the same seed. None follows kEnd; kUnknown if nothing is frequent enough.
  Drawn next(uint64_t seed, StopFlag stop) {
    if (has_ended_) throw std::invalid_argument("the sentence has ended");
    std::mt19937_64 random(seed);
    if (model_.settings_.kind == Kind::kBackoff) {
      const Drawn drawn = draw_by_score(random, stop);
      if (drawn.id != kUnknown) step(drawn.id, stop);
      return drawn;
    }
    const double unknown = p_unknown(stop);
    Drawn drawn;
    do {
      check_stop(stop);
      drawn.id = draw_by_level(random, stop);
    } while (drawn.id == kUnknown);
    const size_t n_before = context_.size() + begins_;
    step(drawn.id, stop);
    const Model::Step taken{drawn.id == kEnd, begins_, n_before};
    drawn.prob = model_.evaluate(walk_, taken, work_, stop).prob / (1.0 - unknown);
    return drawn;
  }

 private:
  // Draws of tokens that a longer context has, before those that it lacks are listed.
  static constexpr size_t kTries = 1000;

  // The successors of a context under stupid backoff: tokens that follow no longer one, with counts.
  struct Level {
    double weight;  // of one occurrence
    SuccessorCache::Entry successors;
    double sum;  // of their scores
  };

  static double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }
  static int64_t id_of(Code code) { return code == kBorder ? kEnd : int64_t{code} - 1; }

  const Vocabulary& vocabulary() const { return *model_.data_->vocabulary; }

  void step(int64_t id, StopFlag stop) {
    if (id == kEnd) {
      model_.step_to_end(walk_, work_, stop);
      has_ended_ = true;
      return;
    }
    context_.push_back(id);
    model_.step(walk_, context_.data(), context_.size() - 1, searches_, work_, stop);
  }

  // The first place whose running sum is above a random one; there must be one.
  static size_t place_of(const std::vector<double>& sums, std::mt19937_64& random) {
    const auto found = std::upper_bound(sums.begin(), sums.end() - 1, uniform(random) * sums.back());
    return static_cast<size_t>(found - sums.begin());
  }

  Code code_of_type(size_t type) const { return type < vocabulary().size() ? vocabulary().codes[type] : kBorder; }

  // ---- interpolated models ----

  // The probability of an out-of-vocabulary token after the context.
  double p_unknown(StopFlag stop) {
    const double p = walk_.price_of_unknown(work_, stop, model_.pricing(walk_));
    if (!walk_.starts.alive) return p;
    return model_.interpolate(p, walk_.starts.next, 0, model_.level(size_t{walk_.starts.n_tokens} + 2));
  }

  // In a damaged file, a level may lack the successors that its counts imply: it is skipped.
  int64_t draw_by_level(std::mt19937_64& random, StopFlag stop) {
    if (walk_.starts.alive) {
      const Smoothing& smoothing = model_.level(size_t{walk_.starts.n_tokens} + 2).of(walk_.starts.next);
      if (uniform(random) >= share_of_shorter(walk_.starts.next, smoothing)) {
        const SuccessorList found = start_successors(smoothing.discount);
        if (!found.list.empty()) return id_of(found.list[place_of(found.sums, random)].code);
      }
    }
    for (NodeId v = walk_.at; v != kRoot; v = graph_[v].parent) {
      const SuffixNode& node = graph_[v];
      const Record record = walk_.record(v, work_, stop);
      spend(stop, Walk::kNodeWork);
      const bool by_top = uniform(random) >= share_of_shorter(record.next, model_.level(size_t{node.length} + 1).of(record.next));
      if (!by_top && uniform(random) < model_.through_node(1.0, node, record, 0)) continue;
      const SuccessorCache::Entry found = model_.discounted_successors(walk_, v, work_, stop);
      if (found->list.empty()) continue;
      const bool by_sums = by_top || model_.settings_.by_occurrences;
      const size_t place = by_sums ? place_of(found->sums, random) : place_of_kept(found->list, random);
      return id_of(found->list[place].code);
    }
    const SuccessorCounts& empty = model_.settings_.empty;
    if (empty.total > 0 && uniform(random) >= share_of_shorter(empty, model_.level(1).of(empty))) {
      return id_of(code_of_type(place_of(model_.unigram_sums_, random)));
    }
    const auto type = static_cast<size_t>(uniform(random) * model_.n_vocabulary());
    return type > vocabulary().size() ? kUnknown : id_of(code_of_type(type));
  }

  SuccessorList start_successors(const Discount& d) const {
    SuccessorList found;
    double sum = 0.0;
    walk_.start_successors(walk_.starts, [&](Code code, int64_t count) {
      found.list.push_back({code, count, 0});
      found.sums.push_back(sum += count < model_.settings_.least ? 0.0 : discounted(count, d));
    });
    return found;
  }

  // One of the successors that are not pruned, all alike.
  size_t place_of_kept(const std::vector<Successor>& successors, std::mt19937_64& random) const {
    const auto is_kept = [&](const Successor& f) { return f.count >= model_.settings_.least; };
    auto left = static_cast<int64_t>(uniform(random) * static_cast<double>(
        std::count_if(successors.begin(), successors.end(), is_kept)));
    size_t place = 0;
    while (place + 1 < successors.size() && (!is_kept(successors[place]) || left-- > 0)) ++place;
    return place;
  }

  // ---- stupid backoff ----

  Drawn draw_by_score(std::mt19937_64& random, StopFlag stop) {
    collect_levels(stop);
    double total = 0.0;
    for (const Level& level : levels_) total += level.sum;
    if (!(total > 0.0)) return {kUnknown, 0.0};  // or without any token: 0 / 0
    double rest = uniform(random) * total;
    size_t k = 0;
    while (k + 1 < levels_.size() && rest >= levels_[k].sum) rest -= levels_[k++].sum;
    while (levels_[k].sum <= 0.0) --k;  // by rounding alone
    const SuccessorList* const longer = k == 0 ? nullptr : levels_[k - 1].successors.get();
    const Successor drawn = draw_new(levels_[k].successors.get(), longer, random, stop);
    if (drawn.count <= 0) return {kUnknown, 0.0};
    return {id_of(drawn.code), levels_[k].weight * static_cast<double>(drawn.count) / total};
  }

  // The levels of the context, the longest first; the last one is that without context.
  void collect_levels(StopFlag stop) {
    levels_.clear();
    const size_t whole = model_.whole_of(walk_, context_.size() + begins_);
    const auto add = [&](size_t length, int64_t context_count, const SuccessorCache::Entry& successors) {
      const double weight =
          std::pow(model_.settings_.weight, static_cast<double>(whole - length)) / static_cast<double>(context_count);
      const std::vector<double>& sums = sums_of(successors.get());
      levels_.push_back({weight, successors, sums.empty() ? 0.0 : sums.back()});
    };
    add(0, model_.data_->columns.n_tokens() + model_.data_->columns.n_sentences(), nullptr);
    SuccessorCache::Entry shorter;
    std::vector<NodeId> path;
    for (NodeId v = walk_.at; v != kRoot; v = graph_[v].parent) {
      if (std::pow(model_.settings_.weight, static_cast<double>(whole - graph_[v].length)) <= 0.0) {
        shorter = model_.counted_after(walk_, v, stop);  // so short that nothing is drawn from it
        break;
      }
      path.push_back(v);
    }
    for (; !path.empty(); path.pop_back()) {
      const SuffixNode& node = graph_[path.back()];
      shorter = model_.counted_successors(walk_, path.back(), shorter.get(), work_, stop);
      add(node.length, node.count, shorter);
    }
    if (walk_.starts.alive) {
      auto found = std::make_shared<SuccessorList>();
      walk_.start_successors(walk_.starts, [&](Code code, int64_t count) { found->list.push_back({code, count, 0}); });
      model_.add_counts(*found, shorter.get());
      add(size_t{walk_.starts.n_tokens} + 1, walk_.starts.count, found);
    }
    for (size_t k = 0; k < levels_.size(); ++k) {
      // Counts are exact, so a level keeps nothing if all of its tokens follow longer contexts.
      if (k + 1 < levels_.size()) levels_[k].sum -= levels_[k + 1].successors->n_in_shorter;
      levels_[k].sum *= levels_[k].weight;
    }
    std::reverse(levels_.begin(), levels_.end());
  }

  const std::vector<double>& sums_of(const SuccessorList* successors) const {
    return successors == nullptr ? model_.unigram_sums_ : successors->sums;
  }

  // A successor that follows no longer context, drawn by counts. Its count is 0 if there is none, as in a damaged file.
  Successor draw_new(const SuccessorList* successors, const SuccessorList* longer, std::mt19937_64& random,
                     StopFlag stop) const {
    const std::vector<double>& sums = sums_of(successors);
    const auto successor_at = [&](size_t place) {
      if (successors != nullptr) return successors->list[place];
      const Code code = code_of_type(place);
      return Successor{code, model_.count_in(nullptr, code), 0};
    };
    const auto is_new = [&](const Successor& f) {
      const Successor* const known = longer == nullptr ? nullptr : Model::find_successor(*longer, f.code);
      return known == nullptr || known->count < model_.settings_.least;
    };
    for (size_t k = 0; k < kTries && !sums.empty(); ++k) {
      const Successor drawn = successor_at(place_of(sums, random));
      if (is_new(drawn)) return drawn;
    }
    // New ones are rare: only they are drawn from.
    SuccessorList rare;
    double sum = 0.0;
    for (size_t place = 0; place < sums.size(); ++place) {
      if (place % kStopInterval == 0) check_stop(stop);
      const Successor f = successor_at(place);
      if (f.count < model_.settings_.least || !is_new(f)) continue;
      rare.list.push_back(f);
      rare.sums.push_back(sum += static_cast<double>(f.count));
    }
    return rare.list.empty() ? Successor{kBorder, 0, 0} : rare.list[place_of(rare.sums, random)];
  }

  const Model& model_;
  Searches searches_;
  Workspace work_;
  SuffixGraph graph_;
  Walk walk_;
  std::vector<int64_t> context_;
  bool begins_ = false, has_ended_ = false;
  std::vector<Level> levels_;
};

}  // namespace lm
}  // namespace ngramdb
