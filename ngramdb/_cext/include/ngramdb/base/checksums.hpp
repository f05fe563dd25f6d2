// The checksums of a file by blocks, and which of its blocks have been verified.
//
// A block is verified when a byte of it is first needed, once in the life of the object, whichever kernel or thread needs
// it. Files don't change, so threads that verify the same block at the same time do no harm, and the bit that a thread
// sees is all the information it needs: relaxed order is enough.
//
// Only a part of a remote file may be present: missing bytes are fetched before they are verified.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "ngramdb/base/crc32.hpp"
#include "ngramdb/base/damaged_block.hpp"
#include "ngramdb/base/pages.hpp"

namespace ngramdb {

class Checksums {
 public:
  // Fetches bytes [start, stop), and the checksums at [table_start, table_stop), unless they are present; with `again`
  // in any case. Called by several threads at once, with the GIL or without it; may throw.
  using Bring =
      std::function<void(uint64_t start, uint64_t stop, uint64_t table_start, uint64_t table_stop, bool again)>;

  // bytes[0, n_bytes) in blocks of 2^block_shift bytes, the last one perhaps shorter; `table` has a u32 for each.
  Checksums(const uint8_t* bytes, uint64_t n_bytes, const uint8_t* table, uint32_t block_shift, std::string file)
      : bytes_(bytes), n_bytes_(n_bytes), table_(table), block_shift_(block_shift), file_(std::move(file)),
        n_words_(n_blocks() / 64 + 1), sound_(new std::atomic<uint64_t>[n_words_]) {
    for (uint64_t i = 0; i < n_words_; ++i) sound_[i].store(0, std::memory_order_relaxed);
  }

  // Must be called before anything is verified. Arrays of at most `together` bytes are fetched as a whole; so are others if
  // so many of their places are needed that `around` bytes for each would be more.
  void set_bring(Bring bring, uint64_t together, uint64_t around) {
    bring_ = std::move(bring);
    together_ = together;
    around_ = around;
  }

  // Returns true if an array is verified as a whole before that many of its places are used.
  bool is_whole(uint64_t n_bytes, uint64_t n_places) const {
    return n_bytes <= together_ || n_places > n_bytes / around_;
  }

  uint64_t n_blocks_of(uint64_t n_bytes) const { return n_bytes >> block_shift_; }

  uint64_t n_blocks() const { return (n_bytes_ + (uint64_t{1} << block_shift_) - 1) >> block_shift_; }

  // Verifies the blocks with bytes [start, stop) that have not been verified; returns how many these were.
  uint64_t verify(uint64_t start, uint64_t stop) {
    uint64_t n_new = 0;
    if (start >= stop) return n_new;
    const uint64_t first = start >> block_shift_, last = (stop - 1) >> block_shift_;
    const bool is_long = stop - start >= kMany && !verified(start, stop);
    if (__builtin_expect(bring_ != nullptr, 0) && !verified(start, stop)) bring(first, last, false);
    for (uint64_t block = first; block <= last; ++block) {
      if (is_long) read_ahead(block, first, stop);
      if (__builtin_expect(is_sound(block), 1)) continue;
      verify_block(block);
      ++n_new;
    }
    if (n_new != 0 && !is_long) used(n_new);
    return n_new;
  }

  // Returns true if all of them have been verified.
  bool verified(uint64_t start, uint64_t stop) const {
    if (start >= stop) return true;
    const uint64_t last = (stop - 1) >> block_shift_;
    for (uint64_t block = start >> block_shift_; block <= last; ++block) {
      if (!is_sound(block)) return false;
    }
    return true;
  }

  // Verifies the blocks of `n` values of the file, given by their address.
  template <class T>
  uint64_t verify_at(const T* values, uint64_t n) {
    const uint64_t start = static_cast<uint64_t>(reinterpret_cast<const uint8_t*>(values) - bytes_);
    return verify(start, std::min(start + sizeof(T) * n, n_bytes_));
  }

  // Verifies them whether or not they have been.
  void verify_again(uint64_t start, uint64_t stop) {
    if (start >= stop) return;
    const uint64_t first = start >> block_shift_, last = (stop - 1) >> block_shift_;
    if (bring_ != nullptr) bring(first, last, false);
    for (uint64_t block = first; block <= last; ++block) {
      read_ahead(block, first, stop);
      verify_block(block);
    }
  }

  // Sets whether a file in use is read into memory as a whole.
  void set_reads_along(bool wanted) { reads_along_.store(wanted, std::memory_order_relaxed); }

  // Verifies, ahead of time, the blocks that lie wholly in bytes [start, stop) and are present. Damaged blocks are skipped:
  // reads that need them report them.
  void verify_beforehand(uint64_t start, uint64_t stop) {
    const uint64_t first = (start + (uint64_t{1} << block_shift_) - 1) >> block_shift_;
    const uint64_t last = stop >= n_bytes_ ? n_blocks() : stop >> block_shift_;
    for (uint64_t block = first; block < last; ++block) {
      if (!is_sound(block)) matches(block);
    }
  }

  // Returns true if every block of the file has been verified.
  bool all_sound() const { return n_sound_.load(std::memory_order_relaxed) == n_blocks(); }

  // Returns the number of verified blocks.
  uint64_t n_verified() const { return n_sound_.load(std::memory_order_relaxed); }

