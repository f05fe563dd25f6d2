// One segment: the interface that all other code uses, regardless of its files.
//
// A kind of segment answers six primitives; all other functions have a default in terms of these
// (src/segment/segment.cpp), which a kind overrides where its layout knows a faster way. Both give the same answers:
// the test kit (ngramdb/segments/testing.py) compares them for every kind.
//
// A segment consists of documents, each a sequence of tokens, numbered from 0, that are stored in a text one after another,
// with at least one position without a token after each of them. A document may be broken into several pieces, with one
// such position between two of them. Every token is the beginning of a suffix, which ends where its piece does. The suffixes in order are the rows: a suffix comes before those that
// it is the beginning of, else the smaller token id decides; equal suffixes are in the order of their positions. Ranges
// of rows and positions are half-open.
//
// A kind whose files are sorted otherwise declares it (`in_token_order`, `rank`). This must hold for its rows, too: those
// that share their first n tokens are adjacent, and so are, within these, those whose documents end there. Code that needs
// rows in the order of token ids reads them by token_order.hpp.
//
// A kind whose files are sorted by the text *before* tokens also finds the rows of an n-gram by a search, but they are
// not among the rows of its first tokens, and are numbered separately (`is_nested`). Its ranges are those that a
// search, `children` or `narrow` gave, and `all`, which are not to be compared with each other.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "ngramdb/base/interrupt.hpp"

namespace ngramdb {

// ---- types ------------------------------------------------------------------------------------------------

using Row = uint64_t;        // a place in a segment's suffix order
using Position = uint64_t;   // a place in a segment's text
using DocNumber = uint32_t;  // a document within a segment; ids of documents in a corpus are int64, and not known here
using TokenId = int64_t;     // a negative id stands for a token that is not in the corpus, and matches nothing

constexpr TokenId kNoToken = -1;     // the document, or a piece of it, ends here
constexpr TokenId kManyTokens = -2;  // not one token but several

// A token id plus one in 32 bits, as language models store them; kBorder at a document's end or beginning. The id
// 2^32 - 1 has no code.
using Code = uint32_t;
constexpr Code kBorder = 0;

// Rows lo … hi - 1.
struct Range {
  Row lo = 0;
  Row hi = 0;
  uint64_t size() const { return hi - lo; }
};

// Positions start … stop - 1.
struct Span {
  Position start = 0;
  Position stop = 0;
};

// Positions of breaks, ascending: places within documents without a token, at which a suffix ends as at its document's
// end. Two breaks are not adjacent, and no document begins or ends with one.
struct Breaks {
  const uint32_t* at = nullptr;
  size_t n = 0;

  size_t before(Position position) const {
    return static_cast<size_t>(std::lower_bound(at, at + n, position) - at);
  }
  size_t within(Span span) const { return n == 0 ? 0 : before(span.stop) - before(span.start); }
};

// Positions in an array of the caller's: of 32 bits each if the segment's text is short enough for that, else of 64.
// Loops over many use `with`, which calls one of two instances of a function with the array itself.
template <class Narrow, class Wide>
class PositionArray {
 public:
  PositionArray() = default;
  PositionArray(Narrow* data) : narrow_(data) {}  // NOLINT: meant to convert
  PositionArray(Wide* data) : wide_(data) {}      // NOLINT
  // From an array that can be written to one that can't.
  template <class N, class W, class = std::enable_if_t<!std::is_same<N, Narrow>::value>>
  PositionArray(const PositionArray<N, W>& other) : narrow_(other.narrow()), wide_(other.wide()) {}  // NOLINT

  Narrow* narrow() const { return narrow_; }
  Wide* wide() const { return wide_; }
  Position operator[](size_t i) const { return narrow_ != nullptr ? narrow_[i] : wide_[i]; }
  void set(size_t i, Position position) const {
    if (narrow_ != nullptr) {
      narrow_[i] = static_cast<Narrow>(position);
    } else {
      wide_[i] = position;
    }
  }

  template <class Visit>
  void with(Visit visit) const {
    if (narrow_ != nullptr) {
      visit(narrow_);
    } else if (wide_ != nullptr) {
      visit(wide_);
    }
  }

