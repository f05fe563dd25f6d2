// Regular expressions over tokens as automata whose states are made on demand.
//
// A pattern is a program for Pike's matcher (Thompson 1968; Cox, "Regular Expression Matching: the Virtual Machine
// Approach", 2009): the open threads are kept in a list, the preferred one first. Such a list is a state here, and
// its transitions are cached (the lazy DFA of the same article), so that a token costs one lookup, however many
// alternatives the pattern has. Matches that begin at different positions are read side by side; those that are in
// the same state at the same position have the same future and are read together from there on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

// Steps of a program, each with two arguments; ngramdb/patterns/token_regex.py writes them.
enum PatternCode : int64_t {
  kPatternAny = 0,    // reads any token
  kPatternOne = 1,    // reads the token x
  kPatternSet = 2,    // reads a token of set x
  kPatternSplit = 3,  // continues at step x, or else at step y
  kPatternJump = 4,   // continues at step x
  kPatternDone = 5,   // the match ends
  kPatternBegin = 6,  // continues at the next step if a sentence begins here
  kPatternEnd = 7,    // continues at the next step if a sentence ends here
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

  bool in_set(int64_t set, TokenId token) const {
    const uint64_t byte = static_cast<uint64_t>(token) / 8;
    return byte < n_bytes && ((sets[static_cast<uint64_t>(set) * n_bytes + byte] >> (token % 8)) & 1u) != 0;
  }
  bool reads(const PatternStep& step, TokenId token) const {
    if (step.code == kPatternAny) return true;
    if (step.code == kPatternOne) return token == step.x;
    return step.code == kPatternSet && in_set(step.x, token);
  }
};

// A thread: its next step, and the number of tokens that the words of that step still take up.
struct PatternWay {
  uint32_t at;
  uint32_t n_left;
  bool operator==(const PatternWay& other) const { return at == other.at && n_left == other.n_left; }
};

// Numbers tokens such that all tokens of one number are read by the same steps. Computed when a token is first met.
class TokenClasses {
 public:
  explicit TokenClasses(const PatternProgram& program) : program_(program) {
    for (uint32_t i = 0; i < program.n_steps; ++i) {
      const PatternStep& step = program.steps[i];
      if (step.code == kPatternSet) n_sets_ = std::max<uint64_t>(n_sets_, static_cast<uint64_t>(step.x) + 1);
      if (step.code != kPatternOne || step.x < 0) continue;
      single_.emplace(step.x, static_cast<int64_t>(single_.size()));  // equal steps have one number
      n_ids_ = std::max<uint64_t>(n_ids_, static_cast<uint64_t>(step.x) + 1);
    }
    if (n_sets_ > 0) n_ids_ = std::max<uint64_t>(n_ids_, 8 * program.n_bytes);
    if (n_ids_ == 0) return;
    // calloc: pages of ids that are never met take no memory.
    known_.reset(static_cast<uint32_t*>(std::calloc(n_ids_, sizeof(uint32_t))));
    if (known_ == nullptr) throw std::bad_alloc();
  }

  uint32_t operator()(TokenId token) {
    if (static_cast<uint64_t>(token) >= n_ids_) return 0;
    uint32_t& known = known_.get()[token];
    if (known == 0) known = classify(token) + 1;
    return known - 1;
  }

 private:
  struct Free {
    void operator()(uint32_t* memory) const { std::free(memory); }
  };

  // 0 is the class of tokens that only kPatternAny reads.
  uint32_t classify(TokenId token) {
    std::vector<int64_t> readers;
    const auto one = single_.find(token);
    if (one != single_.end()) readers.push_back(one->second);
    for (uint64_t set = 0; set < n_sets_; ++set) {
      if (program_.in_set(static_cast<int64_t>(set), token)) readers.push_back(-1 - static_cast<int64_t>(set));
    }
    if (readers.empty()) return 0;
    return numbers_.emplace(std::move(readers), static_cast<uint32_t>(numbers_.size() + 1)).first->second;
  }

  const PatternProgram& program_;
  uint64_t n_sets_ = 0, n_ids_ = 0;
  std::unordered_map<TokenId, int64_t> single_;
  std::map<std::vector<int64_t>, uint32_t> numbers_;
  std::unique_ptr<uint32_t, Free> known_;
};

