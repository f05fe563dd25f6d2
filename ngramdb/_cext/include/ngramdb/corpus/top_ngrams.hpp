// The n-grams of a corpus by frequency: descending by count, then ascending by token ids.
//
// In suffix order equal n-grams are neighbours, so one pass over the rows counts them all, and segments are merged as
// sorted lists are. Counts are net: rows of subtracted segments count negatively, and with a filter on documents,
// a segment's rows count if their document's bit is set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "ngramdb/base/stoppable_sort.hpp"
#include "ngramdb/corpus/corpus_index.hpp"
#include "ngramdb/segment/token_order.hpp"

namespace ngramdb {

// The rows of a segment that count for a sum: those in documents whose bit is set, or those of all documents without
// a bitmap; `sign` times each, none if it is 0.
struct Side {
  int sign = 0;
  const uint8_t* documents = nullptr;
};

// A segment with the rows that are read, and the two sums that they count for.
struct NgramSource {
  const Segment* segment;
  Range rows;
  Side first, second;
};

// An n-gram that was found: `rank` numbers them ascending by token ids; `row` of `segment` begins with it. `count` and
// `second` are its two sums.
struct FoundNgram {
  int64_t count;
  uint64_t rank;
  uint32_t segment;
  Row row;
  int64_t second = 0;

  bool before(const FoundNgram& other) const {
    return count != other.count ? count > other.count : rank < other.rank;
  }
};

// The best k of what is offered.
class BestNgrams {
 public:
  explicit BestNgrams(size_t k) : k_(k) {}

  bool full() const { return heap_.size() >= k_; }
  // Returns true if a later item with this count can still enter.
  bool takes(int64_t count) const { return k_ > 0 && (!full() || count > heap_.front().count); }

  void offer(const FoundNgram& found) {
    if (!takes(found.count)) return;
    if (full()) {
      std::pop_heap(heap_.begin(), heap_.end(), better);
      heap_.back() = found;
    } else {
      heap_.push_back(found);
    }
    std::push_heap(heap_.begin(), heap_.end(), better);
  }

  std::vector<FoundNgram>& sorted() {
    std::sort_heap(heap_.begin(), heap_.end(), better);
    return heap_;
  }

 private:
  static bool better(const FoundNgram& a, const FoundNgram& b) { return a.before(b); }

  size_t k_;
  std::vector<FoundNgram> heap_;  // the worst first
};

// Merges the runs of all segments; every n-gram comes once, ascending by token ids, with its net counts.
class NgramMerge {
 public:
  // documents: a bitmap per segment, or null if all of its documents count.
  NgramMerge(const std::vector<const Segment*>& segments, const std::vector<int>& signs,
             const std::vector<const uint8_t*>& documents, uint32_t n)
      : NgramMerge(sources_of(segments, signs, documents), n) {}

  NgramMerge(std::vector<NgramSource> sources, uint32_t n)
      : sources_(std::move(sources)), n_(n), cursors_(sources_.size()), tokens_(sources_.size() * n) {
    for (const NgramSource& source : sources_) n_rows_ += source.rows.size();
  }

  // N-grams of fewer rows are not counted: both of their counts are 0.
  void set_least(uint64_t n_rows) { least_ = n_rows; }

  void start(StopFlag stop) {
    heap_.clear();
    rank_ = 0;
    for (uint32_t s = 0; s < sources_.size(); ++s) {
      cursors_[s] = Cursor{};
      cursors_[s].next_row = sources_[s].rows.lo;
      const Segment& segment = *sources_[s].segment;
      if (!segment.in_token_order()) {
        cursors_[s].ordered = std::make_unique<RunsInTokenOrder>(segment, sources_[s].rows, n_);
      }
      if (advance(s, stop)) heap_.push_back(s);
    }
    std::make_heap(heap_.begin(), heap_.end(), Later{this});
  }

