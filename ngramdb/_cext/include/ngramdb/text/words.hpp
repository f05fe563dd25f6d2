// The `words` tokenizer: UTF-8 text to words, words to ids, over a vocabulary that grows.
//
// Two halves. `scan` cuts a text into words by the rule of FORMAT.md and knows no vocabulary. `Vocabulary` numbers
// words by first appearance: a stack of frozen layers, shared between forks and perhaps mapped from a file, below one
// growing layer. Invariants: layer k holds the ids [first_k, first_k + n_k), the layers are contiguous from 0, and
// no word is in two of them. Nothing here is a Python object, so every method may run without the GIL;
// a mutex per vocabulary orders threads.
//
// No read leaves the given buffers, whatever the text's bytes or a file's numbers are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ngramdb/base/byte_order.hpp"
#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/text/unicode_tables.hpp"

namespace ngramdb::words {

struct Span {
  const std::uint8_t* data;
  std::size_t size;
};

// ---------------------------------------------------------------------------------------------------------------
// Characters

inline constexpr std::uint32_t kMaxCodePoint = 0x10FFFF;

// Two-stage table of a property of characters, made once from generated ranges: 256-code pages, equal pages shared
// when they are of one class throughout (most are). Some 60 KB; a lookup is two dependent loads. A code point in no range
// is of the class that is 0.
template <class Class>
class CharTable {
 public:
  template <class Range, std::size_t n>
  explicit CharTable(const Range (&ranges)[n]) {
    constexpr std::size_t n_pages = (kMaxCodePoint >> 8) + 1;
    std::vector<Class> flat(n_pages * 256, Class{});
    for (const Range& range : ranges)
      std::fill(flat.begin() + range.first, flat.begin() + range.last + 1, range.char_class);
    for (std::size_t page = 0; page < n_pages; ++page) {
      Page content;
      std::copy_n(flat.begin() + page * 256, 256, content.begin());
      const auto same = std::find(pages_.begin(), pages_.end(), content);
      page_of_.push_back(static_cast<std::uint16_t>(same - pages_.begin()));
      if (same == pages_.end()) pages_.push_back(content);
    }
  }

  Class of(std::uint32_t code) const { return pages_[page_of_[code >> 8]][code & 0xFF]; }

 private:
  using Page = std::array<Class, 256>;

