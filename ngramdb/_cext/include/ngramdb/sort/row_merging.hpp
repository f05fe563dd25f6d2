// Merging the suffix arrays of several texts into that of all of them, one after the other: row for row what sorting
// would make, with LCPs and directory, at the cost of a few comparisons a row and in the memory of what is being written.
//
// A tournament of the inputs' next rows, a tree of losers. Each row has a code that says how it goes on after the row that
// was written last (row_codes.hpp), so that most games compare two integers, without a branch that cannot be predicted.
// Where codes are equal, and between neighbours in one input, the first symbols of the rows are compared
// (first_symbols.hpp), which are copied from the text a block at a time: the places that will be read are known far
// ahead and are fetched. Matches of any length are compared in passing (suffix_matches.hpp).
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

#include "ngramdb/segment/filtering.hpp"
#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/segment/sampled_keys.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/segment/row_lcps.hpp"
#include "ngramdb/segment/rows.hpp"
#include "ngramdb/segment/segment.hpp"
#include "ngramdb/sort/first_symbols.hpp"
#include "ngramdb/sort/row_codes.hpp"
#include "ngramdb/sort/suffix_matches.hpp"

namespace ngramdb {

// One text and its suffix array, whose symbols mean the same in all inputs.
struct MergeInput {
  const void* text = nullptr;  // documents, each followed by a separator (0)
  uint64_t n_text = 0;
  Rows rows;
  uint64_t n_rows = 0;
  bool has_lcps = true;  // whether the LCPs of its rows are of these symbols
  // Documents: where they begin, and which of them stay; null if all do.
  const uint32_t* starts = nullptr;
  const uint8_t* kept = nullptr;
  uint64_t n_documents = 0;
  std::string file;  // what errors call it
};

// A merge, whatever the width of symbols. First plan(), then count() for every chunk, then merge() for every chunk and
// join() for every chunk but the first; each of these in any thread, count() and merge() of different chunks at once.
class RowMerge {
 public:
  virtual ~RowMerge() = default;

  // Divides the work into chunks of about so many rows; returns how many there are.
  virtual uint64_t plan(uint64_t chunk_rows, StopFlag stop) = 0;
  // How many rows of the chunk stay.
  virtual uint64_t count(uint64_t chunk, StopFlag stop) = 0;
  // Writes the chunk's `n_rows` rows, which begin at row `first_row` of all, and those of their keys that the directory
  // has into level 0 of `tree`, and into `rest`.
  virtual void merge(uint64_t chunk, uint64_t first_row, uint32_t* out, uint64_t n_rows, uint32_t lcp_width,
                     uint64_t* tree, uint64_t* rest, StopFlag stop) = 0;
  // The first of an input's rows in a chunk; behind the last chunk, their number.
  virtual uint64_t bound(uint64_t chunk, uint32_t input) const = 0;
  // The LCP of a chunk's first row with the last row of the one before, both of which have been made.
  virtual uint32_t joint(uint64_t chunk, uint32_t lcp_width) = 0;

  // How often a symbol of a text was compared with another one, beyond the first ones of rows.
  uint64_t n_compared() const { return n_compared_; }

 protected:
  std::atomic<uint64_t> n_compared_{0};
};

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
  void merge(uint64_t chunk, uint64_t first_row, uint32_t* out, uint64_t n_rows, uint32_t lcp_width, uint64_t* tree,
             uint64_t* rest, StopFlag stop) override;

  uint64_t bound(uint64_t chunk, uint32_t input) const override { return bounds_[chunk][input]; }

  uint32_t joint(uint64_t chunk, uint32_t lcp_width) override {
    const Ends &before = ends_[chunk - 1], &after = ends_[chunk];
    if (!before.some || !after.some) return 0;
    const Borrowed matches(*this);
    const Order order = compare(matches.get(), before.last, after.first);
    return static_cast<uint32_t>(std::min<int64_t>(order.lcp, most_lcp(lcp_width)));
  }

 private:
  using Matches = SuffixMatches<Sym>;
  static constexpr uint32_t kSymbolBits = 8 * sizeof(Sym);
  // LCP, in bits, of suffixes that are equal.
  static constexpr int64_t kEqual = INT64_MAX;
  // Rows that an input looks ahead: 5 KB of symbols and codes.
  static constexpr uint32_t kBlock = 64;

