// A hash table of strings, for joins by keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "ngramdb/base/hashing.hpp"
#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/memory.hpp"

namespace ngramdb {

// Strings as of Arrow: string i is data[offsets[i], offsets[i + 1]), and is missing unless valid[i], if there is `valid`.
struct Strings {
  const int32_t* offsets;
  const char* data;
  size_t n_bytes;
  const uint8_t* valid;
  size_t n;

  bool has(size_t i) const { return valid == nullptr || valid[i] != 0; }
  const char* begin(size_t i) const { return n_bytes == 0 ? "" : data + offsets[i]; }
  size_t length(size_t i) const { return static_cast<size_t>(offsets[i + 1] - offsets[i]); }

  void check(StopFlag stop) const {
    bool is_wrong = n > 0 && (offsets[0] < 0 || static_cast<size_t>(offsets[n]) > n_bytes);
    for (size_t i = 0; i < n; ++i) {
      if (i % kStopInterval == 0) check_stop(stop);
      is_wrong |= offsets[i] > offsets[i + 1];
    }
    if (is_wrong) throw std::invalid_argument("the offsets of strings do not ascend within their bytes");
  }
};

class KeyTable {
 public:
  // The strings must stay as long as the table.
  KeyTable(const Strings& strings, StopFlag stop) : strings_(strings) {
    if (strings.n >= UINT32_MAX) throw std::length_error("more than 2^32 keys");
    strings.check(stop);
    size_t n_slots = 64;
    while (n_slots < 2 * strings.n) n_slots *= 2;
    slots_.reserve(n_slots);
    each_block(strings, stop, [&](size_t i, uint64_t hash) {
      size_t place = hash & (slots_.size() - 1);
      for (; slots_[place].row != 0; place = (place + 1) & (slots_.size() - 1)) {
        if (slots_[place].mark == mark_of(hash) && equal(slots_[place].row - 1, strings, i)) return;
      }
      slots_[place] = {mark_of(hash), static_cast<uint32_t>(i + 1)};
    });
  }

  // Sets `found` to the place of the first equal string, or to -1.
  void find(const Strings& strings, int64_t* found, StopFlag stop) const {
    strings.check(stop);
    std::fill(found, found + strings.n, -1);
    each_block(strings, stop, [&](size_t i, uint64_t hash) {
      size_t place = hash & (slots_.size() - 1);
      for (; slots_[place].row != 0; place = (place + 1) & (slots_.size() - 1)) {
        if (slots_[place].mark != mark_of(hash) || !equal(slots_[place].row - 1, strings, i)) continue;
        found[i] = slots_[place].row - 1;
        return;
      }
    });
  }

 private:
  struct Slot {
    uint32_t mark, row;
  };

  static constexpr size_t kBlock = 64;

  static uint32_t mark_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  bool equal(size_t row, const Strings& strings, size_t i) const {
    const size_t n = strings.length(i);
    return strings_.length(row) == n && std::memcmp(strings_.begin(row), strings.begin(i), n) == 0;
  }

  // Calls `visit` with the number and the hash of each string, after what it will probably read was brought into caches.
  template <class Visit>
  void each_block(const Strings& strings, StopFlag stop, const Visit& visit) const {
    uint64_t hashes[kBlock];
    uint32_t rows[kBlock];
    for (size_t first = 0; first < strings.n; first += kBlock) {
      if (first / kBlock % 64 == 0) check_stop(stop);
      const size_t n = std::min(kBlock, strings.n - first);
      for (size_t k = 0; k < n; ++k) {
        hashes[k] = hash_bytes(strings.begin(first + k), strings.length(first + k), 0);
        __builtin_prefetch(&slots_[hashes[k] & (slots_.size() - 1)]);
      }
      for (size_t k = 0; k < n; ++k) {
        const Slot& slot = slots_[hashes[k] & (slots_.size() - 1)];
        rows[k] = slot.mark == mark_of(hashes[k]) ? slot.row : 0;
        if (rows[k] != 0) __builtin_prefetch(&strings_.offsets[rows[k] - 1]);
      }
      for (size_t k = 0; k < n; ++k) {
        if (rows[k] != 0) __builtin_prefetch(strings_.begin(rows[k] - 1));
      }
      for (size_t k = 0; k < n; ++k) {
        if (strings.has(first + k)) visit(first + k, hashes[k]);
      }
    }
  }

  Strings strings_;
  Pages<Slot> slots_;
};

}  // namespace ngramdb
