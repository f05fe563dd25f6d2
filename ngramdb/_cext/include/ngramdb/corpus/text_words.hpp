// The words of texts whose tokens are pieces of words: those that begin in a token, and all of them.
//
// A text is the bytes of its tokens, one after the other, and its words are those of the `words` tokenizer (words.hpp).
// Which words begin in a token depends on a few characters before it and after them: as many are read, never the whole
// document.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/segment/segment.hpp"
#include "ngramdb/text/words.hpp"

namespace ngramdb {

// The bytes of token i are flat[offsets[i], offsets[i + 1]); a missing token has no bytes.
struct TokenPieces {
  const uint8_t* flat = nullptr;
  const int64_t* offsets = nullptr;
  uint64_t n = 0;

  words::Span of(TokenId id) const {
    if (id < 0 || static_cast<uint64_t>(id) >= n) return {flat, 0};
    return {flat + offsets[id], static_cast<size_t>(offsets[id + 1] - offsets[id])};
  }
};

// One word, or several consecutive ones: the number of tokens that contain them, including the first one, and the number
// of bytes of the first token before them and of the last token after them.
struct WordPlace {
  uint64_t n_tokens;
  int64_t before;
  int64_t after;
};

class WordFinder {
 public:
  // `sets` are sets of words; both outlive the finder.
  WordFinder(const TokenPieces& pieces, const std::vector<words::LayerView>& sets) : pieces_(pieces), sets_(sets) {}

  // Calls sink(place) for every place in a token where words begin that are of the sets first … first + n - 1, one after the
  // other: ascending. `tokens` reads the text there: `before(i)` is the i-th token before it, kNoToken before the document;
  // `ahead(n, out)` reads at most n tokens from it on, fewer at the document's end, and returns their number.
  template <class Tokens, class Sink>
  void find(const Tokens& tokens, uint64_t first, uint64_t n, Sink sink, StopFlag stop) {
    // Nearly always the words end with these tokens, and the character before them is in the token before.
    int64_t n_before = 1;
    uint32_t n_after = 4;
    for (;;) {
      read(tokens, n_before, n_after);
      const size_t from = known_beginning();
      if (from == kUnknown) {
        n_before *= 2;
      } else if (match(from, first, n)) {
        for (const WordPlace& place : found_) sink(place);
        return;
      } else {
        n_after *= 2;
      }
      check_stop(stop);
    }
  }

 private:
  static constexpr size_t kUnknown = ~size_t{0};
  // A word ends by what the two characters after it are.
  static constexpr size_t kAfterWord = 8;

  struct Word {
    size_t begin;
    size_t end;
  };

  template <class Tokens>
  void read(const Tokens& tokens, int64_t n_before, uint32_t n_after) {
    bytes_.clear();
    ends_.clear();
    before_.clear();
    begins_ = false;
    for (int64_t i = 1; i <= n_before && !begins_; ++i) {
      const TokenId id = tokens.before(i);
      begins_ = id == kNoToken;
      if (!begins_) before_.push_back(id);
    }
    for (auto id = before_.rbegin(); id != before_.rend(); ++id) append(*id);
    origin_ = bytes_.size();
    ahead_.resize(n_after);
    const uint32_t n_read = tokens.ahead(n_after, ahead_.data());
    ends_all_ = n_read < n_after;
    for (uint32_t i = 0; i < n_read; ++i) {
      append(ahead_[i]);
      ends_.push_back(bytes_.size());
    }
  }

  void append(TokenId id) {
    const words::Span piece = pieces_.of(id);
    bytes_.insert(bytes_.end(), piece.data, piece.data + piece.size);
  }

  // A place before the first token from which on the text can be cut as from its beginning: the last character there that
  // neither continues the one before it nor joins it to another.
  size_t known_beginning() const {
    const uint8_t* const data = bytes_.data();
    for (size_t at = origin_; at > 0; --at) {
      const uint8_t byte = data[at - 1];
      if ((byte & 0xC0) == 0x80) continue;  // inside a character
      const uint32_t code = byte < 0x80 ? byte : words::decode(data + at - 1, data + bytes_.size()).code;
      const words::CharClass found = words::class_table().of(code);
      if (found != words::CharClass::mark && found != words::CharClass::joiner) return at - 1;
    }
    return begins_ ? 0 : kUnknown;
  }

