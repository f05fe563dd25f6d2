// The parts of a segment's arrays that must be verified before use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "ngramdb/base/checksums.hpp"

namespace ngramdb {

// Called with words that will be looked at: the two ways to search a directory. `wants_rest`: of a query alone, second words
// will be looked at, too.
struct VerifyNothing {
  bool wants_rest = false;
  void operator()(const uint64_t*, uint64_t) const {}
};
struct VerifyWords {
  bool wants_rest = false;
  Checksums* sums;
  uint64_t n_new = 0;  // blocks that had not been verified
  void operator()(const uint64_t* words, uint64_t n) { n_new += sums->verify_at(words, n); }
};

// Bytes behind each section of a file (FORMAT.md, "Sections").
constexpr uint64_t kTail = 64;

// An array whose blocks are verified as they are used, until all of them have been; nothing is done without checksums.
// In steady use that is one branch, always the same.
template <class T>
class Unverified {
 public:
  Unverified() = default;
  Unverified(Checksums* sums, const T* values, uint64_t n)
      : sums_(sums), values_(values), n_(n), is_left_(sums != nullptr && n > 0) {}

  bool is_left() const { return __builtin_expect(is_left_.load(std::memory_order_relaxed), 0); }

  // The same for those who verify what they use by other ways: all may have been verified beforehand.
  bool is_still_left() const {
    if (!is_left()) return false;
    if (!sums_->all_sound()) return true;
    is_left_.store(false, std::memory_order_relaxed);
    return false;
  }

  // Verifies the blocks with values [first, first + n), as far as they exist.
  void verify(uint64_t first, uint64_t n) const {
    if (is_left()) verify_left(first, n);
  }

  // Verifies all of them at once; for a remote file, those that are used, if that is less.
  void need(uint64_t first, uint64_t n) const {
    need_many(1);
    verify(first, n);
  }

  // Verifies all, or none where so few places of them will be used that `need` for each is less.
  void need_many(uint64_t n_places) const {
    if (is_left() && sums_->is_whole(sizeof(T) * n_, n_places)) verify_all();
  }

  void verify_all() const {
    if (!is_left()) return;
    // Kernels may read the zeros behind it, too.
    sums_->verify_at(reinterpret_cast<const uint8_t*>(values_), sizeof(T) * n_ + kTail);
    is_left_.store(false, std::memory_order_relaxed);
  }

 private:
  void verify_left(uint64_t first, uint64_t n) const {
    if (sums_->all_sound()) {
      is_left_.store(false, std::memory_order_relaxed);
    } else if (first < n_) {
      sums_->verify_at(values_ + first, std::min(n, n_ - first));
    }
  }

  Checksums* const sums_ = nullptr;
  const T* const values_ = nullptr;
  const uint64_t n_ = 0;
  mutable std::atomic<bool> is_left_{false};
};

}  // namespace ngramdb
