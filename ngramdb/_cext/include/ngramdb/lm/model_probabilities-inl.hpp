// The formula of each kind of model, for one token after one context. Members of Model; included by language_model.hpp.
#pragma once

#include <stdexcept>

#include "ngramdb/lm/language_model.hpp"

namespace ngramdb {
namespace lm {

inline void Model::count_empty(StopFlag stop) {
  const bool raw = is_raw(1);
  settings_.empty = SuccessorCounts{};
  const Vocabulary& vocabulary = *data_->vocabulary;
  const std::vector<int64_t>* const lefts = raw ? nullptr : &data_->n_left(stop);
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    settings_.empty.add(raw ? vocabulary.counts[i] : (*lefts)[i], vocabulary.counts[i] >= settings_.least);
  }
  const int64_t n_sentences = data_->columns.n_sentences();
  settings_.empty.add(raw ? n_sentences : settings_.n_left_of_end, n_sentences >= settings_.least);
}

// ---- interpolated models ---------------------------------------------------------------------------------

// One level: p is the probability under the next shorter context.
inline double Model::interpolate(double p, const SuccessorCounts& next, int64_t adjusted,
                                 const Level& level) const {
  if (next.total <= 0) return p;
  const Smoothing& smoothing = level.of(next);
  return discounted(adjusted, smoothing.discount) / total_of(next, smoothing) + share_of_shorter(next, smoothing) * p;
}

// The lengths of a node below its longest: each successor has one left neighbour there, the same at every length, or the
// same occurrences. extended: those of the node that the token follows, 0 if they are below the least count.
inline double Model::through_node(double p, const SuffixNode& node, const Record& record, int64_t extended) const {
  if (node.shortest == node.length) return p;
  const SuccessorCounts next =
      settings_.by_occurrences
          ? record.next
          : SuccessorCounts{record.n_next, record.n_next - record.n_next_kept, {record.n_next_kept, 0, 0}};
  const int64_t adjusted = settings_.by_occurrences ? extended : extended > 0;
  size_t length = node.shortest;
  double add = 0.0, share = 1.0;
  const auto take = [&](const Level& level) {
    const Smoothing& smoothing = level.of(next);
    add = discounted(adjusted, smoothing.discount) / total_of(next, smoothing);
    share = share_of_shorter(next, smoothing);
  };
  for (; length < node.length && length + 1 < settings_.levels.size(); ++length) {
    take(level(length + 1));
    p = add + share * p;
  }
  if (length == node.length) return p;
  // From here on all levels are alike: a geometric series.
  take(level(length + 1));
  const double n = static_cast<double>(node.length - length);
  if (share >= 1.0) return p + n * add;
  const double power = std::pow(share, n);
  return power * p + add * (1.0 - power) / (1.0 - share);
}

// Returns the probability of a token after a node, given that under the node's parent (`shorter`).
inline double Model::price(const SuffixGraph& graph, NodeId v, int64_t extended, int64_t n_left,
                           double shorter) const {
  const SuffixNode& node = graph[v];
  const size_t n = size_t{node.length} + 1;
  const bool is_extended = extended >= settings_.least;
  const int64_t adjusted = !is_extended ? 0 : is_raw(n) ? extended : n_left;
  if (v == kRoot) return interpolate(1.0 / n_vocabulary(), settings_.empty, adjusted, level(n));
  const double p = through_node(shorter, node, graph.record(v), is_extended ? extended : 0);
  return interpolate(p, graph.record(v).next, adjusted, level(n));
}

inline Scored Model::interpolated(const Walk& walk) const {
  Scored out;
  const SuffixNode& used = (*walk.graph)[walk.edge.used];
  double p = walk.edge.prob;
  out.effective_n = static_cast<int32_t>(used.length + 1);
  out.count = walk.edge.used_count;
  out.context_count = used.count + (walk.edge.used == kRoot ? data_->columns.n_sentences() : 0);
  if (walk.starts_before.alive) {
    const size_t n = size_t{walk.starts_before.n_tokens} + 2;
    const bool extended = walk.starts_extended >= settings_.least;
    p = interpolate(p, walk.starts_before.next, extended ? walk.starts_extended : 0, level(n));
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
    out.context_count = walk.node_before().count;
    out.count = walk.edge.extended;
    if (walk.before == kRoot) {
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
    const SuffixNode& node = (*walk.graph)[walk.edge.used];
    used = node.length;
    out.count = walk.edge.used_count < settings_.least ? 0 : walk.edge.used_count;
    out.context_count = node.count + (walk.edge.used == kRoot ? data_->columns.n_sentences() : 0);
  }
  out.effective_n = static_cast<int32_t>(used + 1);
  const double share = out.count == 0 ? kUnknownShare
                                      : static_cast<double>(out.count) / static_cast<double>(out.context_count);
  out.prob = std::max(std::pow(settings_.weight, static_cast<double>(whole - used)) * share, kLeastScore);
  return out;
}

inline Scored Model::by_formula(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const {
  switch (settings_.kind) {
    case Kind::kNgram: return ngram(walk, step, work, stop);
    case Kind::kInfgram: return infgram(walk, step, work, stop);
    case Kind::kBackoff: return backoff(walk, step);
    case Kind::kInterpolated: return interpolated(walk);
  }
  throw std::invalid_argument("a kind of model without a probability");
}

inline Scored Model::evaluate(const Walk& walk, const Step& step, Workspace& work, StopFlag stop) const {
  Scored out = by_formula(walk, step, work, stop);
  out.suffix_n = out.effective_n;
  out.suffix_count = out.context_count;
  if (is_interpolated() || settings_.kind == Kind::kBackoff) {
    // The counts of these models are those of the longest suffix that the token follows.
    out.suffix_n = static_cast<int32_t>(walk.longest_before() + 1);
    const bool is_empty = walk.before == kRoot && !walk.starts_before.alive;
    out.suffix_count = walk.starts_before.alive ? walk.starts_before.count : walk.node_before().count;
    if (is_empty) out.suffix_count += data_->columns.n_sentences();
  }
  return out;
}

}  // namespace lm
}  // namespace ngramdb
