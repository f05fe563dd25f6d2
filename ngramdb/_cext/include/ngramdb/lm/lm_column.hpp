// One segment as language models see it: suffix order, and the symbols on either side of every row.
//
// Symbols are codes that mean the same in every segment: 0 is the border of a sentence (`<s>` to the left of
// a row, `</s>` to the right), every other code is a token id plus one. Sentences are pieces of documents, or parts of
// pieces if the corpus has a token that separates sentences: this is a border on either side, and never a
// token. Rows that begin with it are not n-grams, and rows whose sentences end there are sorted by its id,
// not with those that end documents.
#pragma once

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "ngramdb/lm/sentence_starts.hpp"
#include "ngramdb/segment/segment.hpp"

namespace ngramdb {
namespace lm {

// Stands for a symbol that no segment has.
constexpr int64_t kNoCode = -1;
// An id that no token has, for a corpus whose sentences are the pieces of its documents.
constexpr int64_t kNoSeparator = INT64_MIN;

// Code of a token id, or kNoCode for a negative one.
inline int64_t code_of(int64_t id) { return id < 0 || id >= int64_t{UINT32_MAX} ? kNoCode : id + 1; }

// Two ranges of rows: those whose documents end, and those that a separator follows.
using Ends = std::array<Range, 2>;

class Column {
 public:
  // separator: the id of the token between sentences, or kNoSeparator.
  Column(const Segment& segment, int sign, int64_t separator, StopFlag stop)
      : segment_(segment), sign_(sign), separator_(separator_in(segment, separator)), n_rows_(segment.n_rows()) {
    if (separator_ != kBorder) separators_ = rows_of(separator);
    n_tokens_ = n_rows_ - separators_.size();
    each_sentence(stop, [this](Position, bool is_empty) {
      ++n_sentences_;
      n_empty_ += is_empty;
    });
  }

  const Segment& segment() const { return segment_; }
  int sign() const { return sign_; }
  uint64_t n_rows() const { return n_rows_; }
  // Rows of tokens, without separators.
  uint64_t n_tokens() const { return n_tokens_; }
  int64_t n_sentences() const { return n_sentences_; }

  // Sentences without tokens, and the starts of the others, ordered by their text: call prepare_starts first,
  // once, and takes about 0.2 µs per sentence.
  int64_t n_empty() const { return n_empty_; }
  const std::vector<Position>& starts() const { return starts_; }
  void prepare_starts(StopFlag stop) const {
    std::call_once(starts_once_, [this, stop] {
      std::vector<Position> found;
      found.reserve(static_cast<size_t>(n_sentences_ - n_empty_));
      each_sentence(stop, [&](Position at, bool is_empty) {
        if (!is_empty) found.push_back(at);
      });
      TextOrder(segment_, stop).sort(found);
      starts_.swap(found);
    });
  }

  // Calls visit(position) for the start of every sentence that is not empty, in no order that means anything.
  template <class Visit>
  void each_start(StopFlag stop, Visit visit) const {
    each_sentence(stop, [&](Position at, bool is_empty) {
      if (!is_empty) visit(at);
    });
  }

  // The symbol before each row, and the one `depth` symbols after its start.
  void read(Range rows, uint32_t depth, Code* lefts, Code* nexts) const {
    segment_.neighbours(rows, depth, lefts, nexts);
    if (separator_ == kBorder) return;
    for (uint64_t i = 0; i < rows.size(); ++i) {
      lefts[i] = with_border(lefts[i]);
      nexts[i] = with_border(nexts[i]);
    }
  }

  // The part of the rows, all alike in their first `depth` symbols, whose sentences end there: with their
  // document, and at a separator.
  Ends ends(Range rows, uint32_t depth) const {
    if (rows.size() == 0) return {};
    const Range at_document_end = segment_.narrow(rows, depth, kNoToken);
    if (separator_ == kBorder) return {at_document_end, Range{}};
    return {at_document_end, segment_.narrow(rows, depth, int64_t{separator_} - 1)};
  }

  // The same for a range of starts().
  Ends ends_of_starts(Range starts, uint32_t depth) const {
    if (starts.size() == 0) return {};
    const Range at_document_end = narrow_to(starts, depth, kBorder);
    if (separator_ == kBorder) return {at_document_end, Range{}};
    return {at_document_end, narrow_to({at_document_end.hi, starts.hi}, depth, separator_)};
  }

  // The part of a range of starts(), all alike in their first `depth` symbols, that the token follows.
  Range narrow_starts(Range starts, uint32_t depth, int64_t code) const {
    if (starts.size() == 0 || code <= 0 || code == int64_t{separator_}) return {0, 0};
    return narrow_to(starts, depth, static_cast<Code>(code));
  }

