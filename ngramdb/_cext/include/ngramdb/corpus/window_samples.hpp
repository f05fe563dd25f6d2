// Where windows begin that may occur a second time, found by reading texts from front to back.
//
// A window's sample is the k-gram in it with the smallest hash (Schleimer, Wilkerson, Aiken: "Winnowing", SIGMOD 2003).
// Equal windows have equal samples at the same place, and neighbouring windows mostly have the same one: of windows of 50
// symbols, one position in 18 is a sample. A window whose sample's hash is that of no other sample occurs only once.
// Hashes are counted up to two in a table of cells of two bits, without their k-grams: hashes that share a cell only let
// some more windows through.
//
// First sample() for every text, then choose() for every text; each in any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/sort/row_merge.hpp"
#include "ngramdb/sort/suffix_matches.hpp"

namespace ngramdb {

template <class Sym>
class WindowSamples {
 public:
  // Windows have at least this many symbols; of longer ones the first are taken.
  static constexpr uint64_t kShortest = 4;
  static constexpr uint64_t kLongest = 256;

  // marks: a bit per position of each text, all 0 before sample() and after choose()
  WindowSamples(const std::vector<DocumentText<Sym>>& texts, const std::vector<uint64_t*>& marks, uint64_t length)
      : texts_(texts), marks_(marks), length_(std::min(length, kLongest)), k_(std::min<uint64_t>(length_ / 2, 16)) {
    n_grams_ = length_ - k_ + 1;
    for (uint64_t i = 0; i < k_; ++i) leaving_ *= kFactor;
    uint64_t n_symbols = 0;
    for (const DocumentText<Sym>& text : texts) {
      n_symbols += text.size;
      wanted_.emplace_back(text.size / kWantedBlock / 64 + 1);
    }
    const uint64_t n_samples = 2 * n_symbols / (n_grams_ + 1);
    uint64_t n_words = 1024;
    while (n_words * kCells < 16 * n_samples && n_words < kMostWords) n_words *= 2;
    seen_.resize(n_words);
  }

  // Marks the samples of a text, and counts their hashes.
  void sample(uint32_t text, StopFlag stop) {
    const DocumentText<Sym>& all = texts_[text];
    Waiting waiting;
    for (uint64_t start = 0; start < all.size;) {
      const uint64_t end = end_of_piece(all, start, stop);
      if (end - start >= length_) sample_piece(all.symbols + start, end - start, start, marks_[text], waiting, stop);
      start = end + 1;
    }
    for (const Sample& last : waiting.samples) {
      if (last.at != kNowhere) count(last.hash);
    }
  }

  // Wants the windows from each position on that weigh enough before they have as many symbols as samples are taken of.
  void want_short(uint32_t text, const uint32_t* weights, uint64_t n_weights, uint64_t least, StopFlag stop) {
    const DocumentText<Sym>& all = texts_[text];
    const auto weight = [&](uint64_t at) { return all.symbols[at] < n_weights ? weights[all.symbols[at]] : 0; };
    for (uint64_t start = 0; start < all.size;) {
      const uint64_t end = end_of_piece(all, start, stop);
      uint64_t total = 0, stop_at = start;
      for (uint64_t at = start; at < end; ++at) {
        if ((at - start) % kStopInterval == 0) check_stop(stop);
        for (; stop_at < std::min(at + length_ - 1, end); ++stop_at) total += weight(stop_at);
        if (total >= least) want(text, at);
        total -= weight(at);
      }
      start = end + 1;
    }
  }

  // Takes the marks away, and wants the windows whose samples may occur a second time.
  void choose(uint32_t text, StopFlag stop) {
    const DocumentText<Sym>& all = texts_[text];
    uint64_t* const marks = marks_[text];
    Waiting waiting;
    for (uint64_t word = 0; word * 64 < all.size; ++word) {
      if (word % 4096 == 0) check_stop(stop, word * 64, all.size);
      for (uint64_t left = marks[word]; left != 0; left &= left - 1) {
        const uint64_t at = word * 64 + static_cast<uint64_t>(__builtin_ctzll(left));
        uint64_t hash = 0;
        for (uint64_t i = 0; i < k_; ++i) hash = hash * kFactor + all.symbols[at + i];
        const Sample before = waiting.exchange({mixed(hash), at}, seen_);
        if (before.at != kNowhere) want_if_repeated(text, before);
      }
      marks[word] = 0;
    }
    for (const Sample& last : waiting.samples) {
      if (last.at != kNowhere) want_if_repeated(text, last);
    }
  }

  // A bit for each kWantedBlock positions of a text.
  const uint64_t* wanted(uint32_t text) const { return wanted_[text].data(); }

