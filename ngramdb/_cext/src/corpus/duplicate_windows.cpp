// Marking repeated windows, for the three widths of symbols.
//
// Suffixes that begin with the same window are neighbours among the rows: they are a class. Rows hold LCPs up to a limit,
// and only those that reach it, or the window's length, are compared in the text (rows.hpp). Over several texts the rows
// are merged on the fly (row_merging.hpp), which finds exact LCPs, at a cache miss or two per row: so only rows of windows
// that may occur twice are merged (window_samples.hpp).
//
// Nothing is kept of a class but its best occurrence so far: when another one arrives, the worse of the two is marked,
// except for what lies within the window of the better one in the same document. That marks the same as comparing each
// with the best one in the end: ranks order documents, and positions within a document, so of three overlapping windows
// the middle one covers what the outer two share.
#include "ngramdb/corpus/duplicate_windows.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/corpus/window_samples.hpp"
#include "ngramdb/segment/segment.hpp"
#include "ngramdb/sort/suffix_matches.hpp"

namespace ngramdb {
namespace {

// Sets bits; several threads may do so at the same time.
inline void or_word(uint64_t* word, uint64_t bits) { __atomic_fetch_or(word, bits, __ATOMIC_RELAXED); }

void set_bits(uint64_t* bits, uint64_t start, uint64_t stop) {
  if (start >= stop) return;
  const uint64_t first = start / 64, last = (stop - 1) / 64;
  const uint64_t from = ~uint64_t{0} << (start % 64), upto = ~uint64_t{0} >> (63 - (stop - 1) % 64);
  if (first == last) {
    or_word(bits + first, from & upto);
    return;
  }
  or_word(bits + first, from);
  for (uint64_t i = first + 1; i < last; ++i) __atomic_store_n(bits + i, ~uint64_t{0}, __ATOMIC_RELAXED);
  or_word(bits + last, upto);
}

// Finds the document of a position: a search among those that begin in the same block.
class DocumentFinder {
 public:
  DocumentFinder(const uint32_t* starts, uint64_t n_documents, uint64_t n_text)
      : starts_(starts), n_(n_documents), first_(n_text / kBlock + 2) {
    uint64_t document = 0;
    for (uint64_t block = 0; block < first_.size(); ++block) {
      while (document + 1 < n_ && starts[document + 1] <= block * kBlock) ++document;
      first_[block] = static_cast<uint32_t>(document);
    }
  }

  uint32_t operator()(uint32_t position) const {
    const uint32_t first = first_[position / kBlock];
    const uint64_t last = std::min<uint64_t>(first_[position / kBlock + 1] + uint64_t{1}, n_);
    return static_cast<uint32_t>(std::upper_bound(starts_ + first + 1, starts_ + last, position) - starts_ - 1);
  }

  uint64_t end_of(uint32_t document) const { return starts_[document + 1] - uint64_t{1}; }

 private:
  static constexpr uint64_t kBlock = 1024;
  const uint32_t* starts_;
  uint64_t n_;
  std::vector<uint32_t> first_;
};

template <class Sym>
class WindowsOf final : public DuplicateWindows {
 public:
  WindowsOf(const std::vector<WindowText>& texts, const WindowRule& rule) : texts_(texts), rule_(rule) {
    std::vector<MergeInput> inputs;
    std::vector<uint64_t*> marks;
    for (const WindowText& text : texts) {
      marks.push_back(text.marks);
      const MergeInput& input = text.input;
      symbols_.push_back({static_cast<const Sym*>(input.text), input.n_text});
      finders_.emplace_back(input.starts, input.n_documents, input.n_text);
      inputs.push_back(input);
    }
    uint64_t heaviest = 1;
    for (uint64_t i = 0; i < rule.n_weights; ++i) heaviest = std::max<uint64_t>(heaviest, rule.weights[i]);
    const uint64_t least = rule.weights == nullptr ? rule.length : (rule.length + heaviest - 1) / heaviest;
    least_bits_ = static_cast<int64_t>(std::min<uint64_t>(least, uint64_t{1} << 32) * 8 * sizeof(Sym));
    if (texts.size() == 1) return;
    const uint64_t length = length_to_sample();
    if (length >= WindowSamples<Sym>::kShortest) {
      samples_ = std::make_unique<WindowSamples<Sym>>(symbols_, marks, length);
      for (uint32_t i = 0; i < inputs.size(); ++i) inputs[i].wanted = samples_->wanted(i);
    }
    merge_ = make_row_merge(sizeof(Sym), inputs);
  }

