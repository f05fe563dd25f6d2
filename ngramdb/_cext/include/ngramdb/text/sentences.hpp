// Boundaries of sentences in a text, by the default rules of Unicode (UAX #29, "Sentence Boundaries": SB1 to SB998), and
// the words or tokens that sentences begin with.
//
// The rules break after a paragraph separator, and after `.`, `!`, `?` and the like with the quotes and blanks that follow,
// unless the context of a full stop continues the sentence. So a text is searched for these characters, eight
// bytes at a time, and the rules are applied to each. No read leaves the text, whatever its bytes are; bytes that are not
// UTF-8 are characters of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/text/sentence_tables.hpp"
#include "ngramdb/text/words.hpp"

namespace ngramdb::sentences {

using words::Span;

class SentenceFinder {
 public:
  SentenceFinder() : table_(table()) {
    for (std::uint32_t code = 0; code < 128; ++code) ascii_[code] = table_.of(code);
  }

  // The first boundary after `from`, which is a boundary or 0; the text's size if no further sentence begins.
  std::size_t next(Span text, std::size_t from) const {
    const std::uint8_t* const begin = text.data;
    const std::uint8_t* const end = begin + text.size;
    const std::uint8_t* p = begin + from;
    while ((p = next_candidate(p, end)) < end) {
      const Step here = at(p, end);
      if (is_paragraph(here.char_class)) return static_cast<std::size_t>(after_paragraph(p, end) - begin);
      bool ends;
      const std::uint8_t* const after = after_term(begin, p, end, ends);
      if (ends) return static_cast<std::size_t>(after - begin);
      p = after;
    }
    return text.size;
  }

 private:
  using C = SentenceClass;

  struct Step {
    C char_class;
    std::uint32_t size;
  };

  static const words::CharTable<C>& table() {
    static const words::CharTable<C> table(kSentenceRanges);
    return table;
  }

  static bool is_paragraph(C c) { return c == C::cr || c == C::lf || c == C::sep; }
  static bool is_term(C c) { return c == C::aterm || c == C::sterm; }
  static bool is_ignored(C c) { return c == C::extend || c == C::format; }

  Step at(const std::uint8_t* p, const std::uint8_t* end) const {
    if (*p < 0x80) return {ascii_[*p], 1};
    const words::Char c = words::decode(p, end);
    return {table_.of(c.code), c.size};
  }

  // The first character from p on that may end a sentence.
  const std::uint8_t* next_candidate(const std::uint8_t* p, const std::uint8_t* end) const {
    using words::each;
    using words::in_range;
    for (;;) {
      while (end - p >= 8) {
        const std::uint64_t bytes = words::load64(p);
        const std::uint64_t low = bytes & each(0x7F);
        // `!`, `.`, `?`, and from line feed to carriage return; the others are not ASCII.
        const std::uint64_t found = (in_range(low, '!', '!') | in_range(low, '.', '.') | in_range(low, '?', '?') |
                                     in_range(low, '\n', '\r') | bytes) & each(0x80);
        if (found == 0) {
          p += 8;
          continue;
        }
        p += words::count_trailing_zeros(found) / 8;
        break;
      }
      if (p == end) return p;
      const Step here = at(p, end);
      if (is_term(here.char_class) || is_paragraph(here.char_class)) return p;
      p += here.size;
    }
  }

  const std::uint8_t* after_paragraph(const std::uint8_t* p, const std::uint8_t* end) const {
    const Step here = at(p, end);
    p += here.size;
    return here.char_class == C::cr && p < end && *p == '\n' ? p + 1 : p;
  }

  // Past the character at p, with what belongs to it (SB5).
  const std::uint8_t* past(const std::uint8_t* p, const std::uint8_t* end) const {
    p += at(p, end).size;
    while (p < end) {
      const Step here = at(p, end);
      if (!is_ignored(here.char_class)) break;
      p += here.size;
    }
    return p;
  }

  const std::uint8_t* past_all(C char_class, const std::uint8_t* p, const std::uint8_t* end) const {
    while (p < end && at(p, end).char_class == char_class) p = past(p, end);
    return p;
  }

  // The class of the character before p, those left out that belong to another one.
  C before(const std::uint8_t* begin, const std::uint8_t* p, const std::uint8_t* end) const {
    while (p > begin) {
      const std::uint8_t* start = p - 1;
      while (start > begin && p - start < 4 && (*start & 0xC0) == 0x80) --start;
      Step here = at(start, end);
      if (start + here.size != p) {
        start = p - 1;
        here = {C::other, 1};
      }
      if (!is_ignored(here.char_class)) return here.char_class;
      p = start;
    }
    return C::other;
  }

