// Merging the suffix arrays of several texts into that of all of them, one after the other: row for row what sorting
// would make, with LCPs and directory, at the cost of a few comparisons per row and in the memory of what is being written.
//
// A loser tree over the inputs' next rows, each of which knows its LCP with the row that was written last (Bingmann,
// Eberle, Sanders: "Engineering Parallel String Sorting", Algorithmica 2017). Of two rows the one with the longer LCP comes
// first, and the loser's LCP with the winner is the shorter of the two; text is compared only if both are equal, from
// there on. An input's rows provide their LCPs as far as rows hold them (rows.hpp); beyond that neighbours are compared
// when they come near, a block at a time.
//
// Texts are read at random places, one per row. The first symbols of a block's rows are read one right after the other, so
// that the memory brings many at the same time, and kept in windows, by which all but long matches are decided. (With one
// prefetch for each row that is written, and comparing keys and texts, the kernel took 1.4 times as long at 1 G tokens, and
// nearly half of it at the prefetch, which waits for addresses in pages of 4 KB.) Texts in large pages are prefetched
// a whole block ahead, and are present when the block is read: 70 ns per row instead of
// 91 at 300 M tokens, 84 instead of 97 at 1 G. Matches of any length are compared in passing (suffix_matches.hpp).
//
// The work is divided into chunks of rows, which any threads make in any order: plan() chooses some rows to begin a
// chunk, evenly spread over all, and searches for them in every input.
//
// Rows are ordered as by sort_suffixes: by their symbols up to the separator, then by text, then by position.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/segment/filtering.hpp"
#include "ngramdb/segment/row_lcps.hpp"
#include "ngramdb/segment/rows.hpp"
#include "ngramdb/segment/sampled_keys.hpp"
#include "ngramdb/segment/segment.hpp"
#include "ngramdb/sort/row_merge.hpp"
#include "ngramdb/sort/suffix_matches.hpp"

namespace ngramdb {

template <class Sym>
class MergeOf final : public RowMerge {
 public:
  explicit MergeOf(const std::vector<MergeInput>& inputs) : inputs_(inputs) {
    uint64_t base = 0;
    for (const MergeInput& input : inputs) {
      texts_.push_back({static_cast<const Sym*>(input.text), input.n_text});
      kept_.push_back(nullptr);
      bases_.push_back(base);
      if (input.kept == nullptr) {
        base += input.n_text;
        continue;
      }
      kept_.back() = std::make_unique<KeptPositions>(input.starts, input.kept, input.n_documents);
      for (uint64_t d = 0; d < input.n_documents; ++d) {
        if (input.kept[d]) base += input.starts[d + 1] - input.starts[d];
      }
    }
  }

  uint64_t plan(uint64_t chunk_rows, StopFlag stop) override;
  uint64_t count(uint64_t chunk, StopFlag stop) override;
  void merge(uint64_t chunk, uint64_t first_row, uint32_t* out, uint64_t n_rows, uint32_t lcp_width, uint8_t* lcps,
             uint64_t* tree, uint64_t* rest, StopFlag stop) override;
  void read(uint64_t chunk, RowReader& reader, StopFlag stop) override;

  uint64_t bound(uint64_t chunk, uint32_t input) const override { return bounds_[chunk][input]; }

  uint32_t joint(uint64_t chunk, uint32_t most) override {
    const Ends &before = ends_[chunk - 1], &after = ends_[chunk];
    if (!before.some || !after.some) return 0;
    const Borrowed matches(*this);
    const Order order = compare(matches.get(), before.last, after.first, 0);
    return static_cast<uint32_t>(std::min<int64_t>(order.lcp, most));
  }

 private:
  using Matches = SuffixMatches<Sym>;
  static constexpr uint32_t kSymbolBits = 8 * sizeof(Sym);
  static constexpr int64_t kWindowBits = 512;
  // LCPs, in bits: of suffixes that are equal, and of an input that has come to its end.
  static constexpr int64_t kEqual = kEqualLcp;
  static constexpr int64_t kOver = -1;
  // Rows that an input looks ahead.
  static constexpr uint32_t kBlock = 32;