  std::vector<std::uint16_t> page_of_;
  std::vector<Page> pages_;
};

using ClassTable = CharTable<CharClass>;

inline const ClassTable& class_table() {
  static const ClassTable table(kCharRanges);
  return table;
}

struct Char {
  std::uint32_t code;
  std::uint32_t size;  // bytes, >= 1
};

// The character at p < end, not ASCII. A byte that begins no well-formed sequence is a character of its own, U+FFFD (of
// class other): valid text never holds one, and hostile text is cut the same way every time.
inline Char decode(const std::uint8_t* p, const std::uint8_t* end) {
  constexpr Char bad{0xFFFD, 1};
  const std::uint32_t lead = p[0];
  const std::ptrdiff_t left = end - p;
  const auto tail = [&](int i) { return static_cast<std::uint32_t>(p[i]) ^ 0x80u; };  // < 0x40 when well formed
  if (lead < 0xC2) return bad;
  if (lead < 0xE0) {
    if (left < 2 || tail(1) > 0x3F) return bad;
    return {(lead & 0x1F) << 6 | tail(1), 2};
  }
  if (lead < 0xF0) {
    if (left < 3 || (tail(1) | tail(2)) > 0x3F) return bad;
    const std::uint32_t code = (lead & 0x0F) << 12 | tail(1) << 6 | tail(2);
    return code < 0x800 ? bad : Char{code, 3};
  }
  if (lead > 0xF4 || left < 4 || (tail(1) | tail(2) | tail(3)) > 0x3F) return bad;
  const std::uint32_t code = (lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3);
  return code < 0x10000 || code > kMaxCodePoint ? bad : Char{code, 4};
}

// ---------------------------------------------------------------------------------------------------------------
// Eight bytes at a time

// bits != 0
inline unsigned count_trailing_zeros(std::uint64_t bits) {
#if defined(__GNUC__)
  return static_cast<unsigned>(__builtin_ctzll(bits));
#else
  unsigned n = 0;
  for (; (bits & 1) == 0; bits >>= 1) ++n;
  return n;
#endif
}

inline std::uint64_t load64(const std::uint8_t* p) {
  std::uint64_t value;
  std::memcpy(&value, p, 8);
  return value;
}

inline constexpr std::uint64_t each(std::uint8_t byte) { return byte * std::uint64_t{0x0101010101010101}; }

// The top bit of every byte below 0x80 of `bytes` that is in first..last; all top bits of `bytes` must be 0.
inline std::uint64_t in_range(std::uint64_t bytes, std::uint8_t first, std::uint8_t last) {
  return (bytes + each(0x80 - first)) & ~(bytes + each(0x7F - last));
}

// The number of letters, digits and underscores of ASCII among 8 bytes before the first other byte.
inline std::size_t leading_ascii_word_bytes(std::uint64_t bytes) {
  const std::uint64_t low = bytes & each(0x7F);
  const std::uint64_t letters = in_range(low | each(0x20), 'a', 'z');
  const std::uint64_t others = in_range(low, '0', '9') | in_range(low, '_', '_');
  const std::uint64_t outside = (~(letters | others) | bytes) & each(0x80);
  return outside == 0 ? 8 : count_trailing_zeros(outside) / 8;
}

// ---------------------------------------------------------------------------------------------------------------
// Cutting text into words

class Scanner {
 public:
  Scanner() : table_(class_table()) {
    for (std::uint32_t code = 0; code < 128; ++code) ascii_[code] = table_.of(code);
  }

  // Calls sink(start, size) for every word of the text, in order.
  template <class Sink>
  void scan(Span text, Sink&& sink) const {
    const std::uint8_t* p = text.data;
    const std::uint8_t* const end = p + text.size;
    while (p < end) {
      const std::uint8_t* const start = p;
      CharClass char_class;
      if (*p < 0x80) {
        char_class = ascii_[*p++];
      } else {
        const Char c = decode(p, end);
        char_class = table_.of(c.code);
        p += c.size;
      }
      if (char_class == CharClass::space) continue;
      if (char_class == CharClass::word || char_class == CharClass::mark) {
        p = run_end(p, end);
      } else if (char_class == CharClass::single) {
        p = marks_end(p, end);
      }
      sink(start, static_cast<std::size_t>(p - start));
    }
  }

 private:
  static bool joins(CharClass c) { return c == CharClass::word || c == CharClass::mark; }

  // The class and size of the character at p < end, whatever it is.
  CharClass class_at(const std::uint8_t* p, const std::uint8_t* end, std::size_t& size) const {
    if (*p < 0x80) {
      size = 1;
      return ascii_[*p];
    }
    const Char c = decode(p, end);
    size = c.size;
    return table_.of(c.code);
  }

  // The end of the run of word characters and marks that continues at p.
  const std::uint8_t* run_end(const std::uint8_t* p, const std::uint8_t* end) const {
    for (;;) {
      p = ascii_run_end(p, end);
      if (p == end || *p < 0x80) return p;
      std::size_t size;
      const CharClass here = class_at(p, end, size);
      if (here == CharClass::joiner) {
        std::size_t next_size;
        if (p + size == end || !joins(class_at(p + size, end, next_size))) return p;
        p += size + next_size;
      } else if (joins(here)) {
        p += size;
      } else {
        return p;
      }
    }
  }

  // Words are short and of unforeseeable length: eight bytes at once cost less than the one wrong guess of a loop.
  const std::uint8_t* ascii_run_end(const std::uint8_t* p, const std::uint8_t* end) const {
    while (end - p >= 8) {
      const std::size_t n = leading_ascii_word_bytes(load64(p));
      p += n;
      if (n < 8) return p;
    }
    while (p < end && *p < 0x80 && ascii_[*p] == CharClass::word) ++p;
    return p;
  }