  // The first row of a chunk in each input, and the first and last row that it made.
  struct Ends {
    bool some = false;
    SuffixPlace first, last;
  };

  // What two suffixes have in common, and whether the first one is smaller.
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

  // A row on its way: its first symbols, its position, its position among what stays, and its code after the row before
  // in the same input. `n_words` are the words that its latest code counts, all of them.
  struct Ahead {
    FirstSymbols<Sym> symbols;
    uint64_t code;
    uint32_t position;
    uint32_t number;
    uint32_t n_words;
  };

  // An input within a chunk.
  struct Cursor {
    uint32_t input = 0;
    uint64_t next = 0, end = 0;  // rows that are not yet in the block
    uint32_t at = 0, size = 0;   // the next one of the block
    bool has_last = false;
    Ahead last;               // of the block before
    Ahead block[kBlock + 1];  // with one that says that the input is over
  };

  // Two suffixes: whether they are equal; whether the first one is smaller (of equal ones, the one of the earlier
  // input); how many words they share, and the next word of the larger one, where they are not equal.
  struct WordOrder {
    bool equal;
    bool less;
    uint64_t n_words;
    uint64_t next;
  };

  // Compares two suffixes, whatever they have in common.
  Order compare(Matches& matches, SuffixPlace a, SuffixPlace b) const {
    uint64_t n = 0;
    if (!matches.common(a, b, 0, &n)) {
      throw CorruptPointer{inputs_[a.text].file, a.position, a.position, texts_[a.text].size};
    }
    const Sym x = texts_[a.text].symbols[a.position + n], y = texts_[b.text].symbols[b.position + n];
    if (x == y) return {kEqual, a.text != b.text ? a.text < b.text : a.position < b.position};
    const uint32_t differ = static_cast<uint32_t>(x ^ y);
    const uint32_t same = static_cast<uint32_t>(__builtin_clz(differ)) - (32 - kSymbolBits);
    return {static_cast<int64_t>(n * kSymbolBits + same), x < y};
  }

  uint32_t checked_position(uint32_t input, uint64_t row) const {
    const uint32_t position = inputs_[input].rows[row];
    if (__builtin_expect(position >= texts_[input].size, 0)) {
      throw CorruptPointer{inputs_[input].file, row, position, texts_[input].size};
    }
    return position;
  }