// The states that have been met. A `Text` is what is read, by positions p:
//   TokenId token(p)             kNoToken at the end of the document
//   bool edge(p, code)           whether a sentence begins, or ends, before token p
//   void words(p, step, sink)    calls sink(n_tokens) for each beginning of the step's words within token p
class PatternStates {
 public:
  static constexpr uint32_t kDead = 0;

  explicit PatternStates(const PatternProgram& program) : program_(program), classes_(program), marked_(program.n_steps, 0) {
    for (uint32_t i = 0; i < program.n_steps; ++i) {
      const int64_t code = program.steps[i].code;
      has_edges_ = has_edges_ || code == kPatternBegin || code == kPatternEnd;
    }
    clear();
  }

  uint32_t size() const { return static_cast<uint32_t>(states_.size()); }
  // Return true if a match ends in the state; if, in addition, no longer match is possible.
  bool is_done(uint32_t state) const { return states_[state].done; }
  bool is_last(uint32_t state) const { return states_[state].n_ways == 1 && states_[state].done; }
  // Work done since the last call: a unit is about ten nanoseconds.
  uint64_t take_work() { return std::exchange(work_, 0); }

  // The state at the beginning of a match at position p.
  template <class Text>
  uint32_t start(uint64_t p, Text& text) {
    uint32_t& known = starts_[edges(p, text)];
    if (known == kDead) {
      begin_list();
      follow(0, edges(p, text));
      known = intern(list_);
    }
    return known;
  }

  // The state after token p, which is `token`, has been read.
  template <class Text>
  uint32_t next(uint32_t from, uint64_t p, TokenId token, Text& text) {
    ++work_;
    const uint32_t after = edges(p + 1, text);
    if (states_[from].reads_text) return compute(from, p, token, after, text);
    const uint64_t key = uint64_t{from} << 32 | (uint64_t{classes_(token)} << 2 | after);
    for (uint64_t slot = hash(key);; ++slot) {
      const Transition& known = transitions_[slot & (transitions_.size() - 1)];
      if (known.key == key) return known.to;
      if (known.key == 0) break;
    }
    const uint32_t to = compute(from, p, token, after, text);
    remember(key, to);
    return to;
  }

  // More memory is used than there should be: some tens of megabytes.
  bool is_full() const { return n_cells() > kMostCells; }
  bool is_half_full() const { return n_cells() > kMostCells / 2; }

  std::vector<PatternWay> ways_of(uint32_t state) const {
    const auto first = ways_.begin() + static_cast<std::ptrdiff_t>(states_[state].first);
    return {first, first + states_[state].n_ways};
  }

  void clear() {
    states_.clear();
    ways_.clear();
    by_hash_.clear();
    transitions_.assign(kFirstTransitions, {0, 0});
    n_transitions_ = 0;
    std::fill(starts_, starts_ + 4, kDead);
    states_.push_back({0, 0, 0, false, false});
  }

  // The state of these ways, of which only the last one may end the match.
  uint32_t intern(const std::vector<PatternWay>& list) {
    if (list.empty()) return kDead;
    uint64_t key = list.size();
    for (const PatternWay& way : list) key = hash(key ^ (uint64_t{way.at} << 32 | way.n_left));
    const auto known = by_hash_.find(key);
    if (known != by_hash_.end()) {
      for (uint32_t state = known->second; state != kDead; state = states_[state].same_hash) {
        if (states_[state].n_ways == list.size() &&
            std::equal(list.begin(), list.end(), ways_.begin() + static_cast<std::ptrdiff_t>(states_[state].first))) {
          return state;
        }
      }
    }
    const auto code = [&](const PatternWay& way) { return program_.steps[way.at].code; };
    const bool reads_text = std::any_of(list.begin(), list.end(), [&](const PatternWay& way) {
      return way.n_left == 0 && code(way) == kPatternWord;
    });
    const uint32_t state = size();
    states_.push_back({ways_.size(), static_cast<uint32_t>(list.size()), known == by_hash_.end() ? kDead : known->second,
                       code(list.back()) == kPatternDone, reads_text});
    ways_.insert(ways_.end(), list.begin(), list.end());
    by_hash_[key] = state;
    return state;
  }

 private:
  static constexpr size_t kMostCells = size_t{1} << 22, kFirstTransitions = 64;

  size_t n_cells() const { return ways_.size() + 4 * states_.size() + 2 * n_transitions_; }

