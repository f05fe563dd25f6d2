// Regular expressions over the characters of a text, in time linear in the text.
//
// A program is run by backtracking, so that among several matches it finds the one that Python's `re` finds. A step with
// a choice is entered once per position of the text: if it was entered before, all that follows from there has failed,
// since no step depends on how it was reached. That holds if no repeated part can match without a character, which the
// program's compiler checks. Time: characters × steps at most. Memory: a bit per character and choice.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ngramdb/base/interrupt.hpp"

namespace ngramdb::expressions {

// The codes of steps, as in `ngramdb/patterns/text_programs.py`; a test compares them.
enum Code : int32_t { kSet, kRun, kSplit, kJump, kAssert, kDone };
// Tests of `kAssert` at a position.
enum Test : int32_t { kTextBegin, kLineBegin, kTextEnd, kLineEnd, kTextEndOrFinalLine, kBorder, kNoBorder, kBefore,
                      kNotBefore, kAfter, kNotAfter };

struct Step {
  int32_t code;
  int32_t a;
  int32_t b;
  int32_t choice = -1;  // the number of a step with a choice
};

// A set of code points: ranges [first, last], ascending and apart.
class Set {
 public:
  void add(uint32_t first, uint32_t last) {
    for (uint32_t c = first; c <= last && c < 128; ++c) ascii_[c >> 6] |= uint64_t{1} << (c & 63);
    firsts_.push_back(first);
    lasts_.push_back(last);
  }

  bool has(uint32_t c) const {
    if (c < 128) return (ascii_[c >> 6] >> (c & 63)) & 1;
    const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), c);
    return after != firsts_.begin() && c <= lasts_[static_cast<size_t>(after - firsts_.begin()) - 1];
  }

  bool has_others() const { return !lasts_.empty() && lasts_.back() >= 128; }

 private:
  uint64_t ascii_[2] = {0, 0};
  std::vector<uint32_t> firsts_, lasts_;
};

// UTF-8 as Python decodes it with `surrogateescape`: a byte that belongs to no character is one, U+DC80 to U+DCFF.
struct Character {
  uint32_t code;
  uint32_t size;
};

inline Character character_at(const uint8_t* data, size_t n) {
  const uint32_t lead = data[0];
  if (lead < 0x80) return {lead, 1};
  const auto follows = [&](size_t i) { return i < n && (data[i] & 0xC0) == 0x80; };
  if (lead >= 0xC2 && lead < 0xE0) {
    if (follows(1)) return {(lead & 0x1F) << 6 | (data[1] & 0x3Fu), 2};
  } else if (lead >= 0xE0 && lead < 0xF0) {
    if (follows(1) && follows(2)) {
      const uint32_t code = (lead & 0x0F) << 12 | (data[1] & 0x3Fu) << 6 | (data[2] & 0x3Fu);
      if (code >= 0x800 && (code < 0xD800 || code > 0xDFFF)) return {code, 3};
    }
  } else if (lead >= 0xF0 && lead < 0xF5) {
    if (follows(1) && follows(2) && follows(3)) {
      const uint32_t code = (lead & 0x07) << 18 | (data[1] & 0x3Fu) << 12 | (data[2] & 0x3Fu) << 6 | (data[3] & 0x3Fu);
      if (code >= 0x10000 && code <= 0x10FFFF) return {code, 4};
    }
  }
  return {0xDC00 + lead, 1};
}

class Program {
 public:
  // steps: n_steps × (code, a, b). ranges: n_ranges × (set, first, last), ascending. first: the sets of which a match's
  // first character is in one; empty if a match can be empty. prefix: bytes with which every match begins.
  Program(const int32_t* steps, size_t n_steps, const uint32_t* ranges, size_t n_ranges, size_t n_sets,
          const uint32_t* first, size_t n_first, const uint8_t* prefix, size_t n_prefix, bool empty_inside)
      : sets_(n_sets), prefix_(reinterpret_cast<const char*>(prefix), n_prefix), empty_inside_(empty_inside) {
    for (size_t i = 0; i < n_ranges; ++i) sets_.at(ranges[3 * i]).add(ranges[3 * i + 1], ranges[3 * i + 2]);
    const auto n = static_cast<int32_t>(n_steps);
    for (size_t i = 0; i < n_steps; ++i) {
      Step step{steps[3 * i], steps[3 * i + 1], steps[3 * i + 2]};
      check(step, static_cast<int32_t>(i), n);
      if (step.code == kSplit || step.code == kRun) step.choice = n_choices_++;
      steps_.push_back(step);
    }
    if (steps_.empty() || steps_.back().code != kDone) throw std::invalid_argument("a program ends with kDone");
    has_first_ = n_first > 0;
    for (size_t i = 0; i < n_first; ++i) {
      const Set& set = sets_.at(first[i]);
      for (uint32_t c = 0; c < 128; ++c) first_[c] = first_[c] || set.has(c);
      if (set.has_others()) std::fill(first_ + 128, first_ + 256, true);
    }
  }

