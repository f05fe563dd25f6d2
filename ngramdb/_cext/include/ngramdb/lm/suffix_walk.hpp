// Walks along a text. A walk holds the suffixes of its context that occur, which models that back off need all at once,
// and extends them by one token per step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/lm/suffix_graph.hpp"
#include "ngramdb/lm/successors.hpp"
#include "ngramdb/lm/vocabulary.hpp"
#include "ngramdb/segment/stoppable_find.hpp"

namespace ngramdb {
namespace lm {

// Borders of a sentence as ids: `</s>`, and `<s>`, after which a new context begins.
constexpr int64_t kEnd = -2;
constexpr int64_t kBegin = -3;

// Parameters that a model passes to its walks.
struct WalkSettings {
  const Columns* columns = nullptr;
  const Vocabulary* vocabulary = nullptr;
  RecordCache* cache = nullptr;       // null: no records are wanted
  uint32_t longest = UINT32_MAX - 2;  // tokens of a context at most, `<s>` included
  int64_t least = 1;                  // rarer n-grams count as unseen
  bool raw = false;                   // contexts count their successors by occurrences
  bool raw_at_longest = false;        // those of the greatest length do
};

// A search that a walk waits for.
struct Lookup {
  Request request;
  const Range* within;  // one per segment, or null
};

// Does lookups side by side; answers[i * width + s].
class Searches {
 public:
  explicit Searches(const Columns& columns) : columns_(columns) {}

  std::vector<Lookup> lookups;
  std::vector<Range> answers;

  void run(StopFlag stop) {
    const size_t n = lookups.size(), w = columns_.width();
    answers.resize(n * w);
    requests_.resize(n);
    found_.resize(n);
    for (size_t s = 0; s < w; ++s) {
      for (size_t i = 0; i < n; ++i) {
        requests_[i] = lookups[i].request;
        if (lookups[i].within != nullptr) requests_[i].within = lookups[i].within[s];
      }
      find_stoppably(columns_[s].segment(), requests_.data(), found_.data(), n, stop);
      for (size_t i = 0; i < n; ++i) answers[i * w + s] = found_[i];
    }
  }

 private:
  const Columns& columns_;
  std::vector<Request> requests_;
  std::vector<Range> found_;
};

// The documents that begin with a context: the suffix `<s>` w1 … wn.
struct Starts {
  bool alive = false;
  uint32_t n_tokens = 0;
  int64_t count = 0;
  SuccessorCounts next;
  std::vector<Range> ranges;
};

class Walk {
 public:
  // Units of work for each node on a path.
  static constexpr uint64_t kNodeWork = 32;

  // Under which the record of an n-gram of `depth` tokens is kept; its rows in each of n segments.
  static RecordCache::Key key_of(const Range* rows, size_t n, uint64_t depth) {
    for (size_t s = 0; s < n; ++s) {
      if (rows[s].size() > 0) return {static_cast<uint64_t>(s) << kRowBits | (rows[s].lo & kRowMask), depth};
    }
    return {UINT64_MAX, depth};
  }

  // The graph outlives this. A walk without one must get it before anything else.
  explicit Walk(const WalkSettings& settings, SuffixGraph* graph = nullptr)
      : graph(graph), settings_(settings), w_(settings.columns->width()) {}

  static SuffixGraph graph_of(const WalkSettings& settings) {
    return SuffixGraph(settings.columns->width(), settings.cache != nullptr);
  }

  SuffixGraph* graph;
  NodeId at = kRoot;  // the longest suffix of the context that occurs
  Starts starts;

  // After a step: the context from before, and the token after it.
  NodeId before = kRoot;
  Edge edge;
  Starts starts_before;
  int64_t starts_extended = 0;

  const SuffixNode& node() const { return (*graph)[at]; }
  const SuffixNode& node_before() const { return (*graph)[before]; }

  // stop: for what is done once, when the first walk begins with `<s>`.
  void reset(bool begins, StopFlag stop) {
    at = kRoot;
    graph->set_root_count(settings_.columns->n_tokens());
    starts = Starts{};
    if (!begins || settings_.longest < 1) return;
    settings_.columns->prepare_starts(stop);
    starts.ranges.resize(w_);
    for (size_t s = 0; s < w_; ++s) {
      starts.ranges[s] = {0, (*settings_.columns)[s].starts().size()};
    }
    starts.count = settings_.columns->n_sentences();
    starts.alive = starts.count >= settings_.least;
    if (starts.alive && settings_.cache != nullptr) learn_starts();
  }