  // The next n-gram; false at the end.
  bool next(FoundNgram& found, StopFlag stop) {
    if (heap_.empty()) return false;
    found = {0, rank_++, heap_.front(), cursors_[heap_.front()].run().lo};
    if (sources_.size() == 1) {
      if (cursors_[0].run().size() >= least_) count(0, cursors_[0].run(), found);
      if (!advance(0, stop)) heap_.clear();
      return true;
    }
    // The n-gram's tokens remain in place until its segment, the first, is advanced, which happens last.
    const uint32_t first = pop();
    uint64_t n_rows = take(first);
    while (!heap_.empty() && compare(heap_.front(), first) == 0) {
      const uint32_t s = pop();
      n_rows += take(s);
      if (advance(s, stop)) push(s);
    }
    if (advance(first, stop)) push(first);
    if (n_rows >= least_) {
      for (const auto& [s, run] : runs_) count(s, run, found);
    }
    runs_.clear();
    return true;
  }

  uint64_t n_rows() const { return n_rows_; }
  uint64_t n_rows_read() const {
    uint64_t sum = 0;
    for (size_t s = 0; s < cursors_.size(); ++s) sum += cursors_[s].next_row - sources_[s].rows.lo;
    return sum;
  }

 private:
  static constexpr size_t kRoom = 512;

  struct Cursor {
    Row next_row = 0;
    size_t at = 0, n_runs = 0;
    std::vector<Range> runs;
    std::unique_ptr<RunsInTokenOrder> ordered;  // if the segment's rows are in another order
    const Range& run() const { return runs[at]; }
  };

  struct Later {
    const NgramMerge* merge;
    bool operator()(uint32_t a, uint32_t b) const { return merge->compare(a, b) > 0; }
  };

  static std::vector<NgramSource> sources_of(const std::vector<const Segment*>& segments, const std::vector<int>& signs,
                                             const std::vector<const uint8_t*>& documents) {
    std::vector<NgramSource> sources;
    for (size_t s = 0; s < segments.size(); ++s) {
      sources.push_back({segments[s], segments[s]->all(), {signs[s], documents[s]}, {}});
    }
    return sources;
  }

  int compare(uint32_t a, uint32_t b) const {
    const int64_t *x = tokens_.data() + size_t{a} * n_, *y = tokens_.data() + size_t{b} * n_;
    for (uint32_t i = 0; i < n_; ++i) {
      if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    }
    return 0;
  }

  uint32_t pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later{this});
    const uint32_t s = heap_.back();
    heap_.pop_back();
    return s;
  }
  void push(uint32_t s) {
    heap_.push_back(s);
    std::push_heap(heap_.begin(), heap_.end(), Later{this});
  }

  // Notes the run of a segment as one of the n-gram at hand; returns its number of rows.
  uint64_t take(uint32_t s) {
    runs_.emplace_back(s, cursors_[s].run());
    return runs_.back().second.size();
  }

  void count(uint32_t s, const Range& run, FoundNgram& found) const {
    const NgramSource& source = sources_[s];
    const auto counted = [&](const Side& side) {
      if (side.sign == 0) return int64_t{0};
      const uint64_t n = side.documents == nullptr ? run.size() : source.segment->count_rows_in(run, side.documents);
      return side.sign * static_cast<int64_t>(n);
    };
    found.count += counted(source.first);
    found.second += counted(source.second);
  }

  bool advance(uint32_t s, StopFlag stop) {
    Cursor& cursor = cursors_[s];
    const NgramSource& source = sources_[s];
    ++cursor.at;
    while (cursor.at >= cursor.n_runs) {
      if (cursor.next_row >= source.rows.hi) return false;
      cursor.runs.resize(kRoom);
      check_stop(stop, n_rows_read(), n_rows_);
      read_runs(source, cursor, stop);
      cursor.at = 0;
    }
    if (sources_.size() > 1) source.segment->tokens_of_row(cursor.run().lo, n_, tokens_.data() + size_t{s} * n_);
    return true;
  }

  void read_runs(const NgramSource& source, Cursor& cursor, StopFlag stop) const {
    const Row end = source.rows.hi;
    if (cursor.ordered == nullptr) {
      cursor.next_row =
          source.segment->ngram_runs(cursor.next_row, n_, cursor.runs.data(), kRoom, &cursor.n_runs, stop);
      while (cursor.n_runs > 0 && cursor.runs[cursor.n_runs - 1].lo >= end) --cursor.n_runs;
      cursor.next_row = std::min(cursor.next_row, end);
      return;
    }
    cursor.n_runs = 0;
    bool is_left = true;
    while (cursor.n_runs < kRoom && (is_left = cursor.ordered->next(&cursor.runs[cursor.n_runs], stop))) ++cursor.n_runs;
    cursor.next_row = is_left ? std::min(source.rows.lo + cursor.ordered->n_passed(), end - 1) : end;
  }

  const std::vector<NgramSource> sources_;
  const uint32_t n_;
  uint64_t n_rows_ = 0;
  uint64_t least_ = 0;
  uint64_t rank_ = 0;
  std::vector<Cursor> cursors_;
  std::vector<int64_t> tokens_;                   // of every cursor's run
  std::vector<uint32_t> heap_;                    // cursors, the smallest n-gram first
  std::vector<std::pair<uint32_t, Range>> runs_;  // of the n-gram at hand
};