  uint64_t n_sampled() const override { return samples_ == nullptr ? 0 : texts_.size(); }
  void sample(uint32_t text, StopFlag stop) override { samples_->sample(text, stop); }
  void choose(uint32_t text, StopFlag stop) override {
    samples_->choose(text, stop);
    if (rule_.weights != nullptr) samples_->want_short(text, rule_.weights, rule_.n_weights, rule_.length, stop);
  }

  uint64_t plan(uint64_t n_chunks, StopFlag stop) override {
    uint64_t n_rows = 0;
    for (const WindowText& text : texts_) n_rows += text.input.n_rows;
    if (merge_ != nullptr) return n_chunks_ = merge_->plan(std::max<uint64_t>(1, n_rows / n_chunks + 1), stop);
    return n_chunks_ = std::max<uint64_t>(1, std::min(n_chunks, n_rows / kBlock));
  }

  void mark(uint64_t chunk, StopFlag stop) override {
    Marker marker(*this, stop);
    if (merge_ == nullptr) {
      const uint64_t n_blocks = (texts_.front().input.n_rows + kBlock - 1) / kBlock;
      marker.read(n_blocks * chunk / n_chunks_, n_blocks * (chunk + 1) / n_chunks_, n_blocks);
      return;
    }
    marker.begin(chunk > 0, n_chunks_ > 1 ? merge_->count(chunk, stop) : kUnbounded);
    merge_->read(chunk, marker, stop);
  }

 private:
  static constexpr uint64_t kBlock = kPieceRows;
  static constexpr uint64_t kUnbounded = std::numeric_limits<uint64_t>::max();

  // The number of first symbols by which windows are sampled. By weight some are shorter: half of the usual number.
  uint64_t length_to_sample() const {
    if (rule_.weights == nullptr) return rule_.length;
    constexpr uint64_t kSome = 65536;
    uint64_t n = 1, weight = 1;
    for (const DocumentText<Sym>& text : symbols_) {
      for (uint64_t i = 0; i < std::min(text.size, kSome); ++i, ++n) {
        weight += text.symbols[i] < rule_.n_weights ? rule_.weights[text.symbols[i]] : 0;
      }
    }
    return rule_.length / (2 * weight / n + 1);
  }

  struct Occurrence {
    uint32_t rank;  // of its document
    uint32_t text;
    uint32_t position;
  };

  // Collects the classes of some rows. A class belongs to the chunk in which it begins.
  class Marker final : public RowReader {
   public:
    Marker(const WindowsOf& owner, StopFlag stop) : owner_(owner), stop_(stop), matches_(owner.symbols_) {}

    void begin(bool skips, uint64_t n_rows) {
      skips_ = skips;
      n_rows_ = n_rows;
    }

    bool row(uint32_t text, uint32_t position, int64_t lcp) override {
      const SuffixPlace place{text, position};
      uint64_t length = 0;
      if (lcp >= owner_.least_bits_) length = joins(place, shared_of(place, lcp));
      if (length == 0) {
        length_ = 0;
        skips_ = false;
        if (n_read_ >= n_rows_) return false;
      } else if (!skips_) {
        add(last_, place, length);
      }
      ++n_read_;
      last_ = place;
      return true;
    }

    // Reads the blocks of rows [first, last) of the only text, and the class that reaches beyond.
    void read(uint64_t first, uint64_t last, uint64_t n_blocks) {
      skips_ = first > 0;
      Block now = block_at(first, n_blocks);
      for (uint64_t block = first; block < n_blocks; ++block) {
        if (block % 256 == 0 && stop_ != nullptr) stop_->check(block, n_blocks);
        const Block next = block_at(block + 1, n_blocks);
        if (!read_block(block * kBlock, now, block >= last) && block >= last) return;
        now = next;
      }
    }

   private:
    // Rows of a block that may be in a class with the row before: bits, and the number of rows.
    struct Block {
      uint64_t candidates = 0;
      uint32_t n = 0;
    };