  // Finds the places; false where more of the text has to be read for that.
  bool match(size_t from, uint64_t first, uint64_t n) {
    found_.clear();
    if (ends_.empty()) return true;
    words_.clear();
    const uint8_t* const data = bytes_.data();
    scanner_.scan({data + from, bytes_.size() - from}, [&](const uint8_t* p, size_t size) {
      const size_t begin = static_cast<size_t>(p - data);
      if (begin >= origin_) words_.push_back({begin, begin + size});
    });
    for (size_t i = 0; i < words_.size() && words_[i].begin < ends_[0]; ++i) {
      uint64_t k = 0;
      for (; k < n; ++k) {
        const bool is_known =
            ends_all_ || (i + k < words_.size() && words_[i + k].end + kAfterWord <= bytes_.size());
        if (!is_known) return false;
        if (i + k == words_.size()) break;
        const Word& word = words_[i + k];
        if (sets_[first + k].find(words::Key({data + word.begin, word.end - word.begin})) < 0) break;
      }
      if (k < n) continue;
      const size_t end = words_[i + n - 1].end;
      const auto last = std::lower_bound(ends_.begin(), ends_.end(), end);
      found_.push_back({static_cast<uint64_t>(last - ends_.begin()) + 1,
                        static_cast<int64_t>(words_[i].begin - origin_), static_cast<int64_t>(*last - end)});
    }
    // The bytes at the end may be a part of a character, and no words.
    return ends_all_ || ends_[0] + kAfterWord <= bytes_.size();
  }

  const TokenPieces& pieces_;
  const std::vector<words::LayerView>& sets_;
  const words::Scanner scanner_;
  std::vector<uint8_t> bytes_;
  std::vector<size_t> ends_;  // of each token from the first one on
  std::vector<TokenId> before_, ahead_;
  std::vector<Word> words_;
  std::vector<WordPlace> found_;
  size_t origin_ = 0;     // the beginning of the first token
  bool begins_ = false;   // true if the bytes begin with the document
  bool ends_all_ = false;  // true if they extend to its end
};

// Reads the tokens around a position of a segment.
struct TokensAt {
  const Segment& segment;
  Position at;

  TokenId before(int64_t i) const {
    const auto n = static_cast<uint64_t>(i);
    TokenId id;
    return at >= n && segment.tokens(at - n, 1, &id) == 1 ? id : kNoToken;
  }
  uint32_t ahead(uint32_t n, TokenId* out) const { return segment.tokens(at, n, out); }
};

// Reads the tokens of an n-gram from one of them on.
struct TokensOfRow {
  const uint32_t* row;
  size_t width;
  size_t at;

  TokenId before(int64_t i) const {
    const auto n = static_cast<size_t>(i);
    return at >= n ? static_cast<TokenId>(row[at - n]) : kNoToken;
  }
  uint32_t ahead(uint32_t n, TokenId* out) const {
    const auto n_left = static_cast<uint32_t>(std::min<size_t>(n, width - at));
    std::copy_n(row + at, n_left, out);
    return n_left;
  }
};

// The distinct words of a segment's texts, each with the sequences of tokens in which it occurs.
class WordForms {
 public:
  // `most` is how many sequences there may be; more throw std::overflow_error.
  WordForms(const TokenPieces& pieces, uint64_t most) : pieces_(pieces), most_(most), last_(pieces.n, ~uint64_t{0}) {}

  // Reads a segment. Time: about 80 ns per token.
  void collect(const Segment& segment, StopFlag stop) {
    const uint64_t n = segment.n_documents();
    for (uint64_t i = 0; i < n; ++i) {
      if (i % kCheckDocuments == 0) check_stop(stop, i, n);
      segment.each_piece(segment.span(static_cast<DocNumber>(i)), [&](Span piece) { collect(segment, piece, stop); });
    }
  }

  words::LayerView texts() const { return texts_.view(); }

  // Each entry is the number of a text, and the token ids, 32 bits each.
  words::LayerView sequences() const { return sequences_.view(); }

 private:
  static constexpr uint64_t kCheckDocuments = 64;
  static constexpr size_t kAfterWord = 8;
  static constexpr uint32_t kTokens = 1 << 12;
  static constexpr size_t kBytes = 1 << 16;