  // The part that continues like the first one.
  Range first_run_of_starts(Range starts, uint32_t depth) const {
    return narrow_to(starts, depth, segment_.code_at(starts_[starts.lo] + depth));
  }

  // Position of a row, and the code at a position.
  Position position(Row row) const { return segment_.position(row); }
  Code code_at(Position position) const { return with_border(segment_.code_at(position)); }

  // Codes from a row on, at most n, the border being the last; returns their number. Also the code before the
  // row. A separator that ends the prefix has its own code here, id + 1, so that prefixes ascend with the
  // rows.
  uint32_t prefix(Row row, uint32_t n, Code* out, Code* left) const {
    const uint32_t length = segment_.prefix(row, n, separator_, out, left);
    *left = with_border(*left);
    return length;
  }

  // The same for consecutive rows, without the codes.
  void outlines(Range rows, uint32_t n, Outline* out) const {
    segment_.outlines(rows, n, separator_, out);
    if (separator_ == kBorder) return;
    for (uint64_t i = 0; i < rows.size(); ++i) out[i].left = with_border(out[i].left);
  }

  // Returns true if a code that ends a prefix ends a sentence.
  bool is_end(Code code) const { return code == kBorder || code == separator_; }

  void prefetch_rows(Range rows) const { segment_.prefetch_rows(rows); }

 private:
  // Without a separator, separator_ is the code of a document's end.
  Code with_border(Code code) const { return code == separator_ ? kBorder : code; }

  static Code separator_in(const Segment& segment, int64_t separator) {
    const int64_t code = code_of(separator);
    return code == kNoCode || rows_of(segment, separator).size() == 0 ? kBorder : static_cast<Code>(code);
  }

  static Range rows_of(const Segment& segment, TokenId id) {
    const Request request{&id, 1};
    Range rows;
    segment.find(&request, &rows, 1);
    return rows;
  }
  Range rows_of(TokenId id) const { return rows_of(segment_, id); }

  Range narrow_to(Range starts, uint32_t depth, Code code) const {
    const auto bound = [&](Row lo, Row hi, bool is_upper) {
      while (lo < hi) {
        const Row middle = lo + (hi - lo) / 2;
        const Code found = segment_.code_at(starts_[middle] + depth);
        if (found < code || (is_upper && found == code)) {
          lo = middle + 1;
        } else {
          hi = middle;
        }
      }
      return lo;
    };
    const Row lo = bound(starts.lo, starts.hi, false);
    return {lo, bound(lo, starts.hi, true)};
  }

  // Calls visit(position, is_empty) for every sentence. They are as the lines of a file: an empty one counts, and after a
  // separator at a document's end none begins.
  template <class Visit>
  void each_sentence(StopFlag stop, Visit visit) const {
    const bool is_cut = separators_.size() > 0;
    for (uint64_t d = 0; d < segment_.n_documents(); ++d) {
      if (d % kStopInterval == 0) check_stop(stop);
      segment_.each_piece(segment_.span(static_cast<DocNumber>(d)), [&](Span piece) {
        visit(piece.start, piece.start == piece.stop || (is_cut && code_at(piece.start) == kBorder));
      });
    }
    each_position(separators_, stop, [&](Position at) {
      if (segment_.code_at(at + 1) != kBorder) visit(at + 1, code_at(at + 1) == kBorder);
    });
  }

  template <class Visit>
  void each_position(Range rows, StopFlag stop, Visit visit) const {
    if (fits_narrow(segment_.n_positions())) {
      each_position_as<uint32_t>(rows, stop, visit);
    } else {
      each_position_as<uint64_t>(rows, stop, visit);
    }
  }

  template <class Place, class Visit>
  void each_position_as(Range rows, StopFlag stop, Visit visit) const {
    constexpr Row kPiece = 1024;
    Place places[kPiece];
    for (Row lo = rows.lo; lo < rows.hi; lo += kPiece) {
      if ((lo - rows.lo) % kStopInterval == 0) check_stop(stop);
      const Range piece{lo, std::min(rows.hi, lo + kPiece)};
      segment_.positions(piece, places);
      for (uint64_t i = 0; i < piece.size(); ++i) visit(places[i]);
    }
  }

  const Segment& segment_;
  int sign_;
  Code separator_;
  uint64_t n_rows_;
  uint64_t n_tokens_ = 0;
  int64_t n_sentences_ = 0;
  int64_t n_empty_ = 0;
  Range separators_;
  mutable std::once_flag starts_once_;
  mutable std::vector<Position> starts_;
};

}  // namespace lm
}  // namespace ngramdb
