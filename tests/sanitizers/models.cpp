// Randomised checks of language models, to be run under sanitizers: against brute force, against each other, on
// damaged arrays, and one model that threads share.
#include <cmath>
#include <numeric>
#include <thread>

#include "corpora.hpp"
#include "ngramdb/lm/lm_sampling.hpp"
#include "ngramdb/lm/text_state.hpp"
#include "ngramdb/lm/counts_of_counts.hpp"

namespace model_checks {

using namespace ngramdb;
using namespace ngramdb::lm;

constexpr Kind kKinds[] = {Kind::kNgram, Kind::kInfgram, Kind::kBackoff, Kind::kInterpolated};

// ---- corpora and models ----------------------------------------------------------------------------------

// Segments of two widths, and what models share of them; the last of three takes documents of the first away.
struct Corpus {
  std::vector<Documents> documents;
  std::vector<int> signs;
  std::vector<std::unique_ptr<Made<uint8_t>>> bytes;
  std::vector<std::unique_ptr<Made<uint16_t>>> shorts;
  int64_t separator = kNoSeparator;
  LanguageData data;

  // most_copies: of one document, so that some n-grams are frequent enough for caches. takes_others: documents are
  // taken away, too, that were never there.
  Corpus(Random& random, uint32_t most_copies, bool takes_others = false) {
    const uint64_t n_segments = random.pick(std::vector<uint64_t>{0, 1, 1, 3, 3, 3});
    for (uint64_t s = 0; s < std::min<uint64_t>(n_segments, 2); ++s) add(random_documents<uint8_t>(random, 8, 30), 1);
    if (n_segments == 0) return;
    if (!documents[0].empty() && random.chance(2)) {
      const Ids repeated = random.pick(documents[0]);
      documents[0].insert(documents[0].end(), random.below(most_copies + 1), repeated);
    }
    if (n_segments == 3) {
      add({}, -1);
      for (const Ids& document : documents[0]) {
        if (random.chance(3)) documents[2].push_back(document);
      }
      if (takes_others) documents[2].resize(documents[2].size() + random.below(documents[0].size() + 9));
    }
    if (random.chance(2)) separator = random.pick(Ids{0, 1, 4, 253, 254, 70000});
    is_wide_ = random.chance(2);
    for (size_t s = 0; s < documents.size(); ++s) {
      if ((s == 1) != is_wide_) {
        shorts.push_back(std::make_unique<Made<uint16_t>>(documents[s]));
      } else {
        bytes.push_back(std::make_unique<Made<uint8_t>>(documents[s]));
      }
    }
  }
  explicit Corpus(const Documents& only) : documents{only}, signs{1} {
    bytes.push_back(std::make_unique<Made<uint8_t>>(only));
  }

  void open() {
    data.columns.set_separator(separator);
    size_t n_bytes = 0, n_shorts = 0;
    for (size_t s = 0; s < documents.size(); ++s) {
      if ((s == 1) != is_wide_) {
        add_column(*shorts[n_shorts++], signs[s]);
      } else {
        add_column(*bytes[n_bytes++], signs[s]);
      }
    }
    data.vocabulary = std::make_unique<Vocabulary>(data.columns, nullptr);
  }

 private:
  bool is_wide_ = false;
  std::vector<std::unique_ptr<Segment>> segments_;

  void add(const Documents& part, int sign) {
    documents.push_back(part);
    signs.push_back(sign);
  }

