// A segment in another program's layout: a text of tokens with separators between documents, and a table of packed
// pointers to all of its suffixes, which are sorted to the end of the *text*, across documents.
//
// infini-gram's files are sorted by the bytes of little-endian tokens, tokengrams' by their numbers. Up to a document's
// end this is an order by `rank`, which is all that queries need. There are two differences from the table in the file:
// - Suffixes that begin with a separator are not rows. They are adjacent: rows after them are numbered as if they were
//   not there.
// - Of documents that end after the same tokens, the text's last one sorts before all that is longer, the others where
//   the separator does. Its rows are moved there: each to the end of the run of those, within the rows that share its
//   tokens. There are as many such moves as the longest n-gram has tokens that ends the text and occurs elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ngramdb/base/byte_order.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/segment/segment.hpp"
#include "ngramdb/segment/table_arrays.hpp"

namespace ngramdb {

template <class Sym, bool kByBytes>
class TableSegment final : public SampledSegment {
 public:
  // Raises std::invalid_argument where sizes, separators and documents contradict each other. Cost: some binary searches;
  // without offsets, a read for every separator.
  TableSegment(const TableArrays& a, std::string name) : a_(a), name_(std::move(name)) {
    text_ = static_cast<const Sym*>(a.text);
    if (a.separator != kNoToken) hide_separators();
    n_rows_ = a_.n_table - hidden_.size();
    if (a.offsets == nullptr) collect_documents();
    n_documents_ = a.offsets == nullptr ? starts_.size() : a.n_documents;
    if (a.separator != kNoToken) move_last_rows();
  }

  uint64_t n_rows() const override { return n_rows_; }
  uint64_t n_documents() const override { return n_documents_; }
  uint64_t n_positions() const override { return a_.n_text + 1; }

  Position position(Row row) const override { return pointer(place_of(row)); }

  // Suffixes that begin with a separator have numbers after those of all rows: the part of them that continues with
  // ids[0, n) (n >= 1).
  Range after_separator(const TokenId* ids, uint32_t n) const {
    std::vector<Sym> query(n);
    if (!encode(ids, n, query.data())) return {};
    const auto order = [&](Row number) {
      const Position at = position(number) + 1;
      const uint32_t whole = static_cast<uint32_t>(std::min<uint64_t>(n, a_.n_text - at));
      const int result = kByBytes ? std::memcmp(text_ + at, query.data(), sizeof(Sym) * whole)
                                  : compare_numbers(text_ + at, query.data(), whole);
      return result != 0 ? result : whole < n ? -1 : 0;
    };
    const Range separators{n_rows_, n_rows_ + hidden_.size()};
    const Row lo = defaults::first_row(separators, [&](Row number) { return order(number) >= 0; });
    return {lo, defaults::first_row({lo, separators.hi}, [&](Row number) { return order(number) > 0; })};
  }
  uint64_t n_separators() const { return hidden_.size(); }

  // The token at any position, kNoToken for a separator or beyond the text; the document there.
  TokenId symbol(Position at) const {
    return at >= a_.n_text || TokenId{text_[at]} == a_.separator ? kNoToken : TokenId{text_[at]};
  }
  DocNumber document_of(Position position) const { return document_at(position); }
  [[noreturn]] void refuse(uint64_t row, uint64_t found) const { throw CorruptPointer{name_, row, found, a_.n_text}; }
  void prefetch_symbol(Position at) const { prefetch_line(text_ + std::min(at, a_.n_text - 1)); }

  uint32_t tokens(Position at, uint32_t n, TokenId* out) const override {
    if (at >= a_.n_text) return 0;
    const uint32_t most = static_cast<uint32_t>(std::min<uint64_t>(n, a_.n_text - at));
    const Sym* const from = text_ + at;
    for (uint32_t i = 0; i < most; ++i) {
      if (TokenId{from[i]} == a_.separator) return i;
      out[i] = from[i];
    }
    return most;
  }

  Span span(DocNumber document) const override {
    const Position start = start_of(document);
    const Position stop = document + uint64_t{1} < n_documents_ ? start_of(document + uint64_t{1}) - 1 : text_stop();
    if (start > stop || stop - start > UINT32_MAX) refuse(document, start);
    return {start, stop};
  }