  // Whether a position stays, and its number among those.
  bool stays(uint32_t input, uint32_t position, uint32_t* number) const {
    const uint64_t base = bases_[input];
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

  // Fetches the text of the rows of the next block: it comes while this one is being merged.
  void fetch_next(const Cursor& c) const {
    const DocumentText<Sym>& text = texts_[c.input];
    const uint64_t stop = std::min(c.next + kBlock, c.end);
    for (uint64_t row = c.next; row < stop; ++row) {
      const uint32_t position = inputs_[c.input].rows[row];
      if (position >= text.size) return;
      FirstSymbols<Sym>::prefetch(text.symbols, text.size, position);
      if (kept_[c.input] != nullptr) kept_[c.input]->prefetch(position);
    }
  }

  WordOrder compare_beyond(Matches& matches, uint32_t input_a, uint32_t position_a, uint32_t input_b,
                           uint32_t position_b, uint64_t known) const;
  // Compares two rows that share `known` words at least.
  WordOrder compare_words(Matches& matches, uint32_t input_a, const Ahead& a, uint32_t input_b, const Ahead& b,
                          uint64_t known) const {
    const uint32_t same = FirstSymbols<Sym>::common_words(a.symbols, b.symbols);
    if (__builtin_expect(same < FirstSymbols<Sym>::kWords, 1)) {
      const uint64_t word_a = a.symbols.word(same), word_b = b.symbols.word(same);
      return {false, word_a < word_b, same, std::max(word_a, word_b)};
    }
    if (a.symbols.has_end()) return {true, input_a <= input_b, 0, 0};
    return compare_beyond(matches, input_a, a.position, input_b, b.position, known);
  }

  // What merge() does with one input only, whose rows stay in their order.
  void filter(uint64_t chunk, uint64_t first_row, uint32_t* out, uint64_t n_rows, uint32_t lcp_width, uint64_t* tree,
              uint64_t* rest, StopFlag stop);
  void fill(Cursor& c, const RowCodes& codes, Matches& matches, StopFlag stop) const;
  uint64_t settle(std::vector<Cursor>& cursors, const RowCodes& codes, Matches& matches, uint64_t& winner,
                  uint64_t other) const;
  std::vector<SuffixPlace> candidates(uint64_t step, std::vector<uint64_t>& rows, StopFlag stop) const;
  uint64_t rows_below(Matches& matches, SuffixPlace suffix, uint32_t input, uint64_t from) const;

  const std::vector<MergeInput> inputs_;
  std::vector<DocumentText<Sym>> texts_;
  std::vector<std::unique_ptr<KeptPositions>> kept_;
  std::vector<uint64_t> bases_;                // where the texts begin in the merged one
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

// How many rows of an input are below a suffix; none before `from` is not.
template <class Sym>
uint64_t MergeOf<Sym>::rows_below(Matches& matches, SuffixPlace suffix, uint32_t input, uint64_t from) const {
  uint64_t below = from, end = inputs_[input].n_rows;
  while (below < end) {
    const uint64_t row = below + (end - below) / 2;
    if (compare(matches, {input, checked_position(input, row)}, suffix).less) {
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
      return a != b && compare(matches.get(), places[a], places[b]).less;
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
    if (kept_[j] == nullptr) {
      n += end - start;
      continue;
    }
    for (uint64_t row = start; row < end; ++row) {
      if ((row - start) % kStopInterval == 0) check_stop(stop);
      if (row + kAhead < end) kept_[j]->prefetch(inputs_[j].rows[row + kAhead]);
      uint32_t number;
      n += stays(j, checked_position(j, row), &number);
    }
  }
  return n;
}

// ---- merging ----------------------------------------------------------------------------------------------------

// Compares two suffixes whose first symbols are the same.
template <class Sym>
typename MergeOf<Sym>::WordOrder MergeOf<Sym>::compare_beyond(Matches& matches, uint32_t input_a, uint32_t position_a,
                                                              uint32_t input_b, uint32_t position_b,
                                                              uint64_t known) const {
  const DocumentText<Sym>&text_a = texts_[input_a], &text_b = texts_[input_b];
  constexpr uint32_t per_word = symbols_per_word<Sym>();
  const uint64_t from = std::max<uint64_t>(known, FirstSymbols<Sym>::kWords) * per_word;
  uint64_t n = 0;
  if (!matches.common({input_a, position_a}, {input_b, position_b}, from, &n)) {
    throw CorruptPointer{inputs_[input_a].file, position_a, position_a, text_a.size};
  }
  if (text_a.symbols[position_a + n] == text_b.symbols[position_b + n]) return {true, input_a <= input_b, 0, 0};
  const uint64_t n_words = n / per_word, at = n_words * per_word;
  const uint64_t word_a = pack_suffix(text_a.symbols + position_a + at, text_a.size - position_a - at).first;
  const uint64_t word_b = pack_suffix(text_b.symbols + position_b + at, text_b.size - position_b - at).first;
  return {false, word_a < word_b, n_words, std::max(word_a, word_b)};
}

// Takes the input's next rows, as many as a block has room for, and sets their codes.
template <class Sym>
void MergeOf<Sym>::fill(Cursor& c, const RowCodes& codes, Matches& matches, StopFlag stop) const {
  const DocumentText<Sym>& text = texts_[c.input];
  c.at = c.size = 0;
  uint64_t n_gone = 0;
  for (; c.size < kBlock && c.next < c.end; ++c.next) {
    Ahead& row = c.block[c.size];
    row.position = checked_position(c.input, c.next);
    if (stays(c.input, row.position, &row.number)) {
      ++c.size;
    } else if (++n_gone % kStopInterval == 0) {
      check_stop(stop);
    }
  }
  for (uint32_t i = 0; i < c.size; ++i) c.block[i].symbols.read(text.symbols, text.size, c.block[i].position);
  const uint32_t run = c.input;
  for (uint32_t i = 0; i < c.size; ++i) {
    Ahead& row = c.block[i];
    if (__builtin_expect(i == 0 && !c.has_last, 0)) {
      row.code = codes.of(0, row.symbols.word(0), run);
      row.n_words = 0;
      continue;
    }
    const WordOrder order = compare_words(matches, run, i > 0 ? c.block[i - 1] : c.last, run, row, 0);
    // Rows that are out of order are damaged: they get some place.
    row.code = order.equal ? codes.equal(run) : codes.of(order.n_words, order.next, run);
    row.n_words = static_cast<uint32_t>(order.n_words);
  }
  c.block[c.size].code = codes.over(run);
  if (c.size > 0) {
    c.last = c.block[c.size - 1];
    c.has_last = true;
  }
  fetch_next(c);
}

// Finds the smaller one of two rows whose codes are the same; returns the other one's code after it.
template <class Sym>
__attribute__((noinline)) uint64_t MergeOf<Sym>::settle(std::vector<Cursor>& cursors, const RowCodes& codes,
                                                        Matches& matches, uint64_t& winner, uint64_t other) const {
  if (RowCodes::is_over(winner) || RowCodes::is_equal(winner)) {
    if (other < winner) std::swap(winner, other);
    return other;
  }
  Cursor &cursor_a = cursors[codes.run_of(winner)], &cursor_b = cursors[codes.run_of(other)];
  Ahead &a = cursor_a.block[cursor_a.at], &b = cursor_b.block[cursor_b.at];
  // More words than codes count.
  if (__builtin_expect(a.n_words != b.n_words, 0)) {
    if (a.n_words < b.n_words) std::swap(winner, other);
    return other;
  }
  const WordOrder order = compare_words(matches, cursor_a.input, a, cursor_b.input, b, a.n_words);
  if (!order.less) std::swap(winner, other);
  (order.less ? b : a).n_words = static_cast<uint32_t>(order.n_words);
  const uint32_t run = codes.run_of(other);
  return order.equal ? codes.equal(run) : codes.of(order.n_words, order.next, run);
}

// Text is read for the directory, and where the old rows hold less of an LCP than the new ones do.
template <class Sym>
void MergeOf<Sym>::filter(uint64_t chunk, uint64_t first_row, uint32_t* out, uint64_t n_rows, uint32_t lcp_width,
                          uint64_t* tree, uint64_t* rest, StopFlag stop) {
  constexpr uint64_t kAhead = 32;
  const Borrowed borrowed(*this);
  const MergeInput& input = inputs_.front();
  const DocumentText<Sym>& text = texts_.front();
  const KeptPositions* kept = kept_.front().get();
  const uint32_t known_width = input.rows.lcp_width(), known = most_lcp(known_width), most = most_lcp(lcp_width);
  const uint64_t shift = 32 - lcp_width, start = bounds_[chunk].front(), end = bounds_[chunk + 1].front();
  Ends& ends = ends_[chunk];
  Key last_key{}, key{};
  uint32_t least = known, last = 0, number = 0;
  uint64_t written = 0;
  for (uint64_t i = start; i < end; ++i) {
    if ((i - start) % kStopInterval == 0) check_stop(stop);
    if (i + kAhead < end) {
      const uint32_t ahead = input.rows[i + kAhead];
      if (kept != nullptr) kept->prefetch(ahead);
      if (known < most && ahead < text.size) prefetch_line(text.symbols + ahead);
    }
    const uint32_t position = checked_position(0, i);
    if (known_width > 0) least = std::min(least, *input.rows.word(i) >> (32 - known_width));
    if (!stays(0, position, &number)) continue;
    if (__builtin_expect(written >= n_rows, 0)) throw CorruptPointer{input.file, i, position, n_rows};
    const bool is_sampled = (first_row + written) % kRowsPerSample == 0;
    if (known < most || is_sampled) key = key_at(text.symbols, text.size, position);
    uint32_t lcp = written == 0 ? 0 : least;  // of the first one, join() finds it
    if (least == known && known < most && written > 0) lcp = common_bits(last_key, key);
    out[written] = static_cast<uint32_t>(number | static_cast<uint64_t>(std::min(lcp, most)) << shift);
    if (is_sampled) {
      tree[(first_row + written) / kRowsPerSample] = key.first;
      rest[(first_row + written) / kRowsPerSample] = key.rest;
    }
    if (written == 0) ends.first = {0, position};
    last = position;
    last_key = key;
    least = known;
    ++written;
  }
  ends.some = written > 0;
  ends.last = {0, last};
  if (written != n_rows) throw CorruptPointer{input.file, written, written, n_rows};
}

template <class Sym>
void MergeOf<Sym>::merge(uint64_t chunk, uint64_t first_row, uint32_t* out, uint64_t n_rows, uint32_t lcp_width,
                         uint64_t* tree, uint64_t* rest, StopFlag stop) {
  if (inputs_.size() == 1 && inputs_.front().has_lcps) {
    filter(chunk, first_row, out, n_rows, lcp_width, tree, rest, stop);
    return;
  }
  const Borrowed borrowed(*this);
  Matches& matches = borrowed.get();
  const uint32_t n_runs = static_cast<uint32_t>(inputs_.size());
  uint32_t run_bits = 0;
  while (n_runs > uint64_t{1} << run_bits) ++run_bits;
  const uint32_t n_leaves = 1u << run_bits;
  const RowCodes codes(run_bits);
  std::vector<Cursor> cursors(n_runs);
  // At first the codes of all games, then of the losers only: those of the games of 2i and 2i + 1 at i.
  std::vector<uint64_t> losers(2 * size_t{n_leaves});
  for (uint32_t j = 0; j < n_leaves; ++j) {
    losers[n_leaves + j] = codes.over(j);
    if (j >= n_runs) continue;
    Cursor& c = cursors[j];
    c.input = j;
    c.next = bounds_[chunk][j];
    c.end = bounds_[chunk + 1][j];
    fetch_next(c);
  }
  for (uint32_t j = 0; j < n_runs; ++j) {
    fill(cursors[j], codes, matches, stop);
    losers[n_leaves + j] = cursors[j].block[0].code;
  }
  std::vector<uint64_t> winners(losers);
  for (uint32_t i = n_leaves - 1; i > 0; --i) {
    const uint64_t a = winners[2 * i], b = winners[2 * i + 1];
    winners[i] = std::min(a, b);
    losers[i] = codes.same(a, b) ? settle(cursors, codes, matches, winners[i], std::max(a, b)) : std::max(a, b);
  }
  uint64_t winner = winners[1];

  const uint64_t shift = 32 - lcp_width;
  const uint32_t most = most_lcp(lcp_width);
  Ends& ends = ends_[chunk];
  uint64_t written = 0;
  Key before{};
  for (; !RowCodes::is_over(winner); ++written) {
    if (written % kStopInterval == 0) check_stop(stop);
    Cursor& c = cursors[codes.run_of(winner)];
    const Ahead& row = c.block[c.at];
    if (__builtin_expect(written >= n_rows, 0)) {
      throw CorruptPointer{inputs_[c.input].file, c.next, row.position, n_rows};
    }
    const Key key{row.symbols.word(0), row.symbols.word(1)};
    const uint64_t lcp = written > 0 ? std::min(common_bits(before, key), most) : 0;
    before = key;
    out[written] = static_cast<uint32_t>(row.number | lcp << shift);
    if ((first_row + written) % kRowsPerSample == 0) {
      const uint64_t sample = (first_row + written) / kRowsPerSample;
      tree[sample] = key.first;
      rest[sample] = key.rest;
    }
    ends.last = {c.input, row.position};
    if (written == 0) ends.first = ends.last;
    uint32_t i = (n_leaves + codes.run_of(winner)) / 2;
    if (++c.at == c.size) fill(c, codes, matches, stop);
    winner = c.block[c.at].code;
    for (; i > 0; i /= 2) {
      const uint64_t other = losers[i];
      if (__builtin_expect(codes.same(winner, other), 0)) {
        losers[i] = settle(cursors, codes, matches, winner, other);
        continue;
      }
      losers[i] = std::max(winner, other);
      winner = std::min(winner, other);
    }
  }
  ends.some = written > 0;
  if (written != n_rows) throw CorruptPointer{inputs_.front().file, written, written, n_rows};
}

// A merge of texts whose symbols have so many bytes.
inline std::unique_ptr<RowMerge> make_row_merge(uint32_t symbol_bytes, const std::vector<MergeInput>& inputs) {
  if (symbol_bytes == 1) return std::make_unique<MergeOf<uint8_t>>(inputs);
  if (symbol_bytes == 2) return std::make_unique<MergeOf<uint16_t>>(inputs);
  return std::make_unique<MergeOf<uint32_t>>(inputs);
}

}  // namespace ngramdb