  const std::uint8_t* marks_end(const std::uint8_t* p, const std::uint8_t* end) const {
    while (p < end && *p >= 0x80) {
      std::size_t size;
      if (class_at(p, end, size) != CharClass::mark) break;
      p += size;
    }
    return p;
  }

  const ClassTable& table_;
  std::array<CharClass, 128> ascii_;
};

// ---------------------------------------------------------------------------------------------------------------
// The hash, part of the file format (a vocabulary file holds a hash table): a multiplication and a shift for every 8
// bytes, the last piece padded with zeros, the length mixed in first, one more round at the end.

inline constexpr std::uint64_t kHashFactor = 0x9E3779B97F4A7C15u;  // 2^64 / golden ratio, odd
inline constexpr std::uint64_t kLengthFactor = 0xD6E8FEB86659FD93u;

// The little-endian number of size <= 8 bytes at p; no byte at or after limit is read. Where 8 bytes may be read, as
// almost everywhere, no branch depends on the size: words' lengths are what a processor cannot guess.
inline std::uint64_t load_padded(const std::uint8_t* p, std::size_t size, const std::uint8_t* limit) {
  if (size == 0) return 0;
  if (limit - p >= 8) return load64(p) & ~std::uint64_t{0} >> (64 - 8 * size);
  std::uint64_t value = 0;
  std::memcpy(&value, p, size);
  return value;
}

inline std::uint64_t mix(std::uint64_t value) {
  value *= kHashFactor;
  return value ^ value >> 32;
}

// A word to look for: its bytes, their hash, and the last 8 of them or fewer as a number.
struct Key {
  Span word;
  std::uint64_t hash;
  std::uint64_t tail;

  Key() = default;

  explicit Key(Span whole) : Key(whole.data, whole.size, whole.data + whole.size) {}

  // limit >= p + size: the end of the memory that may be read.
  Key(const std::uint8_t* p, std::size_t size, const std::uint8_t* limit) : word{p, size} {
    std::uint64_t state = size * kLengthFactor;
    for (; size > 8; size -= 8, p += 8) state = mix(state ^ load64(p));
    tail = load_padded(p, size, limit);
    hash = mix(mix(state ^ tail));
  }
};

// ---------------------------------------------------------------------------------------------------------------
// One layer: words back to back in an arena, and an open-addressing table with linear probing over them.

// A slot is 0 when empty; else the upper half of the word's hash, and below it the word's number in the layer plus 1.
using Slot = std::uint64_t;

inline constexpr Slot kTagMask = 0xFFFFFFFF00000000u;
inline constexpr std::size_t kMinSlots = 16;
inline constexpr std::uint64_t kMaxLayerWords = 0xFFFFFFFEu;  // so that number + 1 fits the lower half

inline Slot make_slot(std::uint64_t hash, std::uint64_t number) { return (hash & kTagMask) | (number + 1); }

// Slots for n words: a power of two, at most three quarters full.
inline std::size_t slots_for(std::uint64_t n_words) {
  std::size_t n_slots = kMinSlots;
  while (n_slots - n_slots / 4 < n_words) n_slots *= 2;
  return n_slots;
}

inline void place(Slot* slots, std::size_t n_slots, std::uint64_t hash, std::uint64_t number) {
  const std::size_t mask = n_slots - 1;
  std::size_t at = hash & mask;
  while (slots[at] != 0) at = (at + 1) & mask;
  slots[at] = make_slot(hash, number);
}

// Read-only arrays of a layer. They may come from a file, so every number is checked before it is followed.
struct LayerView {
  const std::uint8_t* arena;
  std::uint64_t arena_size;
  const std::uint64_t* offsets;  // n_words + 1
  std::uint64_t n_words;
  const Slot* slots;
  std::size_t n_slots;  // a power of two

