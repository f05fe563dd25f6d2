// Near duplicates: documents whose n-grams are contained in those of a document that is kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <unordered_map>
#include <vector>

#include "ngramdb/base/hashing.hpp"
#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/stoppable_sort.hpp"

namespace ngramdb {

// The most kept documents that are compared with a document, and stored per n-gram or band.
constexpr uint32_t kMostKept = 64;
constexpr uint32_t kNoneKept = UINT32_MAX;

// The hash of n parts from their hashes; words and characters differ by the seed.
inline uint64_t hash_of_parts(const uint64_t* parts, size_t n, uint64_t seed) {
  uint64_t hash = seed;
  for (size_t i = 0; i < n; ++i) hash = mixed_bits(hash * 0x9e3779b97f4a7c15u + parts[i]);
  return hash;
}

// The size of a table, a power of two. A key's place begins with its first bits, so that ascending keys are in
// ascending places.
inline size_t table_size(size_t least) {
  size_t size = 1024;
  while (size < least) size *= 2;
  return size;
}

inline int shift_of(size_t n_slots) {
  int shift = 64;
  while (n_slots > 1) n_slots /= 2, --shift;
  return shift;
}

// The first kMostKept kept documents of each key, in the order in which they were added.
class KeptLists {
 public:
  struct List {
    uint64_t key;
    uint32_t head, tail, n;
  };

  // Makes room for so many more keys: ascending ones would crowd at the beginning of a table that grows later.
  void reserve(size_t n, StopFlag stop) {
    if (2 * (n_keys_ + n) > slots_.size()) grow(2 * (n_keys_ + n), stop);
  }

  void add(uint64_t key, uint32_t document) {
    List& list = slots_[place(key)];
    if (list.n == 0) {
      list.key = key;
      ++n_keys_;
    }
    if (list.n < kMostKept) {
      if (links_.size() == UINT32_MAX) throw std::length_error("more than 2^32 n-grams of kept documents");
      const auto link = static_cast<uint32_t>(links_.size());
      links_.push_back({document, 0});
      if (list.n == 0) list.head = link;
      else links_[list.tail].next = link;
      list.tail = link;
    }
    if (list.n <= kMostKept) ++list.n;
  }

  // Brings the place of a key into the cache.
  void prefetch(uint64_t key) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[key >> shift_]);
  }

  // The list of a key, or nullptr; its `n` is at most kMostKept + 1, which stands for all greater numbers.
  const List* find(uint64_t key) const {
    if (slots_.empty()) return nullptr;
    const List& list = slots_[place(key)];
    return list.n == 0 ? nullptr : &list;
  }

  void collect(const List& list, std::vector<uint32_t>& out) const {
    uint32_t link = list.head;
    for (uint32_t i = 0; i < std::min(list.n, kMostKept); ++i, link = links_[link].next) out.push_back(links_[link].document);
  }

 private:
  struct Link {
    uint32_t document, next;
  };

  size_t place(uint64_t key) const {
    size_t i = key >> shift_;
    while (slots_[i].n != 0 && slots_[i].key != key) i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  void grow(size_t least, StopFlag stop) {
    std::vector<List> before(table_size(least));
    before.swap(slots_);
    shift_ = shift_of(slots_.size());
    for (size_t i = 0; i < before.size(); ++i) {
      if (i % kStopInterval == 0) check_stop(stop);
      if (before[i].n != 0) slots_[place(before[i].key)] = before[i];
    }
  }

  int shift_ = 0;
  std::vector<List> slots_;
  std::vector<Link> links_;
  size_t n_keys_ = 0;
};

// A set of n-grams.
class GramSet {
 public:
  // As for KeptLists.
  void reserve(size_t n, StopFlag stop) {
    if (2 * (n_ + n) > slots_.size()) grow(2 * (n_ + n), stop);
  }

  void add(uint64_t gram) {
    uint64_t& slot = slots_[place(gram)];
    n_ += slot == 0;
    slot = gram;
  }

