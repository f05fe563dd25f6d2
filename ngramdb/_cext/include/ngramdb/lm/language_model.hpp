// Probabilities of tokens under the classical models, all over the same walk along the suffixes of the
// context.
//
// n-gram and ∞-gram (Liu et al. 2024, section 2), stupid backoff (Brants et al. 2007, equation 5), and interpolated
// models, which differ by their parameters alone (interpolation.hpp).
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "ngramdb/base/thread_team.hpp"
#include "ngramdb/lm/counts_of_counts.hpp"
#include "ngramdb/lm/graph_pool.hpp"
#include "ngramdb/lm/interpolation.hpp"
#include "ngramdb/lm/suffix_walk.hpp"
#include "ngramdb/lm/token_shares.hpp"

namespace ngramdb {
namespace lm {

enum class Kind { kNgram = 0, kInfgram = 1, kBackoff = 2, kInterpolated = 3 };

// A token under a model. prob is NaN if the model has no answer (an n-gram model after an unseen context).
struct Scored {
  double prob = 0.0;
  int64_t count = 0;
  int64_t context_count = 0;
  int32_t effective_n = 1;
  bool sparse = false;
  // The longest suffix of the context that the model has, whatever the token is: its tokens plus one, its occurrences.
  int32_t suffix_n = 1;
  int64_t suffix_count = 0;
};

// models.pyx makes arrays of them, by a dtype that is written by hand.
static_assert(sizeof(Scored) == 48 && offsetof(Scored, prob) == 0 && offsetof(Scored, count) == 8 &&
                  offsetof(Scored, context_count) == 16 && offsetof(Scored, effective_n) == 24 &&
                  offsetof(Scored, sparse) == 28 && offsetof(Scored, suffix_n) == 32 &&
                  offsetof(Scored, suffix_count) == 40 && sizeof(bool) == 1,
              "SCORED in models.pyx has another layout");

struct ModelSettings {
  Kind kind = Kind::kNgram;
  uint32_t order = 0;  // 0: no limit
  int64_t least = 1;
  double weight = 0.4;
  bool by_occurrences = false;    // n-grams count by occurrences at every length, all smoothed alike
  std::vector<Level> levels;    // of lengths 1, 2, …; the last one is reused above
  Level top;                    // of the greatest order, by occurrences
  SuccessorCounts empty;        // of the empty context, by left neighbours
  int64_t n_left_of_end = 0;
  int64_t share_from = 1 << 13;  // tokens of a batch that threads are worth starting for; tests make it small
};

// The corpus and what all models over it share.
struct LanguageData {
  Columns columns;
  std::unique_ptr<Vocabulary> vocabulary;

  // Different left neighbours of every type; a pass over all rows, once.
  const std::vector<int64_t>& n_left(StopFlag stop) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!has_n_left_) {
      Workspace work;
      std::vector<int64_t> found(vocabulary->size());
      for (size_t i = 0; i < found.size(); ++i) {
        found[i] = columns.n_left(vocabulary->ranges.data() + i * columns.width(), work, stop);
      }
      n_left_.swap(found);
      has_n_left_ = true;
    }
    return n_left_;
  }

 private:
  std::mutex mutex_;
  bool has_n_left_ = false;
  std::vector<int64_t> n_left_;
};

// The share of the corpus of an unknown word in stupid backoff: 0.4^100, below that of any known one.
constexpr double kUnknownShare = 1.6069380442589993e-40;
// Hundreds of tokens of context given up would make a score 0, and its logarithm infinite.
constexpr double kLeastScore = std::numeric_limits<double>::min();

class Model {
  friend class LeftOutSample;
  friend class Sampler;
  friend class TextState;

