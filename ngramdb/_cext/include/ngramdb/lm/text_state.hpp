// The state of a text that is being read, for decoders: several texts can continue from one state, by a token each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/lm/language_model.hpp"

namespace ngramdb {
namespace lm {

class TextState {
 public:
  // The beginning of a text outside of sentences. The model must live as long.
  explicit TextState(const Model& model)
      : model_(&model), graph_(Walk::graph_of(model.walk_)), lane_(model.walk_, &graph_) {
    begin(false);
  }
  TextState(const TextState&) = delete;

  // Makes this the text of another state of the same model.
  TextState& operator=(const TextState& from) {
    if (this == &from) return *this;
    graph_.copy_path(from.graph_, from.lane_.walk.at);
    lane_.walk = from.lane_.walk;
    lane_.walk.graph = &graph_;
    lane_.walk.at = graph_.last();
    lane_.began = from.lane_.began;
    context_ = from.context_;
    n_dropped_ = from.n_dropped_;
    return *this;
  }

  // Makes this the beginning of a text; in_sentence: after `<s>`.
  void begin(bool in_sentence) {
    context_.clear();
    n_dropped_ = 0;
    lane_.began = in_sentence;
    lane_.walk.reset(in_sentence, nullptr);
  }

  // Makes this the text of `from` and one token more, which is evaluated. `from` may be this very state, and is of the
  // same model.
  //
  // Cost: that of a token in `Model::score`, and a copy of what is known of the context's suffixes.
  Scored read(const TextState& from, int64_t id, StopFlag stop) {
    *this = from;
    if (graph_.is_full()) graph_.keep_paths({&lane_.walk.at});
    context_.push_back(id);
    lane_.document = context_.data();
    lane_.at = context_.size() - 1;
    lane_.stop = context_.size();
    lane_.since = size_t{0} - n_dropped_;  // before the first token that is kept: differences wrap around
    Workspace work;
    if (!model_->step_of(lane_, false).is_end) {
      Searches searches(model_->data_->columns);
      lane_.walk.ask(lane_.document, lane_.at, searches);
      searches.run(stop);
      lane_.walk.take(id, searches);
    }
    const Scored scored = model_->advance(lane_, false, work, stop);
    forget();
    return scored;
  }

  // The tokens that matter to what may follow: the longest suffix of the text that occurs, short enough for the model.
  const std::vector<int64_t>& context() const { return context_; }

  // Returns true if they follow `<s>`.
  bool begins() const { return lane_.walk.starts.alive; }

 private:
  void forget() {
    if (lane_.since == lane_.at + 1) {  // the token was a border
      context_.clear();
      n_dropped_ = 0;
      return;
    }
    if (begins()) return;
    const size_t kept = std::min<size_t>(lane_.walk.node().length, context_.size());
    n_dropped_ += context_.size() - kept;
    context_.erase(context_.begin(), context_.end() - static_cast<std::ptrdiff_t>(kept));
  }

  const Model* model_;
  SuffixGraph graph_;
  Model::Lane lane_;
  std::vector<int64_t> context_;
  size_t n_dropped_ = 0;  // tokens since the last border that no longer matter
};

}  // namespace lm
}  // namespace ngramdb