  // Prefetches the edges that `ask` will look up first for this token.
  void prefetch(int64_t id) const {
    const Symbol symbol = symbol_of(id);
    NodeId v = at;
    for (int k = 0; k < kPrefetched; ++k) {
      graph->prefetch(v, symbol);
      if (v == kRoot) return;
      v = (*graph)[v].parent;
    }
  }

  // A step to the token ids[place] after the tokens before it: call `ask`, run the searches, then call take and settle.
  void ask(const int64_t* ids, size_t place, Searches& searches) {
    first_lookup_ = searches.lookups.size();
    symbol_ = symbol_of(ids[place]);
    list_missing();
    if (symbol_ == kUnknownSymbol) return;
    for (size_t i = missing_.size(); i-- > 0;) {
      const SuffixNode& node = (*graph)[missing_[i]];
      if (missing_[i] == kRoot || node.alone) continue;
      const Request longer{ids + place - node.length, node.length + 1, node.length, true};
      searches.lookups.push_back({longer, graph->rows(missing_[i])});
      if (outgrows(node)) {
        searches.lookups.push_back({Request{ids + place + 1 - node.length, node.length}, nullptr});
      }
    }
  }

  // The records of new nodes are needed later, by `settle`: meanwhile their text is fetched.
  void take(int64_t id, const Searches& searches) {
    const Range* answer = searches.answers.data() + first_lookup_ * w_;
    for (size_t i = missing_.size(); i-- > 0;) {
      const Range* grown = nullptr;  // rows of the longest suffix that the new context may have
      const int64_t extended = extend(missing_[i], &answer, &grown);
      link(missing_[i], extended, grown);
    }
    step(code_of(id));
    if (settings_.cache != nullptr) prefetch_record(at);
  }

  // Prices the edges that `take` made, by price(node, extended, n_left, what the next shorter suffix has); n_left:
  // different left neighbours of the node with the token, 0 if it is not frequent enough.
  template <class Price>
  void settle(Workspace& work, StopFlag stop, Price price) {
    spend(stop, kNodeWork * (1 + made_.size()));
    if (settings_.cache != nullptr) {
      for (size_t i = 0; i < made_.size(); ++i) {
        put_price(i, n_left_of(i, work, stop), work, stop, price);
      }
      if (starts.alive) learn_starts();
    }
    keep_made();
  }

  // Interpolated models: returns the probability of an unknown token after the context, without a step.
  template <class Price>
  double price_of_unknown(Workspace& work, StopFlag stop, Price price) {
    symbol_ = kUnknownSymbol;
    list_missing();
    for (size_t i = missing_.size(); i-- > 0;) {
      spend(stop, kNodeWork);
      link(missing_[i], 0, nullptr);
      put_price(made_.size() - 1, 0, work, stop, price);
    }
    keep_made();
    return edge.prob;
  }

  // The step to a sentence's end. No context comes after it. n_left_of_end: of the unigram `</s>`.
  template <class Price>
  void take_end(int64_t n_left_of_end, Workspace& work, StopFlag stop, Price price) {
    symbol_ = kEndSymbol;
    list_missing();
    for (size_t i = missing_.size(); i-- > 0;) {
      spend(stop, kNodeWork);
      int64_t n_left = 0;
      link(missing_[i], ends_of(missing_[i], n_left_of_end, work, stop, &n_left), nullptr);
      if (settings_.cache != nullptr) put_price(made_.size() - 1, n_left, work, stop, price);
    }
    step(kBorder);
    keep_made();
    starts.alive = false;
  }

