// What the engine asks of one segment, whatever its files look like.
//
// Token ids come and go as int64; a negative id stands for a token that the corpus has not, and matches nothing.
// Rows are those of the segment's suffix order; ranges of rows are half-open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "interrupt.hpp"

namespace ngramdb {

// Thrown when a pointer read from a file leads out of it.
struct CorruptPointer {
  std::string file;
  uint64_t row;
  uint64_t found;
  uint64_t limit;
};

struct Range {
  uint32_t lo = 0;
  uint32_t hi = 0;
  uint32_t size() const { return hi - lo; }
};

// A search for the rows that begin with ids[0, n). When `narrow` is set, only within `within`, all of whose rows
// are known to begin with ids[0, depth).
struct Request {
  const int64_t* ids = nullptr;
  uint32_t n = 0;
  uint32_t depth = 0;
  bool narrow = false;
  Range within{};
};

// Steps whose rows so many searches side by side fetch ahead. More searches, fewer rows each: a core has some dozen misses
// under way at most.
inline int levels_ahead(size_t n_searches) { return n_searches <= 2 ? 3 : 2; }

// The state of a search that runs side by side with searches in other segments; whoever runs them keeps it.
constexpr uint32_t kProbeTokens = 64;
struct Probe {
  alignas(8) unsigned char state[448];
};

// A run of rows with the same next token.
struct Run {
  int64_t id;
  int64_t count;
};

constexpr int64_t kNoToken = -1;     // the document ends here
constexpr int64_t kManyTokens = -2;  // not one token but several

class Segment {
 public:
  virtual ~Segment() = default;
  virtual uint64_t n_rows() const = 0;  // tokens, separators not counted
  virtual uint64_t n_documents() const = 0;

  // Answers n requests; searches are interleaved, so that their memory accesses overlap.
  virtual void find(const Request* requests, Range* answers, size_t n) const = 0;

  // The same for one request of at most kProbeTokens tokens that is not narrowed, piece by piece, so that a caller can
  // work on several segments in turn: each call ends by fetching what the next one will read. `begin` must come first;
  // `advance` is called until it says that there is no more to do, always with the same n_levels, see levels_ahead.
  virtual void begin(const Request& request, Probe& probe) const = 0;
  virtual bool advance(Probe& probe, int n_levels) const = 0;
  virtual Range found(const Probe& probe) const = 0;

  // Appends the runs of next tokens behind the first `depth` tokens of the rows, ascending by id; returns the
  // number of rows whose document ends there.
  virtual uint64_t continuations(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const = 0;

  // Starts to fetch what `continuations` will read first, of rows that have been found just now.
  virtual void prefetch_continuations(Range rows, uint32_t depth) const = 0;

  // The token behind the first `depth` tokens of every row, kNoToken where all documents end there, or kManyTokens.
  virtual int64_t only_continuation(Range rows, uint32_t depth) const = 0;

  // Starts to fetch what only_continuation will read.
  virtual void prefetch_ends(Range rows) const = 0;

  // Token positions of the rows, in suffix order.
  virtual void positions(Range rows, uint32_t* out) const = 0;

  // Documents that the rows stand in: ascending, each once.
  virtual void documents_of(Range rows, std::vector<uint32_t>& out, StopFlag stop) const = 0;

  // Which of the documents, given ascending, the rows stand in. Cheaper than documents_of where they are few; false
  // (and nothing done) where they are too many for that.
  virtual bool documents_among(Range rows, const uint32_t* documents, size_t n_documents, std::vector<uint32_t>& out,
                               StopFlag stop) const = 0;

  // Which of the documents contain ids[0, n), by reading them.
  virtual void filter_documents(const uint32_t* documents, size_t n_documents, const int64_t* ids, uint32_t n,
                                std::vector<uint32_t>& out, StopFlag stop) const = 0;

  // Number of tokens of a document, and the tokens themselves.
  virtual uint32_t document_length(uint32_t document) const = 0;
  virtual void document(uint32_t document, uint32_t* out) const = 0;

  // Tokens [start, stop) of a document, which has so many.
  virtual void document_tokens(uint32_t document, uint32_t start, uint32_t stop, uint32_t* out) const = 0;

  // Where positions stand: the documents, and how many tokens of them come before.
  virtual void documents_at(const uint32_t* positions, size_t n, uint32_t* documents, uint32_t* before) const = 0;

  // The tokens `ahead` tokens behind the positions (before them, when negative); kNoToken where a document's end or the
  // text's lies there. No document's end may lie in between.
  virtual void tokens_at(const uint32_t* positions, size_t n, int64_t ahead, int64_t* out) const = 0;

  // Runs of rows that share their first n tokens (n >= 1), from row `from` on, as many as `out` has room for; rows
  // whose document ends before are left out. Returns the row to go on from, n_rows() at the end.
  virtual uint32_t ngram_runs(uint32_t from, uint32_t n, Range* out, size_t room, size_t* n_found,
                              StopFlag stop) const = 0;

  // The first n tokens of a row; false when its document ends before.
  virtual bool tokens_of_row(uint32_t row, uint32_t n, int64_t* out) const = 0;

  // Appends the positions at which ids[0, n) begins (n >= 1) in any of the windows [starts[i], stops[i]); windows ascend
  // and don't overlap.
  virtual void scan_windows(const uint32_t* starts, const uint32_t* stops, size_t n_windows, const int64_t* ids,
                            uint32_t n, std::vector<uint32_t>& out, StopFlag stop) const = 0;

  // Documents that the rows stand in, ascending, and how many of the rows stand in each.
  virtual void count_documents(Range rows, std::vector<uint32_t>& documents, std::vector<uint32_t>& counts,
                               StopFlag stop) const = 0;

  // Positions at which the documents start and stop.
  virtual void document_bounds(const uint32_t* documents, size_t n, uint32_t* starts, uint32_t* stops) const = 0;

  // How many of the rows stand in documents whose bit is set (the least significant bit of a byte comes first).
  virtual uint32_t count_rows_in(Range rows, const uint8_t* documents) const = 0;
};

}  // namespace ngramdb
