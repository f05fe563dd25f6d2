// Reads an ARPA file into an NgramTable, in one pass, piece by piece.
//
// As in KenLM, an n-gram whose suffix is missing (SRILM prunes such) gets that suffix, with the probability that backing off
// gives it, so that searches from the last word on find it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/lm/ngram_table.hpp"

namespace ngramdb {
namespace lm {

// Words and their codes.
class WordCodes {
 public:
  size_t size() const { return ends_.size(); }
  std::string word(size_t i) const {
    const size_t start = i == 0 ? 0 : ends_[i - 1];
    return bytes_.substr(start, ends_[i] - start);
  }
  void reserve(size_t n) { ends_.reserve(n), grow(n); }

  // The number of a word, and whether it is new.
  std::pair<uint32_t, bool> insert(const char* word, size_t n) {
    if (2 * (ends_.size() + 1) > slots_.size()) grow(ends_.size() + 1);
    const uint32_t number = static_cast<uint32_t>(ends_.size());
    Slot& slot = slots_[place(word, n)];
    if (slot.number != kFree) return {slot.number, false};
    slot = Slot{hash(word, n), number};
    bytes_.append(word, n);
    ends_.push_back(bytes_.size());
    return {number, true};
  }
  // The number of a word, or size() if it is missing.
  uint32_t find(const char* word, size_t n) const {
    if (slots_.empty()) return 0;
    const Slot& slot = slots_[place(word, n)];
    return slot.number == kFree ? static_cast<uint32_t>(ends_.size()) : slot.number;
  }

 private:
  static constexpr uint32_t kFree = std::numeric_limits<uint32_t>::max();
  struct Slot {
    uint64_t hash = 0;
    uint32_t number = kFree;
  };

  static uint64_t hash(const char* word, size_t n) {
    uint64_t h = n * 0x9ddfea08eb382d69;
    for (; n > 0; ) {
      uint64_t part = 0;
      const size_t taken = n < 8 ? n : 8;
      std::memcpy(&part, word, taken);
      h = (h ^ part) * 0x9e3779b97f4a7c15;
      h ^= h >> 29;
      word += taken, n -= taken;
    }
    return h ^ (h >> 32);
  }

  size_t place(const char* word, size_t n) const {
    const uint64_t h = hash(word, n);
    for (size_t at = h & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.number == kFree) return at;
      const size_t start = slot.number == 0 ? 0 : ends_[slot.number - 1];
      if (slot.hash == h && ends_[slot.number] - start == n && std::memcmp(bytes_.data() + start, word, n) == 0) return at;
    }
  }

  void grow(size_t n) {
    size_t size = 64;
    while (size < 3 * n) size *= 2;
    if (size <= slots_.size()) return;
    std::vector<Slot> before(size);
    before.swap(slots_);
    for (const Slot& slot : before) {
      size_t at = slot.hash & (size - 1);
      if (slot.number == kFree) continue;
      while (slots_[at].number != kFree) at = (at + 1) & (size - 1);
      slots_[at] = slot;
    }
  }

  std::string bytes_;
  std::vector<size_t> ends_;
  std::vector<Slot> slots_;
};

class ArpaReader {
 public:
  // most: n-grams that the file can have, by its size. A damaged file may announce anything.
  explicit ArpaReader(uint64_t most) : most_(most) {}

  // Reads bytes of the file, in order. Throws std::invalid_argument if they are no such file; `line` is then the place.
  void feed(const char* bytes, size_t n, StopFlag stop) {
    const char *at = bytes, *const end = bytes + n;
    size_t n_lines = 0;
    while (at < end) {
      const char* const newline = static_cast<const char*>(std::memchr(at, '\n', static_cast<size_t>(end - at)));
      if (newline == nullptr) break;
      if (rest_.empty()) {
        read_line(at, newline);
      } else {
        rest_.append(at, newline);
        read_line(rest_.data(), rest_.data() + rest_.size());
        rest_.clear();
      }
      at = newline + 1;
      if (++n_lines % 4096 == 0) check_stop(stop);
    }
    rest_.append(at, end);
    if (rest_.size() > kLongestLine) fail("a line of more than a million bytes; this is not an ARPA file", line_ + 1);
  }

