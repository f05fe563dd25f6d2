// Randomised checks of suffix sorting against comparison, to be run under sanitizers. Induced sorting is given several
// values of max_marked, so that short texts reach the passes for very long ones. Sorting by keys is given small limits
// for the same reason.
#include <algorithm>

#include "check.hpp"
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

// By position where symbols are separators, else by symbols up to the separator, then by position.
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
  Cores cores(n_threads - 1);
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

// Texts whose reduced texts are like themselves make the recursion deep; runs have no LMS position at all.
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
  Cores cores(static_cast<int>(random.below(3)));
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
    {"stopping", check_stopping, 20},
};

int main(int argc, char** argv) { return run_scenarios(kScenarios, argc, argv); }
