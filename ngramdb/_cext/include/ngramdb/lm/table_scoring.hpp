// Scoring tokens with an NgramTable: many positions at once, so that the memory answers for all of them together.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/base/thread_team.hpp"
#include "ngramdb/lm/ngram_table.hpp"

namespace ngramdb {
namespace lm {

// Where the scores of tokens go: log10 of the probability, the length of the n-gram that was found, and that of the
// longest suffix of the context in the table, plus one.
struct TableScores {
  double* logs;
  int32_t* lengths;
  int32_t* suffixes;
};

// Consecutive words, some with a place among the scores. Words are added, and `run` scores them in groups: within a
// group the n-grams of length 2 of all words are looked up, then those of length 3 of the words that are left, and so on.
class TableStream {
 public:
  TableStream(const NgramTable& table, TableScores out)
      : table_(table), out_(out), order_(table.order()), weights_((kGroup + 1) * order_) {}

  // A word after `room` words of context. place: of its score; -1 for none.
  void add(uint32_t code, size_t room, int64_t place) {
    table_.prefetch_word(code);
    words_.push_back(Word{hash_of_word(code), place, code, static_cast<uint32_t>(std::min<size_t>(room + 1, order_))});
  }

  // What is given, not predicted: a word of probability 1 without context.
  void give(int64_t place) { put(place, 0.0, 1, 1); }

  size_t size() const { return words_.size(); }

  // Scores all words; the next that is added is the first of its text.
  void run() {
    rows_[0] = Row();
    for (size_t start = 0; start < words_.size(); start += kGroup) {
      const size_t n = std::min(kGroup, words_.size() - start);
      look_up(start, n);
      for (size_t i = 1; i <= n; ++i) write(words_[start + i - 1], i);
      rows_[0] = rows_[n];
      std::copy_n(weights_.begin() + static_cast<std::ptrdiff_t>(n * order_), order_, weights_.begin());
    }
    words_.clear();
  }

 private:
  static constexpr size_t kGroup = 64;

  struct Word {
    uint64_t hash;
    int64_t place;
    uint32_t code;
    uint32_t most;  // words of an n-gram that ends here
  };
  struct Row {
    uint64_t key = 0;
    float prob = 0.0f;
    uint32_t length = 0;    // of the n-gram that was found
    uint32_t reach = 0;     // of the longest one that others begin with
    bool is_suffix = false;
  };

  // Row i is that of word start + i - 1; row 0 that of the word before.
  void look_up(size_t start, size_t n) {
    n_left_ = 0;
    for (size_t i = 1; i <= n; ++i) {
      const Word& word = words_[start + i - 1];
      const Entry& entry = table_.word(word.code);
      Row& row = rows_[i];
      row = Row{word.hash, entry.prob.log(), 1, entry.weight.is_context() ? 1u : 0u, entry.prob.is_suffix()};
      weights_[i * order_] = entry.weight.log();
      if (word.most > 1 && row.is_suffix) left_[n_left_++] = static_cast<uint8_t>(i);
    }
    for (uint32_t length = 2; length <= order_ && n_left_ > 0; ++length) {
      size_t kept = 0;
      for (size_t k = 0; k < n_left_; ++k) {
        const size_t i = left_[k];
        if (rows_[i - 1].reach + 1 < length) continue;
        rows_[i].key += words_[start + i - length].hash * table_.power(length - 1);
        table_.prefetch(length, rows_[i].key);
        left_[kept++] = static_cast<uint8_t>(i);
      }
      n_left_ = take(length, start, kept);
    }
  }

  // Reads what was prefetched; returns how many words may be found with a word more.
  size_t take(uint32_t length, size_t start, size_t n) {
    size_t kept = 0;
    for (size_t k = 0; k < n; ++k) {
      const size_t i = left_[k];
      Entry entry;
      if (!table_.look_up(length, rows_[i].key, &entry)) continue;
      Row& row = rows_[i];
      row.prob = entry.prob.log();
      row.length = length;
      if (length == order_) continue;
      weights_[i * order_ + length - 1] = entry.weight.log();
      if (entry.weight.is_context()) row.reach = length;
      if (entry.prob.is_suffix() && words_[start + i - 1].most > length) left_[kept++] = static_cast<uint8_t>(i);
    }
    return kept;
  }