  void finish() {
    if (!rest_.empty()) {
      const std::string last = std::move(rest_);
      rest_.clear();
      read_line(last.data(), last.data() + last.size());
    }
    if (section_ == kBefore) fail("the file has no line \\data\\; this is not an ARPA file", line_);
    if (section_ != kAfter) fail("the file ends before \\end\\; it is truncated", line_);
  }

  uint64_t line() const { return line_of_error_; }
  const std::vector<uint64_t>& counts() const { return counts_; }
  const WordCodes& words() const { return words_; }
  NgramTable* take_table() { return table_.release(); }

 private:
  static constexpr size_t kLongestLine = 1 << 20, kPending = 64;
  enum Section { kBefore, kCounts, kNgrams, kAfter };

  struct Span {
    const char *start, *stop;
    size_t size() const { return static_cast<size_t>(stop - start); }
    bool is(const char* text) const { return size() == std::strlen(text) && std::memcmp(start, text, size()) == 0; }
    std::string text() const { return std::string(start, stop > start + 60 ? start + 60 : stop); }
  };

  [[noreturn]] void fail(const std::string& message, uint64_t line) {
    line_of_error_ = line;
    throw std::invalid_argument(message);
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  void read_line(const char* start, const char* stop) {
    ++line_;
    while (start < stop && is_blank(*start)) ++start;
    while (start < stop && is_blank(stop[-1])) --stop;
    if (start == stop) return;
    const Span line{start, stop};
    switch (section_) {
      case kBefore:
        if (line.is("\\data\\")) section_ = kCounts;
        break;  // comments may come before
      case kCounts: *start == '\\' ? begin_section(line) : read_count(line); break;
      case kNgrams: *start == '\\' ? begin_section(line) : read_ngram(line); break;  // an n-gram begins with a number
      case kAfter: fail("text after \\end\\: '" + line.text() + "'", line_);
    }
  }

  // "ngram 2=1234", with blanks anywhere.
  void read_count(const Span& line) {
    const char* at = line.start;
    uint64_t n = 0, count = 0;
    const bool is_read = skip(at, line.stop, "ngram") && read_whole(at, line.stop, &n) && skip(at, line.stop, "=") &&
                         read_whole(at, line.stop, &count) && at == line.stop;
    if (!is_read) fail("expected 'ngram N=count', found '" + line.text() + "'", line_);
    if (n != counts_.size() + 1) fail("expected the number of " + std::to_string(counts_.size() + 1) + "-grams", line_);
    if (n > kMostOrder) fail("more than " + std::to_string(kMostOrder) + " lengths of n-grams", line_);
    counts_.push_back(count);
  }

  static bool skip(const char*& at, const char* stop, const char* text) {
    while (at < stop && is_blank(*at)) ++at;
    const size_t n = std::strlen(text);
    if (static_cast<size_t>(stop - at) < n || std::memcmp(at, text, n) != 0) return false;
    at += n;
    return true;
  }

  static bool read_whole(const char*& at, const char* stop, uint64_t* value) {
    while (at < stop && is_blank(*at)) ++at;
    const char* const start = at;
    for (*value = 0; at < stop && *at >= '0' && *at <= '9' && at - start < 15; ++at) {
      *value = 10 * *value + static_cast<uint64_t>(*at - '0');
    }
    return at > start;
  }

  // "\2-grams:" or "\end\".
  void begin_section(const Span& line) {
    if (counts_.empty()) fail("expected 'ngram 1=count', found '" + line.text() + "'", line_);
    flush();
    const uint64_t wanted = n_ == 0 ? 0 : counts_[n_ - 1];
    if (n_ > 0 && n_read_ != wanted) {
      fail("the file has " + std::to_string(n_read_) + " " + std::to_string(n_) + "-grams, but announces " +
               std::to_string(wanted),
           line_);
    }
    if (n_ == counts_.size()) {
      if (!line.is("\\end\\")) fail("expected \\end\\, found '" + line.text() + "'", line_);
      section_ = kAfter;
      return;
    }
    const std::string header = "\\" + std::to_string(n_ + 1) + "-grams:";
    if (!line.is(header.c_str())) fail("expected " + header + ", found '" + line.text() + "'", line_);
    section_ = kNgrams;
    ++n_;
    n_read_ = 0;
    if (n_ == 1) {
      table_.reset(new NgramTable(static_cast<uint32_t>(counts_.size())));
      table_->resize(0);
      table_->word(kUnknownCode) = Entry{Probability(-100.0f, false), Weight()};  // of files without <unk>, as in KenLM
    } else {
      table_->reserve(n_, static_cast<size_t>(std::min(counts_[n_ - 1], most_)));
    }
  }

  bool read_word(const char*& at, const char* stop, Span* word) const {
    while (at < stop && is_blank(*at)) ++at;
    word->start = at;
    while (at < stop && !is_blank(*at)) ++at;
    word->stop = at;
    return word->size() > 0;
  }

  void read_ngram(const Span& line) {
    if (++n_read_ > counts_[n_ - 1]) {
      fail("more than the " + std::to_string(counts_[n_ - 1]) + " " + std::to_string(n_) + "-grams that the file announces",
           line_);
    }
    const char* at = line.start;
    Span word;
    read_word(at, line.stop, &word);
    Pending one;
    one.line = line_;
    one.prob = number_of(word);
    if (one.prob > 0.0f) fail("the logarithm of a probability is above 0: " + word.text(), line_);
    uint32_t* const codes = codes_.data() + n_pending_ * counts_.size();
    for (size_t k = 0; k < n_; ++k) {
      if (!read_word(at, line.stop, &word)) {
        fail("expected " + std::to_string(n_) + " words after the probability, found " + std::to_string(k), line_);
      }
      codes[k] = n_ == 1 ? new_code(word) : code_of(word);
    }
    one.weight = read_word(at, line.stop, &word) ? number_of(word) : 0.0f;
    if (read_word(at, line.stop, &word)) fail("expected the end of the line, found '" + word.text() + "'", line_);
    if (n_ == 1) {
      if (codes[0] == kBeginCode) one.prob = 0.0f;  // given, whatever the file says
      table_->word(codes[0]) = Entry{Probability(one.prob, false), Weight(one.weight, false)};
      return;
    }
    pending_[n_pending_++] = one;
    if (n_pending_ == kPending) flush();
  }

  // One of the three special words, or -1.
  static int special(const Span& word) {
    if (word.is("<unk>") || word.is("<UNK>")) return kUnknownCode;
    return word.is("<s>") ? int{kBeginCode} : word.is("</s>") ? int{kEndCode} : -1;
  }

  uint32_t new_code(const Span& word) {
    const int code = special(word);
    const auto found = code < 0 ? words_.insert(word.start, word.size()) : std::make_pair(0u, !has_special_[code]);
    if (!found.second) fail("the word '" + word.text() + "' is listed twice", line_);
    if (code >= 0) {
      has_special_[code] = true;
      return static_cast<uint32_t>(code);
    }
    if (table_->n_words() <= kFirstWord + found.first) table_->resize(kFirstWord + found.first + 1);
    return kFirstWord + found.first;
  }

  uint32_t code_of(const Span& word) {
    if (word.size() > 0 && *word.start == '<') {
      const int code = special(word);
      if (code >= 0 && has_special_[code]) return static_cast<uint32_t>(code);
    }
    const uint32_t number = words_.find(word.start, word.size());
    if (number >= words_.size()) fail("the word '" + word.text() + "' is not among the 1-grams", line_);
    return kFirstWord + number;
  }

  // A logarithm. -inf becomes the lowest number.
  float number_of(const Span& word) {
    const char* at = word.start;
    const bool is_negative = at < word.stop && *at == '-';
    if (at < word.stop && (*at == '-' || *at == '+')) ++at;
    const std::string rest(at, word.stop > at + 8 ? at + 8 : word.stop);
    if (is_negative && (rest == "inf" || rest == "Infinity")) return -std::numeric_limits<float>::max();
    uint64_t digits = 0;
    int exponent = 0, n_digits = 0;
    bool has_point = false;
    for (; at < word.stop; ++at) {
      if (*at == '.' && !has_point) {
        has_point = true;
      } else if (*at >= '0' && *at <= '9') {
        ++n_digits;
        if (digits < 100000000000000000u) {
          digits = 10 * digits + static_cast<uint64_t>(*at - '0');
          exponent -= has_point;
        } else {
          exponent += !has_point;
        }
      } else {
        break;
      }
    }
    if (at < word.stop && n_digits > 0 && (*at == 'e' || *at == 'E')) {
      ++at;
      const bool is_small = at < word.stop && *at == '-';
      if (at < word.stop && (*at == '-' || *at == '+')) ++at;
      uint64_t power = 0;
      if (!read_whole(at, word.stop, &power)) n_digits = 0;
      power = std::min<uint64_t>(power, 400);
      exponent += is_small ? -static_cast<int>(power) : static_cast<int>(power);
    }
    if (n_digits == 0 || at != word.stop) fail("expected a number, found '" + word.text() + "'", line_);
    static constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11};
    const double magnitude = static_cast<double>(digits);
    const double value = exponent <= 0 && exponent > -12 ? magnitude / kPowers[-exponent] : magnitude * std::pow(10.0, exponent);
    if (value > static_cast<double>(std::numeric_limits<float>::max())) fail("a number is too large: " + word.text(), line_);
    return static_cast<float>(is_negative ? -value : value);
  }