  template <class Sym>
  void add_column(const Made<Sym>& made, int sign) {
    segments_.push_back(made.segment());
    data.columns.add(*segments_.back(), sign);
  }
};

// Discounts from counts of counts, 1 to 4; see Chen & Goodman 1999, equation 26.
Discount discount_of(const std::array<int64_t, 4>& n) {
  const Discount fallback{0.5, 1.0, 1.5};
  if (n[0] <= 0 || n[1] <= 0 || n[2] <= 0) return fallback;
  Discount d{};
  const double y = static_cast<double>(n[0]) / static_cast<double>(n[0] + 2 * n[1]);
  for (size_t k = 0; k < 3; ++k) {
    const double whole = static_cast<double>(k + 1);
    d[k] = whole - (whole + 1) * y * static_cast<double>(n[k + 1]) / static_cast<double>(n[k]);
    if (d[k] < 0 || d[k] > whole) return fallback;
  }
  return d;
}

ModelSettings settings_of(Random& random, const Corpus& corpus, Kind kind) {
  ModelSettings settings;
  settings.kind = kind;
  if (random.chance(2)) settings.share_from = 0;
  settings.order = random.pick(std::vector<uint32_t>{0, 0, 1, 2, 3, 6});
  settings.least = random.pick(Ids{1, 1, 1, 2, 3});
  const uint32_t longest = 2 + static_cast<uint32_t>(random.below(6));
  settings.levels.push_back({{{0.5, 1.0, 1.5}}, {{0.5, 1.0, 1.5}}});
  if (kind != Kind::kInterpolated) return settings;
  settings.by_occurrences = random.chance(3);
  if (settings.by_occurrences) {
    settings.levels = {{{{}, 0.0, 1.0}, {{}, 0.0, 1.0}}};
    settings.top = settings.levels[0];
    return settings;
  }
  const CountsOfCounts found =
      count_counts(corpus.data.columns, *corpus.data.vocabulary, {longest}, nullptr);
  const bool has_concentration = random.chance(2);
  const auto smoothing_of = [&](const std::array<int64_t, 4>& n) {
    const Smoothing other{discount_of(n), has_concentration ? 0.7 : 0.0, 0.0};
    return Level{has_concentration ? Smoothing{{0.9, 1.1, 0.6}, 0.3, 0.0} : other, other};
  };
  settings.levels.clear();
  for (uint32_t n = 1; n <= longest; ++n) settings.levels.push_back(smoothing_of(found.continuation[n]));
  if (settings.order > 0) settings.top = smoothing_of(found.raw[std::min(settings.order, longest)]);
  const int64_t ones = found.continuation[1][0], twos = found.continuation[1][1];
  settings.empty = {found.n_types[2], 0, {ones, twos, found.n_types[1] - ones - twos}};
  settings.n_left_of_end = found.n_left_of_end;
  return settings;
}

// A piece of a document or two, perhaps with ids that are nowhere, borders among them.
Ids random_context(Random& random, const Corpus& corpus, uint64_t longest) {
  if (corpus.documents.empty() || random.chance(8)) return Ids(random.below(3), random.pick(Ids{-1, 0, kBegin, kEnd}));
  Ids context = random_ngram(random, corpus.documents, longest);
  if (random.chance(4)) context.push_back(random.pick(Ids{kBegin, kEnd, corpus.separator, -1}));
  if (random.chance(2)) {
    const Ids more = random_ngram(random, corpus.documents, longest);
    context.insert(context.end(), more.begin(), more.end());
  }
  // The id that means "no separator" is not a token id.
  context.erase(std::remove(context.begin(), context.end(), kNoSeparator), context.end());
  return context;
}

// ---- questions -------------------------------------------------------------------------------------------

// Estimates of each token after the context.
std::vector<Scored> estimates(const Model& model, const Ids& context, bool begins, const Ids& tokens) {
  std::vector<int64_t> joined, ends{0};
  for (size_t i = 0; i < tokens.size(); ++i) {
    joined.insert(joined.end(), context.begin(), context.end());
    ends.push_back(static_cast<int64_t>(joined.size()));
  }
  std::vector<int64_t> one_each(tokens.size() + 1);
  std::iota(one_each.begin(), one_each.end(), 0);
  const Exact<int64_t> ids(joined), offsets(ends), wanted(tokens), of_tokens(one_each);
  const Exact<uint8_t> begin(std::vector<uint8_t>(tokens.size(), begins));
  Exact<Scored> found(tokens.size());
  model.estimate(ids.data(), offsets.data(), wanted.data(), of_tokens.data(), begin.data(), tokens.size(), found.data(),
                 nullptr);
  return std::vector<Scored>(found.data(), found.data() + found.size());
}

std::vector<double> distribution(const Model& model, const Ids& context, bool begins) {
  const Exact<int64_t> ids(context);
  Exact<double> found(model.n_outcomes());
  model.distribution(ids.data(), ids.size(), begins, found.data(), nullptr);
  return std::vector<double>(found.data(), found.data() + found.size());
}

Exact<Scored> scores(const Model& model, const Documents& documents, bool sentences) {
  std::vector<int64_t> joined, ends{0};
  for (const Ids& document : documents) {
    joined.insert(joined.end(), document.begin(), document.end());
    ends.push_back(static_cast<int64_t>(joined.size()));
  }
  const Exact<int64_t> ids(joined), offsets(ends);
  Exact<Scored> found(joined.size() + (sentences ? documents.size() : 0));
  model.score(ids.data(), offsets.data(), documents.size(), sentences, found.data(), nullptr);
  return found;
}

// The corpus's types, and the end of a sentence.
Ids all_tokens(const Corpus& corpus) {
  Ids tokens;
  for (const Code code : corpus.data.vocabulary->codes) tokens.push_back(int64_t{code} - 1);
  tokens.push_back(kEnd);
  return tokens;
}

bool is_close(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-15;
}

bool same(const Scored& a, const Scored& b) {
  return is_close(a.prob, b.prob) && a.count == b.count && a.context_count == b.context_count &&
         a.effective_n == b.effective_n && a.sparse == b.sparse && a.suffix_n == b.suffix_n &&
         a.suffix_count == b.suffix_count;
}

// ---- counts ----------------------------------------------------------------------------------------------

// A document's sentences with their borders: an empty one counts, and behind a separator at the end none begins.
Documents sentences_of(const Ids& document, int64_t separator) {
  Documents sentences{{kBegin}};
  for (size_t i = 0; i < document.size(); ++i) {
    if (document[i] != separator) {
      sentences.back().push_back(document[i]);
    } else if (i + 1 < document.size()) {
      sentences.back().push_back(kEnd);
      sentences.push_back({kBegin});
    }
  }
  sentences.back().push_back(kEnd);
  return sentences;
}

std::map<Ids, int64_t> net_counts(const Corpus& corpus, size_t n) {
  std::map<Ids, int64_t> counts;
  for (size_t s = 0; s < corpus.documents.size(); ++s) {
    for (const Ids& document : corpus.documents[s]) {
      for (const Ids& sentence : sentences_of(document, corpus.separator)) {
        for (size_t i = 0; i + n <= sentence.size(); ++i) {
          counts[Ids(sentence.begin() + i, sentence.begin() + i + n)] += corpus.signs[s];
        }
      }
    }
  }
  for (auto entry = counts.begin(); entry != counts.end();) {
    entry = entry->second == 0 || entry->first == Ids{kBegin} ? counts.erase(entry) : std::next(entry);
  }
  return counts;
}

void check_counts_of_counts(const Corpus& corpus) {
  constexpr uint32_t kLongest = 4;
  const CountsOfCounts found =
      count_counts(corpus.data.columns, *corpus.data.vocabulary, {kLongest, 1, 2}, nullptr);
  const auto bump = [](std::array<int64_t, 4>& table, int64_t count) {
    if (count >= 1 && count <= 4) ++table[static_cast<size_t>(count - 1)];
  };
  for (uint32_t n = 1; n <= kLongest; ++n) {
    const std::map<Ids, int64_t> counts = net_counts(corpus, n), longer = net_counts(corpus, n + 1);
    std::map<Ids, int64_t> n_left;
    for (const auto& entry : longer) ++n_left[Ids(entry.first.begin() + 1, entry.first.end())];
    std::array<int64_t, 4> raw{}, continuation{};
    for (const auto& entry : counts) {
      bump(raw, entry.second);
      bump(continuation, entry.first[0] == kBegin ? entry.second : n_left[entry.first]);
    }
    CHECK(found.n_types[n] == static_cast<int64_t>(counts.size()));
    CHECK(found.raw[n] == raw);
    CHECK(found.continuation[n] == continuation);
    if (n == 1) CHECK(found.n_left_of_end == n_left[{kEnd}]);
    const NgramLevel level = list_ngrams(corpus.data.columns, *corpus.data.vocabulary, n, 0, nullptr);
    CHECK(level.last.size() == counts.size() && level.counts.size() == counts.size() && level.fresh.size() == counts.size());
    std::vector<int64_t> occurrences;
    for (const auto& entry : counts) occurrences.push_back(entry.second);
    std::vector<int64_t> listed = level.counts;
    std::sort(listed.begin(), listed.end());
    std::sort(occurrences.begin(), occurrences.end());
    CHECK(listed == occurrences);
  }
}

// ---- models ----------------------------------------------------------------------------------------------

void check_successors(Random& random, const Model& model, const Ids& context, bool begins) {
  const Exact<int64_t> ids(context);
  int64_t context_count = -1;
  uint32_t length = UINT32_MAX;
  const uint32_t longest = random.chance(2) ? UINT32_MAX : static_cast<uint32_t>(random.below(5));
  const auto found = model.successors(ids.data(), ids.size(), begins, longest, &context_count, &length, nullptr);
  CHECK(length <= std::min<uint64_t>(longest, context.size() + 1));
  int64_t sum = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(i == 0 || found[i - 1].first < found[i].first);
    sum += found[i].second;
  }
  CHECK(sum == context_count);
}