  void write(const Word& word, size_t i) {
    if (word.place < 0) return;
    const Row &row = rows_[i], &before = rows_[i - 1];
    const float* const weights = weights_.data() + (i - 1) * order_;
    double log = row.prob;
    for (uint32_t n = row.length; n < word.most; ++n) {
      log += table_.penalty + (n <= before.length && n < order_ ? weights[n - 1] : 0.0f);
    }
    const uint32_t suffix = std::min(before.reach + 1, word.most);
    put(word.place, std::max(log, table_.least), static_cast<int32_t>(row.length), static_cast<int32_t>(suffix));
  }

  void put(int64_t place, double log, int32_t length, int32_t suffix) {
    out_.logs[place] = log;
    out_.lengths[place] = length;
    out_.suffixes[place] = suffix;
  }

  const NgramTable& table_;
  const TableScores out_;
  const uint32_t order_;
  std::vector<Word> words_;
  std::vector<float> weights_;  // of contexts that end at a row's word, by their length
  Row rows_[kGroup + 1];
  uint8_t left_[kGroup];
  size_t n_left_ = 0;
};

// Adds the words of a text to a stream; knows how far contexts reach back.
class TableText {
 public:
  TableText(const NgramTable& table, TableStream& stream) : table_(table), stream_(stream) {}

  // room: words of context before it.
  void begin(bool in_sentence, size_t room = 0) {
    room_ = room;
    if (in_sentence) border(true);
  }

  void add(int64_t id, int64_t place) {
    if (id == -3) {
      add_begin(place);
    } else if (id == -2 || id == table_.separator) {
      stream_.add(kEndCode, room_, place);
      border(id != -2);
    } else {
      stream_.add(table_.codes.of(id), room_++, place);
    }
  }

 private:
  // `<s>` is given, not predicted; what it costs is that the context does not reach across it.
  void add_begin(int64_t place) {
    if (table_.penalty == 0.0f) {
      stream_.add(kBeginCode, room_, place);
      room_ = 1;
      return;
    }
    if (place >= 0) stream_.give(place);
    border(true);
  }

  void border(bool begins) {
    if (begins) stream_.add(kBeginCode, 0, -1);
    room_ = begins ? 1 : 0;
  }

  const NgramTable& table_;
  TableStream& stream_;
  size_t room_ = 0;
};

// Scores every token of documents ids[offsets[i]] … ids[offsets[i + 1] - 1], and with `sentences` the end of each.
class TableBatch {
 public:
  TableBatch(const NgramTable& table, const int64_t* ids, const int64_t* offsets, size_t n, bool sentences, TableScores out)
      : table_(table), ids_(ids), offsets_(offsets), n_(n), sentences_(sentences), out_(out) {}

  void run(StopFlag stop) {
    const size_t total = entry_of(n_);
    ThreadTeam team(total < kShareFrom ? nullptr : &CoreBudget::of_machine(), stop);
    team.run([&](uint32_t thread) {
      Poll poll = team.poll_of(thread);
      TableStream stream(table_, out_);
      for (size_t from = next_.fetch_add(kPiece); from < total; from = next_.fetch_add(kPiece)) {
        score(from, std::min(total, from + kPiece), stream);
        check_stop(&poll, from, total);
      }
    });
  }

 private:
  static constexpr size_t kPiece = 1 << 12, kShareFrom = 1 << 14;

  // The first entry of document i among the scores.
  size_t entry_of(size_t i) const { return static_cast<size_t>(offsets_[i] - offsets_[0]) + (sentences_ ? i : 0); }

  // The last document whose entries begin at `entry` or before.
  size_t document_of(size_t entry) const {
    size_t low = 0, high = n_;
    while (high - low > 1) {
      const size_t middle = (low + high) / 2;
      (entry_of(middle) <= entry ? low : high) = middle;
    }
    return low;
  }

