// Which documents of a segment meet a condition on plain n-grams: AND, OR and NOT over them, in one call.
//
// The choices of planner/choices.py, from the same counts: operands of AND in the order of their weights, each one asked
// only about the documents that those before it left, and n-grams located by the index or looked for in the documents
// that are left, whichever is cheaper. tests/property/test_choices.py compares both, by the trace.
#pragma once

#include <cstdint>
#include <vector>

#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

// A condition in prefix order: an operator, then its operands. AND and OR are followed by their number of operands; the
// k-th kGram is the k-th n-gram. The codes are those of `ConditionCode` in ngramdb/source.py.
enum ConditionCode : int32_t { kGram, kNot, kAnd, kAndOrdered, kOr, kEvery };

// Ascending numbers of documents, or (negated) of all others.
struct DocumentSet {
  std::vector<DocNumber> documents;
  bool negated = false;
};

// Costs of locating an occurrence, of scanning a token (infinite: documents are never read), and of locating an
// occurrence among few candidates; few are at most one document of `few`.
struct ConditionCosts {
  double locate, scan, sift;
  uint64_t few;
};

// An n-gram that was searched for among this many documents, all of them or candidates.
struct ConditionStep {
  uint32_t gram;
  bool scanned;
  uint64_t n_candidates;
};

// Those of the documents (ascending) that contain the rows. `few`: rows are filtered by the documents' positions, which
// takes a fraction of the time of collecting all of the rows' documents.
void locate_among(const Segment& segment, Range rows, const uint32_t* documents, size_t n_documents, bool few,
                         std::vector<uint32_t>& out, StopFlag stop);

// Returns the documents that meet the condition code[0, n_code). Appends each search to `trace`, if it is not null.
DocumentSet documents_where(const Segment& segment, const int32_t* code, size_t n_code, const Request* grams,
                                   size_t n_grams, const ConditionCosts& costs, std::vector<ConditionStep>* trace,
                                   StopFlag stop);

}  // namespace ngramdb