  // Always true of 0, which marks free slots.
  bool has(uint64_t gram) const { return slots_.empty() ? gram == 0 : slots_[place(gram)] == gram; }

 private:
  void grow(size_t least, StopFlag stop) {
    std::vector<uint64_t> before(table_size(least));
    before.swap(slots_);
    shift_ = shift_of(slots_.size());
    for (size_t i = 0; i < before.size(); ++i) {
      if (i % kStopInterval == 0) check_stop(stop);
      if (before[i] != 0) slots_[place(before[i])] = before[i];
    }
  }

  size_t place(uint64_t gram) const {
    size_t i = gram >> shift_;
    while (slots_[i] != 0 && slots_[i] != gram) i = (i + 1) & (slots_.size() - 1);
    return i;
  }

  int shift_ = 0;
  std::vector<uint64_t> slots_;
  size_t n_ = 0;
};

// The outcome for a document: the one that contains it, or kNoneKept, and the number of n-grams that both have.
struct NearOutcome {
  uint32_t kept, shared;
};

class NearDuplicates {
 public:
  // Documents by words need `contained` of their n-grams in another one, those by characters `characters`. Candidates
  // are those with a common band of `rows` minimal hashes, or without bands those with a common n-gram.
  NearDuplicates(uint32_t n, double contained, double characters, uint32_t bands, uint32_t rows)
      : n_(n), bands_(bands), rows_(rows), least_{contained, characters}, offsets_{0} {
    for (uint64_t i = 0; i < uint64_t{bands} * rows; ++i) {
      factors_.push_back(mixed_bits(2 * i + 1) | 1);
      summands_.push_back(mixed_bits(2 * i + 2));
    }
  }

  // Adds a document: words with one blank between them, pieces with '\n' between them.
  void add(const char* text, size_t size, bool by_characters, StopFlag stop) {
    characters_.push_back(read(text, size, by_characters, stop));
    sizes_.push_back(static_cast<uint32_t>(found_.size()));
    grams_.insert(grams_.end(), found_.begin(), found_.end());
    offsets_.push_back(grams_.size());
  }

  // The keys by which documents that contain this text, or are contained in it, are found; valid until the next call.
  const std::vector<uint64_t>& keys_of(const char* text, size_t size, bool by_characters, StopFlag stop) {
    read(text, size, by_characters, stop);
    if (bands_ == 0) return found_;
    read_bands(found_.data(), found_.size(), stop);
    return keys_;
  }

  // The keys of all documents that were added, ascending.
  std::vector<uint64_t> all_keys(StopFlag stop) {
    std::vector<uint64_t> keys;
    if (bands_ == 0) keys = grams_;
    for (size_t i = 0; bands_ != 0 && i < n_documents(); ++i) {
      read_keys(i, stop);
      keys.insert(keys.end(), keys_.begin(), keys_.end());
    }
    sort_stoppably(keys.begin(), keys.end(), stop);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    return keys;
  }

  // Begins: of `n_given` documents that are kept in any case, `n_keys` keys will be added.
  void begin(size_t n_given, size_t n_keys, StopFlag stop) {
    next_ = 0;
    n_given_ = static_cast<uint32_t>(n_given);
    kept_.clear();
    given_.clear();
    given_grams_.clear();
    lists_ = KeptLists();
    lists_.reserve(n_keys, stop);
  }

  // Adds a key of a given document; those with the same key in ascending order.
  void add_given(uint64_t key, uint32_t given) { lists_.add(key, given); }

