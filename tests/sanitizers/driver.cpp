// Randomised checks of the kernels against brute force, to be run under sanitizers. Sorting has a program of its own.
#include <algorithm>
#include <cstring>
#include <set>
#include <thread>
#include <tuple>

#include "corpora.hpp"
#include "ngramdb/base/mismatch.hpp"
#include "ngramdb/corpus/conditions.hpp"
#include "ngramdb/corpus/docsets.hpp"
#include "ngramdb/sort/pair_sort.hpp"
#include "ngramdb/text/words.hpp"

namespace questions {

using namespace ngramdb;

// ---- instruction sets ------------------------------------------------------------------------------------

void check_mismatch(Random& random) {
  const size_t n = random.below(150);
  Exact<uint8_t> a(n), b(n);
  for (size_t i = 0; i < n; ++i) a[i] = b[i] = static_cast<uint8_t>(random.below(256));
  if (n > 0 && random.chance(2)) b[random.below(n)] ^= static_cast<uint8_t>(1u << random.below(8));
  const size_t expected = static_cast<size_t>(std::mismatch(a.data(), a.data() + n, b.data()).first - a.data());
  CHECK(mismatch(a.data(), b.data(), n) == expected);
  CHECK(mismatch_words(a.data(), b.data(), n) == expected);
  CHECK(mismatch_wide(a.data(), b.data(), n) == expected);
}

void check_tree_search(Random& random) {
  const uint64_t sizes[] = {1, 63, 64, 65, 511, 513, 4095, 4097, 64 * 65, 40000};
  const uint64_t n_rows = sizes[random.below(10)];
  std::vector<uint64_t> keys(n_samples_of(n_rows));
  const uint64_t range = random.chance(2) ? 5 : ~uint64_t{0};
  for (uint64_t& key : keys) key = random.chance(5) ? ~random.below(2) : random.below(range);
  std::sort(keys.begin(), keys.end());
  Exact<uint64_t> words(tree_words(n_rows)), rest(keys.size());
  size_t at = 0;
  for (std::vector<uint64_t> level = keys;;) {
    std::vector<uint64_t> above;
    for (size_t i = 0; i < padded_level(level.size()); ++i) {
      words[at++] = i < level.size() ? level[i] : ~uint64_t{0};
      if (i % kFanOut == 0 && i < level.size()) above.push_back(level[i]);
    }
    if (level.size() <= kFanOut) break;
    level.swap(above);
  }
  CHECK(at == words.size());
  KeyTree tree;
  tree.attach(words.data(), rest.data(), n_rows);
  VerifyNothing verify{random.chance(2)};
  std::vector<SearchTree<VerifyNothing>> variants{search_tree_plain<VerifyNothing>, search_tree<VerifyNothing>};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt"))
    variants.push_back(search_tree_avx2<VerifyNothing>);
#endif
  const uint32_t n = 1 + static_cast<uint32_t>(random.below(32));
  std::vector<uint64_t> low(n), high(n), below(n), upto(n);
  for (uint32_t i = 0; i < n; ++i) {
    low[i] = random.chance(2) ? random.pick(keys) : random.below(~uint64_t{0});
    high[i] = random.chance(3) ? ~uint64_t{0} : std::max(low[i], random.pick(keys));
  }
  for (const SearchTree<VerifyNothing> search : variants) {
    // All the way, or down to a level first and then from there.
    const uint32_t level = static_cast<uint32_t>(random.below(tree.top + 1));
    search(tree, tree.top, level, low.data(), high.data(), n, below.data(), upto.data(), verify);
    if (level > 0) search(tree, level - 1, 0, low.data(), high.data(), n, below.data(), upto.data(), verify);
    for (uint32_t i = 0; i < n; ++i) {
      CHECK(below[i] == static_cast<uint64_t>(std::lower_bound(keys.begin(), keys.end(), low[i]) - keys.begin()));
      CHECK(upto[i] == static_cast<uint64_t>(std::upper_bound(keys.begin(), keys.end(), high[i]) - keys.begin()));
    }
  }
}

// Pairs are sorted as std::stable_sort does it, whatever sorts a few of them; here or there.
void check_pair_sort(Random& random) {
  const size_t n = random.below(random.chance(4) ? 6000 : 200);
  std::vector<std::pair<uint64_t, uint32_t>> expected(n);
  const uint64_t range = random.chance(2) ? 1 + random.below(40) : ~uint64_t{0};
  const uint32_t shift = static_cast<uint32_t>(random.below(60));
  for (uint32_t i = 0; i < n; ++i) expected[i] = {random.below(range) << shift, i};
  Exact<uint64_t> keys(n + kKeysReadBehind), other_keys(n + kKeysReadBehind);
  Exact<uint32_t> positions(n), other_positions(n);
  const Pairs from{keys.data(), positions.data()}, to{other_keys.data(), other_positions.data()};
  std::vector<SortFew> variants{{insertion_sort, 32}, sort_few};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) variants.push_back({sort_few_avx2, 32});
#endif
  const std::vector<std::pair<uint64_t, uint32_t>> given = expected;
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const SortFew& few : variants) {
    for (const bool back : {false, true}) {
      for (size_t i = 0; i < n; ++i) std::tie(keys[i], positions[i]) = given[i];
      sort_pairs(from, to, n, back, few);
      const Pairs& found = back ? from : to;
      for (size_t i = 0; i < n; ++i)
        CHECK(std::tie(found.keys[i], found.positions[i]) == std::tie(expected[i].first, expected[i].second));
    }
  }
}

