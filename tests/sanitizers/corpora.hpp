// Random corpora, segments made of them, and the answers by brute force.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "check.hpp"
#include "kernels.hpp"
#include "ngramdb/corpus/corpus_index.hpp"
#include "ngramdb/segment/row_lcps.hpp"
#include "ngramdb/segment/sampled_keys.hpp"
#include "ngramdb/segment/suffix_segment.hpp"
#include "ngramdb/sort/sais.hpp"

using Ids = std::vector<int64_t>;
using Documents = std::vector<Ids>;

// Few different ids, so that n-grams repeat; sometimes those at the end of the width.
template <class Sym>
Documents random_documents(Random& random, uint32_t n_most = 14, uint32_t longest = 40) {
  const int64_t last = std::numeric_limits<Sym>::max();
  const Ids few{0, 1}, one{random.chance(2) ? last - 1 : 0}, ends{0, last - 1, last - 2, 1},
      more{0, 1, 2, 3, 4, 5, 6, 7};
  const Ids alphabet = random.pick(std::vector<Ids>{few, one, ends, more});
  Documents documents(random.below(n_most + 1));
  for (Ids& document : documents) {
    const uint64_t bound = random.pick(std::vector<uint64_t>{1, 2, 9, longest + 1});
    document.resize(random.below(bound));
    for (int64_t& id : document) id = random.pick(alphabet);
  }
  const size_t n = documents.size();
  for (size_t i = 0; n > 0 && i < n && random.chance(3); ++i) documents.push_back(documents[random.below(n)]);
  return documents;
}

// The arrays of one segment, each of exact size, and the segment over them.
template <class Sym>
struct Made {
  static constexpr uint64_t kGap = std::numeric_limits<Sym>::max();
  Exact<Sym> text;
  Exact<uint32_t> rows, starts;
  Exact<uint64_t> tree, rest;
  uint32_t lcp_width = 0;

  explicit Made(const Documents& documents) {
    std::vector<Sym> symbols;
    std::vector<uint32_t> firsts{0};
    for (const Ids& document : documents) {
      for (int64_t id : document) symbols.push_back(static_cast<Sym>(id + 1));
      symbols.push_back(0);
      firsts.push_back(static_cast<uint32_t>(symbols.size()));
    }
    text = Exact<Sym>(symbols);
    starts = Exact<uint32_t>(firsts);
    sort_rows(documents.size());
    constexpr uint32_t kWidths[] = {7, 0, 5};
    lcp_width = kWidths[documents.size() % 3];
    ngramdb::mark_lcps(text.data(), text.size(), rows.data(), rows.size(), lcp_width, nullptr, nullptr);
    tree = Exact<uint64_t>(ngramdb::tree_words(rows.size()));
    rest = Exact<uint64_t>(ngramdb::n_samples_of(rows.size()));
    if (rows.size() > 0) {
      const ngramdb::Rows marked(rows.data(), lcp_width);
      ngramdb::build_key_tree(text.data(), text.size(), marked, rows.size(), tree.data(), rest.data());
    }
  }

  std::unique_ptr<ngramdb::Segment> segment(const ngramdb::FarIndex& far = {}) const {
    ngramdb::SegmentArrays<Sym> a;
    a.text = text.data();
    a.n_text = text.size();
    a.rows = ngramdb::Rows(rows.data(), lcp_width, far.lcps);
    a.n_rows = rows.size();
    a.tree = tree.data();
    a.rest = rest.data();
    a.starts = starts.data();
    a.n_documents = starts.size() - 1;
    a.gap = kGap;
    a.far = far;
    return std::make_unique<ngramdb::SuffixSegment<Sym>>(a, "file");
  }

