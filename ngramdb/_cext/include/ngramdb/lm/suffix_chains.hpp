// All suffixes of a context that occur, with the rows where they stand: what a model that backs off needs at
// once.
//
// Suffixes of neighbouring lengths often have the very same occurrences (as a rule from four or five words
// on). A *chain* is a run of lengths with equal net counts, hence equal occurrences: each but the longest has
// a single left neighbour. There are few chains whatever the order, and when the context grows by a token
// each chain is extended by one search; so a document is walked in time that does not depend on the order,
// and nothing is kept between tokens but the chains.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/lm/successors.hpp"
#include "ngramdb/lm/vocabulary.hpp"
#include "ngramdb/segment/stoppable_find.hpp"

namespace ngramdb {
namespace lm {

// Borders of a sentence as ids: `</s>`, and `<s>`, after which a new context begins.
constexpr int64_t kEnd = -2;
constexpr int64_t kBegin = -3;

// What a model asks of the walk.
struct WalkSettings {
  const Columns* columns = nullptr;
  const Vocabulary* vocabulary = nullptr;
  RecordCache* cache = nullptr;       // null: no records are wanted
  uint32_t longest = UINT32_MAX - 2;  // tokens of a context at most, `<s>` included
  int64_t least = 1;                  // n-grams below this count are as good as unseen
  bool raw_at_longest = false;        // contexts of the greatest length count their successors by occurrences
};

struct Chain {
  uint32_t shortest = 0, length = 0;  // lengths with the same occurrences
  int64_t count = 0;
  bool alone = false;  // one occurrence in one segment: only where it ends is kept
  uint32_t column = 0;
  uint64_t end = 0;
  Record record;
};

// A search that a walk waits for.
struct Lookup {
  Request request;
  const Range* within;  // one per segment, or null
};

// Does lookups side by side; answers[i * width + s].
class Searches {
 public:
  explicit Searches(const Columns& columns) : columns_(columns) {}

  std::vector<Lookup> lookups;
  std::vector<Range> answers;

  void run(StopFlag stop) {
    const size_t n = lookups.size(), w = columns_.width();
    answers.resize(n * w);
    requests_.resize(n);
    found_.resize(n);
    for (size_t s = 0; s < w; ++s) {
      for (size_t i = 0; i < n; ++i) {
        requests_[i] = lookups[i].request;
        if (lookups[i].within != nullptr) requests_[i].within = lookups[i].within[s];
      }
      find_stoppably(columns_[s].segment(), requests_.data(), found_.data(), n, stop);
      for (size_t i = 0; i < n; ++i) answers[i * w + s] = found_[i];
    }
  }

 private:
  const Columns& columns_;
  std::vector<Request> requests_;
  std::vector<Range> found_;
};

// The documents that begin with a context: the suffix `<s>` w1 … wn.
struct Starts {
  bool alive = false;
  uint32_t n_tokens = 0;
  int64_t count = 0;
  SuccessorCounts next;
  std::vector<Range> ranges;
};

class Walk {
 public:
  // Units of work that a chain takes in a step.
  static constexpr uint64_t kChainWork = 32;

  // Under which the record of an n-gram of `depth` tokens is kept; its rows in each of n segments.
  static RecordCache::Key key_of(const Range* rows, size_t n, uint64_t depth) {
    for (size_t s = 0; s < n; ++s) {
      if (rows[s].size() > 0) return {static_cast<uint64_t>(s) << kRowBits | (rows[s].lo & kRowMask), depth};
    }
    return {UINT64_MAX, depth};
  }

  explicit Walk(const WalkSettings& settings) : settings_(settings), w_(settings.columns->width()) {}

  // The suffixes that occur, the empty one first.
  std::vector<Chain> chains;
  Starts starts;