// A long key's first n bits, followed by zeros.
LongKey first_bits(const LongKey& key, uint32_t n) {
  LongKey cut{};
  for (uint32_t bit = 0; bit < n; ++bit) cut.word[bit / 64] |= uint64_t{key.has_bit(bit)} << (63 - bit % 64);
  return cut;
}

// Keys of two words, whose LCPs are in rows, and of four, whose LCPs are beside them.
struct InRows {
  using AnyKey = Key;
  static constexpr uint32_t kBits = 128;
  static AnyKey random_key(Random& random) { return {random.below(~uint64_t{0}), random.below(~uint64_t{0})}; }
  static uint64_t& word(AnyKey& key, uint32_t k) { return k == 0 ? key.first : key.rest; }
  static BlindSearch<Key> search(const RowKernels& kernels) { return kernels.blind_search; }
};
struct Beside {
  using AnyKey = LongKey;
  static constexpr uint32_t kBits = kLongBits;
  static AnyKey random_key(Random& random) {
    const auto word = [&] { return random.below(~uint64_t{0}); };
    return {{word(), word(), word(), word()}};
  }
  static uint64_t& word(AnyKey& key, uint32_t k) { return key.word[k]; }
  static BlindSearch<LongKey> search(const RowKernels& kernels) { return kernels.blind_search_beside; }
};

// Blind search finds the rows whose keys begin with a query's first bits, if there are any; every variant alike.
template <class Of>
void check_blind_search(Random& random) {
  using AnyKey = typename Of::AnyKey;
  constexpr bool is_beside = Of::kBits > 128;
  const uint32_t lcp_width = is_beside ? 0 : 5 + static_cast<uint32_t>(random.below(3));
  const uint32_t n = static_cast<uint32_t>(random.below(kPieceRows));
  std::vector<AnyKey> keys(n + 1);  // the first one is the row before the piece
  const uint64_t shape = random.below(3);
  for (AnyKey& key : keys) {
    key = Of::random_key(random);
    if (shape > 0) Of::word(key, 0) &= 0x0100000000000003u * (1 + random.below(shape * 40));
    for (uint32_t k = 1; shape == 2 && k < Of::kBits / 64; ++k)
      Of::word(key, k) = random.below(k + 1 == Of::kBits / 64 ? 9 : 2);
  }
  const auto less = [](AnyKey a, AnyKey b) {
    for (uint32_t k = 0; k < Of::kBits / 64; ++k) {
      if (Of::word(a, k) != Of::word(b, k)) return Of::word(a, k) < Of::word(b, k);
    }
    return false;
  };
  std::sort(keys.begin(), keys.end(), less);
  Exact<uint32_t> words(n), lcps(n);
  Exact<uint8_t> bytes(n);
  const Rows rows(words.data(), lcp_width, is_beside ? bytes.data() : nullptr);
  const uint32_t most = n == 0 && is_beside ? kMostLcpBeside : rows.most_lcp();
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t common = common_bits(keys[i], keys[i + 1]);
    lcps[i] = std::min(common, most);
    bytes[i] = static_cast<uint8_t>(std::min(common, kMostFarLcp));
    words[i] = static_cast<uint32_t>(random.below(uint64_t{1} << (32 - lcp_width)));
    if (!is_beside) words[i] |= lcps[i] << (32 - lcp_width);
    CHECK(rows.lcp(i) == lcps[i]);
  }
  std::vector<RowKernels> variants{{lcps_below_plain, lcps_below_plain, blind_search_plain<Key>, blind_search_plain<LongKey>},
                                   row_kernels};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt")) {
    variants.push_back({lcps_below_avx2, lcps_below_beside_avx2, blind_search_avx2<Key>, blind_search_avx2<LongKey>});
  }