    // Also prefetches their texts.
    Block block_at(uint64_t block, uint64_t n_blocks) const {
      if (block >= n_blocks) return {};
      const MergeInput& input = owner_.texts_.front().input;
      const Rows& rows = input.rows;
      const uint64_t first = block * kBlock;
      const uint32_t n = static_cast<uint32_t>(std::min<uint64_t>(kBlock, input.n_rows - first));
      const bool known = input.has_lcps && rows.has_lcps();
      const uint32_t bits = known ? static_cast<uint32_t>(std::min<int64_t>(owner_.least_bits_, rows.most_lcp())) : 0;
      uint64_t candidates = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
      if (known) candidates &= ~lcps_below(rows, first, n, bits);
      if (first == 0) candidates &= ~uint64_t{1};
      const Sym* const text = owner_.symbols_.front().symbols;
      const uint64_t end = input.n_text - 1;
      // Rows that are compared with the next one are read as well.
      const bool before = (candidates & 1) != 0;
      for (uint64_t needed = candidates | candidates >> 1; needed != 0; needed &= needed - 1) {
        prefetch_line(text + std::min<uint64_t>(rows[first + static_cast<uint32_t>(__builtin_ctzll(needed))], end));
      }
      if (before) prefetch_line(text + std::min<uint64_t>(rows[first - 1], end));
      return {candidates, n};
    }

    // Returns true if the block's last row is in a class. `to_end`: only the class in progress counts.
    bool read_block(uint64_t first, const Block& block, bool to_end) {
      const Rows& rows = owner_.texts_.front().input.rows;
      uint64_t next = first;  // the row after the last one that was compared
      for (uint64_t left = block.candidates; left != 0; left &= left - 1) {
        const uint64_t row = first + static_cast<uint32_t>(__builtin_ctzll(left));
        if (row != next && !leave(to_end)) return false;
        next = row + 1;
        const SuffixPlace before{0, checked(row - 1, rows)}, place{0, checked(row, rows)};
        const uint64_t length = joins(before, shared(before, place));
        if (length == 0) {
          if (!leave(to_end)) return false;
        } else if (!skips_) {
          add(before, place, length);
        }
      }
      if (next != first + block.n) leave(to_end);
      return length_ != 0;
    }

    // The end of a class, and of what was skipped. Returns false if nothing is to be read after it.
    bool leave(bool to_end) {
      length_ = 0;
      skips_ = false;
      return !to_end;
    }

    uint32_t checked(uint64_t row, const Rows& rows) const {
      const uint32_t position = rows[row];
      const uint64_t limit = owner_.symbols_.front().size;
      if (__builtin_expect(position >= limit, 0)) {
        throw CorruptPointer{owner_.texts_.front().input.file, row, position, limit};
      }
      return position;
    }

    // The number of symbols that two suffixes share, exact if it is less than what is enough for them.
    uint64_t shared(SuffixPlace a, SuffixPlace b) {
      constexpr uint64_t kDirect = SuffixMatches<Sym>::kDirect;
      const DocumentText<Sym>&text_a = owner_.symbols_[a.text], &text_b = owner_.symbols_[b.text];
      const uint64_t enough = length_ != 0 ? length_ : owner_.rule_.weights == nullptr ? owner_.rule_.length : kUnbounded;
      const uint64_t n = std::min({enough, kDirect, text_a.size - a.position, text_b.size - b.position});
      uint64_t found = first_stop(text_a.symbols + a.position, text_b.symbols + b.position, n);
      spend(stop_, found / 64 + 1);
      if (found < n || n == enough) return found;
      if (!matches_.common(a, b, found, &found)) refuse(a);
      return found;
    }

    // The same from an LCP.
    uint64_t shared_of(SuffixPlace place, int64_t lcp) const {
      if (lcp != kEqualLcp) return static_cast<uint64_t>(lcp) / (8 * sizeof(Sym));
      const DocumentFinder& finder = owner_.finders_[place.text];
      return finder.end_of(finder(place.position)) - place.position;
    }

    [[noreturn]] void refuse(SuffixPlace place) const {
      throw CorruptPointer{owner_.texts_[place.text].input.file, place.position, place.position,
                           owner_.symbols_[place.text].size};
    }

    // The length of the window of a suffix that shares n symbols with another; 0 if the window is longer.
    uint64_t joins(SuffixPlace place, uint64_t n) {
      if (length_ != 0) return n >= length_ ? length_ : 0;
      const WindowRule& rule = owner_.rule_;
      if (rule.weights == nullptr) return n >= rule.length ? rule.length : 0;
      const Sym* const symbols = owner_.symbols_[place.text].symbols + place.position;
      uint64_t weight = 0, i = 0;
      while (i < n && weight < rule.length && symbols[i] != 0) {
        weight += symbols[i] < rule.n_weights ? rule.weights[symbols[i]] : 0;
        ++i;
      }
      spend(stop_, i / 16);
      return weight >= rule.length ? i : 0;
    }

