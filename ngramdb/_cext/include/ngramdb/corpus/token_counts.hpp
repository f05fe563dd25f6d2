// Tokens counted one by one: those of whole documents, and those near occurrences.
//
// Positions of a segment's text are counted by the token there; callers add up segments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/corpus/sentence_bits.hpp"
#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

// A count per token id, in a hash table: ids may be anything below 2^32, and frequent ones stay in the cache. A default
// Count counts nothing.
template <class Count>
class TokenTable {
 public:
  TokenTable() { grow(1024); }

  Count& operator[](uint32_t id) {
    for (size_t slot = slot_of(id);; slot = (slot + 1) & (entries_.size() - 1)) {
      Entry& entry = entries_[slot];
      if (entry.key == uint64_t{id} + 1) return entry.count;
      if (entry.key != 0) continue;
      if (2 * (n_used_ + 1) > entries_.size()) {
        grow(2 * entries_.size());
        return (*this)[id];
      }
      ++n_used_;
      entry.key = uint64_t{id} + 1;
      return entry.count;
    }
  }

  // Calls visit(id, count) for every token, in no order.
  template <class Visit>
  void each(Visit visit) const {
    for (const Entry& entry : entries_) {
      if (entry.key != 0) visit(static_cast<uint32_t>(entry.key - 1), entry.count);
    }
  }

 private:
  struct Entry {
    uint64_t key = 0;  // the id plus one; 0: free
    Count count{};
  };

  size_t slot_of(uint32_t id) const {
    return static_cast<size_t>((uint64_t{id} * 0x9e3779b97f4a7c15u) >> 32) & (entries_.size() - 1);
  }

  void grow(size_t size) {
    std::vector<Entry> old(size);
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.key == 0) continue;
      size_t slot = slot_of(static_cast<uint32_t>(entry.key - 1));
      while (entries_[slot].key != 0) slot = (slot + 1) & (size - 1);
      entries_[slot] = entry;
    }
  }

  std::vector<Entry> entries_;
  size_t n_used_ = 0;
};

// Calls visit(id) for the token at each of the positions, all of one piece of a document.
template <class Visit>
void each_token(const Segment& segment, Span text, Visit visit) {
  constexpr uint32_t kPiece = 256;
  TokenId piece[kPiece];
  while (text.start < text.stop) {
    const uint32_t wanted = static_cast<uint32_t>(std::min<uint64_t>(kPiece, text.stop - text.start));
    const uint32_t n = segment.tokens(text.start, wanted, piece);
    if (n == 0) throw CorruptPointer{"a segment", 0, text.start, segment.n_positions()};
    for (uint32_t i = 0; i < n; ++i) visit(static_cast<uint32_t>(piece[i]));
    text.start += n;
  }
}

// ---- tokens of documents ----------------------------------------------------------------------------------

// Adds `weight` for every token of the documents.
inline void count_tokens(const Segment& segment, const DocNumber* documents, size_t n, int64_t weight,
                         TokenTable<int64_t>& counts, StopFlag stop) {
  uint64_t n_read = 0;
  constexpr uint64_t kDocument = 64;  // a document's first token may be far away
  for (size_t i = 0; i < n; ++i) {
    segment.each_piece(segment.span(documents[i]), [&](Span text) {
      while (text.start < text.stop) {
        const Span part{text.start, std::min<Position>(text.stop, text.start + kStopInterval)};
        each_token(segment, part, [&](uint32_t id) { counts[id] += weight; });
        n_read += part.stop - part.start;
        text.start = part.stop;
        if (n_read > 4 * kStopInterval) {
          check_stop(stop, i, n);
          n_read = 0;
        }
      }
    });
    n_read += kDocument;
  }
}

// ---- tokens near occurrences ------------------------------------------------------------------------------

// The parts of a text that lie at most `width` tokens before positions, or from them on, within pieces of documents:
// ascending, apart from each other, not empty. The positions ascend. With sentences, the parts lie within that of the token
// at the position, or, from the position on, of the token before it.
class Windows {
 public:
  Windows(const Segment& segment, PositionsIn positions, size_t n, uint64_t width, bool before,
          const SentenceBits& sentences)
      : segment_(segment), positions_(positions), n_(n), width_(width), before_(before), sentence_{sentences} {}

  bool next(Span& window, StopFlag stop) {
    Span found;
    if (!take(window, stop)) return false;
    while (take(found, stop)) {
      if (found.start > window.stop) {
        at_ -= 1;  // the next window's first part
        break;
      }
      window.stop = std::max(window.stop, found.stop);
    }
    return true;
  }