  // After a step: the chains from before, and what became of each. extended: net count of the chain's
  // occurrences that are followed by the token; n_left: different left neighbours of the longest suffix with
  // the token, 0 where that is below the least count.
  std::vector<Chain> before;
  std::vector<int64_t> extended, n_left;
  Starts starts_before;
  int64_t starts_extended = 0;

  // stop: for what is done once, when the first walk begins with `<s>`.
  void reset(bool begins, StopFlag stop) {
    chains.assign(1, Chain{});
    chains[0].count = settings_.columns->n_tokens();
    ranges_.assign(w_, Range{});
    starts = Starts{};
    if (!begins || settings_.longest < 1) return;
    settings_.columns->prepare_starts(stop);
    starts.ranges.resize(w_);
    for (size_t s = 0; s < w_; ++s) {
      starts.ranges[s] = {0, (*settings_.columns)[s].starts().size()};
    }
    starts.count = settings_.columns->n_sentences();
    starts.alive = starts.count >= settings_.least;
    if (starts.alive && settings_.cache != nullptr) learn_starts();
  }

  // A step to the token ids[at], whose context is what stands before it: ask, run the searches, take.
  void ask(const int64_t* ids, size_t at, Searches& searches) {
    first_lookup_ = searches.lookups.size();
    settings_.vocabulary->prefetch(code_of(ids[at]), w_);
    for (size_t c = 1; c < chains.size(); ++c) {
      const Chain& chain = chains[c];
      if (chain.alone) continue;
      const Range* const within = ranges_.data() + c * w_;
      searches.lookups.push_back({Request{ids + at - chain.length, chain.length + 1, chain.length, true}, within});
      if (outgrows(chain)) {
        searches.lookups.push_back({Request{ids + at + 1 - chain.length, chain.length}, nullptr});
      }
    }
  }

  // What it learns of the new suffixes is learned later, by `learn_all`: meanwhile their text is fetched.
  void take(int64_t id, const Searches& searches) {
    const int64_t code = code_of(id);
    begin_step();
    push_empty();
    const Range* answer = searches.answers.data() + first_lookup_ * w_;
    bool stopped = false;
    for (size_t c = 0; c < before.size(); ++c) {
      const Chain& chain = before[c];
      const Range* grown = nullptr;  // rows of the longest suffix that the new context may have
      if (c == 0) {
        const int64_t type = settings_.vocabulary->find(code);
        grown = type < 0 ? nullptr : settings_.vocabulary->ranges.data() + static_cast<size_t>(type) * w_;
        extended[c] = grown == nullptr ? 0 : settings_.vocabulary->counts[static_cast<size_t>(type)];
      } else if (chain.alone) {
        extended[c] = code > 0 && column_of(chain).code_at(chain.end) == code;
      } else {
        extended[c] = settings_.columns->net(answer);
        grown = answer;
        answer += w_;
        if (outgrows(chain)) {
          grown = answer;
          answer += w_;
        }
      }
      stopped = stopped || extended[c] < settings_.least;
      if (stopped) continue;
      if (chain.length < settings_.longest || outgrows(chain)) push_grown(c, chain, grown);
    }
    step_starts(code);
    if (settings_.cache == nullptr) return;
    for (size_t c = 1; c < chains.size(); ++c) {
      if (!chains[c].alone) prefetch_record(c);
    }
  }

  // The counts of the context's suffixes, and of the suffixes that the last step extended.
  void learn_all(Workspace& work, StopFlag stop) {
    spend(stop, kChainWork * chains.size());
    if (settings_.cache == nullptr) return;
    for (size_t c = 1; c < chains.size(); ++c) learn(c, work, stop);
    if (starts.alive) learn_starts();
    if (chains.empty()) return;  // after the end of a sentence
    for (size_t c = 0; c < into_.size(); ++c) {
      if (extended[c] < settings_.least) continue;
      const Chain& into = chains[std::min<size_t>(into_[c], chains.size() - 1)];
      n_left[c] = into.length == before[c].length + 1 ? into.record.n_left : 1;
    }
  }