// The probabilities for drawing: those of all tokens of the corpus except the unknown one.
std::vector<double> shares_of(const Corpus& corpus, const Model& model, Kind kind, const Ids& context, bool begins) {
  std::vector<double> shares;
  if (kind == Kind::kInterpolated) {
    shares = distribution(model, context, begins);
    shares.pop_back();
  } else {
    // Infrequent tokens score like unknown words, and are not drawn.
    for (const Scored& scored : estimates(model, context, begins, all_tokens(corpus))) {
      shares.push_back(scored.prob > kUnknownShare ? scored.prob : 0.0);
    }
  }
  double sum = 0.0;
  for (const double share : shares) sum += share;
  for (double& share : shares) share = sum > 0.0 ? share / sum : 0.0;
  return shares;
}

void check_drawing(Random& random, const Corpus& corpus, const Model& model, Kind kind, Ids context, bool begins) {
  const Exact<int64_t> ids(context);
  if (kind != Kind::kInterpolated && kind != Kind::kBackoff) {
    bool is_refused = false;
    try {
      Sampler(model, ids.data(), ids.size(), begins, nullptr);
    } catch (const std::invalid_argument&) {
      is_refused = true;
    }
    CHECK(is_refused);
    return;
  }
  Sampler sampler(model, ids.data(), ids.size(), begins, nullptr);
  Sampler other(model, ids.data(), ids.size(), begins, nullptr);
  const Ids tokens = all_tokens(corpus);
  for (int i = 0; i < 24; ++i) {
    const uint64_t from = random.below(~uint64_t{0});
    const Drawn drawn = sampler.next(from, nullptr), again = other.next(from, nullptr);
    CHECK(drawn.id == again.id && drawn.prob == again.prob);
    const std::vector<double> shares = shares_of(corpus, model, kind, context, begins);
    if (drawn.id == Sampler::kUnknown) {
      CHECK(kind == Kind::kBackoff && drawn.prob == 0.0);
      for (const double share : shares) CHECK(share == 0.0);
      return;
    }
    const auto place = std::find(tokens.begin(), tokens.end(), drawn.id);
    CHECK(place != tokens.end() && drawn.prob > 0.0);
    CHECK(is_close(drawn.prob, shares[static_cast<size_t>(place - tokens.begin())]));
    if (drawn.id == kEnd) return;
    context.push_back(drawn.id);
  }
}

