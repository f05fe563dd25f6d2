// Distributions over the vocabulary, and successors. Members of Model; included by language_model.hpp.
#pragma once

#include "ngramdb/lm/language_model.hpp"

namespace ngramdb {
namespace lm {

// P(w | suffix) = rest · P(w | empty context) + what w has in the list. From the longest suffix to the shortest, as far
// as what is left to shorter ones is more than nothing.
inline ShareList Model::interpolated_shares(const Walk& walk, Workspace& work, StopFlag stop) const {
  ShareList shares;
  double left = 1.0;
  if (walk.starts.alive) {
    const Smoothing& smoothing = level(size_t{walk.starts.n_tokens} + 2).of(walk.starts.next);
    const double total = total_of(walk.starts.next, smoothing);
    walk.start_successors(walk.starts, [&](Code code, int64_t count) {
      if (count >= settings_.least) shares.add(code, discounted(count, smoothing.discount) / total);
    });
    left = share_of_shorter(walk.starts.next, smoothing);
    shares.sum();
  }
  for (NodeId v = walk.at; v != kRoot && left > 0.0; v = (*walk.graph)[v].parent) {
    const SuffixNode& node = (*walk.graph)[v];
    const Record record = walk.record(v, work, stop);
    const SuccessorCache::Entry found = discounted_successors(walk, v, work, stop);
    spend(stop, Walk::kNodeWork + found->list.size());
    // The node's shorter lengths change a probability linearly.
    const double low = through_node(0.0, node, record, 0);
    const double scale = through_node(1.0, node, record, 0) - low;
    const Smoothing& smoothing = level(size_t{node.length} + 1).of(record.next);
    const double to_shorter = share_of_shorter(record.next, smoothing);
    const bool raw = is_raw(size_t{node.length} + 1);
    const double total = total_of(record.next, smoothing);
    double gain = to_shorter * through_node(0.0, node, record, 1);
    shares.reserve(found->list.size());
    for (const Successor& f : found->list) {
      if (f.count < settings_.least) continue;
      if (settings_.by_occurrences) gain = to_shorter * through_node(0.0, node, record, f.count);
      shares.add(f.code, left * (discounted(raw ? f.count : f.n_left, smoothing.discount) / total + gain));
    }
    left *= to_shorter * scale;
    shares.sum();
  }
  shares.set_rest(left);
  return shares;
}

// From the longest context to the shortest: what a longer one has counts.
inline ShareList Model::backoff_shares(const Walk& walk, size_t n_before, Workspace& work, StopFlag stop) const {
  const size_t whole = whole_of(walk, n_before);
  const auto cost = [&](size_t length) { return std::pow(settings_.weight, static_cast<double>(whole - length)); };
  ShareList shares;
  const auto collect = [&](Code code, int64_t count, double price, int64_t context_count) {
    if (count < settings_.least) return;
    const double score = price * static_cast<double>(count) / static_cast<double>(context_count);
    shares.add(code, std::max(score, kLeastScore));
  };
  if (walk.starts.alive) {
    const double price = cost(size_t{walk.starts.n_tokens} + 1);
    walk.start_successors(walk.starts, [&](Code code, int64_t count) { collect(code, count, price, walk.starts.count); });
  }
  shares.keep_first();
  // If every score is the least one, the successors of the shortest suffix include all others.
  const auto is_last = [&](const SuffixNode& node) { return cost(node.length) < kLeastScore && node.parent != kRoot; };
  std::vector<NodeId> path;
  NodeId v = walk.at;
  for (; v != kRoot && !is_last((*walk.graph)[v]); v = (*walk.graph)[v].parent) path.push_back(v);
  std::vector<SuccessorCache::Entry> lists(path.size());
  SuccessorCache::Entry shorter = v == kRoot ? nullptr : counted_after(walk, v, stop);
  for (size_t i = path.size(); i-- > 0;) {
    shorter = lists[i] = counted_successors(walk, path[i], shorter.get(), work, stop);
    spend(stop, Walk::kNodeWork + shorter->list.size());
  }
  const auto collect_all = [&](NodeId node, const SuccessorCache::Entry& found) {
    const SuffixNode& its = (*walk.graph)[node];
    const double price = cost(its.length);
    shares.reserve(found->list.size());
    for (const Successor& f : found->list) collect(f.code, f.count, price, its.count);
    shares.keep_first();
  };
  for (size_t i = 0; i < path.size(); ++i) collect_all(path[i], lists[i]);
  if (v != kRoot) {
    collect_all(v, counted_after(walk, v, stop));
    while ((*walk.graph)[v].parent != kRoot) v = (*walk.graph)[v].parent;
    collect_all(v, counted_after(walk, v, stop));
  }
  const int64_t n_tokens = data_->columns.n_tokens() + data_->columns.n_sentences();
  shares.set_rest(cost(0) / static_cast<double>(std::max<int64_t>(1, n_tokens)));
  return shares;
}

inline TokenShares Model::shares(const int64_t* ids, size_t n, bool begins, StopFlag stop) const {
  if (!is_interpolated() && settings_.kind != Kind::kBackoff) {
    throw std::invalid_argument("this model has successors, no shares");
  }
  const std::vector<double>& alone = unigrams(stop);
  Searches searches(data_->columns);
  Workspace work;
  SuffixGraph graph = Walk::graph_of(walk_);
  Walk walk(walk_, &graph);
  const Context context = behind_border(ids, n, begins);
  locate(walk, context, searches, work, stop);
  const ShareList list = is_interpolated() ? interpolated_shares(walk, work, stop)
                                           : backoff_shares(walk, context.n + context.begins, work, stop);
  TokenShares found;
  found.rest = list.rest();
  const std::vector<ShareList::Entry>& entries = list.entries();
  found.places.resize(entries.size());
  found.probs.resize(entries.size());
  size_t n_given = 0;
  const bool is_sum = is_interpolated();
  const auto give = [&](size_t place, double amount) {
    found.places[n_given] = static_cast<int64_t>(place);
    found.probs[n_given++] = is_sum ? found.rest * alone[place] + amount : amount;
  };
  for (const ShareList::Entry& entry : entries) {
    const int64_t type = entry.first == kBorder ? -1 : data_->vocabulary->find(entry.first);
    if (type >= 0) give(static_cast<size_t>(type), entry.second);  // below 0: `</s>`, or in a damaged file
  }
  if (!entries.empty() && entries[0].first == kBorder) give(data_->vocabulary->size(), entries[0].second);
  found.places.resize(n_given);
  found.probs.resize(n_given);
  return found;
}

inline void Model::distribution(const int64_t* ids, size_t n, bool begins, double* out, StopFlag stop) const {
  const TokenShares found = shares(ids, n, begins, stop);
  const std::vector<double>& alone = unigrams(stop);
  for (size_t i = 0; i < alone.size(); ++i) out[i] = alone[i] * found.rest;
  for (size_t i = 0; i < found.places.size(); ++i) out[found.places[i]] = found.probs[i];
  out[alone.size()] = found.rest * p_unknown();
}

inline const std::vector<double>& Model::unigrams(StopFlag stop) const {
  const std::vector<int64_t>* const lefts = is_interpolated() && !is_raw(1) ? &data_->n_left(stop) : nullptr;
  std::call_once(unigrams_once_, [&] {
    const Vocabulary& vocabulary = *data_->vocabulary;
    const Smoothing& empty = level(1).of(settings_.empty);
    const double unknown = is_interpolated() ? p_unknown() : 0.0;
    const double total = is_interpolated() && settings_.empty.total > 0 ? total_of(settings_.empty, empty) : 1.0;
    const auto add = [&](int64_t count, int64_t n_left) {
      const int64_t kept = count < settings_.least ? 0 : lefts != nullptr ? n_left : count;
      const double alone = is_interpolated() ? discounted(kept, empty.discount) : static_cast<double>(kept);
      unigrams_.push_back(alone / total + unknown);
    };
    for (size_t i = 0; i < vocabulary.size(); ++i) add(vocabulary.counts[i], lefts != nullptr ? (*lefts)[i] : 0);
    add(data_->columns.n_sentences(), settings_.n_left_of_end);
  });
  return unigrams_;
}

// Running sums over the types, and then `</s>`, of what they have at the level without context: in interpolated
// models discounted counts before the uniform part, else plain counts.
inline const std::vector<double>& Model::unigram_sums(StopFlag stop) const {
  const std::vector<int64_t>* const lefts = is_interpolated() && !is_raw(1) ? &data_->n_left(stop) : nullptr;
  std::call_once(sums_once_, [&] {
    const Vocabulary& vocabulary = *data_->vocabulary;
    const Smoothing& empty = level(1).of(settings_.empty);
    double sum = 0.0;
    const auto add = [&](int64_t count, int64_t n_left) {
      const int64_t adjusted = lefts != nullptr ? n_left : count;
      if (count >= settings_.least) {
        sum += is_interpolated() ? discounted(adjusted, empty.discount) : static_cast<double>(count);
      }
      unigram_sums_.push_back(sum);
    };
    for (size_t i = 0; i < vocabulary.size(); ++i) add(vocabulary.counts[i], lefts != nullptr ? (*lefts)[i] : 0);
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
  SuffixGraph graph = Walk::graph_of(settings);
  Walk walk(settings, &graph);
  locate(walk, behind_border(ids, n, begins), searches, work, stop);
  std::vector<std::pair<Code, int64_t>> found;
  if (walk.starts.alive) {
    *context_count = walk.starts.count;
    *length = walk.starts.n_tokens + 1;
    walk.start_successors(walk.starts, [&](Code code, int64_t count) { found.emplace_back(code, count); });
    return found;
  }
  *context_count = walk.node().count;
  *length = walk.node().length;
  if (walk.at == kRoot) {
    const Vocabulary& vocabulary = *data_->vocabulary;
    if (data_->columns.n_sentences() > 0) found.emplace_back(kBorder, data_->columns.n_sentences());
    for (size_t i = 0; i < vocabulary.size(); ++i) found.emplace_back(vocabulary.codes[i], vocabulary.counts[i]);
    *context_count += data_->columns.n_sentences();
    return found;
  }
  walk.next_counts(walk.at, found, stop);
  return found;
}

}  // namespace lm
}  // namespace ngramdb
