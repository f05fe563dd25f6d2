// Randomised checks of the kernels of curation against brute force, to be run under sanitizers: windows of text that
// occur several times, also in damaged arrays, documents contained in others, and expressions over texts.
#include <map>
#include <set>
#include <string>
#include <thread>

#include "../../ngramdb/_cext/src/corpus/duplicate_windows.cpp"
#include "../../ngramdb/_cext/src/sort/row_merging.cpp"
#include "corpora.hpp"
#include "ngramdb/corpus/near_duplicates.hpp"
#include "ngramdb/text/expressions.hpp"

namespace curation_checks {

using namespace ngramdb;

// ---- windows ---------------------------------------------------------------------------------------------

using Places = std::set<std::pair<size_t, uint32_t>>;  // text, position

template <class Sym>
struct Texts {
  std::vector<std::unique_ptr<Made<Sym>>> made;
  std::vector<Exact<uint32_t>> ranks;
  std::vector<Exact<uint64_t>> marks;
  std::vector<WindowText> texts;

  explicit Texts(Random& random) {
    std::vector<uint32_t> order;
    const uint64_t n = 1 + random.below(5);
    for (uint64_t i = 0; i < n; ++i) {
      made.push_back(std::make_unique<Made<Sym>>(random_documents<Sym>(random, 8)));
      order.resize(order.size() + made.back()->starts.size() - 1);
    }
    for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    size_t at = 0;
    for (const auto& one : made) {
      const size_t n_documents = one->starts.size() - 1;
      ranks.emplace_back(n_documents);
      for (size_t d = 0; d < n_documents; ++d, ++at) ranks.back()[d] = random.chance(6) ? kLeftOut : order[at];
      marks.emplace_back(one->text.size() / 64 + 1);
      MergeInput input;
      input.text = one->text.data();
      input.n_text = one->text.size();
      input.rows = Rows(one->rows.data(), one->lcp_width);
      input.n_rows = one->rows.size();
      input.has_lcps = !random.chance(4);
      input.starts = one->starts.data();
      input.n_documents = n_documents;
      texts.push_back({input, ranks.back().data(), marks.back().data()});
    }
  }

