// Randomised checks of suffix sorting against comparison, to be run under sanitizers. Induced sorting is given several
// values of max_marked, so that short texts reach the passes for very long ones. Sorting by keys is given small limits
// for the same reason.
#include <algorithm>
#include <thread>

#include "check.hpp"
#include "kernels.hpp"
#include "ngramdb/segment/far_index.hpp"
#include "ngramdb/sort/row_checking.hpp"
#include "../../ngramdb/_cext/src/sort/row_merging.cpp"
#include "ngramdb/sort/suffix_sort.hpp"

using namespace ngramdb;

// Values of max_marked: marks at all levels, at none, and at the lower ones only.
constexpr uint32_t kMarkedBelow[] = {sais::kMaxMarked, 0, 50};

template <class Sym>
Exact<uint32_t> sorted_rows(const Exact<Sym>& text, uint32_t n_symbols, uint32_t max_marked, StopFlag stop = nullptr) {
  const uint32_t n = static_cast<uint32_t>(text.size());
  const uint32_t n_separators = static_cast<uint32_t>(std::count(text.data(), text.data() + n, Sym{0}));
  Exact<uint32_t> rows(n);
  suffix_sort(text.data(), rows.data(), n, n_separators, n_symbols, stop, max_marked);
  return rows;
}

// Compares by position if symbols are separators, else by symbols up to the separator, then by position.
template <class Sym>
std::vector<uint32_t> rows_by_comparison(const Exact<Sym>& text) {
  std::vector<uint32_t> rows(text.size());
  for (uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    while (text[a] != 0 && text[a] == text[b]) ++a, ++b;
    return text[a] < text[b];
  });
  return rows;
}

template <class Sym>
void compare(const std::vector<Sym>& symbols, uint32_t n_symbols) {
  const Exact<Sym> text(symbols);
  const std::vector<uint32_t> expected = rows_by_comparison(text);
  for (const uint32_t max_marked : kMarkedBelow) {
    const Exact<uint32_t> rows = sorted_rows(text, n_symbols, max_marked);
    CHECK(std::equal(expected.begin(), expected.end(), rows.data()));
  }
}

// Sorting by keys, with 1 to 3 threads; false when it gives up.
template <class Sym>
bool compare_keys(const std::vector<Sym>& symbols, uint32_t n_symbols, const keysort::Limits& limits, int n_threads) {
  const Exact<Sym> text(symbols);
  Exact<uint32_t> rows(text.size());
  CoreBudget cores(n_threads - 1);
  const uint32_t n = static_cast<uint32_t>(text.size()), lcp_width = sizeof(Sym) == 4 ? 0 : n % 8;
  keysort::Sorter<Sym> sorter(text.data(), rows.data(), n, n_symbols, lcp_width, &cores, limits, nullptr);
  if (!sorter.sort()) return false;
  std::vector<uint32_t> expected = rows_by_comparison(text);
  const size_t n_separators = static_cast<size_t>(std::count(text.data(), text.data() + n, Sym{0}));
  mark_lcps(text.data(), n, expected.data() + n_separators, n - n_separators, lcp_width, &cores, nullptr);
  CHECK(std::equal(expected.begin(), expected.end(), rows.data()));
  return true;
}

// A text of documents of random tokens and of copies of what came before; it ends in a separator.
template <class Sym>
std::vector<Sym> random_text(Random& random, size_t n, uint32_t n_symbols) {
  std::vector<Sym> text;
  const uint64_t longest_copy = 1 + random.below(60);
  const uint32_t one_in = random.chance(2) ? 3 : 40;
  while (text.size() < n) {
    if (!text.empty() && random.chance(one_in)) {
      const size_t start = random.below(text.size());
      const size_t length = std::min<size_t>(1 + random.below(longest_copy), text.size() - start);
      for (size_t i = 0; i < length; ++i) text.push_back(Sym{text[start + i]});
    } else {
      text.push_back(static_cast<Sym>(random.below(n_symbols)));
    }
  }
  text.push_back(0);
  return text;
}

template <class Sym>
void check_random(Random& random) {
  const uint32_t n_symbols = 2 + static_cast<uint32_t>(random.below(random.chance(2) ? 3 : 200));
  compare(random_text<Sym>(random, random.below(random.chance(3) ? 8 : 400), n_symbols), n_symbols);
}

keysort::Limits random_limits(Random& random) {
  keysort::Limits limits;
  limits.max_marked = kMarkedBelow[random.below(3)];
  limits.chunk_rows = 1 + static_cast<uint32_t>(random.below(random.chance(2) ? 4 : 300));
  limits.split_rows = 1 + static_cast<uint32_t>(random.below(random.chance(2) ? 4 : 300));
  limits.least_depth = 1 + static_cast<uint32_t>(random.below(12));
  limits.most_depth = limits.least_depth + static_cast<uint32_t>(random.below(20));
  limits.least_resolved = 1 + static_cast<uint32_t>(random.below(20));
  limits.most_read = static_cast<uint32_t>(random.below(5));
  limits.largest_bucket = limits.most_unresolved = 1;
  return limits;
}