  // The word with this number < n_words; empty when the offsets are damaged.
  Span word(std::uint64_t number) const {
    const std::uint64_t start = offsets[number], stop = offsets[number + 1];
    if (start > stop || stop > arena_size) return {arena, 0};
    return {arena + start, static_cast<std::size_t>(stop - start)};
  }

  void prefetch([[maybe_unused]] const Key& wanted) const {
#if defined(__GNUC__)
    prefetch_line(&slots[wanted.hash & (n_slots - 1)]);
#endif
  }

  // The number of a word in the layer, or -1.
  std::int64_t find(const Key& wanted) const {
    const std::size_t mask = n_slots - 1;
    const Slot tag = wanted.hash & kTagMask;
    std::size_t at = wanted.hash & mask;
    for (std::size_t step = 0; step < n_slots; ++step, at = (at + 1) & mask) {
      const Slot slot = slots[at];
      if (slot == 0) return -1;
      if ((slot & kTagMask) != tag) continue;
      const std::uint64_t number = (slot & ~kTagMask) - 1;
      if (number >= n_words) continue;
      if (equals(word(number), wanted)) return static_cast<std::int64_t>(number);
    }
    return -1;
  }

 private:
  // Most words have at most 8 bytes, which the key has as a number.
  bool equals(Span candidate, const Key& wanted) const {
    if (candidate.size != wanted.word.size) return false;
    if (candidate.size <= 8) return load_padded(candidate.data, candidate.size, arena + arena_size) == wanted.tail;
    return std::memcmp(candidate.data, wanted.word.data, candidate.size) == 0;
  }
};

// A layer that owns its memory and grows. Every method leaves it whole when memory runs out.
class GrowingLayer {
 public:
  GrowingLayer() : offsets_(1, 0), slots_(kMinSlots, 0) {}

  std::uint64_t n_words() const { return offsets_.size() - 1; }

  LayerView view() const {
    return {arena_.data(), arena_.size(), offsets_.data(), n_words(), slots_.data(), slots_.size()};
  }

  // Adds a word that is not there yet.
  void add(const Key& key) {
    const Span word = key.word;
    const std::uint64_t number = n_words();
    if (number >= kMaxLayerWords) throw std::overflow_error("the vocabulary is full");
    if (slots_for(number + 1) > slots_.size()) grow();
    if (offsets_.size() == offsets_.capacity()) offsets_.reserve(2 * offsets_.size());
    arena_.insert(arena_.end(), word.data, word.data + word.size);
    offsets_.push_back(arena_.size());
    place(slots_.data(), slots_.size(), key.hash, number);
  }

  void add_all(const LayerView& other) {
    for (std::uint64_t number = 0; number < other.n_words; ++number) {
      add(Key(other.word(number)));
    }
  }

 private:
  void grow() {
    std::vector<Slot> wider(2 * slots_.size(), 0);
    const LayerView old = view();
    for (std::uint64_t number = 0; number < old.n_words; ++number) {
      place(wider.data(), wider.size(), Key(old.word(number)).hash, number);
    }
    slots_.swap(wider);
  }

  std::vector<std::uint8_t> arena_;
  std::vector<std::uint64_t> offsets_;
  std::vector<Slot> slots_;
};

// A layer that changes no more: its own memory, or arrays that somebody else keeps alive.
struct FrozenLayer {
  explicit FrozenLayer(GrowingLayer&& layer) : owned(std::move(layer)), view(owned.view()) {}
  explicit FrozenLayer(const LayerView& borrowed) : view(borrowed) {}
  FrozenLayer(const FrozenLayer&) = delete;
  FrozenLayer& operator=(const FrozenLayer&) = delete;

