// Randomised checks of words and sentences in texts, to be run under sanitizers: words whose tokens are pieces of them,
// beginnings of sentences, and the bits of a segment that mark them.
#include <set>
#include <string>

#include "corpora.hpp"
#include "ngramdb/corpus/sentence_bits.hpp"
#include "ngramdb/corpus/text_words.hpp"
#include "ngramdb/text/sentences.hpp"

namespace text_checks {

using namespace ngramdb;

words::Span span_of(const Exact<uint8_t>& text) { return {text.data(), text.size()}; }

Exact<uint8_t> exact_bytes(const std::string& text) { return Exact<uint8_t>(std::vector<uint8_t>(text.begin(), text.end())); }

// ---- texts of pieces of words ----------------------------------------------------------------------------

// Bytes of 1 to 6 (some longer, some none): parts of characters, and several words in one.
std::string random_piece(Random& random, bool is_joining) {
  static const std::vector<std::string> joining{"a", " ", "中", "\xE2\x80\x8D", "\xCC\x81"};
  static const std::vector<std::string> all{"a", "b", "Z", "7", "_", " ", " a", "\n", ".", "中", "ひ", "\xCC", "\x81", "\xCC\x81",
                                            "\xE2\x80\x8D", "\xE2", "\x80", "\x8D", "\xF0\x9F", "\x98\x80", "\xFF", "wö", "a b",
                                              std::string(1, '\0')};
  const std::vector<std::string>& parts = is_joining ? joining : all;
  std::string piece;
  const uint64_t most = 1 + random.below(6);
  while (piece.size() < most) piece += random.pick(parts);
  if (random.chance(20)) return piece + "longer_than_eight_bytes";
  return random.chance(15) ? "" : piece.substr(0, most);
}

struct Pieces {
  Exact<uint8_t> flat;
  Exact<int64_t> offsets;
  std::vector<std::string> texts;
  TokenPieces view;

  explicit Pieces(const std::vector<std::string>& all) : texts(all) {
    std::string joined;
    std::vector<int64_t> ends{0};
    for (const std::string& piece : all) {
      joined += piece;
      ends.push_back(static_cast<int64_t>(joined.size()));
    }
    flat = exact_bytes(joined);
    offsets = Exact<int64_t>(ends);
    view = {flat.data(), offsets.data(), all.size()};
  }

  std::string of(int64_t id) const { return id < static_cast<int64_t>(texts.size()) ? texts[static_cast<size_t>(id)] : ""; }
};

Pieces random_pieces(Random& random) {
  std::vector<std::string> all(random.below(12));
  const bool is_joining = random.chance(3);
  for (std::string& piece : all) piece = random_piece(random, is_joining);
  return Pieces(all);
}

// Ids of pieces, and one or two without a piece.
Documents random_texts(Random& random, const Pieces& pieces) {
  Documents documents(random.below(8));
  for (Ids& document : documents) {
    document.resize(random.below(random.chance(3) ? 1 : 30));
    for (int64_t& id : document) id = static_cast<int64_t>(random.below(pieces.texts.size() + (random.chance(4) ? 2 : 1)));
  }
  return documents;
}

struct WordIn {
  std::string text;
  size_t begin, end, first, last;  // bytes; tokens
};

// The words of a document, cut as a whole, and where its tokens end.
std::vector<WordIn> words_in(const Pieces& pieces, const Ids& document, std::vector<size_t>& ends) {
  std::string text;
  ends.clear();
  for (const int64_t id : document) {
    text += pieces.of(id);
    ends.push_back(text.size());
  }
  const Exact<uint8_t> bytes = exact_bytes(text);
  std::vector<WordIn> found;
  words::Scanner().scan(span_of(bytes), [&](const uint8_t* p, size_t size) {
    WordIn word;
    word.begin = static_cast<size_t>(p - bytes.data());
    word.end = word.begin + size;
    word.text = text.substr(word.begin, size);
    word.first = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), word.begin) - ends.begin());
    word.last = static_cast<size_t>(std::lower_bound(ends.begin(), ends.end(), word.end) - ends.begin());
    found.push_back(word);
  });
  return found;
}

using Forms = std::set<std::pair<std::string, std::vector<uint32_t>>>;