 public:
  Model(LanguageData* data, const ModelSettings& settings, StopFlag stop) : data_(data), settings_(settings) {
    walk_.columns = &data->columns;
    walk_.vocabulary = data->vocabulary.get();
    walk_.cache = is_interpolated() ? &cache_ : nullptr;
    if (settings_.order > 0) walk_.longest = settings_.order - 1;
    walk_.least = settings_.least;
    walk_.raw = is_interpolated() && settings_.by_occurrences;
    walk_.raw_at_longest = is_interpolated() && settings_.order > 0;
    if (is_interpolated() && (settings_.least > 1 || settings_.order == 1 || settings_.by_occurrences)) count_empty(stop);
  }

  // Takes for known what has been counted of a frequent n-gram (interpolated models by left neighbours, with a least
  // count of 1). False if the corpus has it another number of times.
  bool know(const FrequentNgram& ngram) const {
    const size_t w = data_->columns.width();
    std::vector<int64_t> ids;
    for (const Code code : ngram.symbols) ids.push_back(int64_t{code} - 1);
    const uint32_t n = static_cast<uint32_t>(ids.size());
    Searches searches(data_->columns);
    searches.lookups.push_back({Request{ids.data(), n}, nullptr});
    searches.run(nullptr);
    if (data_->columns.net(searches.answers.data()) != ngram.count) return false;
    Record record;
    record.n_left = ngram.n_left;
    record.next = walk_.raw_at_longest && n == walk_.longest ? ngram.next.by_count : ngram.next.by_left;
    for (const int64_t part : record.next.n) record.n_next += part;
    record.n_next_kept = record.n_next;
    cache_.put(Walk::key_of(searches.answers.data(), w, n), record);
    return true;
  }

  // Every token of the documents ids[offsets[i], offsets[i + 1]). sentences: each document begins with `<s>`, and
  // `</s>` is scored after it, one more entry each (probability 1 after a separator, which has ended the
  // sentence).
  //
  // From settings.share_from tokens on, documents are shared by all cores that are free.
  void score(const int64_t* ids, const int64_t* offsets, size_t n, bool sentences, Scored* out, StopFlag stop) const;

  // P(token | context) for every token of n continuations tokens[token_offsets[i], token_offsets[i + 1]), each after its
  // context and the tokens before it. begins: whether the context follows `<s>`. A token may be kEnd.
  // Here and below a context begins after its last border.
  void estimate(const int64_t* ids, const int64_t* offsets, const int64_t* tokens, const int64_t* token_offsets,
                const uint8_t* begins, size_t n, Scored* out, StopFlag stop) const;

  // Interpolated models: P(w | context) of every type, in the vocabulary's order, then of `</s>` and of any other token: out has
  // n_outcomes() numbers.
  void distribution(const int64_t* ids, size_t n, bool begins, double* out, StopFlag stop) const;
  size_t n_outcomes() const { return data_->vocabulary->size() + 2; }

  // Interpolated models and stupid backoff: P(w | context) of the tokens that follow a suffix of the context. Any other has
  // `rest` times its entry of `unigrams`.
  TokenShares shares(const int64_t* ids, size_t n, bool begins, StopFlag stop) const;

  // The value of every type without context, in the vocabulary's order, and then of `</s>`: a probability in
  // interpolated models; a count under stupid backoff, 0 if it is below the least count.
  const std::vector<double>& unigrams(StopFlag stop) const;

  // The successors of the suffix that the model uses, code and count; context_count and length of the suffix.
  std::vector<std::pair<Code, int64_t>> successors(const int64_t* ids, size_t n, bool begins, uint32_t longest,
                                                   int64_t* context_count, uint32_t* length, StopFlag stop) const;

  // Word types, `</s>`, and one for every other token.
  double n_vocabulary() const { return static_cast<double>(n_outcomes()); }

 private:
  static constexpr size_t kLanes = 12;
  // Long documents are cut, so that pieces are walked side by side.
  static constexpr size_t kPiece = 1024;
  // Tokens between two interrupt checks: a few milliseconds.
  static constexpr uint64_t kLookInterval = 1024;

  // The token to score. n_before: tokens of the context, including `<s>`.
  struct Step {
    bool is_end = false;
    bool in_sentence = false;
    size_t n_before = 0;
  };