#endif
  if (n == 0) return;
  for (int round = 0; round < 8; ++round) {
    const uint32_t bits = 1 + static_cast<uint32_t>(random.below(most));
    const AnyKey query = first_bits(random.chance(4) ? Of::random_key(random) : random.pick(keys), bits);
    const auto matches = [&](const AnyKey& key) { return common_bits(first_bits(key, bits), query) == Of::kBits; };
    uint32_t first = 0, last = 0;
    for (uint32_t i = 0; i <= n; ++i) {
      if (!matches(keys[i])) continue;
      if (first == last) first = last = i;
      last = i + 1;
    }
    for (const RowKernels& kernels : variants) {
      const bool is_below = less(keys[0], query) && !matches(keys[0]) && random.chance(2);
      const uint32_t common = common_bits(keys[0], query);
      const uint32_t known = is_below && common < std::min(bits, 64u) ? common : kUnknown;
      const BlindEnd end = Of::search(kernels)(rows, 0, n, query, bits, known);
      if (first < last) CHECK(end.first + 1 == first && end.last + 1 == last);  // kBefore + 1 is 0
      CHECK(end.last <= n && (end.first == BlindEnd::kBefore || end.first < n));
      uint64_t below = 0;
      for (uint32_t i = 0; i < n; ++i) below |= uint64_t{lcps[i] < bits} << i;
      CHECK((is_beside ? kernels.lcps_below_beside : kernels.lcps_below)(rows, 0, n, bits) == below);
    }
  }
}

// ---- questions to one segment ----------------------------------------------------------------------------

template <class Sym>
void check_documents(Random& random) {
  const Documents documents = random_documents<Sym>(random);
  const Made<Sym> made(documents);
  const std::unique_ptr<Segment> segment = made.segment();
  std::vector<uint32_t> all(documents.size());
  for (uint32_t i = 0; i < documents.size(); ++i) {
    all[i] = i;
    CHECK(segment->document_length(i) == documents[i].size());
    Exact<uint32_t> ids(documents[i].size());
    segment->document_tokens(i, 0, static_cast<uint32_t>(ids.size()), ids.data());
    CHECK(std::equal(documents[i].begin(), documents[i].end(), ids.data(),
                     [](int64_t a, uint32_t b) { return static_cast<uint32_t>(a) == b; }));
  }
  for (int round = 0; round < 12; ++round) {
    const Exact<int64_t> ngram(random_ngram(random, {documents}, 30));
    const uint32_t n = static_cast<uint32_t>(ngram.size());
    const Request request{ngram.data(), n};
    Range range;
    segment->find(&request, &range, 1);
    std::vector<uint32_t> expected, places, found, kept;
    for (uint32_t d = 0; d < documents.size(); ++d) {
      bool here = n == 0;
      for (uint32_t i = 0; i < documents[d].size(); ++i) {
        if (!Oracle::stands_at(documents[d], i, Ids(ngram.data(), ngram.data() + n))) continue;
        here = true;
        places.push_back(made.starts[d] + i);
      }
      if (here) expected.push_back(d);
    }
    CHECK(range.size() == places.size());
    Exact<uint32_t> positions(range.size());
    segment->positions(range, positions.data());
    CHECK(std::is_permutation(places.begin(), places.end(), positions.data()));
    segment->filter_documents(all.data(), all.size(), ngram.data(), n, kept, nullptr);
    CHECK(kept == expected);
    if (n == 0) continue;
    segment->documents_of(range, found, nullptr);
    CHECK(found == expected);
    for (size_t most = 0; most < 4; ++most) {
      std::vector<uint32_t> first;
      segment->first_documents(range, most, first, nullptr);
      CHECK(first == std::vector<uint32_t>(expected.begin(), expected.begin() + std::min(most, expected.size())));
    }
  }
}

