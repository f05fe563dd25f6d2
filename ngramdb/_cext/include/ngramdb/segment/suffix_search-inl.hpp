// Searching the suffix array of a segment: the directory first, then binary searches within its blocks, several at a
// time. Members of SuffixSegment; included by suffix_segment.hpp.
#pragma once

#include "ngramdb/segment/suffix_segment.hpp"

namespace ngramdb {

// Sets up a search for symbols that are followed by zeros.
template <class Sym>
void SuffixSegment<Sym>::encode_search(const Sym* symbols, uint32_t n, Search& s) const {
  s.query = symbols;
  s.n = n;
  s.split = s.alike = s.located = false;
  s.known = kUnknown;
  std::memcpy(&s.word, symbols, sizeof(s.word));
  s.mask = n < kWordSymbols ? first_symbols(n) : ~uint64_t{0};
}

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
    if (request.n == 1 && !request.narrow && single_.find(symbols[0], &answers[i])) continue;
    Search& s = searches[n_searches];
    std::memset(symbols + request.n, 0, sizeof(Sym) * key_symbols<Sym>());
    encode_search(symbols, request.n, s);
    // A wide interval is found faster from the root, as far as keys reach.
    const uint32_t few = !a_.rows.has_lcps() ? 2 * kRowsPerSample : kPieceRows;
    const bool narrow = request.narrow && (request.within.size() <= few || request.depth >= 2 * kWordSymbols);
    s.lower = narrow ? bounds_of(request) : Bounds{0, 0, 0, 0};
    s.upper = s.lower;
    symbols += request.n + key_symbols<Sym>();
    which[n_searches++] = i;
  }
  return n_searches;
}

// Returns true if the first searches in a remote file use its far index: they wait less often, and after many queries
// the directory is present.
template <class Sym>
bool SuffixSegment<Sym>::goes_far(uint32_t n) const {
  constexpr uint32_t kFarSearches = 64;
  constexpr uint64_t kTogether = uint64_t{1} << 24;  // bytes of a directory that is brought as a whole
  if (n_far_.load(std::memory_order_relaxed) < kFarSearches) {
    n_far_.fetch_add(n, std::memory_order_relaxed);
    far_keys_.verify_all();
    return true;
  }
  if (sizeof(uint64_t) * (tree_words(a_.n_rows) + tree_.n_samples) <= kTogether) {
    directory_.verify_all();
    rest_.verify_all();
  }
  return false;
}

// Calls visit with an object that verifies words of the directory: those that are used, or none if all have been verified.
// `alone`: the only search, if there is but one; of a large directory it has second words fetched along with first ones, of
// a small one they come from the cache.
template <class Sym>
template <class Visit>
void SuffixSegment<Sym>::with_directory(const Search* alone, Visit visit) const {
  constexpr uint64_t kLarge = uint64_t{1} << 20;
  const bool wants_rest = tree_.n_samples >= kLarge && alone != nullptr && alone->n > kWordSymbols;
  if (directory_.is_still_left()) {
    VerifyWords verify{wants_rest, a_.checksums};
    visit(verify);
    if (verify.n_new != 0) count_verified(verify.n_new);
  } else {
    VerifyNothing nothing{wants_rest};
    visit(nothing);
  }
}

// Finds, for searches roots[0, n), the blocks that hold their bounds, by the directory: one that has not been verified
// as a whole is as far as it is looked at.
template <class Sym>
void SuffixSegment<Sym>::locate_blocks(Search* searches, const uint32_t* roots, uint32_t n) const {
  if (a_.far.keys != nullptr && goes_far(n)) {
    for (uint32_t i = 0; i < n; ++i) locate_far(searches[roots[i]]);
    return;
  }
  Descents<kGroup> descents;
  with_directory(n == 1 ? &searches[roots[0]] : nullptr, [&](auto& verify) {
    descend(searches, roots, n, descents, 0, verify);
    arrive(searches, roots, n, descents, verify);
  });
}

template <class Sym>
void SuffixSegment<Sym>::locate_far(Search& s) const {
  constexpr uint32_t kBits = 8 * sizeof(Sym);
  const uint32_t n_bits = kBits * std::min(s.n, kLongBits / kBits + 1);
  const FarRows found = search_far(a_.far, a_.n_rows, long_key(s.query, s.n), n_bits,
                                   [this](uint64_t first, uint64_t n) { far_lcps_.verify(first, n); });
  const uint32_t lo = static_cast<uint32_t>(found.lo), hi = static_cast<uint32_t>(found.hi);
  s.located = true;
  s.lower = {lo, hi, 0, 0};
  s.upper = {hi, hi, 0, 0};
  if (found.left == FarRows::kEach) return;
  s.split = found.left == FarRows::kNothing && lo < hi;
  s.alike = found.left == FarRows::kOne;
  s.lower.hi = s.alike ? lo + 1 : lo;
}