  // The step to a sentence's end. No context comes after it. n_left_of_end: of the unigram `</s>`.
  void take_end(int64_t n_left_of_end, Workspace& work, StopFlag stop) {
    begin_step();
    std::vector<Range> ends;
    for (size_t c = 0; c < before.size(); ++c) {
      const Chain& chain = before[c];
      spend(stop, kChainWork);
      if (c == 0) {
        extended[c] = settings_.columns->n_sentences();
        n_left[c] = extended[c] < settings_.least ? 0 : n_left_of_end;
      } else if (chain.alone) {
        extended[c] = n_left[c] = column_of(chain).code_at(chain.end) == kBorder;
      } else {
        extended[c] = settings_.columns->ends(ranges_before_.data() + c * w_, chain.length, ends);
        if (settings_.cache != nullptr && extended[c] >= settings_.least) {
          n_left[c] = settings_.columns->n_left_of_ends(ends, work, stop);
        }
      }
    }
    step_starts(kBorder);
    starts.alive = false;
  }

  // Sets the walk after a context of any length, without walking through it. begins: `<s>` stands before it.
  void locate(const int64_t* ids, size_t n, bool begins, Searches& searches, Workspace& work, StopFlag stop) {
    reset(begins, stop);
    const size_t most = std::min<size_t>(n, settings_.longest);
    std::vector<Range> rows;
    for (size_t length = 1; length <= most;) {
      searches.lookups.clear();
      const size_t until = std::min(most, length + kProbes - 1);
      for (size_t k = length; k <= until; ++k) {
        searches.lookups.push_back({Request{ids + n - k, static_cast<uint32_t>(k)}, nullptr});
      }
      searches.run(stop);
      for (size_t i = 0; i <= until - length; ++i) {
        const Range* const found = searches.answers.data() + i * w_;
        const int64_t count = settings_.columns->net(found);
        if (count < settings_.least) {
          length = most + 1;
          break;
        }
        push(static_cast<uint32_t>(length + i), count, found);
        if (chains.back().alone) {
          lengthen_alone(chains.back(), ids + n, most);
          length = most + 1;
          break;
        }
      }
      if (length <= most) length = until + 1;
    }
    for (size_t i = 0; i < n && starts.alive; ++i) {
      spend(stop, kChainWork);
      starts_before = starts;
      step_starts(code_of(ids[i]));
    }
    into_.clear();
    learn_all(work, stop);
  }

  // Every successor of chain c, the longest of its lengths taken; see Columns::successors.
  template <class Visit>
  void successors(size_t c, Workspace& work, StopFlag stop, Visit visit) const {
    const Chain& chain = chains[c];
    if (chain.alone) {
      visit(Successor{column_of(chain).code_at(chain.end), 1, 1});
      return;
    }
    settings_.columns->successors(ranges_.data() + c * w_, chain.length, work, stop, visit);
  }

  // The same as a list, kept where it took long; without left neighbours where no records are wanted. finish: what
  // the model adds to a SuccessorList; always the same for the same context.
  template <class Finish>
  SuccessorCache::Entry successor_list(size_t c, SuccessorCache& cache, Workspace& work, StopFlag stop,
                                       Finish finish) const {
    const Chain& chain = chains[c];
    const Range* const rows = ranges_.data() + c * w_;
    const bool is_kept = !chain.alone && settings_.columns->n_rows(rows) > kListedFrom;
    const RecordCache::Key key = is_kept ? key_of(rows, chain.length) : RecordCache::Key{};
    if (is_kept) {
      SuccessorCache::Entry known = cache.get(key.row, key.depth);
      if (known != nullptr) return known;
    }
    auto found = std::make_shared<SuccessorList>();
    if (settings_.cache != nullptr) {
      successors(c, work, stop, [&](const Successor& f) { found->list.push_back(f); });
    } else {
      std::vector<std::pair<Code, int64_t>> counts;
      next_counts(c, counts, stop);
      for (const auto& entry : counts) found->list.push_back({entry.first, entry.second, 0});
    }
    finish(*found);
    if (is_kept) cache.put(key.row, key.depth, found);
    return found;
  }