  // Sets the walk after a context of any length. begins: whether the context follows `<s>`.
  //
  // forget: cuts a full graph down to what is in use, by this walk and any other in the same graph.
  //
  // Cost: a search for each length, up to kProbed tokens; walks through what may be a longer match, at most four times
  // its length.
  template <class Price, class Forget>
  void locate(const int64_t* ids, size_t n, bool begins, Searches& searches, Workspace& work, StopFlag stop,
              Price price, Forget forget) {
    reset(begins, stop);
    const size_t most = std::min<size_t>(n, settings_.longest);
    if (!probe_lengths(ids + n, std::min(most, kProbed), most, searches, stop) && most > kProbed) {
      at = kRoot;
      Starts kept;
      std::swap(kept, starts);
      for (size_t i = n - length_beyond_match(ids + n, n, searches, stop); i < n; ++i) {
        if (graph->is_full()) forget();
        searches.lookups.clear();
        ask(ids, i, searches);
        searches.run(stop);
        take(ids[i], searches);
        settle(work, stop, price);
      }
      std::swap(kept, starts);
    }
    for (size_t i = 0; i < n && starts.alive; ++i) {
      spend(stop, kNodeWork);
      starts_before = starts;
      step_starts(code_of(ids[i]));
    }
    if (starts.alive && settings_.cache != nullptr) learn_starts();
  }

  // Returns the counts of a node's successors.
  const Record& record(NodeId v, Workspace& work, StopFlag stop) const {
    learn(v, work, stop);
    return graph->record(v);
  }

  // After a step: the nodes of the context from before, the longest first, each with the token's edge.
  template <class Visit>
  void each_edge(Visit visit) const {
    for (NodeId v = before;; v = (*graph)[v].parent) {
      visit(v, *graph->find(v, symbol_));
      if (v == kRoot) return;
    }
  }

  // The nodes of the context but the root, the longest first.
  template <class Visit>
  void each_node(Visit visit) const {
    for (NodeId v = at; v != kRoot; v = (*graph)[v].parent) visit(v);
  }

  // Every successor of a node; see Columns::successors.
  template <class Visit>
  void successors(NodeId v, Workspace& work, StopFlag stop, Visit visit) const {
    const SuffixNode& node = (*graph)[v];
    if (node.alone) {
      visit(Successor{column_of(node).code_at(node.end), 1, 1});
      return;
    }
    settings_.columns->successors(graph->rows(v), node.length, work, stop, visit);
  }

  // The same as a list, kept if it took long; without left neighbours if no records are wanted. finish: what
  // the model adds to a SuccessorList; always the same for the same context.
  template <class Finish>
  SuccessorCache::Entry successor_list(NodeId v, SuccessorCache& cache, Workspace& work, StopFlag stop,
                                       Finish finish) const {
    const SuffixNode& node = (*graph)[v];
    const Range* const rows = node.alone ? nullptr : graph->rows(v);
    const bool is_kept = !node.alone && settings_.columns->n_rows(rows) > kListedFrom;
    const RecordCache::Key key = is_kept ? key_of(rows, w_, node.length) : RecordCache::Key{};
    if (is_kept) {
      SuccessorCache::Entry known = cache.get(key.row, key.depth);
      if (known != nullptr) return known;
    }
    auto found = std::make_shared<SuccessorList>();
    if (settings_.cache != nullptr) {
      successors(v, work, stop, [&](const Successor& f) { found->list.push_back(f); });
    } else {
      std::vector<std::pair<Code, int64_t>> counts;
      next_counts(v, counts, stop);
      for (const auto& entry : counts) found->list.push_back({entry.first, entry.second, 0});
    }
    finish(*found);
    if (is_kept) cache.put(key.row, key.depth, found);
    return found;
  }

  // Code and net count of the same, by galloping over runs: for contexts that are very frequent.
  void next_counts(NodeId v, std::vector<std::pair<Code, int64_t>>& out, StopFlag stop) const {
    const SuffixNode& node = (*graph)[v];
    if (node.alone) {
      out.emplace_back(column_of(node).code_at(node.end), 1);
      return;
    }
    std::vector<std::pair<Code, int64_t>> found;
    std::vector<Run> runs;
    for (size_t s = 0; s < w_; ++s) {
      const Column& column = (*settings_.columns)[s];
      runs.clear();
      const uint64_t n_ends = column.segment().successors(graph->rows(v)[s], node.length, runs, stop);
      if (n_ends > 0) found.emplace_back(kBorder, column.sign() * static_cast<int64_t>(n_ends));
      for (const Run& run : runs) {
        const Code code = run.id == settings_.columns->separator() ? kBorder : static_cast<Code>(run.id + 1);
        found.emplace_back(code, column.sign() * run.count);
      }
    }
    std::sort(found.begin(), found.end());
    for (size_t i = 0; i < found.size();) {
      const Code code = found[i].first;
      int64_t count = 0;
      for (; i < found.size() && found[i].first == code; ++i) count += found[i].second;
      if (count > 0) out.emplace_back(code, count);
    }
  }