template <class Sym>
void check_keys(Random& random) {
  const uint32_t n_symbols = 2 + static_cast<uint32_t>(random.below(random.chance(2) ? 3 : 200));
  const std::vector<Sym> text = random_text<Sym>(random, random.below(random.chance(3) ? 8 : 400), n_symbols);
  CHECK(compare_keys(text, n_symbols, random_limits(random), 1 + static_cast<int>(random.below(3))));
}

// Symbols of 7 to 22 bits, of which a key holds 2 to 9.
void check_wide_keys(Random& random) {
  const uint64_t scale = 1 + random.below(uint64_t{1} << random.below(16));
  std::vector<uint32_t> text = random_text<uint32_t>(random, random.below(300), 100);
  for (uint32_t& symbol : text) symbol = static_cast<uint32_t>(symbol * scale);
  CHECK(compare_keys(text, static_cast<uint32_t>(99 * scale + 1), random_limits(random), 1));
}

void check_giving_up(Random& random) {
  keysort::Limits limits;
  std::vector<uint16_t> run(500 + random.below(500), 1);
  run.push_back(0);
  CHECK(!compare_keys(run, 2, limits, 1));
  std::vector<uint16_t> twice = random_text<uint16_t>(random, 600, 200);
  twice.insert(twice.end(), twice.begin(), twice.end());
  limits.most_depth = limits.least_depth;
  CHECK(!compare_keys(twice, 200, limits, 2));
}

// Every text of 7 symbols over two tokens and the separator.
void check_all_short(Random&) {
  for (uint32_t code = 0; code < 2187; ++code) {
    std::vector<uint8_t> text;
    for (uint32_t rest = code; text.size() < 7; rest /= 3) text.push_back(static_cast<uint8_t>(rest % 3));
    text.push_back(0);
    compare(text, 3);
  }
}

// Texts whose reduced texts resemble them make the recursion deep; runs have no LMS position at all.
void check_periodic(Random& random) {
  std::vector<uint8_t> a{1}, b{1, 2}, text;
  for (uint64_t i = random.below(15); i > 0; --i) {
    std::vector<uint8_t> next = b;
    next.insert(next.end(), a.begin(), a.end());
    a.swap(b);
    b.swap(next);
  }
  for (uint64_t copies = 1 + random.below(4); copies > 0; --copies) {
    text.insert(text.end(), b.begin(), b.end());
    text.resize(text.size() + random.below(6), static_cast<uint8_t>(random.below(3)));
    if (random.chance(2)) text.push_back(0);
  }
  text.push_back(0);
  compare(text, 3);
}

// More rows than lie between two looks at the stop flag. Verified through ranks: comparing would take too long.
void check_large(Random& random) {
  const Exact<uint16_t> text(random_text<uint16_t>(random, (1u << 20) + 5000, 3000));
  const Exact<uint32_t> rows = sorted_rows(text, 3000, random.chance(2) ? sais::kMaxMarked : 0);
  std::vector<uint32_t> rank(text.size(), ~0u);
  for (uint32_t row = 0; row < rows.size(); ++row) {
    CHECK(rows[row] < text.size() && rank[rows[row]] == ~0u);
    rank[rows[row]] = row;
  }
  for (uint32_t row = 1; row < rows.size(); ++row) {
    const uint32_t p = rows[row - 1], q = rows[row];
    CHECK(text[p] <= text[q]);
    if (text[p] == text[q]) CHECK(text[p] == 0 ? p < q : rank[p + 1] < rank[q + 1]);
  }
}

// ---- merging -----------------------------------------------------------------------------------------------------

template <class Sym>
void set_far_lcps(const Exact<Sym>& text, const Exact<uint32_t>& rows, Exact<uint8_t>& lcps) {
  Exact<LongKey> keys(1);
  if (rows.size() == 0) return;
  build_far_index(text.data(), text.size(), Rows(rows.data()), rows.size(), rows.size(), keys.data(), lcps.data(),
                  nullptr, nullptr);
}

// A text as an input of a merge, each array of exact size; some documents of it may go.
template <class Sym>
struct MergedText {
  Exact<Sym> text;
  Exact<uint32_t> rows, starts;
  Exact<uint8_t> kept, lcps;
  uint32_t lcp_width = 0;
  bool has_beside = false;
  bool is_whole = true;

