// Contexts that were met, each with its shorter suffixes, and what followed them: a memory of one thread's walks.
//
// Suffixes of neighbouring lengths often have the very same occurrences (as a rule from four or five words on). A *node*
// is the longest of such a run of suffixes of a context; its parent is the next shorter suffix that occurs more often.
// So the nodes of a context are those on the path from its longest suffix that occurs to the root, the empty one. An
// *edge* is a token after a node: how often it follows, its probability under the model, and the node of the longer
// context. All of these depend on the node's tokens alone. A walk looks up one edge per token if the token followed this
// context before; else it computes the edges of those nodes on the path that lack it, the shortest first. A text that
// repeats itself thus costs one edge per token, however long its contexts are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/lm/left_counts.hpp"
#include "ngramdb/lm/successors.hpp"

namespace ngramdb {
namespace lm {

using NodeId = uint32_t;
constexpr NodeId kRoot = 0;  // the empty context

// Tokens as edges have them.
using Symbol = uint32_t;
constexpr Symbol kUnknownSymbol = 0;  // any token that the corpus lacks
constexpr Symbol kEndSymbol = 1;      // a sentence's end
constexpr Symbol kFirstType = 2;      // of the vocabulary's types

struct SuffixNode {
  NodeId parent = kRoot;
  NodeId origin = kRoot;  // of whose rows the node's are a part; the root if that is not known
  uint32_t shortest = 0, length = 0;  // lengths with the same occurrences
  uint32_t column = 0;
  int64_t count = 0;
  uint64_t end = 0;      // where its occurrence ends if it is alone, else where its rows and its record are
  bool alone = false;    // occurs once, in one segment; its rows are not kept
  bool learned = false;  // whether its record is known
};

struct Edge {
  NodeId node = 0;
  Symbol symbol = 0;
  NodeId target = kRoot;
  NodeId used = kRoot;      // the longest suffix of the node that the token follows often enough, or the root
  int64_t extended = 0;     // net count of the node's occurrences that the token follows
  int64_t used_count = 0;   // the same of `used`
  int64_t n_left = 0;       // of interpolated models: different left neighbours of the node and the token
  double prob = 0.0;        // of interpolated models
};

class SuffixGraph {
 public:
  // width: number of segments; has_records: whether nodes have records, and edges probabilities.
  SuffixGraph(size_t width, bool has_records) : w_(width), has_records_(has_records) { clear(); }

  void clear() {
    nodes_.assign(1, SuffixNode{});
    rows_.assign(w_, Range{});
    records_.assign(has_records_ ? 1 : 0, Record{});  // of the root, without use
    edges_.clear();
    n_edges_ = 0;
    lefts_.clear();
  }

  // True if the graph should be cut down to the paths in use.
  bool is_full() const { return n_bytes() > most_bytes_; }

  // Sets the memory from which on it is full.
  void set_limit(size_t n_bytes) { limit_ = most_bytes_ = n_bytes; }

  size_t n_bytes() const {
    return nodes_.size() * sizeof(SuffixNode) + rows_.size() * sizeof(Range) + records_.size() * sizeof(Record) +
           edges_.size() * sizeof(Edge);
  }

  const SuffixNode& operator[](NodeId node) const { return nodes_[node]; }
  // For nodes that are not alone.
  const Range* rows(NodeId node) const { return rows_.data() + nodes_[node].end * w_; }
  void set_record(NodeId node, const Record& record) {
    records_[nodes_[node].end] = record;
    nodes_[node].learned = true;
  }
  // For nodes that are alone, and nodes whose record was set.
  const Record& record(NodeId node) const {
    static const Record alone{1, SuccessorCounts{1, 0, {1, 0, 0}}, 1, 1};
    return nodes_[node].alone ? alone : records_[nodes_[node].end];
  }
  void set_root_count(int64_t count) { nodes_[kRoot].count = count; }

  // The left neighbours of a node whose record was learned lately, which its first heir takes over; else null.
  std::unique_ptr<LeftCounts> take_lefts(NodeId node) {
    for (auto kept = lefts_.begin(); kept != lefts_.end(); ++kept) {
      if (kept->first != node) continue;
      std::unique_ptr<LeftCounts> found = std::move(kept->second);
      lefts_.erase(kept);
      return found;
    }
    return nullptr;
  }
  void keep_lefts(NodeId node, std::unique_ptr<LeftCounts> lefts) {
    if (lefts_.size() == kMostLefts) lefts_.erase(lefts_.begin());
    lefts_.emplace_back(node, std::move(lefts));
  }

  // rows: one range per segment, not of this graph; of a node that is alone, nothing.
  NodeId add(const SuffixNode& node, const Range* rows) {
    nodes_.push_back(node);
    if (!node.alone) {
      nodes_.back().end = rows_.size() / w_;
      rows_.insert(rows_.end(), rows, rows + w_);
      if (has_records_) records_.emplace_back();
    }
    return last();
  }

