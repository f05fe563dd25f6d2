// Regular expressions over tokens: where one that begins at a place ends.
//
// A pattern is a program, as Pike's matcher runs it (Thompson 1968; Cox, "Regular Expression Matching: the Virtual Machine
// Approach", 2009): all ways to read it are followed side by side, the preferred one first, so that the time is that of
// the tokens read times the length of the program, whatever the pattern is. Of several ends the one is taken that a
// matcher which tries one way after the other would find first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/corpus/sentence_bits.hpp"
#include "ngramdb/corpus/text_words.hpp"
#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

// Steps of a program, each with two arguments; ngramdb/planner/shapes.py writes them.
enum PatternCode : int64_t {
  kPatternAny = 0,    // reads any token
  kPatternOne = 1,    // reads the token x
  kPatternSet = 2,    // reads a token of set x
  kPatternSplit = 3,  // goes on at step x, or else at step y
  kPatternJump = 4,   // goes on at step x
  kPatternDone = 5,   // the match ends
  kPatternBegin = 6,  // goes on at the next step where a sentence begins
  kPatternEnd = 7,    // goes on at the next step where a sentence ends
  kPatternWord = 8,   // reads the tokens of y words of a text, the first of set x of words, the others of the sets after it
};

struct PatternStep {
  int64_t code;
  int64_t x;
  int64_t y;
};

// The steps, which end with kPatternDone, and the sets: bit `id` of set i is bit id % 8 of byte i * n_bytes + id / 8.
struct PatternProgram {
  const PatternStep* steps;
  uint32_t n_steps;
  const uint8_t* sets;
  uint64_t n_bytes;

  bool reads(const PatternStep& step, TokenId token) const {
    if (step.code == kPatternAny) return true;
    if (step.code == kPatternOne) return token == step.x;
    if (step.code != kPatternSet) return false;
    const uint64_t byte = static_cast<uint64_t>(token) / 8;
    return byte < n_bytes && ((sets[static_cast<uint64_t>(step.x) * n_bytes + byte] >> (token % 8)) & 1u) != 0;
  }
};

class PatternMatcher {
 public:
  explicit PatternMatcher(const PatternProgram& program) : program_(program), marked_(program.n_steps, 0) {
    current_.reserve(program.n_steps);
    next_.reserve(program.n_steps);
  }

  // How many tokens the match takes up that begins with the first token which `token(i)` gives; kNoMatch where none does.
  // `token(i)` is kNoToken where the document has ended; it is asked for i = 0, 1, …. `edge(i, code)` says whether a sentence
  // begins, or ends, before token i. `words(i, step, sink)` gives sink how many tokens the words of a step take up that begin
  // in token i, for each place in it.
  static constexpr uint64_t kNoMatch = ~uint64_t{0};

  template <class Token, class Edge, class Words>
  uint64_t match(Token token, Edge edge, Words words, StopFlag stop) {
    uint64_t found = kNoMatch;
    current_.clear();
    ++mark_;
    follow(0, current_, 0, edge);
    for (uint64_t i = 0; !current_.empty(); ++i) {
      n_steps_ += current_.size();
      if (n_steps_ >= kStopInterval) {
        check_stop(stop);
        n_steps_ = 0;
      }
      // The end is known to be preferred to all ways after it.
      if (program_.steps[current_[0].at].code == kPatternDone) return i;
      const TokenId read = token(i);
      next_.clear();
      ++mark_;
      for (const Way& way : current_) {
        const PatternStep& step = program_.steps[way.at];
        if (step.code == kPatternDone) {
          found = i;
          break;
        }
        if (read == kNoToken) continue;
        if (way.n_left > 0) {
          go_on(way.at, way.n_left - 1, i, edge);
        } else if (step.code == kPatternWord) {
          words(i, step, [&](uint64_t n_tokens) { go_on(way.at, n_tokens - 1, i, edge); });
        } else if (program_.reads(step, read)) {
          follow(way.at + 1, next_, i + 1, edge);
        }
      }
      current_.swap(next_);
    }
    return found;
  }

 private:
  // A way to read the pattern: the step that is next, and how many more tokens the words of that step take up.
  struct Way {
    uint32_t at;
    uint64_t n_left;
  };

  // After token i, with so many more tokens to read until the step is done.
  template <class Edge>
  void go_on(uint32_t at, uint64_t n_left, uint64_t i, Edge& edge) {
    if (n_left == 0) {
      follow(at + 1, next_, i + 1, edge);
      return;
    }
    const auto same = [&](const Way& way) { return way.at == at && way.n_left == n_left; };
    if (std::none_of(next_.begin(), next_.end(), same)) next_.push_back({at, n_left});
  }

  // Adds the steps that read a token, or end the match, and that are reached from a step without reading; i tokens have
  // been read.
  template <class Edge>
  void follow(uint32_t from, std::vector<Way>& into, uint64_t i, Edge& edge) {
    open_.push_back(from);
    while (!open_.empty()) {
      const uint32_t at = open_.back();
      open_.pop_back();
      if (marked_[at] == mark_) continue;
      marked_[at] = mark_;
      const PatternStep& step = program_.steps[at];
      if (step.code == kPatternJump) {
        open_.push_back(static_cast<uint32_t>(step.x));
      } else if (step.code == kPatternSplit) {
        open_.push_back(static_cast<uint32_t>(step.y));
        open_.push_back(static_cast<uint32_t>(step.x));
      } else if (step.code == kPatternBegin || step.code == kPatternEnd) {
        if (edge(i, step.code)) open_.push_back(at + 1);
      } else {
        into.push_back({at, 0});
      }
    }
  }