  struct Pending {
    float prob, weight;
    uint64_t line, key, prefix, suffix;
  };

  // Inserts the n-grams that were read since the last time.
  void flush() {
    const uint32_t n = n_;
    const size_t width = counts_.size();
    for (size_t i = 0; i < n_pending_; ++i) {
      Pending& one = pending_[i];
      const uint32_t* const codes = codes_.data() + i * width;
      one.key = 0;
      for (uint32_t k = 0; k < n; ++k) one.prefix = one.key, one.key = one.key * kBase + hash_of_word(codes[k]);
      one.suffix = one.key - hash_of_word(codes[0]) * table_->power(n - 1);
      table_->prefetch(n, one.key);
      if (n == 2) continue;
      table_->prefetch(n - 1, one.prefix);
      table_->prefetch(n - 1, one.suffix);
    }
    for (size_t i = 0; i < n_pending_; ++i) insert(pending_[i], codes_.data() + i * width);
    n_pending_ = 0;
  }

  void insert(const Pending& one, const uint32_t* codes) {
    const uint32_t n = n_;
    Entry* const context = table_->find(n - 1, one.prefix, codes[0]);
    if (context == nullptr) fail("the first " + std::to_string(n - 1) + " words are not among the " + std::to_string(n - 1) +
                                     "-grams",
                                 one.line);
    context->weight.set_context();
    mark_suffix(codes + 1, n - 1, one.suffix);
    if (!table_->insert(n, one.key, Entry{Probability(one.prob, false), Weight(one.weight, false)})) {
      fail("the n-gram is listed twice", one.line);
    }
  }