  // Code and net count of the same, by galloping over runs: for contexts that are very frequent.
  void next_counts(size_t c, std::vector<std::pair<Code, int64_t>>& out, StopFlag stop) const {
    const Chain& chain = chains[c];
    if (chain.alone) {
      out.emplace_back(column_of(chain).code_at(chain.end), 1);
      return;
    }
    std::vector<std::pair<Code, int64_t>> found;
    std::vector<Run> runs;
    for (size_t s = 0; s < w_; ++s) {
      const Column& column = (*settings_.columns)[s];
      runs.clear();
      const uint64_t n_ends = column.segment().successors(ranges_[c * w_ + s], chain.length, runs, stop);
      if (n_ends > 0) found.emplace_back(kBorder, column.sign() * static_cast<int64_t>(n_ends));
      for (const Run& run : runs) {
        const Code code = run.id == settings_.columns->separator() ? kBorder : static_cast<Code>(run.id + 1);
        found.emplace_back(code, column.sign() * run.count);
      }
    }
    std::sort(found.begin(), found.end());
    for (size_t i = 0; i < found.size();) {
      const Code code = found[i].first;
      int64_t count = 0;
      for (; i < found.size() && found[i].first == code; ++i) count += found[i].second;
      if (count > 0) out.emplace_back(code, count);
    }
  }

  // Every successor of a documents' beginning: code and net count, ascending.
  template <class Visit>
  void start_successors(const Starts& starts, Visit visit) const {
    std::vector<std::pair<Code, int64_t>> found;
    if (starts.n_tokens == 0 && settings_.columns->n_empty() != 0) {
      found.emplace_back(kBorder, settings_.columns->n_empty());
    }
    for (size_t s = 0; s < w_; ++s) {
      const Column& column = (*settings_.columns)[s];
      Range rest = starts.ranges[s];
      while (rest.size() > 0) {
        const Code code = column.code_at(column.starts()[rest.lo] + starts.n_tokens);
        const Range run = column.first_run_of_starts(rest, starts.n_tokens);
        found.emplace_back(code, column.sign() * static_cast<int64_t>(run.size()));
        rest.lo = run.hi;
      }
    }
    std::sort(found.begin(), found.end());
    for (size_t i = 0; i < found.size();) {
      const Code code = found[i].first;
      int64_t count = 0;
      for (; i < found.size() && found[i].first == code; ++i) count += found[i].second;
      if (count > 0) visit(code, count);
    }
  }

  // Tokens of the longest suffix that occurred before the step; `<s>` counts as one.
  uint32_t longest_before() const {
    return starts_before.alive ? starts_before.n_tokens + 1 : before.back().length;
  }

  // Whether that suffix has one successor only, and that is a token.
  bool sparse_before(Workspace& work, StopFlag stop) const {
    Code only = kBorder;
    int64_t n = 0;
    const auto see = [&](Code code) {
      only = code;
      ++n;
    };
    if (starts_before.alive) {
      start_successors(starts_before, [&](Code code, int64_t) { see(code); });
    } else if (before.back().alone) {
      see(column_of(before.back()).code_at(before.back().end));
    } else if (before.size() == 1) {
      return settings_.vocabulary->size() == 1;
    } else {
      const Range* const rows = ranges_before_.data() + (before.size() - 1) * w_;
      if (settings_.columns->only_added() && !same_next(rows, before.back().length)) return false;
      settings_.columns->successors(rows, before.back().length, work, stop, [&](const Successor& f) { see(f.code); });
    }
    return n == 1 && only != kBorder;
  }