    // Two suffixes that share their windows; the first one is already in the class, or begins it.
    void add(SuffixPlace before, SuffixPlace place, uint64_t length) {
      if (length_ == 0) {
        length_ = length;
        n_members_ = 0;
        has_best_ = false;
        waiting_.clear();
        add_member(before);
      }
      add_member(place);
    }

    void add_member(SuffixPlace place) {
      const uint32_t rank = owner_.texts_[place.text].ranks[owner_.finders_[place.text](place.position)];
      if (rank == kLeftOut) return;
      const Occurrence one{rank, place.text, place.position};
      spend(stop_, 2 + length_ / 4096);
      if (++n_members_ < owner_.rule_.min_count) {
        waiting_.push_back(one);
        return;
      }
      for (const Occurrence& earlier : waiting_) settle(earlier);
      waiting_.clear();
      settle(one);
    }

    void settle(const Occurrence& one) {
      if (owner_.rule_.marks_starts) {
        mark(one, one.position, one.position + uint64_t{1});
      } else if (!owner_.rule_.keeps_one) {
        mark(one, one.position, one.position + length_);
      } else if (!has_best_) {
        best_ = one;
        has_best_ = true;
      } else if (one.rank < best_.rank || (one.rank == best_.rank && one.position < best_.position)) {
        cut(best_, one);
        best_ = one;
      } else {
        cut(one, best_);
      }
    }

    void cut(const Occurrence& worse, const Occurrence& better) {
      const uint64_t stop = worse.position + length_;
      uint64_t start = worse.position;
      if (worse.rank == better.rank) start = std::max(start, better.position + length_);
      mark(worse, start, stop);
    }

    void mark(const Occurrence& one, uint64_t start, uint64_t stop) {
      if (__builtin_expect(stop > owner_.symbols_[one.text].size, 0)) refuse({one.text, one.position});
      set_bits(owner_.texts_[one.text].marks, start, stop);
    }

    const WindowsOf& owner_;
    StopFlag stop_;
    SuffixMatches<Sym> matches_;
    bool skips_ = false;  // rows that continue a class of the chunk before
    uint64_t n_rows_ = 0, n_read_ = 0;
    SuffixPlace last_{0, 0};
    // The class in progress.
    uint64_t length_ = 0;  // of its window; 0 without a class
    uint64_t n_members_ = 0;
    bool has_best_ = false;
    Occurrence best_{0, 0, 0};
    std::vector<Occurrence> waiting_;
  };

  const std::vector<WindowText> texts_;
  const WindowRule rule_;
  std::vector<DocumentText<Sym>> symbols_;
  std::vector<DocumentFinder> finders_;
  int64_t least_bits_ = 0;  // that suffixes with the same window share
  std::unique_ptr<WindowSamples<Sym>> samples_;
  std::unique_ptr<RowMerge> merge_;
  uint64_t n_chunks_ = 1;
};

}  // namespace

std::unique_ptr<DuplicateWindows> make_duplicate_windows(uint32_t symbol_bytes, const std::vector<WindowText>& texts,
                                                         const WindowRule& rule) {
  if (symbol_bytes == 1) return std::make_unique<WindowsOf<uint8_t>>(texts, rule);
  if (symbol_bytes == 2) return std::make_unique<WindowsOf<uint16_t>>(texts, rule);
  return std::make_unique<WindowsOf<uint32_t>>(texts, rule);
}

void ranges_of_bits(const uint64_t* bits, uint64_t n, std::vector<uint32_t>& starts, std::vector<uint32_t>& stops,
                    StopFlag stop) {
  uint64_t last = 0;  // whether the bit before is set
  for (uint64_t word = 0; word * 64 < n; ++word) {
    if (word % kStopInterval == 0) check_stop(stop);
    const uint64_t here = bits[word];
    if (here == 0 && last == 0) continue;
    // The bits that differ from the one before.
    for (uint64_t changes = here ^ (here << 1 | last); changes != 0; changes &= changes - 1) {
      const uint64_t bit = static_cast<uint64_t>(__builtin_ctzll(changes));
      (here >> bit & 1 ? starts : stops).push_back(static_cast<uint32_t>(word * 64 + bit));
    }
    last = here >> 63;
  }
  if (starts.size() > stops.size()) stops.push_back(static_cast<uint32_t>(n));
}

}  // namespace ngramdb