// Once a half of the directory's blocks have been verified, so are the others: looking whether they have costs more.
template <class Sym>
void SuffixSegment<Sym>::count_verified(uint64_t n_blocks) const {
  const uint64_t n_verified = n_verified_.fetch_add(n_blocks, std::memory_order_relaxed) + n_blocks;
  const uint64_t n_bytes = sizeof(uint64_t) * (tree_words(a_.n_rows) + tree_.n_samples);
  if (n_verified < a_.checksums->n_blocks_of(n_bytes) / 2) return;
  rest_.verify_all();
  directory_.verify_all();
}

// The first word of rest[lo, hi) that is not below the key, or, with kUpper, above it.
template <class Sym>
template <bool kUpper, class Verify>
uint64_t SuffixSegment<Sym>::bound_in_rest(uint64_t lo, uint64_t hi, uint64_t key, Verify& verify) const {
  while (lo < hi) {
    const uint64_t middle = lo + (hi - lo) / 2;
    verify(tree_.rest + middle, 1);
    const bool up = kUpper ? tree_.rest[middle] <= key : tree_.rest[middle] < key;
    lo = up ? middle + 1 : lo;
    hi = up ? hi : middle;
  }
  return lo;
}

// Goes down the directory's tree of first words, as far as level `to`.
template <class Sym>
template <uint32_t kMost, class Verify>
void SuffixSegment<Sym>::descend(const Search* searches, const uint32_t* roots, uint32_t n, Descents<kMost>& d,
                                 uint32_t to, Verify& verify) const {
  for (uint32_t i = 0; i < n; ++i) {
    const Search& s = searches[roots[i]];
    Key low, high;
    pack_query(s.query, s.n, &low, &high);
    d.low_first[i] = low.first;
    d.high_first[i] = high.first;
    d.low_rest[i] = low.rest;
    d.high_rest[i] = high.rest;
  }
  search_tree<Verify>(tree_, tree_.top, to, d.low_first, d.high_first, n, d.below, d.upto, verify);
}

// From the lowest level to blocks of rows, by second words if first ones do not decide.
template <class Sym>
template <uint32_t kMost, class Verify>
void SuffixSegment<Sym>::arrive(Search* searches, const uint32_t* roots, uint32_t n, const Descents<kMost>& d,
                                Verify& verify) const {
  for (uint32_t i = 0; i < n; ++i) {
    if (searches[roots[i]].n > kWordSymbols && d.below[i] < d.upto[i]) prefetch_line(tree_.rest + d.below[i]);
  }
  const uint32_t all = static_cast<uint32_t>(a_.n_rows);
  for (uint32_t i = 0; i < n; ++i) {
    Search& s = searches[roots[i]];
    uint64_t lo = d.below[i], hi = d.upto[i];
    if (s.n > kWordSymbols && lo < hi) {
      lo = bound_in_rest<false>(d.below[i], d.upto[i], d.low_rest[i], verify);
      hi = bound_in_rest<true>(d.below[i], d.upto[i], d.high_rest[i], verify);
    }
    if (hi < lo) hi = lo;  // only in a damaged directory
    // Row 64 (lo - 1) is below the query, row 64 hi above it.
    const uint32_t start = lo == 0 ? 0 : static_cast<uint32_t>((lo - 1) * kRowsPerSample + 1);
    const uint32_t stop = static_cast<uint32_t>(std::min<uint64_t>(hi * kRowsPerSample, all));
    s.lower = {start, stop, 0, 0};
    if (lo == hi && lo > 0) verify(tree_.level[0] + lo - 1, 1);
    if (lo == hi && lo > 0 && tree_.level[0][lo - 1] < d.low_first[i]) {
      s.known = static_cast<uint32_t>(__builtin_clzll(tree_.level[0][lo - 1] ^ d.low_first[i]));
    }
    if (lo < hi && s.n <= 2 * kWordSymbols) {
      // Sampled rows lo … hi-1 begin with the query: the two bounds are in blocks of their own.
      s.split = true;
      s.lower = {start, static_cast<uint32_t>(lo * kRowsPerSample), 0, s.n};
      s.upper = {static_cast<uint32_t>((hi - 1) * kRowsPerSample + 1), stop, s.n, 0};
    }
  }
}