  // The text after the terminator at p: the end of its sentence, or the place from which to search for another end.
  const std::uint8_t* after_term(const std::uint8_t* begin, const std::uint8_t* p, const std::uint8_t* end, bool& ends) const {
    const bool may_go_on = at(p, end).char_class == C::aterm;
    const std::uint8_t* q = past(p, end);
    ends = false;
    if (may_go_on && q < end) {
      const C next = at(q, end).char_class;
      if (next == C::numeric) return q;  // SB6
      if (next == C::upper) {            // SB7
        const C previous = before(begin, p, end);
        if (previous == C::upper || previous == C::lower) return q;
      }
    }
    q = past_all(C::sp, past_all(C::close, q, end), end);
    if (q == end) return q;
    const C next = at(q, end).char_class;
    if (next == C::scontinue || is_term(next)) return q;  // SB8a
    if (may_go_on && is_lower_ahead(q, end)) return q;    // SB8
    ends = true;
    return is_paragraph(next) ? after_paragraph(q, end) : q;  // SB9 to SB11
  }

  bool is_lower_ahead(const std::uint8_t* p, const std::uint8_t* end) const {
    while (p < end) {
      const Step here = at(p, end);
      const C c = here.char_class;
      if (c == C::lower) return true;
      if (c == C::oletter || c == C::upper || is_paragraph(c) || is_term(c)) return false;
      p += here.size;
    }
    return false;
  }

  const words::CharTable<C>& table_;
  std::array<C, 128> ascii_;
};

inline const SentenceFinder& finder() {
  static const SentenceFinder instance;
  return instance;
}

// Calls sink(offset) for every boundary inside the text.
template <class Sink>
void find_boundaries(Span text, Sink&& sink) {
  for (std::size_t at = finder().next(text, 0); at < text.size; at = finder().next(text, at)) sink(at);
}

// Which of the words of a text begin a sentence: flags for as many words as the scanner finds, at most n. `next(at)` is the
// first boundary after the one at `at`, the text's size after the last. Returns how many words there are.
template <class Next>
std::size_t mark_words(const words::Scanner& scanner, Span text, Next&& next, std::uint8_t* flags, std::size_t n) {
  std::size_t boundary = 0, word = 0;
  scanner.scan(text, [&](const std::uint8_t* start, std::size_t) {
    const std::size_t at = static_cast<std::size_t>(start - text.data);
    const bool begins = at >= boundary;
    while (boundary <= at && boundary < text.size) boundary = next(boundary);
    if (word < n) flags[word] = begins;
    ++word;
  });
  return word;
}

inline std::size_t mark_words(const words::Scanner& scanner, Span text, std::uint8_t* flags, std::size_t n) {
  return mark_words(scanner, text, [&](std::size_t at) { return finder().next(text, at); }, flags, n);
}

// The same with the boundaries given, ascending.
inline std::size_t mark_words_at(const words::Scanner& scanner, Span text, const std::int64_t* boundaries, std::size_t n_boundaries,
                                 std::uint8_t* flags, std::size_t n) {
  std::size_t i = 0;
  const auto next = [&](std::size_t at) {
    while (i < n_boundaries && static_cast<std::size_t>(boundaries[i]) <= at) ++i;
    return i < n_boundaries ? static_cast<std::size_t>(boundaries[i]) : text.size;
  };
  return mark_words(scanner, text, next, flags, n);
}

// The same of tokens, by the places of their first characters that are not white space, which ascend; tokens of white
// space alone have negative ones, and belong to the sentence before them. The first token begins one in any case.
// `next_place(i)` is called once for each token, in order.
template <class NextPlace>
void mark_tokens(Span text, std::size_t n, NextPlace&& next_place, std::uint8_t* flags, StopFlag stop) {
  std::size_t boundary = 0;
  bool has_begun = false;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop);
    flags[i] = i == 0;
    const std::int64_t place = next_place(i);
    if (place < 0) continue;
    const std::size_t at = static_cast<std::size_t>(place);
    if (at < boundary) continue;
    if (has_begun) flags[i] = 1;
    has_begun = true;
    while (boundary <= at && boundary < text.size) boundary = finder().next(text, boundary);
    if (boundary >= text.size) boundary = SIZE_MAX;
  }
}

inline void mark_places(Span text, const std::int64_t* places, std::size_t n, std::uint8_t* flags, StopFlag stop) {
  mark_tokens(text, n, [&](std::size_t i) { return places[i]; }, flags, stop);
}

// The bytes of the tokens of a vocabulary, and how many of them, white space, each begins with; -1 if it has nothing else.
struct TokenSizes {
  const std::uint32_t* lengths;
  const std::int32_t* leads;
  std::size_t n;
};

// The same of tokens whose bytes are the text. Returns false if they have another length than the text.
inline bool mark_spelled(Span text, const std::uint32_t* ids, std::size_t n, const TokenSizes& sizes, std::uint8_t* flags,
                         StopFlag stop) {
  std::size_t end = 0;
  mark_tokens(text, n, [&](std::size_t i) -> std::int64_t {
    const std::size_t id = ids[i];
    if (id >= sizes.n || end > text.size) {
      end = SIZE_MAX;
      return -1;
    }
    const std::size_t start = end;
    end += sizes.lengths[id];
    return sizes.leads[id] < 0 ? -1 : static_cast<std::int64_t>(start) + sizes.leads[id];
  }, flags, stop);
  return end == text.size;
}

}  // namespace ngramdb::sentences
