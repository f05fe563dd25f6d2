// A segment in ngramdb's own layout: tokens, suffix array in document-end order, directory, document starts.
//
// Nothing here owns memory: the arrays are mapped files, kept alive by the caller. Every position read from the
// suffix array is checked against the text before it is followed.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>

#include "ngramdb/base/mismatch.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/segment/far_index.hpp"
#include "ngramdb/segment/rows.hpp"
#include "ngramdb/segment/sampled_keys.hpp"
#include "ngramdb/segment/segment.hpp"
#include "ngramdb/segment/segment_arrays.hpp"
#include "ngramdb/segment/token_ranges.hpp"
#include "ngramdb/segment/unverified.hpp"

namespace ngramdb {

// Token ids and stored symbols. Symbol 0 is the separator; ids below the gap move up by one, the gap is an id
// that the segment lacks, so that a full range of ids still fits its width.
template <class Sym>
struct SymbolCode {
  uint64_t gap;

  // False when the segment cannot contain one of the ids.
  bool encode(const int64_t* ids, size_t n, Sym* symbols) const {
    constexpr uint64_t last = (uint64_t{1} << (8 * sizeof(Sym))) - 1;
    if (gap == last) return encode_shifted(ids, n, symbols);
    bool absent = false;
    for (size_t i = 0; i < n; ++i) {
      const uint64_t u = static_cast<uint64_t>(ids[i]);
      absent = absent || u > last || u == gap;
      symbols[i] = static_cast<Sym>(u + (u < gap));
    }
    return !absent;
  }
  // The usual case, all ids below the gap: id + 1, or out of range when either has a bit too many.
  static bool encode_shifted(const int64_t* ids, size_t n, Sym* symbols) {
    uint64_t bits = 0;
    for (size_t i = 0; i < n; ++i) {
      const uint64_t u = static_cast<uint64_t>(ids[i]);
      bits |= u | (u + 1);
      symbols[i] = static_cast<Sym>(u + 1);
    }
    return bits >> (8 * sizeof(Sym)) == 0;
  }
  int64_t decode(Sym symbol) const {
    return static_cast<int64_t>(symbol) - (static_cast<uint64_t>(symbol) <= gap ? 1 : 0);
  }
};

template <class Sym>
class SuffixSegment final : public Segment {
 public:
  SuffixSegment(const SegmentArrays<Sym>& arrays, std::string file)
      : a_(arrays), code_{arrays.gap}, file_(std::move(file)),
        directory_(arrays.checksums, arrays.tree, tree_words(arrays.n_rows)),
        rest_(arrays.checksums, arrays.rest, n_samples_of(arrays.n_rows)),
        row_words_(sums_for(sizeof(uint32_t) * arrays.n_rows), arrays.rows.word(0), arrays.n_rows),
        symbols_(sums_for(sizeof(Sym) * arrays.n_text), arrays.text, arrays.n_text),
        starts_(arrays.checksums, arrays.starts, arrays.n_documents + 1),
        far_keys_(arrays.checksums, arrays.far.keys, n_far_keys(arrays.n_rows, arrays.far.stride)),
        far_lcps_(arrays.rows.lcp_bytes(0) == nullptr ? arrays.checksums : sums_for(arrays.n_rows), arrays.far.lcps,
                  arrays.n_rows),
        single_(arrays.n_rows) {
    tree_.attach(arrays.tree, arrays.rest, arrays.n_rows);
  }

  uint64_t n_rows() const override { return a_.n_rows; }
  uint64_t n_documents() const override { return a_.n_documents; }
  uint64_t n_positions() const override { return a_.n_text; }

  Position position(Row row) const override {
    row_words_.need(row, 1);
    return position_of(static_cast<uint32_t>(row));
  }

  uint32_t tokens(Position at, uint32_t n, TokenId* out) const override {
    symbols_.need(at, n);
    const uint64_t stop = std::min<uint64_t>(at + n, a_.n_text);
    uint32_t length = 0;
    for (uint64_t i = at; i < stop && a_.text[i] != 0; ++i) out[length++] = code_.decode(a_.text[i]);
    return length;
  }

  Span span(DocNumber document) const override {
    const Interval symbols = document_symbols(document);
    return {symbols.lo, symbols.hi};
  }

  Breaks breaks() const override { return a_.breaks; }