  bool in_token_order() const override { return !kByBytes && a_.separator == kNoToken; }

  TokenId rank(TokenId id) const override {
    constexpr TokenId kAbove = 2 * (TokenId{1} << 32) + 2;
    if (id == kNoToken) return a_.separator == kNoToken ? -1 : 2 * key_of(static_cast<Sym>(a_.separator)) + 1;
    if (id < 0) return -2;
    return id > kLargest ? kAbove : 2 * key_of(static_cast<Sym>(id));
  }

  void find(const Request* requests, Range* answers, size_t n) const override {
    for (size_t base = 0; base < n; base += kGroup) {
      find_group(requests + base, answers + base, std::min(kGroup, n - base));
    }
  }

  void begin(const Request& request, Probe& probe) const override {
    static_assert(sizeof(Alone) <= sizeof(Probe::state), "the state of a search has room");
    Alone& alone = *new (probe.state) Alone;
    alone.is_known = !encode(request.ids, request.n, alone.query);
    alone.n = request.n;
    if (request.n == 0) alone.answer = all();
    if (request.n == 0) alone.is_known = true;
    if (alone.is_known) return;
    set_bounds(request, alone.query, alone.bounds);
    for (Bound& bound : alone.bounds) fetch_pointer(bound);
  }

  bool advance(Probe& probe, int) const override {
    Alone& alone = *reinterpret_cast<Alone*>(probe.state);
    if (alone.is_known) return false;
    bool is_open = false;
    for (Bound& bound : alone.bounds) {
      if (!bound.is_open()) continue;
      if (alone.is_fetched) {
        step(bound, alone.query, alone.n);
        fetch_pointer(bound);
      } else {
        fetch_text(bound);
      }
      is_open = is_open || bound.is_open();
    }
    alone.is_fetched = !alone.is_fetched;
    if (!is_open) alone.answer = {alone.bounds[0].lo, std::max(alone.bounds[0].lo, alone.bounds[1].lo)};
    return is_open;
  }

  Range found(const Probe& probe) const override { return reinterpret_cast<const Alone*>(probe.state)->answer; }

  void prefetch_row(Row row) const override {
    if (row < n_rows_) prefetch_line(a_.table + row * a_.pointer_bytes);
  }

  void sample(uint64_t stride, uint64_t* keys, StopFlag stop) const override {
    uint64_t n = 0;
    for (Row row = 0; row < n_rows_; row += stride, ++n) {
      if (n % 1024 == 0) check_stop(stop, row, n_rows_);
      keys[n] = table_key(position(row));
    }
  }

  void set_keys(const uint64_t* keys, uint64_t n_keys, uint64_t stride) override {
    a_.keys = keys;
    a_.n_keys = n_keys;
    a_.stride = stride;
  }

 protected:
  DocNumber document_at(Position position) const override {
    uint64_t lo = 0, hi = n_documents_;
    while (lo < hi) {
      const uint64_t middle = lo + (hi - lo) / 2;
      if (start_of(middle) > position) {
        hi = middle;
      } else {
        lo = middle + 1;
      }
    }
    if (lo == 0 || position > span(static_cast<DocNumber>(lo - 1)).stop) refuse(lo, position);
    return static_cast<DocNumber>(lo - 1);
  }

 private:
  static constexpr TokenId kLargest = std::numeric_limits<Sym>::max();
  static constexpr uint32_t kWord = 8 / sizeof(Sym);  // tokens of a key
  static constexpr size_t kGroup = 16;                // searches side by side

  // One end of the rows that a search looks for: rows below it come before the query, or (upper) not after it.
  struct Bound {
    Row lo = 0, hi = 0;
    Position at = 0;  // of the row in the middle
    bool is_upper = false;
    bool is_open() const { return lo < hi; }
    Row middle() const { return lo + (hi - lo) / 2; }
  };

  struct Alone {
    Sym query[kProbeTokens];
    uint32_t n = 0;
    bool is_known = false, is_fetched = false;
    Bound bounds[2];
    Range answer{};
  };

  // The row of the table's `first` place goes to the end of the places before `end`, the others one down.
  struct Move {
    Row first, end;
  };

  // ---- the table ----

