// Regular expressions over tokens: where matches that begin at given positions end.
//
// Among several ends, the result is the one that a backtracking matcher would find first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/corpus/pattern_states.hpp"
#include "ngramdb/corpus/sentence_bits.hpp"
#include "ngramdb/corpus/text_words.hpp"
#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

// Finds the ends of many matches in one pass over the text.
//
// Starts that are in the same state at the same position form a group, which is read once: the time is that of the
// tokens read times the groups that are open at a time, of which there are never more than states. In most patterns these
// are few. They are at most as many as the pattern's steps unless alternatives repeat in different rhythms, as in
// `("a"{2}){1,} | ("a"{3}){1,} | …`.
template <class Text>
class PatternSweep {
 public:
  PatternSweep(const PatternProgram& program, Text& text, StopFlag stop) : states_(program), text_(text), stop_(stop) {}

  // Calls sink(i, end) once for each of n starts, `end` one after the match's last token, 0 for no match. Matches are not
  // empty. Ascending starts are read in one pass.
  template <class Starts, class Sink>
  void find(const Starts& starts, size_t n, Sink sink) {
    for (size_t first = 0; first < n; first += kMostStarts) {
      const size_t n_some = std::min(n - first, kMostStarts);
      followers_.resize(std::max(followers_.size(), n_some));
      run(
          0, [&](size_t i) { return static_cast<uint64_t>(starts(first + i)); }, n_some,
          [&](size_t i, uint64_t end) { sink(first + i, end); });
    }
  }

 private:
  static constexpr size_t kMostStarts = size_t{1} << 24;
  static constexpr uint32_t kNone = ~uint32_t{0};

  // Starts with the same end so far (0: none). They are linked by `followers_`, the sets of a group by `next`.
  struct EqualEnds {
    uint32_t first, last, next;
    uint64_t end;
  };
  // Starts in the same state: a list of sets.
  struct Group {
    uint32_t state, first, last;
  };
  struct Slot {
    uint64_t mark;
    size_t group;
  };

  template <class Starts, class Sink>
  void run(uint64_t p, const Starts& starts, size_t n, Sink sink) {
    for (size_t i = 0; !groups_.empty() || i < n; ++p) {
      if (groups_.empty()) p = starts(i);
      poll();
      const bool is_start = i < n && starts(i) == p;
      if (text_.is_cut(p)) finish_all(sink);
      const TokenId token = text_.token(p);
      if (token == kNoToken) {
        finish_all(sink);
        for (; i < n && starts(i) == p; ++i) sink(i, 0);
        continue;
      }
      ++mark_;
      size_t n_kept = 0;
      for (size_t k = 0; k < groups_.size(); ++k) {
        Group group = groups_[k];
        group.state = states_.next(group.state, p, token, text_);
        if (group.state == PatternStates::kDead) {
          finish(group, sink);
        } else {
          n_kept = keep(group, n_kept);
        }
      }
      groups_.resize(n_kept);
      if (is_start) begin(p, token, starts, n, i, sink);
      note_ends(p + 1, sink);
      if (states_.is_full()) make_room(p + 1, sink);
    }
  }

  // Begins matches at p with all starts there.
  template <class Starts, class Sink>
  void begin(uint64_t p, TokenId token, const Starts& starts, size_t n, size_t& i, Sink& sink) {
    uint32_t state = states_.start(p, text_);
    if (state != PatternStates::kDead) state = states_.next(state, p, token, text_);
    for (; i < n && starts(i) == p; ++i) {
      if (state == PatternStates::kDead) {
        sink(i, 0);
        continue;
      }
      const uint32_t set = new_set(static_cast<uint32_t>(i));
      groups_.push_back({});
      groups_.resize(keep({state, set, set}, groups_.size() - 1));
    }
  }

  // Adds a group to the first n_kept ones, to that of its state if there is one. Returns how many there are then.
  size_t keep(const Group& group, size_t n_kept) {
    if (slots_.size() < states_.size()) slots_.resize(states_.size(), {0, 0});
    Slot& slot = slots_[group.state];
    if (slot.mark == mark_) {
      Group& other = groups_[slot.group];
      sets_[other.last].next = group.first;
      other.last = group.last;
      return n_kept;
    }
    slot = {mark_, n_kept};
    groups_[n_kept] = group;
    return n_kept + 1;
  }