  void collect(const Segment& segment, Span span, StopFlag stop) {
    bytes_.clear();
    ids_.clear();
    ends_.clear();
    Position at = span.start;
    // Text that cannot be cut yet is kept; the amount read is doubled, so that it is not cut repeatedly.
    while (at < span.stop || !bytes_.empty()) {
      check_stop(stop);
      const size_t wanted = std::max(kBytes, 2 * bytes_.size());
      while (at < span.stop && bytes_.size() < wanted) {
        const auto n = static_cast<uint32_t>(std::min<uint64_t>(span.stop - at, kTokens));
        read_.resize(n);
        const uint32_t n_read = segment.tokens(at, n, read_.data());
        for (uint32_t i = 0; i < n_read; ++i) {
          const words::Span piece = pieces_.of(read_[i]);
          bytes_.insert(bytes_.end(), piece.data, piece.data + piece.size);
          ids_.push_back(static_cast<uint32_t>(read_[i]));
          ends_.push_back(bytes_.size());
        }
        at = n_read < n ? span.stop : at + n_read;
      }
      cut(at >= span.stop);
      if (at >= span.stop) break;
    }
  }

  // Takes down the words that end for certain, and drops them.
  void cut(bool is_end) {
    const uint8_t* const data = bytes_.data();
    size_t token = 0, done = 0;
    bool is_open = false;
    scanner_.scan({data, bytes_.size()}, [&](const uint8_t* p, size_t size) {
      const size_t begin = static_cast<size_t>(p - data), end = begin + size;
      is_open = is_open || (!is_end && end + kAfterWord > bytes_.size());
      if (is_open) return;
      while (ends_[token] <= begin) ++token;
      size_t last = token;
      while (ends_[last] < end) ++last;
      add(begin, end, token, last);
      done = end;
    });
    if (is_end) return;
    size_t n_gone = 0;
    while (n_gone < ends_.size() && ends_[n_gone] <= done) ++n_gone;
    // The token in which the last word ends stays, without its bytes before that end.
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(done));
    ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(n_gone));
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(n_gone));
    for (size_t& end : ends_) end -= done;
  }

  // Adds the word bytes_[begin, end), which is in the tokens first … last.
  void add(size_t begin, size_t end, size_t first, size_t last) {
    if (first == last) {
      // Most words are a token's, and were the last time, too. Counted from the end: a token may have lost its beginning.
      const uint64_t place = static_cast<uint64_t>(ends_[first] - begin) << 32 | (ends_[first] - end);
      if (ids_[first] < last_.size() && last_[ids_[first]] == place) return;
      if (ids_[first] < last_.size()) last_[ids_[first]] = place;
    }
    const uint32_t number = number_of(texts_, {bytes_.data() + begin, end - begin});
    entry_.assign(1, number);
    entry_.insert(entry_.end(), ids_.begin() + static_cast<std::ptrdiff_t>(first),
                  ids_.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    number_of(sequences_, {reinterpret_cast<const uint8_t*>(entry_.data()), entry_.size() * sizeof(uint32_t)});
    if (sequences_.n_words() > most_) throw std::overflow_error("too many words");
  }

  static uint32_t number_of(words::GrowingLayer& layer, words::Span word) {
    const words::Key key(word);
    const int64_t known = layer.view().find(key);
    if (known >= 0) return static_cast<uint32_t>(known);
    layer.add(key);
    return static_cast<uint32_t>(layer.n_words() - 1);
  }

  const TokenPieces& pieces_;
  const uint64_t most_;
  const words::Scanner scanner_;
  std::vector<uint64_t> last_;  // of each token the place in it of the word that was found last
  words::GrowingLayer texts_, sequences_;
  std::vector<uint8_t> bytes_;
  std::vector<uint32_t> ids_;
  std::vector<size_t> ends_;
  std::vector<TokenId> read_;
  std::vector<uint32_t> entry_;
};

// Appends the place of every phrase of the sets first … first + n - 1 that begins in one of the tokens at `starts`, and to
// `numbers` which of these that is.
inline void phrases_at(const Segment& segment, const TokenPieces& pieces, const std::vector<words::LayerView>& sets,
                       uint64_t first, uint64_t n, PositionsIn starts, size_t n_starts, std::vector<int64_t>& numbers,
                       std::vector<WordPlace>& places, StopFlag stop) {
  WordFinder finder(pieces, sets);
  for (size_t i = 0; i < n_starts; ++i) {
    if (i % kStopInterval == 0) check_stop(stop, i, n_starts);
    finder.find(
        TokensAt{segment, starts[i]}, first, n,
        [&](const WordPlace& place) {
          numbers.push_back(static_cast<int64_t>(i));
          places.push_back(place);
        },
        stop);
  }
}

}  // namespace ngramdb