  GrowingLayer owned;
  LayerView view;
};

// Builds the hash table of adjacent words, for a vocabulary file. slots: slots_for(n_words), all zero.
inline void fill_slots(const LayerView& words, Slot* slots, std::size_t n_slots) {
  for (std::uint64_t number = 0; number < words.n_words; ++number) {
    place(slots, n_slots, Key(words.word(number)).hash, number);
  }
}

// ---------------------------------------------------------------------------------------------------------------
// The vocabulary

inline constexpr std::int64_t kUnknown = -1;

class Vocabulary {
 public:
  explicit Vocabulary(std::uint64_t max_words) : max_words_(max_words) {}

  std::uint64_t n_words() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return n_frozen_ + growing_.n_words();
  }

  // Appends the words of a file, whose arrays outlive this vocabulary and all its forks.
  void append(const LayerView& words) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (words.n_words > max_words_ - n_frozen_ - growing_.n_words())
      throw std::overflow_error("the vocabulary is full");
    freeze();
    push(std::make_shared<const FrozenLayer>(words));
  }

  // A vocabulary with the same words that grows by itself; costs O(log n_words), and copies no word.
  std::unique_ptr<Vocabulary> fork() {
    const std::lock_guard<std::mutex> guard(mutex_);
    freeze();
    auto twin = std::make_unique<Vocabulary>(max_words_);
    twin->frozen_ = frozen_;
    twin->n_frozen_ = n_frozen_;
    return twin;
  }

  // Appends the ids of all words of n texts, adding the words that are new; offsets[k + 1] = ids after text k. When it is
  // stopped, what was added stays.
  void encode_adding(const Span* texts, std::size_t n, std::vector<std::uint32_t>& ids, std::int64_t* offsets,
                     StopFlag stop = nullptr) {
    const std::lock_guard<std::mutex> guard(mutex_);
    std::array<Key, kBlock> block;
    std::size_t n_waiting = 0;
    std::size_t n_resolved = 0;
    const auto resolve = [&] {
      if (++n_resolved % (kStopInterval / kBlock) == 0) check_stop(stop);
      for (std::size_t i = 0; i < n_waiting; ++i) ids.push_back(find_or_add(block[i]));
      n_waiting = 0;
    };
    offsets[0] = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const std::uint8_t* const limit = texts[k].data + texts[k].size;
      scanner_.scan(texts[k], [&](const std::uint8_t* p, std::size_t size) {
        block[n_waiting] = Key(p, size, limit);
        expect(block[n_waiting]);
        if (++n_waiting == kBlock) resolve();
      });
      resolve();
      offsets[k + 1] = static_cast<std::int64_t>(ids.size());
    }
  }

  // Appends the ids of a text's words, kUnknown for those that are not there. Adds nothing.
  void encode(Span text, std::vector<std::int64_t>& ids) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const std::uint8_t* const limit = text.data + text.size;
    scanner_.scan(text, [&](const std::uint8_t* p, std::size_t size) { ids.push_back(find(Key(p, size, limit))); });
  }

  // The id of one word, taken as it is, or kUnknown.
  std::int64_t lookup(Span word) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return find(Key(word));
  }

  // A copy of the word with an id below n_words().
  std::string word(std::uint64_t id) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const Span found = word_of(id);
    return std::string(reinterpret_cast<const char*>(found.data), found.size);
  }

  // The words [start, stop) back to back: appends their bytes, and stop - start + 1 offsets from 0.
  void export_words(std::uint64_t start, std::uint64_t stop, std::vector<std::uint8_t>& bytes,
                    std::vector<std::uint64_t>& offsets) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    offsets.reserve(stop - start + 1);
    offsets.push_back(0);
    for (std::uint64_t id = start; id < stop; ++id) {
      const Span found = word_of(id);
      bytes.insert(bytes.end(), found.data, found.data + found.size);
      offsets.push_back(bytes.size());
    }
  }

  // The first id whose word is not found under that id (a duplicate, an empty word, a damaged table), or -1.
  std::int64_t first_wrong() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const std::uint64_t n = n_frozen_ + growing_.n_words();
    for (std::uint64_t id = 0; id < n; ++id) {
      const Span found = word_of(id);
      if (found.size == 0 || find(Key(found)) != static_cast<std::int64_t>(id))
        return static_cast<std::int64_t>(id);
    }
    return -1;
  }

 private:
  struct Placed {
    std::shared_ptr<const FrozenLayer> layer;
    std::uint64_t first_id;
  };

  // Words that are looked up together, their slots on the way to the cache meanwhile: from 150 to 200 MB/s of text.
  static constexpr std::size_t kBlock = 64;

  // Layers below this size are merged with their neighbours, so that an unknown word costs few probes; above it the
  // copying would show (a merge costs about 30 ns per word), and a layer may be a mapped file, best left there.
  static constexpr std::uint64_t kLargeLayer = std::uint64_t{1} << 16;
  static constexpr std::size_t kMaxLayers = 24;

  std::int64_t find(const Key& wanted) const {
    for (const Placed& placed : frozen_) {
      const std::int64_t number = placed.layer->view.find(wanted);
      if (number >= 0) return static_cast<std::int64_t>(placed.first_id) + number;
    }
    const std::int64_t number = growing_.view().find(wanted);
    return number < 0 ? kUnknown : static_cast<std::int64_t>(n_frozen_) + number;
  }

  // Says that a word will soon be looked up; where most words are, in the first layer and the growing one.
  void expect(const Key& wanted) const {
    growing_.view().prefetch(wanted);
    if (!frozen_.empty()) frozen_.front().layer->view.prefetch(wanted);
  }

  std::uint32_t find_or_add(const Key& wanted) {
    const std::int64_t known = find(wanted);
    if (known >= 0) return static_cast<std::uint32_t>(known);
    const std::uint64_t id = n_frozen_ + growing_.n_words();
    if (id >= max_words_) throw std::overflow_error("the vocabulary is full");
    growing_.add(wanted);
    return static_cast<std::uint32_t>(id);
  }

  Span word_of(std::uint64_t id) const {
    if (id >= n_frozen_) return growing_.view().word(id - n_frozen_);
    const auto after = std::upper_bound(frozen_.begin(), frozen_.end(), id,
                                        [](std::uint64_t wanted, const Placed& p) { return wanted < p.first_id; });
    const Placed& placed = *(after - 1);
    return placed.layer->view.word(id - placed.first_id);
  }

  // Makes the growing layer the last frozen one.
  void freeze() {
    if (growing_.n_words() == 0) return;
    GrowingLayer fresh;  // what may fail comes first: after the move nothing does
    frozen_.reserve(frozen_.size() + 1);
    auto layer = std::make_shared<const FrozenLayer>(std::move(growing_));
    growing_ = std::move(fresh);
    push(std::move(layer));
  }

  // Adds a frozen layer; merges the last two while they are of similar size and small, as a binary counter does, so
  // that there are O(log n) layers and a word is copied O(log n) times.
  void push(std::shared_ptr<const FrozenLayer> layer) {
    const std::uint64_t n_added = layer->view.n_words;
    if (n_added == 0) return;
    frozen_.push_back({std::move(layer), n_frozen_});
    n_frozen_ += n_added;
    while (frozen_.size() >= 2) {
      const LayerView& below = frozen_[frozen_.size() - 2].layer->view;
      const LayerView& above = frozen_.back().layer->view;
      const bool small = below.n_words < kLargeLayer || frozen_.size() > kMaxLayers;
      if (!small || below.n_words > 2 * above.n_words) break;
      GrowingLayer merged;
      merged.add_all(below);
      merged.add_all(above);
      const std::uint64_t first_id = frozen_[frozen_.size() - 2].first_id;
      auto both = std::make_shared<const FrozenLayer>(std::move(merged));
      frozen_.pop_back();
      frozen_.back() = {std::move(both), first_id};
    }
  }

  mutable std::mutex mutex_;
  const Scanner scanner_;
  const std::uint64_t max_words_;
  std::vector<Placed> frozen_;
  std::uint64_t n_frozen_ = 0;
  GrowingLayer growing_;
};

}  // namespace ngramdb::words