void check_distribution(const Corpus& corpus, const Model& model, const Ids& context, bool begins) {
  const std::vector<double> p = distribution(model, context, begins);
  Ids tokens = all_tokens(corpus);
  tokens.push_back(-1);
  CHECK(p.size() == tokens.size());
  double sum = 0.0;
  for (const double share : p) {
    CHECK(share >= 0.0);
    sum += share;
  }
  CHECK(is_close(sum, 1.0));
  const std::vector<Scored> found = estimates(model, context, begins, tokens);
  for (size_t i = 0; i < p.size(); ++i) CHECK(is_close(p[i], found[i].prob));
}

// A text that is read token by token has the scores of the whole one, from any state on.
void check_states(Random& random, const Corpus& corpus, const Model& model) {
  const Documents documents{random_context(random, corpus, 12)};
  const Exact<Scored> found = scores(model, documents, false);
  TextState state(model), other(model);
  for (size_t i = 0; i < documents[0].size(); ++i) {
    if (random.chance(2)) other.read(state, random.pick(all_tokens(corpus)), nullptr);
    if (random.chance(2)) {
      other = state;
      CHECK(same(state.read(other, documents[0][i], nullptr), found[i]));
    } else {
      CHECK(same(state.read(state, documents[0][i], nullptr), found[i]));
    }
    CHECK(state.context().size() <= i + 1);
  }
}