  // Every successor of a documents' beginning: code and net count, ascending.
  template <class Visit>
  void start_successors(const Starts& starts, Visit visit) const {
    std::vector<std::pair<Code, int64_t>> found;
    if (starts.n_tokens == 0 && settings_.columns->n_empty() != 0) {
      found.emplace_back(kBorder, settings_.columns->n_empty());
    }
    for (size_t s = 0; s < w_; ++s) {
      const Column& column = (*settings_.columns)[s];
      Range rest = starts.ranges[s];
      while (rest.size() > 0) {
        const Code code = column.code_at(column.starts()[rest.lo] + starts.n_tokens);
        const Range run = column.first_run_of_starts(rest, starts.n_tokens);
        found.emplace_back(code, column.sign() * static_cast<int64_t>(run.size()));
        rest.lo = run.hi;
      }
    }
    std::sort(found.begin(), found.end());
    for (size_t i = 0; i < found.size();) {
      const Code code = found[i].first;
      int64_t count = 0;
      for (; i < found.size() && found[i].first == code; ++i) count += found[i].second;
      if (count > 0) visit(code, count);
    }
  }

  // Tokens of the longest suffix that occurred before the step; `<s>` counts as one.
  uint32_t longest_before() const {
    return starts_before.alive ? starts_before.n_tokens + 1 : node_before().length;
  }

  // Returns true if that suffix has one successor only, and that is a token.
  bool sparse_before(Workspace& work, StopFlag stop) const {
    Code only = kBorder;
    int64_t n = 0;
    const auto see = [&](Code code) {
      only = code;
      ++n;
    };
    if (starts_before.alive) {
      start_successors(starts_before, [&](Code code, int64_t) { see(code); });
    } else if (node_before().alone) {
      see(column_of(node_before()).code_at(node_before().end));
    } else if (before == kRoot) {
      return settings_.vocabulary->size() == 1;
    } else {
      const Range* const rows = graph->rows(before);
      if (settings_.columns->only_added() && !same_next(rows, node_before().length)) return false;
      successors(before, work, stop, [&](const Successor& f) { see(f.code); });
    }
    return n == 1 && only != kBorder;
  }

 private:
  // Nodes whose edges are fetched ahead: few have more above them that lack a token.
  static constexpr int kPrefetched = 4;
  // Lengths that `locate` tries in one round, and in all.
  static constexpr size_t kProbes = 8;
  static constexpr size_t kProbed = 64;
  // Records of contexts with more rows than this are kept: computing one from fewer costs less than a miss.
  static constexpr uint64_t kKeptFrom = 24;
  // The same of lists of successors.
  static constexpr uint64_t kListedFrom = 64;
  // Left neighbours are carried along from n-gram to n-gram if these have this length and more rows than that.
  static constexpr uint32_t kRepeatedLength = 32;
  static constexpr uint64_t kRepeated = 256;
  // In keys: the bits of a row, below the segment's number. Other bits distinguish rows of different depths, as the key
  // does by itself (reversed_table_segment.hpp).
  static constexpr int kRowBits = 44;
  static constexpr uint64_t kRowMask = (uint64_t{1} << kRowBits) - 1;
  // In keys: a document's beginning, and not an n-gram anywhere.
  static constexpr uint64_t kStartsBit = uint64_t{1} << 40;

  Symbol symbol_of(int64_t id) const {
    const int64_t type = settings_.vocabulary->find(code_of(id));
    return type < 0 ? kUnknownSymbol : kFirstType + static_cast<Symbol>(type);
  }

  // The nodes of the context that lack the symbol's edge, the longest first; the edge of the next one, if there is one.
  void list_missing() {
    missing_.clear();
    made_.clear();
    edge = Edge{};
    for (NodeId v = at;; v = (*graph)[v].parent) {
      if (const Edge* const known = graph->find(v, symbol_)) {
        edge = *known;
        return;
      }
      missing_.push_back(v);
      if (v == kRoot) return;
    }
  }

