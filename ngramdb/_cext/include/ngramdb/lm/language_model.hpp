// Probabilities of tokens under the classical models, all over the same walk along the suffixes of the
// context.
//
// n-gram and ∞-gram (Liu et al. 2024, section 2), stupid backoff (Brants et al. 2007, equation 5),
// interpolated modified Kneser-Ney (Chen & Goodman 1999, section 3; without a limit on order: Shareghi et al.
// 2016, section 2).
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "ngramdb/base/thread_team.hpp"
#include "ngramdb/lm/suffix_chains.hpp"
#include "ngramdb/lm/token_shares.hpp"

namespace ngramdb {
namespace lm {

enum class Kind { kNgram = 0, kInfgram = 1, kBackoff = 2, kKneserNey = 3 };

// A token under a model. prob is NaN where the model has no answer (an n-gram model after an unseen context).
struct Scored {
  double prob = 0.0;
  int64_t count = 0;
  int64_t context_count = 0;
  int32_t effective_n = 1;
  bool sparse = false;
};

// models.pyx makes arrays of them, by a dtype that is written by hand.
static_assert(sizeof(Scored) == 32 && offsetof(Scored, prob) == 0 && offsetof(Scored, count) == 8 &&
                  offsetof(Scored, context_count) == 16 && offsetof(Scored, effective_n) == 24 &&
                  offsetof(Scored, sparse) == 28 && sizeof(bool) == 1,
              "SCORED in models.pyx has another layout");

// Discounts D1, D2, D3+ of an n-gram length.
using Discount = std::array<double, 3>;

inline double discounted(int64_t adjusted, const Discount& d) {
  if (adjusted <= 0) return 0.0;
  return static_cast<double>(adjusted) - d[static_cast<size_t>(std::min<int64_t>(adjusted, 3) - 1)];
}

struct ModelSettings {
  Kind kind = Kind::kNgram;
  uint32_t order = 0;  // 0: no limit
  int64_t least = 1;
  double weight = 0.4;
  std::vector<Discount> discounts;  // of lengths 1, 2, …; the last one is reused above
  Discount top{};                   // of the greatest order, by occurrences
  SuccessorCounts empty;            // of the empty context, by left neighbours
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

// What an unknown word has for its share of the corpus in stupid backoff: 0.4^100, below that of any known one.
constexpr double kUnknownShare = 1.6069380442589993e-40;
// Hundreds of tokens of context given up would make a score 0, and its logarithm infinite.
constexpr double kLeastScore = std::numeric_limits<double>::min();

class Model {
  friend class Sampler;
  friend class TextState;

 public:
  Model(LanguageData* data, const ModelSettings& settings, StopFlag stop) : data_(data), settings_(settings) {
    walk_.columns = &data->columns;
    walk_.vocabulary = data->vocabulary.get();
    walk_.cache = settings_.kind == Kind::kKneserNey ? &cache_ : nullptr;
    if (settings_.order > 0) walk_.longest = settings_.order - 1;
    walk_.least = settings_.least;
    walk_.raw_at_longest = settings_.kind == Kind::kKneserNey && settings_.order > 0;
    if (settings_.kind == Kind::kKneserNey && (settings_.least > 1 || settings_.order == 1)) count_empty(stop);
  }

  // Every token of the documents ids[offsets[i], offsets[i + 1]). sentences: `<s>` stands before each, and
  // `</s>` is scored after it, one more entry each (probability 1 after a separator, which has ended the
  // sentence).
  //
  // From settings.share_from tokens on, documents are shared by all cores that are free.
  void score(const int64_t* ids, const int64_t* offsets, size_t n, bool sentences, Scored* out, StopFlag stop) const;

  // P(token | context) for n pairs. begins: whether `<s>` stands before the context. A token may be kEnd.
  // Here and below a context begins after its last border.
  void estimate(const int64_t* ids, const int64_t* offsets, const int64_t* tokens, const uint8_t* begins, size_t n,
                Scored* out, StopFlag stop) const;