  Position pointer(uint64_t place) const {
    const uint64_t from = place * a_.pointer_bytes;
    uint64_t value = 0;
    if (from + 8 <= a_.n_table * a_.pointer_bytes) {
      std::memcpy(&value, a_.table + from, 8);
      value &= ~uint64_t{0} >> (64 - 8 * a_.pointer_bytes);
    } else {
      std::memcpy(&value, a_.table + from, a_.pointer_bytes);
    }
    const uint64_t at = value / a_.unit;
    if (at >= a_.n_text || at * a_.unit != value) refuse(place, at);
    return at;
  }

  uint64_t place_of(Row row) const {
    if (row >= n_rows_) return hidden_.lo + (row - n_rows_);
    for (const std::vector<Move>& level : moves_) {
      const auto after = std::upper_bound(level.begin(), level.end(), row,
                                          [](Row wanted, const Move& move) { return wanted < move.first; });
      if (after == level.begin() || row >= (after - 1)->end) break;
      row = row + 1 == (after - 1)->end ? (after - 1)->first : row + 1;
    }
    return row < hidden_.lo ? row : row + hidden_.size();
  }

  // ---- the order ----

  static TokenId key_of(Sym symbol) {
    if (!kByBytes || sizeof(Sym) == 1) return symbol;
    if (sizeof(Sym) == 2) return __builtin_bswap16(static_cast<uint16_t>(symbol));
    return __builtin_bswap32(static_cast<uint32_t>(symbol));
  }

  // The first tokens from a position on, packed so that keys ascend with the rows: ones from the document's end on;
  // zeros from the text's end on if there is no separator, as if tokens 0 followed it.
  uint64_t table_key(Position at) const {
    uint64_t key = 0;
    bool has_ended = false;
    for (uint32_t i = 0; i < kWord; ++i, ++at) {
      uint64_t part = ~uint64_t{0} >> (64 - 8 * sizeof(Sym));
      if (!has_ended) {
        has_ended = at >= a_.n_text || TokenId{text_[at]} == a_.separator;
        if (at < a_.n_text) part = static_cast<uint64_t>(key_of(text_[at]));
        if (at >= a_.n_text) part = a_.separator == kNoToken ? 0 : static_cast<uint64_t>(key_of(static_cast<Sym>(a_.separator)));
      } else if (a_.separator == kNoToken) {
        part = 0;
      }
      key = key << (8 * sizeof(Sym) - 1) << 1 | part;
    }
    return key;
  }

  // Returns whether the suffix is below the query, begins with it, or is above.
  int compare(Position at, const Sym* query, uint32_t n) const {
    const uint32_t whole = static_cast<uint32_t>(std::min<uint64_t>(n, a_.n_text - at));
    if (kByBytes) {
      const int order = std::memcmp(text_ + at, query, sizeof(Sym) * whole);
      if (order != 0) return order;
    } else {
      for (uint32_t i = 0; i < whole; ++i) {
        if (text_[at + i] != query[i]) return text_[at + i] < query[i] ? -1 : 1;
      }
    }
    return whole == n ? 0 : rank(kNoToken) < rank(query[whole]) ? -1 : 1;
  }

  // ---- searching ----

  // False if no document contains one of the tokens.
  bool encode(const TokenId* ids, uint32_t n, Sym* query) const {
    for (uint32_t i = 0; i < n; ++i) {
      if (ids[i] < 0 || ids[i] > kLargest || ids[i] == a_.separator) return false;
      query[i] = static_cast<Sym>(ids[i]);
    }
    return true;
  }