// The ranges of rows that a search may read first, if they are few.
template <class Sym>
template <class Visit>
void SuffixSegment<Sym>::visit_blocks(const Search& s, Visit visit) const {
  if (s.split) {
    visit(s.lower.lo, uint64_t{s.lower.hi} + 1);
    visit(s.upper.lo, s.upper.hi);
  } else if (s.lower.hi - s.lower.lo <= 2 * kRowsPerSample) {
    visit(s.lower.lo, s.lower.hi);
  } else if (a_.rows.has_lcps()) {
    visit(s.lower.lo, sample_from(s.lower.lo) + 1);
    visit(sample_before(s.lower.hi) + 1, s.lower.hi);
  }
}

// Fetches them: a block is four cache lines, and its LCPs one or two more if they are beside it; if searches are
// split, these suffice.
template <class Sym>
void SuffixSegment<Sym>::fetch_blocks(const Search& s) const {
  if (s.located) return;
  if (lcps_are_beside() && s.split) {
    visit_blocks(s, [&](uint64_t start, uint64_t stop) { fetch_lcps(start, stop); });
  } else {
    visit_blocks(s, [&](uint64_t start, uint64_t stop) { fetch_rows(start, stop); });
  }
}

// Narrows a search by the LCPs of the rows at its bounds, which have been fetched.
template <class Sym>
void SuffixSegment<Sym>::search_blocks(Search& s) const {
  if (s.located || !a_.rows.has_lcps()) return;
  if (lcps_are_left()) {
    visit_blocks(s, [&](uint64_t start, uint64_t stop) {
      if (start < stop) verify_lcps(start, stop - start);
    });
  }
  Bounds &lower = s.lower, &upper = s.upper;
  if (!s.split && lower.hi - lower.lo <= kPieceRows) {
    if (lower.open()) search_block(s);
    return;
  }
  // Sampled rows between the two bounds begin with the query, or its first symbols, as many as a key has; and so do the
  // rows around them that share as much according to their LCPs.
  constexpr uint32_t kKeyBits = 128;
  const uint32_t n_bits = bits_of(s), bits = std::min(std::min(n_bits, kKeyBits), a_.rows.most_lcp());
  // Including the sampled row itself: it may be the first one.
  const uint64_t first_sample = s.split ? lower.hi : sample_from(lower.lo);
  lower.lo = static_cast<uint32_t>(last_with_less(a_.rows, lower.lo, first_sample + 1, bits));
  if (!s.split) {
    lower.hi = static_cast<uint32_t>(first_with_less(a_.rows, sample_before(lower.hi) + 1, lower.hi, bits));
    return;
  }
  upper.hi = static_cast<uint32_t>(first_with_less(a_.rows, upper.lo, upper.hi, bits));
  if (bits < n_bits) return;
  lower.hi = lower.lo;
  upper.lo = upper.hi;
}

// All rows that begin with the query are among those of the lower bound, at most kPieceRows. Their LCPs lead to the only
// ones that may.
template <class Sym>
void SuffixSegment<Sym>::search_block(Search& s) const {
  Bounds& bounds = s.lower;
  const uint32_t n_bits = bits_of(s), bits = std::min(n_bits, a_.rows.most_lcp());
  // The row before differs from the query in a bit that LCPs reach; else the first row may be one that begins with it.
  const bool is_known = s.known < bits;
  const uint32_t start = is_known ? bounds.lo : bounds.lo + 1;
  const BlindEnd end = blind_search(s, start, bounds.hi - start, bits, is_known ? s.known : kUnknown);
  if (is_known && end.first == BlindEnd::kBefore) {
    bounds.hi = bounds.lo;
    return;
  }
  bounds.hi = start + end.last;
  if (end.first != BlindEnd::kBefore) bounds.lo = start + end.first;
  if (bits < n_bits) return;
  s.alike = true;
  s.upper = {bounds.hi, bounds.hi, 0, 0};
  bounds.hi = bounds.lo + 1;
}

template <class Sym>
BlindEnd SuffixSegment<Sym>::blind_search(const Search& s, uint64_t start, uint32_t n, uint32_t bits,
                                          uint32_t known) const {
  if (!lcps_are_beside()) {
    const Key key = first_bits({load_word(s.query), load_word(s.query + kWordSymbols)}, bits);
    return row_kernels.blind_search(a_.rows, start, n, key, bits, known);
  }
  LongKey key = long_key(s.query, s.n);
  // Longer queries have more bits than LCPs cover.
  if (bits == kMostLcpBeside) key.word[kLongWords - 1] &= ~uint64_t{0} << (kLongBits - kMostLcpBeside);
  return row_kernels.blind_search_beside(a_.rows, start, n, key, bits, known);
}