  // Kneser-Ney: P(w | context) of every type, in the vocabulary's order, then of `</s>` and of any other token.
  std::vector<double> distribution(const int64_t* ids, size_t n, bool begins, StopFlag stop) const;

  // Kneser-Ney and stupid backoff: P(w | context) of the tokens that follow a suffix of the context. Any other has
  // `rest` times its entry of `unigrams`.
  TokenShares shares(const int64_t* ids, size_t n, bool begins, StopFlag stop) const;

  // What every type has without context, in the vocabulary's order, and then `</s>`: a probability under Kneser-Ney; a
  // count under stupid backoff, 0 if it is below the least count.
  const std::vector<double>& unigrams(StopFlag stop) const;

  // The successors of the suffix that the model uses, code and count; context_count and length of the suffix.
  std::vector<std::pair<Code, int64_t>> successors(const int64_t* ids, size_t n, bool begins, uint32_t longest,
                                                   int64_t* context_count, uint32_t* length, StopFlag stop) const;

  // Word types, `</s>`, and one for every other token.
  double n_vocabulary() const { return static_cast<double>(data_->vocabulary->size() + 2); }

 private:
  static constexpr size_t kLanes = 12;
  // Long documents are cut, so that pieces are walked side by side.
  static constexpr size_t kPiece = 1024;
  // Tokens between two interrupt checks: a few milliseconds.
  static constexpr uint64_t kLookInterval = 1024;

  // What is scored. n_before: tokens of the context, `<s>` included.
  struct Step {
    bool is_end = false;
    bool in_sentence = false;
    size_t n_before = 0;
  };

  struct Lane {
    explicit Lane(const WalkSettings& settings) : walk(settings) {}
    Walk walk;
    const int64_t* document = nullptr;
    size_t at = 0, stop = 0;
    size_t since = 0;    // where the context begins: after the last border in the document
    bool began = false;  // with `<s>`
    Scored* out = nullptr;
    bool busy = false, ends = false;

  };

  // A context as far as it counts: what stands after the last border in it.
  struct Context {
    const int64_t* ids;
    size_t n;
    bool begins;
  };

  bool ends_sentence(int64_t id) const { return id == kEnd || id == data_->columns.separator(); }
  bool begins_sentence(int64_t id) const { return id == kBegin || id == data_->columns.separator(); }

  Context behind_border(const int64_t* ids, size_t n, bool begins) const {
    for (size_t i = n; i > 0; --i) {
      const int64_t id = ids[i - 1];
      if (ends_sentence(id) || begins_sentence(id)) return {ids + i, n - i, begins_sentence(id)};
    }
    return {ids, n, begins};
  }