  const PatternProgram& program_;
  std::vector<Way> current_, next_;
  std::vector<uint32_t> open_;
  std::vector<uint64_t> marked_;
  uint64_t mark_ = 0;
  uint64_t n_steps_ = 0;  // since the last interrupt check
};

// Reads a segment's tokens from a place on, some at a time.
class TokensAhead {
 public:
  TokensAhead(const Segment& segment, Position at) : segment_(segment), at_(at) {}

  TokenId operator()(uint64_t i) {
    if (i >= n_read_) {
      if (n_last_ < n_asked_) return kNoToken;
      first_ = n_read_;
      n_asked_ = n_read_ == 0 ? kFirst : kMost;
      n_last_ = segment_.tokens(at_ + n_read_, n_asked_, tokens_);
      n_read_ += n_last_;
      if (i >= n_read_) return kNoToken;
    }
    return tokens_[i - first_];
  }

 private:
  static constexpr uint32_t kFirst = 4, kMost = 32;
  const Segment& segment_;
  const Position at_;
  TokenId tokens_[kMost];
  uint64_t first_ = 0, n_read_ = 0;
  uint32_t n_asked_ = 0, n_last_ = 0;
};

// What a program with kPatternWord reads: the bytes of tokens, and sets of words.
struct PatternWords {
  TokenPieces pieces;
  std::vector<words::LayerView> sets;
};

// For each place where the match that begins there ends, 0 where none does. Matches are not empty. Where the sentences are
// not known, none begins or ends. With `in_sentence` a match ends with the sentence that it begins in at the latest.
inline void pattern_ends(const Segment& segment, const PatternProgram& program, const PatternWords& known,
                         const SentenceBits& sentences, bool in_sentence, PositionsIn starts, size_t n, PositionsOut ends,
                         StopFlag stop) {
  PatternMatcher matcher(program);
  WordFinder finder(known.pieces, known.sets);
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n);
    const Position start = starts[i];
    TokensAhead ahead(segment, start);
    // A separator's bit is set, too: no sentence begins there, and where a document begins, none has ended.
    const auto edge = [&](uint64_t k, int64_t code) {
      if (!sentences.at(start + k)) return false;
      if (code == kPatternBegin) return ahead(k) != kNoToken;
      TokenId before;
      return k > 0 || (start > 0 && segment.tokens(start - 1, 1, &before) == 1);
    };
    const auto token = [&](uint64_t k) {
      return in_sentence && k > 0 && sentences.at(start + k) ? kNoToken : ahead(k);
    };
    const auto words = [&](uint64_t k, const PatternStep& step, auto sink) {
      finder.find(
          TokensAt{segment, start + k}, static_cast<uint64_t>(step.x), static_cast<uint64_t>(step.y),
          [&](const WordPlace& place) { sink(place.n_tokens); }, stop);
    };
    const uint64_t length = matcher.match(token, edge, words, stop);
    ends.set(i, length == PatternMatcher::kNoMatch ? 0 : starts[i] + length);
  }
}

// Which of n rows of `width` ids contain a match. The words of a row are those of its own text.
inline void rows_with_pattern(const uint32_t* ids, size_t n, size_t width, const PatternProgram& program,
                              const PatternWords& known, uint8_t* out, StopFlag stop) {
  PatternMatcher matcher(program);
  WordFinder finder(known.pieces, known.sets);
  const auto no_edge = [](uint64_t, int64_t) { return false; };
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n);
    const uint32_t* row = ids + i * width;
    out[i] = 0;
    for (size_t from = 0; from < width && out[i] == 0; ++from) {
      const auto token = [&](uint64_t k) { return from + k < width ? static_cast<TokenId>(row[from + k]) : kNoToken; };
      const auto words = [&](uint64_t k, const PatternStep& step, auto sink) {
        finder.find(
            TokensOfRow{row, width, from + k}, static_cast<uint64_t>(step.x), static_cast<uint64_t>(step.y),
            [&](const WordPlace& place) { sink(place.n_tokens); }, stop);
      };
      out[i] = matcher.match(token, no_edge, words, stop) != PatternMatcher::kNoMatch;
    }
  }
}

// Where the matches end that begin at each of n ids, those of one document: `ends[i]` is one after the last, 0 for none. Of
// the n + 1 bits of `sentences`, the last one is set. For programs that ask for no words of the text.
inline void ends_in_row(const uint32_t* ids, size_t n, const PatternProgram& program, const SentenceBits& sentences,
                        bool in_sentence, int64_t* ends, StopFlag stop) {
  PatternMatcher matcher(program);
  const auto no_words = [](uint64_t, const PatternStep&, auto) {};
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n);
    const auto edge = [&](uint64_t k, int64_t code) {
      return sentences.at(i + k) && (code == kPatternBegin ? i + k < n : i + k > 0);
    };
    const auto token = [&](uint64_t k) {
      if (i + k >= n || (in_sentence && k > 0 && sentences.at(i + k))) return kNoToken;
      return static_cast<TokenId>(ids[i + k]);
    };
    const uint64_t length = matcher.match(token, edge, no_words, stop);
    ends[i] = length == PatternMatcher::kNoMatch ? 0 : static_cast<int64_t>(i + length);
  }
}

}  // namespace ngramdb