  void score(size_t from, size_t to, TableStream& stream) const {
    TableText text(table_, stream);
    for (size_t i = document_of(from), entry = from; entry < to; ++i) {
      const int64_t* const document = ids_ + offsets_[i];
      const size_t length = static_cast<size_t>(offsets_[i + 1] - offsets_[i]), first = entry - entry_of(i);
      const size_t start = first < table_.order() ? 0 : first - table_.order() + 1;
      text.begin(sentences_ && start == 0);
      for (size_t at = start; at < first; ++at) text.add(document[at], -1);
      for (size_t at = first; at < length && entry < to; ++at) text.add(document[at], static_cast<int64_t>(entry++));
      if (sentences_ && entry < to && entry == entry_of(i) + length) {
        const int64_t place = static_cast<int64_t>(entry++);
        if (length > 0 && document[length - 1] == table_.separator) {
          stream.give(place);
        } else {
          text.add(-2, place);
        }
      }
    }
    stream.run();
  }

  const NgramTable& table_;
  const int64_t *const ids_, *const offsets_;
  const size_t n_;
  const bool sentences_;
  const TableScores out_;
  std::atomic<size_t> next_{0};
};

// The tokens tokens[token_offsets[i]] … of n continuations, each after its context and the tokens before it.
inline void score_continuations(const NgramTable& table, const int64_t* ids, const int64_t* offsets, const int64_t* tokens,
                                const int64_t* token_offsets, const uint8_t* begins, size_t n, TableScores out,
                                StopFlag stop) {
  constexpr size_t kWords = 1 << 12;
  TableStream stream(table, out);
  TableText text(table, stream);
  const int64_t most = table.order() - 1;
  for (size_t i = 0; i < n; ++i) {
    const bool is_whole = offsets[i + 1] - offsets[i] <= most;
    text.begin(is_whole && begins[i] != 0);
    for (int64_t at = is_whole ? offsets[i] : offsets[i + 1] - most; at < offsets[i + 1]; ++at) text.add(ids[at], -1);
    for (int64_t at = token_offsets[i]; at < token_offsets[i + 1]; ++at) text.add(tokens[at], at);
    if (stream.size() < kWords) continue;
    stream.run();
    check_stop(stop, i, n);
  }
  stream.run();
}

// A text that is read token by token: the words that matter to the next one, and the weights of backing off from them.
class TableState {
 public:
  explicit TableState(const NgramTable& table) : table_(&table) { begin(false); }

  void begin(bool in_sentence) {
    words_.clear();
    weights_.clear();
    room_ = 0;
    if (in_sentence) enter(kBeginCode);
  }

  // Makes this the text of `from`, which may be this state, and one token more: log10 of its probability, and the length
  // of the n-gram that was found.
  std::pair<double, int32_t> read(const TableState& from, int64_t id) {
    if (this != &from) *this = from;
    if (id == -3) {
      const auto given = table_->penalty == 0.0f ? enter(kBeginCode) : std::make_pair(0.0, int32_t{1});
      begin(true);
      return given;
    }
    const bool ends = id == -2 || id == table_->separator;
    const auto found = enter(ends ? kEndCode : table_->codes.of(id));
    if (ends) begin(id != -2);
    return found;
  }

  // The last word first.
  const std::vector<uint32_t>& words() const { return words_; }

 private:
  std::pair<double, int32_t> enter(uint32_t code) {
    const uint32_t order = table_->order();
    const Entry* const word = &table_->word(code);
    Entry entry = *word;
    uint64_t key = hash_of_word(code);
    uint32_t length = 1, reach = 0;
    std::vector<float> weights{entry.weight.log()};
    float prob = entry.prob.log();
    if (entry.weight.is_context()) reach = 1;
    while (length < order && length <= words_.size() && entry.prob.is_suffix()) {
      key += hash_of_word(words_[length - 1]) * table_->power(length);
      if (!table_->look_up(length + 1, key, &entry)) break;
      prob = entry.prob.log();
      if (++length == order) break;
      weights.push_back(entry.weight.log());
      if (entry.weight.is_context()) reach = length;
    }
    double log = prob;
    for (size_t n = length; n <= std::min<size_t>(room_, order - 1); ++n) {
      log += table_->penalty + (n <= weights_.size() ? weights_[n - 1] : 0.0f);
    }
    words_.insert(words_.begin(), code);
    words_.resize(std::min<size_t>(words_.size(), reach));
    weights.resize(reach);
    weights_ = std::move(weights);
    ++room_;
    return {std::max(log, table_->least), static_cast<int32_t>(length)};
  }

  const NgramTable* table_;
  std::vector<uint32_t> words_;
  std::vector<float> weights_;
  size_t room_ = 0;  // words since the last border
};

}  // namespace lm
}  // namespace ngramdb