  const Edge* find(NodeId node, Symbol symbol) const {
    if (edges_.empty()) return nullptr;
    const Edge& edge = edges_[place(node, symbol)];
    return is_used(edge) ? &edge : nullptr;
  }

  // Fetches what `find` will read.
  void prefetch(NodeId node, Symbol symbol) const {
    if (!edges_.empty()) prefetch_line(&edges_[hash_of(node, symbol) & (edges_.size() - 1)]);
  }

  void put(const Edge& edge) {
    if (3 * n_edges_ >= 2 * edges_.size()) grow();
    Edge& slot = edges_[place(edge.node, edge.symbol)];
    n_edges_ += !is_used(slot);
    slot = edge;
  }

  // Forgets all but the paths of these nodes, whose numbers change, and the edges between them: a text that repeats
  // itself follows these, and would need them all again.
  void keep_paths(const std::vector<NodeId*>& kept) {
    SuffixGraph old(w_, has_records_);
    old.set_limit(limit_);
    std::swap(*this, old);
    set_root_count(old[kRoot].count);
    std::vector<NodeId> moved(old.nodes_.size(), kRoot);
    for (NodeId* const node : kept) *node = add_path(old, *node, moved);
    for (Edge edge : old.edges_) {
      if (!is_used(edge) || moved[edge.target] == kRoot) continue;
      if (edge.node != kRoot && moved[edge.node] == kRoot) continue;
      edge.node = moved[edge.node];
      edge.target = moved[edge.target];
      edge.used = moved[edge.used];
      put(edge);
    }
    // Room for an edge of every node, as a text that repeats itself needs at its next step, and as much again.
    most_bytes_ = std::max(limit_, 2 * (n_bytes() + 3 * nodes_.size() * sizeof(Edge)));
  }

  // Forgets all, and takes the path of another graph's node, which gets the number last().
  void copy_path(const SuffixGraph& from, NodeId node) {
    clear();
    set_root_count(from[kRoot].count);
    std::vector<NodeId> path;
    for (NodeId v = node; v != kRoot; v = from[v].parent) path.push_back(v);
    for (; !path.empty(); path.pop_back()) add_copy(from, path.back(), last());
  }
  NodeId last() const { return static_cast<NodeId>(nodes_.size() - 1); }

 private:
  static constexpr NodeId kUnused = UINT32_MAX;
  static constexpr size_t kMostLefts = 16;
  static constexpr size_t kMostBytes = size_t{1} << 22;

  NodeId add_copy(const SuffixGraph& from, NodeId node, NodeId parent) {
    SuffixNode copy = from[node];
    copy.parent = parent;
    copy.origin = kRoot;
    const NodeId made = add(copy, copy.alone ? nullptr : from.rows(node));
    if (has_records_ && !copy.alone) records_.back() = from.record(node);
    return made;
  }

  // moved: the new numbers of nodes that are here, else the root's.
  NodeId add_path(const SuffixGraph& from, NodeId node, std::vector<NodeId>& moved) {
    std::vector<NodeId> path;
    for (NodeId v = node; v != kRoot && moved[v] == kRoot; v = from[v].parent) path.push_back(v);
    for (; !path.empty(); path.pop_back()) {
      moved[path.back()] = add_copy(from, path.back(), moved[from[path.back()].parent]);
    }
    return moved[node];
  }

  static uint64_t hash_of(NodeId node, Symbol symbol) {
    uint64_t x = (uint64_t{node} << 32 | symbol) * 0x9e3779b97f4a7c15u;
    x ^= x >> 32;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 29);
  }

  static bool is_used(const Edge& edge) { return edge.node != kUnused; }

  size_t place(NodeId node, Symbol symbol) const {
    size_t i = hash_of(node, symbol) & (edges_.size() - 1);
    while (is_used(edges_[i]) && (edges_[i].node != node || edges_[i].symbol != symbol)) {
      i = (i + 1) & (edges_.size() - 1);
    }
    return i;
  }

  void grow() {
    Edge unused;
    unused.node = kUnused;
    std::vector<Edge> old(std::max<size_t>(16, 2 * edges_.size()), unused);
    old.swap(edges_);
    for (const Edge& edge : old) {
      if (is_used(edge)) edges_[place(edge.node, edge.symbol)] = edge;
    }
  }

  size_t w_;
  bool has_records_;
  std::vector<SuffixNode> nodes_;
  std::vector<Range> rows_;      // of node v in segment s: [nodes_[v].end * w_ + s]
  std::vector<Record> records_;  // of node v: [nodes_[v].end]
  std::vector<Edge> edges_;      // a power of two of them, or none; open addressing
  size_t n_edges_ = 0;
  std::vector<std::pair<NodeId, std::unique_ptr<LeftCounts>>> lefts_;  // the newest last
  size_t limit_ = kMostBytes, most_bytes_ = kMostBytes;
};

}  // namespace lm
}  // namespace ngramdb
