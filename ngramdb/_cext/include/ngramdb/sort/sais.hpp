// Suffix sorting in document-end order: induced sorting (SA-IS: Nong, Zhang & Chan, "Two Efficient
// Algorithms for Linear Time Suffix Array Construction", 2009) over a text of many documents.
//
// The text holds symbols; symbol 0 is the separator that ends every document, the last one included.
// Suffixes are compared up to their document's separator, the separator is smallest, and ties are broken by
// position. That is the order of a text in which the separators are distinct symbols, ascending by position, and
// smaller than all tokens. Three changes to SA-IS give it: the separators are seeded in position order, nothing
// is ever induced into their bucket, and LMS substrings that end in a separator are all distinct.
//
// The reduced problem has no separators (names that end in one are unique already), so deeper levels are
// ordinary SA-IS with a virtual sentinel.
//
// Cost: O(n) time; 4 bytes per symbol for the array that comes back, plus bucket arrays, which deeper levels
// place in the unused middle of that same array whenever they fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/prefetch.hpp"

namespace ngramdb {
namespace sais {

constexpr uint32_t kEmpty = 0xffffffffu;

// Look-ahead in rows: text is fetched kTextAhead rows before it is read, the bucket's slot kSlotAhead rows
// before it is written. Larger distances gain nothing, half of them lose a quarter of the speed.
constexpr uint32_t kTextAhead = 32;
constexpr uint32_t kSlotAhead = 16;

// Positions between two interrupt checks in a pass over the text, of a nanosecond or two each.
constexpr uint32_t kPassStopInterval = 1u << 20;

// Bucket boundaries: `size[c]` symbols equal c; `at[c]` is the moving head or tail.
struct Buckets {
  uint32_t* size;
  uint32_t* at;
  uint32_t n_symbols;