  // The first row of a chunk in each input, and the first and last row that it made.
  struct Ends {
    bool some = false;
    SuffixPlace first, last;
  };

  // The common prefix of two suffixes, and whether the first one is smaller.
  struct Order {
    int64_t lcp;
    bool less;
  };

  // Matches for one thread's use, given back afterwards: what is remembered serves the next chunk.
  class Borrowed {
   public:
    explicit Borrowed(MergeOf& owner) : owner_(owner) {
      const std::lock_guard<std::mutex> lock(owner.mutex_);
      if (!owner.spare_.empty()) {
        matches_ = std::move(owner.spare_.back());
        owner.spare_.pop_back();
      } else {
        matches_ = std::make_unique<Matches>(owner.texts_);
      }
      before_ = matches_->n_compared();
    }
    ~Borrowed() {
      const std::lock_guard<std::mutex> lock(owner_.mutex_);
      owner_.n_compared_ += matches_->n_compared() - before_;
      owner_.spare_.push_back(std::move(matches_));
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    Matches& get() const { return *matches_; }

   private:
    MergeOf& owner_;
    std::unique_ptr<Matches> matches_;
    uint64_t before_;
  };

  // A row on its way: its first symbols, its position, its position among what stays, its LCP with the row before in the
  // same input.
  struct alignas(64) Ahead {
    Sym window[kWindow<Sym>];
    uint32_t position;
    uint32_t number;
    int64_t lcp;
  };

  // An input within a chunk.
  struct Cursor {
    uint32_t input = 0;
    uint64_t next = 0, end = 0;  // rows that are not yet in the block
    uint32_t at = 0, size = 0;  // the next one of the block
    bool has_last = false;
    Ahead last;  // of the block before
    Ahead block[kBlock];
  };

  struct Player {
    int64_t lcp = kOver;  // with the row that was written last
    uint32_t run = 0;
  };

  // The order of two suffixes that agree in n symbols, after which they have x and y.
  static Order order_of(SuffixPlace a, Sym x, SuffixPlace b, Sym y, uint64_t n) {
    if (x == y) return {kEqual, a.text != b.text ? a.text < b.text : a.position < b.position};
    const uint32_t differ = static_cast<uint32_t>(x ^ y);
    const uint32_t same = static_cast<uint32_t>(__builtin_clz(differ)) - (32 - kSymbolBits);
    return {static_cast<int64_t>(n * kSymbolBits + same), x < y};
  }

  // Compares two suffixes that have `known` bits in common.
  Order compare(Matches& matches, SuffixPlace a, SuffixPlace b, int64_t known) const {
    uint64_t n = 0;
    if (!matches.common(a, b, static_cast<uint64_t>(known) / kSymbolBits, &n)) {
      throw CorruptPointer{inputs_[a.text].file, a.position, a.position, texts_[a.text].size};
    }
    return order_of(a, texts_[a.text].symbols[a.position + n], b, texts_[b.text].symbols[b.position + n], n);
  }

  // The far LCP of two suffixes of the first text.
  uint32_t far_lcp(uint32_t before, uint32_t position) const {
    const DocumentText<Sym>& text = texts_.front();
    const LongKey a = long_key(text.symbols + before, text.size - before);
    return std::min(common_bits(a, long_key(text.symbols + position, text.size - position)), kMostFarLcp);
  }

  uint32_t checked_position(uint32_t input, uint64_t row) const {
    const uint32_t position = inputs_[input].rows[row];
    if (__builtin_expect(position >= texts_[input].size, 0)) {
      throw CorruptPointer{inputs_[input].file, row, position, texts_[input].size};
    }
    return position;
  }