Forms forms_by_definition(const Pieces& pieces, const Documents& documents) {
  Forms forms;
  std::vector<size_t> ends;
  for (const Ids& document : documents) {
    for (const WordIn& word : words_in(pieces, document, ends)) {
      std::vector<uint32_t> ids;
      for (size_t i = word.first; i <= word.last; ++i) ids.push_back(static_cast<uint32_t>(document[i]));
      forms.emplace(word.text, ids);
    }
  }
  return forms;
}

std::string string_of(words::Span span) { return std::string(reinterpret_cast<const char*>(span.data), span.size); }

void compare_forms(const WordForms& found, const Forms& expected) {
  const words::LayerView texts = found.texts(), sequences = found.sequences();
  Forms given;
  std::set<std::string> used, listed;
  for (uint64_t i = 0; i < sequences.n_words; ++i) {
    const words::Span entry = sequences.word(i);
    std::vector<uint32_t> numbers(entry.size / sizeof(uint32_t));
    CHECK(numbers.size() >= 2 && entry.size == numbers.size() * sizeof(uint32_t) && numbers[0] < texts.n_words);
    std::memcpy(numbers.data(), entry.data, entry.size);
    const std::string text = string_of(texts.word(numbers[0]));
    used.insert(text);
    CHECK(given.emplace(text, std::vector<uint32_t>(numbers.begin() + 1, numbers.end())).second);
  }
  for (uint64_t i = 0; i < texts.n_words; ++i) CHECK(listed.insert(string_of(texts.word(i))).second);
  CHECK(given == expected && used == listed);
}

// Returns true if everything was read; false if it was too much, or stopped.
bool collect(WordForms& forms, const Segment& segment, StopFlag stop) {
  try {
    forms.collect(segment, stop);
    return true;
  } catch (const std::overflow_error&) {
    CHECK(stop == nullptr);
  } catch (const Interrupted&) {
    CHECK(stop != nullptr);
  }
  return false;
}