  // Provides the text of a given document, of which only n-grams that others have are stored.
  void load_given(uint32_t given, const char* text, size_t size, bool by_characters, StopFlag stop) {
    if (!has_wanted_) {
      wanted_.reserve(grams_.size(), stop);
      for (size_t i = 0; i < grams_.size(); ++i) {
        if (i % kStopInterval == 0) check_stop(stop);
        wanted_.add(grams_[i]);
      }
      has_wanted_ = true;
    }
    read(text, size, by_characters, stop);
    const auto n_all = static_cast<uint32_t>(found_.size());
    const auto unknown = [this](uint64_t gram) { return !wanted_.has(gram); };
    found_.erase(std::remove_if(found_.begin(), found_.end(), unknown), found_.end());
    given_[given] = {given_grams_.size(), found_.size(), n_all};
    given_grams_.insert(given_grams_.end(), found_.begin(), found_.end());
  }

  // Decides on the documents in this order. Returns a given document whose text must be loaded before the call is
  // repeated, or kNoneKept at the end. With `rejected`, it gets for each document that stays the compared one that has
  // most of its n-grams, or kNoneKept. Given documents are counted from n_documents() on.
  uint32_t decide(const uint32_t* order, size_t n, NearOutcome* out, uint8_t* bounded, NearOutcome* rejected, StopFlag stop) {
    for (; next_ < n; ++next_) {
      if (next_ % 64 == 0) check_stop(stop, next_, n);
      const uint32_t document = order[next_];
      NearOutcome best = {kNoneKept, 0};
      if (bands_ != 0) read_keys(document, stop);
      bounded[document] = 0;
      missing_ = kNoneKept;
      out[document] = containing(document, bounded[document], rejected != nullptr, best, stop);
      if (missing_ != kNoneKept) return missing_;
      if (rejected != nullptr) rejected[document] = best;
      if (out[document].kept == kNoneKept) keep(document, stop);
    }
    return kNoneKept;
  }

  size_t n_documents() const { return characters_.size(); }
  // N-grams of a document, and all that are stored.
  size_t n_grams(size_t i) const { return offsets_[i + 1] - offsets_[i]; }
  uint32_t size(size_t i) const { return i < n_documents() ? sizes_[i] : given_.at(static_cast<uint32_t>(i - n_documents())).n_all; }
  bool by_characters(size_t i) const { return characters_[i]; }
  size_t n_all_grams() const { return grams_.size() + given_grams_.size(); }

 private:
  static constexpr uint32_t kCharacters = 5;
  // N-grams by which documents are found that do not contain a document, but have most of it.
  static constexpr size_t kNearKeys = 8;
  static constexpr size_t kAhead = 12;

  // N-grams of a given document: a range of given_grams_, and how many it has in all.
  struct Given {
    size_t offset, n;
    uint32_t n_all;
  };

  // Reads the distinct n-grams of a text into found_, ascending; returns true if they are of characters.
  bool read(const char* text, size_t size, bool by_characters, StopFlag stop) {
    found_.clear();
    if (!by_characters) add_words(text, size, stop);
    const bool characters = found_.empty();
    if (characters) add_characters(text, size, stop);
    sort_stoppably(found_.begin(), found_.end(), stop);
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return characters;
  }

  void add_words(const char* text, size_t size, StopFlag stop) {
    parts_.clear();
    for (size_t start = 0, i = 0; i <= size; ++i) {
      if (i % kStopInterval == 0) check_stop(stop);
      if (i < size && text[i] != ' ' && text[i] != '\n') continue;
      if (i > start) parts_.push_back(hash_bytes(text + start, i - start, 0));
      start = i + 1;
      if (i == size || text[i] == '\n') end_piece(n_, 1);
    }
  }

  void add_characters(const char* text, size_t size, StopFlag stop) {
    parts_.clear();
    for (size_t i = 0; i <= size;) {
      if (i % kStopInterval == 0) check_stop(stop);
      if (i == size || text[i] == '\n') {
        // A shorter piece is an n-gram as a whole, so that no document is without any.
        const size_t n = std::min<size_t>(kCharacters, parts_.size());
        if (n > 0 || (i == size && found_.empty())) end_piece(n, 2);
        ++i;
        continue;
      }
      size_t stop_of_one = i + 1;
      while (stop_of_one < size && (static_cast<uint8_t>(text[stop_of_one]) & 0xc0) == 0x80) ++stop_of_one;
      parts_.push_back(hash_bytes(text + i, stop_of_one - i, 0));
      i = stop_of_one;
    }
  }