  Places marked() const {
    Places found;
    for (size_t i = 0; i < marks.size(); ++i) {
      for (uint32_t p = 0; p < 64 * marks[i].size(); ++p) {
        if (marks[i][p / 64] >> (p % 64) & 1) found.insert({i, p});
      }
    }
    return found;
  }
};

// The number of symbols of the window at a position; 0 if the document is too short.
template <class Sym>
uint64_t window_length(const Exact<Sym>& text, uint32_t position, const WindowRule& rule) {
  uint64_t weight = 0;
  for (uint64_t n = 0; text[position + n] != 0; ++n) {
    const Sym symbol = text[position + n];
    weight += rule.weights == nullptr ? 1 : symbol < rule.n_weights ? rule.weights[symbol] : 0;
    if (weight >= rule.length) return n + 1;
  }
  return 0;
}

template <class Sym>
Places expected_marks(const Texts<Sym>& texts, const WindowRule& rule) {
  struct Place {
    uint32_t rank, position;
    size_t text;
  };
  std::map<std::vector<Sym>, std::vector<Place>> classes;
  for (size_t i = 0; i < texts.made.size(); ++i) {
    const Made<Sym>& one = *texts.made[i];
    for (size_t d = 0; d + 1 < one.starts.size(); ++d) {
      if (texts.ranks[i][d] == kLeftOut) continue;
      for (uint32_t p = one.starts[d]; p + 1 < one.starts[d + 1]; ++p) {
        const uint64_t n = window_length(one.text, p, rule);
        if (n > 0) classes[{one.text.data() + p, one.text.data() + p + n}].push_back({texts.ranks[i][d], p, i});
      }
    }
  }
  Places found;
  for (auto& [window, places] : classes) {
    if (places.size() < rule.min_count) continue;
    const auto order = [](const Place& a, const Place& b) {
      return a.rank != b.rank ? a.rank < b.rank : a.position < b.position;
    };
    const Place best = *std::min_element(places.begin(), places.end(), order);
    for (const Place& place : places) {
      const bool is_best = place.rank == best.rank && place.position == best.position;
      for (uint32_t p = place.position; p < place.position + (rule.marks_starts ? 1 : window.size()); ++p) {
        const bool is_kept = place.rank == best.rank && p >= best.position && p < best.position + window.size();
        if (rule.marks_starts || !rule.keeps_one || !(is_best || is_kept)) found.insert({place.text, p});
      }
    }
  }
  return found;
}

// On one thread, or each step on two.
void mark_all(DuplicateWindows& windows, uint64_t n_chunks, bool on_threads) {
  const auto each = [on_threads](uint64_t n, auto act) {
    if (!on_threads) {
      for (uint64_t i = 0; i < n; ++i) act(i);
      return;
    }
    std::thread other([&] {
      for (uint64_t i = 1; i < n; i += 2) act(i);
    });
    for (uint64_t i = 0; i < n; i += 2) act(i);
    other.join();
  };
  each(windows.n_sampled(), [&](uint64_t i) { windows.sample(static_cast<uint32_t>(i), nullptr); });
  each(windows.n_sampled(), [&](uint64_t i) { windows.choose(static_cast<uint32_t>(i), nullptr); });
  each(windows.plan(n_chunks, nullptr), [&](uint64_t chunk) { windows.mark(chunk, nullptr); });
}

WindowRule random_rule(Random& random, const Exact<uint32_t>& weights) {
  WindowRule rule;
  rule.length = 1 + random.below(12);
  if (random.chance(3)) {
    rule.weights = weights.data();
    rule.n_weights = weights.size();
    rule.length *= 4;
  }
  rule.min_count = 2 + random.below(3);
  rule.marks_starts = random.chance(3);
  rule.keeps_one = !random.chance(3);
  return rule;
}

template <class Sym, bool kOnThreads = false>
void check_windows(Random& random) {
  Texts<Sym> texts(random);
  Exact<uint32_t> weights(2 + random.below(8));
  for (size_t i = 1; i < weights.size(); ++i) weights[i] = static_cast<uint32_t>(random.below(9));
  const WindowRule rule = random_rule(random, weights);
  mark_all(*make_duplicate_windows(sizeof(Sym), texts.texts, rule), 1 + random.below(9), kOnThreads);
  CHECK(texts.marked() == expected_marks(texts, rule));
}

// Rows that lead anywhere, and starts of documents that are not there: an error, or some answer.
template <class Sym>
void check_damaged_windows(Random& random) {
  Texts<Sym> texts(random);
  for (auto& one : texts.made) {
    for (uint64_t n = random.below(4); n > 0 && one->rows.size() > 0; --n) {
      one->rows[random.below(one->rows.size())] ^= uint32_t{1} << random.below(32);
    }
    for (uint64_t n = random.below(3); n > 0 && one->text.size() > 1; --n) {
      one->text[random.below(one->text.size() - 1)] = static_cast<Sym>(random.below(4));
    }
  }
  const Exact<uint32_t> weights(2);
  const WindowRule rule = random_rule(random, weights);
  try {
    mark_all(*make_duplicate_windows(sizeof(Sym), texts.texts, rule), 1 + random.below(9), false);
  } catch (const CorruptPointer&) {
  }
}

// ---- documents that others contain -----------------------------------------------------------------------

std::set<std::string> grams_of(const std::string& text, uint32_t n, bool& by_characters) {
  std::set<std::string> found;
  std::vector<std::string> words{""};
  for (const char c : text) {
    if (c == ' ') words.emplace_back();
    else words.back() += c;
  }
  by_characters = by_characters || words.size() < n;
  if (by_characters) {
    for (size_t i = 0; i == 0 || i + 5 <= text.size(); ++i) found.insert(text.substr(i, 5));
    return found;
  }
  for (size_t i = 0; i + n <= words.size(); ++i) {
    std::string gram;
    for (uint32_t k = 0; k < n; ++k) gram += words[i + k] + " ";
    found.insert(gram);
  }
  return found;
}

void check_near(Random& random) {
  const uint32_t n = 1 + static_cast<uint32_t>(random.below(3));
  const double least = random.pick(std::vector<double>{0.3, 0.5, 0.9, 1.0});
  NearDuplicates near(n, least, 0.9, 0, 0);
  std::vector<std::pair<std::set<std::string>, bool>> documents;  // those of the other corpus come last
  std::vector<Exact<char>> given;
  std::vector<bool> given_kinds;
  const size_t n_given = random.below(3), n_all = 1 + random.below(12);
  for (size_t i = 0; i < n_all + n_given; ++i) {
    std::string text = "w0";
    for (uint64_t k = random.below(12); k > 0; --k) text += " w" + std::to_string(random.below(3));
    bool by_characters = random.chance(5);
    Exact<char> exact(std::vector<char>(text.begin(), text.end()));
    if (i < n_all) {
      near.add(exact.data(), exact.size(), by_characters, nullptr);
    } else {
      given_kinds.push_back(by_characters);
      given.push_back(std::move(exact));
    }
    const auto grams = grams_of(text, n, by_characters);
    if (i < n_all) CHECK(near.by_characters(i) == by_characters && near.size(i) == grams.size());
    documents.emplace_back(grams, by_characters);
  }
  const std::vector<uint64_t> wanted = near.all_keys(nullptr);
  near.begin(n_given, wanted.size(), nullptr);
  for (uint32_t i = 0; i < n_given; ++i) {
    for (const uint64_t key : near.keys_of(given[i].data(), given[i].size(), given_kinds[i], nullptr)) {
      if (std::binary_search(wanted.begin(), wanted.end(), key)) near.add_given(key, i);
    }
  }
  Exact<uint32_t> order(n_all);
  for (size_t i = 0; i < n_all; ++i) order[i] = static_cast<uint32_t>(i);
  for (size_t i = n_all; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  Exact<NearOutcome> out(n_all), rejected(n_all);
  Exact<uint8_t> bounded(n_all);
  NearOutcome* const others = random.chance(2) ? rejected.data() : nullptr;
  for (;;) {
    const uint32_t missing = near.decide(order.data(), n_all, out.data(), bounded.data(), others, nullptr);
    if (missing == kNoneKept) break;
    near.load_given(missing, given[missing].data(), given[missing].size(), given_kinds[missing], nullptr);
    CHECK(near.size(n_all + missing) == documents[n_all + missing].first.size());
  }
  std::vector<uint32_t> kept;
  for (size_t i = 0; i < n_given; ++i) kept.push_back(static_cast<uint32_t>(n_all + i));
  for (size_t i = 0; i < n_all; ++i) {
    const auto& [grams, by_characters] = documents[order[i]];
    NearOutcome expected{kNoneKept, 0};
    for (size_t k = 0; k < kept.size() && expected.kept == kNoneKept; ++k) {
      const auto& [others_grams, also_by_characters] = documents[kept[k]];
      uint32_t shared = 0;
      for (const std::string& gram : grams) shared += static_cast<uint32_t>(others_grams.count(gram));
      if (by_characters != also_by_characters || shared == 0) continue;
      if (shared + 1e-9 >= (by_characters ? 0.9 : least) * static_cast<double>(grams.size())) expected = {kept[k], shared};
    }
    CHECK(out[order[i]].kept == expected.kept && out[order[i]].shared == expected.shared);
    if (expected.kept == kNoneKept) kept.push_back(order[i]);
  }
}

// ---- expressions -----------------------------------------------------------------------------------------

using namespace expressions;

// A program for a random expression, which matches no empty text if it must not.
void add_expression(Random& random, std::vector<Step>& steps, uint32_t depth, bool must_read) {
  const uint64_t kind = depth == 0 ? 0 : random.below(6);
  const auto at = [&] { return static_cast<int32_t>(steps.size()); };
  if (kind <= 1 || (kind == 5 && must_read)) {
    steps.push_back({kSet, static_cast<int32_t>(random.below(3)), 0});
  } else if (kind == 2) {  // one after the other
    add_expression(random, steps, depth - 1, must_read);
    add_expression(random, steps, depth - 1, false);
  } else if (kind == 3) {  // one or the other
    const size_t split = steps.size();
    steps.push_back({kSplit, at() + 1, 0});
    add_expression(random, steps, depth - 1, must_read);
    steps[split].b = at() + 1;
    const size_t jump = steps.size();
    steps.push_back({kJump, 0, 0});
    add_expression(random, steps, depth - 1, must_read);
    steps[jump].a = at();
  } else if (kind == 4) {  // once or more often
    const int32_t begin = at();
    add_expression(random, steps, depth - 1, true);
    const bool is_greedy = random.chance(2);
    steps.push_back({kSplit, is_greedy ? begin : at() + 1, is_greedy ? at() + 1 : begin});
  } else if (random.chance(2)) {
    steps.push_back({kRun, static_cast<int32_t>(random.below(3)), 0});
  } else {
    steps.push_back({kAssert, static_cast<int32_t>(random.below(kNotAfter + 1)), static_cast<int32_t>(random.below(3))});
  }
}

const std::vector<std::string> kParts{"a", "b", "\n", "é", "漢", "👍", "\xC3", "\x80", "\xF0\x9F\x91", "\xFF"};

// All ends of matches from a position, by following every branch.
void follow(const std::vector<Step>& steps, const std::vector<Set>& sets, const std::vector<uint32_t>& text, size_t step,
            size_t position, std::set<std::pair<size_t, size_t>>& seen, std::set<size_t>& ends) {
  if (!seen.insert({step, position}).second) return;
  const Step& now = steps[step];
  const auto next = [&](size_t to, size_t at) { follow(steps, sets, text, to, at, seen, ends); };
  const auto has = [&](size_t at) { return at < text.size() && sets[static_cast<size_t>(now.code == kAssert ? now.b : now.a)].has(text[at]); };
  const auto is_line = [&](size_t at) { return text[at] == '\n'; };
  const size_t n = text.size();
  if (now.code == kDone) ends.insert(position);
  if (now.code == kJump || now.code == kSplit) next(static_cast<size_t>(now.a), position);
  if (now.code == kSplit) next(static_cast<size_t>(now.b), position);
  if (now.code == kRun) next(step + 1, position);
  if (now.code == kSet && has(position)) next(step + 1, position + 1);
  if (now.code == kRun && has(position)) next(step, position + 1);
  if (now.code != kAssert) return;
  const bool before = position > 0 && has(position - 1), after = has(position);
  const bool holds[] = {position == 0,
                        position == 0 || is_line(position - 1),
                        position == n,
                        position == n || is_line(position),
                        position == n || (position + 1 == n && is_line(position)),
                        before != after,
                        n > 0 && before == after,
                        before,
                        !before,
                        after,
                        !after};
  if (holds[now.a]) next(step + 1, position);
}

void check_expressions(Random& random) {
  std::vector<Step> steps;
  add_expression(random, steps, 4, false);
  steps.push_back({kDone, 0, 0});
  std::vector<int32_t> flat;
  for (const Step& step : steps) flat.insert(flat.end(), {step.code, step.a, step.b});
  const std::vector<uint32_t> ranges{0, 'a', 'a', 1, 'a', 'b', 1, 0xDC80, 0xDCFF, 2, '\n', '\n', 2, 0xE9, 0x6F22};
  std::vector<Set> sets(3);
  for (size_t i = 0; i < ranges.size(); i += 3) sets[ranges[i]].add(ranges[i + 1], ranges[i + 2]);
  const Exact<int32_t> exact_steps(flat);
  const Exact<uint32_t> exact_ranges(ranges);
  const Program program(exact_steps.data(), steps.size(), exact_ranges.data(), ranges.size() / 3, 3, nullptr, 0, nullptr, 0,
                        false);
  std::string joined;
  for (uint64_t n = random.below(random.chance(5) ? 30 : 7); n > 0; --n) joined += random.pick(kParts);
  const Exact<uint8_t> data(std::vector<uint8_t>(joined.begin(), joined.end()));
  std::vector<uint32_t> text;
  std::map<size_t, size_t> places;  // of bytes
  for (size_t p = 0; p < data.size();) {
    const Character found = character_at(data.data() + p, data.size() - p);
    places[p] = text.size();
    text.push_back(found.code);
    p += found.size;
  }
  places[data.size()] = text.size();
  std::vector<std::set<size_t>> ends(text.size() + 1);
  bool is_somewhere = false;
  for (size_t p = 0; p <= text.size(); ++p) {
    std::set<std::pair<size_t, size_t>> seen;
    follow(steps, sets, text, 0, p, seen, ends[p]);
    is_somewhere = is_somewhere || !ends[p].empty();
  }
  CHECK(occurs(program, data.data(), data.size(), nullptr) == is_somewhere);
  std::vector<int64_t> spans;
  find_all(program, data.data(), data.size(), spans, nullptr);
  for (size_t i = 0; i < spans.size(); i += 2) {
    CHECK(i == 0 || spans[i] >= spans[i - 1]);
    const size_t begin = places.at(static_cast<size_t>(spans[i])), end = places.at(static_cast<size_t>(spans[i + 1]));
    CHECK(begin < end && ends[begin].count(end) == 1);
  }
}

#ifdef __SANITIZE_THREAD__
const Scenario kScenarios[] = {
    {"windows on threads, u8", check_windows<uint8_t, true>, 60},
    {"windows on threads, u32", check_windows<uint32_t, true>, 60},
};
#else
const Scenario kScenarios[] = {
    {"windows, u8", check_windows<uint8_t>, 400},
    {"windows, u16", check_windows<uint16_t>, 200},
    {"windows, u32", check_windows<uint32_t>, 200},
    {"damaged windows, u8", check_damaged_windows<uint8_t>, 300},
    {"damaged windows, u32", check_damaged_windows<uint32_t>, 200},
    {"near duplicates", check_near, 2000},
    {"expressions", check_expressions, 5000},
};
#endif

}  // namespace curation_checks

int main(int argc, char** argv) { return run_scenarios(curation_checks::kScenarios, argc, argv); }