// ---- questions to several segments -----------------------------------------------------------------------

// Segments of all widths; the last one may subtract documents of the others.
struct Corpus {
  Oracle oracle;
  std::vector<Made<uint8_t>> bytes;
  std::vector<Made<uint16_t>> shorts;
  std::vector<Made<uint32_t>> longs;
  std::vector<std::unique_ptr<Segment>> segments;
  CorpusIndex index;

  explicit Corpus(Random& random) {
    Documents everything;
    for (uint64_t n = random.below(4); n > 0; --n) {
      const uint64_t width = random.below(3);
      Documents documents = width == 0   ? random_documents<uint8_t>(random)
                            : width == 1 ? random_documents<uint16_t>(random)
                                         : random_documents<uint32_t>(random);
      for (const Ids& document : documents) everything.push_back(document);
      add(documents, 1);
    }
    Documents removed;
    for (const Ids& document : everything) {
      if (random.chance(3)) removed.push_back(document);
    }
    if (random.chance(2)) add(removed, -1);
    if (oracle.segments.empty()) add({}, 1);
    for (size_t s = 0; s < segments.size(); ++s) index.add(segments[s].get(), oracle.signs[s]);
  }

  void add(const Documents& documents, int sign) {
    int64_t largest = 0;
    for (const Ids& document : documents) {
      for (int64_t id : document) largest = std::max(largest, id);
    }
    if (largest < 255) {
      segments.push_back(bytes.emplace_back(documents).segment());
    } else if (largest < 65535) {
      segments.push_back(shorts.emplace_back(documents).segment());
    } else {
      segments.push_back(longs.emplace_back(documents).segment());
    }
    oracle.segments.push_back(documents);
    oracle.signs.push_back(sign);
  }
};

// n-grams as the batch functions take them, in arrays of exact size.
struct Batch {
  std::vector<Ids> ngrams;
  Exact<int64_t> ids, offsets;

  Batch(Random& random, const std::vector<Documents>& segments, size_t n, uint64_t longest) {
    std::vector<int64_t> flat, ends{0};
    for (size_t i = 0; i < n; ++i) {
      ngrams.push_back(random_ngram(random, segments, longest));
      flat.insert(flat.end(), ngrams.back().begin(), ngrams.back().end());
      ends.push_back(static_cast<int64_t>(flat.size()));
    }
    ids = Exact<int64_t>(flat);
    offsets = Exact<int64_t>(ends);
  }
};

void check_counts(Random& random) {
  const Corpus corpus(random);
  const Batch few(random, corpus.oracle.segments, 40, 30);
  Exact<int64_t> counts(few.ngrams.size());
  corpus.index.count_many(few.ids.data(), few.offsets.data(), counts.size(), counts.data());
  for (size_t i = 0; i < counts.size(); ++i) {
    const Exact<int64_t> ngram(few.ngrams[i]);
    CHECK(counts[i] == corpus.oracle.count(few.ngrams[i]));
    CHECK(counts[i] == corpus.index.count(ngram.data(), static_cast<uint32_t>(ngram.size())));
  }
  const Batch many(random, corpus.oracle.segments, 1024 + random.below(40), 6);
  Exact<int64_t> sorted(many.ngrams.size());
  corpus.index.count_many(many.ids.data(), many.offsets.data(), sorted.size(), sorted.data());
  for (size_t i = 0; i < sorted.size(); ++i) {
    CHECK(sorted[i] ==
          corpus.index.count(many.ids.data() + many.offsets[i], static_cast<uint32_t>(many.ngrams[i].size())));
  }
}