 private:
  // Lengths that `locate` tries in one round.
  static constexpr size_t kProbes = 8;
  // Records of contexts with more rows than this are kept: computing one from fewer costs less than a miss.
  static constexpr uint64_t kKeptFrom = 24;
  // The same of lists of successors.
  static constexpr uint64_t kListedFrom = 512;
  // In keys: the bits of a row, below the segment's number. Other bits tell rows of different depths apart, as the key
  // does by itself (reversed_table_segment.hpp).
  static constexpr int kRowBits = 44;
  static constexpr uint64_t kRowMask = (uint64_t{1} << kRowBits) - 1;
  // In keys: a document's beginning, and not an n-gram anywhere.
  static constexpr uint64_t kStartsBit = uint64_t{1} << 40;

  // Fetches what `learn` will read: the record that is kept, or the text of the rows.
  void prefetch_record(size_t c) const {
    const Range* const rows = ranges_.data() + c * w_;
    if (settings_.columns->n_rows(rows) > kKeptFrom) {
      settings_.cache->prefetch(key_of(rows, chains[c].length));
      return;
    }
    for (size_t s = 0; s < w_; ++s) (*settings_.columns)[s].prefetch_rows(rows[s]);
  }

  const Column& column_of(const Chain& chain) const { return (*settings_.columns)[chain.column]; }

  // Whether the first and the last row of every segment go on alike: if not, there are several successors.
  bool same_next(const Range* rows, uint32_t depth) const {
    for (size_t s = 0; s < w_; ++s) {
      if (rows[s].size() == 0) continue;
      const Column& column = (*settings_.columns)[s];
      const auto next_of = [&](Row row) { return column.code_at(column.position(row) + depth); };
      if (next_of(rows[s].lo) != next_of(rows[s].hi - 1)) return false;
    }
    return true;
  }

  // A chain that reaches the greatest length and has shorter ones: its extension by a token must drop its
  // first one.
  bool outgrows(const Chain& chain) const {
    return chain.length == settings_.longest && chain.shortest < chain.length;
  }

  void begin_step() {
    before.swap(chains);
    ranges_before_.swap(ranges_);
    std::swap(starts_before, starts);
    chains.clear();
    ranges_.clear();
    extended.assign(before.size(), 0);
    n_left.assign(before.size(), 0);
    into_.assign(before.size(), SIZE_MAX);
  }

  void push_empty() {
    chains.push_back(Chain{});
    chains[0].count = settings_.columns->n_tokens();
    ranges_.resize(w_);
  }

  void push_grown(size_t c, const Chain& chain, const Range* rows) {
    const uint32_t length = std::min(chain.length + 1, settings_.longest);
    if (chain.alone) {
      push_alone(length, chain.column, chain.end + 1);
    } else {
      push(length, extended[c], rows);
    }
    into_[c] = chains.size() - 1;
  }

  void push_alone(uint32_t length, uint32_t column, uint64_t end) {
    if (chains.size() > 1 && chains.back().count == 1) {
      chains.back().length = length;
      return;
    }
    Chain chain;
    chain.shortest = chains.back().length + 1;
    chain.length = length;
    chain.count = 1;
    chain.alone = true;
    chain.column = column;
    chain.end = end;
    chains.push_back(chain);
    ranges_.resize(chains.size() * w_);
  }

  // Adds a suffix longer than all before: to the last chain when it occurs as often.
  void push(uint32_t length, int64_t count, const Range* rows) {
    if (count == 1 && settings_.columns->only_added()) {
      for (size_t s = 0; s < w_; ++s) {
        if (rows[s].size() == 0) continue;
        push_alone(length, static_cast<uint32_t>(s), (*settings_.columns)[s].position(rows[s].lo) + length);
        return;
      }
    }
    if (chains.size() > 1 && chains.back().count == count) {
      chains.back().length = length;
      std::copy_n(rows, w_, ranges_.end() - static_cast<std::ptrdiff_t>(w_));
      return;
    }
    Chain chain;
    chain.shortest = chains.back().length + 1;
    chain.length = length;
    chain.count = count;
    chains.push_back(chain);
    ranges_.insert(ranges_.end(), rows, rows + w_);
  }