 private:
  static constexpr size_t kChunk = 2048;

  // The next position's own window, if that is not empty.
  bool take(Span& window, StopFlag stop) {
    for (;;) {
      if (at_ == n_read_ && !read(stop)) return false;
      window = chunk_[at_++];
      if (window.start < window.stop) return true;
    }
  }

  bool read(StopFlag stop) {
    if (n_done_ == n_ || width_ == 0) return false;
    check_stop(stop, n_done_, n_);
    n_read_ = std::min(kChunk, n_ - n_done_);
    at_ = 0;
    PositionsIn some;
    positions_.with([&](const auto* values) { some = PositionsIn(values + n_done_); });
    DocNumber documents[kChunk];
    uint32_t before[kChunk];
    const bool is_broken = segment_.breaks().n > 0;
    segment_.documents_at(some, n_read_, documents, before);
    for (size_t i = 0; i < n_read_; ++i) {
      const Position at = some[i];
      if (before_) {
        const uint64_t n_before = is_broken ? at - segment_.piece_at(at, segment_.span(documents[i])).start : before[i];
        chunk_[i] = {at - std::min<uint64_t>(n_before, width_), at};
        if (at < sentence_.bits.n) {
          sentence_.move_to(at);
          chunk_[i].start = std::max<Position>(chunk_[i].start, sentence_.lo);
        }
      } else {
        const Span document = segment_.span(documents[i]);
        const Position end = is_broken ? segment_.piece_at(at, document).stop : document.stop;
        chunk_[i] = {at, std::min<Position>(end, at + std::min<uint64_t>(width_, end - at))};
        if (at > 0 && at <= sentence_.bits.n) {
          sentence_.move_to(at - 1);
          chunk_[i].stop = std::min<Position>(chunk_[i].stop, sentence_.hi);
        }
      }
    }
    n_done_ += n_read_;
    return true;
  }

  const Segment& segment_;
  const PositionsIn positions_;
  const size_t n_;
  const uint64_t width_;
  const bool before_;
  SentenceWalk sentence_;
  Span chunk_[kChunk];
  size_t at_ = 0, n_read_ = 0, n_done_ = 0;
};

// The number of window positions of a token: in any window, in one to the left, in one to the right.
struct WindowCount {
  int64_t inside = 0, left = 0, right = 0;
};

// Counts the tokens up to `left` tokens before the occurrences, and up to `right` tokens after them, within their pieces
// and, if sentences are given, within their sentences. A position counts once, however many windows it lies in. Starts
// ascend, and stops do by themselves.
inline void count_windows(const Segment& segment, PositionsIn starts, PositionsIn stops, size_t n, uint64_t left,
                          uint64_t right, const SentenceBits& sentences, TokenTable<WindowCount>& counts, StopFlag stop) {
  constexpr Position kNever = std::numeric_limits<Position>::max();
  Windows lefts(segment, starts, n, left, true, sentences), rights(segment, stops, n, right, false, sentences);
  Span a{}, b{};
  bool has_a = lefts.next(a, stop), has_b = rights.next(b, stop);
  uint64_t n_read = 0;
  while (has_a || has_b) {
    // The next part that lies in the same windows as a whole.
    const Position from = std::min(has_a ? a.start : kNever, has_b ? b.start : kNever);
    const bool in_a = has_a && a.start == from, in_b = has_b && b.start == from;
    const Position to = std::min(in_a ? a.stop : has_a ? a.start : kNever, in_b ? b.stop : has_b ? b.start : kNever);
    for (Position at = from; at < to;) {  // a window may be as long as a document
      const Position end = std::min<Position>(to, at + kStopInterval);
      each_token(segment, {at, end}, [&](uint32_t id) {
        WindowCount& count = counts[id];
        ++count.inside;
        count.left += in_a;
        count.right += in_b;
      });
      n_read += end - at;
      at = end;
      if (n_read > 4 * kStopInterval) {
        check_stop(stop);
        n_read = 0;
      }
    }
    if (in_a && (a.start = to) == a.stop) has_a = lefts.next(a, stop);
    if (in_b && (b.start = to) == b.stop) has_b = rights.next(b, stop);
  }
}

// ---- tokens before occurrences ----------------------------------------------------------------------------

