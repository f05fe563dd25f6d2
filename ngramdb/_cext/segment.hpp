// What the engine asks of one segment, whatever its files look like.
//
// Token ids come and go as int64; a negative id stands for a token that the corpus has not, and matches nothing.
// Rows are those of the segment's suffix order; ranges of rows are half-open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sais.hpp"

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

// A run of rows with the same next token.
struct Run {
  int64_t id;
  uint32_t count;
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

  // Appends the runs of next tokens behind the first `depth` tokens of the rows, ascending by id; returns the
  // number of rows whose document ends there.
  virtual uint64_t continuations(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const = 0;

  // The token behind the first `depth` tokens of every row, kNoToken where all documents end there, or kManyTokens.
  virtual int64_t only_continuation(Range rows, uint32_t depth) const = 0;

  // Starts to fetch what only_continuation will read.
  virtual void prefetch_ends(Range rows) const = 0;

  // Token positions of the rows, in suffix order.
  virtual void positions(Range rows, uint32_t* out) const = 0;

  // Documents that the rows stand in: ascending, each once.
  virtual void documents_of(Range rows, std::vector<uint32_t>& out, StopFlag stop) const = 0;

  // Which of the documents contain ids[0, n), by reading them.
  virtual void filter_documents(const uint32_t* documents, size_t n_documents, const int64_t* ids, uint32_t n,
                                std::vector<uint32_t>& out, StopFlag stop) const = 0;

  // Number of tokens of a document, and the tokens themselves.
  virtual uint32_t document_length(uint32_t document) const = 0;
  virtual void document(uint32_t document, uint32_t* out) const = 0;
};

}  // namespace ngramdb