  void set_bounds(const Request& request, const Sym* query, Bound* bounds) const {
    Range rows = request.narrow ? request.within : all();
    bounds[0] = {rows.lo, rows.hi, 0, false};
    bounds[1] = {rows.lo, rows.hi, 0, true};
    if (a_.keys == nullptr || rows.size() <= a_.stride) return;
    uint64_t low = 0, high = 0;
    for (uint32_t i = 0; i < kWord; ++i) {
      const uint64_t part = i < request.n ? static_cast<uint64_t>(key_of(query[i])) : 0;
      low = low << (8 * sizeof(Sym) - 1) << 1 | part;
      high = high << (8 * sizeof(Sym) - 1) << 1 |
             (i < request.n ? part : ~uint64_t{0} >> (64 - 8 * sizeof(Sym)));
    }
    const uint64_t* const end = a_.keys + a_.n_keys;
    const uint64_t n_below = static_cast<uint64_t>(std::lower_bound(a_.keys, end, low) - a_.keys);
    const uint64_t n_upto = static_cast<uint64_t>(std::upper_bound(a_.keys + n_below, end, high) - a_.keys);
    // Sampled row n_below - 1 is below the query, sampled row n_upto above it.
    const Row first = n_below == 0 ? 0 : (n_below - 1) * a_.stride + 1, last = std::min(n_upto * a_.stride, n_rows_);
    for (Bound* bound = bounds; bound < bounds + 2; ++bound) {
      bound->lo = std::max(bound->lo, first);
      bound->hi = std::max(bound->lo, std::min(bound->hi, last));
    }
    if (request.n > kWord || n_below == n_upto) return;
    // The sampled rows between begin with the query, except some whose text ends within the zeros that the query ends
    // in: these come first.
    const bool may_end = a_.separator == kNoToken && a_.keys[n_below] == low;
    if (!may_end) bounds[0].hi = std::max(bounds[0].lo, std::min(bounds[0].hi, n_below * a_.stride));
    bounds[1].lo = std::min(bounds[1].hi, std::max(bounds[1].lo, (n_upto - 1) * a_.stride + 1));
  }

  void fetch_pointer(const Bound& bound) const {
    if (bound.is_open()) prefetch_line(a_.table + bound.middle() * a_.pointer_bytes);
  }
  void fetch_text(Bound& bound) const {
    bound.at = position(bound.middle());
    prefetch_line(text_ + bound.at);
  }
  void step(Bound& bound, const Sym* query, uint32_t n) const {
    const int order = compare(bound.at, query, n);
    if (order < 0 || (bound.is_upper && order == 0)) {
      bound.lo = bound.middle() + 1;
    } else {
      bound.hi = bound.middle();
    }
  }

  void find_group(const Request* requests, Range* answers, size_t n) const {
    size_t n_symbols = 0;
    for (size_t i = 0; i < n; ++i) n_symbols += requests[i].n;
    constexpr size_t kRoom = 512;
    Sym room[kRoom];
    std::vector<Sym> more(n_symbols > kRoom ? n_symbols : 0);
    Sym* next = n_symbols > kRoom ? more.data() : room;
    const Sym* queries[kGroup];
    Bound bounds[2 * kGroup];
    size_t active[2 * kGroup], n_active = 0;
    for (size_t i = 0; i < n; ++i) {
      const Request& request = requests[i];
      queries[i] = next;
      bounds[2 * i] = bounds[2 * i + 1] = Bound{};
      if (request.n == 0 || !encode(request.ids, request.n, next)) continue;
      set_bounds(request, next, bounds + 2 * i);
      next += request.n;
      for (size_t k = 2 * i; k < 2 * i + 2; ++k) {
        fetch_pointer(bounds[k]);
        if (bounds[k].is_open()) active[n_active++] = k;
      }
    }
    while (n_active > 0) {
      for (size_t k = 0; k < n_active; ++k) fetch_text(bounds[active[k]]);
      size_t n_left = 0;
      for (size_t k = 0; k < n_active; ++k) {
        Bound& bound = bounds[active[k]];
        step(bound, queries[active[k] / 2], requests[active[k] / 2].n);
        fetch_pointer(bound);
        if (bound.is_open()) active[n_left++] = active[k];
      }
      n_active = n_left;
    }
    for (size_t i = 0; i < n; ++i) {
      answers[i] = {bounds[2 * i].lo, std::max(bounds[2 * i].lo, bounds[2 * i + 1].lo)};
      if (requests[i].n == 0) answers[i] = all();
    }
  }

  // ---- documents ----

  Position start_of(uint64_t document) const {
    if (a_.offsets == nullptr) return starts_[document];
    const uint64_t offset = a_.offsets[document], at = offset / a_.unit;
    if (at >= a_.n_text || at * a_.unit != offset) refuse(document, at);
    return at + 1;
  }