// Fetches the text that its next steps may read.
template <class Sym>
void SuffixSegment<Sym>::fetch_pivots(const Search& s, int n_levels) const {
  prefetch_pivots(s.lower.lo, s.lower.hi, s.lower.lcp(), n_levels);
  if (s.split) prefetch_pivots(s.upper.lo, s.upper.hi, s.upper.lcp(), n_levels);
}

// A few searches cannot hide each other's latency: they fetch, for several steps ahead, every row that those steps
// may read. Rounds of waiting are then a half or a third of the steps.
template <class Sym>
void SuffixSegment<Sym>::run_few(Search* searches, uint32_t n) const {
  for (uint32_t i = 0; i < n; ++i) fetch_blocks(searches[i]);
  const int n_levels = levels_ahead(n);
  bool any = false;
  for (uint32_t i = 0; i < n; ++i) {
    search_blocks(searches[i]);
    any = any || searches[i].open();
  }
  while (any) {
    for (uint32_t i = 0; i < n; ++i) fetch_pivots(searches[i], n_levels);
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
  if (a_.rows.has_lcps()) {
    for (uint32_t i = 0; i < n; ++i) fetch_blocks(searches[i]);
  }
  for (uint32_t i = 0; i < n; ++i) {
    search_blocks(searches[i]);
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

// ---- one search among those of other segments ----

template <class Sym>
void SuffixSegment<Sym>::begin(const Request& request, Probe& probe) const {
  Alone& alone = *new (probe.state) Alone;
  alone.answer = {0, 0};
  alone.stage = Stage::kText;
  alone.search.split = alone.search.alike = alone.search.located = false;
  alone.search.lower = {0, 0, 0, 0};
  if (request.n == 0) alone.answer = {0, static_cast<uint32_t>(a_.n_rows)};
  if (request.n == 0 || a_.n_rows == 0 || !code_.encode(request.ids, request.n, alone.symbols)) return;
  if (request.n == 1 && single_.find(alone.symbols[0], &alone.answer)) return;
  std::memset(alone.symbols + request.n, 0, sizeof(Sym) * key_symbols<Sym>());
  encode_search(alone.symbols, request.n, alone.search);
  if (a_.far.keys != nullptr && goes_far(1)) {
    locate_far(alone.search);
    alone.stage = Stage::kBlocks;
    return;
  }
  // The last levels are fetched, and waited for while other segments begin.
  with_directory(&alone.search, [&](auto& verify) {
    descend(&alone.search, &kOnly, 1, alone.descent, low_levels(), verify);
  });
  alone.stage = Stage::kDirectory;
}

template <class Sym>
bool SuffixSegment<Sym>::advance(Probe& probe, int n_levels) const {
  Alone& alone = *reinterpret_cast<Alone*>(probe.state);
  Search& s = alone.search;
  if (alone.stage == Stage::kDirectory) {
    Descents<1>& d = alone.descent;
    with_directory(nullptr, [&](auto& verify) {
      if (low_levels() > 0) {
        search_tree<std::decay_t<decltype(verify)>>(tree_, low_levels() - 1, 0, d.low_first, d.high_first, 1, d.below,
                                                    d.upto, verify);
      }
      arrive(&s, &kOnly, 1, d, verify);
    });
    fetch_blocks(s);
    alone.stage = Stage::kBlocks;
    return true;
  }
  if (alone.stage == Stage::kBlocks) {
    search_blocks(s);
    alone.stage = Stage::kText;
  } else {
    for (int k = 0; k < n_levels && s.open(); ++k) step(s);
  }
  if (!s.open()) {
    if (s.split) {
      alone.answer = {s.lower.lo, s.upper.lo};
      if (s.n == 1) single_.keep(alone.symbols[0], alone.answer);
    }
    return false;
  }
  fetch_pivots(s, n_levels);
  return true;
}

template <class Sym>
Range SuffixSegment<Sym>::found(const Probe& probe) const {
  return reinterpret_cast<const Alone*>(probe.state)->answer;
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
    if (!s.split) continue;
    answers[which[i]] = {s.lower.lo, s.upper.lo};
    if (s.n == 1 && !requests[which[i]].narrow) single_.keep(s.query[0], answers[which[i]]);
  }
}

}  // namespace ngramdb