  void to_heads() const {
    uint32_t sum = 0;
    for (uint32_t c = 0; c < n_symbols; ++c) {
      at[c] = sum;
      sum += size[c];
    }
  }
  void to_tails() const {
    uint32_t sum = 0;
    for (uint32_t c = 0; c < n_symbols; ++c) {
      sum += size[c];
      at[c] = sum;
    }
  }
};

// From right to left: calls visit(position) for every LMS position except separators, and
// at_separator() whenever a separator is passed.
template <bool kSeparated, class Sym, class Visit, class AtSeparator>
void for_each_lms(const Sym* text, uint32_t n, StopFlag stop, Visit visit, AtSeparator at_separator) {
  // The last symbol is a separator (S-type) or, without separators, L-type.
  bool next_is_s = kSeparated;
  uint32_t next = text[n - 1];
  for (uint32_t i = n - 1; i-- > 0;) {
    if (i % kPassStopInterval == 0) check_stop(stop);
    const uint32_t here = text[i];
    if (kSeparated && here == 0) {
      at_separator();
      next_is_s = true;  // smaller than every token, and than the separators to its right
    } else {
      const bool is_s = here < next || (here == next && next_is_s);
      if (next_is_s && !is_s && !(kSeparated && next == 0)) visit(i + 1);
      next_is_s = is_s;
    }
    next = here;
  }
}

template <bool kSeparated, class Sym, class Visit>
void for_each_lms(const Sym* text, uint32_t n, StopFlag stop, Visit visit) {
  for_each_lms<kSeparated>(text, n, stop, visit, [] {});
}

// Induces the L-type suffixes from left to right.
template <bool kSeparated, class Sym>
void induce_l(const Sym* text, uint32_t* sa, uint32_t n, const Buckets& b, StopFlag stop) {
  b.to_heads();
  uint32_t* const head = b.at;
  if (!kSeparated) sa[head[text[n - 1]]++] = n - 1;  // induced by the virtual sentinel
  for (uint32_t base = 0; base < n;) {
    check_stop(stop);
    const uint32_t stop_row = n - base > kStopInterval ? base + kStopInterval : n;
    for (uint32_t i = base; i < stop_row; ++i) {
      if (n - i > kTextAhead) {  // i + kTextAhead may be beyond 32 bits
        const uint32_t far = sa[i + kTextAhead] - 1;
        prefetch_line(text + (far < n ? far : 0));
        const uint32_t near = sa[i + kSlotAhead] - 1;
        if (near < n) prefetch_line_to_write(sa + head[text[near]]);
      }
      const uint32_t j = sa[i] - 1;
      if (j >= n - 1) continue;  // empty, or the suffix at 0
      const uint32_t c = text[j];
      if (c < text[j + 1] || (kSeparated && c == 0)) continue;
      sa[head[c]++] = j;
    }
    base = stop_row;
  }
}

// Induces the S-type suffixes from right to left. With kCollect, the LMS positions that are met in order
// are packed at the array's end, over rows that are no longer needed; returns how many.
template <bool kSeparated, bool kCollect, class Sym>
uint32_t induce_s(const Sym* text, uint32_t* sa, uint32_t n, uint32_t n_separators, const Buckets& b,
                  StopFlag stop) {
  b.to_tails();
  uint32_t* const tail = b.at;
  uint32_t packed = n;
  const uint32_t first = kSeparated ? n_separators : 0;
  for (uint32_t base = n; base > first;) {
    check_stop(stop);
    const uint32_t stop_row = base - first > kStopInterval ? base - kStopInterval : first;
    for (uint32_t i = base; i-- > stop_row;) {
      if (i >= first + kTextAhead) {
        const uint32_t far = sa[i - kTextAhead] - 1;
        prefetch_line(text + (far < n ? far : 0));
        const uint32_t near = sa[i - kSlotAhead] - 1;
        if (near < n) prefetch_line_to_write(sa + tail[text[near]] - 1);
      }
      const uint32_t j = sa[i] - 1;
      if (j >= n - 1) continue;
      const uint32_t c = text[j];
      const uint32_t d = text[j + 1];
      if (kSeparated && c == 0) {
        continue;  // separators are in place; a token after one is never LMS
      }
      if (c < d || (c == d && i >= tail[c])) {
        sa[--tail[c]] = j;
      } else if (kCollect && c > d && i >= tail[d]) {
        sa[--packed] = j + 1;
      }
    }
    base = stop_row;
  }
  return n - packed;
}

// ---- induction with marks --------------------------------------------------------------------------------
//
// The same two passes for n < max_marked, with half as many reads of the text: when a suffix is placed, the symbol before it
// is at hand, and the two bits that positions leave free record what its predecessor needs.

constexpr uint32_t kMaxMarked = 1u << 30;
// The pass from left to right skips the row: its predecessor is S-type or does not exist.
constexpr uint32_t kLater = 1u << 31;
// An LMS suffix, placed by the pass from right to left.
constexpr uint32_t kLms = 1u << 30;

template <bool kSeparated, class Sym>
void induce_l_marked(const Sym* text, uint32_t* sa, uint32_t n, uint32_t n_separators, const Buckets& b,
                     StopFlag stop) {
  b.to_heads();
  uint32_t* const head = b.at;
  const auto place = [&](uint32_t p) {
    const uint32_t c = text[p];
    const bool later = p == 0 || text[p - 1] < c;  // a separator is smaller than every token
    sa[head[c]++] = later ? p | kLater : p;
  };
  if (kSeparated) {
    for (uint32_t row = 0; row < n_separators; ++row) {
      const uint32_t j = sa[row];
      if (j > 0 && text[j - 1] != 0) place(j - 1);
    }
  } else {
    place(n - 1);  // induced by the virtual sentinel
  }
  for (uint32_t base = kSeparated ? n_separators : 0; base < n;) {
    check_stop(stop);
    const uint32_t stop_row = n - base > kStopInterval ? base + kStopInterval : n;
    for (uint32_t i = base; i < stop_row; ++i) {
      if (i + kTextAhead < n) {
        const uint32_t far = sa[i + kTextAhead];
        if (!(far & kLater)) prefetch_line(text + far - 1);
        const uint32_t near = sa[i + kSlotAhead];
        if (!(near & kLater)) prefetch_line_to_write(sa + head[text[near - 1]]);
      }
      const uint32_t j = sa[i];
      if (!(j & kLater)) place(j - 1);
    }
    base = stop_row;
  }
}

// As induce_s; clears all marks that it meets, and with kCollect packs the LMS positions.
template <bool kSeparated, bool kCollect, class Sym>
void induce_s_marked(const Sym* text, uint32_t* sa, uint32_t n, uint32_t n_separators, const Buckets& b,
                     StopFlag stop) {
  b.to_tails();
  uint32_t* const tail = b.at;
  uint32_t packed = n;
  const uint32_t first = kSeparated ? n_separators : 0;
  for (uint32_t base = n; base > first;) {
    check_stop(stop);
    const uint32_t stop_row = base - first > kStopInterval ? base - kStopInterval : first;
    for (uint32_t i = base; i-- > stop_row;) {
      if (i >= first + kTextAhead) {
        const uint32_t far = sa[i - kTextAhead];
        if (far & kLater) prefetch_line(text + (far & ~kLater) - 1);
        const uint32_t near = sa[i - kSlotAhead];
        if (near > kLater && near != kEmpty) prefetch_line_to_write(sa + tail[text[(near & ~kLater) - 1]] - 1);
      }
      uint32_t j = sa[i];
      if (!(j & kLater)) {
        if (kCollect && (j & kLms)) sa[--packed] = j & ~kLms;
        continue;
      }
      j &= ~kLater;
      if (!kCollect) sa[i] = j;
      if (j == 0) continue;
      const uint32_t p = j - 1;
      const uint32_t c = text[p];
      if (kSeparated && c == 0) continue;
      uint32_t mark = 0;
      if (p > 0) {
        const uint32_t before = text[p - 1];
        if (before > c) {
          mark = kCollect ? kLms : 0;
        } else if (!kSeparated || before != 0) {
          mark = kLater;
        }
      }
      sa[--tail[c]] = p | mark;
    }
    base = stop_row;
  }
}

// LMS positions are never adjacent: p/2 distinguishes them, in half the array.
inline uint32_t lower_half(uint32_t n) { return n / 2 + (n & 1); }

template <bool kSeparated, class Sym>
void solve(const Sym* text, uint32_t* sa, uint32_t n, uint32_t n_separators, uint32_t n_symbols, uint32_t* spare,
           size_t n_spare, uint32_t max_marked, StopFlag stop);

// Names, and (with marks) positions, of LMS substrings that occur once.
constexpr uint32_t kUnique = 1u << 31;

// Equal LMS substrings get equal names. On entry the m sorted LMS positions are at sa[n-m, n); on return
// sa[p/2] holds the name of LMS position p, other slots of the lower half are empty. With kMark, names of substrings
// that occur once, and their positions, bear kUnique. Returns the number of names.
template <bool kSeparated, bool kMark, class Sym>
uint32_t name_substrings(const Sym* text, uint32_t* sa, uint32_t n, uint32_t m, StopFlag stop) {
  std::memset(sa, 0xff, sizeof(uint32_t) * lower_half(n));
  uint32_t* const slot = sa;
  // First the substrings' lengths; 0 means that the substring ends in a separator or the sentinel, hence is unique.
  uint32_t end = 0;
  bool end_is_unique = true;
  for_each_lms<kSeparated>(
      text, n, stop,
      [&](uint32_t p) {
        slot[p / 2] = end_is_unique ? 0 : end - p + 1;
        end = p;
        end_is_unique = false;
      },
      [&] { end_is_unique = true; });
  uint32_t* const sorted = sa + (n - m);
  uint32_t names = 0;
  uint32_t prev = 0, prev_length = 0;
  bool prev_is_first = false;  // of the substrings with its name
  const auto mark_previous = [&](uint32_t i) {
    slot[prev / 2] |= kUnique;
    sorted[i - 1] |= kUnique;
  };
  for (uint32_t i = 0; i < m; ++i) {
    if (i % kStopInterval == 0) check_stop(stop);
    if (i + kTextAhead < m) {
      prefetch_line(text + sorted[i + kTextAhead]);
      prefetch_line_to_write(slot + sorted[i + kTextAhead] / 2);
    }
    const uint32_t p = sorted[i];
    const uint32_t length = slot[p / 2];
    const bool same = i > 0 && length != 0 && length == prev_length &&
                      std::memcmp(text + p, text + prev, sizeof(Sym) * length) == 0;
    if (!same) ++names;
    slot[p / 2] = names - 1;
    if (kMark && prev_is_first && !same) mark_previous(i);
    prev = p;
    prev_length = length;
    prev_is_first = !same;
  }
  if (kMark && prev_is_first) mark_previous(m);
  return names;
}

// Sorts the LMS suffixes by their names, sa[p/2] for LMS position p, of which there are `names`; their order by names
// is at sa[n-m, n). On return they are in order at sa[0, m).
template <bool kSeparated, class Sym>
void recurse_on_all(const Sym* text, uint32_t* sa, uint32_t n, uint32_t m, uint32_t names, uint32_t max_marked,
                    StopFlag stop) {
  uint32_t* const reduced = sa + (n - m);
  if (names == m) {
    std::memmove(sa, reduced, sizeof(uint32_t) * m);
    return;
  }
  uint32_t write = n;
  for (uint32_t i = lower_half(n); i-- > 0;) {
    if (sa[i] != kEmpty) sa[--write] = sa[i];
  }
  solve<false>(reduced, sa, m, 0, names, sa + m, n - 2 * size_t{m}, max_marked, stop);
  write = n;
  for_each_lms<kSeparated>(text, n, stop, [&](uint32_t p) { sa[--write] = p; });
  for (uint32_t i = 0; i < m; ++i) {
    if (i % kStopInterval == 0) check_stop(stop);
    sa[i] = reduced[sa[i]];
  }
}

// Sorts the LMS suffixes, given their substrings' order at sa[n-m, n): by name, or by recursion if names repeat.
// On return they are in order at sa[0, m).
template <bool kSeparated, class Sym>
void sort_lms_suffixes(const Sym* text, uint32_t* sa, uint32_t n, uint32_t m, uint32_t max_marked, StopFlag stop) {
  const uint32_t names = name_substrings<kSeparated, false>(text, sa, n, m, stop);
  recurse_on_all<kSeparated>(text, sa, n, m, names, max_marked, stop);
}

// Replaces names, all below n_names, by their ranks among those that occur; returns how many do. The bitmap that
// this takes stays in the cache, and the bucket arrays of the next level become as small as they can be.
inline uint32_t renumber(uint32_t* names, uint32_t n, uint32_t n_names) {
  std::vector<uint64_t> occurs(n_names / 64 + 1);
  std::vector<uint32_t> before(occurs.size());
  for (uint32_t i = 0; i < n; ++i) occurs[names[i] / 64] |= uint64_t{1} << (names[i] % 64);
  uint32_t sum = 0;
  for (size_t word = 0; word < occurs.size(); ++word) {
    before[word] = sum;
    sum += static_cast<uint32_t>(__builtin_popcountll(occurs[word]));
  }
  for (uint32_t i = 0; i < n; ++i) {
    const uint64_t below = occurs[names[i] / 64] & ((uint64_t{1} << (names[i] % 64)) - 1);
    names[i] = before[names[i] / 64] + static_cast<uint32_t>(__builtin_popcountll(below));
  }
  return sum;
}

// The same for n < max_marked, with a smaller problem to recurse on. A comparison ends at the first name that is
// unique, so only names that are not, and the one after each of these, need be sorted. What is unique has its
// place already.
template <bool kSeparated, class Sym>
void sort_lms_suffixes_marked(const Sym* text, uint32_t* sa, uint32_t n, uint32_t m, uint32_t max_marked,
                              StopFlag stop) {
  const uint32_t names = name_substrings<kSeparated, true>(text, sa, n, m, stop);
  const uint32_t half = lower_half(n);
  uint32_t n_kept = 0;
  bool before_is_unique = true;
  for (uint32_t i = 0; i < half; ++i) {
    if (sa[i] == kEmpty) continue;
    const bool unique = (sa[i] & kUnique) != 0;
    n_kept += !(unique && before_is_unique);
    before_is_unique = unique;
  }
  if (2 * size_t{n_kept} + m > n || names == m) {
    for (uint32_t i = 0; i < half; ++i) {
      if (sa[i] != kEmpty) sa[i] &= ~kUnique;
    }
    for (uint32_t i = n - m; i < n; ++i) sa[i] &= ~kUnique;
    recurse_on_all<kSeparated>(text, sa, n, m, names, max_marked, stop);
    return;
  }
  // The kept names at sa[0, n_kept), their suffixes after them, the order by names at the end as it was.
  std::vector<bool> is_unique(m);
  uint32_t write = 0, k = 0;
  before_is_unique = true;
  for (uint32_t i = 0; i < half; ++i) {
    if (sa[i] == kEmpty) continue;
    const bool unique = (sa[i] & kUnique) != 0;
    is_unique[k++] = unique;
    if (!(unique && before_is_unique)) sa[write++] = sa[i] & ~kUnique;
    before_is_unique = unique;
  }
  uint32_t* const order = sa + n_kept;
  const uint32_t n_kept_names = renumber(sa, n_kept, names);
  solve<false>(sa, order, n_kept, 0, n_kept_names, sa + 2 * size_t{n_kept}, n - m - 2 * size_t{n_kept}, max_marked,
               stop);
  uint32_t* const kept = sa;
  k = m;
  for_each_lms<kSeparated>(text, n, stop, [&](uint32_t p) {
    --k;
    const bool unique = is_unique[k];
    if (!(unique && (k == 0 || is_unique[k - 1]))) kept[--write] = unique ? p | kUnique : p;
  });
  uint32_t* const sorted = sa + (n - m);
  uint32_t next = 0;
  for (uint32_t i = 0; i < m; ++i) {
    if (i % kStopInterval == 0) check_stop(stop);
    if (sorted[i] & kUnique) {
      sorted[i] &= ~kUnique;
      continue;
    }
    if (next + kTextAhead < n_kept) prefetch_line(kept + order[next + kTextAhead]);
    while (kept[order[next]] & kUnique) ++next;
    sorted[i] = kept[order[next++]];
  }
  std::memmove(sa, sorted, sizeof(uint32_t) * m);
}

// Moves the sorted LMS positions from sa[0, m) to the ends of their buckets and empties all other rows.
template <class Sym>
void seed_sorted_lms(const Sym* text, uint32_t* sa, uint32_t n, uint32_t m, const Buckets& b, StopFlag stop) {
  b.to_tails();
  std::memset(sa + m, 0xff, sizeof(uint32_t) * (n - m));
  for (uint32_t i = m; i-- > 0;) {
    if (i % kStopInterval == 0) check_stop(stop);
    if (i >= kTextAhead) prefetch_line(text + sa[i - kTextAhead]);
    const uint32_t p = sa[i];
    sa[i] = kEmpty;
    sa[--b.at[text[p]]] = p;
  }
}

template <class Sym>
void seed_separators(const Sym* text, uint32_t* sa, uint32_t n) {
  uint32_t row = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (text[i] == 0) sa[row++] = i;
  }
}

template <bool kSeparated, class Sym>
void solve(const Sym* text, uint32_t* sa, uint32_t n, uint32_t n_separators, uint32_t n_symbols, uint32_t* spare,
           size_t n_spare, uint32_t max_marked, StopFlag stop) {
  if (n == 0) return;
  std::vector<uint32_t> owned;
  uint32_t* arrays = spare;
  if (n_spare < 2 * size_t{n_symbols}) {
    owned.resize(2 * size_t{n_symbols});
    arrays = owned.data();
  }
  const Buckets b{arrays, arrays + n_symbols, n_symbols};
  std::memset(b.size, 0, sizeof(uint32_t) * n_symbols);
  for (uint32_t i = 0; i < n; ++i) ++b.size[text[i]];

  std::memset(sa, 0xff, sizeof(uint32_t) * n);
  b.to_tails();
  if (kSeparated) seed_separators(text, sa, n);
  uint32_t n_lms = 0;
  for_each_lms<kSeparated>(text, n, stop, [&](uint32_t p) {
    sa[--b.at[text[p]]] = p;
    ++n_lms;
  });
  const bool marked = n < max_marked;
  if (n_lms > 1) {
    if (marked) {
      induce_l_marked<kSeparated>(text, sa, n, n_separators, b, stop);
      induce_s_marked<kSeparated, true>(text, sa, n, n_separators, b, stop);
    } else {
      induce_l<kSeparated>(text, sa, n, b, stop);
      induce_s<kSeparated, true>(text, sa, n, n_separators, b, stop);
    }
    if (marked) {
      sort_lms_suffixes_marked<kSeparated>(text, sa, n, n_lms, max_marked, stop);
    } else {
      sort_lms_suffixes<kSeparated>(text, sa, n, n_lms, max_marked, stop);
    }
    seed_sorted_lms(text, sa, n, n_lms, b, stop);
    if (kSeparated) seed_separators(text, sa, n);
  }
  if (marked) {
    induce_l_marked<kSeparated>(text, sa, n, n_separators, b, stop);
    induce_s_marked<kSeparated, false>(text, sa, n, n_separators, b, stop);
  } else {
    induce_l<kSeparated>(text, sa, n, b, stop);
    induce_s<kSeparated, false>(text, sa, n, n_separators, b, stop);
  }
}

}  // namespace sais

// Fills sa[0, n) with the positions of all suffixes in document-end order; the first n_separators rows
// are the separators themselves, by position.
//
// text: n symbols, each < n_symbols; the last one is a separator (0). n < 2^32 - 1. Raises Interrupted if
// its work must stop (checked every few milliseconds), std::bad_alloc if memory runs out. max_marked: texts below
// this length are sorted with marks; tests make it small, to reach the passes for longer texts.
template <class Sym>
void suffix_sort(const Sym* text, uint32_t* sa, uint32_t n, uint32_t n_separators, uint32_t n_symbols,
                 StopFlag stop, uint32_t max_marked = sais::kMaxMarked) {
  sais::solve<true>(text, sa, n, n_separators, n_symbols, nullptr, 0, max_marked, stop);
}

}  // namespace ngramdb