  // Returns the number of a node's occurrences that the symbol follows. grown: rows of the longest suffix that the new
  // context may have. answer: rows found by the next search that `ask` requested.
  int64_t extend(NodeId v, const Range** answer, const Range** grown) const {
    if (symbol_ == kUnknownSymbol) return 0;
    const size_t type = symbol_ - kFirstType;
    const SuffixNode& node = (*graph)[v];
    if (v == kRoot) {
      *grown = settings_.vocabulary->ranges.data() + type * w_;
      return settings_.vocabulary->counts[type];
    }
    if (node.alone) return column_of(node).code_at(node.end) == settings_.vocabulary->codes[type];
    *grown = *answer;
    *answer += w_;
    const int64_t extended = settings_.columns->net(*grown);
    if (outgrows(node)) {
      *grown = *answer;
      *answer += w_;
    }
    return extended;
  }

  // Counts a node's occurrences that end a sentence, and the different tokens before these.
  int64_t ends_of(NodeId v, int64_t n_left_of_end, Workspace& work, StopFlag stop, int64_t* n_left) const {
    const SuffixNode& node = (*graph)[v];
    int64_t extended = 0;
    if (v == kRoot) {
      extended = settings_.columns->n_sentences();
      *n_left = extended < settings_.least ? 0 : n_left_of_end;
    } else if (node.alone) {
      extended = *n_left = column_of(node).code_at(node.end) == kBorder;
    } else {
      std::vector<Range> ends;
      extended = settings_.columns->ends(graph->rows(v), node.length, ends);
      if (settings_.cache != nullptr && !settings_.raw && extended >= settings_.least) {
        *n_left = settings_.columns->n_left_of_ends(ends, work, stop);
      }
    }
    return extended;
  }

  // Makes the symbol's edge of a node; `edge` is that of its parent, and then this one.
  void link(NodeId v, int64_t extended, const Range* grown) {
    edge.node = v;
    edge.symbol = symbol_;
    edge.extended = extended;
    if (v == kRoot || extended >= settings_.least) edge.used = v, edge.used_count = extended;
    if (extended >= settings_.least && symbol_ >= kFirstType) edge.target = grow(v, extended, grown, edge.target);
    made_.push_back(edge);
  }

  void step(int64_t code) {
    before = at;
    at = edge.target;
    std::swap(starts_before, starts);
    step_starts(code);
  }

  // Different left neighbours of the node of the edge made_[i] and the symbol, 0 if the two are not frequent enough.
  int64_t n_left_of(size_t i, Workspace& work, StopFlag stop) const {
    const Edge& made = made_[i];
    if (made.extended < settings_.least) return 0;
    if (settings_.raw) return 1;  // without use
    // A longer suffix occurs as often.
    if (i + 1 < made_.size() && made_[i + 1].extended == made.extended) return 1;
    if ((*graph)[made.target].length != (*graph)[made.node].length + 1) return 1;  // for the greatest order, without use
    return record(made.target, work, stop).n_left;
  }

  template <class Price>
  void put_price(size_t i, int64_t n_left, Workspace& work, StopFlag stop, Price price) {
    Edge& made = made_[i];
    if (made.node != kRoot) learn(made.node, work, stop);
    const double shorter = i > 0 ? made_[i - 1].prob : made.prob;  // a known edge was copied
    edge.n_left = made.n_left = n_left;
    edge.prob = made.prob = price(made.node, made.extended, n_left, shorter);
  }

  void keep_made() {
    for (const Edge& made : made_) graph->put(made);
    made_.clear();
  }

  // Fetches what `learn` will read: the record that is kept, or the text of the rows.
  void prefetch_record(NodeId v) const {
    const SuffixNode& node = (*graph)[v];
    if (v == kRoot || node.alone || node.learned) return;
    const Range* const rows = graph->rows(v);
    if (settings_.columns->n_rows(rows) > kKeptFrom) {
      settings_.cache->prefetch(key_of(rows, w_, node.length));
      return;
    }
    for (size_t s = 0; s < w_; ++s) (*settings_.columns)[s].prefetch_rows(rows[s]);
  }

  const Column& column_of(const SuffixNode& node) const { return (*settings_.columns)[node.column]; }

  // Returns false if the first and the last row of some segment have different successors.
  bool same_next(const Range* rows, uint32_t depth) const {
    for (size_t s = 0; s < w_; ++s) {
      if (rows[s].size() == 0) continue;
      const Column& column = (*settings_.columns)[s];
      const auto next_of = [&](Row row) { return column.code_at(column.position(row) + depth); };
      if (next_of(rows[s].lo) != next_of(rows[s].hi - 1)) return false;
    }
    return true;
  }

