// A backoff model as tables: for each n-gram its probability and the weight of backing off from it, found by hashing.
//
// The layout is that of KenLM's "probing" model (Heafield 2011, section 3.1): one hash table per length, linear probing,
// 64-bit hashes of n-grams in place of the n-grams, two flags in the signs of the numbers. The hash of an n-gram is
// a polynomial in its words' hashes (Karp & Rabin 1987), so that it can be extended to either side.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/memory.hpp"
#include "ngramdb/base/prefetch.hpp"

namespace ngramdb {
namespace lm {

// Codes of words: these, and the others in some order from kFirstWord on.
constexpr uint32_t kUnknownCode = 0, kBeginCode = 1, kEndCode = 2, kFirstWord = 3;
constexpr uint32_t kMostOrder = 255;
constexpr int64_t kNoSeparator = -4;

// The hash of n words is the sum of hash_of_word(k-th word) * kBase^(n - k).
constexpr uint64_t kBase = 0x9e3779b97f4a7c15;

inline uint64_t hash_of_word(uint32_t code) {
  uint64_t h = (uint64_t{code} + 1) * 0xff51afd7ed558ccd;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53;
  return h ^ (h >> 33);
}

// log10 of a probability, never above 0, and in its sign bit whether a longer n-gram ends with this one.
class Probability {
 public:
  Probability() = default;
  Probability(float log, bool is_suffix) : value_(std::copysign(log, is_suffix ? -1.0f : 1.0f)) {}
  float log() const { return -std::fabs(value_); }
  bool is_suffix() const { return std::signbit(value_); }
  void set_suffix() { value_ = log(); }

 private:
  float value_ = 0.0f;
};

// log10 of the weight of a context; -0 if no n-gram begins with it, which then need not be searched for.
class Weight {
 public:
  Weight() = default;
  Weight(float log, bool is_context) : value_(log != 0.0f ? log : is_context ? 0.0f : -0.0f) {}
  float log() const { return value_; }
  bool is_context() const { return value_ != 0.0f || !std::signbit(value_); }
  void set_context() {
    if (value_ == 0.0f) value_ = 0.0f;
  }

 private:
  float value_ = -0.0f;
};

struct Entry {
  Probability prob;
  Weight weight;
};

#pragma pack(push, 4)
struct ShorterSlot {
  uint64_t key;
  Entry entry;
};
// n-grams of the greatest length are no contexts: 12 bytes in place of 16.
struct LongestSlot {
  uint64_t key;
  Probability prob;
};
#pragma pack(pop)

// n-grams of one length by their hashes; key 0 marks a free slot.
template <class Slot>
class HashTable {
 public:
  // Room for n, with half as many slots again.
  void reserve(size_t n) { slots_.reserve(n + n / 2 + 8); }

  size_t size() const { return size_; }
  size_t n_bytes() const { return slots_.size() * sizeof(Slot); }
  void prefetch(uint64_t key) const { prefetch_line(&slots_[place(key)]); }

  Slot* find(uint64_t key) { return const_cast<Slot*>(std::as_const(*this).find(key)); }
  const Slot* find(uint64_t key) const {
    key += key == 0;
    const size_t n = slots_.size();
    for (size_t at = n == 0 ? 0 : place(key); n > 0; at = at + 1 == n ? 0 : at + 1) {
      if (slots_[at].key == key) return &slots_[at];
      if (slots_[at].key == 0) break;
    }
    return nullptr;
  }

  // The slot of a key, and whether it is new. References to other slots are invalid after it.
  std::pair<Slot*, bool> insert(uint64_t key) {
    if (size_ + size_ / 4 >= slots_.size()) grow();
    key += key == 0;
    size_t at = place(key);
    while (slots_[at].key != 0 && slots_[at].key != key) at = at + 1 == slots_.size() ? 0 : at + 1;
    const bool is_new = slots_[at].key == 0;
    slots_[at].key = key;
    size_ += is_new;
    return {&slots_[at], is_new};
  }

 private:
  size_t place(uint64_t key) const {
    uint64_t mixed = key ^ (key >> 32);
    mixed *= 0xd6e8feb86659fd93;
    return static_cast<size_t>((static_cast<unsigned __int128>(mixed) * slots_.size()) >> 64);
  }

  void grow() {
    const Pages<Slot> before(std::move(slots_));
    slots_.reserve(before.size() + before.size() / 2 + 8);
    size_ = 0;
    for (size_t i = 0; i < before.size(); ++i) {
      if (before[i].key != 0) *insert(before[i].key).first = before[i];
    }
  }

  Pages<Slot> slots_;
  size_t size_ = 0;
};

// Ids of tokens to codes of words.
class Codes {
 public:
  // Ascending ids, each with its code.
  void set(std::vector<int64_t> ids, std::vector<uint32_t> codes) {
    dense_.clear();
    if (!ids.empty() && static_cast<uint64_t>(ids.back()) < 8 * ids.size() + 1024) {
      dense_.assign(static_cast<size_t>(ids.back()) + 1, kUnknownCode);
      for (size_t i = 0; i < ids.size(); ++i) dense_[static_cast<size_t>(ids[i])] = codes[i];
    }
    of_code_.clear();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (codes[i] >= of_code_.size()) of_code_.resize(size_t{codes[i]} + 1, -1);
      of_code_[codes[i]] = ids[i];
    }
    ids_ = std::move(ids);
    codes_ = std::move(codes);
  }