 private:
  Narrow* narrow_ = nullptr;
  Wide* wide_ = nullptr;
};
using PositionsIn = PositionArray<const uint32_t, const uint64_t>;
using PositionsOut = PositionArray<uint32_t, uint64_t>;

// The same of arrays whose width is known at run time only.
inline bool fits_narrow(uint64_t n_positions) { return n_positions <= uint64_t{1} << 32; }
inline PositionsIn positions_in(const void* data, bool is_narrow) {
  return is_narrow ? PositionsIn(static_cast<const uint32_t*>(data)) : PositionsIn(static_cast<const uint64_t*>(data));
}
inline PositionsOut positions_out(void* data, bool is_narrow) {
  return is_narrow ? PositionsOut(static_cast<uint32_t*>(data)) : PositionsOut(static_cast<uint64_t*>(data));
}

// Thrown when a pointer read from a file leads out of it.
struct CorruptPointer {
  std::string file;
  uint64_t row;
  uint64_t found;
  uint64_t limit;
};

// A search for the rows that begin with ids[0, n). When `narrow` is set, only within `within`, all of whose rows
// are known to begin with ids[0, depth).
struct Request {
  const TokenId* ids = nullptr;
  uint32_t n = 0;
  uint32_t depth = 0;
  bool narrow = false;
  Range within{};
};

// Units of work (interrupt.hpp) of searches in one segment: each token is encoded, and compared with some rows' text.
inline uint64_t work_of(const Request* requests, size_t n) {
  constexpr uint64_t kSearch = 32;
  uint64_t sum = kSearch * n;
  for (size_t i = 0; i < n; ++i) sum += requests[i].n;
  return sum;
}

// Returns the size of the next batch, at most n requests: batches of long requests are small, so that the work can be
// stopped between two of them.
inline size_t n_searched_together(const Request* requests, size_t n) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += work_of(requests + i, 1);
    if (sum >= kStopInterval) return i + 1;
  }
  return n;
}

// Steps with up to this many searches side by side prefetch rows. More searches, fewer rows each: a core has a dozen misses
// under way at most.
inline int levels_ahead(size_t n_searches) { return n_searches <= 2 ? 3 : 2; }

// The state of a search that runs side by side with searches in other segments; whoever runs them keeps it.
constexpr uint32_t kProbeTokens = 64;
struct Probe {
  alignas(8) unsigned char state[448];
};

// A run of rows with the same next token.
struct Run {
  TokenId id;
  int64_t count;
};

// The same with the rows; kNoToken: their documents end.
struct Child {
  TokenId id;
  Range rows;
};

// A row as an n-gram: its first symbols, up to and including the one that ends a sentence, and the number of them that the
// row before shares. `left` is the symbol before it.
struct Outline {
  uint32_t length;
  uint32_t lcp;
  Code left;
  bool ends;  // whether the last of the symbols ends a sentence
};

// ---- the interface ----------------------------------------------------------------------------------------

class Segment {
 public:
  virtual ~Segment() = default;

  // -- primitives: what every kind must answer

  virtual uint64_t n_rows() const = 0;  // tokens, separators not counted
  virtual uint64_t n_documents() const = 0;

  // All positions of the text are below it.
  virtual uint64_t n_positions() const = 0;

  // The beginning of a row's suffix.
  virtual Position position(Row row) const = 0;

  // The tokens from a position on, at most n, up to the piece's end; returns their number, 0 outside pieces.
  virtual uint32_t tokens(Position at, uint32_t n, TokenId* out) const = 0;

  // The positions of a document's tokens and breaks; spans ascend with the number.
  virtual Span span(DocNumber document) const = 0;

  // The breaks of all documents. A kind has none unless it overrides this.
  virtual Breaks breaks() const { return {}; }

  // -- the order of rows

  // Returns true if rows are in the order of token ids, as above.
  virtual bool in_token_order() const { return true; }

  // Rows that are alike so far are sorted by this number of their next token, or of kNoToken.
  virtual TokenId rank(TokenId id) const { return id; }

