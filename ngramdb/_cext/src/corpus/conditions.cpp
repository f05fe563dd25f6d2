#include "ngramdb/corpus/conditions.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "ngramdb/corpus/docsets.hpp"

namespace ngramdb {

void locate_among(const Segment& segment, Range rows, const uint32_t* documents, size_t n_documents, bool few,
                         std::vector<uint32_t>& out, StopFlag stop) {
  if (few && segment.documents_among(rows, documents, n_documents, out, stop)) return;
  std::vector<uint32_t> found;
  segment.documents_of(rows, found, stop);
  out.resize(std::min(found.size(), n_documents));
  const bool found_fewer = found.size() < n_documents;
  const uint32_t* fewer = found_fewer ? found.data() : documents;
  const uint32_t* more = found_fewer ? documents : found.data();
  out.resize(select_common(fewer, out.size(), more, std::max(found.size(), n_documents), true, out.data()));
}

namespace {

class Condition {
 public:
  Condition(const int32_t* code, size_t n_code, size_t n_grams, const ConditionCosts& costs,
            std::vector<ConditionStep>* trace)
      : n_grams_(n_grams), costs_(costs), trace_(trace) {
    parse(code, n_code);
  }

  // The segment's documents that meet it. `grams` are as many as the code has.
  DocumentSet documents(const Segment& segment, const Request* grams, StopFlag stop) {
    segment_ = &segment;
    grams_ = grams;
    stop_ = stop;
    ranges_.resize(n_grams_);
    segment.find(grams, ranges_.data(), n_grams_);
    weigh();
    return evaluate(0);
  }

 private:
  using Documents = std::vector<DocNumber>;

  struct Node {
    int32_t code;
    uint32_t gram;  // of kGram
    uint32_t end;   // the first node that is not below this one
    double weight;  // upper bound on the relevant occurrences; infinite if it selects by exclusion
  };

  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  void parse(const int32_t* code, size_t n_code) {
    std::vector<std::pair<uint32_t, int32_t>> open;  // nodes with operands to come, and how many
    uint32_t n_grams = 0;
    for (size_t i = 0; i < n_code; ++i) {
      if (!nodes_.empty() && open.empty()) throw std::invalid_argument("a condition goes on behind its end");
      const uint32_t number = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({code[i], 0, 0, kInfinite});
      int32_t n_operands = 0;
      switch (code[i]) {
        case kGram: nodes_.back().gram = n_grams++; break;
        case kEvery: break;
        case kNot: n_operands = 1; break;
        case kAnd: case kAndOrdered: case kOr:
          n_operands = ++i < n_code ? code[i] : 0;
          if (n_operands < 1) throw std::invalid_argument("a condition joins nothing");
          break;
        default: throw std::invalid_argument("a condition has an unknown code");
      }
      open.emplace_back(number, n_operands);
      while (!open.empty() && open.back().second == 0) {
        nodes_[open.back().first].end = number + 1;
        open.pop_back();
        if (!open.empty()) --open.back().second;
      }
    }
    if (nodes_.empty() || !open.empty()) throw std::invalid_argument("a condition ends early");
    if (n_grams != n_grams_) throw std::invalid_argument("a condition has another number of n-grams");
  }

  void weigh() {
    for (size_t i = nodes_.size(); i-- > 0;) {
      Node& node = nodes_[i];
      node.weight = kInfinite;
      if (node.code == kGram && grams_[node.gram].n > 0) node.weight = static_cast<double>(ranges_[node.gram].size());
      if (node.code == kOr) {
        node.weight = 0;
        each(i, [&](uint32_t operand) { node.weight += nodes_[operand].weight; });
      } else if (node.code == kAnd || node.code == kAndOrdered) {
        each(i, [&](uint32_t operand) { node.weight = std::min(node.weight, nodes_[operand].weight); });
      }
    }
  }

  template <class Visit>
  void each(size_t node, Visit visit) const {
    for (uint32_t operand = static_cast<uint32_t>(node) + 1; operand < nodes_[node].end; operand = nodes_[operand].end) {
      visit(operand);
    }
  }

  std::vector<uint32_t> operands(uint32_t node) const {
    std::vector<uint32_t> found;
    each(node, [&](uint32_t operand) { found.push_back(operand); });
    if (nodes_[node].code == kAndOrdered) {
      std::stable_sort(found.begin(), found.end(),
                       [this](uint32_t a, uint32_t b) { return nodes_[a].weight < nodes_[b].weight; });
    }
    return found;
  }

  // ---- among all documents ----

  DocumentSet evaluate(uint32_t node) const {
    switch (nodes_[node].code) {
      case kGram: return evaluate_gram(nodes_[node].gram);
      case kNot: {
        DocumentSet found = evaluate(node + 1);
        found.negated = !found.negated;
        return found;
      }
      case kOr: {
        DocumentSet found;
        each(node, [&](uint32_t operand) { found = joined(std::move(found), evaluate(operand)); });
        return found;
      }
      case kEvery: return {{}, true};
      default: return evaluate_all(node);
    }
  }