// N-grams in blocks, the most frequent first. Memory: that of a block, however many n-grams there are.
//
// A block is the best of what comes after the last one, for which all rows are read once more. From where on
// every n-gram occurs once, one more pass does for all blocks: what comes next is then next in the order of rows.
class NgramBlocks {
 public:
  NgramBlocks(const std::vector<const Segment*>& segments, const std::vector<int>& signs,
              const std::vector<const uint8_t*>& documents, uint32_t n)
      : merge_(segments, signs, documents, n) {}

  // Up to k more; fewer only at the end. Stops at a negative count, which `negative` then holds.
  std::vector<FoundNgram> next(size_t k, StopFlag stop) {
    if (n_passes_ > 0 && last_.count == 1) return next_singles(k, stop);
    BestNgrams best(k);
    FoundNgram found{};
    merge_.start(stop);
    uint64_t n_distinct = 0, n_occurrences = 0;
    while (merge_.next(found, stop)) {
      if (found.count < 0) {
        negative = {found};
        return {};
      }
      n_distinct += found.count > 0;
      n_occurrences += static_cast<uint64_t>(found.count);
      if (found.count > 0 && (n_passes_ == 0 || last_.before(found))) best.offer(found);
    }
    if (n_passes_ == 0) {
      distinct = n_distinct;
      occurrences = n_occurrences;
    }
    ++n_passes_;
    std::vector<FoundNgram> block = std::move(best.sorted());
    if (!block.empty()) last_ = block.back();
    return block;
  }

  uint64_t distinct = 0, occurrences = 0;  // known after the first block
  std::vector<FoundNgram> negative;

 private:
  std::vector<FoundNgram> next_singles(size_t k, StopFlag stop) {
    std::vector<FoundNgram> block;
    if (!in_singles_) merge_.start(stop);
    in_singles_ = true;
    FoundNgram found{};
    while (block.size() < k && merge_.next(found, stop)) {
      if (found.count == 1 && last_.before(found)) block.push_back(found);
    }
    return block;
  }

  NgramMerge merge_;
  FoundNgram last_{};
  uint32_t n_passes_ = 0;
  bool in_singles_ = false;
};

// All n-grams ascending by token ids, with two counts each.
class NgramScan {
 public:
  NgramScan(std::vector<NgramSource> sources, uint32_t n) : merge_(std::move(sources), n) {}

  // Up to k more of those that have at least `least` rows and a count other than 0; fewer only at the end.
  std::vector<FoundNgram> next(size_t k, uint64_t least, StopFlag stop) {
    std::vector<FoundNgram> found;
    if (!is_started_) merge_.start(stop);
    is_started_ = true;
    merge_.set_least(least);
    FoundNgram one{};
    while (found.size() < k && merge_.next(one, stop)) {
      if (one.count != 0 || one.second != 0) found.push_back(one);
    }
    return found;
  }

 private:
  NgramMerge merge_;
  bool is_started_ = false;
};

// ---- the most frequent ones, from a sample of rows --------------------------------------------------------

// Tokens of several n-grams, one after the other, with their counts.
struct CountedNgrams {
  std::vector<int64_t> tokens;
  std::vector<int64_t> counts;
};

// An n-gram that occurs at least `stride` times in a segment is at one of every `stride` rows. So the n-grams of these rows,
// counted exactly, contain every n-gram that occurs `stride` times in one of the added segments; the others occur less
// than `stride` times the number of these segments. A first, wide sample finds a lower bound of the k-th best
// count, a second one is dense enough for that bound. Cost: two searches a sample, whatever the size of the
// corpus.
class FrequentNgrams {
 public:
  FrequentNgrams(const CorpusIndex& index, const std::vector<const Segment*>& segments, const std::vector<int>& signs,
                 uint32_t n)
      : index_(index), segments_(segments), signs_(signs), n_(n) {
    for (size_t s = 0; s < segments.size(); ++s) {
      if (signs[s] < 0) continue;
      ++n_added_;
      n_rows_ += segments[s]->n_rows();
    }
  }

