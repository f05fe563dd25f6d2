// A cache of the rows of single tokens: the same few thousand are requested again and again, and a search
// for one goes through the whole directory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

class TokenRanges {
 public:
  explicit TokenRanges(uint64_t n_rows) : n_symbols_(std::min(kMostSymbols, n_rows / kRowsPerSymbol)) {}

  // False if they are not in the cache. A symbol without rows is never cached.
  bool find(uint64_t symbol, Range* rows) const {
    if (symbol >= n_symbols_) return false;
    const std::atomic<uint64_t>* const packed = packed_.load(std::memory_order_acquire);
    if (packed == nullptr) return false;
    const uint64_t found = packed[symbol].load(std::memory_order_relaxed);
    *rows = {found >> 32, found & 0xFFFFFFFF};
    return found != 0;
  }

  void keep(uint64_t symbol, Range rows) const {
    if (symbol >= n_symbols_) return;
    std::call_once(once_, [this] {
      owner_.reset(new std::atomic<uint64_t>[n_symbols_]());
      packed_.store(owner_.get(), std::memory_order_release);
    });
    owner_[symbol].store(rows.lo << 32 | rows.hi, std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kMostSymbols = uint64_t{1} << 16;  // half a megabyte
  static constexpr uint64_t kRowsPerSymbol = 16;               // or half a byte per row

  uint64_t n_symbols_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<std::atomic<uint64_t>[]> owner_;
  mutable std::atomic<const std::atomic<uint64_t>*> packed_{nullptr};
};

}  // namespace ngramdb