  size_t n_choices() const { return static_cast<size_t>(n_choices_); }

 private:
  friend class Search;

  void check(const Step& step, int32_t i, int32_t n) const {
    const auto is_set = [&](int32_t number) { return number >= 0 && number < static_cast<int32_t>(sets_.size()); };
    const auto is_step = [&](int32_t number) { return number >= 0 && number < n; };
    bool ok = step.code == kDone || i + 1 < n;
    if (step.code == kSet || step.code == kRun) ok = ok && is_set(step.a);
    if (step.code == kSplit) ok = ok && is_step(step.a) && is_step(step.b);
    if (step.code == kJump) ok = ok && is_step(step.a);
    if (step.code == kAssert) {
      ok = ok && step.a >= kTextBegin && step.a <= kNotAfter;
      if (step.a >= kBefore) ok = ok && is_set(step.b);
      if (step.a == kBorder || step.a == kNoBorder) ok = ok && is_set(step.b);
    }
    if (!ok || step.code < kSet || step.code > kDone) throw std::invalid_argument("an invalid step");
  }

  std::vector<Step> steps_;
  std::vector<Set> sets_;
  std::string prefix_;
  bool has_first_ = false;
  bool first_[256] = {};
  int32_t n_choices_ = 0;
  bool empty_inside_;
};

// The search of one text.
class Search {
 public:
  Search(const Program& program, const uint8_t* data, size_t size, StopFlag stop)
      : program_(program), data_(data), n_(size), stop_(stop), n_choices_(program.n_choices()) {
    entered_.resize((n_choices_ * (n_ + 1) + 63) / 64);
  }

  // Finds the next match as `re.finditer` does: none overlaps, and an empty one is not followed by an empty one at its place.
  bool next(size_t& start, size_t& stop) {
    if (position_ > n_) return false;
    for (size_t from = position_; find_start(from); from += character_at(data_ + from, n_ - from).size) {
      if (run(from, stop)) {
        start = from;
        was_empty_ = stop == start;
        position_ = stop;
        forget(stop);
        return true;
      }
      was_empty_ = false;
      if (from == n_) break;
    }
    position_ = n_ + 1;
    return false;
  }

 private:
  struct Branch {
    int32_t step;
    uint32_t is_run;
    size_t position;
    size_t low;  // of a run: the positions from `low` to `position` are left
  };

  // Moves `from` to the next position at which a match can begin.
  bool find_start(size_t& from) {
    if (from > n_) return false;
    const Step& begin = program_.steps_[0];
    if (begin.code == kAssert && begin.a == kTextBegin && from > 0) return false;
    if (!program_.prefix_.empty()) {
      const std::string_view text(reinterpret_cast<const char*>(data_), n_);
      // UTF-8 synchronizes itself: a prefix of whole characters is found at characters.
      const size_t found = text.find(program_.prefix_, from);
      if (found == std::string_view::npos) return false;
      from = found;
      return true;
    }
    if (!program_.has_first_) return true;
    for (uint32_t n_read = 0; from < n_ && !program_.first_[data_[from]]; ++n_read) {
      if (n_read == kStepsAtOnce) {
        spend(stop_, n_read / 8);
        n_read = 0;
      }
      from += data_[from] < 0x80 ? 1 : character_at(data_ + from, n_ - from).size;
    }
    return from < n_;
  }

  // The position of the character before a position that is not 0.
  size_t before(size_t position) const {
    if (data_[position - 1] < 0x80) return position - 1;
    for (size_t back = 1; back <= 4 && back <= position; ++back) {
      if ((data_[position - back] & 0xC0) == 0x80) continue;
      return character_at(data_ + position - back, n_ - (position - back)).size == back ? position - back : position - 1;
    }
    return position - 1;
  }

  bool enter(const Step& step, size_t position) {
    const size_t bit = position * n_choices_ + static_cast<size_t>(step.choice);
    const uint64_t mask = uint64_t{1} << (bit & 63);
    if (entered_[bit >> 6] & mask) return false;
    entered_[bit >> 6] |= mask;
    return true;
  }

  // The steps that led to a match have not failed.
  void forget(size_t position) {
    for (size_t i = 0; i < n_choices_; ++i) {
      const size_t bit = position * n_choices_ + i;
      entered_[bit >> 6] &= ~(uint64_t{1} << (bit & 63));
    }
  }