  bool ends_with_separator() const {
    return a_.n_text > 0 && TokenId{text_[a_.n_text - 1]} == a_.separator;
  }
  Position text_stop() const { return a_.n_text - (a_.offsets == nullptr && ends_with_separator()); }

  // Collects documents that end with a separator, or the last one with the text.
  void collect_documents() {
    Position start = 0;
    std::vector<Position> separators;
    for (uint64_t place = hidden_.lo; place < hidden_.hi; ++place) separators.push_back(pointer(place));
    std::sort(separators.begin(), separators.end());
    for (const Position at : separators) {
      starts_.push_back(start);
      start = at + 1;
    }
    if (start < a_.n_text) starts_.push_back(start);
  }

  // The places of the table whose suffixes begin with a separator.
  void hide_separators() {
    const TokenId wanted = key_of(static_cast<Sym>(a_.separator));
    const auto first = [&](TokenId bound) {
      uint64_t lo = 0, hi = a_.n_table;
      while (lo < hi) {
        const uint64_t middle = lo + (hi - lo) / 2;
        if (key_of(text_[pointer(middle)]) < bound) {
          lo = middle + 1;
        } else {
          hi = middle;
        }
      }
      return lo;
    };
    hidden_ = {first(wanted), first(wanted + 1)};
    if (a_.offsets != nullptr && hidden_.size() != a_.n_documents) {
      throw std::invalid_argument("its table has " + std::to_string(hidden_.size()) + " separators, and its offsets " +
                                  std::to_string(a_.n_documents) +
                                  " documents: a file of another index, or a separator's id inside a document");
    }
  }

  // For the text's last 1, 2, … tokens, as long as they occur elsewhere, too. Rows are those of the table meanwhile.
  void move_last_rows() {
    const Position stop = a_.n_text;
    std::vector<Move> moves;
    for (Position at = stop; at-- > 0 && TokenId{text_[at]} != a_.separator;) {
      const uint32_t n = static_cast<uint32_t>(stop - at);
      const Sym* const query = text_ + at;
      // In the table, the text's end is below everything.
      const auto bound = [&](auto is_behind) { return defaults::first_row({0, n_rows_}, is_behind); };
      const auto order = [&](Row row) {
        const Position found = position(row);
        const uint32_t whole = static_cast<uint32_t>(std::min<uint64_t>(n, stop - found));
        const int result = kByBytes ? std::memcmp(text_ + found, query, sizeof(Sym) * whole)
                                    : compare_numbers(text_ + found, query, whole);
        return result != 0 ? result : whole < n ? -1 : 0;
      };
      const Row lo = bound([&](Row row) { return order(row) >= 0; });
      const Row hi = bound([&](Row row) { return order(row) > 0; });
      if (hi - lo < 2) break;
      const TokenId end_key = key_of(static_cast<Sym>(a_.separator));
      // The first row is the text's end; after it, rows ascend by what follows.
      const Row end = defaults::first_row({lo + 1, hi}, [&](Row row) {
        const Position next = position(row) + n;
        return next < stop && key_of(text_[next]) > end_key;
      });
      if (end > lo + 1) moves.push_back({lo, end});
    }
    arrange(moves);
  }

  void arrange(std::vector<Move>& moves) {
    std::sort(moves.begin(), moves.end(),
              [](const Move& x, const Move& y) { return x.first != y.first ? x.first < y.first : x.end > y.end; });
    std::vector<Row> open;  // ends of those that the next one may lie within
    for (const Move& move : moves) {
      while (!open.empty() && open.back() <= move.first) open.pop_back();
      if (open.size() == moves_.size()) moves_.emplace_back();
      moves_[open.size()].push_back(move);
      open.push_back(move.end);
    }
  }

  static int compare_numbers(const Sym* x, const Sym* y, uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) {
      if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    }
    return 0;
  }

  TableArrays a_;
  const std::string name_;
  const Sym* text_ = nullptr;
  uint64_t n_rows_ = 0, n_documents_ = 0;
  Range hidden_{};              // places in the table
  // For rows, as numbered without the hidden ones: those of a level ascend, and are within those of the level before.
  std::vector<std::vector<Move>> moves_;
  std::vector<Position> starts_;  // of documents, if offsets do not give them
};

}  // namespace ngramdb