  struct State {
    size_t first;  // of its ways
    uint32_t n_ways;
    uint32_t same_hash;
    bool done, reads_text;
  };
  struct Transition {
    uint64_t key;  // 0: free
    uint32_t to;
  };

  static uint64_t hash(uint64_t key) {
    key *= 0x9e3779b97f4a7c15u;
    return key ^ (key >> 29);
  }

  // Bit 0: a sentence begins at p. Bit 1: one ends before it.
  template <class Text>
  uint32_t edges(uint64_t p, Text& text) const {
    if (!has_edges_) return 0;
    return (text.edge(p, kPatternBegin) ? 1u : 0u) | (text.edge(p, kPatternEnd) ? 2u : 0u);
  }

  void remember(uint64_t key, uint32_t to) {
    if (2 * ++n_transitions_ > transitions_.size()) {
      std::vector<Transition> old(2 * transitions_.size(), Transition{0, 0});
      old.swap(transitions_);
      for (const Transition& known : old) {
        if (known.key != 0) place(known);
      }
    }
    place({key, to});
  }

  void place(const Transition& transition) {
    uint64_t slot = hash(transition.key);
    while (transitions_[slot & (transitions_.size() - 1)].key != 0) ++slot;
    transitions_[slot & (transitions_.size() - 1)] = transition;
  }

  template <class Text>
  uint32_t compute(uint32_t from, uint64_t p, TokenId token, uint32_t after, Text& text) {
    begin_list();
    const State state = states_[from];
    for (uint32_t i = 0; i < state.n_ways && !has_end(); ++i) {
      const PatternWay way = ways_[state.first + i];
      const PatternStep& step = program_.steps[way.at];
      ++work_;
      if (way.n_left > 0) {
        go_on(way.at, way.n_left - 1, after);
      } else if (step.code == kPatternWord) {
        text.words(p, step, [&](uint64_t n_tokens) {
          if (!has_end()) go_on(way.at, static_cast<uint32_t>(n_tokens - 1), after);
        });
      } else if (program_.reads(step, token)) {
        follow(way.at + 1, after);
      }
    }
    return intern(list_);
  }

  void begin_list() {
    list_.clear();
    ++mark_;
  }

  // The end is preferred to all ways that would follow it.
  bool has_end() const { return !list_.empty() && program_.steps[list_.back().at].code == kPatternDone; }

  // Adds a thread that reads n_left more tokens before its step is done.
  void go_on(uint32_t at, uint32_t n_left, uint32_t edges) {
    if (n_left == 0) {
      follow(at + 1, edges);
    } else if (std::find(list_.begin(), list_.end(), PatternWay{at, n_left}) == list_.end()) {
      list_.push_back({at, n_left});
    }
  }

  // Adds the steps that read a token, or end the match, and that are reached from a step without reading.
  void follow(uint32_t from, uint32_t edges) {
    open_.assign(1, from);
    while (!open_.empty()) {
      const uint32_t at = open_.back();
      open_.pop_back();
      if (marked_[at] == mark_) continue;
      marked_[at] = mark_;
      ++work_;
      const PatternStep& step = program_.steps[at];
      if (step.code == kPatternJump) {
        open_.push_back(static_cast<uint32_t>(step.x));
      } else if (step.code == kPatternSplit) {
        open_.push_back(static_cast<uint32_t>(step.y));
        open_.push_back(static_cast<uint32_t>(step.x));
      } else if (step.code == kPatternBegin || step.code == kPatternEnd) {
        if ((edges & (step.code == kPatternBegin ? 1u : 2u)) != 0) open_.push_back(at + 1);
      } else {
        list_.push_back({at, 0});
        if (step.code == kPatternDone) return;
      }
    }
  }

  const PatternProgram& program_;
  TokenClasses classes_;
  bool has_edges_ = false;
  std::vector<State> states_;  // the first one is kDead
  std::vector<PatternWay> ways_;
  std::unordered_map<uint64_t, uint32_t> by_hash_;
  std::vector<Transition> transitions_;
  size_t n_transitions_ = 0;
  uint32_t starts_[4];
  std::vector<PatternWay> list_;
  std::vector<uint32_t> open_;
  std::vector<uint64_t> marked_;
  uint64_t mark_ = 0, work_ = 0;
};

}  // namespace ngramdb