  static bool wants(const uint64_t* wanted, uint32_t position) {
    const uint32_t block = position / kWantedBlock;
    return (wanted[block / 64] >> (block % 64) & 1) != 0;
  }

  // Returns true if a position remains, and sets its number among those.
  bool stays(uint32_t input, uint32_t position, uint32_t* number) const {
    const uint64_t base = bases_[input];
    const uint64_t* const wanted = inputs_[input].wanted;
    if (wanted != nullptr && !wants(wanted, position)) return false;
    if (kept_[input] == nullptr) {
      *number = static_cast<uint32_t>(base + position);
      return true;
    }
    const KeptPositions& kept = *kept_[input];
    const uint32_t moved = kept.moved(position);
    if (moved < KeptPositions::kMixed) {
      *number = static_cast<uint32_t>(base + position - moved);
      return true;
    }
    if (moved == KeptPositions::kGone || !kept.has(position)) return false;
    *number = static_cast<uint32_t>(base + kept.rank(position));
    return true;
  }

  // If documents are removed, prefetches, one per row, the flags that decide which rows of the next block remain.
  void fetch_ahead(const Cursor& c) const {
    const uint64_t row = c.next + c.at;
    if (kept_[c.input] == nullptr || row >= c.end) return;
    const uint32_t position = inputs_[c.input].rows[row];
    if (position < texts_[c.input].size) kept_[c.input]->prefetch(position);
  }

  // merge() with only one input, whose rows keep their order.
  void filter(uint64_t chunk, uint64_t first_row, uint32_t* out, uint64_t n_rows, uint32_t lcp_width, uint8_t* lcps,
              uint64_t* tree, uint64_t* rest, StopFlag stop);
  void take_rows(Cursor& c, uint32_t most, StopFlag stop) const;
  void take_wanted_rows(Cursor& c, uint32_t most, StopFlag stop) const;
  void fill(Cursor& c, Matches& matches, StopFlag stop) const;
  template <class Emit>
  void merge_rows(const std::vector<uint64_t>& first, const std::vector<uint64_t>& end, Matches& matches, StopFlag stop,
                  Emit emit) const;
  int64_t lcp_with_before(const std::vector<uint64_t>& first, SuffixPlace suffix, Matches& matches) const;
  void read_windows(Cursor& c) const;
  void fetch_texts(const Cursor& c) const;
  void set_lcps(Cursor& c, Matches& matches, int64_t most) const;
  void play(const std::vector<const Ahead*>& heads, Matches& matches, Player& winner, Player& loser) const;
  std::vector<SuffixPlace> candidates(uint64_t step, std::vector<uint64_t>& rows, StopFlag stop) const;
  uint64_t rows_below(Matches& matches, SuffixPlace suffix, uint32_t input, uint64_t from) const;

