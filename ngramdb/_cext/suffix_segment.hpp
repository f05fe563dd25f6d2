// A segment in ngramdb's own layout: tokens, suffix array in document-end order, directory, document starts.
//
// Nothing here owns memory: the arrays are mapped files, kept alive by the caller. Every position read from the
// suffix array is checked against the text before it is followed.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>

#include "key_tree.hpp"
#include "mismatch.hpp"
#include "segment.hpp"

namespace ngramdb {

// Token ids and stored symbols. Symbol 0 is the separator; ids below the gap move up by one, the gap is an id
// that the segment has not, so that a full range of ids still fits its width.
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
struct SegmentArrays {
  const Sym* text = nullptr;  // documents, each followed by a separator
  uint64_t n_text = 0;
  const uint32_t* rows = nullptr;
  uint64_t n_rows = 0;
  const uint64_t* tree = nullptr;
  const uint64_t* rest = nullptr;
  const uint32_t* starts = nullptr;  // n_documents + 1; the last one is n_text
  uint64_t n_documents = 0;
  uint64_t gap = 0;
};

template <class Sym>
class SuffixSegment final : public Segment {
 public:
  SuffixSegment(const SegmentArrays<Sym>& arrays, std::string file)
      : a_(arrays), code_{arrays.gap}, file_(std::move(file)) {
    tree_.attach(arrays.tree, arrays.rest, arrays.n_rows);
  }

  uint64_t n_rows() const override { return a_.n_rows; }
  uint64_t n_documents() const override { return a_.n_documents; }

  void find(const Request* requests, Range* answers, size_t n) const override {
    Scratch scratch;
    for (size_t base = 0; base < n; base += kGroup) {
      find_group(requests + base, answers + base, static_cast<uint32_t>(std::min<size_t>(kGroup, n - base)), scratch);
    }
  }

  uint64_t continuations(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const override;

  int64_t only_continuation(Range rows, uint32_t depth) const override {
    if (rows.size() == 0) return kNoToken;
    const Sym first = symbol_behind(rows.lo, depth), last = symbol_behind(rows.hi - 1, depth);
    if (first != last) return kManyTokens;
    return first == 0 ? kNoToken : code_.decode(first);
  }

  void prefetch_ends(Range rows) const override {
    if (rows.size() == 0) return;
    __builtin_prefetch(a_.text + a_.rows[rows.lo]);
    __builtin_prefetch(a_.text + a_.rows[rows.hi - 1]);
  }

  void positions(Range rows, uint32_t* out) const override {
    for (uint32_t row = rows.lo; row < rows.hi; ++row) *out++ = position_of(row);
  }

  void documents_of(Range rows, std::vector<uint32_t>& out, StopFlag stop) const override;
  void filter_documents(const uint32_t* documents, size_t n_documents, const int64_t* ids, uint32_t n,
                        std::vector<uint32_t>& out, StopFlag stop) const override;

  uint32_t document_length(uint32_t document) const override {
    const Range symbols = document_symbols(document);
    return symbols.size();
  }

  void document(uint32_t document, uint32_t* out) const override {
    const Range symbols = document_symbols(document);
    for (uint32_t i = symbols.lo; i < symbols.hi; ++i) *out++ = static_cast<uint32_t>(code_.decode(a_.text[i]));
  }

 private:
  // Queries in flight at once: enough to keep every outstanding miss of a core busy.
  static constexpr uint32_t kGroup = 32;
  static constexpr uint32_t kWordSymbols = symbols_per_word<Sym>();

  // Bounds of one binary search: the answer is in [lo, hi]; the suffixes around it share lcp_lo and lcp_hi
  // symbols with the query (kept up for long queries only).
  struct Bounds {
    uint32_t lo, hi;
    uint32_t lcp_lo, lcp_hi;
    bool open() const { return lo < hi; }
    uint32_t middle() const { return lo + (hi - lo) / 2; }
    uint32_t lcp() const { return std::min(lcp_lo, lcp_hi); }
  };

  // Lower and upper bound run as one search until a row that matches is met, then apart.
  struct Search {
    const Sym* query;
    uint32_t n;
    bool split;
    uint64_t word;  // the query's first 8 bytes as they stand in memory
    uint64_t mask;  // which of them count
    Bounds lower, upper;
    bool open() const { return lower.open() || (split && upper.open()); }
  };

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

  uint32_t position_of(uint32_t row) const {
    const uint32_t position = a_.rows[row];
    if (__builtin_expect(position >= a_.n_text, 0)) throw CorruptPointer{file_, row, position, a_.n_text};
    return position;
  }

  Sym symbol_behind(uint32_t row, uint32_t depth) const {
    const uint64_t position = uint64_t{position_of(row)} + depth;
    if (__builtin_expect(position >= a_.n_text, 0)) throw CorruptPointer{file_, row, position, a_.n_text};
    return a_.text[position];
  }

  Range document_symbols(uint32_t document) const {
    const uint32_t start = a_.starts[document], stop = a_.starts[document + 1];
    if (start >= stop || stop > a_.n_text) throw CorruptPointer{file_, document, stop, a_.n_text};
    return {start, stop - 1};
  }

  // Compares the suffix at a position with the query. Most comparisons are decided by one word.
  Order compare(uint32_t row, uint32_t position, const Search& s, uint32_t* lcp) const {
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
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return static_cast<uint32_t>(__builtin_clzll(differs)) / (8 * sizeof(Sym));
#else
    return static_cast<uint32_t>(__builtin_ctzll(differs)) / (8 * sizeof(Sym));
#endif
  }

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
    if (__builtin_expect(common >= room, 0)) throw CorruptPointer{file_, row, position + uint64_t{common}, a_.n_text};
    return a_.text[position + common] < s.query[common] ? Order::kBelow : Order::kAbove;
  }