 private:
  static constexpr uint64_t kFactor = 0x9E3779B97F4A7C15u;
  static constexpr uint64_t kCells = 32;  // in a word
  static constexpr uint64_t kMostWords = uint64_t{1} << 22;  // 32 MB

  static constexpr uint64_t kNowhere = ~uint64_t{0};

  struct Sample {
    uint64_t hash = 0;
    uint64_t at = kNowhere;
  };

  // Samples whose cells have been asked for: many reads are under way at the same time.
  struct Waiting {
    std::array<Sample, 32> samples;
    uint64_t n = 0;

    // Returns the one that has waited longest; at first, none.
    Sample exchange(const Sample& sample, const std::vector<uint64_t>& seen) {
      prefetch_line(&seen[word_of(sample.hash, seen)]);
      return std::exchange(samples[n++ % samples.size()], sample);
    }
  };

  static uint64_t word_of(uint64_t hash, const std::vector<uint64_t>& seen) {
    return hash / kCells & (seen.size() - 1);
  }

  static uint64_t mixed(uint64_t hash) {
    hash = (hash ^ (hash >> 32)) * 0xBF58476D1CE4E5B9u;
    return hash ^ (hash >> 29);
  }

  static uint64_t end_of_piece(const DocumentText<Sym>& text, uint64_t start, StopFlag stop) {
    uint64_t end = start;
    for (; end < text.size && text.symbols[end] != 0; ++end) {
      if ((end - start) % kStopInterval == kStopInterval - 1) check_stop(stop);
    }
    spend(stop, 1 + (end - start) / 4);
    return end;
  }

  void want(uint32_t text, uint64_t position) {
    const uint64_t block = position / kWantedBlock;
    wanted_[text][block / 64] |= uint64_t{1} << (block % 64);
  }

  // Wants all windows of which this may be the sample.
  void want_if_repeated(uint32_t text, const Sample& sample) {
    if ((seen_[word_of(sample.hash, seen_)] >> (sample.hash % kCells * 2) & 2) == 0) return;
    const uint64_t first = sample.at - std::min(sample.at, n_grams_ - 1);
    for (uint64_t block = first / kWantedBlock; block <= sample.at / kWantedBlock; ++block) {
      want(text, block * kWantedBlock);
    }
  }

  void count(uint64_t hash) {
    uint64_t* const word = &seen_[word_of(hash, seen_)];
    const uint64_t bit = uint64_t{1} << (hash % kCells * 2);
    const uint64_t before = __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
    if ((before & bit) != 0 && (before & 2 * bit) == 0) __atomic_fetch_or(word, 2 * bit, __ATOMIC_RELAXED);
  }

  // n symbols of a document, or of a piece of one, that begin at `first`. Of equal hashes the last one is smallest, so that
  // in a run of one symbol no search for the next one is necessary.
  void sample_piece(const Sym* symbols, uint64_t n, uint64_t first, uint64_t* marks, Waiting& waiting,
                    StopFlag stop) {
    uint64_t ring[kLongest];
    uint64_t hash = 0;
    for (uint64_t i = 0; i + 1 < k_; ++i) hash = hash * kFactor + symbols[i];
    uint64_t best = ~uint64_t{0}, best_at = 0, marked = n;
    for (uint64_t i = 0; i + k_ <= n; ++i) {
      if (i % kStopInterval == kStopInterval - 1) check_stop(stop);
      hash = hash * kFactor + symbols[i + k_ - 1] - (i > 0 ? symbols[i - 1] * leaving_ : 0);
      const uint64_t here = ring[i % kLongest] = mixed(hash);
      if (here <= best) {
        best = here;
        best_at = i;
      } else if (i - best_at >= n_grams_) {
        best = ~uint64_t{0};
        for (uint64_t j = i + 1 - n_grams_; j <= i; ++j) {
          if (ring[j % kLongest] > best) continue;
          best = ring[j % kLongest];
          best_at = j;
        }
      }
      if (i + 1 < n_grams_ || best_at == marked) continue;
      marked = best_at;
      const uint64_t at = first + best_at;
      marks[at / 64] |= uint64_t{1} << (at % 64);
      const Sample before = waiting.exchange({best, at}, seen_);
      if (before.at != kNowhere) count(before.hash);
    }
  }

  const std::vector<DocumentText<Sym>> texts_;
  const std::vector<uint64_t*> marks_;
  const uint64_t length_;
  const uint64_t k_;
  uint64_t n_grams_ = 1;  // of a window
  uint64_t leaving_ = 1;  // the factor of the symbol before a k-gram
  std::vector<uint64_t> seen_;  // a power of two; for each cell a bit for one hash, and a higher one for several
  std::vector<std::vector<uint64_t>> wanted_;
};

}  // namespace ngramdb