  void locate(Walk& walk, const Context& context, Searches& searches, Workspace& work, StopFlag stop) const {
    walk.locate(context.ids, context.n, context.begins, searches, work, stop);
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
  Scored advance(Lane& lane, bool sentences, Workspace& work, StopFlag stop) const;
  Scored kneser_ney(const Walk& walk) const;
  double interpolate(double p, const SuccessorCounts& next, int64_t adjusted, const Discount& d) const;
  double through_chain(double p, const Chain& chain, bool extended) const;
  Scored ngram(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const;
  Scored infgram(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const;
  Scored backoff(const Walk& walk, const Step& step) const;

  // Of an out-of-vocabulary token, without context.
  double p_unknown() const { return interpolate(1.0 / n_vocabulary(), settings_.empty, 0, discount(1)); }

  const std::vector<double>& unigram_sums(StopFlag stop) const;
  ShareList kneser_ney_shares(const Walk& walk, Workspace& work, StopFlag stop) const;
  ShareList backoff_shares(const Walk& walk, size_t n_before, Workspace& work, StopFlag stop) const;

  // Tokens of the longest suffix that is walked, and of what stupid backoff counts the lost tokens from.
  size_t whole_of(const Walk& walk, size_t n_before) const {
    if (settings_.order > 0) return std::min<size_t>(n_before, walk_.longest);
    return walk.starts.alive ? size_t{walk.starts.n_tokens} + 1 : size_t{walk.chains.back().length};
  }

  // Kneser-Ney: successors of chain c, with running sums of discounted counts.
  SuccessorCache::Entry discounted_successors(const Walk& walk, size_t c, Workspace& work, StopFlag stop) const {
    const size_t length = size_t{walk.chains[c].length} + 1;
    const Discount& d = discount(length);
    return walk.successor_list(c, successors_, work, stop, [&](SuccessorList& found) {
      double sum = 0.0;
      for (const Successor& f : found.list) {
        if (f.count >= settings_.least) sum += discounted(settings_.order == length ? f.count : f.n_left, d);
        found.sums.push_back(sum);
      }
    });
  }

  // Stupid backoff: the same by counts. shorter: those of the chain before it, null for no context.
  SuccessorCache::Entry counted_successors(const Walk& walk, size_t c, const SuccessorList* shorter, Workspace& work,
                                             StopFlag stop) const {
    return walk.successor_list(c, successors_, work, stop, [&](SuccessorList& found) { add_counts(found, shorter); });
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

  const Discount& discount(size_t length) const {
    if (settings_.order > 0 && length >= settings_.order) return settings_.top;
    return settings_.discounts[std::min(length, settings_.discounts.size()) - 1];
  }

  LanguageData* data_;
  ModelSettings settings_;
  WalkSettings walk_;
  mutable RecordCache cache_;
  mutable SuccessorCache successors_;
  mutable std::once_flag sums_once_, unigrams_once_;
  mutable std::vector<double> unigram_sums_, unigrams_;
};

// The share of a context's probability that goes to shorter contexts: all that is discounted or pruned.
inline double share_of_shorter(const SuccessorCounts& next, const Discount& d) {
  double sum = static_cast<double>(next.pruned);
  for (size_t k = 0; k < 3; ++k) sum += d[k] * static_cast<double>(next.n[k]);
  return sum / static_cast<double>(next.total);
}

inline void Model::count_empty(StopFlag stop) {
  const bool raw = settings_.order == 1;
  settings_.empty = SuccessorCounts{};
  const Vocabulary& vocabulary = *data_->vocabulary;
  const std::vector<int64_t>* const lefts = raw ? nullptr : &data_->n_left(stop);
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    settings_.empty.add(raw ? vocabulary.counts[i] : (*lefts)[i], vocabulary.counts[i] >= settings_.least);
  }
  const int64_t n_sentences = data_->columns.n_sentences();
  settings_.empty.add(raw ? n_sentences : settings_.n_left_of_end, n_sentences >= settings_.least);
}

// ---- Kneser-Ney -----------------------------------------------------------------------------------------

// One level: p is the probability under the next shorter context.
inline double Model::interpolate(double p, const SuccessorCounts& next, int64_t adjusted, const Discount& d) const {
  if (next.total <= 0) return p;
  return discounted(adjusted, d) / static_cast<double>(next.total) + share_of_shorter(next, d) * p;
}

// The levels of a chain below its longest: each successor has one left neighbour there, the same at every
// length.
inline double Model::through_chain(double p, const Chain& chain, bool extended) const {
  if (chain.shortest == chain.length) return p;
  const double n_next = static_cast<double>(chain.record.n_next);
  const double n_kept = static_cast<double>(chain.record.n_next_kept);
  size_t length = chain.shortest;
  double add = 0.0, share = 1.0;
  const auto level = [&](const Discount& d) {
    add = extended ? (1.0 - d[0]) / n_next : 0.0;
    share = (d[0] * n_kept + n_next - n_kept) / n_next;
  };
  for (; length < chain.length && length + 1 < settings_.discounts.size(); ++length) {
    level(discount(length + 1));
    p = add + share * p;
  }
  if (length == chain.length) return p;
  // From here on all levels are alike: a geometric series.
  level(discount(length + 1));
  const double n = static_cast<double>(chain.length - length);
  if (share >= 1.0) return p + n * add;
  const double power = std::pow(share, n);
  return power * p + add * (1.0 - power) / (1.0 - share);
}

inline Scored Model::kneser_ney(const Walk& walk) const {
  Scored out;
  double p = 1.0 / n_vocabulary();
  for (size_t c = 0; c < walk.before.size(); ++c) {
    const Chain& chain = walk.before[c];
    const bool extended = walk.extended[c] >= settings_.least;
    const size_t n = size_t{chain.length} + 1;
    const bool raw = settings_.order == n;
    const int64_t adjusted = !extended ? 0 : raw ? walk.extended[c] : walk.n_left[c];
    if (c > 0) p = through_chain(p, chain, extended);
    p = interpolate(p, c == 0 ? settings_.empty : chain.record.next, adjusted, discount(n));
    if (extended || c == 0) {
      out.effective_n = static_cast<int32_t>(n);
      out.count = walk.extended[c];
      out.context_count = chain.count + (c == 0 ? data_->columns.n_sentences() : 0);
    }
  }
  if (walk.starts_before.alive) {
    const size_t n = size_t{walk.starts_before.n_tokens} + 2;
    const bool extended = walk.starts_extended >= settings_.least;
    p = interpolate(p, walk.starts_before.next, extended ? walk.starts_extended : 0, discount(n));
    if (extended) {
      out.effective_n = static_cast<int32_t>(n);
      out.count = walk.starts_extended;
      out.context_count = walk.starts_before.count;
    }
  }
  out.prob = p;
  return out;
}

// ---- the other models -----------------------------------------------------------------------------------

// After the longest suffix that occurs often enough.
inline Scored Model::infgram(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const {
  Scored out;
  out.effective_n = static_cast<int32_t>(walk.longest_before() + 1);
  if (walk.starts_before.alive) {
    out.context_count = walk.starts_before.count;
    out.count = walk.starts_extended;
  } else {
    out.context_count = walk.before.back().count;
    out.count = walk.extended.back();
    if (walk.before.size() == 1) {
      // Without a context a sentence's end is a token like others, and outside of sentences none.
      if (step.in_sentence) out.context_count += data_->columns.n_sentences();
      if (step.is_end && !step.in_sentence) out.count = 0;
    }
  }
  if (out.context_count <= 0) {
    out.prob = std::numeric_limits<double>::quiet_NaN();
    return out;
  }
  out.prob = static_cast<double>(out.count) / static_cast<double>(out.context_count);
  out.sparse = out.count == out.context_count ? !step.is_end : out.count == 0 && walk.sparse_before(work, stop);
  return out;
}

// After the whole context, or nothing.
inline Scored Model::ngram(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const {
  const size_t wanted = std::min<size_t>(step.n_before, walk_.longest);
  if (walk.longest_before() < wanted) {
    Scored out;
    out.effective_n = static_cast<int32_t>(wanted + 1);
    out.prob = std::numeric_limits<double>::quiet_NaN();
    return out;
  }
  Scored out = infgram(walk, step, work, stop);
  if (out.count < settings_.least && out.context_count > 0) out.count = 0, out.prob = 0.0;
  return out;
}

// The longest suffix that occurs with the token; each token given up costs the weight. Without a limit on
// order the count of them starts at the longest suffix that occurs at all.
inline Scored Model::backoff(const Walk& walk, const Step& step) const {
  Scored out;
  const size_t whole = settings_.order > 0 ? std::min<size_t>(step.n_before, walk_.longest) : walk.longest_before();
  size_t used = 0;
  if (walk.starts_before.alive && walk.starts_extended >= settings_.least) {
    used = size_t{walk.starts_before.n_tokens} + 1;
    out.count = walk.starts_extended;
    out.context_count = walk.starts_before.count;
  } else {
    size_t c = walk.before.size() - 1;
    while (c > 0 && walk.extended[c] < settings_.least) --c;
    used = walk.before[c].length;
    out.count = walk.extended[c] < settings_.least ? 0 : walk.extended[c];
    out.context_count = walk.before[c].count + (c == 0 ? data_->columns.n_sentences() : 0);
  }
  out.effective_n = static_cast<int32_t>(used + 1);
  const double share = out.count == 0 ? kUnknownShare
                                      : static_cast<double>(out.count) / static_cast<double>(out.context_count);
  out.prob = std::max(std::pow(settings_.weight, static_cast<double>(whole - used)) * share, kLeastScore);
  return out;
}

// ---- documents and single questions -----------------------------------------------------------------------

inline Scored Model::evaluate(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const {
  switch (settings_.kind) {
    case Kind::kNgram: return ngram(walk, step, work, stop);
    case Kind::kInfgram: return infgram(walk, step, work, stop);
    case Kind::kBackoff: return backoff(walk, step);
    case Kind::kKneserNey: break;
  }
  return kneser_ney(walk);
}

inline void Model::score(const int64_t* ids, const int64_t* offsets, size_t n, bool sentences, Scored* out,
                         StopFlag stop) const {
  Batch batch{ids, offsets, n, sentences, out};
  const int64_t n_tokens = offsets[n] - offsets[0] + (sentences ? static_cast<int64_t>(n) : 0);
  ThreadTeam team(n_tokens < settings_.share_from ? nullptr : &CoreBudget::of_machine(), stop);
  team.run([&](uint32_t thread) {
    Poll poll = team.poll_of(thread);
    score_share(batch, &poll);
  });
}

// Documents of the batch, until none is left.
inline void Model::score_share(Batch& batch, StopFlag stop) const {
  const int64_t *const ids = batch.ids, *const offsets = batch.offsets;
  const size_t n = batch.n;
  const bool sentences = batch.sentences;
  Scored* const out = batch.out;
  std::vector<Lane> lanes(kLanes, Lane(walk_));
  Searches searches(data_->columns);
  Workspace work;
  size_t document = batch.next++, from = 0;  // the next piece
  uint64_t n_done = 0;
  size_t since = 0;  // the last border before the next piece
  bool began = sentences;
  const auto begin_piece = [&](Lane& lane) {
    while (document < n && !sentences && offsets[document] == offsets[document + 1]) document = batch.next++;
    lane.busy = document < n;
    if (!lane.busy) return;
    const size_t length = static_cast<size_t>(offsets[document + 1] - offsets[document]);
    lane.document = ids + offsets[document];
    lane.out = out + offsets[document] + (sentences ? document : 0);
    lane.at = from;
    lane.since = since;
    lane.began = began;
    lane.stop = std::min(length, from + kPiece);
    lane.ends = sentences && lane.stop == length;
    if (from == since) {
      lane.walk.reset(began);
    } else {
      lane.walk.locate(lane.document + since, from - since, began, searches, work, stop);
    }
    for (; from < lane.stop; ++from) {
      const int64_t id = lane.document[from];
      if (ends_sentence(id) || begins_sentence(id)) since = from + 1, began = begins_sentence(id);
    }
    if (from == length) document = batch.next++, from = since = 0, began = sentences;
  };
  for (Lane& lane : lanes) begin_piece(lane);
  for (;;) {
    searches.lookups.clear();
    bool any = false;
    for (Lane& lane : lanes) {
      if (!lane.busy) continue;
      any = true;
      if (lane.at < lane.stop) lane.walk.ask(lane.document, lane.at, searches);
    }
    if (!any) return;
    searches.run();
    for (Lane& lane : lanes) {
      if (lane.busy && !step_of(lane, sentences).is_end) lane.walk.take(lane.document[lane.at], searches);
    }
    bool has_finished = false;
    for (Lane& lane : lanes) {
      if (!lane.busy) continue;
      lane.out[lane.at] = advance(lane, sentences, work, stop);
      if (lane.at == lane.stop) lane.ends = false;
      if (lane.at < lane.stop) ++lane.at;
      lane.busy = lane.at < lane.stop || lane.ends;
      has_finished = has_finished || !lane.busy;
      if (++n_done % kLookInterval == 0) {
        batch.n_done += kLookInterval;
        check_stop(stop, batch.n_done, static_cast<uint64_t>(offsets[n] - offsets[0]) + n);
      }
    }
    if (!has_finished) continue;
    for (Lane& lane : lanes) {
      if (!lane.busy) begin_piece(lane);
    }
  }
}

// The lane's token that was taken, or the end of its sentence.
inline Scored Model::advance(Lane& lane, bool sentences, Workspace& work, StopFlag stop) const {
  const Step step = step_of(lane, sentences);
  if (lane.at == lane.stop && lane.at > 0 && lane.document[lane.at - 1] == data_->columns.separator()) {
    Scored given;
    given.prob = 1.0;
    return given;
  }
  if (step.is_end) {
    lane.walk.take_end(settings_.n_left_of_end, work, stop);
  } else {
    lane.walk.learn_all(work, stop);
  }
  Scored scored = evaluate(lane.walk, step, work, stop);
  const bool is_begin = lane.at < lane.stop && begins_sentence(lane.document[lane.at]);
  if (is_begin && !step.is_end) {
    // Given, not predicted; what it costs is that the context does not reach across it.
    scored.prob = settings_.kind == Kind::kKneserNey ? scored.prob / p_unknown() : 1.0;
  }
  if (is_begin || step.is_end) {
    lane.walk.reset(is_begin);
    lane.since = lane.at + 1;
    lane.began = is_begin;
  }
  return scored;
}

inline void Model::estimate(const int64_t* ids, const int64_t* offsets, const int64_t* tokens, const uint8_t* begins,
                            size_t n, Scored* out, StopFlag stop) const {
  Walk walk(walk_);
  Searches searches(data_->columns);
  Workspace work;
  std::vector<int64_t> joined;
  for (size_t i = 0; i < n; ++i) {
    const size_t length = static_cast<size_t>(offsets[i + 1] - offsets[i]);
    const bool is_end = ends_sentence(tokens[i]);
    const Context context = behind_border(ids + offsets[i], length, begins[i] != 0);
    joined.assign(context.ids, context.ids + context.n);
    joined.push_back(tokens[i]);
    walk.locate(joined.data(), context.n, context.begins, searches, work, stop);
    if (is_end) {
      walk.take_end(settings_.n_left_of_end, work, stop);
    } else {
      searches.lookups.clear();
      walk.ask(joined.data(), context.n, searches);
      searches.run();
      walk.take(tokens[i], searches);
      walk.learn_all(work, stop);
    }
    out[i] = evaluate(walk, Step{is_end, context.begins, context.n + context.begins}, work, stop);
    if ((i + 1) % kLookInterval == 0) check_stop(stop, i, n);
  }
}

// From the shortest context to the longest: all that was there is scaled, then each successor gets its part.
inline ShareList Model::kneser_ney_shares(const Walk& walk, Workspace& work, StopFlag stop) const {
  // P(w | suffix) = rest · P(w | empty context) + what w has in the list.
  ShareList shares;
  std::vector<ShareList::Entry> gains, amounts;
  const auto add = [](double has, double amount) { return has + amount; };
  for (size_t c = 1; c < walk.chains.size(); ++c) {
    const Chain& chain = walk.chains[c];
    const SuccessorCache::Entry found = discounted_successors(walk, c, work, stop);
    // What a chain's shorter lengths do to a probability is linear in it.
    const double low = through_chain(0.0, chain, false);
    const double scale = through_chain(1.0, chain, false) - low;
    const double gain = through_chain(0.0, chain, true);
    const size_t length = size_t{chain.length} + 1;
    const bool raw = settings_.order == length;
    const Discount& d = discount(length);
    const double total = static_cast<double>(chain.record.next.total);
    gains.clear();
    amounts.clear();
    for (const Successor& f : found->list) {
      if (f.count < settings_.least) continue;
      gains.emplace_back(f.code, gain);
      amounts.emplace_back(f.code, discounted(raw ? f.count : f.n_left, d) / total);
    }
    shares.scale(scale);
    if (gain > 0.0) shares.update(gains, add);
    shares.scale(share_of_shorter(chain.record.next, d));
    shares.update(amounts, add);
  }
  if (walk.starts.alive) {
    const Discount& d = discount(size_t{walk.starts.n_tokens} + 2);
    amounts.clear();
    walk.start_successors(walk.starts, [&](Code code, int64_t count) {
      if (count >= settings_.least) {
        amounts.emplace_back(code, discounted(count, d) / static_cast<double>(walk.starts.next.total));
      }
    });
    shares.scale(share_of_shorter(walk.starts.next, d));
    shares.update(amounts, add);
  }
  return shares;
}

// From the shortest context to the longest: what a longer one has counts.
inline ShareList Model::backoff_shares(const Walk& walk, size_t n_before, Workspace& work, StopFlag stop) const {
  const size_t whole = whole_of(walk, n_before);
  const auto cost = [&](size_t length) { return std::pow(settings_.weight, static_cast<double>(whole - length)); };
  ShareList shares;
  std::vector<ShareList::Entry> amounts;
  const auto take = [](double, double amount) { return amount; };
  const auto collect = [&](Code code, int64_t count, size_t length, int64_t context_count) {
    if (count < settings_.least) return;
    const double score = cost(length) * static_cast<double>(count) / static_cast<double>(context_count);
    amounts.emplace_back(code, std::max(score, kLeastScore));
  };
  SuccessorCache::Entry shorter;
  for (size_t c = 1; c < walk.chains.size(); ++c) {
    const Chain& chain = walk.chains[c];
    shorter = counted_successors(walk, c, shorter.get(), work, stop);
    amounts.clear();
    for (const Successor& f : shorter->list) collect(f.code, f.count, chain.length, chain.count);
    shares.update(amounts, take);
  }
  if (walk.starts.alive) {
    amounts.clear();
    walk.start_successors(walk.starts, [&](Code code, int64_t count) {
      collect(code, count, size_t{walk.starts.n_tokens} + 1, walk.starts.count);
    });
    shares.update(amounts, take);
  }
  const int64_t n_tokens = walk.chains[0].count + data_->columns.n_sentences();
  shares.set_rest(cost(0) / static_cast<double>(std::max<int64_t>(1, n_tokens)));
  return shares;
}

inline TokenShares Model::shares(const int64_t* ids, size_t n, bool begins, StopFlag stop) const {
  const bool is_kneser_ney = settings_.kind == Kind::kKneserNey;
  if (!is_kneser_ney && settings_.kind != Kind::kBackoff) {
    throw std::invalid_argument("this model has successors, no shares");
  }
  const std::vector<double>& alone = unigrams(stop);
  Searches searches(data_->columns);
  Workspace work;
  Walk walk(walk_);
  const Context context = behind_border(ids, n, begins);
  locate(walk, context, searches, work, stop);
  const ShareList list = is_kneser_ney ? kneser_ney_shares(walk, work, stop)
                                       : backoff_shares(walk, context.n + context.begins, work, stop);
  TokenShares found;
  found.rest = list.rest();
  const auto give = [&](size_t place, double amount) {
    found.places.push_back(static_cast<int64_t>(place));
    found.probs.push_back(is_kneser_ney ? found.rest * alone[place] + amount : amount);
  };
  const std::vector<ShareList::Entry>& entries = list.entries();
  for (const ShareList::Entry& entry : entries) {
    const int64_t type = entry.first == kBorder ? -1 : data_->vocabulary->find(entry.first);
    if (type >= 0) give(static_cast<size_t>(type), entry.second);  // below 0: `</s>`, or in a damaged file
  }
  if (!entries.empty() && entries[0].first == kBorder) give(data_->vocabulary->size(), entries[0].second);
  return found;
}

inline std::vector<double> Model::distribution(const int64_t* ids, size_t n, bool begins, StopFlag stop) const {
  const TokenShares found = shares(ids, n, begins, stop);
  std::vector<double> p = unigrams(stop);
  for (double& alone : p) alone *= found.rest;
  for (size_t i = 0; i < found.places.size(); ++i) p[static_cast<size_t>(found.places[i])] = found.probs[i];
  p.push_back(found.rest * p_unknown());
  return p;
}

inline const std::vector<double>& Model::unigrams(StopFlag stop) const {
  const bool is_kneser_ney = settings_.kind == Kind::kKneserNey;
  const std::vector<int64_t>* const lefts = is_kneser_ney ? &data_->n_left(stop) : nullptr;
  std::call_once(unigrams_once_, [&] {
    const Vocabulary& vocabulary = *data_->vocabulary;
    const double unknown = is_kneser_ney ? p_unknown() : 0.0;
    const double total = is_kneser_ney ? static_cast<double>(settings_.empty.total) : 1.0;
    const auto add = [&](int64_t count, int64_t n_left) {
      const int64_t kept = count < settings_.least ? 0 : is_kneser_ney && settings_.order != 1 ? n_left : count;
      const double alone = is_kneser_ney ? discounted(kept, discount(1)) : static_cast<double>(kept);
      unigrams_.push_back(total <= 0.0 ? unknown : alone / total + unknown);
    };
    for (size_t i = 0; i < vocabulary.size(); ++i) add(vocabulary.counts[i], is_kneser_ney ? (*lefts)[i] : 0);
    add(data_->columns.n_sentences(), settings_.n_left_of_end);
  });
  return unigrams_;
}

// Running sums over the types, and then `</s>`, of what they have at the level without context: Kneser-Ney's
// discounted counts before the uniform part, plain counts else.
inline const std::vector<double>& Model::unigram_sums(StopFlag stop) const {
  const bool is_kneser_ney = settings_.kind == Kind::kKneserNey;
  const std::vector<int64_t>* const lefts = is_kneser_ney ? &data_->n_left(stop) : nullptr;
  std::call_once(sums_once_, [&] {
    const Vocabulary& vocabulary = *data_->vocabulary;
    double sum = 0.0;
    const auto add = [&](int64_t count, int64_t n_left) {
      const int64_t adjusted = settings_.order == 1 ? count : n_left;
      if (count >= settings_.least) {
        sum += is_kneser_ney ? discounted(adjusted, discount(1)) : static_cast<double>(count);
      }
      unigram_sums_.push_back(sum);
    };
    for (size_t i = 0; i < vocabulary.size(); ++i) add(vocabulary.counts[i], is_kneser_ney ? (*lefts)[i] : 0);
    add(data_->columns.n_sentences(), settings_.n_left_of_end);
  });
  return unigram_sums_;
}

inline std::vector<std::pair<Code, int64_t>> Model::successors(const int64_t* ids, size_t n, bool begins,
                                                               uint32_t longest, int64_t* context_count,
                                                               uint32_t* length, StopFlag stop) const {
  WalkSettings settings = walk_;
  settings.longest = std::min(settings.longest, longest);
  settings.cache = nullptr;
  Searches searches(data_->columns);
  Workspace work;
  Walk walk(settings);
  locate(walk, behind_border(ids, n, begins), searches, work, stop);
  std::vector<std::pair<Code, int64_t>> found;
  if (walk.starts.alive) {
    *context_count = walk.starts.count;
    *length = walk.starts.n_tokens + 1;
    walk.start_successors(walk.starts, [&](Code code, int64_t count) { found.emplace_back(code, count); });
    return found;
  }
  *context_count = walk.chains.back().count;
  *length = walk.chains.back().length;
  if (walk.chains.size() == 1) {
    const Vocabulary& vocabulary = *data_->vocabulary;
    if (data_->columns.n_sentences() > 0) found.emplace_back(kBorder, data_->columns.n_sentences());
    for (size_t i = 0; i < vocabulary.size(); ++i) found.emplace_back(vocabulary.codes[i], vocabulary.counts[i]);
    *context_count += data_->columns.n_sentences();
    return found;
  }
  walk.next_counts(walk.chains.size() - 1, found, stop);
  return found;
}

}  // namespace lm
}  // namespace ngramdb