void check_estimates(Random& random) {
  const Corpus corpus(random);
  const uint32_t order = static_cast<uint32_t>(random.below(5));
  const bool longest = random.chance(2);
  const size_t n = random.pick(std::vector<size_t>{1, 31, 32, 33});
  const Batch contexts(random, corpus.oracle.segments, n, 30);
  Exact<int64_t> tokens(n);
  for (size_t i = 0; i < n; ++i) tokens[i] = static_cast<int64_t>(random.below(9)) - 1;
  Exact<Estimate> answers(n);
  corpus.index.estimate(contexts.ids.data(), contexts.offsets.data(), tokens.data(), n, longest, order, answers.data());
  for (size_t i = 0; i < n; ++i) {
    CHECK(equal(answers[i], corpus.oracle.estimate(contexts.ngrams[i], tokens[i], longest, order)));
  }
  std::vector<Run> runs;
  Exact<DistributionEnd> ends(n);
  corpus.index.distributions(contexts.ids.data(), contexts.offsets.data(), n, longest, order, runs, ends.data(),
                             nullptr);
  CHECK(ends[n - 1].n_runs == runs.size());
  for (size_t i = 0; i < n; i += 8) {
    const Exact<int64_t> context(contexts.ngrams[i]);
    const Distribution found = corpus.index.distribution(context.data(), static_cast<uint32_t>(context.size()), longest,
                                                         order, INT64_MAX, nullptr);
    const Ids used = corpus.oracle.usable(contexts.ngrams[i], longest, order);
    std::map<int64_t, int64_t> expected = corpus.oracle.next(used), given;
    for (const Run& run : found.runs) given[run.id] = run.count;
    const auto precedes = [](const Run& a, const Run& b) { return a.id < b.id; };
    CHECK(std::is_sorted(found.runs.begin(), found.runs.end(), precedes) && given.size() == found.runs.size());
    CHECK(found.context_length == used.size() && found.context_count == corpus.oracle.count(used));
    CHECK(found.n_ends == expected[-1]);
    expected.erase(-1);
    CHECK(given == expected);
    const Run* const own = runs.data() + (i == 0 ? 0 : ends[i - 1].n_runs);
    const Run* const own_end = runs.data() + ends[i].n_runs;
    const auto is_same = [](const Run& a, const Run& b) { return a.id == b.id && a.count == b.count; };
    CHECK(std::equal(found.runs.begin(), found.runs.end(), own, own_end, is_same));
    CHECK(ends[i].n_ends == found.n_ends && ends[i].context_count == found.context_count &&
          ends[i].context_length == found.context_length);
  }
}

void check_scores(Random& random) {
  const Corpus corpus(random);
  const uint32_t order = static_cast<uint32_t>(random.below(5));
  const bool longest = random.chance(2);
  Ids document;
  const size_t n = random.pick(std::vector<size_t>{1, 5, 47, 48, 60, 800});
  while (document.size() < n) {
    const Ids piece = random_ngram(random, corpus.oracle.segments, 40);
    document.insert(document.end(), piece.begin(), piece.end());
    document.push_back(static_cast<int64_t>(random.below(4)));
  }
  document.resize(n);
  const Exact<int64_t> ids(document);
  Exact<Estimate> answers(n);
  corpus.index.score(ids.data(), n, longest, order, answers.data());
  for (size_t i = n > 100 ? n - 20 : 0; i < n; ++i) {
    const Ids context(document.begin(), document.begin() + i);
    CHECK(equal(answers[i], corpus.oracle.estimate(context, document[i], longest, order)));
  }
}

// ---- damage ----------------------------------------------------------------------------------------------

template <class T>
void damage(Random& random, Exact<T>& array) {
  if (array.size() == 0 || random.chance(2)) return;
  for (uint64_t n = random.chance(3) ? array.size() : 1 + random.below(4); n > 0; --n) {
    T& value = array[random.below(array.size())];
    const T choices[] = {0, static_cast<T>(~T{0}), static_cast<T>(array.size()),
                         static_cast<T>(value ^ T{1} << random.below(8)), static_cast<T>(random.below(~uint64_t{0}))};
    value = choices[random.below(5)];
  }
}

template <class Call>
void survive(Call call) {
  try {
    call();
  } catch (const CorruptPointer& e) {
    CHECK(e.file == "file");
  }
}