  bool has(int32_t set, size_t position) const {
    return position < n_ && program_.sets_[static_cast<size_t>(set)].has(character_at(data_ + position, n_ - position).code);
  }

  bool has_before(int32_t set, size_t position) const { return position > 0 && has(set, before(position)); }

  bool holds(const Step& step, size_t position) const {
    switch (step.a) {
      case kTextBegin: return position == 0;
      case kLineBegin: return position == 0 || data_[position - 1] == '\n';
      case kTextEnd: return position == n_;
      case kLineEnd: return position == n_ || data_[position] == '\n';
      case kTextEndOrFinalLine: return position == n_ || (position + 1 == n_ && data_[position] == '\n');
      case kBorder: return has_before(step.b, position) != has(step.b, position);
      case kNoBorder:
        return (n_ > 0 || program_.empty_inside_) && has_before(step.b, position) == has(step.b, position);
      case kBefore: return has_before(step.b, position);
      case kNotBefore: return !has_before(step.b, position);
      case kAfter: return has(step.b, position);
      default: return !has(step.b, position);
    }
  }

  // Enters the positions of a run of a set's characters; returns the last one, or npos if the first was entered before.
  size_t extend(const Step& step, size_t position) {
    if (!enter(step, position)) return kNowhere;
    const Set& set = program_.sets_[static_cast<size_t>(step.a)];
    size_t last = position;
    for (uint32_t n_read = 0; last < n_; ++n_read) {
      if (n_read == kStepsAtOnce) {
        spend(stop_, n_read);
        n_read = 0;
      }
      const Character found = character_at(data_ + last, n_ - last);
      if (!set.has(found.code) || !enter(step, last + found.size)) break;
      last += found.size;
    }
    return last;
  }

  // Runs the program from a position; `stop` is the end of the match.
  bool run(size_t start, size_t& stop) {
    branches_.clear();
    int32_t at = 0;
    size_t position = start;
    for (uint32_t n_steps = 0;; ++n_steps) {
      if (n_steps == kStepsAtOnce) {
        spend(stop_, n_steps);
        n_steps = 0;
      }
      const Step& step = program_.steps_[static_cast<size_t>(at)];
      bool ok = true;
      switch (step.code) {
        case kSet: {
          ok = position < n_;
          if (ok) {
            const Character found = character_at(data_ + position, n_ - position);
            ok = program_.sets_[static_cast<size_t>(step.a)].has(found.code);
            position += found.size;
            ++at;
          }
          break;
        }
        case kRun: {
          const size_t last = extend(step, position);
          ok = last != kNowhere;
          if (ok && last > position) branches_.push_back({at + 1, 1, last, position});
          position = last;
          ++at;
          break;
        }
        case kSplit:
          ok = enter(step, position);
          if (ok) branches_.push_back({step.b, 0, position, position});
          at = step.a;
          break;
        case kJump:
          at = step.a;
          break;
        case kAssert:
          ok = holds(step, position);
          ++at;
          break;
        default:
          ok = position > start || !was_empty_;
          if (ok) {
            stop = position;
            spend(stop_, n_steps + 1);
            return true;
          }
      }
      if (ok) continue;
      if (branches_.empty()) {
        spend(stop_, n_steps + 1);
        return false;
      }
      Branch& branch = branches_.back();
      if (branch.is_run) {
        branch.position = before(branch.position);
        at = branch.step;
        position = branch.position;
        if (position <= branch.low) branches_.pop_back();
      } else {
        at = branch.step;
        position = branch.position;
        branches_.pop_back();
      }
    }
  }

  static constexpr size_t kNowhere = SIZE_MAX;
  static constexpr uint32_t kStepsAtOnce = 1u << 12;

  const Program& program_;
  const uint8_t* data_;
  size_t n_;
  StopFlag stop_;
  size_t n_choices_;
  std::vector<uint64_t> entered_;
  std::vector<Branch> branches_;
  size_t position_ = 0;
  bool was_empty_ = false;
};

inline void find_all(const Program& program, const uint8_t* data, size_t size, std::vector<int64_t>& spans, StopFlag stop) {
  Search search(program, data, size, stop);
  size_t start = 0, end = 0;
  while (search.next(start, end)) {
    if (end == start) continue;
    spans.push_back(static_cast<int64_t>(start));
    spans.push_back(static_cast<int64_t>(end));
  }
}

inline bool occurs(const Program& program, const uint8_t* data, size_t size, StopFlag stop) {
  size_t start = 0, end = 0;
  return Search(program, data, size, stop).next(start, end);
}

}  // namespace ngramdb::expressions