// Each token's score is its estimate after the preceding tokens of its document.
void check_scores(Random& random, const Corpus& corpus, const Model& model) {
  const bool sentences = random.chance(2);
  Documents documents(random.pick(std::vector<size_t>{1, 3, 30}));
  for (Ids& document : documents) document = random_context(random, corpus, 12);
  if (random.chance(6)) {
    while (documents[0].size() < 2100) {
      const Ids more = random_context(random, corpus, 40);
      documents[0].insert(documents[0].end(), more.begin(), more.end());
      documents[0].push_back(0);
    }
  }
  for (Ids& document : documents) {
    // Behind an end that no beginning follows an estimate is one outside of sentences.
    if (sentences) document.erase(std::remove(document.begin(), document.end(), kEnd), document.end());
  }
  const Exact<Scored> found = scores(model, documents, sentences);
  size_t first = 0;
  for (const Ids& document : documents) {
    const size_t n = document.size() + sentences;
    for (size_t i = 0; i < n; ++i) {
      // A few of the others: where long documents are cut, a context is as long as the document.
      if (n > 100 && i > 20 && (i < 1020 || i > 1030) && random.below(n) > 12) continue;
      const bool is_last = i == document.size();
      if (!is_last && document[i] == kBegin) continue;  // given, not scored
      if (is_last && i > 0 && document[i - 1] == corpus.separator) {
        CHECK(found[first + i].prob == 1.0);
        continue;
      }
      const Ids context(document.begin(), document.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(same(found[first + i], estimates(model, context, sentences, {is_last ? kEnd : document[i]})[0]));
    }
    first += n;
  }
  CHECK(first == found.size());
}

void check_models(Random& random) {
  Corpus corpus(random, random.chance(8) ? 60 : 3);
  corpus.open();
  check_counts_of_counts(corpus);
  for (const Kind kind : kKinds) {
    const Model model(&corpus.data, settings_of(random, corpus, kind), nullptr);
    for (int i = 0; i < 3; ++i) {
      const Ids context = random_context(random, corpus, 12);
      const bool begins = random.chance(2);
      check_successors(random, model, context, begins);
      check_drawing(random, corpus, model, kind, context, begins);
      if (kind == Kind::kInterpolated) check_distribution(corpus, model, context, begins);
    }
    check_scores(random, corpus, model);
    check_states(random, corpus, model);
  }
}

// ---- damage ----------------------------------------------------------------------------------------------

template <class T>
void damage(Random& random, Exact<T>& array, uint64_t n_text) {
  if (array.size() == 0 || random.chance(2)) return;
  const bool stays_within = random.chance(2);  // else most pointers are refused at once
  for (uint64_t n = random.chance(4) ? array.size() : 1 + random.below(4); n > 0; --n) {
    T& value = array[random.below(array.size())];
    const T near[] = {0, array[random.below(array.size())], static_cast<T>(random.below(n_text)),
                      static_cast<T>(random.below(4))};
    const T far[] = {static_cast<T>(~T{0}), static_cast<T>(n_text), static_cast<T>(value ^ T{1} << random.below(8)),
                     static_cast<T>(random.below(~uint64_t{0}))};
    value = stays_within ? near[random.below(4)] : far[random.below(4)];
  }
}

template <class Sym>
void damage(Random& random, Made<Sym>& made) {
  if (made.text.size() == 0) return;
  const uint64_t n_text = made.text.size();
  const uint32_t last = made.starts[made.starts.size() - 1];
  damage(random, made.text, n_text);
  damage(random, made.rows, n_text);
  damage(random, made.tree, n_text);
  damage(random, made.rest, n_text);
  damage(random, made.starts, n_text);
  // The checks when a segment is opened.
  made.starts[0] = 0;
  made.starts[made.starts.size() - 1] = last;
}

void damage(Random& random, Corpus& corpus) {
  for (auto& made : corpus.bytes) damage(random, *made);
  for (auto& made : corpus.shorts) damage(random, *made);
}

template <class Call>
void survive(Call call) {
  try {
    call();
  } catch (const CorruptPointer& e) {
    CHECK(e.file == "file");
  }
}

void ask_everything(Random& random, const Corpus& corpus, const Model& model, Kind kind) {
  for (int i = 0; i < 4; ++i) {
    const Ids context = random_context(random, corpus, 12);
    const Exact<int64_t> ids(context);
    const bool begins = random.chance(2);
    survive([&] { estimates(model, context, begins, all_tokens(corpus)); });
    survive([&] {
      int64_t context_count;
      uint32_t length;
      model.successors(ids.data(), ids.size(), begins, UINT32_MAX, &context_count, &length, nullptr);
    });
    survive([&] {
      TextState state(model);
      for (const int64_t id : context) state.read(state, id, nullptr);
    });
    if (kind == Kind::kInterpolated) survive([&] { distribution(model, context, begins); });
    if (kind != Kind::kInterpolated && kind != Kind::kBackoff) continue;
    survive([&] { model.shares(ids.data(), ids.size(), begins, nullptr); });
    survive([&] {
      Sampler sampler(model, ids.data(), ids.size(), begins, nullptr);
      for (int k = 0; k < 24; ++k) {
        const int64_t drawn = sampler.next(random.below(~uint64_t{0}), nullptr).id;
        if (drawn == kEnd || drawn == Sampler::kUnknown) break;
      }
    });
  }
  Documents documents(14);
  for (Ids& document : documents) document = random_context(random, corpus, 20);
  survive([&] { scores(model, documents, random.chance(2)); });
}

// Damaged when they are opened, or between questions, when all pointers have been seen and much is in caches.
void check_damage(Random& random) {
  Corpus corpus(random, random.chance(4) ? 60 : 3, random.chance(3));
  const bool is_late = random.chance(3);
  if (!is_late) damage(random, corpus);
  bool is_open = false;
  survive([&] {
    corpus.open();
    is_open = true;
  });
  if (!is_open) return;
  survive([&] { list_ngrams(corpus.data.columns, *corpus.data.vocabulary, 1 + static_cast<uint32_t>(random.below(4)), random.below(9), nullptr); });
  for (const Kind kind : kKinds) {
    survive([&] {
      const Model model(&corpus.data, settings_of(random, corpus, kind), nullptr);
      ask_everything(random, corpus, model, kind);
      if (!is_late) return;
      damage(random, corpus);
      ask_everything(random, corpus, model, kind);
    });
  }
}

// The successors of the beginnings of many sentences are in a cache when it leaves the text.
void check_damaged_beginnings(Random& random) {
  Corpus corpus(Documents(30 + random.below(30), Ids{1, 2}));
  corpus.open();
  const Model model(&corpus.data, settings_of(random, corpus, Kind::kInterpolated), nullptr);
  for (const uint8_t first : {2, 200}) {
    corpus.bytes[0]->text[0] = first;
    for (uint64_t from = 0; from < 20; ++from) {
      const Drawn drawn = Sampler(model, nullptr, 0, true, nullptr).next(from, nullptr);
      CHECK(drawn.id == kEnd || drawn.id == 1 || drawn.id == 2 || drawn.id == 199);
    }
  }
}

// ---- threads ---------------------------------------------------------------------------------------------

// All answers of the model to one thread, as numbers.
std::vector<double> answers_of(const Corpus& corpus, const Model& model, const Documents& documents, Kind kind) {
  std::vector<double> answers;
  const Exact<Scored> scored = scores(model, documents, true);
  for (size_t i = 0; i < scored.size(); ++i) answers.push_back(scored[i].prob);
  for (const Ids& context : documents) {
    const Exact<int64_t> ids(context);
    for (const Scored& each : estimates(model, context, true, all_tokens(corpus))) answers.push_back(each.prob);
    if (kind == Kind::kInterpolated) {
      for (const double p : distribution(model, context, true)) answers.push_back(p);
    }
    if (kind != Kind::kInterpolated && kind != Kind::kBackoff) continue;
    Sampler sampler(model, ids.data(), ids.size(), true, nullptr);
    for (uint64_t k = 0; k < 20; ++k) {
      const Drawn drawn = sampler.next(k, nullptr);
      answers.push_back(drawn.prob);
      if (drawn.id == kEnd || drawn.id == Sampler::kUnknown) break;
    }
  }
  return answers;
}

void check_threads(Random& random) {
  Corpus corpus(random, 80);
  corpus.open();
  Documents documents(10);
  for (Ids& document : documents) document = random_context(random, corpus, 12);
  for (const Kind kind : kKinds) {
    const Model model(&corpus.data, settings_of(random, corpus, kind), nullptr);
    std::vector<std::vector<double>> answers(2);
    std::vector<std::thread> threads;
    for (std::vector<double>& mine : answers) {
      threads.emplace_back([&] { mine = answers_of(corpus, model, documents, kind); });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(std::equal(answers[0].begin(), answers[0].end(), answers[1].begin(), answers[1].end(), is_close));
  }
}

// ---- all of it -------------------------------------------------------------------------------------------

const Scenario kScenarios[] = {
    {"models", check_models, 120},
    {"damage", check_damage, 400},
    {"damaged beginnings", check_damaged_beginnings, 10},
    {"threads", check_threads, 10},
};

}  // namespace model_checks

#ifndef TOGETHER
int main(int argc, char** argv) { return run_scenarios(model_checks::kScenarios, argc, argv); }
#endif