  void find(const Request* requests, Range* answers, size_t n) const override {
    Scratch scratch;
    for (size_t base = 0; base < n; base += kGroup) {
      find_group(requests + base, answers + base, static_cast<uint32_t>(std::min<size_t>(kGroup, n - base)), scratch);
    }
  }

  void begin(const Request& request, Probe& probe) const override;
  bool advance(Probe& probe, int n_levels) const override;
  Range found(const Probe& probe) const override;

  uint64_t successors(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const override;

  void prefetch_continuations(Range rows, uint32_t depth) const override {
    constexpr uint32_t kMost = 64;  // more rows take longer than to wait for the first ones
    if (rows.size() == 0) return;
    fetch_rows(rows.lo, std::min<uint64_t>(rows.hi, rows.lo + kMost));
    prefetch_line(a_.text + a_.rows[rows.lo] + depth);
  }

  TokenId only_continuation(Range rows, uint32_t depth) const override {
    if (rows.size() == 0) return kNoToken;
    const Sym first = needed_symbol(rows.lo, depth), last = needed_symbol(rows.hi - 1, depth);
    if (first != last) return kManyTokens;
    return first == 0 ? kNoToken : code_.decode(first);
  }

  void prefetch_ends(Range rows) const override {
    if (rows.size() == 0) return;
    prefetch_line(a_.text + a_.rows[rows.lo]);
    prefetch_line(a_.text + a_.rows[rows.hi - 1]);
  }

  Range narrow(Range rows, uint32_t depth, TokenId next) const override;
  void neighbours(Range rows, uint32_t depth, Code* lefts, Code* nexts) const override;
  uint32_t prefix(Row row, uint32_t n, Code last, Code* out, Code* left) const override;
  void outlines(Range rows, uint32_t n, Code last, Outline* out) const override;

  Code code_at(Position position) const override {
    symbols_.need(position, 1);
    if (__builtin_expect(position >= a_.n_text, 0)) refuse(position, position);
    return code_of_symbol(a_.text[position]);
  }

  void prefetch_row(Row row) const override {
    if (row < a_.n_rows) prefetch_line(a_.text + a_.rows[row]);
  }

  void prefetch_rows(Range rows) const override {
    const Row stop = std::min<Row>(rows.hi, a_.n_rows);
    for (Row row = rows.lo; row < stop; ++row) prefetch_line(a_.text + a_.rows[row]);
  }

  void positions(Range range, PositionsOut out) const override {
    const Interval rows = interval_of(range);
    row_words_.need(rows.lo, rows.size());
    out.with([&](auto* at) {
      for (uint32_t row = rows.lo; row < rows.hi; ++row) *at++ = position_of(row);
    });
  }

  void documents_of(Range rows, std::vector<DocNumber>& out, StopFlag stop) const override;
  void first_documents(Range rows, size_t most, std::vector<DocNumber>& out, StopFlag stop) const override;
  bool documents_among(Range rows, const DocNumber* documents, size_t n_documents, std::vector<DocNumber>& out,
                       StopFlag stop) const override;
  void filter_documents(const DocNumber* documents, size_t n_documents, const TokenId* ids, uint32_t n,
                        std::vector<DocNumber>& out, StopFlag stop) const override;
  void scan_windows(PositionsIn starts, PositionsIn stops, size_t n_windows, const TokenId* ids, uint32_t n,
                    std::vector<Position>& out, StopFlag stop) const override;
  void count_documents(Range rows, std::vector<DocNumber>& documents, std::vector<uint32_t>& counts,
                       StopFlag stop) const override;

  uint32_t document_length(DocNumber document) const override {
    const Interval symbols = document_symbols(document);
    return symbols.size() - static_cast<uint32_t>(a_.breaks.within({symbols.lo, symbols.hi}));
  }

  void document_tokens(DocNumber document, uint32_t start, uint32_t stop, uint32_t* out) const override {
    if (a_.breaks.n > 0) {
      Segment::document_tokens(document, start, stop, out);
      return;
    }
    const uint32_t first = document_symbols(document).lo;
    symbols_.need(first + start, stop - start);
    for (uint32_t i = first + start; i < first + stop; ++i) *out++ = static_cast<uint32_t>(code_.decode(a_.text[i]));
  }

  void documents_at(PositionsIn positions, size_t n, DocNumber* documents, uint32_t* before) const override;
  void tokens_at(PositionsIn positions, size_t n, int64_t ahead, TokenId* out) const override;
  Row ngram_runs(Row from, uint32_t n, Range* out, size_t room, size_t* n_found, StopFlag stop) const override;
  bool tokens_of_row(Row row, uint32_t n, TokenId* out) const override;
  uint64_t count_rows_in(Range rows, const uint8_t* documents) const override;

 private:
  // Queries in flight at once: enough to keep every outstanding miss of a core busy.
  static constexpr uint32_t kGroup = 32;
  static constexpr uint32_t kWordSymbols = symbols_per_word<Sym>();

  // Rows, or symbols of the text, lo … hi - 1: as wide as they are here.
  struct Interval {
    uint32_t lo, hi;
    uint32_t size() const { return hi - lo; }
  };
  static Interval interval_of(Range rows) { return {static_cast<uint32_t>(rows.lo), static_cast<uint32_t>(rows.hi)}; }

  // Bounds of one binary search: the answer is in [lo, hi]; the suffixes around it share lcp_lo and lcp_hi
  // symbols with the query (kept up for long queries only).
  struct Bounds {
    uint32_t lo, hi;
    uint32_t lcp_lo, lcp_hi;
    bool open() const { return lo < hi; }
    uint32_t middle() const { return lo + (hi - lo) / 2; }
    uint32_t lcp() const { return std::min(lcp_lo, lcp_hi); }
  };

  static Bounds bounds_of(const Request& request) {
    return {static_cast<uint32_t>(request.within.lo), static_cast<uint32_t>(request.within.hi), request.depth,
            request.depth};
  }

  // Lower and upper bound run as one search until a row that matches is met, then apart.
  struct Search {
    const Sym* query;
    uint32_t n;
    bool split;
    bool alike;  // the row left in `lower` decides for all up to the upper bound whether they begin with the query
    bool located;  // by the far index: only text is left to be read
    uint32_t known;  // bits that the row before `lower` has in common with the query, or kUnknown
    uint64_t word;  // the query's first 8 bytes in memory order
    uint64_t mask;  // which of them count
    Bounds lower, upper;
    bool open() const { return lower.open() || (split && upper.open()); }
  };

  // Searches on their way through the directory: their keys, and how many first words are below the low key and not above
  // the high one, so far.
  template <uint32_t kMost>
  struct Descents {
    uint64_t low_first[kMost], high_first[kMost], low_rest[kMost], high_rest[kMost];
    uint64_t below[kMost], upto[kMost];
  };

  // Levels that a search in the tree fetches as one (fetch_below).
  uint32_t low_levels() const { return std::min(tree_.top, 2u); }

  // Which search of an array of one.
  static constexpr uint32_t kOnly = 0;

  // The content of a Probe, and the data fetched for it.
  enum class Stage : uint8_t { kDirectory, kBlocks, kText };
  struct Alone {
    Search search;
    Stage stage;
    Range answer;
    Descents<1> descent;
    Sym symbols[kProbeTokens + key_symbols<Sym>()];
  };
  static_assert(sizeof(Alone) <= sizeof(Probe) && alignof(Alone) <= alignof(Probe));

  // Which way a row lies: its suffix is below the query, begins with it, or is above it.
  enum class Order { kBelow, kMatch, kAbove };

  // Encoded queries of a group, each with room for a whole key; long ones spill to the heap.
  struct Scratch {
    Sym stack[1024];
    std::vector<Sym> heap;

    Sym* reserve(size_t n) {
      if (n <= sizeof(stack) / sizeof(Sym)) return stack;
      if (heap.size() < n) heap.resize(n);
      return heap.data();
    }
  };

  // Out of line, so that what checks a pointer stays small.
  [[noreturn]] __attribute__((noinline, cold)) void refuse(uint64_t row, uint64_t found) const {
    throw CorruptPointer{file_, row, found, a_.n_text};
  }

  // Searches verify the rows and symbols that they read; passes over rows verify all of them first if there
  // are few, and otherwise those that they read.
  void verify_suffixes() const {
    row_words_.verify_all();
    symbols_.verify_all();
    if (lcps_are_beside()) far_lcps_.verify_all();
  }

  // Returns true if LCPs are bytes beside the rows instead of bits of them.
  bool lcps_are_beside() const { return a_.rows.lcp_bytes(0) != nullptr; }

  // LCPs of rows from one on that a search reads.
  bool lcps_are_left() const { return lcps_are_beside() ? far_lcps_.is_left() : row_words_.is_left(); }
  void verify_lcps(uint64_t start, uint64_t n) const {
    if (lcps_are_beside()) {
      far_lcps_.verify(start, n);
    } else {
      row_words_.verify(start, n);
    }
  }

  // Rows, and of the text the symbol before each and `n` from there on.
  void need_suffixes(Interval rows, uint32_t n) const {
    row_words_.need(rows.lo, rows.size());
    symbols_.need_many(rows.size());
    if (!symbols_.is_left()) return;
    for (uint32_t row = rows.lo; row < rows.hi; ++row) {
      const uint32_t at = position_of(row);
      symbols_.need(at - (at != 0), uint64_t{n} + 1);
    }
  }

  Sym needed_symbol(uint64_t row, uint32_t depth) const {
    row_words_.need(row, 1);
    if (symbols_.is_left()) symbols_.need(uint64_t{position_of(static_cast<uint32_t>(row))} + depth, 1);
    return symbol_behind(static_cast<uint32_t>(row), depth);
  }

  Checksums* sums_for(uint64_t n_bytes) const { return n_bytes <= a_.most_verified ? a_.checksums : nullptr; }

  uint32_t position_of(uint32_t row) const {
    const uint32_t position = a_.rows[row];
    if (__builtin_expect(position >= a_.n_text, 0)) refuse(row, position);
    return position;
  }

  Sym symbol_behind(uint32_t row, uint32_t depth) const {
    const uint64_t position = uint64_t{position_of(row)} + depth;
    if (__builtin_expect(position >= a_.n_text, 0)) refuse(row, position);
    return a_.text[position];
  }

  uint64_t successors_by_lcps(Interval rows, uint32_t depth, uint32_t bits, std::vector<Run>& runs,
                              StopFlag stop) const;
  uint32_t ngram_runs_by_lcps(uint32_t from, uint32_t n, uint32_t bits, Range* out, size_t room, size_t* n_found,
                              StopFlag stop) const;
  template <bool kShort>
  uint32_t ngram_runs_as(uint32_t from, uint32_t n, Range* out, size_t room, size_t* n_found, StopFlag stop) const;

  Outline outline(uint64_t at, uint64_t before, uint32_t n, Sym last) const;
  Outline outline_by_words(const Sym* at, const Sym* before, uint32_t n, uint64_t lasts) const;

  // The code that models know a symbol by; a separator's is kBorder.
  Code code_of_symbol(Sym symbol) const { return static_cast<Code>(uint64_t{symbol} + (uint64_t{symbol} > code_.gap)); }

  Interval document_symbols(DocNumber document) const {
    starts_.verify(document, 2);
    const uint32_t start = a_.starts[document], stop = a_.starts[document + 1];
    if (start >= stop || stop > a_.n_text) refuse(document, stop);
    return {start, stop - 1};
  }

  // Compares the suffix at a position with the query. Most comparisons are decided by one word, or by one symbol where
  // an n-gram grows by a token.
  Order compare(uint32_t row, uint32_t position, const Search& s, uint32_t* lcp) const {
    if (*lcp + 1 == s.n) {
      const uint64_t last = uint64_t{position} + *lcp;
      if (__builtin_expect(last >= a_.n_text, 0)) refuse(row, last);
      const Sym found = a_.text[last], wanted = s.query[*lcp];
      return found == wanted ? Order::kMatch : found < wanted ? Order::kBelow : Order::kAbove;
    }
    if (__builtin_expect(*lcp >= kWordSymbols || position + uint64_t{kWordSymbols} > a_.n_text, 0)) {
      return compare_symbols(row, position, s, lcp);
    }
    uint64_t word;
    std::memcpy(&word, a_.text + position, sizeof(word));
    const uint64_t differs = (word ^ s.word) & s.mask;
    if (differs == 0) {
      if (s.n <= kWordSymbols) return Order::kMatch;
      *lcp = kWordSymbols;
      return compare_symbols(row, position, s, lcp);
    }
    const uint32_t first = first_symbol_of(differs);
    *lcp = first;
    // Neither is beyond the text: a separator differs from every symbol of a query.
    return a_.text[position + first] < s.query[first] ? Order::kBelow : Order::kAbove;
  }

  // Number of the first symbol in which two words in memory order differ.
  static uint32_t first_symbol_of(uint64_t differs) {
    return static_cast<uint32_t>(__builtin_ctzll(differs)) / (8 * sizeof(Sym));
  }

  // A word in memory order that has ones in its first n symbols, fewer than all, and zeros after them.
  static uint64_t first_symbols(uint32_t n) { return ~(~uint64_t{0} << (8 * sizeof(Sym) * n)); }

  // The same, symbols from the known lcp on, as far as the text reaches.
  __attribute__((noinline)) Order compare_symbols(uint32_t row, uint32_t position, const Search& s,
                                                  uint32_t* lcp) const {
    const uint64_t room = a_.n_text - position;
    const uint32_t n_common_max = room < s.n ? static_cast<uint32_t>(room) : s.n;
    uint32_t common = *lcp;
    if (common < n_common_max) {
      common += static_cast<uint32_t>(mismatch(reinterpret_cast<const uint8_t*>(s.query + common),
                                               reinterpret_cast<const uint8_t*>(a_.text + position + common),
                                               sizeof(Sym) * (n_common_max - common)) /
                                      sizeof(Sym));
    }
    *lcp = common;
    if (common >= s.n) return Order::kMatch;
    if (__builtin_expect(common >= room, 0)) refuse(row, position + uint64_t{common});
    return a_.text[position + common] < s.query[common] ? Order::kBelow : Order::kAbove;
  }

  // The position of a row whose text is compared with the query.
  uint32_t verified_position(uint32_t row, const Search& s) const {
    row_words_.verify(row, 1);
    const uint32_t position = position_of(row);
    symbols_.verify(position, std::max(s.n, kWordSymbols));
    return position;
  }

  // One step of a bound: up when the row in the middle is below the query (or matches it, with kUpper).
  template <bool kUpper>
  void step(Bounds& bounds, const Search& s) const {
    const uint32_t row = bounds.middle();
    uint32_t lcp = bounds.lcp();
    const Order order = compare(row, verified_position(row, s), s, &lcp);
    const bool up = kUpper ? order != Order::kAbove : order == Order::kBelow;
    const uint32_t reached = order == Order::kMatch ? s.n : lcp;
    // Written for conditional moves: the branch cannot be predicted.
    bounds.lo = up ? row + 1 : bounds.lo;
    bounds.hi = up ? bounds.hi : row;
    bounds.lcp_lo = up ? reached : bounds.lcp_lo;
    bounds.lcp_hi = up ? bounds.lcp_hi : reached;
  }

  void step(Search& s) const {
    if (s.split) {
      if (s.lower.open()) step<false>(s.lower, s);
      if (s.upper.open()) step<true>(s.upper, s);
      return;
    }
    const uint32_t row = s.lower.middle();
    uint32_t lcp = s.lower.lcp();
    const Order order = compare(row, verified_position(row, s), s, &lcp);
    if (s.alike) {
      s.split = order == Order::kMatch;
      s.lower.hi = s.lower.lo;
      return;
    }
    if (order == Order::kMatch) {
      s.split = true;
      s.upper = {row + 1, s.lower.hi, s.n, s.lower.lcp_hi};
      s.lower.hi = row;
      s.lower.lcp_hi = s.n;
      return;
    }
    const bool up = order == Order::kBelow;
    s.lower.lo = up ? row + 1 : s.lower.lo;
    s.lower.hi = up ? s.lower.hi : row;
    s.lower.lcp_lo = up ? lcp : s.lower.lcp_lo;
    s.lower.lcp_hi = up ? s.lower.lcp_hi : lcp;
  }

  void prefetch_text(const Bounds& bounds) const {
    if (bounds.open()) prefetch_line(a_.text + a_.rows[bounds.middle()] + bounds.lcp());
  }
  void prefetch_row(const Bounds& bounds) const {
    if (bounds.open()) prefetch_line(a_.rows.word(bounds.middle()));
  }

  // Fetches the text of the rows that the next `levels` steps of a search may read. Depth first: fetching
  // level by level took 15 % longer.
  void prefetch_pivots(uint32_t lo, uint32_t hi, uint32_t depth, int levels) const {
    if (lo >= hi) return;
    const uint32_t middle = lo + (hi - lo) / 2;
    prefetch_line(a_.text + a_.rows[middle] + depth);
    if (levels > 1) {
      prefetch_pivots(lo, middle, depth, levels - 1);
      prefetch_pivots(middle + 1, hi, depth, levels - 1);
    }
  }

  void find_group(const Request* requests, Range* answers, uint32_t n, Scratch& scratch) const;
  uint32_t encode_group(const Request* requests, Range* answers, uint32_t n, Scratch& scratch, Search* searches,
                        uint32_t* which) const;
  void encode_search(const Sym* symbols, uint32_t n, Search& s) const;
  // The sampled row at or after a row, and the last one before a row.
  static uint64_t sample_from(uint64_t row) { return (row + kRowsPerSample - 1) / kRowsPerSample * kRowsPerSample; }
  static uint64_t sample_before(uint64_t row) { return (row - 1) / kRowsPerSample * kRowsPerSample; }
  // Bits of the query, or of more symbols than any key has.
  static uint32_t bits_of(const Search& s) { return 8 * sizeof(Sym) * std::min(s.n, kLongWords * kWordSymbols + 1); }
  void fetch_rows(uint64_t start, uint64_t stop) const {
    constexpr uint32_t kRowsPerLine = 16;
    for (uint64_t row = start; row < stop; row += kRowsPerLine) prefetch_line(a_.rows.word(row));
    if (lcps_are_beside()) fetch_lcps(start, stop);
  }
  void fetch_lcps(uint64_t start, uint64_t stop) const {
    constexpr uint32_t kLcpsPerLine = 64;
    for (uint64_t row = start; row < stop; row += kLcpsPerLine) prefetch_line(a_.rows.lcp_bytes(row));
    if (start < stop) prefetch_line(a_.rows.lcp_bytes(stop - 1));
  }
  template <class Visit>
  void visit_blocks(const Search& s, Visit visit) const;
  void fetch_blocks(const Search& s) const;
  void search_blocks(Search& s) const;
  void search_block(Search& s) const;
  BlindEnd blind_search(const Search& s, uint64_t start, uint32_t n, uint32_t bits, uint32_t known) const;
  void fetch_pivots(const Search& s, int n_levels) const;
  void locate_blocks(Search* searches, const uint32_t* roots, uint32_t n) const;
  void locate_far(Search& s) const;
  bool goes_far(uint32_t n) const;
  template <class Visit>
  void with_directory(const Search* alone, Visit visit) const;
  template <uint32_t kMost, class Verify>
  void descend(const Search* searches, const uint32_t* roots, uint32_t n, Descents<kMost>& d, uint32_t to,
               Verify& verify) const;
  template <uint32_t kMost, class Verify>
  void arrive(Search* searches, const uint32_t* roots, uint32_t n, const Descents<kMost>& d, Verify& verify) const;
  template <bool kUpper, class Verify>
  uint64_t bound_in_rest(uint64_t lo, uint64_t hi, uint64_t key, Verify& verify) const;
  void count_verified(uint64_t n_blocks) const;
  void run_few(Search* searches, uint32_t n) const;
  void run_interleaved(Search* searches, uint32_t n) const;

  // First document of every 2^shift positions: about two entries a document, or more where those are few, so that
  // documents seldom end between two of them. Made when first needed.
  struct DocumentMap {
    uint32_t shift = 0;
    std::vector<uint32_t> first;
  };
  const DocumentMap& document_map() const;
  uint32_t document_at(const DocumentMap& map, uint32_t position) const {
    uint32_t document = map.first[position >> map.shift];
    while (a_.starts[document + 1] <= position) ++document;
    return document;
  }

  SegmentArrays<Sym> a_;
  SymbolCode<Sym> code_;
  std::string file_;  // named in errors
  KeyTree tree_;
  Unverified<uint64_t> directory_, rest_;
  mutable std::atomic<uint64_t> n_verified_{0};  // blocks of these two
  Unverified<uint32_t> row_words_;
  Unverified<Sym> symbols_;
  Unverified<uint32_t> starts_;
  Unverified<LongKey> far_keys_;
  Unverified<uint8_t> far_lcps_;
  mutable std::atomic<uint32_t> n_far_{0};  // searches by the far index so far
  TokenRanges single_;
  mutable std::once_flag map_once_;
  mutable DocumentMap map_;
};

}  // namespace ngramdb

#include "ngramdb/segment/suffix_documents-inl.hpp"
#include "ngramdb/segment/suffix_neighbours-inl.hpp"
#include "ngramdb/segment/suffix_ngrams-inl.hpp"
#include "ngramdb/segment/suffix_search-inl.hpp"
#include "ngramdb/segment/suffix_successors-inl.hpp"
#include "ngramdb/segment/suffix_windows-inl.hpp"