  struct Lane {
    Lane(const WalkSettings& settings, SuffixGraph* graph) : walk(settings, graph) {}
    Walk walk;
    const int64_t* document = nullptr;
    size_t at = 0, stop = 0;
    size_t since = 0;    // the beginning of the context: after the last border in the document
    bool began = false;  // with `<s>`
    Scored* out = nullptr;
    bool busy = false, ends = false;
  };

  // The relevant part of a context: the tokens after its last border.
  struct Context {
    const int64_t* ids;
    size_t n;
    bool begins;
  };

  bool is_interpolated() const { return settings_.kind == Kind::kInterpolated; }
  // Whether n-grams of this length count by occurrences.
  bool is_raw(size_t length) const { return settings_.by_occurrences || settings_.order == length; }

  bool ends_sentence(int64_t id) const { return id == kEnd || id == data_->columns.separator(); }
  bool begins_sentence(int64_t id) const { return id == kBegin || id == data_->columns.separator(); }

  Context behind_border(const int64_t* ids, size_t n, bool begins) const {
    for (size_t i = n; i > 0; --i) {
      const int64_t id = ids[i - 1];
      if (ends_sentence(id) || begins_sentence(id)) return {ids + i, n - i, begins_sentence(id)};
    }
    return {ids, n, begins};
  }

  // Prices of a walk's edges.
  auto pricing(const Walk& walk) const {
    return [this, &walk](NodeId v, int64_t extended, int64_t n_left, double shorter) {
      return price(*walk.graph, v, extended, n_left, shorter);
    };
  }

  void locate(Walk& walk, const Context& context, Searches& searches, Workspace& work, StopFlag stop) const {
    if (walk.graph->is_full()) walk.graph->clear();
    walk.locate(context.ids, context.n, context.begins, searches, work, stop, pricing(walk),
                [&walk] { walk.graph->keep_paths({&walk.at}); });
  }

  // A step to the token ids[at], or a sentence's end.
  void step(Walk& walk, const int64_t* ids, size_t at, Searches& searches, Workspace& work, StopFlag stop) const {
    if (walk.graph->is_full()) walk.graph->keep_paths({&walk.at});
    searches.lookups.clear();
    walk.ask(ids, at, searches);
    searches.run(stop);
    walk.take(ids[at], searches);
    walk.settle(work, stop, pricing(walk));
  }
  void step_to_end(Walk& walk, Workspace& work, StopFlag stop) const {
    walk.take_end(settings_.n_left_of_end, work, stop, pricing(walk));
  }

  Step step_of(const Lane& lane, bool in_sentence) const {
    const bool is_end = lane.at == lane.stop || ends_sentence(lane.document[lane.at]);
    return {is_end, in_sentence || lane.began, lane.at - lane.since + (lane.began ? 1 : 0)};
  }

  // Documents that are scored by several threads.
  struct Batch {
    const int64_t* ids;
    const int64_t* offsets;
    size_t n;
    bool sentences;
    Scored* out;
    std::atomic<size_t> next{0};  // the document that the next free thread takes
    std::atomic<uint64_t> n_done{0};
  };
  void score_share(Batch& batch, StopFlag stop) const;