  // The k best, or false when a pass over all rows is the cheaper way (nothing is lost but a first sample).
  bool find(size_t k, CountedNgrams& out, StopFlag stop) {
    if (k == 0 || n_added_ == 0 || n_rows_ / kLeastStride / 4 < k) return false;
    uint64_t stride = std::max<uint64_t>(kLeastStride, n_rows_ / (16 * k + 4096));
    for (;;) {
      sample(stride, stop);
      keep_best(k);
      const int64_t bound = counts_.size() < k ? 0 : counts_.back();
      if (bound >= static_cast<int64_t>(stride * n_added_)) break;
      // With k n-grams the bound is one, and the next sample is the last.
      stride = counts_.size() < k ? stride / 8 : static_cast<uint64_t>(bound) / n_added_;
      if (stride < kLeastStride) return false;
    }
    out.tokens = std::move(tokens_);
    out.counts = std::move(counts_);
    return true;
  }

  std::vector<int64_t> negative;  // tokens of an n-gram with a negative net count

 private:
  // A sample costs as much as reading about 30 rows one after the other, and the first one comes on top.
  static constexpr uint64_t kLeastStride = 64;
  static constexpr size_t kBatch = 64;

  void sample(uint64_t stride, StopFlag stop) {
    tokens_.clear();
    counts_.clear();
    std::vector<int64_t> batch(kBatch * n_);
    std::vector<uint32_t> rows(kBatch);
    for (size_t s = 0; s < segments_.size(); ++s) {
      if (signs_[s] < 0) continue;
      uint64_t behind = 0;  // rows before this one need no check
      size_t m = 0;
      for (Row row = stride - 1; row < segments_[s]->n_rows(); row += stride) {
        if (row < behind) continue;
        int64_t* const at = batch.data() + m * n_;
        if (!segments_[s]->tokens_of_row(row, n_, at)) continue;
        if (m > 0 && std::equal(at, at + n_, at - n_)) continue;
        if (++m < kBatch) continue;
        behind = count(batch, m, s, stop);
        m = 0;
      }
      count(batch, m, s, stop);
    }
  }

  // Counts m n-grams; returns the row of segment s after the last one's, if it has some.
  uint64_t count(const std::vector<int64_t>& batch, size_t m, size_t s, StopFlag stop) {
    if (m == 0) return 0;
    check_stop(stop);
    Request requests[kBatch];
    int64_t counts[kBatch];
    std::vector<Range> ranges(m * segments_.size());
    for (size_t i = 0; i < m; ++i) requests[i] = Request{batch.data() + i * n_, n_};
    index_.find(requests, m, counts, ranges.data());
    for (size_t i = 0; i < m; ++i) {
      if (counts[i] < 0) negative.assign(requests[i].ids, requests[i].ids + n_);
      if (counts[i] <= 0) continue;
      counts_.push_back(counts[i]);
      tokens_.insert(tokens_.end(), requests[i].ids, requests[i].ids + n_);
    }
    return segments_[s]->is_nested() ? ranges[(m - 1) * segments_.size() + s].hi : 0;
  }

  // Sorts what was found, each once, and drops all after the k-th.
  void keep_best(size_t k) {
    std::vector<uint32_t> order(counts_.size());
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto three_way = [&](uint32_t a, uint32_t b) {
      const int64_t *x = tokens_.data() + size_t{a} * n_, *y = tokens_.data() + size_t{b} * n_;
      for (uint32_t i = 0; i < n_; ++i) {
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
      }
      return 0;
    };
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return counts_[a] != counts_[b] ? counts_[a] > counts_[b] : three_way(a, b) < 0;
    });
    order.erase(std::unique(order.begin(), order.end(),
                            [&](uint32_t a, uint32_t b) { return counts_[a] == counts_[b] && three_way(a, b) == 0; }),
                order.end());
    if (order.size() > k) order.resize(k);
    CountedNgrams kept;
    for (const uint32_t i : order) {
      kept.counts.push_back(counts_[i]);
      kept.tokens.insert(kept.tokens.end(), tokens_.begin() + size_t{i} * n_, tokens_.begin() + (size_t{i} + 1) * n_);
    }
    tokens_ = std::move(kept.tokens);
    counts_ = std::move(kept.counts);
  }

  const CorpusIndex& index_;
  const std::vector<const Segment*> segments_;
  const std::vector<int> signs_;
  const uint32_t n_;
  size_t n_added_ = 0;
  uint64_t n_rows_ = 0;
  std::vector<int64_t> tokens_, counts_;
};