template <class Sym>
void ask_everything(Random& random, const Segment& segment, const std::vector<Documents>& documents) {
  const uint32_t n_rows = static_cast<uint32_t>(segment.n_rows());
  const Range all{0, n_rows};
  Exact<uint32_t> positions(n_rows);
  std::vector<uint32_t> found, numbers(segment.n_documents());
  survive([&] { segment.positions(all, positions.data()); });
  survive([&] { segment.documents_of(all, found, nullptr); });
  survive([&] { segment.first_documents(all, 2, found, nullptr); });
  for (uint32_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = i;
    survive([&] {
      Exact<uint32_t> ids(segment.document_length(i));
      segment.document_tokens(i, 0, static_cast<uint32_t>(ids.size()), ids.data());
    });
  }
  CorpusIndex index;
  index.add(&segment, 1);
  index.add(&segment, -1);
  index.add(&segment, 1);
  const Batch batch(random, documents, 33, 40);
  Exact<int64_t> counts(33);
  Exact<Estimate> estimates(std::max<size_t>(33, batch.ids.size()));
  const bool longest = random.chance(2);
  survive([&] { index.count_many(batch.ids.data(), batch.offsets.data(), 33, counts.data()); });
  survive(
      [&] { index.estimate(batch.ids.data(), batch.offsets.data(), counts.data(), 33, longest, 0, estimates.data()); });
  survive([&] { index.score(batch.ids.data(), batch.ids.size(), longest, 0, estimates.data()); });
  for (size_t i = 0; i < 33; ++i) {
    const int64_t* const ids = batch.ids.data() + batch.offsets[i];
    const uint32_t n = static_cast<uint32_t>(batch.ngrams[i].size());
    const Request request{ids, n};
    Range range;
    survive([&] { index.count(ids, n); });
    survive([&] { index.distribution(ids, n, longest, 0, INT64_MAX, nullptr); });
    survive([&] {
      const int64_t offsets[] = {0, n / 2, n};
      std::vector<Run> runs;
      DistributionEnd ends[2];
      index.distributions(ids, offsets, 2, longest, 0, runs, ends, nullptr);
    });
    survive([&] {
      segment.find(&request, &range, 1);
      CHECK(range.lo <= range.hi && range.hi <= n_rows);
      segment.documents_of(range, found, nullptr);
    });
    found.clear();
    survive([&] { segment.documents_among(range, numbers.data(), numbers.size() / 3, found, nullptr); });
    survive([&] {
      // An n-gram and another one, or not a third one.
      const int32_t code[] = {kOr, 2, kAndOrdered, 2, kGram, kGram, kNot, kGram};
      const Request grams[] = {request, {ids, n / 2}, {ids + n / 2, n - n / 2}};
      documents_where(segment, code, 8, grams, 3, {1.0, random.chance(2) ? 1.0 : 0.01, 0.25, 8}, nullptr, nullptr);
    });
    survive([&] { segment.filter_documents(numbers.data(), numbers.size(), ids, n, found, nullptr); });
  }
}

template <class Sym>
void check_damage(Random& random) {
  const Documents documents = random_documents<Sym>(random, 20, 120);
  Made<Sym> made(documents);
  damage(random, made.text);
  damage(random, made.rows);
  damage(random, made.tree);
  damage(random, made.rest);
  const uint32_t last = made.starts[made.starts.size() - 1];
  damage(random, made.starts);
  // The checks when a segment is opened.
  made.starts[0] = 0;
  made.starts[made.starts.size() - 1] = last;
  ask_everything<Sym>(random, *made.segment(), {documents});
}

// ---- sets of documents -----------------------------------------------------------------------------------