  // A node that reaches the greatest length and has shorter ones: its extension by a token must drop its first one.
  bool outgrows(const SuffixNode& node) const {
    return node.length == settings_.longest && node.shortest < node.length;
  }

  // The node of the longest suffix of v and a token that is not too long, its rows given. shorter: the same of v's parent.
  NodeId grow(NodeId v, int64_t extended, const Range* rows, NodeId shorter) {
    const SuffixNode node = (*graph)[v];
    if (node.length >= settings_.longest && !outgrows(node)) return shorter;
    SuffixNode longer = made_of(std::min(node.length + 1, settings_.longest), extended, rows);
    if (longer.length > node.length) longer.origin = v;
    if (node.alone) {
      longer.alone = true;
      longer.column = node.column;
      longer.end = node.end + 1;
    }
    return add_above(longer, shorter, rows);
  }

  SuffixNode made_of(uint32_t length, int64_t count, const Range* rows) const {
    SuffixNode node;
    node.length = length;
    node.count = count;
    if (count != 1 || rows == nullptr || !settings_.columns->only_added()) return node;
    for (size_t s = 0; s < w_; ++s) {
      if (rows[s].size() == 0) continue;
      node.alone = true;
      node.column = static_cast<uint32_t>(s);
      node.end = (*settings_.columns)[s].position(rows[s].lo) + length;
    }
    return node;
  }

  // A suffix longer than another one. It takes the other's place if both occur equally often.
  NodeId add_above(SuffixNode& node, NodeId shorter, const Range* rows) {
    const SuffixNode& other = (*graph)[shorter];
    const bool is_same = shorter != kRoot && other.count == node.count;
    node.shortest = is_same ? other.shortest : other.length + 1;
    node.parent = is_same ? other.parent : shorter;
    return graph->add(node, rows);
  }

  // The nodes of the context's last lengths, at most n tokens each. Returns true if no longer suffix occurs.
  bool probe_lengths(const int64_t* end, size_t n, size_t most, Searches& searches, StopFlag stop) {
    for (size_t length = 1; length <= n;) {
      searches.lookups.clear();
      const size_t until = std::min(n, length + kProbes - 1);
      for (size_t k = length; k <= until; ++k) {
        searches.lookups.push_back({Request{end - k, static_cast<uint32_t>(k)}, nullptr});
      }
      searches.run(stop);
      for (size_t i = 0; length <= until; ++i, ++length) {
        const Range* const found = searches.answers.data() + i * w_;
        const int64_t count = settings_.columns->net(found);
        if (count < settings_.least) return true;
        SuffixNode node = made_of(static_cast<uint32_t>(length), count, found);
        if (node.alone) lengthen_alone(node, end, most);
        at = add_above(node, at, found);
        if (node.alone) return true;
      }
    }
    return false;
  }

  // A number of last tokens that does not occur, at most four times as large as need be, or all n.
  size_t length_beyond_match(const int64_t* end, size_t n, Searches& searches, StopFlag stop) const {
    for (size_t length = 4 * kProbed; length < n; length *= 4) {
      searches.lookups.assign(1, {Request{end - length, static_cast<uint32_t>(length)}, nullptr});
      searches.run(stop);
      if (settings_.columns->net(searches.answers.data()) < settings_.least) return length;
    }
    return n;
  }

  // The one occurrence is compared with the context backwards.
  void lengthen_alone(SuffixNode& node, const int64_t* stop, size_t most) const {
    const Column& column = column_of(node);
    while (node.length < most && node.end > node.length) {
      const Code found = column.code_at(node.end - node.length - 1);
      if (found == kBorder || code_of(stop[-1 - static_cast<int64_t>(node.length)]) != found) return;
      ++node.length;
    }
  }