  DocumentSet evaluate_gram(uint32_t gram) const {
    if (grams_[gram].n == 0) return {{}, true};
    const Range rows = ranges_[gram];
    DocumentSet found;
    if (rows.size() == 0) return found;
    if (chooses_scan(gram, segment_->n_documents())) {
      Documents every(segment_->n_documents());
      for (uint32_t i = 0; i < every.size(); ++i) every[i] = i;
      scan(gram, every, found.documents);
    } else {
      segment_->documents_of(rows, found.documents, stop_);
    }
    return found;
  }

  DocumentSet evaluate_all(uint32_t node) const {
    const std::vector<uint32_t> order = operands(node);
    DocumentSet left{{}, true};
    if (nodes_[node].code == kAndOrdered && nodes_[order[0]].weight == 0) return {};
    for (const uint32_t operand : order) {
      if (left.negated) {
        left = common(left, evaluate(operand));
      } else if (!left.documents.empty()) {
        left.documents = restrict(operand, left.documents);
      }
    }
    return left;
  }

  // ---- among candidates ----

  Documents restrict(uint32_t node, const Documents& candidates) const {
    switch (nodes_[node].code) {
      case kGram: return restrict_gram(nodes_[node].gram, candidates);
      case kNot: return select(candidates, restrict(node + 1, candidates), false);
      case kEvery: return candidates;
      case kOr: {
        Documents found, open = candidates;
        each(node, [&](uint32_t operand) {
          if (open.empty()) return;
          const Documents more = restrict(operand, open);
          found = unite(found, more);
          open = select(open, more, false);
        });
        return found;
      }
      default: {
        Documents left = candidates;
        for (const uint32_t operand : operands(node)) {
          if (!left.empty()) left = restrict(operand, left);
        }
        return left;
      }
    }
  }

  Documents restrict_gram(uint32_t gram, const Documents& candidates) const {
    if (grams_[gram].n == 0) return candidates;
    const Range rows = ranges_[gram];
    Documents found;
    if (rows.size() == 0 || candidates.empty()) return found;
    if (chooses_scan(gram, candidates.size())) {
      scan(gram, candidates, found);
    } else {
      const bool few = are_few(candidates.size());
      locate_among(*segment_, rows, candidates.data(), candidates.size(), few, found, stop_);
    }
    return found;
  }

  void scan(uint32_t gram, const Documents& candidates, Documents& found) const {
    segment_->filter_documents(candidates.data(), candidates.size(), grams_[gram].ids, grams_[gram].n, found, stop_);
  }

  // gram_path of planner/choices.py.
  bool chooses_scan(uint32_t gram, uint64_t n_candidates) const {
    const double share = static_cast<double>(n_candidates) / static_cast<double>(segment_->n_documents());
    const double locating = are_few(n_candidates) ? costs_.sift : costs_.locate;
    const double reading = costs_.scan * share * static_cast<double>(segment_->n_rows());
    const bool scanned = reading < locating * static_cast<double>(ranges_[gram].size());
    if (trace_ != nullptr) trace_->push_back({gram, scanned, n_candidates});
    return scanned;
  }

  bool are_few(uint64_t n_candidates) const { return n_candidates <= segment_->n_documents() / costs_.few; }

  // ---- sets ----

  static Documents select(const Documents& a, const Documents& b, bool keep_common) {
    Documents found(a.size());
    found.resize(select_common(a.data(), a.size(), b.data(), b.size(), keep_common, found.data()));
    return found;
  }

  static Documents unite(const Documents& a, const Documents& b) {
    Documents found(a.size() + b.size());
    found.resize(unite_sorted(a.data(), a.size(), b.data(), b.size(), found.data()));
    return found;
  }

  static DocumentSet common(const DocumentSet& a, const DocumentSet& b) {
    if (a.negated && b.negated) return {unite(a.documents, b.documents), true};
    if (a.negated) return {select(b.documents, a.documents, false), false};
    return {select(a.documents, b.documents, !b.negated), false};
  }

  // a OR b is NOT (NOT a AND NOT b).
  static DocumentSet joined(DocumentSet a, DocumentSet b) {
    a.negated = !a.negated;
    b.negated = !b.negated;
    DocumentSet neither = common(a, b);
    neither.negated = !neither.negated;
    return neither;
  }

  size_t n_grams_;
  ConditionCosts costs_;
  std::vector<ConditionStep>* trace_;  // null: nothing is recorded
  std::vector<Node> nodes_;
  std::vector<Range> ranges_;
  const Segment* segment_ = nullptr;
  const Request* grams_ = nullptr;
  StopFlag stop_ = nullptr;
};

}  // namespace

DocumentSet documents_where(const Segment& segment, const int32_t* code, size_t n_code, const Request* grams,
                                   size_t n_grams, const ConditionCosts& costs, std::vector<ConditionStep>* trace,
                                   StopFlag stop) {
  return Condition(code, n_code, n_grams, costs, trace).documents(segment, grams, stop);
}

}  // namespace ngramdb