  // One step of a bound: up when the row in the middle is below the query (or matches it, with kUpper).
  template <bool kUpper>
  void step(Bounds& bounds, const Search& s) const {
    const uint32_t row = bounds.middle();
    uint32_t lcp = bounds.lcp();
    const Order order = compare(row, position_of(row), s, &lcp);
    const bool up = kUpper ? order != Order::kAbove : order == Order::kBelow;
    const uint32_t reached = order == Order::kMatch ? s.n : lcp;
    // Written for conditional moves: which way it goes cannot be predicted.
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
    const Order order = compare(row, position_of(row), s, &lcp);
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
    if (bounds.open()) __builtin_prefetch(a_.text + a_.rows[bounds.middle()] + bounds.lcp());
  }
  void prefetch_row(const Bounds& bounds) const {
    if (bounds.open()) __builtin_prefetch(a_.rows + bounds.middle());
  }

  // Fetches the text of the rows that the next `levels` steps of a search may look at. Depth first: fetching
  // level by level took 15 % longer.
  void prefetch_pivots(uint32_t lo, uint32_t hi, uint32_t depth, int levels) const {
    if (lo >= hi) return;
    const uint32_t middle = lo + (hi - lo) / 2;
    __builtin_prefetch(a_.text + a_.rows[middle] + depth);
    if (levels > 1) {
      prefetch_pivots(lo, middle, depth, levels - 1);
      prefetch_pivots(middle + 1, hi, depth, levels - 1);
    }
  }

  void find_group(const Request* requests, Range* answers, uint32_t n, Scratch& scratch) const;
  uint32_t encode_group(const Request* requests, Range* answers, uint32_t n, Scratch& scratch, Search* searches,
                        uint32_t* which) const;
  void locate_blocks(Search* searches, const uint32_t* roots, uint32_t n) const;
  void run_few(Search* searches, uint32_t n) const;
  void run_interleaved(Search* searches, uint32_t n) const;

  // First document of every 2^shift positions: about two entries a document. Made when first needed.
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
  mutable std::once_flag map_once_;
  mutable DocumentMap map_;
};

// ---- search ---------------------------------------------------------------------------------------------

// Encodes the queries and sets up their searches; requests that need none are answered at once. Returns the number of
// searches; which[i] is the request of search i. Searches from the root come with an empty interval.
template <class Sym>
uint32_t SuffixSegment<Sym>::encode_group(const Request* requests, Range* answers, uint32_t n, Scratch& scratch,
                                          Search* searches, uint32_t* which) const {
  size_t n_symbols = 0;
  for (uint32_t i = 0; i < n; ++i) n_symbols += requests[i].n + key_symbols<Sym>();
  Sym* symbols = scratch.reserve(n_symbols);
  const uint32_t all = static_cast<uint32_t>(a_.n_rows);
  uint32_t n_searches = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const Request& request = requests[i];
    answers[i] = {0, 0};
    if (request.n == 0) {
      answers[i] = {0, all};
      continue;
    }
    if (all == 0 || (request.narrow && request.within.size() == 0)) continue;
    if (!code_.encode(request.ids, request.n, symbols)) continue;
    Search& s = searches[n_searches];
    s.query = symbols;
    s.n = request.n;
    s.split = false;
    std::memset(symbols + request.n, 0, sizeof(Sym) * key_symbols<Sym>());
    std::memcpy(&s.word, symbols, sizeof(s.word));
    s.mask = ~uint64_t{0};
    if (request.n < kWordSymbols) {
      Sym used[kWordSymbols] = {};
      std::memset(used, 0xff, sizeof(Sym) * request.n);
      std::memcpy(&s.mask, used, sizeof(s.mask));
    }
    // A wide interval is found faster from the root, as far as keys reach.
    const bool narrow = request.narrow && (request.within.size() <= 2 * kRowsPerSample || request.depth >= 2 * kWordSymbols);
    s.lower = narrow ? Bounds{request.within.lo, request.within.hi, request.depth, request.depth} : Bounds{0, 0, 0, 0};
    s.upper = s.lower;
    symbols += request.n + key_symbols<Sym>();
    which[n_searches++] = i;
  }
  return n_searches;
}

