// Tokens of documents, scored by several threads, and single questions. Members of Model; included by
// language_model.hpp.
#pragma once

#include "ngramdb/lm/language_model.hpp"

namespace ngramdb {
namespace lm {

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
  const GraphPool::Lease lease(graphs_, data_->columns.width(), walk_.cache != nullptr);
  SuffixGraph& graph = *lease;
  std::vector<Lane> lanes(kLanes, Lane(walk_, &graph));
  Searches searches(data_->columns);
  Workspace work;
  size_t document = batch.next++, from = 0;  // the next piece
  uint64_t n_done = 0;
  size_t since = 0;  // the last border before the next piece
  bool began = sentences;
  const auto forget = [&] {
    std::vector<NodeId*> kept;
    for (Lane& lane : lanes) {
      if (lane.busy) kept.push_back(&lane.walk.at);
    }
    graph.keep_paths(kept);
  };
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
    if (from == since) {
      lane.walk.reset(began, stop);
    } else {
      lane.walk.locate(lane.document + since, from - since, began, searches, work, stop, pricing(lane.walk), forget);
    }
    // Pieces after long matches are long: the search at a piece's start takes time in proportion to the match.
    lane.stop = std::min(length, from + std::max<size_t>(kPiece, lane.walk.node().length));
    lane.ends = sentences && lane.stop == length;
    for (; from < lane.stop; ++from) {
      const int64_t id = lane.document[from];
      if (ends_sentence(id) || begins_sentence(id)) since = from + 1, began = begins_sentence(id);
    }
    if (from == length) document = batch.next++, from = since = 0, began = sentences;
  };
  for (Lane& lane : lanes) begin_piece(lane);
  for (;;) {
    if (graph.is_full()) forget();
    searches.lookups.clear();
    bool any = false;
    for (Lane& lane : lanes) {
      if (!lane.busy) continue;
      any = true;
      if (lane.at < lane.stop) lane.walk.ask(lane.document, lane.at, searches);
    }
    if (!any) return;
    searches.run(stop);
    for (Lane& lane : lanes) {
      if (lane.busy && !step_of(lane, sentences).is_end) lane.walk.take(lane.document[lane.at], searches);
    }
    bool has_finished = false;
    for (Lane& lane : lanes) {
      if (!lane.busy) continue;
      lane.out[lane.at] = advance(lane, sentences, work, stop);
      if (lane.at == lane.stop) lane.ends = false;
      if (lane.at < lane.stop) ++lane.at;
      if (lane.at < lane.stop) lane.walk.prefetch(lane.document[lane.at]);
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
    step_to_end(lane.walk, work, stop);
  } else {
    lane.walk.settle(work, stop, pricing(lane.walk));
  }
  Scored scored = evaluate(lane.walk, step, work, stop);
  const bool is_begin = lane.at < lane.stop && begins_sentence(lane.document[lane.at]);
  if (is_begin && !step.is_end) {
    // Given, not predicted; what it costs is that the context does not reach across it.
    scored.prob = is_interpolated() ? scored.prob / p_unknown() : 1.0;
  }
  if (is_begin || step.is_end) {
    lane.walk.reset(is_begin, stop);
    lane.since = lane.at + 1;
    lane.began = is_begin;
  }
  return scored;
}

inline void Model::estimate(const int64_t* ids, const int64_t* offsets, const int64_t* tokens,
                            const int64_t* token_offsets, const uint8_t* begins, size_t n, Scored* out,
                            StopFlag stop) const {
  SuffixGraph graph = Walk::graph_of(walk_);
  Walk walk(walk_, &graph);
  Searches searches(data_->columns);
  Workspace work;
  std::vector<int64_t> joined;
  for (size_t i = 0; i < n; ++i) {
    const size_t length = static_cast<size_t>(offsets[i + 1] - offsets[i]);
    const int64_t *first = tokens + token_offsets[i], *const last = tokens + token_offsets[i + 1];
    Context context = behind_border(ids + offsets[i], length, begins[i] != 0);
    spend(stop, length);
    joined.assign(context.ids, context.ids + context.n);
    joined.insert(joined.end(), first, last);
    context.ids = joined.data();
    locate(walk, context, searches, work, stop);
    for (; first < last; ++first) {
      const bool is_end = ends_sentence(*first);
      if (is_end) {
        step_to_end(walk, work, stop);
      } else {
        step(walk, context.ids, context.n, searches, work, stop);
      }
      *out++ = evaluate(walk, Step{is_end, context.begins, context.n + context.begins}, work, stop);
      ++context.n;
      if (!is_end && !begins_sentence(*first)) continue;
      context = {context.ids + context.n, 0, begins_sentence(*first)};
      walk.reset(context.begins, stop);
    }
    if ((i + 1) % kLookInterval == 0) check_stop(stop, i, n);
  }
}

}  // namespace lm
}  // namespace ngramdb