  void count_empty(StopFlag stop);
  Scored evaluate(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const;
  Scored by_formula(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const;
  Scored advance(Lane& lane, bool sentences, Workspace& work, StopFlag stop) const;
  Scored interpolated(const Walk& walk) const;
  double interpolate(double p, const SuccessorCounts& next, int64_t adjusted, const Level& level) const;
  double through_node(double p, const SuffixNode& node, const Record& record, int64_t extended) const;
  double price(const SuffixGraph& graph, NodeId v, int64_t extended, int64_t n_left, double shorter) const;
  Scored ngram(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const;
  Scored infgram(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const;
  Scored backoff(const Walk& walk, const Step& step) const;

  // The probability of an out-of-vocabulary token without context.
  double p_unknown() const { return interpolate(1.0 / n_vocabulary(), settings_.empty, 0, level(1)); }

  const std::vector<double>& unigram_sums(StopFlag stop) const;
  ShareList interpolated_shares(const Walk& walk, Workspace& work, StopFlag stop) const;
  ShareList backoff_shares(const Walk& walk, size_t n_before, Workspace& work, StopFlag stop) const;

  // Tokens of the longest suffix that is walked, and of what stupid backoff counts the lost tokens from.
  size_t whole_of(const Walk& walk, size_t n_before) const {
    if (settings_.order > 0) return std::min<size_t>(n_before, walk_.longest);
    return walk.starts.alive ? size_t{walk.starts.n_tokens} + 1 : size_t{walk.node().length};
  }

  // Interpolated models: successors of a node, with running sums of discounted counts.
  SuccessorCache::Entry discounted_successors(const Walk& walk, NodeId v, Workspace& work, StopFlag stop) const {
    const size_t length = size_t{(*walk.graph)[v].length} + 1;
    const Discount& d = level(length).of(walk.record(v, work, stop).next).discount;
    return walk.successor_list(v, successors_, work, stop, [&](SuccessorList& found) {
      double sum = 0.0;
      for (const Successor& f : found.list) {
        if (f.count >= settings_.least) sum += discounted(is_raw(length) ? f.count : f.n_left, d);
        found.sums.push_back(sum);
      }
    });
  }

  // Stupid backoff: the same by counts. shorter: those of its parent, null for no context.
  SuccessorCache::Entry counted_successors(const Walk& walk, NodeId v, const SuccessorList* shorter, Workspace& work,
                                             StopFlag stop) const {
    return walk.successor_list(v, successors_, work, stop, [&](SuccessorList& found) { add_counts(found, shorter); });
  }

  // The same without sums.
  SuccessorCache::Entry counted_after(const Walk& walk, NodeId v, StopFlag stop) const {
    auto found = std::make_shared<SuccessorList>();
    std::vector<std::pair<Code, int64_t>> counts;
    walk.next_counts(v, counts, stop);
    for (const auto& entry : counts) found->list.push_back({entry.first, entry.second, 0});
    return found;
  }

  void add_counts(SuccessorList& found, const SuccessorList* shorter) const {
    double sum = 0.0;
    for (const Successor& f : found.list) {
      if (f.count >= settings_.least) {
        sum += static_cast<double>(f.count);
        found.n_in_shorter += static_cast<double>(count_in(shorter, f.code));
      }
      found.sums.push_back(sum);
    }
  }

  int64_t count_in(const SuccessorList* successors, Code code) const {
    if (successors != nullptr) {
      const Successor* const found = find_successor(*successors, code);
      return found == nullptr ? 0 : found->count;
    }
    if (code == kBorder) return data_->columns.n_sentences();
    const int64_t type = data_->vocabulary->find(code);
    return type < 0 ? 0 : data_->vocabulary->counts[static_cast<size_t>(type)];
  }

  static const Successor* find_successor(const SuccessorList& successors, Code code) {
    const auto found = std::lower_bound(successors.list.begin(), successors.list.end(), code,
                                        [](const Successor& f, Code wanted) { return f.code < wanted; });
    return found == successors.list.end() || found->code != code ? nullptr : &*found;
  }

  const Level& level(size_t length) const {
    if (settings_.order > 0 && length >= settings_.order) return settings_.top;
    return settings_.levels[std::min(length, settings_.levels.size()) - 1];
  }

  LanguageData* data_;
  ModelSettings settings_;
  WalkSettings walk_;
  mutable RecordCache cache_;
  mutable SuccessorCache successors_;
  mutable GraphPool graphs_;
  mutable std::once_flag sums_once_, unigrams_once_;
  mutable std::vector<double> unigram_sums_, unigrams_;
};

}  // namespace lm
}  // namespace ngramdb

#include "ngramdb/lm/model_distributions-inl.hpp"
#include "ngramdb/lm/model_probabilities-inl.hpp"
#include "ngramdb/lm/model_scoring-inl.hpp"
