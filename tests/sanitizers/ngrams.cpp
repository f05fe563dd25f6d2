// Randomised checks of n-grams by frequency, and of places in documents, to be run under sanitizers.
#include "corpora.hpp"
#include "ngramdb/corpus/document_keys.hpp"
#include "ngramdb/corpus/top_ngrams.hpp"

namespace ngram_lists {

using namespace ngramdb;

using Counted = std::vector<std::pair<Ids, int64_t>>;

// All n-grams with a count, the most frequent first.
Counted all_ngrams(const std::vector<Documents>& segments, const std::vector<int>& signs, uint32_t n) {
  std::map<Ids, int64_t> counts;
  for (size_t s = 0; s < segments.size(); ++s) {
    for (const Ids& document : segments[s]) {
      for (size_t i = 0; i + n <= document.size(); ++i) {
        counts[Ids(document.begin() + i, document.begin() + i + n)] += signs[s];
      }
    }
  }
  Counted found;
  for (const auto& entry : counts) {
    if (entry.second != 0) found.push_back(entry);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return found;
}

Counted first(const Counted& all, size_t k) {
  return Counted(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(k, all.size())));
}

Counted as_counted(const std::vector<FoundNgram>& found, const std::vector<const Segment*>& segments, uint32_t n) {
  Counted answer;
  for (const FoundNgram& each : found) {
    Exact<int64_t> tokens(n);
    CHECK(segments[each.segment]->tokens_of_row(each.row, n, tokens.data()));
    answer.emplace_back(Ids(tokens.data(), tokens.data() + n), each.count);
  }
  return answer;
}

Counted all_of(NgramBlocks& blocks, const std::vector<const Segment*>& segments, uint32_t n, size_t k) {
  Counted answer;
  for (;;) {
    const Counted block = as_counted(blocks.next(k, nullptr), segments, n);
    if (block.empty()) return answer;
    CHECK(block.size() <= k);
    answer.insert(answer.end(), block.begin(), block.end());
  }
}

// Segments of all widths; the last one is subtracted, and a part of the first.
void check_blocks(Random& random) {
  std::vector<Documents> documents{random_documents<uint8_t>(random), random_documents<uint16_t>(random),
                                   random_documents<uint32_t>(random)};
  documents.emplace_back(documents[0].begin(), documents[0].begin() + random.below(documents[0].size() + 1));
  const Made<uint8_t> a(documents[0]), d(documents[3]);
  const Made<uint16_t> b(documents[1]);
  const Made<uint32_t> c(documents[2]);
  const std::unique_ptr<Segment> owned[] = {a.segment(), b.segment(), c.segment(), d.segment()};
  const std::vector<const Segment*> segments{owned[0].get(), owned[1].get(), owned[2].get(), owned[3].get()};
  const std::vector<int> signs{1, 1, 1, -1};
  const uint32_t n = 1 + static_cast<uint32_t>(random.below(random.chance(3) ? 40 : 5));
  const size_t k = 1 + random.below(20);
  const Counted expected = all_ngrams(documents, signs, n);
  NgramBlocks blocks(segments, signs, std::vector<const uint8_t*>(4), n);
  CHECK(all_of(blocks, segments, n, k) == expected);
  CHECK(blocks.distinct == expected.size());

  // Some documents of the added segments.
  std::vector<Documents> chosen(3);
  std::vector<Exact<uint8_t>> bitmaps;
  for (size_t s = 0; s < 3; ++s) {
    bitmaps.emplace_back((documents[s].size() + 7) / 8);
    for (size_t i = 0; i < bitmaps[s].size(); ++i) bitmaps[s][i] = 0;
    for (size_t i = 0; i < documents[s].size(); ++i) {
      if (!random.chance(2)) continue;
      chosen[s].push_back(documents[s][i]);
      bitmaps[s][i / 8] = static_cast<uint8_t>(bitmaps[s][i / 8] | 1u << (i % 8));
    }
  }
  const std::vector<const Segment*> added(segments.begin(), segments.begin() + 3);
  NgramBlocks some(added, {1, 1, 1}, {bitmaps[0].data(), bitmaps[1].data(), bitmaps[2].data()}, n);
  CHECK(all_of(some, added, n, k) == all_ngrams(chosen, {1, 1, 1}, n));

  // The same from their tokens.
  std::vector<uint32_t> flat;
  std::vector<size_t> ends;
  for (const Documents& part : chosen) {
    for (const Ids& document : part) {
      for (const int64_t id : document) flat.push_back(static_cast<uint32_t>(id));
      ends.push_back(flat.size());
    }
  }
  const Exact<uint32_t> tokens(flat);
  HashedNgrams table(tokens.data(), n);
  size_t start = 0;
  for (const size_t end : ends) {
    table.add(start, end, nullptr);
    start = end;
  }
  Counted hashed;
  for (const HashedNgrams::Entry& entry : table.best(k, nullptr)) {
    const uint32_t* const at = tokens.data() + entry.place - 1;
    hashed.emplace_back(Ids(at, at + n), entry.count);
  }
  CHECK(hashed == first(all_ngrams(chosen, {1, 1, 1}, n), k));
}

void check_frequent(Random& random) {
  std::vector<Documents> documents(2);
  for (Documents& part : documents) {
    part.resize(1 + random.below(3));
    for (Ids& document : part) {
      document.resize(random.below(3000));
      for (int64_t& id : document) id = static_cast<int64_t>(random.below(1 + random.below(20)));
    }
  }
  const Made<uint8_t> a(documents[0]);
  const Made<uint16_t> b(documents[1]);
  const std::unique_ptr<Segment> owned[] = {a.segment(), b.segment()};
  CorpusIndex index;
  for (const auto& segment : owned) index.add(segment.get(), 1);
  const uint32_t n = 1 + static_cast<uint32_t>(random.below(3));
  const size_t k = 1 + random.below(6);
  FrequentNgrams frequent(index, {owned[0].get(), owned[1].get()}, {1, 1}, n);
  CountedNgrams found;
  if (!frequent.find(k, found, nullptr)) return;
  Counted answer;
  for (size_t i = 0; i < found.counts.size(); ++i) {
    answer.emplace_back(Ids(found.tokens.begin() + i * n, found.tokens.begin() + (i + 1) * n), found.counts[i]);
  }
  CHECK(answer == first(all_ngrams(documents, {1, 1}, n), k));
}

template <class Sym>
void check_places(Random& random) {
  const Documents documents = random_documents<Sym>(random);
  const Made<Sym> made(documents);
  const std::unique_ptr<Segment> segment = made.segment();
  const uint32_t n_rows = static_cast<uint32_t>(segment->n_rows());
  Exact<uint32_t> positions(n_rows), numbers(n_rows), before(n_rows);
  Exact<int64_t> tokens(n_rows);
  segment->positions({0, n_rows}, positions.data());
  segment->documents_at(positions.data(), n_rows, numbers.data(), before.data());
  for (const int64_t ahead : {-1, 0, 1}) {
    segment->tokens_at(positions.data(), n_rows, ahead, tokens.data());
    for (uint32_t i = 0; i < n_rows; ++i) {
      const Ids& document = documents[numbers[i]];
      const int64_t at = before[i] + ahead;
      const bool inside = at >= 0 && at < static_cast<int64_t>(document.size());
      CHECK(tokens[i] == (inside ? document[static_cast<size_t>(at)] : kNoToken));
    }
  }
  for (uint32_t i = 0; i < documents.size(); ++i) {
    const uint32_t length = static_cast<uint32_t>(documents[i].size());
    const uint32_t start = static_cast<uint32_t>(random.below(length + 1));
    const uint32_t stop = start + static_cast<uint32_t>(random.below(length - start + 1));
    Exact<uint32_t> part(stop - start);
    segment->document_tokens(i, start, stop, part.data());
    for (uint32_t k = start; k < stop; ++k) CHECK(part[k - start] == static_cast<uint32_t>(documents[i][k]));
  }
}

// Damaged rows and texts: an answer, or CorruptPointer, and nothing else.
template <class Sym>
void check_damage(Random& random) {
  const Documents documents = random_documents<Sym>(random, 20, 120);
  Made<Sym> made(documents);
  for (uint64_t n = random.below(6); n > 0 && made.rows.size() > 0; --n) {
    made.rows[random.below(made.rows.size())] = static_cast<uint32_t>(
        random.chance(2) ? made.text.size() - random.below(12) : random.below(~uint64_t{0}));
    made.text[random.below(made.text.size())] = static_cast<Sym>(random.below(3));
  }
  const std::unique_ptr<Segment> segment = made.segment();
  const Exact<uint8_t> bitmap(documents.size() / 8 + 1);
  const uint32_t n = 1 + static_cast<uint32_t>(random.below(20));
  for (const uint8_t* const chosen : {static_cast<const uint8_t*>(nullptr), bitmap.data()}) {
    try {
      NgramBlocks blocks({segment.get(), segment.get()}, {1, 1}, {chosen, chosen}, n);
      while (!blocks.next(7, nullptr).empty()) {
      }
    } catch (const CorruptPointer& e) {
      CHECK(e.file == "file");
    }
  }
}

// Documents by stored keys; those of records in any order must only be within bounds.
void check_keys(Random& random) {
  Exact<KeyRecord> records(random.below(200));
  const size_t n_documents = random.below(20), n_keys = 1 + random.below(9);
  for (size_t i = 0; i < records.size(); ++i) {
    records[i] = {static_cast<uint32_t>(random.below(3)), static_cast<uint32_t>(random.below(n_keys)),
                  static_cast<uint32_t>(random.below(n_documents + random.chance(50)))};
  }
  const bool is_sorted = !random.chance(3);
  if (is_sorted) {
    std::stable_sort(records.data(), records.data() + records.size(),
                     [](const KeyRecord& a, const KeyRecord& b) { return a.key() < b.key(); });
  }
  Exact<uint32_t> ranks(n_documents);
  for (size_t i = 0; i < n_documents; ++i) ranks[i] = random.chance(3) ? kNoRank : static_cast<uint32_t>(100 + i);
  std::vector<uint64_t> keys;
  for (uint64_t high = 0; high <= n_keys; ++high) {
    for (uint64_t low = 0; low < 4; ++low) {
      if (random.chance(2)) keys.push_back(high << 32 | low);
    }
  }
  const auto most = static_cast<uint32_t>(1 + random.below(5));
  std::vector<uint32_t> which, found, expected_which, expected;
  try {
    KeyRecords(records.data(), records.size(), nullptr)
        .find(keys.data(), keys.size(), ranks.data(), n_documents, most, which, found, nullptr);
  } catch (const std::invalid_argument&) {
    return;
  }
  if (!is_sorted) return;
  for (uint32_t k = 0; k < keys.size(); ++k) {
    uint32_t n = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      if (records[i].key() != keys[k] || n == most) continue;
      CHECK(records[i].document < n_documents);
      if (ranks[records[i].document] == kNoRank) continue;
      expected_which.push_back(k);
      expected.push_back(ranks[records[i].document]);
      ++n;
    }
  }
  CHECK(which == expected_which && found == expected);
}

const Scenario kScenarios[] = {
    {"stored keys", check_keys, 300},
    {"n-grams", check_blocks, 150},
    {"frequent n-grams", check_frequent, 60},
    {"places, u8", check_places<uint8_t>, 60},
    {"places, u16", check_places<uint16_t>, 60},
    {"places, u32", check_places<uint32_t>, 60},
    {"damage, u8", check_damage<uint8_t>, 150},
    {"damage, u16", check_damage<uint16_t>, 150},
    {"damage, u32", check_damage<uint32_t>, 150},
};

}  // namespace ngram_lists

#ifndef TOGETHER
int main(int argc, char** argv) { return run_scenarios(ngram_lists::kScenarios, argc, argv); }
#endif
