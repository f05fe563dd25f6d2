// The checksums of a file by blocks, and which of its blocks have been verified.
//
// A block is verified when a byte of it is first needed, once in the life of the object, whichever kernel or thread needs
// it. Files don't change, so threads that verify the same block at the same time do no harm, and a bit that a thread sees
// says all that it must know: relaxed order is enough.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "ngramdb/base/crc32.hpp"
#include "ngramdb/base/damaged_block.hpp"
#include "ngramdb/base/pages.hpp"

namespace ngramdb {

class Checksums {
 public:
  // bytes[0, n_bytes) in blocks of 2^block_shift bytes, the last one perhaps shorter; `table` has a u32 for each.
  Checksums(const uint8_t* bytes, uint64_t n_bytes, const uint8_t* table, uint32_t block_shift, std::string file)
      : bytes_(bytes), n_bytes_(n_bytes), table_(table), block_shift_(block_shift), file_(std::move(file)),
        n_words_(n_blocks() / 64 + 1), sound_(new std::atomic<uint64_t>[n_words_]) {
    for (uint64_t i = 0; i < n_words_; ++i) sound_[i].store(0, std::memory_order_relaxed);
  }

  uint64_t n_blocks_of(uint64_t n_bytes) const { return n_bytes >> block_shift_; }

  uint64_t n_blocks() const { return (n_bytes_ + (uint64_t{1} << block_shift_) - 1) >> block_shift_; }

  // Verifies the blocks with bytes [start, stop) that have not been verified; returns how many these were.
  uint64_t verify(uint64_t start, uint64_t stop) {
    uint64_t n_new = 0;
    if (start >= stop) return n_new;
    const uint64_t first = start >> block_shift_, last = (stop - 1) >> block_shift_;
    const bool is_long = stop - start >= kMany && !verified(start, stop);
    for (uint64_t block = first; block <= last; ++block) {
      if (is_long) read_ahead(block, first, stop);
      if (__builtin_expect(is_sound(block), 1)) continue;
      verify_block(block);
      ++n_new;
    }
    return n_new;
  }

  // Whether all of them have been.
  bool verified(uint64_t start, uint64_t stop) const {
    if (start >= stop) return true;
    const uint64_t last = (stop - 1) >> block_shift_;
    for (uint64_t block = start >> block_shift_; block <= last; ++block) {
      if (!is_sound(block)) return false;
    }
    return true;
  }

  // Verifies the blocks of `n` values that stand in the file, by their address.
  template <class T>
  uint64_t verify_at(const T* values, uint64_t n) {
    const uint64_t start = static_cast<uint64_t>(reinterpret_cast<const uint8_t*>(values) - bytes_);
    return verify(start, std::min(start + sizeof(T) * n, n_bytes_));
  }

  // Verifies them whether or not they have been.
  void verify_again(uint64_t start, uint64_t stop) {
    if (start >= stop) return;
    const uint64_t first = start >> block_shift_, last = (stop - 1) >> block_shift_;
    for (uint64_t block = first; block <= last; ++block) {
      read_ahead(block, first, stop);
      verify_block(block);
    }
  }

  // Whether a file that is in use shall get into memory as a whole.
  void set_reads_along(bool wanted) { reads_along_.store(wanted, std::memory_order_relaxed); }

  // To be called when a search has verified new blocks, at random places: who asks a few questions reads a few pages, and
  // who goes on asking has the whole file in memory after a while, in large pages where the system has them.
  //
  // Reading along begins when a share of the file's reading time has gone into random reads, and takes about as long as
  // these do from then on: so nobody waits more than twice as long as without it.
  void used(uint64_t n_blocks) {
    if (!reads_along_.load(std::memory_order_relaxed)) return;
    const uint64_t seldom = std::max(kSeldom, n_bytes_ / kBytesASeldomBlock);
    const uint64_t before = n_used_.fetch_add(n_blocks, std::memory_order_relaxed), after = before + n_blocks;
    if (after < seldom) return;
    if (before < seldom) {
      advise(bytes_, n_bytes_, Reading::kUsual);
      advise(bytes_, n_bytes_, Reading::kLargePages);
    }
    for (uint64_t piece = before / kBlocksAPiece; piece < after / kBlocksAPiece; ++piece) {
      const uint64_t start = read_up_to_.fetch_add(kPiece, std::memory_order_relaxed);
      if (start >= n_bytes_) return set_reads_along(false);
      advise(bytes_ + start, std::min(kPiece, n_bytes_ - start), Reading::kNow);
    }
  }

  // How many blocks have been verified.
  uint64_t n_verified() const {
    uint64_t n = 0;
    for (uint64_t i = 0; i < n_words_; ++i) {
      n += static_cast<uint64_t>(__builtin_popcountll(sound_[i].load(std::memory_order_relaxed)));
    }
    return n;
  }

 private:
  // Bytes that are read together rather than page by page, and how many are asked for at a time.
  static constexpr uint64_t kMany = 1 << 15, kAhead = 1 << 23;
  // Blocks that some fifty searches read; bytes of the file for each block that is read before any are read along.
  static constexpr uint64_t kSeldom = 128, kBytesASeldomBlock = 1 << 19;
  // Bytes that are read along at a time, two large pages, which takes about as long as reading so many blocks.
  static constexpr uint64_t kPiece = 1 << 22, kBlocksAPiece = 16;

  // Before a block of those from `first` on is verified, one after the other up to byte `stop`.
  void read_ahead(uint64_t block, uint64_t first, uint64_t stop) const {
    const uint64_t n_blocks = kAhead >> block_shift_;
    if ((block - first) % n_blocks != 0) return;
    const uint64_t start = (block == first ? block : block + n_blocks) << block_shift_;
    const uint64_t end = std::min((block + 2 * n_blocks) << block_shift_, stop);
    if (start < end) advise(bytes_ + start, end - start, Reading::kSoon);
  }

  bool is_sound(uint64_t block) const {
    return (sound_[block / 64].load(std::memory_order_relaxed) >> (block % 64) & 1) != 0;
  }

  __attribute__((noinline)) void verify_block(uint64_t block) {
    const uint64_t start = block << block_shift_, stop = std::min(start + (uint64_t{1} << block_shift_), n_bytes_);
    uint32_t expected;
    std::memcpy(&expected, table_ + sizeof(expected) * block, sizeof(expected));
    const uint32_t found = crc32(0, bytes_ + start, stop - start);
    if (found != expected) throw DamagedBlock{file_, block, start, expected, found};
    sound_[block / 64].fetch_or(uint64_t{1} << (block % 64), std::memory_order_relaxed);
  }

  const uint8_t* const bytes_;
  const uint64_t n_bytes_;
  const uint8_t* const table_;
  const uint32_t block_shift_;
  const std::string file_;  // named in errors
  const uint64_t n_words_;
  const std::unique_ptr<std::atomic<uint64_t>[]> sound_;
  std::atomic<bool> reads_along_{false};
  std::atomic<uint64_t> n_used_{0}, read_up_to_{0};
};

}  // namespace ngramdb