void check_docsets(Random& random) {
  std::set<uint32_t> a, b;
  for (uint64_t n = random.below(50), range = 1 + random.below(200); n > 0; --n)
    a.insert(static_cast<uint32_t>(random.below(range)));
  for (uint64_t n = random.below(500), range = 1 + random.below(900); n > 0; --n)
    b.insert(static_cast<uint32_t>(random.below(range)));
  const Exact<uint32_t> x(std::vector<uint32_t>(a.begin(), a.end())), y(std::vector<uint32_t>(b.begin(), b.end()));
  std::vector<uint32_t> both, less, either;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(less));
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(either));
  Exact<uint32_t> out(x.size()), wide(x.size() + y.size());
  size_t n = select_common(x.data(), x.size(), y.data(), y.size(), true, out.data());
  CHECK(std::vector<uint32_t>(out.data(), out.data() + n) == both);
  n = select_common(x.data(), x.size(), y.data(), y.size(), false, out.data());
  CHECK(std::vector<uint32_t>(out.data(), out.data() + n) == less);
  n = unite_sorted(x.data(), x.size(), y.data(), y.size(), wide.data());
  CHECK(std::vector<uint32_t>(wide.data(), wide.data() + n) == either);
}

// ---- words -----------------------------------------------------------------------------------------------

// Words of several alphabets, punctuation, joiners and marks, and bytes that are not UTF-8.
std::string random_text(Random& random) {
  static const std::vector<std::string> pieces{"a",
                                               "token",
                                               "wörter",
                                               "слово",
                                               "中文",
                                               "ひ",
                                               " ",
                                               "\n",
                                               ", ",
                                               "_x1",
                                               "e\xCC\x81",
                                               "\xE2\x80\x8D",
                                               "\xF0\x9F\x98\x80",
                                               "longer_than_eight_bytes",
                                               "\xFF",
                                               "\xE2\x80",
                                               "\xC3",
                                               "\xF0\x9F",
                                               std::string(1, '\0')};
  std::string text;
  for (uint64_t n = random.below(40); n > 0; --n) text += random.pick(pieces);
  return text;
}

std::vector<std::string> words_of(const Exact<char>& text) {
  std::vector<std::string> found;
  const auto* const data = reinterpret_cast<const uint8_t*>(text.data());
  const uint8_t* last = data;
  words::Scanner().scan({data, text.size()}, [&](const uint8_t* p, size_t size) {
    CHECK(p >= last && size > 0 && p + size <= data + text.size());
    last = p + size;
    found.emplace_back(reinterpret_cast<const char*>(p), size);
  });
  return found;
}