  // Notes that a longer n-gram ends with this one, which is added if it is missing.
  void mark_suffix(const uint32_t* codes, uint32_t n, uint64_t key) {
    Entry* const found = table_->find(n, key, codes[0]);
    if (found != nullptr) return found->prob.set_suffix();
    const uint64_t suffix = key - hash_of_word(codes[0]) * table_->power(n - 1);
    mark_suffix(codes + 1, n - 1, suffix);
    const float shorter = table_->find(n - 1, suffix, codes[1])->prob.log();
    uint64_t prefix = 0;
    for (uint32_t k = 0; k + 1 < n; ++k) prefix = prefix * kBase + hash_of_word(codes[k]);
    Entry* const context = table_->find(n - 1, prefix, codes[0]);
    float weight = 0.0f;
    if (context != nullptr) weight = context->weight.log(), context->weight.set_context();
    table_->insert(n, key, Entry{Probability(std::min(0.0f, shorter + weight), true), Weight()});
  }

  const uint64_t most_;
  Section section_ = kBefore;
  std::string rest_;
  uint64_t line_ = 0, line_of_error_ = 0, n_read_ = 0;
  uint32_t n_ = 0;
  std::vector<uint64_t> counts_;
  WordCodes words_;
  bool has_special_[kFirstWord] = {};
  std::unique_ptr<NgramTable> table_;
  size_t n_pending_ = 0;
  Pending pending_[kPending];
  std::vector<uint32_t> codes_ = std::vector<uint32_t>(kPending * kMostOrder);
};

}  // namespace lm
}  // namespace ngramdb
