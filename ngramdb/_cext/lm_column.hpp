// One segment as language models see it: suffix order, and the symbols on either side of every row.
//
// Symbols are codes that mean the same in every segment: 0 is the border of a sentence (`<s>` to the left of
// a row, `</s>` to the right), every other code is a token id plus one. Sentences are documents, or parts of
// them where the corpus has a token that separates sentences: it is a border on either side, and never a
// token. Rows that begin with it are no n-grams, and rows whose sentences end there stand where its id sorts,
// not with those that end documents.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "prefetch.hpp"
#include "suffix_segment.hpp"

namespace ngramdb {
namespace lm {

using Code = uint32_t;
constexpr Code kBorder = 0;
// Stands for a symbol that no segment has.
constexpr int64_t kNoCode = -1;
// An id that no token has, for a corpus whose sentences are its documents.
constexpr int64_t kNoSeparator = INT64_MIN;

// Code of a token id, or kNoCode for a negative one.
inline int64_t code_of(int64_t id) { return id < 0 || id >= int64_t{UINT32_MAX} ? kNoCode : id + 1; }

// Two ranges of rows: those whose documents end, and those that a separator follows.
using Ends = std::array<Range, 2>;

class Column {
 public:
  virtual ~Column() = default;

  const Segment& segment() const { return *segment_; }
  int sign() const { return sign_; }
  uint32_t n_rows() const { return n_rows_; }
  // Rows of tokens; separators are none.
  uint32_t n_tokens() const { return n_tokens_; }
  int64_t n_sentences() const { return n_sentences_; }

  // Sentences without tokens, and the positions where the others start, ordered by their text.
  int64_t n_empty() const { return n_empty_; }
  const std::vector<uint32_t>& starts() const { return starts_; }

  // What stands before each row, and `depth` symbols behind its start.
  virtual void read(Range rows, uint32_t depth, Code* lefts, Code* nexts) const = 0;
  // The part of the rows, all alike in their first `depth` symbols, whose sentences end there: with their
  // document, and at a separator.
  virtual Ends ends(Range rows, uint32_t depth) const = 0;
  // The same for a range of starts().
  virtual Ends ends_of_starts(Range starts, uint32_t depth) const = 0;
  // The part of a range of starts(), all alike in their first `depth` symbols, that goes on with the token.
  virtual Range narrow_starts(Range starts, uint32_t depth, int64_t code) const = 0;
  // The part that goes on as the first one does.
  virtual Range first_run_of_starts(Range starts, uint32_t depth) const = 0;
  // Position of a row, and the code at a position.
  virtual uint32_t position(uint32_t row) const = 0;
  virtual Code code_at(uint64_t position) const = 0;
  // Codes from a row on, at most n, the border being the last; returns how many. Also what stands before the
  // row. A separator that ends the prefix has its own code here, id + 1, so that prefixes ascend with the
  // rows.
  virtual uint32_t prefix(uint32_t row, uint32_t n, Code* out, Code* left) const = 0;
  virtual void prefetch_row(uint32_t row) const = 0;
  virtual void prefetch_rows(Range rows) const = 0;

 protected:
  std::unique_ptr<Segment> segment_;
  int sign_ = 1;
  uint32_t n_rows_ = 0;
  uint32_t n_tokens_ = 0;
  int64_t n_sentences_ = 0;
  int64_t n_empty_ = 0;
  std::vector<uint32_t> starts_;
};

template <class Sym>
class TypedColumn final : public Column {
 public:
  // separator: the id of the token between sentences, or kNoSeparator.
  TypedColumn(const SegmentArrays<Sym>& arrays, const std::string& file, int sign, int64_t separator)
      : a_(arrays), file_(file) {
    segment_ = std::make_unique<SuffixSegment<Sym>>(arrays, file);
    sign_ = sign;
    n_rows_ = static_cast<uint32_t>(arrays.n_rows);
    Range separators;
    if (encode(code_of(separator), &separator_)) {
      const Request request{&separator, 1};
      segment_->find(&request, &separators, 1);
    }
    n_tokens_ = n_rows_ - separators.size();
    collect_starts(separators);
  }

  void read(Range rows, uint32_t depth, Code* lefts, Code* nexts) const override {
    constexpr uint32_t kAhead = 16;
    for (uint32_t row = rows.lo; row < rows.hi; ++row) {
      if (row + kAhead < rows.hi) prefetch_line(a_.text + a_.rows[row + kAhead] + depth);
      const uint64_t at = position(row);
      *lefts++ = at == 0 ? kBorder : decode(a_.text[at - 1]);
      *nexts++ = code_at(at + depth);
    }
  }

  Ends ends(Range rows, uint32_t depth) const override {
    return ends_by(rows, [&](uint32_t row) { return symbol_at(uint64_t{position(row)} + depth); });
  }

  Ends ends_of_starts(Range starts, uint32_t depth) const override {
    return ends_by(starts, [&](uint32_t i) { return symbol_at(uint64_t{starts_[i]} + depth); });
  }