// Finds, for searches roots[0, n), the blocks that hold their bounds, by the directory.
template <class Sym>
void SuffixSegment<Sym>::locate_blocks(Search* searches, const uint32_t* roots, uint32_t n) const {
  uint64_t low_first[kGroup] = {}, high_first[kGroup] = {}, low_rest[kGroup], high_rest[kGroup];
  uint64_t below[kGroup], upto[kGroup];
  for (uint32_t i = 0; i < n; ++i) {
    const Search& s = searches[roots[i]];
    Key low, high;
    pack_query(s.query, s.n, &low, &high);
    low_first[i] = low.first;
    high_first[i] = high.first;
    low_rest[i] = low.rest;
    high_rest[i] = high.rest;
  }
  search_tree(tree_, low_first, high_first, n, below, upto);
  for (uint32_t i = 0; i < n; ++i) {
    if (searches[roots[i]].n > kWordSymbols && below[i] < upto[i]) __builtin_prefetch(tree_.rest + below[i]);
  }
  const uint32_t all = static_cast<uint32_t>(a_.n_rows);
  for (uint32_t i = 0; i < n; ++i) {
    Search& s = searches[roots[i]];
    uint64_t lo = below[i], hi = upto[i];
    if (s.n > kWordSymbols && lo < hi) {
      const uint64_t* const first = tree_.rest + lo;
      const uint64_t* const last = tree_.rest + hi;
      lo += static_cast<uint64_t>(std::lower_bound(first, last, low_rest[i]) - first);
      hi = static_cast<uint64_t>(std::upper_bound(first, last, high_rest[i]) - tree_.rest);
    }
    if (hi < lo) hi = lo;  // only in a damaged directory
    // Row 64 (lo - 1) is below the query, row 64 hi above it.
    const uint32_t start = lo == 0 ? 0 : static_cast<uint32_t>((lo - 1) * kRowsPerSample + 1);
    const uint32_t stop = static_cast<uint32_t>(std::min<uint64_t>(hi * kRowsPerSample, all));
    s.lower = {start, stop, 0, 0};
    if (lo < hi && s.n <= 2 * kWordSymbols) {
      // Sampled rows lo … hi-1 begin with the query: the two bounds are in blocks of their own.
      s.split = true;
      s.lower = {start, static_cast<uint32_t>(lo * kRowsPerSample), 0, s.n};
      s.upper = {static_cast<uint32_t>((hi - 1) * kRowsPerSample + 1), stop, s.n, 0};
    }
  }
}

// A few searches cannot hide each other's latency: they fetch, for several steps ahead, every row that those steps
// may look at. Rounds of waiting are then a half or a third of the steps.
template <class Sym>
void SuffixSegment<Sym>::run_few(Search* searches, uint32_t n) const {
  // A block of rows is four cache lines: fetch them together.
  constexpr uint32_t kRowsPerLine = 16;
  for (uint32_t i = 0; i < n; ++i) {
    const Search& s = searches[i];
    for (const Bounds* bounds : {&s.lower, &s.upper}) {
      if (bounds == &s.upper && !s.split) continue;
      if (bounds->hi - bounds->lo <= 2 * kRowsPerSample) {
        // 64 bits: the last step may be beyond 32.
        for (uint64_t row = bounds->lo; row < bounds->hi; row += kRowsPerLine) __builtin_prefetch(a_.rows + row);
      }
    }
  }
  // More searches, fewer rows each: a core has some dozen misses under way at most.
  const int n_levels = n <= 2 ? 3 : 2;
  bool any = true;
  while (any) {
    for (uint32_t i = 0; i < n; ++i) {
      const Search& s = searches[i];
      prefetch_pivots(s.lower.lo, s.lower.hi, s.lower.lcp(), n_levels);
      if (s.split) prefetch_pivots(s.upper.lo, s.upper.hi, s.upper.lcp(), n_levels);
    }
    any = false;
    for (uint32_t i = 0; i < n; ++i) {
      for (int k = 0; k < n_levels && searches[i].open(); ++k) step(searches[i]);
      any = any || searches[i].open();
    }
  }
}

