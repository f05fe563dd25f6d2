// Two kinds of segments that serve to test the others: plain arrays in memory, and any segment by its primitives alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

// Documents in memory, sorted by comparing them: the six primitives, and nothing else.
class PlainSegment final : public Segment {
 public:
  // Document d is ids[offsets[d], offsets[d + 1]). `first` is the position of the first token: any, so that positions
  // beyond 2^32 can be tried without a text of that length.
  PlainSegment(const uint32_t* ids, const int64_t* offsets, size_t n_documents, Position first) : first_(first) {
    for (size_t d = 0; d < n_documents; ++d) {
      const size_t start = text_.size();
      for (int64_t i = offsets[d]; i < offsets[d + 1]; ++i) {
        rows_.push_back(text_.size());
        text_.push_back(ids[i]);
      }
      spans_.push_back({first + start, first + text_.size()});
      text_.push_back(kNoToken);
    }
    std::sort(rows_.begin(), rows_.end(), [this](size_t a, size_t b) { return is_before(a, b); });
  }

  uint64_t n_rows() const override { return rows_.size(); }
  uint64_t n_documents() const override { return spans_.size(); }
  uint64_t n_positions() const override { return first_ + text_.size(); }
  Position position(Row row) const override { return first_ + rows_[row]; }

  uint32_t tokens(Position at, uint32_t n, TokenId* out) const override {
    if (at < first_) return 0;
    uint32_t found = 0;
    for (size_t i = at - first_; found < n && i < text_.size() && text_[i] != kNoToken; ++i) out[found++] = text_[i];
    return found;
  }

  Span span(DocNumber document) const override { return spans_[document]; }

 private:
  bool is_before(size_t a, size_t b) const {
    const size_t first_a = a, first_b = b;
    for (; text_[a] == text_[b]; ++a, ++b) {
      if (text_[a] == kNoToken) return first_a < first_b;
    }
    return text_[a] < text_[b];  // a document's end is below every token
  }

  Position first_;
  std::vector<TokenId> text_;  // kNoToken after every document
  std::vector<size_t> rows_;
  std::vector<Span> spans_;
};

// A segment that answers like a kind that overrides nothing.
class SegmentByDefaults final : public Segment {
 public:
  explicit SegmentByDefaults(const Segment& segment) : segment_(segment) {}

  uint64_t n_rows() const override { return segment_.n_rows(); }
  uint64_t n_documents() const override { return segment_.n_documents(); }
  uint64_t n_positions() const override { return segment_.n_positions(); }
  Position position(Row row) const override { return segment_.position(row); }
  uint32_t tokens(Position at, uint32_t n, TokenId* out) const override { return segment_.tokens(at, n, out); }
  Span span(DocNumber document) const override { return segment_.span(document); }
  Breaks breaks() const override { return segment_.breaks(); }
  bool in_token_order() const override { return segment_.in_token_order(); }
  TokenId rank(TokenId id) const override { return segment_.rank(id); }

 private:
  const Segment& segment_;
};

}  // namespace ngramdb