  uint32_t of(int64_t id) const {
    if (id < 0) return id == -3 ? kBeginCode : id == -2 ? kEndCode : kUnknownCode;
    if (!dense_.empty()) return static_cast<size_t>(id) < dense_.size() ? dense_[static_cast<size_t>(id)] : kUnknownCode;
    const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
    return at != ids_.end() && *at == id ? codes_[static_cast<size_t>(at - ids_.begin())] : kUnknownCode;
  }

  int64_t id_of(uint32_t code) const {
    if (code == kBeginCode) return -3;
    if (code == kEndCode) return -2;
    return code < of_code_.size() ? of_code_[code] : -1;
  }

 private:
  std::vector<uint32_t> dense_, codes_;
  std::vector<int64_t> ids_, of_code_;
};

class NgramTable {
 public:
  explicit NgramTable(uint32_t order) : order_(order), middle_(order > 2 ? order - 2 : 0) {
    if (order < 1 || order > kMostOrder) {
      throw std::invalid_argument("a table has n-grams of up to 1 to " + std::to_string(kMostOrder) + " words, not " +
                                  std::to_string(order));
    }
    powers_.assign(order + 1, 1);
    for (uint32_t n = 1; n <= order; ++n) powers_[n] = powers_[n - 1] * kBase;
  }

  uint32_t order() const { return order_; }
  uint64_t power(uint32_t n) const { return powers_[n]; }
  size_t n_words() const { return words_.size(); }
  size_t size(uint32_t n) const {
    return n == 1 ? words_.size() : n == order_ ? longest_.size() : middle_[n - 2].size();
  }
  size_t n_bytes() const {
    size_t sum = words_.size() * sizeof(Entry) + longest_.n_bytes();
    for (const auto& table : middle_) sum += table.n_bytes();
    return sum;
  }

  // Words by their codes; those of borders exist always.
  void resize(size_t n_words) { words_.resize(std::max<size_t>(n_words, kFirstWord)); }
  Entry& word(uint32_t code) { return words_[code]; }
  const Entry& word(uint32_t code) const { return words_[code]; }
  void prefetch_word(uint32_t code) const { prefetch_line(&words_[code]); }

  // For n-grams of length n from 2 on.
  void reserve(uint32_t n, size_t count) {
    if (n == order_) {
      longest_.reserve(count);
    } else {
      middle_[n - 2].reserve(count);
    }
  }
  void prefetch(uint32_t n, uint64_t key) const {
    if (n == order_) {
      longest_.prefetch(key);
    } else {
      middle_[n - 2].prefetch(key);
    }
  }

  // False if the n-gram is there already. The weight of one of the greatest length is left out.
  bool insert(uint32_t n, uint64_t key, Entry entry) {
    if (n == order_) {
      const auto found = longest_.insert(key);
      if (found.second) found.first->prob = entry.prob;
      return found.second;
    }
    const auto found = middle_[n - 2].insert(key);
    if (found.second) found.first->entry = entry;
    return found.second;
  }

  // n-grams of length n below the order; of one word by `code`.
  Entry* find(uint32_t n, uint64_t key, uint32_t code) {
    if (n == 1) return &words_[code];
    ShorterSlot* const slot = middle_[n - 2].find(key);
    return slot == nullptr ? nullptr : &slot->entry;
  }

  bool look_up(uint32_t n, uint64_t key, Entry* out) const {
    if (n == order_) {
      const LongestSlot* const slot = longest_.find(key);
      if (slot != nullptr) *out = Entry{slot->prob, Weight()};
      return slot != nullptr;
    }
    const ShorterSlot* const slot = middle_[n - 2].find(key);
    if (slot != nullptr) *out = slot->entry;
    return slot != nullptr;
  }

  // n-grams of one length at once, all different.
  void insert_all(uint32_t n, const uint64_t* keys, const float* probs, const float* weights, const uint8_t* is_suffix,
                  const uint8_t* is_context, size_t count, StopFlag stop) {
    constexpr size_t kAhead = 16;
    for (size_t i = 0; i < count; ++i) {
      if (i % 4096 == 0) check_stop(stop, i, count);
      if (i + kAhead < count) prefetch(n, keys[i + kAhead]);
      const Entry entry = weights == nullptr ? Entry{Probability(probs[i], false), Weight()}
                                             : Entry{Probability(probs[i], is_suffix[i] != 0),
                                                     Weight(weights[i], is_context[i] != 0)};
      insert(n, keys[i], entry);
    }
  }

  Codes codes;
  // log10 of the weight for each word of context that is given up, besides that of the context; 0 except in stupid backoff.
  float penalty = 0.0f;
  // The token that ends a sentence and begins the next; kNoSeparator, which is no id, without one.
  int64_t separator = kNoSeparator;
  // What no logarithm falls below; stupid backoff has one.
  double least = -1e300;

 private:
  const uint32_t order_;
  std::vector<uint64_t> powers_;
  std::vector<Entry> words_ = std::vector<Entry>(kFirstWord);
  std::vector<HashTable<ShorterSlot>> middle_;
  HashTable<LongestSlot> longest_;
};

}  // namespace lm
}  // namespace ngramdb