template <class Sym>
void SuffixSegment<Sym>::run_interleaved(Search* searches, uint32_t n) const {
  uint32_t active[kGroup];
  uint32_t n_active = 0;
  for (uint32_t i = 0; i < n; ++i) {
    prefetch_row(searches[i].lower);
    if (searches[i].split) prefetch_row(searches[i].upper);
    if (searches[i].open()) active[n_active++] = i;
  }
  while (n_active > 0) {
    for (uint32_t i = 0; i < n_active; ++i) {
      const Search& s = searches[active[i]];
      prefetch_text(s.lower);
      if (s.split) prefetch_text(s.upper);
    }
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n_active; ++i) {
      Search& s = searches[active[i]];
      step(s);
      if (!s.open()) continue;
      prefetch_row(s.lower);
      if (s.split) prefetch_row(s.upper);
      active[n_left++] = active[i];
    }
    n_active = n_left;
  }
}

template <class Sym>
void SuffixSegment<Sym>::find_group(const Request* requests, Range* answers, uint32_t n, Scratch& scratch) const {
  Search searches[kGroup];
  uint32_t which[kGroup], roots[kGroup];
  const uint32_t n_searches = encode_group(requests, answers, n, scratch, searches, which);
  uint32_t n_roots = 0;
  for (uint32_t i = 0; i < n_searches; ++i) {
    if (!searches[i].lower.open()) roots[n_roots++] = i;
  }
  if (n_roots > 0) locate_blocks(searches, roots, n_roots);
  constexpr uint32_t kFew = 6;
  if (n_searches <= kFew) {
    run_few(searches, n_searches);
  } else {
    run_interleaved(searches, n_searches);
  }
  for (uint32_t i = 0; i < n_searches; ++i) {
    const Search& s = searches[i];
    if (s.split) answers[which[i]] = {s.lower.lo, s.upper.lo};
  }
}

// ---- continuations --------------------------------------------------------------------------------------