// ---- a few documents -------------------------------------------------------------------------------------

// The n-grams of documents given as tokens, counted in a hash table. Cost: a random read per token; 16 bytes of memory
// for a distinct n-gram, twice that while the table is sparse.
class HashedNgrams {
 public:
  explicit HashedNgrams(const uint32_t* tokens, uint32_t n) : tokens_(tokens), n_(n) {
    for (uint32_t i = 0; i < n; ++i) power_ *= kBase;
    grow(1024);
  }

  // Adds the n-grams of tokens[start, stop), a document.
  void add(size_t start, size_t stop, StopFlag stop_flag) {
    if (stop - start < n_) return;
    uint64_t hash = 0;
    for (size_t i = start; i < stop; ++i) {
      hash = hash * kBase + tokens_[i] + 1;
      if (i >= start + n_) hash -= power_ * (tokens_[i - n_] + uint64_t{1});
      if (i + 1 >= start + n_) add_one(i + 1 - n_, hash);
      if (i % kStopInterval == 0) check_stop(stop_flag);
    }
  }

  struct Entry {
    uint64_t place;  // of the first one among the tokens, plus 1; 0: free
    uint32_t tag;
    uint32_t count;
  };

  uint64_t distinct() const { return n_used_; }

  // The k best.
  std::vector<Entry> best(size_t k, StopFlag stop) const {
    std::vector<Entry> found;
    found.reserve(n_used_);
    for (const Entry& entry : table_) {
      if (entry.place != 0) found.push_back(entry);
    }
    const auto before = [&](const Entry& a, const Entry& b) {
      if (a.count != b.count) return a.count > b.count;
      const uint32_t *x = tokens_ + a.place - 1, *y = tokens_ + b.place - 1;
      return std::lexicographical_compare(x, x + n_, y, y + n_);
    };
    if (k < found.size()) {
      std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(k), found.end(), before);
      found.resize(k);
    }
    sort_stoppably(found.begin(), found.end(), before, stop);
    return found;
  }

 private:
  static constexpr uint64_t kBase = 0x9e3779b97f4a7c15u;

  static uint64_t mix(uint64_t hash) {
    hash ^= hash >> 31;
    hash *= 0xbf58476d1ce4e5b9u;
    return hash ^ (hash >> 29);
  }

  void add_one(size_t place, uint64_t hash) {
    hash = mix(hash);
    const uint32_t tag = static_cast<uint32_t>(hash >> 32);
    size_t slot = hash & (table_.size() - 1);
    for (;; slot = (slot + 1) & (table_.size() - 1)) {
      Entry& entry = table_[slot];
      if (entry.place == 0) {
        entry = {place + 1, tag, 1};
        if (2 * ++n_used_ > table_.size()) grow(2 * table_.size());
        return;
      }
      if (entry.tag == tag &&
          std::memcmp(tokens_ + entry.place - 1, tokens_ + place, sizeof(uint32_t) * n_) == 0) {
        ++entry.count;
        return;
      }
    }
  }

  void grow(size_t size) {
    std::vector<Entry> old(size);
    old.swap(table_);
    for (const Entry& entry : old) {
      if (entry.place == 0) continue;
      uint64_t hash = 0;
      for (uint32_t i = 0; i < n_; ++i) hash = hash * kBase + tokens_[entry.place - 1 + i] + 1;
      size_t slot = mix(hash) & (size - 1);
      while (table_[slot].place != 0) slot = (slot + 1) & (size - 1);
      table_[slot] = entry;
    }
  }

  const uint32_t* tokens_;
  const uint32_t n_;
  uint64_t power_ = 1;
  std::vector<Entry> table_;
  size_t n_used_ = 0;
};

}  // namespace ngramdb