  void end_piece(size_t n, uint64_t seed) {
    for (size_t i = 0; i + n <= parts_.size(); ++i) found_.push_back(hash_of_parts(parts_.data() + i, n, seed));
    parts_.clear();
  }

  void read_keys(size_t document, StopFlag stop) {
    read_bands(grams_.data() + offsets_[document], n_grams(document), stop);
  }

  // Reads the keys of bands of a set of n-grams into keys_.
  void read_bands(const uint64_t* grams, size_t n, StopFlag stop) {
    minima_.assign(factors_.size(), UINT32_MAX);
    for (size_t i = 0; i < n; ++i) {
      if (i % 256 == 0) check_stop(stop);
      for (size_t k = 0; k < minima_.size(); ++k) {
        minima_[k] = std::min(minima_[k], static_cast<uint32_t>((grams[i] * factors_[k] + summands_[k]) >> 32));
      }
    }
    keys_.clear();
    for (uint32_t band = 0; band < bands_; ++band) {
      keys_.push_back(hash_bytes(reinterpret_cast<const char*>(&minima_[size_t{band} * rows_]), rows_ * sizeof(uint32_t), band + 1));
    }
  }

  void keep(uint32_t document, StopFlag stop) {
    const auto rank = static_cast<uint32_t>(n_given_ + kept_.size());
    kept_.push_back(document);
    if (bands_ != 0) {
      lists_.reserve(keys_.size(), stop);
      for (const uint64_t key : keys_) lists_.add(key, rank);
      return;
    }
    lists_.reserve(n_grams(document), stop);
    for (size_t i = offsets_[document]; i < offsets_[document + 1]; ++i) {
      if (i % kStopInterval == 0) check_stop(stop);
      prefetch_after(i);
      lists_.add(grams_[i], rank);
    }
  }

  // `best` becomes the compared document that has most of it, if none contains it.
  NearOutcome containing(uint32_t document, uint8_t& bounded, bool seeks_best, NearOutcome& best, StopFlag stop) {
    const auto n = static_cast<double>(n_grams(document));
    const auto least = static_cast<size_t>(std::max(1.0, std::ceil(least_[characters_[document]] * n - 1e-9)));
    candidates_.clear();
    if (bands_ == 0) of_ngrams(document, n_grams(document) - least, bounded, seeks_best, stop);
    else of_bands(bounded);
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    if (candidates_.size() > kMostKept) {
      bounded = 1;
      candidates_.resize(kMostKept);
    }
    for (const uint32_t rank : candidates_) {
      if (rank < n_given_ && given_.find(rank) == given_.end()) {
        missing_ = rank;
        return {kNoneKept, 0};
      }
      const size_t shared = n_shared(document, rank, stop);
      const auto kept = static_cast<uint32_t>(rank < n_given_ ? n_documents() + rank : kept_[rank - n_given_]);
      if (shared >= least) {
        bounded = 0;
        best = {kNoneKept, 0};
        return {kept, static_cast<uint32_t>(shared)};
      }
      if (shared > best.shared) best = {kept, static_cast<uint32_t>(shared)};
    }
    return {kNoneKept, 0};
  }