  template <class Sink>
  void note_ends(uint64_t p, Sink& sink) {
    size_t n_kept = 0;
    for (const Group& open : groups_) {
      Group group = open;
      if (states_.is_done(group.state)) {
        join_sets(group, p);
        if (states_.is_last(group.state)) {
          finish(group, sink);
          continue;
        }
      }
      groups_[n_kept++] = group;
    }
    groups_.resize(n_kept);
  }

  // All starts of the group have a match that ends at p.
  void join_sets(Group& group, uint64_t p) {
    EqualEnds& all = sets_[group.first];
    for (uint32_t set = all.next; set != kNone;) {
      const EqualEnds joined = sets_[set];
      followers_[all.last] = joined.first;
      all.last = joined.last;
      free_.push_back(set);
      set = joined.next;
    }
    all.next = kNone;
    all.end = p;
    group.last = group.first;
  }

  template <class Sink>
  void finish(const Group& group, Sink& sink) {
    for (uint32_t set = group.first; set != kNone;) {
      const EqualEnds& done = sets_[set];
      for (uint32_t i = done.first;; i = followers_[i]) {
        sink(i, done.end);
        if (i == done.last) break;
      }
      free_.push_back(set);
      set = done.next;
    }
  }

  template <class Sink>
  void finish_all(Sink& sink) {
    for (const Group& group : groups_) finish(group, sink);
    groups_.clear();
  }

  uint32_t new_set(uint32_t start) {
    const EqualEnds set{start, start, kNone, 0};
    if (free_.empty()) {
      sets_.push_back(set);
      return static_cast<uint32_t>(sets_.size() - 1);
    }
    const uint32_t number = free_.back();
    free_.pop_back();
    sets_[number] = set;
    return number;
  }

  // Forgets all states but those of open groups. If these alone are too many, reads the groups one after the other: that
  // takes longer, but keeps the states of one group only.
  template <class Sink>
  void make_room(uint64_t p, Sink& sink) {
    std::vector<std::vector<PatternWay>> ways;
    ways.reserve(groups_.size());
    for (const Group& group : groups_) ways.push_back(states_.ways_of(group.state));
    const auto start_anew = [&] {
      states_.clear();
      slots_.clear();
    };
    start_anew();
    for (size_t k = 0; k < ways.size(); ++k) groups_[k].state = states_.intern(ways[k]);
    if (groups_.size() < 2 || !states_.is_half_full()) return;
    const std::vector<Group> groups = std::exchange(groups_, {});
    for (size_t k = 0; k < groups.size(); ++k) {
      start_anew();
      groups_ = {{states_.intern(ways[k]), groups[k].first, groups[k].last}};
      run(p, [](size_t) { return uint64_t{0}; }, 0, sink);
    }
  }

  void poll() {
    work_ += 1 + states_.take_work();
    if (work_ < kStopInterval) return;
    check_stop(stop_);
    work_ = 0;
  }

  PatternStates states_;
  Text& text_;
  const StopFlag stop_;
  std::vector<Group> groups_;
  std::vector<EqualEnds> sets_;
  std::vector<uint32_t> free_;       // sets that can be used again
  std::vector<uint32_t> followers_;  // of each start the next one of its set
  std::vector<Slot> slots_;          // of each state its group among those kept at `mark_`
  uint64_t mark_ = 0, work_ = 0;
};

// The data of a program with kPatternWord: the bytes of tokens, and sets of words.
struct PatternWords {
  TokenPieces pieces;
  std::vector<words::LayerView> sets;
};

// A segment's text as `PatternStates` reads it. Tokens are fetched in blocks. If the sentences are unknown, none
// begins or ends.
class SegmentText {
 public:
  SegmentText(const Segment& segment, const PatternWords& known, const SentenceBits& sentences, bool in_sentence,
              StopFlag stop)
      : segment_(segment), finder_(known.pieces, known.sets), sentences_(sentences), in_sentence_(in_sentence), stop_(stop) {}

  TokenId token(uint64_t p) {
    if (p - first_ < n_read_) return tokens_[p - first_];
    const bool goes_on = p == first_ + n_read_ && n_asked_ > 0;
    if (goes_on && n_read_ < n_asked_) return kNoToken;
    n_asked_ = goes_on ? std::min(8 * n_asked_, kMost) : kFirst;
    first_ = p;
    n_read_ = segment_.tokens(p, n_asked_, tokens_);
    return n_read_ > 0 ? tokens_[0] : kNoToken;
  }