  const std::vector<MergeInput> inputs_;
  std::vector<DocumentText<Sym>> texts_;
  std::vector<std::unique_ptr<KeptPositions>> kept_;
  std::vector<uint64_t> bases_;  // the beginnings of the texts in the merged one
  std::vector<std::vector<uint64_t>> bounds_;  // the first row of each chunk in each input, and after the last chunk
  std::vector<Ends> ends_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Matches>> spare_;
};

// ---- dividing ---------------------------------------------------------------------------------------------------

// Every step-th row of each input, or the next one after it that stays.
template <class Sym>
std::vector<SuffixPlace> MergeOf<Sym>::candidates(uint64_t step, std::vector<uint64_t>& rows, StopFlag stop) const {
  std::vector<SuffixPlace> found;
  uint64_t looked = 0;
  for (uint32_t j = 0; j < inputs_.size(); ++j) {
    uint64_t row = 0;
    for (uint64_t from = 0; from < inputs_[j].n_rows; from += step) {
      row = std::max(row, from);
      uint32_t position = 0, number = 0;
      for (; row < inputs_[j].n_rows; ++row) {
        if (looked++ % kStopInterval == 0) check_stop(stop);
        position = checked_position(j, row);
        if (stays(j, position, &number)) break;
      }
      if (row == inputs_[j].n_rows) break;
      found.push_back({j, position});
      rows.push_back(row++);
    }
  }
  return found;
}

// The number of an input's rows below a suffix; all rows before `from` are.
template <class Sym>
uint64_t MergeOf<Sym>::rows_below(Matches& matches, SuffixPlace suffix, uint32_t input, uint64_t from) const {
  uint64_t below = from, end = inputs_[input].n_rows;
  while (below < end) {
    const uint64_t row = below + (end - below) / 2;
    if (compare(matches, {input, checked_position(input, row)}, suffix, 0).less) {
      below = row + 1;
    } else {
      end = row;
    }
  }
  return below;
}

template <class Sym>
uint64_t MergeOf<Sym>::plan(uint64_t chunk_rows, StopFlag stop) {
  // So many rows of each chunk are sorted to find the one that begins it.
  constexpr uint64_t kPerChunk = 16;
  uint64_t n_rows = 0;
  for (const MergeInput& input : inputs_) n_rows += input.n_rows;
  const uint64_t n_chunks = std::max<uint64_t>(1, (n_rows + chunk_rows - 1) / chunk_rows);
  bounds_.assign(1, std::vector<uint64_t>(inputs_.size(), 0));
  if (n_chunks > 1) {
    const Borrowed matches(*this);
    std::vector<uint64_t> rows;
    const std::vector<SuffixPlace> places = candidates(std::max<uint64_t>(1, chunk_rows / kPerChunk), rows, stop);
    std::vector<uint32_t> order(places.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    uint32_t n_compared = 0;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (++n_compared % 4096 == 0) check_stop(stop);
      return a != b && compare(matches.get(), places[a], places[b], 0).less;
    });
    uint64_t last = 0;
    for (uint64_t chunk = 1; chunk < n_chunks; ++chunk) {
      check_stop(stop);
      const uint64_t at = order.size() * chunk / n_chunks;
      if (at <= last) continue;
      last = at;
      const SuffixPlace suffix = places[order[at]];
      std::vector<uint64_t> bound;
      for (uint32_t j = 0; j < inputs_.size(); ++j) {
        const uint64_t before = bounds_.back()[j];
        // Damaged rows may be in no order at all.
        bound.push_back(j == suffix.text ? std::max(before, rows[order[at]])
                                         : rows_below(matches.get(), suffix, j, before));
      }
      bounds_.push_back(std::move(bound));
    }
  }
  const uint64_t n_made = bounds_.size();
  bounds_.emplace_back();
  for (const MergeInput& input : inputs_) bounds_.back().push_back(input.n_rows);
  ends_.assign(n_made, Ends());
  return n_made;
}

template <class Sym>
uint64_t MergeOf<Sym>::count(uint64_t chunk, StopFlag stop) {
  constexpr uint64_t kAhead = 32;
  uint64_t n = 0;
  for (uint32_t j = 0; j < inputs_.size(); ++j) {
    const uint64_t start = bounds_[chunk][j], end = bounds_[chunk + 1][j];
    if (kept_[j] == nullptr && inputs_[j].wanted == nullptr) {
      n += end - start;
      continue;
    }
    for (uint64_t row = start; row < end; ++row) {
      if ((row - start) % kStopInterval == 0) check_stop(stop);
      if (kept_[j] != nullptr && row + kAhead < end) kept_[j]->prefetch(inputs_[j].rows[row + kAhead]);
      uint32_t number;
      n += stays(j, checked_position(j, row), &number);
    }
  }
  return n;
}

// ---- merging ----------------------------------------------------------------------------------------------------

// Takes the input's next rows, as many as a block has room for.
//
// Between two neighbours that stay the LCP is the least of those of the rows that do not.
template <class Sym>
void MergeOf<Sym>::take_rows(Cursor& c, uint32_t most, StopFlag stop) const {
  const Rows& rows = inputs_[c.input].rows;
  uint32_t least = most;
  uint64_t n_gone = 0;
  for (; c.size < kBlock && c.next < c.end; ++c.next) {
    Ahead& row = c.block[c.size];
    row.position = checked_position(c.input, c.next);
    least = std::min(least, most > 0 ? rows.lcp(c.next) : 0);
    if (!stays(c.input, row.position, &row.number)) {
      if (++n_gone % kStopInterval == 0) check_stop(stop);
      continue;
    }
    row.lcp = least;
    least = most;
    ++c.size;
  }
}

// The same of an input without removed documents, of which only some rows are wanted. They are few, and which they are
// cannot be predicted: all are written to the block.
template <class Sym>
void MergeOf<Sym>::take_wanted_rows(Cursor& c, uint32_t most, StopFlag stop) const {
  const Rows rows = inputs_[c.input].rows;
  const uint64_t* const wanted = inputs_[c.input].wanted;
  const uint64_t limit = texts_[c.input].size, end = c.end;
  uint64_t next = c.next;
  uint32_t least = most, size = 0;
  for (uint64_t n = 1; size < kBlock && next < end; ++n, ++next) {
    if (n % kStopInterval == 0) check_stop(stop);
    const uint32_t position = rows[next];
    if (__builtin_expect(position >= limit, 0)) throw CorruptPointer{inputs_[c.input].file, next, position, limit};
    if (most > 0) least = std::min(least, rows.lcp(next));
    c.block[size].position = position;
    c.block[size].lcp = least;
    // Written so that it becomes no branch.
    const uint32_t is_wanted = wants(wanted, position);
    least = (least & (is_wanted - 1)) | (most & (0 - is_wanted));
    size += is_wanted;
  }
  c.next = next;
  c.size = size;
}

// Takes the input's next rows, and sets their LCPs.
template <class Sym>
void MergeOf<Sym>::fill(Cursor& c, Matches& matches, StopFlag stop) const {
  const MergeInput& input = inputs_[c.input];
  const uint32_t most = input.has_lcps && input.rows.has_lcps() ? input.rows.most_lcp() : 0;
  c.at = c.size = 0;
  if (input.wanted != nullptr) {
    take_wanted_rows(c, most, stop);
  } else {
    take_rows(c, most, stop);
  }
  if (c.size == 0) return;
  // The rows of the block after the next one, whose texts are prefetched once the next one has been read.
  constexpr uint32_t kPerLine = 64 / sizeof(uint32_t);
  for (uint64_t row = c.next + kBlock; row < std::min(c.next + 2 * kBlock, c.end); row += kPerLine) {
    prefetch_line(input.rows.word(row));
  }
  read_windows(c);
  set_lcps(c, matches, most);
  if (input.in_large_pages) fetch_texts(c);
  c.last = c.block[c.size - 1];
  c.has_last = true;
}

// First a symbol of each cache line, and of the one in which long matches continue, with so few instructions that the
// processor has many reads under way: copying whole windows at once was slower. So were prefetches of whole blocks, after
// which many lines were not there yet when they were read.
template <class Sym>
void MergeOf<Sym>::read_windows(Cursor& c) const {
  const DocumentText<Sym> text = texts_[c.input];
  for (uint32_t i = 0; i < c.size; ++i) {
    const uint64_t first = c.block[i].position, end = text.size - 1;
    const Sym x = text.symbols[first], y = text.symbols[std::min(first + kWindow<Sym> - 1, end)],
              z = text.symbols[std::min(first + 2 * kWindow<Sym> - 1, end)];
    asm volatile("" : : "r"(x), "r"(y), "r"(z));
  }
  for (uint32_t i = 0; i < c.size; ++i) text.copy_window(c.block[i].position, c.block[i].window);
}

// Asks for what read_windows() reads of the next block. All of that, of all inputs, is too much for the first cache. First
// a line of each row: that its page is looked up takes longest, and many can be at the same time.
template <class Sym>
void MergeOf<Sym>::fetch_texts(const Cursor& c) const {
  const DocumentText<Sym> text = texts_[c.input];
  const Rows& rows = inputs_[c.input].rows;
  const uint64_t n = std::min<uint64_t>(c.end - c.next, kBlock), end = text.size - 1;
  uint64_t positions[kBlock];
  for (uint64_t i = 0; i < n; ++i) positions[i] = std::min<uint64_t>(rows[c.next + i], end);
  for (uint64_t i = 0; i < n; ++i) prefetch_line_to_second_cache(text.symbols + positions[i]);
  for (uint64_t i = 0; i < n; ++i) {
    for (const uint64_t ahead : {kWindow<Sym> - 1, 2 * kWindow<Sym> - 1}) {
      prefetch_line_to_second_cache(text.symbols + std::min(positions[i] + ahead, end));
    }
  }
}

// For rows whose LCP is a lower bound: windows, and then the texts that these do not decide, fetched in the meantime.
template <class Sym>
void MergeOf<Sym>::set_lcps(Cursor& c, Matches& matches, int64_t most) const {
  const DocumentText<Sym>& text = texts_[c.input];
  uint32_t left[kBlock], n_left = 0;
  if (!c.has_last) c.block[0].lcp = 0;  // unknown
  for (uint32_t i = c.has_last ? 0 : 1; i < c.size; ++i) {
    Ahead& row = c.block[i];
    if (row.lcp != most) continue;
    const Ahead& before = i > 0 ? c.block[i - 1] : c.last;
    const uint32_t n = first_stop_window(before.window, row.window);
    if (n < kWindow<Sym>) {
      row.lcp = order_of({c.input, before.position}, before.window[n], {c.input, row.position}, row.window[n], n).lcp;
      continue;
    }
    left[n_left++] = i;
    for (const uint64_t position : {before.position, row.position}) {
      prefetch_line(text.symbols + std::min(position + kWindow<Sym>, text.size - 1));
    }
  }
  for (uint32_t k = 0; k < n_left; ++k) {
    Ahead& row = c.block[left[k]];
    const Ahead& before = left[k] > 0 ? c.block[left[k] - 1] : c.last;
    row.lcp = compare(matches, {c.input, before.position}, {c.input, row.position}, kWindowBits).lcp;
  }
}

// Lets the smaller one of two inputs' next rows win; the other one's LCP is that with the winner afterwards.
template <class Sym>
inline void MergeOf<Sym>::play(const std::vector<const Ahead*>& heads, Matches& matches, Player& winner,
                               Player& loser) const {
  if (winner.lcp != loser.lcp) {
    if (winner.lcp < loser.lcp) std::swap(winner, loser);
    return;
  }
  if (winner.lcp == kOver) return;
  if (winner.lcp == kEqual) {
    if (loser.run < winner.run) std::swap(winner, loser);
    return;
  }
  const Ahead &a = *heads[winner.run], &b = *heads[loser.run];
  const SuffixPlace place_a{winner.run, a.position}, place_b{loser.run, b.position};
  const uint32_t n = first_stop_window(a.window, b.window);
  const Order order = __builtin_expect(n < kWindow<Sym>, 1)
                          ? order_of(place_a, a.window[n], place_b, b.window[n], n)
                          : compare(matches, place_a, place_b, std::max(winner.lcp, kWindowBits));
  if (!order.less) std::swap(winner, loser);
  loser.lcp = order.lcp;
}

// Text is read for the directory, and where less of an LCP is known than the new rows have.
template <class Sym>
void MergeOf<Sym>::filter(uint64_t chunk, uint64_t first_row, uint32_t* out, uint64_t n_rows, uint32_t lcp_width,
                          uint8_t* lcps, uint64_t* tree, uint64_t* rest, StopFlag stop) {
  constexpr uint64_t kAhead = 32;
  const MergeInput& input = inputs_.front();
  const DocumentText<Sym>& text = texts_.front();
  const KeptPositions* kept = kept_.front().get();
  // Far LCPs are known as far as new ones reach.
  const uint8_t* const beside = input.rows.lcp_bytes(0);
  const uint32_t known = beside != nullptr ? kMostFarLcp : input.rows.has_lcps() ? input.rows.most_lcp() : 0;
  const uint32_t most = lcps != nullptr ? kMostFarLcp : most_lcp(lcp_width);
  const uint64_t shift = 32 - lcp_width, start = bounds_[chunk].front(), end = bounds_[chunk + 1].front();
  Ends& ends = ends_[chunk];
  Key last{0, 0};
  uint32_t last_position = 0;
  uint32_t least = known;
  uint64_t written = 0;
  for (uint64_t i = start; i < end; ++i) {
    if ((i - start) % kStopInterval == 0) check_stop(stop);
    if (i + kAhead < end) {
      const uint32_t ahead = input.rows[i + kAhead];
      if (kept != nullptr) kept->prefetch(ahead);
      if (known < most && ahead < text.size) prefetch_line(text.symbols + ahead);
    }
    const uint32_t position = checked_position(0, i);
    if (known > 0) least = std::min(least, beside != nullptr ? beside[i] : input.rows.lcp(i));
    uint32_t number;
    if (!stays(0, position, &number)) continue;
    if (__builtin_expect(written >= n_rows, 0)) throw CorruptPointer{input.file, i, position, n_rows};
    const bool is_sampled = (first_row + written) % kRowsPerSample == 0;
    uint32_t lcp = written == 0 ? 0 : least;  // of the first one, join() finds it
    if (lcps != nullptr) {
      if (least == known && known < most && written > 0) lcp = far_lcp(last_position, position);
      lcps[written] = static_cast<uint8_t>(lcp);
    }
    const bool is_read = is_sampled || (lcps == nullptr && known < most);
    const Key key = is_read ? key_at(text.symbols, text.size, position) : Key{0, 0};
    if (lcps == nullptr && least == known && known < most && written > 0) lcp = common_bits(last, key);
    out[written] =
        static_cast<uint32_t>(number | static_cast<uint64_t>(lcps != nullptr ? 0 : std::min(lcp, most)) << shift);
    if (is_sampled) {
      tree[(first_row + written) / kRowsPerSample] = key.first;
      rest[(first_row + written) / kRowsPerSample] = key.rest;
    }
    if (written == 0) ends.first = {0, position};
    last = key;
    last_position = position;
    least = known;
    ++written;
  }
  ends.some = written > 0;
  ends.last = {0, last_position};
  if (written != n_rows) throw CorruptPointer{input.file, written, written, n_rows};
}

template <class Sym>
void MergeOf<Sym>::merge(uint64_t chunk, uint64_t first_row, uint32_t* out, uint64_t n_rows, uint32_t lcp_width,
                         uint8_t* lcps, uint64_t* tree, uint64_t* rest, StopFlag stop) {
  if (inputs_.size() == 1 && inputs_.front().has_lcps) {
    filter(chunk, first_row, out, n_rows, lcp_width, lcps, tree, rest, stop);
    return;
  }
  const Borrowed borrowed(*this);
  const uint64_t shift = 32 - lcp_width;
  const int64_t most = most_lcp(lcp_width);
  Ends& ends = ends_[chunk];
  uint64_t written = 0;
  merge_rows(bounds_[chunk], bounds_[chunk + 1], borrowed.get(), stop, [&](const Cursor& c, const Ahead& row, int64_t lcp) {
    if (__builtin_expect(written >= n_rows, 0)) {
      throw CorruptPointer{inputs_[c.input].file, c.next, row.position, n_rows};
    }
    out[written] = static_cast<uint32_t>(row.number | static_cast<uint64_t>(std::min(lcp, most)) << shift);
    if (lcps != nullptr) lcps[written] = static_cast<uint8_t>(std::min<int64_t>(lcp, kMostFarLcp));
    if ((first_row + written) % kRowsPerSample == 0) {
      const uint64_t sample = (first_row + written) / kRowsPerSample;
      const Key key = key_at(row.window, kWindow<Sym>, 0);
      tree[sample] = key.first;
      rest[sample] = key.rest;
    }
    ends.last = {c.input, row.position};
    if (written == 0) ends.first = ends.last;
    ++written;
    return true;
  });
  ends.some = written > 0;
  if (written != n_rows) throw CorruptPointer{inputs_.front().file, written, written, n_rows};
}

// Calls emit(cursor, row, LCP with the row before) for the inputs' rows [first, end) in their order while it returns
// true; the first one's LCP is 0.
template <class Sym>
template <class Emit>
void MergeOf<Sym>::merge_rows(const std::vector<uint64_t>& first, const std::vector<uint64_t>& end, Matches& matches,
                              StopFlag stop, Emit emit) const {
  const uint32_t n_runs = static_cast<uint32_t>(inputs_.size());
  std::vector<Cursor> cursors(n_runs);
  std::vector<const Ahead*> heads(n_runs);
  // At first the players of all games, then only the losers: those of the games of 2i and 2i + 1 at i.
  std::vector<Player> players(2 * size_t{n_runs});
  for (uint32_t j = 0; j < n_runs; ++j) {
    players[n_runs + j].run = j;
    Cursor& c = cursors[j];
    c.input = j;
    c.next = first[j];
    c.end = end[j];
    fill(c, matches, stop);
    heads[j] = c.block;
    if (c.size > 0) players[n_runs + j].lcp = 0;
  }
  for (uint32_t i = n_runs - 1; i > 0; --i) {
    players[i] = players[2 * i];
    play(heads, matches, players[i], players[2 * i + 1]);
  }
  Player winner = players[1];
  for (uint32_t i = 1; i < n_runs; ++i) players[i] = players[2 * i + 1];  // where losers were left

  for (uint64_t n = 0; winner.lcp != kOver; ++n) {
    if (n % kStopInterval == 0) check_stop(stop);
    Cursor& c = cursors[winner.run];
    if (!emit(c, *heads[winner.run], winner.lcp)) return;
    fetch_ahead(c);
    if (++c.at == c.size) fill(c, matches, stop);
    heads[winner.run] = c.block + c.at;
    winner.lcp = c.size > 0 ? c.block[c.at].lcp : kOver;
    for (uint32_t i = (n_runs + winner.run) / 2; i > 0; i /= 2) play(heads, matches, winner, players[i]);
  }
}

// The LCP of a suffix with the largest of the rows before `first`, all of which are smaller.
template <class Sym>
int64_t MergeOf<Sym>::lcp_with_before(const std::vector<uint64_t>& first, SuffixPlace suffix, Matches& matches) const {
  int64_t lcp = 0;
  for (uint32_t j = 0; j < inputs_.size(); ++j) {
    if (first[j] == 0) continue;
    lcp = std::max(lcp, compare(matches, {j, checked_position(j, first[j] - 1)}, suffix, 0).lcp);
  }
  return lcp;
}

template <class Sym>
void MergeOf<Sym>::read(uint64_t chunk, RowReader& reader, StopFlag stop) {
  const Borrowed borrowed(*this);
  Matches& matches = borrowed.get();
  const std::vector<uint64_t>& first = bounds_[chunk];
  bool is_first = true;
  merge_rows(first, bounds_.back(), matches, stop, [&](const Cursor& c, const Ahead& row, int64_t lcp) {
    if (is_first) lcp = lcp_with_before(first, {c.input, row.position}, matches);
    is_first = false;
    return reader.row(c.input, row.position, lcp);
  });
}

}  // namespace ngramdb
