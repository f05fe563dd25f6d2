// Default answers of a segment, for kinds that know no faster way: by the primitives alone.
//
// Plain rather than fast, since these functions define what the overriding ones must answer. Those that only search for
// equal neighbours among rows do not depend on the order of rows; `find` and `narrow` use `rank`.
#include "ngramdb/segment/segment.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "ngramdb/base/stoppable_sort.hpp"

namespace ngramdb {

namespace defaults {

// Returns whether the suffix at a position is below the n ids (negative), begins with them (0) or is above them.
int compare(const Segment& segment, Position at, const TokenId* ids, uint32_t n) {
  constexpr uint32_t kPiece = 32;
  TokenId found[kPiece];
  for (uint32_t i = 0; i < n;) {
    const uint32_t wanted = std::min(kPiece, n - i), n_found = segment.tokens(at + i, wanted, found);
    for (uint32_t k = 0; k < n_found; ++k) {
      if (found[k] != ids[i + k]) return segment.rank(found[k]) < segment.rank(ids[i + k]) ? -1 : 1;
    }
    if (n_found < wanted) return segment.rank(kNoToken) < segment.rank(ids[i + n_found]) ? -1 : 1;
    i += n_found;
  }
  return 0;
}

}  // namespace defaults

// ---- searching --------------------------------------------------------------------------------------------

void Segment::find(const Request* requests, Range* answers, size_t n) const {
  for (size_t i = 0; i < n; ++i) {
    const Request& request = requests[i];
    if (request.n == 0) {
      answers[i] = all();
      continue;
    }
    const Range rows = request.narrow ? request.within : all();
    const auto order = [&](Row row) { return defaults::compare(*this, position(row), request.ids, request.n); };
    const Row lo = defaults::first_row(rows, [&](Row row) { return order(row) >= 0; });
    answers[i] = {lo, defaults::first_row({lo, rows.hi}, [&](Row row) { return order(row) > 0; })};
  }
}

void Segment::begin(const Request& request, Probe& probe) const {
  Range answer;
  find(&request, &answer, 1);
  std::memcpy(probe.state, &answer, sizeof(answer));
}

bool Segment::advance(Probe&, int) const { return false; }

Range Segment::found(const Probe& probe) const {
  Range answer;
  std::memcpy(&answer, probe.state, sizeof(answer));
  return answer;
}

Range Segment::narrow(Range rows, uint32_t depth, TokenId next) const {
  const auto rank_of = [&](Row row) { return rank(defaults::token_at(*this, position(row) + depth)); };
  const TokenId wanted = rank(next);
  const Row lo = defaults::first_row(rows, [&](Row row) { return rank_of(row) >= wanted; });
  return {lo, defaults::first_row({lo, rows.hi}, [&](Row row) { return rank_of(row) > wanted; })};
}

// ---- following and preceding tokens -----------------------------------------------------------------------

void Segment::children(Range rows, uint32_t depth, std::vector<Child>& out, StopFlag stop) const {
  const auto next_of = [&](Row row) { return defaults::token_at(*this, position(row) + depth); };
  while (rows.lo < rows.hi) {
    check_stop(stop);
    const TokenId id = next_of(rows.lo);
    uint64_t step = 1;
    while (step < rows.size() && next_of(rows.lo + step) == id) step *= 2;
    const Row end = defaults::first_row({rows.lo + step / 2 + 1, std::min(rows.lo + step, rows.hi)},
                                        [&](Row row) { return next_of(row) != id; });
    out.push_back({id, {rows.lo, end}});
    rows.lo = end;
  }
}

uint64_t Segment::successors(Range rows, uint32_t depth, std::vector<Run>& runs, StopFlag stop) const {
  const std::ptrdiff_t n_before = static_cast<std::ptrdiff_t>(runs.size());
  std::vector<Child> found;
  children(rows, depth, found, stop);
  uint64_t n_ends = 0;
  for (const Child& child : found) {
    if (child.id == kNoToken) {
      n_ends += child.rows.size();
    } else {
      runs.push_back({child.id, static_cast<int64_t>(child.rows.size())});
    }
  }
  std::sort(runs.begin() + n_before, runs.end(), [](const Run& a, const Run& b) { return a.id < b.id; });
  return n_ends;
}

TokenId Segment::only_continuation(Range rows, uint32_t depth) const {
  if (rows.size() == 0) return kNoToken;
  const TokenId first = defaults::token_at(*this, position(rows.lo) + depth);
  return defaults::token_at(*this, position(rows.hi - 1) + depth) == first ? first : kManyTokens;
}

Code Segment::code_at(Position position) const {
  return static_cast<Code>(defaults::token_at(*this, position) + 1);
}

void Segment::neighbours(Range rows, uint32_t depth, Code* lefts, Code* nexts) const {
  for (Row row = rows.lo; row < rows.hi; ++row) {
    const Position at = position(row);
    *lefts++ = at == 0 ? kBorder : code_at(at - 1);
    *nexts++ = code_at(at + depth);
  }
}

uint32_t Segment::prefix(Row row, uint32_t n, Code last, Code* out, Code* left) const {
  const Position at = position(row);
  *left = at == 0 ? kBorder : code_at(at - 1);
  for (uint32_t i = 0; i < n; ++i) {
    out[i] = code_at(at + i);
    if (out[i] == kBorder || out[i] == last) return i + 1;
  }
  return n;
}

void Segment::outlines(Range rows, uint32_t n, Code last, Outline* out) const {
  std::vector<Code> symbols(n), before(n);
  Code left;
  uint32_t n_before = rows.lo == 0 ? 0 : prefix(rows.lo - 1, n, last, before.data(), &left);
  for (Row row = rows.lo; row < rows.hi; ++row) {
    const uint32_t length = prefix(row, n, last, symbols.data(), &left);
    const uint32_t most = std::min(length, n_before);
    const auto differ = std::mismatch(symbols.begin(), symbols.begin() + most, before.begin()).first;
    const Code end = symbols[length - 1];
    *out++ = {length, static_cast<uint32_t>(differ - symbols.begin()), left, end == kBorder || end == last};
    symbols.swap(before);
    n_before = length;
  }
}

// ---- rows as n-grams --------------------------------------------------------------------------------------

Row Segment::ngram_runs(Row from, uint32_t n, Range* out, size_t room, size_t* n_found, StopFlag stop) const {
  const Row end = n_rows();
  *n_found = 0;
  if (n > end) return end;
  std::vector<TokenId> current(n), next(n);
  bool is_open = false;  // rows from `first` on begin with `current`
  Row first = from;
  for (Row row = from; row < end; ++row) {
    if ((row - from) % kStopInterval == kStopInterval - 1) check_stop(stop);
    const bool is_whole = tokens_of_row(row, n, next.data());
    if (is_open && is_whole && next == current) continue;
    if (is_open) out[(*n_found)++] = {first, row};
    if (*n_found == room) return row;
    is_open = is_whole;
    first = row;
    current.swap(next);
  }
  if (is_open) out[(*n_found)++] = {first, end};
  return end;
}

bool Segment::tokens_of_row(Row row, uint32_t n, TokenId* out) const {
  return tokens(position(row), n, out) == n;
}

// ---- places -----------------------------------------------------------------------------------------------

void Segment::positions(Range rows, PositionsOut out) const {
  for (Row row = rows.lo; row < rows.hi; ++row) out.set(row - rows.lo, position(row));
}

DocNumber Segment::document_at(Position position) const {
  if (position >= n_positions()) throw CorruptPointer{"a segment", position, position, n_positions()};
  const Row behind = defaults::first_row({0, n_documents()}, [&](Row document) {
    return span(static_cast<DocNumber>(document)).start > position;
  });
  return static_cast<DocNumber>(behind - 1);
}

void Segment::documents_at(PositionsIn positions, size_t n, DocNumber* documents, uint32_t* before) const {
  for (size_t i = 0; i < n; ++i) {
    documents[i] = document_at(positions[i]);
    const Position start = span(documents[i]).start;
    before[i] = static_cast<uint32_t>(positions[i] - start - breaks().within({start, positions[i]}));
  }
}

void Segment::tokens_at(PositionsIn positions, size_t n, int64_t ahead, TokenId* out) const {
  for (size_t i = 0; i < n; ++i) {
    // A place before the text wraps around to one after it.
    const Position at = positions[i] + static_cast<uint64_t>(ahead);
    out[i] = at < n_positions() ? defaults::token_at(*this, at) : kNoToken;
  }
}

void Segment::scan_windows(PositionsIn starts, PositionsIn stops, size_t n_windows, const TokenId* ids,
                                  uint32_t n, std::vector<Position>& out, StopFlag stop) const {
  if (n == 0) return;
  for (size_t i = 0; i < n_windows; ++i) {
    const Position end = std::min<Position>(stops[i], n_positions());
    for (Position at = starts[i]; at < end; ++at) {
      if ((at - starts[i]) % kStopInterval == 0) check_stop(stop, i, n_windows);
      if (defaults::compare(*this, at, ids, n) == 0) out.push_back(at);
    }
  }
}

// ---- documents --------------------------------------------------------------------------------------------

void Segment::documents_of(Range rows, std::vector<DocNumber>& out, StopFlag stop) const {
  std::vector<uint32_t> counts;
  count_documents(rows, out, counts, stop);
}

void Segment::first_documents(Range rows, size_t most, std::vector<DocNumber>& out, StopFlag stop) const {
  std::vector<DocNumber> found;
  documents_of(rows, found, stop);
  out.insert(out.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(std::min(most, found.size())));
}

bool Segment::documents_among(Range rows, const DocNumber* documents, size_t n_documents,
                                     std::vector<DocNumber>& out, StopFlag stop) const {
  std::vector<DocNumber> found;
  documents_of(rows, found, stop);
  std::set_intersection(found.begin(), found.end(), documents, documents + n_documents, std::back_inserter(out));
  return true;
}

void Segment::filter_documents(const DocNumber* documents, size_t n_documents, const TokenId* ids, uint32_t n,
                                      std::vector<DocNumber>& out, StopFlag stop) const {
  std::vector<Position> found;
  for (size_t i = 0; i < n_documents; ++i) {
    check_stop(stop, i, n_documents);
    const Span text = span(documents[i]);
    found.clear();
    scan_windows(&text.start, &text.stop, 1, ids, n, found, stop);
    if (n == 0 || !found.empty()) out.push_back(documents[i]);
  }
}

void Segment::count_documents(Range rows, std::vector<DocNumber>& documents, std::vector<uint32_t>& counts,
                                     StopFlag stop) const {
  std::vector<DocNumber> found;
  for (Row row = rows.lo; row < rows.hi; ++row) {
    if ((row - rows.lo) % kStopInterval == 0) check_stop(stop, row - rows.lo, rows.size());
    found.push_back(document_at(position(row)));
  }
  sort_stoppably(found.begin(), found.end(), stop);
  for (size_t i = 0; i < found.size();) {
    size_t end = i + 1;
    while (end < found.size() && found[end] == found[i]) ++end;
    documents.push_back(found[i]);
    counts.push_back(static_cast<uint32_t>(end - i));
    i = end;
  }
}

uint64_t Segment::count_rows_in(Range rows, const uint8_t* documents) const {
  uint64_t count = 0;
  for (Row row = rows.lo; row < rows.hi; ++row) {
    const DocNumber document = document_at(position(row));
    count += (documents[document / 8] >> (document % 8)) & 1u;
  }
  return count;
}

void Segment::document_bounds(const DocNumber* documents, size_t n, PositionsOut starts,
                                     PositionsOut stops) const {
  for (size_t i = 0; i < n; ++i) {
    const Span text = span(documents[i]);
    starts.set(i, text.start);
    stops.set(i, text.stop);
  }
}

uint32_t Segment::document_length(DocNumber document) const {
  const Span text = span(document);
  return static_cast<uint32_t>(text.stop - text.start - breaks().within(text));
}

void Segment::document_tokens(DocNumber document, uint32_t start, uint32_t stop, uint32_t* out) const {
  constexpr uint32_t kPiece = 256;
  TokenId some[kPiece];
  each_piece(span(document), [&](Span piece) {
    const auto length = static_cast<uint32_t>(piece.stop - piece.start);
    uint32_t at = std::min(start, length);
    const uint32_t end = std::min(stop, length);
    start -= at;
    stop -= end;
    while (at < end) {
      const uint32_t n = tokens(piece.start + at, std::min(kPiece, end - at), some);
      if (n == 0) throw CorruptPointer{"a segment", document, piece.start + at, n_positions()};
      for (uint32_t i = 0; i < n; ++i) *out++ = static_cast<uint32_t>(some[i]);
      at += n;
    }
  });
}

}  // namespace ngramdb