  // Returns true if the rows of an n-gram are a part of those of each of its beginnings.
  virtual bool is_nested() const { return true; }

  // Returns true if these are valid rows.
  virtual bool has_rows(Range rows) const { return rows.lo <= rows.hi && rows.hi <= n_rows(); }

  // Appends the runs of next tokens after the first `depth` tokens of the rows, in the order of rows.
  virtual void children(Range rows, uint32_t depth, std::vector<Child>& out, StopFlag stop) const;

  // -- searching

  // Answers n requests. A kind should interleave searches, so that their memory accesses overlap. The default is one
  // binary search after another by the rows' order.
  virtual void find(const Request* requests, Range* answers, size_t n) const;

  // The same for one request of at most kProbeTokens tokens that is not narrowed, piece by piece, so that a caller can
  // work on several segments in turn: each call ends by fetching what the next one will read. `begin` must come first;
  // `advance` is called until it returns that nothing is left to do, always with the same n_levels, see levels_ahead.
  virtual void begin(const Request& request, Probe& probe) const;
  virtual bool advance(Probe& probe, int n_levels) const;
  virtual Range found(const Probe& probe) const;

  // The part of the rows, all alike in their first `depth` tokens, that the token follows; for kNoToken, those whose
  // documents end there.
  virtual Range narrow(Range rows, uint32_t depth, TokenId next) const;

  // -- following and preceding tokens