  void step_starts(int64_t code) {
    starts_extended = 0;
    starts = Starts{};
    if (!starts_before.alive) return;
    const uint32_t depth = starts_before.n_tokens;
    starts.ranges.resize(w_);
    for (size_t s = 0; s < w_; ++s) {
      const Column& column = (*settings_.columns)[s];
      if (code == kBorder) {
        const Ends ends = column.ends_of_starts(starts_before.ranges[s], depth);
        starts_extended += column.sign() * static_cast<int64_t>(ends[0].size() + ends[1].size());
      } else {
        starts.ranges[s] = column.narrow_starts(starts_before.ranges[s], depth, code);
        starts_extended += column.sign() * static_cast<int64_t>(starts.ranges[s].size());
      }
    }
    if (depth == 0 && code == kBorder) starts_extended += settings_.columns->n_empty();
    starts.n_tokens = depth + 1;
    starts.count = starts_extended;
    starts.alive = starts_extended >= settings_.least && depth + 2 <= settings_.longest;
  }

  // Successors of documents' beginnings: the few there are, by bisection.
  void learn_starts() {
    starts.next = SuccessorCounts{};
    const bool is_frequent = starts.count > static_cast<int64_t>(kKeptFrom);
    RecordCache::Key key{};
    if (is_frequent) {
      key = key_of(starts.ranges.data(), w_, kStartsBit | starts.n_tokens);
      Record known;
      if (settings_.cache->get(key, &known)) {
        starts.next = known.next;
        return;
      }
    }
    start_successors(starts, [&](Code, int64_t count) {
      starts.next.add(count, count >= settings_.least);
    });
    if (!is_frequent) return;
    Record record;
    record.next = starts.next;
    settings_.cache->put(key, record);
  }

  // The successors of a long n-gram that is frequent: a text that repeats itself has one for each of its lengths.
  template <class Visit>
  int64_t visit_beside(NodeId v, StopFlag stop, Visit visit) const {
    const SuffixNode& node = (*graph)[v];
    const Columns& columns = *settings_.columns;
    const Range *const rows = graph->rows(v), *const origin = graph->rows(node.origin);
    std::unique_ptr<LeftCounts> lefts;
    if (columns.n_rows(origin) < 2 * columns.n_rows(rows)) lefts = graph->take_lefts(node.origin);
    const bool is_derived = lefts != nullptr;
    if (!is_derived) lefts = std::make_unique<LeftCounts>();
    for (size_t s = 0; s < w_; ++s) {
      if (is_derived) {
        lefts->add(columns[s], rows[s].size() == 0 ? origin[s] : Range{origin[s].lo, rows[s].lo}, -1, stop);
        if (rows[s].size() > 0) lefts->add(columns[s], {rows[s].hi, origin[s].hi}, -1, stop);
      } else {
        lefts->add(columns[s], rows[s], 1, stop);
      }
    }
    visit_successors(columns, rows, node.length, *lefts, stop, visit);
    const int64_t n_left = lefts->n_positive();
    if (columns.is_nested()) graph->keep_lefts(v, std::move(lefts));
    return n_left;
  }

  void learn(NodeId v, Workspace& work, StopFlag stop) const {
    const SuffixNode& node = (*graph)[v];
    if (node.learned || node.alone) return;
    Record record;
    const Range* const rows = graph->rows(v);
    const bool is_kept = settings_.columns->n_rows(rows) > kKeptFrom;
    const RecordCache::Key key = key_of(rows, w_, node.length);
    if (!is_kept || !settings_.cache->get(key, &record)) {
      const bool raw = settings_.raw || (settings_.raw_at_longest && node.length == settings_.longest);
      const auto see = [&](const Successor& f) {
        const bool kept = f.count >= settings_.least;
        record.next.add(raw ? f.count : f.n_left, kept);
        ++record.n_next;
        record.n_next_kept += kept;
      };
      if (settings_.raw) {
        std::vector<std::pair<Code, int64_t>> counts;
        next_counts(v, counts, stop);
        for (const auto& entry : counts) see(Successor{entry.first, entry.second, 0});
        spend(stop, counts.size());
      } else if (node.length >= kRepeatedLength && settings_.columns->n_rows(rows) > kRepeated) {
        record.n_left = visit_beside(v, stop, see);
      } else {
        record.n_left = settings_.columns->successors(rows, node.length, work, stop, see);
      }
      if (is_kept) settings_.cache->put(key, record);
    }
    graph->set_record(v, record);
  }

  WalkSettings settings_;
  size_t w_;
  size_t first_lookup_ = 0;
  Symbol symbol_ = kUnknownSymbol;
  std::vector<NodeId> missing_;  // the longest first
  std::vector<Edge> made_;       // of these, not priced yet, the shortest first
};

}  // namespace lm
}  // namespace ngramdb