  Range narrow_starts(Range starts, uint32_t depth, int64_t code) const override {
    Sym symbol;
    if (starts.size() == 0 || !encode(code, &symbol) || symbol == separator_) return {0, 0};
    return narrow_by(starts, symbol, [&](uint32_t i) { return symbol_at(uint64_t{starts_[i]} + depth); });
  }

  Range first_run_of_starts(Range starts, uint32_t depth) const override {
    const auto symbol_of = [&](uint32_t i) { return symbol_at(uint64_t{starts_[i]} + depth); };
    return narrow_by(starts, symbol_of(starts.lo), symbol_of);
  }

  uint32_t position(uint32_t row) const override {
    const uint32_t at = a_.rows[row];
    if (__builtin_expect(at >= a_.n_text, 0)) throw CorruptPointer{file_, row, at, a_.n_text};
    return at;
  }

  Code code_at(uint64_t position) const override { return decode(symbol_at(position)); }

  uint32_t prefix(uint32_t row, uint32_t n, Code* out, Code* left) const override {
    const uint32_t at = position(row);
    *left = at == 0 ? kBorder : decode(a_.text[at - 1]);
    const uint64_t stop = std::min<uint64_t>(uint64_t{at} + n, a_.n_text);
    uint32_t length = 0;
    for (uint64_t i = at; i < stop; ++i) {
      out[length++] = decode_any(a_.text[i]);
      if (is_border(a_.text[i])) break;
    }
    return length;
  }

  void prefetch_row(uint32_t row) const override {
    if (row < n_rows_) prefetch_line(a_.text + a_.rows[row]);
  }

  void prefetch_rows(Range rows) const override {
    for (uint32_t row = rows.lo; row < rows.hi; ++row) prefetch_line(a_.text + a_.rows[row]);
  }

 private:
  // Where there is no separator, separator_ is the symbol of a document's end.
  bool is_border(Sym symbol) const { return symbol == 0 || symbol == separator_; }
  Code decode(Sym symbol) const { return symbol == separator_ ? kBorder : decode_any(symbol); }
  Code decode_any(Sym symbol) const { return static_cast<Code>(uint64_t{symbol} + (uint64_t{symbol} > a_.gap)); }

  // False when the segment cannot contain the token.
  bool encode(int64_t code, Sym* symbol) const {
    const uint64_t id = static_cast<uint64_t>(code) - 1;
    constexpr uint64_t last = static_cast<uint64_t>(static_cast<Sym>(~Sym{0}));
    if (code <= 0 || id > last || id == a_.gap) return false;
    *symbol = static_cast<Sym>(id + (id < a_.gap));
    return true;
  }

  Sym symbol_at(uint64_t position) const {
    if (__builtin_expect(position >= a_.n_text, 0)) throw CorruptPointer{file_, position, position, a_.n_text};
    return a_.text[position];
  }

  template <class SymbolOf>
  Ends ends_by(Range range, SymbolOf symbol_of) const {
    if (range.size() == 0) return {};
    const Range at_document_end = narrow_by(range, 0, symbol_of);
    if (separator_ == 0) return {at_document_end, Range{}};
    return {at_document_end, narrow_by({at_document_end.hi, range.hi}, separator_, symbol_of)};
  }

  template <class SymbolOf>
  static Range narrow_by(Range range, Sym symbol, SymbolOf symbol_of) {
    const auto bound = [&](uint32_t lo, uint32_t hi, bool upper) {
      while (lo < hi) {
        const uint32_t middle = lo + (hi - lo) / 2;
        const Sym found = symbol_of(middle);
        if (found < symbol || (upper && found == symbol)) {
          lo = middle + 1;
        } else {
          hi = middle;
        }
      }
      return lo;
    };
    const uint32_t lo = bound(range.lo, range.hi, false);
    return {lo, bound(lo, range.hi, true)};
  }

  // A bit for every position where a sentence starts, then the rows in order: a pass over the suffix array.
  // Sentences are as the lines of a file: an empty one counts, and behind a separator at a document's end
  // none begins.
  void collect_starts(Range separators) {
    std::vector<uint64_t> is_start(a_.n_text / 64 + 1);
    const auto start_at = [&](uint64_t at) {
      ++n_sentences_;
      if (is_border(a_.text[at])) {
        ++n_empty_;
      } else {
        is_start[at / 64] |= uint64_t{1} << (at % 64);
      }
    };
    for (uint64_t d = 0; d < a_.n_documents; ++d) {
      const uint32_t start = a_.starts[d];
      if (start >= a_.n_text) throw CorruptPointer{file_, d, start, a_.n_text};
      start_at(start);
    }
    for (uint32_t row = separators.lo; row < separators.hi; ++row) {
      const uint64_t behind = uint64_t{position(row)} + 1;
      if (symbol_at(behind) != 0) start_at(behind);
    }
    starts_.reserve(static_cast<size_t>(n_sentences_ - n_empty_));
    for (uint32_t row = 0; row < n_rows_; ++row) {
      const uint32_t at = position(row);
      if ((is_start[at / 64] >> (at % 64)) & 1) starts_.push_back(at);
    }
  }

  SegmentArrays<Sym> a_;
  std::string file_;
  Sym separator_ = 0;
};

}  // namespace lm
}  // namespace ngramdb