  // A document that lacks at most `n_lacking` of the n-grams has one of any n_lacking + 1: the rarest are taken.
  // If more are unknown, no document contains it; then some are taken if it `seeks_best`.
  void of_ngrams(uint32_t document, size_t n_lacking, uint8_t& bounded, bool seeks_best, StopFlag stop) {
    chosen_.clear();
    size_t n_unknown = 0, n_rare[kMostKept + 2] = {};
    bool is_enough = false;
    for (size_t i = offsets_[document]; i < offsets_[document + 1] && !is_enough; ++i) {
      if (i % 1024 == 0) check_stop(stop);
      prefetch_after(i);
      const KeptLists::List* list = lists_.find(grams_[i]);
      if (list != nullptr) {
        chosen_.push_back(list);
        ++n_rare[list->n];
        // Others would not be rarer.
        is_enough = !seeks_best && n_rare[1] + n_unknown > n_lacking;
      } else if (++n_unknown > n_lacking && !seeks_best) {
        return;
      }
    }
    const bool is_possible = n_unknown <= n_lacking;
    size_t n_needed = std::min(is_possible ? n_lacking + 1 - n_unknown : kNearKeys, chosen_.size());
    // All that are in fewer kept documents than `most`, and the first of those that are in as many.
    uint32_t most = 0;
    size_t n_before = 0;
    while (n_needed > n_before + n_rare[most]) n_before += n_rare[most++];
    size_t n_last = n_needed - n_before;
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (i % 1024 == 0) check_stop(stop);
      const KeptLists::List& list = *chosen_[i];
      if (list.n > most || (list.n == most && n_last == 0)) continue;
      if (list.n == most) --n_last;
      if (list.n > kMostKept && is_possible) bounded = 1;
      collect(list);
    }
  }

  void prefetch_after(size_t i) const {
    if (i + kAhead < grams_.size()) lists_.prefetch(grams_[i + kAhead]);
  }

  void of_bands(uint8_t& bounded) {
    for (const uint64_t key : keys_) {
      const KeptLists::List* list = lists_.find(key);
      if (list == nullptr) continue;
      if (list->n > kMostKept) bounded = 1;
      collect(*list);
    }
  }

  // Repeated candidates are removed regularly, which bounds their number.
  void collect(const KeptLists::List& list) {
    lists_.collect(list, candidates_);
    if (candidates_.size() < 64 * kMostKept) return;
    std::sort(candidates_.begin(), candidates_.end());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    if (candidates_.size() > kMostKept + 1) candidates_.resize(kMostKept + 1);
  }

  // Stored n-grams, ascending.
  struct Grams {
    const uint64_t *begin, *end;

    size_t size() const { return static_cast<size_t>(end - begin); }
  };

  Grams grams_of(size_t document) const {
    return {grams_.data() + offsets_[document], grams_.data() + offsets_[document + 1]};
  }

  Grams kept_grams(uint32_t rank) const {
    if (rank >= n_given_) return grams_of(kept_[rank - n_given_]);
    const Given& given = given_.at(rank);
    return {given_grams_.data() + given.offset, given_grams_.data() + given.offset + given.n};
  }

  size_t n_shared(uint32_t document, uint32_t rank, StopFlag stop) const {
    Grams a = grams_of(document), b = kept_grams(rank);
    if (a.size() > b.size()) std::swap(a, b);
    const bool by_search = b.size() / 16 > a.size();
    size_t n = 0;
    for (size_t i = 0; i < a.size() && b.begin != b.end; ++i) {
      const uint64_t gram = a.begin[i];
      if (by_search) {
        b.begin = std::lower_bound(b.begin, b.end, gram);
      } else {
        while (b.begin != b.end && *b.begin < gram) ++b.begin;
      }
      n += b.begin != b.end && *b.begin == gram;
      if (i % 1024 == 0) check_stop(stop);
    }
    return n;
  }

  uint32_t n_, bands_, rows_, n_given_ = 0, missing_ = kNoneKept;
  double least_[2];
  std::vector<uint64_t> offsets_, grams_, given_grams_, found_, parts_, factors_, summands_, keys_;
  std::unordered_map<uint32_t, Given> given_;
  GramSet wanted_;
  bool has_wanted_ = false;
  size_t next_ = 0;
  std::vector<uint32_t> sizes_, minima_, kept_, candidates_;
  std::vector<uint8_t> characters_;
  std::vector<const KeptLists::List*> chosen_;
  KeptLists lists_;
};

}  // namespace ngramdb