// Adds `weight` for the token before each row, and for the beginning of a piece of a document to `n_starts`.
inline void count_before(const Segment& segment, Range rows, int64_t weight, TokenTable<int64_t>& counts,
                         int64_t& n_starts, StopFlag stop) {
  constexpr uint64_t kChunk = 2048;
  Code lefts[kChunk], nexts[kChunk];
  for (Row row = rows.lo; row < rows.hi; row += kChunk) {
    if ((row - rows.lo) % (16 * kChunk) == 0) check_stop(stop, row - rows.lo, rows.size());
    const Range part{row, std::min<Row>(rows.hi, row + kChunk)};
    segment.neighbours(part, 0, lefts, nexts);
    for (uint64_t i = 0; i < part.size(); ++i) {
      if (lefts[i] == kBorder) {
        n_starts += weight;
      } else {
        counts[lefts[i] - 1] += weight;
      }
    }
  }
}

// ---- tokens after occurrences, in some documents ------------------------------------------------------------

// Tests rows for documents whose bit is set (the least significant bit of a byte comes first).
class RowsInDocuments {
 public:
  RowsInDocuments(const Segment& segment, Range rows, const uint8_t* documents)
      : segment_(segment), documents_(documents), all_(rows), next_(rows.lo) {}

  // Counts those among the next n rows. There are no branches, since which half of the documents is set is unpredictable.
  uint64_t count(uint64_t n, StopFlag stop) {
    uint64_t found = 0;
    while (n > 0) {
      if (at_ == n_known_) read(stop);
      const uint64_t here = std::min<uint64_t>(n, n_known_ - at_);
      for (uint64_t end = at_ + here; at_ < end; ++at_) found += is_in_[at_];
      n -= here;
    }
    return found;
  }

 private:
  static constexpr uint64_t kChunk = 2048;

  void read(StopFlag stop) {
    if (next_ == all_.hi) throw CorruptPointer{"a segment", next_, all_.hi, all_.size()};
    if ((next_ - all_.lo) % (16 * kChunk) == 0) check_stop(stop, next_ - all_.lo, all_.size());
    const Range part{next_, std::min<Row>(all_.hi, next_ + kChunk)};
    segment_.positions(part, PositionsOut(positions_));
    segment_.documents_at(PositionsIn(positions_), part.size(), found_, before_);
    for (uint64_t i = 0; i < part.size(); ++i) is_in_[i] = (documents_[found_[i] / 8] >> (found_[i] % 8)) & 1u;
    next_ = part.hi;
    at_ = 0;
    n_known_ = part.size();
  }

  const Segment& segment_;
  const uint8_t* const documents_;
  const Range all_;
  Row next_;
  uint64_t at_ = 0, n_known_ = 0;
  uint64_t positions_[kChunk];
  DocNumber found_[kChunk];
  uint32_t before_[kChunk];
  uint8_t is_in_[kChunk];
};

// The tokens after the first `depth` ones of the rows in documents whose bit is set: appended to
// `runs`, ascending by id, each with a count above 0. Returns how many of these rows' documents end there. The text is
// read once for each different token, whatever the documents.
inline uint64_t successors_among(const Segment& segment, Range rows, uint32_t depth, const uint8_t* documents,
                                 std::vector<Run>& runs, StopFlag stop) {
  uint64_t n_ends = 0;
  const auto add = [&](TokenId id, uint64_t n) {
    if (n > 0) runs.push_back({id, static_cast<int64_t>(n)});
  };
  if (segment.in_token_order() && segment.is_nested()) {
    // The rows of each token are adjacent: first those whose documents end, then by ascending id.
    std::vector<Run> every;
    const uint64_t n_first = segment.successors(rows, depth, every, stop);
    RowsInDocuments counted(segment, rows, documents);
    n_ends = counted.count(n_first, stop);
    runs.reserve(runs.size() + every.size());
    for (const Run& run : every) add(run.id, counted.count(static_cast<uint64_t>(run.count), stop));
    return n_ends;
  }
  std::vector<Child> children;
  segment.children(rows, depth, children, stop);
  const auto n_before = static_cast<std::ptrdiff_t>(runs.size());
  for (const Child& child : children) {
    const uint64_t n = RowsInDocuments(segment, child.rows, documents).count(child.rows.size(), stop);
    if (child.id == kNoToken) {
      n_ends += n;
    } else {
      add(child.id, n);
    }
  }
  std::sort(runs.begin() + n_before, runs.end(), [](const Run& a, const Run& b) { return a.id < b.id; });
  return n_ends;
}

}  // namespace ngramdb