 private:
  // Arrays larger than this are read together rather than page by page; bytes to read ahead at a time.
  static constexpr uint64_t kMany = 1 << 15, kAhead = 1 << 23;
  // Blocks that some fifty searches read; bytes of the file for each block that is read before any are read along.
  static constexpr uint64_t kSeldom = 256, kBytesASeldomBlock = 1 << 18;
  // Bytes that are read ahead at a time (two large pages), which takes about as long as reading this many blocks.
  static constexpr uint64_t kPiece = 1 << 22, kBlocksAPiece = 48;
  // Blocks that are verified along, one after the other, in the time that one at a random place takes; and the most at a time.
  static constexpr uint64_t kAlong = 2, kMostAlong = 1024;

  // Called when new blocks were verified at random places: a process with few queries reads few pages; one with many has
  // the whole file in memory eventually, in large pages if the system has them, and verified.
  //
  // Reading along begins when a share of the file's reading time has gone into random reads, and takes about as long as
  // these do from then on: so nobody waits more than twice as long as without it. What has been read along is verified
  // along, which for a file in the system's cache is nearly all that its first questions take.
  void used(uint64_t n_new) {
    if (!reads_along_.load(std::memory_order_relaxed)) return;
    const uint64_t seldom = std::min(std::max(kSeldom, n_bytes_ / kBytesASeldomBlock), n_blocks() / 4);
    const uint64_t before = n_used_.fetch_add(n_new, std::memory_order_relaxed), after = before + n_new;
    if (after < seldom) return;
    if (before < seldom) {
      advise(bytes_, n_bytes_, Reading::kUsual);
      advise(bytes_, n_bytes_, Reading::kLargePages);
    }
    for (uint64_t piece = before / kBlocksAPiece; piece < after / kBlocksAPiece; ++piece) {
      const uint64_t start = read_up_to_.load(std::memory_order_relaxed);
      if (start >= n_bytes_) break;
      const uint64_t stop = std::min(start + kPiece, n_bytes_);
      if (!advise(bytes_ + start, stop - start, Reading::kNow)) return set_reads_along(false);
      uint64_t expected = start;  // another thread may have read the same piece meanwhile
      read_up_to_.compare_exchange_strong(expected, stop, std::memory_order_relaxed);
    }
    verify_along(n_new);
  }

  // Verifies some of the blocks that were read ahead. The fewer are left, the more are verified per call: queries need ever
  // fewer new blocks, and would otherwise keep checking for them.
  void verify_along(uint64_t n_new) {
    const uint64_t n_all = n_blocks(), read = read_up_to_.load(std::memory_order_relaxed);
    const uint64_t ready = read >= n_bytes_ ? n_all : read >> block_shift_;
    uint64_t first = verified_up_to_.load(std::memory_order_relaxed);
    if (first >= ready) return;
    const uint64_t n = std::min(n_new * kAlong * n_all / (n_all - first), kMostAlong);
    const uint64_t stop = std::min(first + n, ready);
    if (!verified_up_to_.compare_exchange_strong(first, stop, std::memory_order_relaxed)) return;
    verify_beforehand(first << block_shift_, stop << block_shift_);
    if (all_sound()) set_reads_along(false);
  }

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

  // Blocks first … last, and their checksums.
  __attribute__((noinline)) void bring(uint64_t first, uint64_t last, bool again) const {
    const uint64_t table = static_cast<uint64_t>(table_ - bytes_);
    bring_(first << block_shift_, std::min((last + 1) << block_shift_, n_bytes_), table + sizeof(uint32_t) * first,
           table + sizeof(uint32_t) * (last + 1), again);
  }

  // Returns true if a block matches its checksum, that is, if it is intact.
  bool matches(uint64_t block, uint32_t* expected = nullptr, uint32_t* found = nullptr) {
    const uint64_t start = block << block_shift_, stop = std::min(start + (uint64_t{1} << block_shift_), n_bytes_);
    uint32_t sums[2];
    std::memcpy(&sums[0], table_ + sizeof(uint32_t) * block, sizeof(uint32_t));
    sums[1] = crc32(0, bytes_ + start, stop - start);
    if (expected != nullptr) *expected = sums[0];
    if (found != nullptr) *found = sums[1];
    if (sums[0] != sums[1]) return false;
    const uint64_t bit = uint64_t{1} << (block % 64);
    const bool is_new = (sound_[block / 64].fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
    if (is_new) n_sound_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  __attribute__((noinline)) void verify_block(uint64_t block) {
    uint32_t expected, found;
    if (matches(block, &expected, &found)) return;
    if (bring_ != nullptr) {  // the local copy may be damaged while the file is intact
      bring(block, block, true);
      if (matches(block, &expected, &found)) return;
    }
    throw DamagedBlock{file_, block, block << block_shift_, expected, found};
  }

  const uint8_t* const bytes_;
  const uint64_t n_bytes_;
  const uint8_t* const table_;
  const uint32_t block_shift_;
  const std::string file_;  // named in errors
  const uint64_t n_words_;
  const std::unique_ptr<std::atomic<uint64_t>[]> sound_;
  Bring bring_;
  uint64_t together_ = ~uint64_t{0}, around_ = 1;
  std::atomic<bool> reads_along_{false};
  std::atomic<uint64_t> n_used_{0}, read_up_to_{0};
  std::atomic<uint64_t> verified_up_to_{0}, n_sound_{0};  // blocks
};

}  // namespace ngramdb