// Rows are sorted by their next symbol, so runs are found by bisection: an interval whose two ends agree is one run.
// All intervals of a level are looked at together, so that their reads overlap: about 2 r log2(n / r)
// independent reads for r runs in n rows, and never more than n.
template <class Sym>
uint64_t SuffixSegment<Sym>::continuations(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const {
  if (rows.size() == 0) return 0;
  struct Piece {
    uint32_t lo, hi;  // inclusive
    Sym first, last;
  };
  std::vector<Piece> level{{rows.lo, rows.hi - 1, symbol_behind(rows.lo, depth), symbol_behind(rows.hi - 1, depth)}};
  std::vector<Piece> next;
  std::vector<std::pair<uint32_t, Sym>> starts;  // first row seen of each run; later ones of the same run are dropped
  constexpr size_t kRowAhead = 24, kTextAhead = 12;
  while (!level.empty()) {
    sais::check_stop(stop);
    next.clear();
    const size_t n = level.size();
    for (size_t i = 0; i < n; ++i) {
      if (i + kRowAhead < n) {
        const Piece& far = level[i + kRowAhead];
        __builtin_prefetch(a_.rows + far.lo + (far.hi - far.lo) / 2);
        const Piece& near = level[i + kTextAhead];
        __builtin_prefetch(a_.text + a_.rows[near.lo + (near.hi - near.lo) / 2] + depth);
      }
      const Piece piece = level[i];
      if (piece.first == piece.last) {
        starts.emplace_back(piece.lo, piece.first);
        continue;
      }
      if (piece.hi - piece.lo == 1) {
        starts.emplace_back(piece.lo, piece.first);
        starts.emplace_back(piece.hi, piece.last);
        continue;
      }
      const uint32_t middle = piece.lo + (piece.hi - piece.lo) / 2;
      const Sym symbol = symbol_behind(middle, depth);
      next.push_back({piece.lo, middle, piece.first, symbol});
      next.push_back({middle, piece.hi, symbol, piece.last});
    }
    level.swap(next);
  }
  std::sort(starts.begin(), starts.end());
  uint64_t n_ends = 0;
  for (size_t i = 0; i < starts.size();) {
    size_t j = i + 1;
    while (j < starts.size() && starts[j].second == starts[i].second) ++j;
    const uint32_t count = (j < starts.size() ? starts[j].first : rows.hi) - starts[i].first;
    if (starts[i].second == 0) {
      n_ends += count;
    } else {
      runs.push_back({code_.decode(starts[i].second), count});
    }
    i = j;
  }
  return n_ends;
}

// ---- documents ------------------------------------------------------------------------------------------

template <class Sym>
const typename SuffixSegment<Sym>::DocumentMap& SuffixSegment<Sym>::document_map() const {
  std::call_once(map_once_, [this] {
    const uint64_t mean = std::max<uint64_t>(1, a_.n_text / std::max<uint64_t>(1, a_.n_documents));
    while ((uint64_t{2} << map_.shift) <= mean / 2 + 1) ++map_.shift;
    uint64_t document = 0;
    map_.first.resize((a_.n_text >> map_.shift) + 1);
    for (uint64_t bucket = 0; bucket < map_.first.size(); ++bucket) {
      const uint64_t position = bucket << map_.shift;
      while (document + 1 < a_.n_documents && a_.starts[document + 1] <= position) ++document;
      map_.first[bucket] = static_cast<uint32_t>(document);
    }
    if (a_.n_documents > 0 && a_.starts[a_.n_documents] != a_.n_text) {
      throw CorruptPointer{file_, a_.n_documents, a_.starts[a_.n_documents], a_.n_text};
    }
  });
  return map_;
}

template <class Sym>
void SuffixSegment<Sym>::documents_of(Range rows, std::vector<uint32_t>& out, StopFlag stop) const {
  const DocumentMap& map = document_map();
  constexpr uint32_t kAhead = 16;
  // A bitmap costs a pass over all documents; sorting costs about 30 ns a document found.
  const bool dense = rows.size() >= a_.n_documents / 64;
  std::vector<uint64_t> seen(dense ? a_.n_documents / 64 + 1 : 0);
  for (uint32_t row = rows.lo; row < rows.hi; ++row) {
    if ((row - rows.lo) % sais::kStopInterval == 0) sais::check_stop(stop);
    if (row + kAhead < rows.hi) {
      const uint32_t ahead = a_.rows[row + kAhead];
      if (ahead < a_.n_text) __builtin_prefetch(map.first.data() + (ahead >> map.shift));
    }
    const uint32_t document = document_at(map, position_of(row));
    if (dense) {
      seen[document / 64] |= uint64_t{1} << (document % 64);
    } else {
      out.push_back(document);
    }
  }
  if (!dense) {
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return;
  }
  for (uint32_t word = 0; word < seen.size(); ++word) {
    for (uint64_t bits = seen[word]; bits != 0; bits &= bits - 1) {
      out.push_back(64 * word + static_cast<uint32_t>(__builtin_ctzll(bits)));
    }
  }
}

template <class Sym>
void SuffixSegment<Sym>::filter_documents(const uint32_t* documents, size_t n_documents, const int64_t* ids,
                                          uint32_t n, std::vector<uint32_t>& out, StopFlag stop) const {
  std::vector<Sym> query(n);
  if (!code_.encode(ids, n, query.data())) return;
  uint64_t n_read = 0;
  for (size_t i = 0; i < n_documents; ++i) {
    const Range symbols = document_symbols(documents[i]);
    n_read += symbols.size();
    if (n_read > sais::kStopInterval) {
      sais::check_stop(stop);
      n_read = 0;
    }
    if (n == 0) {
      out.push_back(documents[i]);
      continue;
    }
    if (symbols.size() < n) continue;
    const Sym* const last = a_.text + symbols.hi - n + 1;
    for (const Sym* at = a_.text + symbols.lo;; ++at) {
      at = std::find(at, last, query[0]);
      if (at == last) break;
      if (std::memcmp(at, query.data(), sizeof(Sym) * n) == 0) {
        out.push_back(documents[i]);
        break;
      }
    }
  }
}

}  // namespace ngramdb