  // Appends the runs of successors after the first `depth` tokens of the rows, ascending by id; returns the
  // number of rows whose document ends there.
  virtual uint64_t successors(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const;

  // Starts to fetch what `successors` will read first, of rows that have been found just now.
  virtual void prefetch_continuations(Range, uint32_t) const {}

  // The token after the first `depth` tokens of every row, kNoToken if all documents end there, or kManyTokens.
  virtual TokenId only_continuation(Range rows, uint32_t depth) const;

  // Starts to fetch what only_continuation will read.
  virtual void prefetch_ends(Range) const {}

  // The code before each row, and the one `depth` tokens after its beginning.
  virtual void neighbours(Range rows, uint32_t depth, Code* lefts, Code* nexts) const;

  // Codes from a row on, at most n, up to and with the border or the code `last`; returns their number. Also the code
  // before the row.
  virtual uint32_t prefix(Row row, uint32_t n, Code last, Code* out, Code* left) const;

  // The same for consecutive rows, each compared with the one before except for row 0: at most n symbols, up to and
  // with the border or the code `last`.
  virtual void outlines(Range rows, uint32_t n, Code last, Outline* out) const;

  // The code at a position, kBorder without a token.
  virtual Code code_at(Position position) const;

  // Starts to fetch the text of a row, of none beyond the last one; of several rows.
  virtual void prefetch_row(Row) const {}
  virtual void prefetch_rows(Range) const {}

  // -- rows as n-grams

  // Runs of rows that share their first n tokens (n >= 1), from row `from` on, as many as `out` has room for; rows
  // whose document ends before are left out. Returns the row to continue from, n_rows() at the end.
  virtual Row ngram_runs(Row from, uint32_t n, Range* out, size_t room, size_t* n_found, StopFlag stop) const;

  // The first n tokens of a row; false when its document ends before.
  virtual bool tokens_of_row(Row row, uint32_t n, TokenId* out) const;

  // -- places

  // Positions of the rows, in suffix order.
  virtual void positions(Range rows, PositionsOut out) const;

  // The places of positions, each that of a token or of the end after it: the documents, and the number of their tokens
  // before it.
  virtual void documents_at(PositionsIn positions, size_t n, DocNumber* documents, uint32_t* before) const;

  // The tokens `ahead` tokens after the positions (before them, if negative); kNoToken if a piece's end or the
  // text's is there. No piece's end may be in between.
  virtual void tokens_at(PositionsIn positions, size_t n, int64_t ahead, TokenId* out) const;

  // Appends the positions at which ids[0, n) begins (n >= 1) in any of the windows [starts[i], stops[i]); windows ascend
  // and don't overlap.
  virtual void scan_windows(PositionsIn starts, PositionsIn stops, size_t n_windows, const TokenId* ids, uint32_t n,
                            std::vector<Position>& out, StopFlag stop) const;

  // -- documents

  // Documents that contain the rows: ascending, each once.
  virtual void documents_of(Range rows, std::vector<DocNumber>& out, StopFlag stop) const;

  // The first `most` of these documents.
  virtual void first_documents(Range rows, size_t most, std::vector<DocNumber>& out, StopFlag stop) const;

  // Those of the documents, given ascending, that contain the rows. Faster than documents_of for few documents; false
  // (and nothing done) if they are too many for that.
  virtual bool documents_among(Range rows, const DocNumber* documents, size_t n_documents, std::vector<DocNumber>& out,
                               StopFlag stop) const;

  // Which of the documents contain ids[0, n), by reading them.
  virtual void filter_documents(const DocNumber* documents, size_t n_documents, const TokenId* ids, uint32_t n,
                                std::vector<DocNumber>& out, StopFlag stop) const;

  // Documents that contain the rows, ascending, and the number of rows in each.
  virtual void count_documents(Range rows, std::vector<DocNumber>& documents, std::vector<uint32_t>& counts,
                               StopFlag stop) const;

  // The number of rows in documents whose bit is set (the least significant bit of a byte comes first).
  virtual uint64_t count_rows_in(Range rows, const uint8_t* documents) const;

  // Positions at which the documents start and stop, with breaks in between.
  virtual void document_bounds(const DocNumber* documents, size_t n, PositionsOut starts, PositionsOut stops) const;

  // Number of tokens of a document.
  virtual uint32_t document_length(DocNumber document) const;

  // Tokens [start, stop) of a document that has at least `stop` of them; breaks are not counted.
  virtual void document_tokens(DocNumber document, uint32_t start, uint32_t stop, uint32_t* out) const;

  // The whole range.
  Range all() const { return {0, n_rows()}; }

  // The piece of a document's span that contains a position or ends there.
  Span piece_at(Position position, Span document) const {
    const Breaks breaks = this->breaks();
    const size_t next = breaks.before(position);
    if (next > 0 && breaks.at[next - 1] >= document.start) document.start = Position{breaks.at[next - 1]} + 1;
    if (next < breaks.n && breaks.at[next] < document.stop) document.stop = breaks.at[next];
    return document;
  }

  // Calls visit(span) for each piece of a document's span, or once for an empty document.
  template <class Visit>
  void each_piece(Span document, Visit visit) const {
    const Breaks breaks = this->breaks();
    for (size_t i = breaks.n == 0 ? 0 : breaks.before(document.start); i < breaks.n && breaks.at[i] < document.stop; ++i) {
      visit(Span{document.start, breaks.at[i]});
      document.start = Position{breaks.at[i]} + 1;
    }
    visit(document);
  }

 protected:
  // The document that contains per position or ends there.
  virtual DocNumber document_at(Position position) const;
};

// A segment without documents.
class EmptySegment final : public Segment {
 public:
  uint64_t n_rows() const override { return 0; }
  uint64_t n_documents() const override { return 0; }
  uint64_t n_positions() const override { return 0; }
  Position position(Row) const override { return 0; }
  uint32_t tokens(Position, uint32_t, TokenId*) const override { return 0; }
  Span span(DocNumber) const override { return {}; }
};

namespace defaults {

// The first of the rows for which `is_behind` holds: it does for all after it.
template <class IsBehind>
Row first_row(Range rows, IsBehind is_behind) {
  while (rows.lo < rows.hi) {
    const Row middle = rows.lo + rows.size() / 2;
    if (is_behind(middle)) {
      rows.hi = middle;
    } else {
      rows.lo = middle + 1;
    }
  }
  return rows.lo;
}

inline TokenId token_at(const Segment& segment, Position at) {
  TokenId id;
  return segment.tokens(at, 1, &id) == 0 ? kNoToken : id;
}

}  // namespace defaults

}  // namespace ngramdb