  // The one occurrence is compared with the context backwards.
  void lengthen_alone(Chain& chain, const int64_t* stop, size_t most) const {
    const Column& column = column_of(chain);
    while (chain.length < most && chain.end > chain.length) {
      const Code found = column.code_at(chain.end - chain.length - 1);
      if (found == kBorder || code_of(stop[-1 - static_cast<int64_t>(chain.length)]) != found) return;
      ++chain.length;
    }
  }

  void step_starts(int64_t code) {
    starts_extended = 0;
    starts = Starts{};
    if (!starts_before.alive) return;
    const uint32_t depth = starts_before.n_tokens;
    starts.ranges.resize(w_);
    for (size_t s = 0; s < w_; ++s) {
      const Column& column = (*settings_.columns)[s];
      if (code == kBorder) {
        const Ends ends = column.ends_of_starts(starts_before.ranges[s], depth);
        starts_extended += column.sign() * static_cast<int64_t>(ends[0].size() + ends[1].size());
      } else {
        starts.ranges[s] = column.narrow_starts(starts_before.ranges[s], depth, code);
        starts_extended += column.sign() * static_cast<int64_t>(starts.ranges[s].size());
      }
    }
    if (depth == 0 && code == kBorder) starts_extended += settings_.columns->n_empty();
    starts.n_tokens = depth + 1;
    starts.count = starts_extended;
    starts.alive = starts_extended >= settings_.least && depth + 2 <= settings_.longest;
  }

  // Successors of documents' beginnings: the few there are, by bisection.
  void learn_starts() {
    starts.next = SuccessorCounts{};
    const bool is_frequent = starts.count > static_cast<int64_t>(kKeptFrom);
    RecordCache::Key key{};
    if (is_frequent) {
      key = key_of(starts.ranges.data(), kStartsBit | starts.n_tokens);
      Record known;
      if (settings_.cache->get(key, &known)) {
        starts.next = known.next;
        return;
      }
    }
    start_successors(starts, [&](Code, int64_t count) {
      starts.next.add(count, count >= settings_.least);
    });
    if (!is_frequent) return;
    Record record;
    record.next = starts.next;
    settings_.cache->put(key, record);
  }

  RecordCache::Key key_of(const Range* rows, uint64_t depth) const { return key_of(rows, w_, depth); }

  void learn(size_t c, Workspace& work, StopFlag stop) {
    Chain& chain = chains[c];
    if (chain.alone) {
      chain.record.n_left = 1;
      chain.record.next = SuccessorCounts{1, 0, {1, 0, 0}};
      chain.record.n_next = chain.record.n_next_kept = 1;
      return;
    }
    const Range* const rows = ranges_.data() + c * w_;
    const bool is_kept = settings_.columns->n_rows(rows) > kKeptFrom;
    const RecordCache::Key key = key_of(rows, chain.length);
    if (is_kept && settings_.cache->get(key, &chain.record)) return;
    const bool raw = settings_.raw_at_longest && chain.length == settings_.longest;
    Record record;
    record.n_left = settings_.columns->successors(rows, chain.length, work, stop, [&](const Successor& f) {
      const bool kept = f.count >= settings_.least;
      record.next.add(raw ? f.count : f.n_left, kept);
      ++record.n_next;
      record.n_next_kept += kept;
    });
    chain.record = record;
    if (is_kept) settings_.cache->put(key, record);
  }

  WalkSettings settings_;
  size_t w_;
  size_t first_lookup_ = 0;
  std::vector<Range> ranges_, ranges_before_;  // of chain c in segment s: [c * w_ + s]
  std::vector<size_t> into_;
};

}  // namespace lm
}  // namespace ngramdb