  MergedText(Random& random, const std::vector<Sym>& symbols) : text(symbols) {
    std::vector<uint32_t> firsts{0};
    for (uint32_t i = 0; i < symbols.size(); ++i) {
      if (symbols[i] == 0) firsts.push_back(i + 1);
    }
    starts = Exact<uint32_t>(firsts);
    kept = Exact<uint8_t>(firsts.size() - 1);
    is_whole = random.chance(2);
    for (size_t d = 0; d < kept.size(); ++d) kept[d] = is_whole || !random.chance(3);
    const std::vector<uint32_t> all = rows_by_comparison(text);
    rows = Exact<uint32_t>(std::vector<uint32_t>(all.begin() + static_cast<std::ptrdiff_t>(kept.size()), all.end()));
    lcp_width = random.pick(std::vector<uint32_t>{0, 5, 7});
    lcps = Exact<uint8_t>(rows.size());
    has_beside = lcp_width == 0 && rows.size() > 0 && random.chance(2);
    if (has_beside) set_far_lcps(text, rows, lcps);
    mark_lcps(text.data(), text.size(), rows.data(), rows.size(), lcp_width, nullptr, nullptr);
  }

  MergeInput input() const {
    MergeInput input;
    input.text = text.data();
    input.n_text = text.size();
    input.rows = Rows(rows.data(), lcp_width, has_beside ? lcps.data() : nullptr);
    input.n_rows = rows.size();
    input.has_lcps = lcp_width > 0 || has_beside;
    input.starts = starts.data();
    input.kept = is_whole ? nullptr : kept.data();
    input.n_documents = kept.size();
    input.file = "a";
    return input;
  }

  void append_kept(std::vector<Sym>& all) const {
    for (size_t d = 0; d < kept.size(); ++d) {
      if (kept[d]) all.insert(all.end(), text.data() + starts[d], text.data() + starts[d + 1]);
    }
  }
};

// Merges on two threads. Damaged rows give some rows or an error, and no wrong access.
template <class Sym>
void merge_and_compare(Random& random, bool is_damaged) {
  const uint32_t n_symbols = 2 + static_cast<uint32_t>(random.below(random.chance(2) ? 3 : 200));
  std::vector<MergedText<Sym>> texts;
  for (uint64_t k = 1 + random.below(9); k > 0; --k) {
    texts.emplace_back(random, random_text<Sym>(random, random.below(random.chance(3) ? 8 : 200), n_symbols));
    // A run, longer than what is compared directly.
    if (random.chance(30)) {
      std::vector<Sym> run(1200, Sym{1});
      run.back() = 0;
      texts.emplace_back(random, run);
    }
  }
  std::vector<Sym> whole;
  std::vector<MergeInput> inputs;
  for (MergedText<Sym>& one : texts) {
    one.append_kept(whole);
    if (is_damaged && one.rows.size() > 0) {
      for (uint64_t k = 1 + random.below(5); k > 0; --k) {
        uint32_t& row = one.rows[random.below(one.rows.size())];
        row = random.chance(2) ? static_cast<uint32_t>(random.below(uint64_t{1} << 32)) : row ^ 1u << random.below(32);
      }
    }
    inputs.push_back(one.input());
    inputs.back().in_large_pages = random.chance(2);
  }
  const uint32_t lcp_width = random.pick(std::vector<uint32_t>{0, 7});
  const bool is_beside = lcp_width == 0 && random.chance(2);
  const Exact<Sym> text(whole);
  const size_t n_separators = static_cast<size_t>(std::count(whole.begin(), whole.end(), Sym{0}));
  const size_t n_rows = whole.size() - n_separators;
  try {
    const std::unique_ptr<RowMerge> merge = make_row_merge(sizeof(Sym), inputs);
    const uint64_t n_chunks = merge->plan(1 + random.below(random.chance(2) ? 9 : 1000), nullptr);
    std::vector<uint64_t> firsts{0};
    for (uint64_t chunk = 0; chunk < n_chunks; ++chunk) firsts.push_back(firsts.back() + merge->count(chunk, nullptr));
    if (firsts.back() != n_rows) {
      CHECK(is_damaged);
      return;
    }
    Exact<uint32_t> rows(n_rows);
    Exact<uint8_t> lcps(n_rows);
    Exact<uint64_t> tree(tree_words(n_rows)), rest(n_samples_of(n_rows));
    bool failed[2] = {false, false};
    const auto every_second = [&](uint64_t from) {
      try {
        for (uint64_t chunk = from; chunk < n_chunks; chunk += 2) {
          merge->merge(chunk, firsts[chunk], rows.data() + firsts[chunk], firsts[chunk + 1] - firsts[chunk], lcp_width,
                       is_beside ? lcps.data() + firsts[chunk] : nullptr, tree.data(), rest.data(), nullptr);
        }
      } catch (const CorruptPointer&) {
        failed[from] = true;
      }
    };
    std::thread other(every_second, 1);
    every_second(0);
    other.join();
    CHECK(is_damaged || (!failed[0] && !failed[1]));
    if (failed[0] || failed[1] || is_damaged) return;
    for (uint64_t chunk = 1; chunk < n_chunks; ++chunk) {
      if (firsts[chunk] == firsts[chunk + 1]) continue;
      if (lcp_width > 0) rows[firsts[chunk]] |= merge->joint(chunk, most_lcp(lcp_width)) << (32 - lcp_width);
      if (is_beside) lcps[firsts[chunk]] = static_cast<uint8_t>(merge->joint(chunk, kMostFarLcp));
    }
    std::vector<uint32_t> expected = rows_by_comparison(text);
    mark_lcps(text.data(), text.size(), expected.data() + n_separators, n_rows, lcp_width, nullptr, nullptr);
    CHECK(std::equal(expected.begin() + static_cast<std::ptrdiff_t>(n_separators), expected.end(), rows.data()));
    if (!is_beside) return;
    Exact<uint8_t> expected_lcps(n_rows);
    set_far_lcps(text, rows, expected_lcps);
    CHECK(std::equal(lcps.data(), lcps.data() + n_rows, expected_lcps.data()));
  } catch (const CorruptPointer&) {
    CHECK(is_damaged);
  }
}

