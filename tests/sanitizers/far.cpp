// Randomised checks of far indexes, to be run under sanitizers: against brute force, and damaged ones, alone and behind a
// segment's searches.
#include "corpora.hpp"
#include "ngramdb/segment/far_index.hpp"

namespace far_checks {

using namespace ngramdb;

template <class Sym>
struct MadeFar {
  Exact<LongKey> keys;
  Exact<uint8_t> lcps;
  uint64_t stride;

  MadeFar(Random& random, const Made<Sym>& made) : lcps(made.rows.size()) {
    stride = random.chance(3) ? 1 + random.below(3) : 1 + random.below(80);
    keys = Exact<LongKey>(n_far_keys(made.rows.size(), stride));
    CoreBudget cores(static_cast<int>(random.below(3)));
    build_far_index(made.text.data(), made.text.size(), Rows(made.rows.data(), made.lcp_width), made.rows.size(),
                    stride, keys.data(), lcps.data(), random.chance(2) ? &cores : nullptr, nullptr);
  }

  FarIndex view() const { return {keys.data(), lcps.data(), stride}; }
};

// Long documents that are alike, too: their rows share more bits than a far LCP counts.
template <class Sym>
Documents random_alike(Random& random) {
  Documents documents = random_documents<Sym>(random, 20, 120);
  if (documents.empty() || random.chance(2)) return documents;
  Ids repeated(20 + random.below(60));
  for (int64_t& id : repeated) id = static_cast<int64_t>(random.below(2));
  for (uint64_t n = 1 + random.below(5); n > 0; --n) {
    Ids& document = documents[random.below(documents.size())];
    document.insert(document.end(), repeated.begin(), repeated.end());
  }
  return documents;
}

// Searches for symbols; everything read must be requested first, and be within the rows.
template <class Sym>
FarRows search(const FarIndex& far, uint64_t n_rows, const std::vector<Sym>& symbols) {
  constexpr uint32_t kBits = 8 * sizeof(Sym);
  const Exact<Sym> query(symbols);
  const uint32_t n_bits = kBits * std::min(static_cast<uint32_t>(query.size()), kLongBits / kBits + 1);
  const FarRows found = search_far(far, n_rows, long_key(query.data(), query.size()), n_bits,
                                   [&](uint64_t first, uint64_t n) { CHECK(first <= n_rows && n <= n_rows - first); });
  CHECK(found.lo <= found.hi && found.hi <= n_rows);
  return found;
}

// A piece of the text without separators, perhaps with one symbol changed.
template <class Sym>
std::vector<Sym> random_query(Random& random, const Made<Sym>& made) {
  std::vector<Sym> query;
  const uint64_t longest = 1 + random.below(random.chance(2) ? 5 : 70);
  const uint64_t start = random.below(made.text.size());
  for (uint64_t i = start; i < made.text.size() && made.text[i] != 0 && query.size() < longest; ++i)
    query.push_back(made.text[i]);
  if (query.empty() || random.chance(3)) query.push_back(static_cast<Sym>(1 + random.below(Made<Sym>::kGap)));
  if (random.chance(4)) query[random.below(query.size())] = static_cast<Sym>(1 + random.below(9));
  return query;
}

template <class Sym>
void check_searches(Random& random) {
  const Made<Sym> made(random_alike<Sym>(random));
  const uint64_t n_rows = made.rows.size();
  if (n_rows == 0) return;
  const MadeFar<Sym> far(random, made);
  const Rows rows(made.rows.data(), made.lcp_width);
  for (int round = 0; round < 30; ++round) {
    const std::vector<Sym> query = random_query(random, made);
    const FarRows found = search<Sym>(far.view(), n_rows, query);
    uint64_t n = 0, first = n_rows;
    for (uint64_t row = n_rows; row-- > 0;) {
      const Sym* const at = made.text.data() + rows[row];
      if (query.size() > made.text.size() - rows[row] || !std::equal(query.begin(), query.end(), at)) continue;
      first = row;
      ++n;
    }
    const bool is_exact = n == found.hi - found.lo && (n == 0 || first == found.lo);
    if (found.left == FarRows::kNothing) CHECK(is_exact);
    if (found.left == FarRows::kOne) CHECK(n == 0 || is_exact);
    if (n > 0) CHECK(found.lo <= first && first + n <= found.hi);
  }
}

// Answers of a segment with it: only the first searches use it, so it is reopened after a few.
template <class Sym>
void ask(Random& random, const Made<Sym>& made, const FarIndex& far, const Documents& documents, bool is_damaged) {
  const Oracle oracle{{documents}, {1}};
  const auto survive = [&](auto call) {
    try {
      call();
    } catch (const CorruptPointer& e) {
      CHECK(is_damaged && e.file == "file");
    }
  };
  for (int round = 0; round < 2; ++round) {
    FarIndex seen = far;
    if (round == 1) seen.keys = nullptr;  // as for a local file: far LCPs alone
    const std::unique_ptr<Segment> segment = made.segment(seen);
    const size_t n = 1 + random.below(40);
    std::vector<Exact<int64_t>> ngrams;
    for (size_t i = 0; i < n; ++i) ngrams.emplace_back(random_ngram(random, {documents}, 70));
    std::vector<Request> requests;
    for (const auto& ngram : ngrams) requests.push_back({ngram.data(), static_cast<uint32_t>(ngram.size())});
    const auto compare = [&](size_t i, Range range) {
      CHECK(range.lo <= range.hi && range.hi <= segment->n_rows());
      const Ids ids(ngrams[i].data(), ngrams[i].data() + ngrams[i].size());
      if (!is_damaged) CHECK(static_cast<int64_t>(range.size()) == oracle.count(ids));
      std::vector<uint32_t> numbers;
      survive([&] { segment->documents_of(range, numbers, nullptr); });
    };
    Exact<Range> ranges(n);
    survive([&] {
      segment->find(requests.data(), ranges.data(), n);
      for (size_t i = 0; i < n; ++i) compare(i, ranges[i]);
    });
    for (size_t i = 0; i < n; ++i) {
      if (requests[i].n > kProbeTokens) continue;
      survive([&] {
        Probe probe;
        segment->begin(requests[i], probe);
        while (segment->advance(probe, 2)) {
        }
        compare(i, segment->found(probe));
      });
    }
  }
}

template <class Sym>
void check_segments(Random& random) {
  const Documents documents = random_alike<Sym>(random);
  const Made<Sym> made(documents);
  if (made.rows.size() == 0) return;
  const MadeFar<Sym> far(random, made);
  ask(random, made, far.view(), documents, false);
}

// ---- damage ----------------------------------------------------------------------------------------------

// Changes some values, or all of them.
template <class T, class Change>
void damage(Random& random, Exact<T>& array, Change change) {
  if (array.size() == 0 || random.chance(4)) return;
  const bool all = random.chance(3);
  for (uint64_t n = all ? array.size() : 1 + random.below(4), i = 0; i < n; ++i)
    change(array[all ? i : random.below(array.size())]);
}

template <class Sym>
void check_damage(Random& random) {
  const Documents documents = random_alike<Sym>(random);
  Made<Sym> made(documents);
  const uint64_t n_rows = made.rows.size();
  if (n_rows == 0) return;
  MadeFar<Sym> far(random, made);
  const auto any_word = [&] { return random.pick(std::vector<uint64_t>{0, ~uint64_t{0}, random.below(~uint64_t{0})}); };
  damage(random, far.lcps, [&](uint8_t& lcp) {
    lcp = static_cast<uint8_t>(random.chance(3) ? 255 * random.below(2) : random.below(256));
  });
  damage(random, far.keys, [&](LongKey& key) {
    if (random.chance(2)) {
      key = far.keys[random.below(far.keys.size())];
    } else {
      key.word[random.below(kLongWords)] = any_word();
    }
  });
  for (int round = 0; round < 30; ++round) search<Sym>(far.view(), n_rows, random_query(random, made));
  if (random.chance(2)) {
    damage(random, made.rows, [&](uint32_t& row) {
      row = static_cast<uint32_t>(random.chance(2) ? made.text.size() - random.below(3) : any_word());
    });
  }
  ask(random, made, far.view(), documents, true);
}

const Scenario kScenarios[] = {
    {"searches, u8", check_searches<uint8_t>, 150},   {"searches, u16", check_searches<uint16_t>, 100},
    {"searches, u32", check_searches<uint32_t>, 100}, {"segments, u8", check_segments<uint8_t>, 60},
    {"segments, u16", check_segments<uint16_t>, 40},  {"segments, u32", check_segments<uint32_t>, 40},
    {"damage, u8", check_damage<uint8_t>, 200},       {"damage, u16", check_damage<uint16_t>, 150},
    {"damage, u32", check_damage<uint32_t>, 150},
};

}  // namespace far_checks

#ifndef TOGETHER
int main(int argc, char** argv) { return run_scenarios(far_checks::kScenarios, argc, argv); }
#endif