 private:
  // Sorted through ranks: bucket arrays of 2^32 symbols would be too large.
  void sort_rows(size_t n_documents) {
    std::vector<Sym> distinct(text.data(), text.data() + text.size());
    distinct.push_back(0);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    Exact<uint32_t> ranks(text.size()), all(text.size());
    for (size_t i = 0; i < text.size(); ++i) {
      ranks[i] = static_cast<uint32_t>(std::lower_bound(distinct.begin(), distinct.end(), text[i]) - distinct.begin());
    }
    ngramdb::suffix_sort(ranks.data(), all.data(), static_cast<uint32_t>(text.size()),
                         static_cast<uint32_t>(n_documents), static_cast<uint32_t>(distinct.size()), nullptr);
    rows = Exact<uint32_t>(text.size() - n_documents);
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = all[n_documents + i];
  }
};

// Net answers over segments with signs, from the definitions.
struct Oracle {
  std::vector<Documents> segments;
  std::vector<int> signs;

  static bool stands_at(const Ids& document, size_t at, const Ids& ngram) {
    return at + ngram.size() <= document.size() && std::equal(ngram.begin(), ngram.end(), document.begin() + at);
  }

  // Net counts of what follows the n-gram; -1 stands for a document's end.
  std::map<int64_t, int64_t> next(const Ids& ngram) const {
    std::map<int64_t, int64_t> found;
    for (size_t s = 0; s < segments.size(); ++s) {
      for (const Ids& document : segments[s]) {
        for (size_t i = 0; i < document.size(); ++i) {
          if (!stands_at(document, i, ngram)) continue;
          const size_t behind = i + ngram.size();
          found[behind < document.size() ? document[behind] : -1] += signs[s];
        }
      }
    }
    for (auto entry = found.begin(); entry != found.end();) {
      entry = entry->second == 0 ? found.erase(entry) : std::next(entry);
    }
    return found;
  }

  int64_t count(const Ids& ngram) const {
    int64_t sum = 0;
    for (const auto& entry : next(ngram)) sum += entry.second;
    return sum;
  }

  Ids usable(const Ids& context, bool longest_suffix, uint32_t order) const {
    Ids used = context;
    if (order > 0 && used.size() >= order) used.assign(context.end() - (order - 1), context.end());
    while (longest_suffix && !used.empty() && count(used) <= 0) used.erase(used.begin());
    return used;
  }

  ngramdb::Estimate estimate(const Ids& context, int64_t token, bool longest_suffix, uint32_t order) const {
    const Ids used = usable(context, longest_suffix, order);
    const std::map<int64_t, int64_t> found = next(used);
    const auto with_token = found.find(token);
    ngramdb::Estimate answer;
    answer.cont_count = token < 0 || with_token == found.end() ? 0 : with_token->second;
    for (const auto& entry : found) answer.context_count += entry.second;
    answer.effective_n = static_cast<int32_t>(used.size() + 1);
    answer.sparse = found.size() == 1 && found.begin()->first >= 0;
    return answer;
  }
};

inline bool equal(const ngramdb::Estimate& a, const ngramdb::Estimate& b) {
  return a.cont_count == b.cont_count && a.context_count == b.context_count && a.effective_n == b.effective_n &&
         a.sparse == b.sparse;
}

// A piece of a document, perhaps with one id changed to one that may be anywhere or nowhere.
inline Ids random_ngram(Random& random, const std::vector<Documents>& segments, uint64_t longest) {
  static const Ids strange{-1,  -2,    0,     1,     7,          254,        255,
                           256, 65534, 65535, 65536, 0xfffffffe, 0xffffffff, int64_t{1} << 40};
  Ids ngram;
  const Documents documents = random.pick(segments);
  if (!documents.empty()) {
    const Ids document = random.pick(documents);
    const size_t start = random.below(document.size() + 1);
    const size_t stop = start + random.below(std::min<uint64_t>(longest, document.size() - start) + 1);
    ngram.assign(document.begin() + start, document.begin() + stop);
  }
  if (random.chance(3)) ngram.push_back(random.pick(strange));
  if (random.chance(6) && !ngram.empty()) ngram[random.below(ngram.size())] = random.pick(strange);
  return ngram;
}