template <class Sym>
void check_merging(Random& random) {
  merge_and_compare<Sym>(random, random.chance(3));
}

// Sorted rows are right; one that is changed is noticed, there or at the row after it.
template <class Sym>
void check_verifying(Random& random) {
  const uint32_t n_symbols = 2 + static_cast<uint32_t>(random.below(random.chance(2) ? 3 : 200));
  MergedText<Sym> one(random, random_text<Sym>(random, random.below(300), n_symbols));
  const auto wrong = [&] {
    CoreBudget cores(static_cast<int>(random.below(3)));
    return first_wrong_row(one.text.data(), one.text.size(), Rows(one.rows.data(), one.lcp_width), one.rows.size(),
                           &cores, nullptr);
  };
  CHECK(wrong() == one.rows.size());
  if (one.rows.size() == 0) return;
  const size_t row = random.below(one.rows.size());
  one.rows[row] ^= 1u << random.below(32);
  const uint64_t found = wrong();
  CHECK(found < one.rows.size() && (found == row || found == row + 1));
}

void check_stopping(Random& random) {
  StopState state;
  state.n_requests = 1;
  Poll stop(&state, nullptr, 0, nullptr);
  bool stopped = false;
  try {
    std::vector<uint8_t> text = random_text<uint8_t>(random, 1 + random.below(200), 4);
    text.front() = 1;
    if (text.size() == 1) text.push_back(0);
    sorted_rows(Exact<uint8_t>(text), 4, kMarkedBelow[random.below(3)], &stop);
  } catch (const Interrupted&) {
    stopped = true;
  }
  CHECK(stopped);
  stopped = false;
  CoreBudget cores(static_cast<int>(random.below(3)));
  try {
    const Exact<uint8_t> text(random_text<uint8_t>(random, 200, 100));
    Exact<uint32_t> rows(text.size());
    keysort::Sorter<uint8_t>(text.data(), rows.data(), static_cast<uint32_t>(text.size()), 100, 7, &cores,
                             random_limits(random), &stop)
        .sort();
  } catch (const Interrupted&) {
    stopped = true;
  }
  CHECK(stopped);
}

const Scenario kScenarios[] = {
    {"random texts, u8", check_random<uint8_t>, 400},
    {"random texts, u16", check_random<uint16_t>, 400},
    {"random texts, u32", check_random<uint32_t>, 400},
    {"by keys, u8", check_keys<uint8_t>, 400},
    {"by keys, u16", check_keys<uint16_t>, 400},
    {"by keys, u32", check_keys<uint32_t>, 400},
    {"by wide keys", check_wide_keys, 40},
    {"giving up keys", check_giving_up, 20},
    {"all short texts", check_all_short, 1},
    {"periodic texts", check_periodic, 60},
    {"a large text", check_large, 1},
    {"merging, u8", check_merging<uint8_t>, 50},
    {"merging, u16", check_merging<uint16_t>, 50},
    {"merging, u32", check_merging<uint32_t>, 50},
    {"verifying, u8", check_verifying<uint8_t>, 200},
    {"verifying, u16", check_verifying<uint16_t>, 200},
    {"verifying, u32", check_verifying<uint32_t>, 200},
    {"stopping", check_stopping, 20},
};

int main(int argc, char** argv) { return run_scenarios(kScenarios, argc, argv); }