template <class Sym>
void check_forms_of(Random& random, const Pieces& pieces, const Documents& documents) {
  const Made<Sym> made(documents);
  const std::unique_ptr<Segment> segment = made.segment();
  const Forms expected = forms_by_definition(pieces, documents);
  WordForms all(pieces.view, expected.size());
  CHECK(collect(all, *segment, nullptr));
  CHECK(collect(all, *segment, nullptr));  // nothing new
  compare_forms(all, expected);
  if (!expected.empty()) {
    WordForms few(pieces.view, random.below(expected.size()));
    CHECK(!collect(few, *segment, nullptr));
  }
  StopState state;
  Poll poll(&state, nullptr, 0, nullptr);
  state.deadline_ns.store(now_ns() + static_cast<int64_t>(random.below(200'000)));
  WordForms in_time(pieces.view, expected.size());
  if (collect(in_time, *segment, &poll)) compare_forms(in_time, expected);
  state.n_requests.store(1);
  WordForms none(pieces.view, expected.size());
  CHECK(collect(none, *segment, &poll) == documents.empty());
}

template <class Sym>
void check_forms(Random& random) {
  const Pieces pieces = random_pieces(random);
  check_forms_of<Sym>(random, pieces, random_texts(random, pieces));
}

// Texts that are not read at once, and words as long.
Documents long_texts(Random& random, const Pieces& pieces) {
  const size_t n = pieces.texts.size();
  Documents documents{Ids(15'000 + random.below(10'000), 0), {}, Ids(20'000)};
  for (int64_t& id : documents[2]) id = static_cast<int64_t>(random.below(n));
  for (uint64_t k = random.below(4); k > 0; --k) documents[0][random.below(documents[0].size())] = static_cast<int64_t>(random.below(n));
  return documents;
}

Pieces long_pieces(Random& random) {
  return Pieces({random.pick(std::vector<std::string>{"letter", "aaaaa\xC3", "\x81wörd", "a\xE2\x80\x8D"}), random_piece(random, false), " ",
                 random_piece(random, false)});
}

void check_long_forms(Random& random) {
  const Pieces pieces = long_pieces(random);
  check_forms_of<uint16_t>(random, pieces, long_texts(random, pieces));
}

// ---- where words begin -----------------------------------------------------------------------------------

bool same(const WordPlace& a, const WordPlace& b) { return a.n_tokens == b.n_tokens && a.before == b.before && a.after == b.after; }

struct WordSets {
  std::vector<words::GrowingLayer> layers;
  std::vector<words::LayerView> views;
  std::vector<std::set<std::string>> texts;

  WordSets(Random& random, const std::vector<std::string>& known, size_t n) : layers(n), texts(n) {
    for (size_t k = 0; k < n; ++k) {
      for (const std::string& word : known) {
        if (!random.chance(2) || !texts[k].insert(word).second) continue;
        const Exact<uint8_t> bytes = exact_bytes(word);
        layers[k].add(words::Key(span_of(bytes)));
      }
      views.push_back(layers[k].view());
    }
  }
};

// The places of phrases that begin in a token of a document.
std::vector<WordPlace> places_by_definition(const std::vector<WordIn>& words, const std::vector<size_t>& ends, size_t token,
                                            const WordSets& sets, uint64_t first, uint64_t n) {
  std::vector<WordPlace> found;
  for (size_t i = 0; i + n <= words.size(); ++i) {
    bool is_in = words[i].first == token;
    for (uint64_t k = 0; k < n; ++k) is_in = is_in && sets.texts[first + k].count(words[i + k].text) != 0;
    if (!is_in) continue;
    const WordIn& last = words[i + n - 1];
    found.push_back({last.last - token + 1, static_cast<int64_t>(words[i].begin - (token == 0 ? 0 : ends[token - 1])),
                     static_cast<int64_t>(ends[last.last] - last.end)});
  }
  return found;
}

// Reads at that many random positions, or at all of them.
template <class Sym>
void check_phrases_of(Random& random, const Pieces& pieces, const Documents& documents, size_t n_most) {
  const Made<Sym> made(documents);
  const std::unique_ptr<Segment> segment = made.segment();
  std::set<std::string> distinct{"nowhere"};
  for (const auto& form : forms_by_definition(pieces, documents)) distinct.insert(form.first);
  const WordSets sets(random, std::vector<std::string>(distinct.begin(), distinct.end()), 4);
  const uint64_t n = 1 + random.below(3), first = random.below(4 - n + 1);

  std::vector<uint32_t> at;
  std::vector<std::pair<size_t, size_t>> tokens;  // of each position; none of separators and beyond the end
  uint32_t position = 0;
  for (size_t d = 0; d < documents.size(); ++d) {
    for (size_t i = 0; i <= documents[d].size(); ++i, ++position) {
      if (n_most < made.text.size() && random.below(made.text.size()) >= n_most) continue;
      at.push_back(position);
      tokens.emplace_back(d, i);
    }
  }
  for (const uint32_t beyond : {position, position + 1, ~uint32_t{0}}) {
    at.push_back(beyond);
    tokens.emplace_back(documents.size(), 0);
  }
  const Exact<uint32_t> starts(at);
  std::vector<int64_t> numbers;
  std::vector<WordPlace> places;
  phrases_at(*segment, pieces.view, sets.views, first, n, starts.data(), starts.size(), numbers, places, nullptr);
  CHECK(numbers.size() == places.size());

  WordFinder finder(pieces.view, sets.views);
  size_t next = 0, cut = documents.size();
  std::vector<WordIn> words;
  std::vector<size_t> ends;
  Exact<uint32_t> row;
  for (size_t i = 0; i < at.size(); ++i) {
    const auto [d, token] = tokens[i];
    if (d == documents.size() || token == documents[d].size()) continue;
    if (cut != d) {
      words = words_in(pieces, documents[d], ends);
      row = Exact<uint32_t>(std::vector<uint32_t>(documents[d].begin(), documents[d].end()));
      cut = d;
    }
    const std::vector<WordPlace> expected = places_by_definition(words, ends, token, sets, first, n);
    for (const WordPlace& place : expected) {
      CHECK(next < places.size() && numbers[next] == static_cast<int64_t>(i) && same(places[next], place));
      ++next;
    }
    // The document as an n-gram.
    size_t k = 0;
    finder.find(
        TokensOfRow{row.data(), row.size(), token}, first, n,
        [&](const WordPlace& place) {
          CHECK(k < expected.size() && same(expected[k], place));
          ++k;
        },
        nullptr);
    CHECK(k == expected.size());
  }
  CHECK(next == places.size());

  StopState state;
  state.n_requests.store(1);
  Poll poll(&state, nullptr, 0, nullptr);
  bool is_stopped = false;
  try {
    phrases_at(*segment, pieces.view, sets.views, first, n, starts.data(), starts.size(), numbers, places, &poll);
  } catch (const Interrupted&) {
    is_stopped = true;
  }
  CHECK(is_stopped);
}

template <class Sym>
void check_phrases(Random& random) {
  const Pieces pieces = random_pieces(random);
  check_phrases_of<Sym>(random, pieces, random_texts(random, pieces), ~size_t{0});
}

void check_long_phrases(Random& random) {
  const Pieces pieces = long_pieces(random);
  check_phrases_of<uint16_t>(random, pieces, long_texts(random, pieces), 12);
}

// ---- where sentences begin -------------------------------------------------------------------------------

using sentences::SentenceClass;

std::string random_prose(Random& random) {
  static const std::vector<std::string> parts{"a", "B", "9", " ", ".", "!", "?", ",", ")", "\"", "\n", "\r", "\r\n", "\xC2\x85",
                                              "\xC2\xAD", "\xCC\x81", "中", "。", "\xE2\x80\xA9", "\xE2\x80\xA4", "\xC3\x89",
                                              "plain words that go on ", "\xFF", "\xE2\x80", "\x81", "\xF0\x9F\x98\x80",
                                              std::string(1, '\0')};
  const uint64_t n_parts = 2 + random.below(parts.size() - 1), from = random.below(parts.size());
  std::string text;
  for (uint64_t n = random.below(40); n > 0; --n) text += parts[(from + random.below(n_parts)) % parts.size()];
  return text;
}

SentenceClass class_of(uint32_t code) {
  for (const auto& range : sentences::kSentenceRanges) {
    if (range.first <= code && code <= range.last) return range.char_class;
  }
  return SentenceClass::other;
}

// The rules of UAX #29, one after the other, at every place between two characters.
std::vector<size_t> boundaries_by_definition(const Exact<uint8_t>& text) {
  using C = SentenceClass;
  const auto is_in = [](C c, std::initializer_list<C> of) { return std::find(of.begin(), of.end(), c) != of.end(); };
  const auto is_paragraph = [&](C c) { return is_in(c, {C::cr, C::lf, C::sep}); };
  std::vector<C> classes;  // SB5: without those that belong to the character before them
  std::vector<size_t> starts;
  for (size_t at = 0; at < text.size();) {
    const uint8_t* const p = text.data() + at;
    const words::Char c = *p < 0x80 ? words::Char{*p, 1} : words::decode(p, text.data() + text.size());
    const C found = class_of(c.code);
    if (!is_in(found, {C::extend, C::format}) || classes.empty() || is_paragraph(classes.back())) {
      classes.push_back(found);
      starts.push_back(at);
    }
    at += c.size;
  }
  const auto breaks = [&](size_t j) {
    const C last = classes[j - 1], next = classes[j];
    if (is_paragraph(last)) return !(last == C::cr && next == C::lf && starts[j] == starts[j - 1] + 1);  // SB3, SB4
    if (last == C::aterm && next == C::numeric) return false;                                            // SB6
    if (last == C::aterm && next == C::upper && j >= 2 && is_in(classes[j - 2], {C::upper, C::lower})) return false;  // SB7
    size_t i = j;
    while (i > 0 && classes[i - 1] == C::sp) --i;
    const bool has_blanks = i < j;
    while (i > 0 && classes[i - 1] == C::close) --i;
    if (i == 0 || !is_in(classes[i - 1], {C::aterm, C::sterm})) return false;  // SB998
    size_t k = j;
    while (k < classes.size() && !is_in(classes[k], {C::oletter, C::upper, C::lower, C::cr, C::lf, C::sep, C::aterm, C::sterm})) ++k;
    if (classes[i - 1] == C::aterm && k < classes.size() && classes[k] == C::lower) return false;  // SB8
    if (is_in(next, {C::scontinue, C::aterm, C::sterm})) return false;                             // SB8a
    if (!has_blanks && next == C::close) return false;                                             // SB9
    return !(next == C::sp || is_paragraph(next));                                                 // SB9 to SB11
  };
  std::vector<size_t> found;
  for (size_t j = 1; j < classes.size(); ++j) {
    if (breaks(j)) found.push_back(starts[j]);
  }
  return found;
}

void check_boundaries(Random& random) {
  const Exact<uint8_t> text = exact_bytes(random_prose(random));
  const std::vector<size_t> expected = boundaries_by_definition(text);
  std::vector<size_t> found;
  sentences::find_boundaries(span_of(text), [&](size_t at) { found.push_back(at); });
  CHECK(found == expected);
  CHECK(sentences::finder().next(span_of(text), text.size()) == text.size());

  // Returns true if a sentence begins after `last` and not after `at`.
  const auto begins = [&](size_t last, size_t at) {
    const auto next = std::upper_bound(expected.begin(), expected.end(), last);
    return next != expected.end() && *next <= at;
  };
  std::vector<size_t> words;
  const words::Scanner scanner;
  scanner.scan(span_of(text), [&](const uint8_t* p, size_t) { words.push_back(static_cast<size_t>(p - text.data())); });
  const size_t room = random.chance(2) ? words.size() : random.below(words.size() + 1);
  const Exact<int64_t> starts(std::vector<int64_t>(expected.begin(), expected.end()));
  Exact<uint8_t> flags(room), flags_at(room);
  CHECK(sentences::mark_words(scanner, span_of(text), flags.data(), room) == words.size());
  CHECK(sentences::mark_words_at(scanner, span_of(text), starts.data(), starts.size(), flags_at.data(), room) == words.size());
  for (size_t i = 0; i < room; ++i) {
    CHECK((flags[i] != 0) == (i == 0 || begins(words[i - 1], words[i])));
    CHECK(flags_at[i] == flags[i]);
  }

  // Tokens at some places, a few of them of white space alone.
  std::vector<int64_t> some;
  for (size_t at = 0; at < text.size(); ++at) {
    if (random.chance(3)) some.push_back(-1);
    if (random.chance(3)) some.push_back(static_cast<int64_t>(at));
  }
  const Exact<int64_t> places(some);
  Exact<uint8_t> marks(places.size());
  sentences::mark_places(span_of(text), places.data(), places.size(), marks.data(), nullptr);
  int64_t last = -1;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool expects = i == 0 || (places[i] >= 0 && last >= 0 && begins(static_cast<size_t>(last), static_cast<size_t>(places[i])));
    CHECK((marks[i] != 0) == expects);
    if (places[i] >= 0) last = places[i];
  }

  // Tokens of one to three bytes that spell the text, or have another length.
  const Exact<uint32_t> lengths(std::vector<uint32_t>{1, 2, 3});
  const Exact<int32_t> leads(std::vector<int32_t>{0, 1, -1});
  std::vector<uint32_t> spelling;
  size_t spelled = 0;
  while (spelled < text.size() + random.below(2)) {
    spelling.push_back(static_cast<uint32_t>(random.below(4)));
    spelled += spelling.back() < 3 ? spelling.back() + 1 : text.size() + 1;
  }
  const Exact<uint32_t> ids(spelling);
  Exact<uint8_t> of_ids(ids.size());
  const sentences::TokenSizes sizes{lengths.data(), leads.data(), lengths.size()};
  CHECK(sentences::mark_spelled(span_of(text), ids.data(), ids.size(), sizes, of_ids.data(), nullptr) == (spelled == text.size()));

  // Invalid places give arbitrary flags.
  std::vector<int64_t> strange(random.below(20));
  for (int64_t& value : strange) {
    value = random.pick(std::vector<int64_t>{-1, 0, static_cast<int64_t>(text.size()), static_cast<int64_t>(random.below(100)),
                                             INT64_MAX, INT64_MIN});
  }
  const Exact<int64_t> wrong(strange);
  Exact<uint8_t> whichever(wrong.size());
  sentences::mark_places(span_of(text), wrong.data(), wrong.size(), whichever.data(), nullptr);
  CHECK(sentences::mark_words_at(scanner, span_of(text), wrong.data(), wrong.size(), flags_at.data(), room) == words.size());
}

// ---- the bits of a segment -------------------------------------------------------------------------------

// Answers at every position, and beyond.
void compare_bits(const Exact<uint8_t>& bytes, const std::vector<bool>& expected) {
  const uint64_t n = 8 * bytes.size();
  const SentenceBits bits{bytes.size() == 0 ? nullptr : bytes.data(), n};
  std::vector<uint32_t> wanted, lo, hi;
  for (uint64_t p = 0; p < n + 20; ++p) {
    CHECK(bits.at(p) == (p < n && expected[p]));
    wanted.push_back(static_cast<uint32_t>(p));
    lo.push_back(0), hi.push_back(0);
    if (p >= n) continue;
    uint64_t begin = p, end = p + 1;
    while (begin > 0 && !expected[begin]) --begin;
    while (end < n && !expected[end]) ++end;
    CHECK(bits.begin_of(p) == begin && bits.end_of(p) == end);
    lo.back() = static_cast<uint32_t>(begin), hi.back() = static_cast<uint32_t>(end);
  }
  wanted.push_back(~uint32_t{0}), lo.push_back(0), hi.push_back(0);
  const Exact<uint32_t> positions(wanted);
  Exact<uint32_t> begins(positions.size()), ends(positions.size());
  sentences_at(bits, positions.data(), positions.size(), begins.data(), ends.data(), nullptr);
  for (size_t i = 0; i < positions.size(); ++i) CHECK(begins[i] == lo[i] && ends[i] == hi[i]);
}

void check_bits(Random& random) {
  Exact<uint8_t> bytes(random.below(random.chance(4) ? 2 : 40));
  const uint64_t one_in = random.pick(std::vector<uint64_t>{1, 2, 9, 60, 1000});
  std::vector<bool> expected;
  for (size_t p = 0; p < 8 * bytes.size(); ++p) {
    expected.push_back(random.below(one_in) == 0);
    if (expected[p]) bytes[p / 8] = static_cast<uint8_t>(bytes[p / 8] | 1u << (p % 8));
  }
  compare_bits(bytes, expected);
}

// For documents, including empty ones: a token's sentence stays within its document.
void check_bits_of_documents(Random& random) {
  std::vector<bool> set;
  std::vector<std::pair<uint32_t, uint32_t>> expected;  // of each token or separator
  for (uint64_t n = random.below(12); n > 0; --n) {
    for (uint64_t k = random.below(3); k > 0; --k) {
      const auto begin = static_cast<uint32_t>(set.size()), length = 1 + static_cast<uint32_t>(random.below(30));
      set.push_back(true);
      set.insert(set.end(), length - 1, false);
      expected.insert(expected.end(), length, {begin, begin + length});
    }
    const auto separator = static_cast<uint32_t>(set.size());
    set.push_back(true);
    expected.emplace_back(separator, separator + 1);
  }
  Exact<uint8_t> bytes((set.size() + 7) / 8);
  for (size_t p = 0; p < set.size(); ++p) bytes[p / 8] = static_cast<uint8_t>(bytes[p / 8] | (set[p] ? 1u : 0u) << (p % 8));
  const SentenceBits bits{bytes.data(), 8 * bytes.size()};
  for (size_t p = 0; p < set.size(); ++p) {
    CHECK(bits.begin_of(p) == expected[p].first);
    if (p + 1 < set.size()) CHECK(bits.end_of(p) == expected[p].second);
  }
  set.resize(8 * bytes.size());
  compare_bits(bytes, set);
}

const Scenario kScenarios[] = {
    {"word forms, u8", check_forms<uint8_t>, 150},
    {"word forms, u16", check_forms<uint16_t>, 60},
    {"long word forms", check_long_forms, 4},
    {"phrases, u8", check_phrases<uint8_t>, 200},
    {"phrases, u32", check_phrases<uint32_t>, 60},
    {"long phrases", check_long_phrases, 3},
    {"boundaries of sentences", check_boundaries, 1500},
    {"bits of sentences", check_bits, 300},
    {"bits of documents' sentences", check_bits_of_documents, 150},
};

}  // namespace text_checks

#ifndef TOGETHER
int main(int argc, char** argv) { return run_scenarios(text_checks::kScenarios, argc, argv); }
#endif