  // A separator's bit is set too: no sentence begins there, and none has ended at the beginning of a document.
  bool edge(uint64_t p, int64_t code) {
    if (!sentences_.at(p)) return false;
    if (code == kPatternBegin) return token(p) != kNoToken;
    TokenId before;
    return p > 0 && segment_.tokens(p - 1, 1, &before) == 1;
  }

  // Returns true if a match that began before p must end at p.
  bool is_cut(uint64_t p) const { return in_sentence_ && sentences_.at(p); }

  template <class Sink>
  void words(uint64_t p, const PatternStep& step, Sink sink) {
    finder_.find(
        TokensAt{segment_, p}, static_cast<uint64_t>(step.x), static_cast<uint64_t>(step.y),
        [&](const WordPlace& place) { sink(place.n_tokens); }, stop_);
  }

 private:
  static constexpr uint32_t kFirst = 4, kMost = 256;
  const Segment& segment_;
  WordFinder finder_;
  const SentenceBits sentences_;
  const bool in_sentence_;
  const StopFlag stop_;
  TokenId tokens_[kMost];
  uint64_t first_ = 0;
  uint32_t n_read_ = 0, n_asked_ = 0;
};

// For each position, the end of the match that begins there, or 0. With `in_sentence`, a match ends at the latest with the
// sentence in which it begins.
inline void pattern_ends(const Segment& segment, const PatternProgram& program, const PatternWords& known,
                         const SentenceBits& sentences, bool in_sentence, PositionsIn starts, size_t n, PositionsOut ends,
                         StopFlag stop) {
  SegmentText text(segment, known, sentences, in_sentence, stop);
  PatternSweep<SegmentText> sweep(program, text, stop);
  sweep.find([&](size_t i) { return starts[i]; }, n, [&](size_t i, uint64_t end) { ends.set(i, end); });
}

// An n-gram on its own. Its words are those of its own text; it has no sentences.
struct RowText {
  const uint32_t* row;
  size_t width;
  WordFinder& finder;
  StopFlag stop;

  TokenId token(uint64_t p) const { return p < width ? static_cast<TokenId>(row[p]) : kNoToken; }
  bool edge(uint64_t, int64_t) const { return false; }
  bool is_cut(uint64_t) const { return false; }
  template <class Sink>
  void words(uint64_t p, const PatternStep& step, Sink sink) {
    finder.find(
        TokensOfRow{row, width, p}, static_cast<uint64_t>(step.x), static_cast<uint64_t>(step.y),
        [&](const WordPlace& place) { sink(place.n_tokens); }, stop);
  }
};

// Which of n rows of `width` ids contain a match.
inline void rows_with_pattern(const uint32_t* ids, size_t n, size_t width, const PatternProgram& program,
                              const PatternWords& known, uint8_t* out, StopFlag stop) {
  WordFinder finder(known.pieces, known.sets);
  RowText text{ids, width, finder, stop};
  PatternSweep<RowText> sweep(program, text, stop);
  for (size_t i = 0; i < n; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n);
    text.row = ids + i * width;
    out[i] = 0;
    sweep.find([](size_t k) { return k; }, width, [&](size_t, uint64_t end) { out[i] |= end > 0; });
  }
}

// The ids of one document. `sentences` has one bit more than there are ids; the last bit is set.
struct DocumentText {
  const uint32_t* ids;
  size_t n;
  SentenceBits sentences;
  bool in_sentence;

  TokenId token(uint64_t p) const { return p < n ? static_cast<TokenId>(ids[p]) : kNoToken; }
  bool edge(uint64_t p, int64_t code) const { return sentences.at(p) && (code == kPatternBegin ? p < n : p > 0); }
  bool is_cut(uint64_t p) const { return in_sentence && sentences.at(p); }
  template <class Sink>
  void words(uint64_t, const PatternStep&, Sink) const {}
};

// Sets `ends[i]` to the end (exclusive) of the match that begins at id i of a document, 0 if none does. The program must
// not contain kPatternWord.
inline void ends_in_row(const uint32_t* ids, size_t n, const PatternProgram& program, const SentenceBits& sentences,
                        bool in_sentence, int64_t* ends, StopFlag stop) {
  DocumentText text{ids, n, sentences, in_sentence};
  PatternSweep<DocumentText> sweep(program, text, stop);
  sweep.find([](size_t k) { return k; }, n, [&](size_t k, uint64_t end) { ends[k] = static_cast<int64_t>(end); });
}

}  // namespace ngramdb