// The vocabulary, forked and reopened now and then, numbers words by first appearance.
void check_words(Random& random) {
  auto vocabulary = std::make_unique<words::Vocabulary>(1000);
  std::map<std::string, int64_t> expected;
  std::vector<std::vector<uint8_t>> files;
  std::vector<std::vector<uint64_t>> offsets, tables;
  files.reserve(20), offsets.reserve(20), tables.reserve(20);
  for (int round = 0; round < 12; ++round) {
    const std::string text = random_text(random);
    const Exact<char> bytes(std::vector<char>(text.begin(), text.end()));
    const words::Span span{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
    std::vector<uint32_t> ids;
    int64_t ends[2];
    vocabulary->encode_adding(&span, 1, ids, ends);
    std::vector<int64_t> wanted, again;
    for (const std::string& word : words_of(bytes)) {
      wanted.push_back(expected.emplace(word, static_cast<int64_t>(expected.size())).first->second);
    }
    vocabulary->encode(span, again);
    CHECK(again == wanted && std::equal(ids.begin(), ids.end(), wanted.begin(), wanted.end()));
    CHECK(ends[1] == static_cast<int64_t>(ids.size()) && vocabulary->n_words() == expected.size());
    if (random.chance(3)) vocabulary = vocabulary->fork();
    if (!random.chance(4)) continue;
    files.emplace_back(), offsets.emplace_back();
    vocabulary->export_words(0, vocabulary->n_words(), files.back(), offsets.back());
    words::LayerView view{files.back().data(), files.back().size(), offsets.back().data(), expected.size(), nullptr, 0};
    tables.emplace_back(words::slots_for(expected.size()), 0);
    words::fill_slots(view, tables.back().data(), tables.back().size());
    view.slots = tables.back().data();
    view.n_slots = tables.back().size();
    vocabulary = std::make_unique<words::Vocabulary>(1000);
    vocabulary->append(view);
  }
  CHECK(vocabulary->first_wrong() == -1);
  for (const auto& [word, id] : expected) CHECK(vocabulary->word(static_cast<uint64_t>(id)) == word);
}

// A vocabulary file with wrong numbers in it gives wrong words at worst.
void check_damaged_words(Random& random) {
  words::Vocabulary original(1000);
  for (int round = 0; round < 4; ++round) {
    const std::string text = random_text(random);
    const words::Span span{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    std::vector<uint32_t> ids;
    int64_t ends[2];
    original.encode_adding(&span, 1, ids, ends);
  }
  std::vector<uint8_t> bytes;
  std::vector<uint64_t> ends;
  const uint64_t n = original.n_words();
  original.export_words(0, n, bytes, ends);
  Exact<uint8_t> arena(bytes);
  Exact<uint64_t> offsets(ends), table(words::slots_for(n));
  words::LayerView view{arena.data(), arena.size(), offsets.data(), n, nullptr, 0};
  words::fill_slots(view, table.data(), table.size());
  damage(random, arena);
  damage(random, offsets);
  damage(random, table);
  view.slots = table.data();
  view.n_slots = table.size();
  words::Vocabulary damaged(1000);
  damaged.append(view);
  damaged.first_wrong();
  for (uint64_t id = 0; id < n; ++id) damaged.word(id);
  const std::string text = random_text(random);
  const words::Span span{reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  std::vector<uint32_t> ids;
  int64_t bounds[2];
  damaged.encode_adding(&span, 1, ids, bounds);
  damaged.fork()->first_wrong();
}

// ---- threads ---------------------------------------------------------------------------------------------

// A batch that several threads share.
void check_shared_batch(Random& random) {
  const Corpus corpus(random);
  const size_t n = batch::kShareFrom + 3 * batch::kPiece + random.below(batch::kPiece);
  const Batch few(random, corpus.oracle.segments, 50, 6);
  std::vector<int64_t> flat, ends{0}, expected;
  for (size_t i = 0; i < n; ++i) {
    const auto& ngram = few.ngrams[i % 50];
    flat.insert(flat.end(), ngram.begin(), ngram.end());
    ends.push_back(static_cast<int64_t>(flat.size()));
  }
  std::vector<int64_t> counts(n);
  corpus.index.count_many(flat.data(), ends.data(), n, counts.data());
  for (size_t i = 0; i < 50; ++i) expected.push_back(corpus.oracle.count(few.ngrams[i]));
  for (size_t i = 0; i < n; ++i) CHECK(counts[i] == expected[i % 50]);
}

void check_threads(Random& random) {
  check_shared_batch(random);
  const Corpus corpus(random);
  const Batch batch(random, corpus.oracle.segments, 64, 20);
  std::vector<std::vector<int64_t>> counts(3, std::vector<int64_t>(64));
  std::vector<std::vector<uint32_t>> documents(3);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      corpus.index.count_many(batch.ids.data(), batch.offsets.data(), 64, counts[t].data());
      for (const auto& segment : corpus.segments) {
        segment->documents_of({0, static_cast<uint32_t>(segment->n_rows())}, documents[t], nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(counts[0] == counts[1] && counts[0] == counts[2]);
  CHECK(documents[0] == documents[1] && documents[0] == documents[2]);
}

// ---- all of it -------------------------------------------------------------------------------------------

const Scenario kScenarios[] = {
    {"mismatch", check_mismatch, 2000},
    {"tree search", check_tree_search, 200},
    {"blind search", check_blind_search<InRows>, 400},
    {"blind search beside rows", check_blind_search<Beside>, 400},
    {"sorting pairs", check_pair_sort, 300},
    {"documents, u8", check_documents<uint8_t>, 60},
    {"documents, u16", check_documents<uint16_t>, 60},
    {"documents, u32", check_documents<uint32_t>, 60},
    {"counts", check_counts, 80},
    {"estimates", check_estimates, 150},
    {"scores", check_scores, 100},
    {"damage, u8", check_damage<uint8_t>, 150},
    {"damage, u16", check_damage<uint16_t>, 150},
    {"damage, u32", check_damage<uint32_t>, 150},
    {"sets of documents", check_docsets, 500},
    {"words", check_words, 100},
    {"damaged words", check_damaged_words, 300},
    {"threads", check_threads, 20},
};

}  // namespace questions

#ifndef TOGETHER
int main(int argc, char** argv) { return run_scenarios(questions::kScenarios, argc, argv); }
#endif
