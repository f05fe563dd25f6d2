// Kneser-Ney over contexts with gaps (Pickhardt et al. 2014, section 3): a context backs off to all contexts that keep one
// token less, not only to that without its farthest token.
//
//   P(w | h) = (a(hw) - D) / S(h) + g(h) · Σ_i λ_i P(w | h without its i-th token)
//
// h is a set of places before w with their tokens. a(hw): different fillings of the gaps and of one more place to the left;
// occurrences, for the whole context and for one without gaps that begins with `<s>`. λ depends on the number of tokens alone,
// so that distributions sum to 1.
//
// Nothing is stored beside the suffix arrays. The occurrences of a context are those of its rarest part, a run of tokens
// or a context with one token less, at which the other tokens are; what follows them is kept if that took long. If all
// parts are frequent, bitmaps of the places of its tokens are joined.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ngramdb/base/stoppable_sort.hpp"
#include "ngramdb/lm/language_model.hpp"

namespace ngramdb {
namespace lm {

// The places that a context keeps: bit d - 1 is the one d tokens before the token that follows.
using Kept = uint32_t;
constexpr uint32_t kMostPlaces = 7;

inline uint32_t n_kept(Kept kept) { return static_cast<uint32_t>(__builtin_popcount(kept)); }
// The distance of the farthest place.
inline uint32_t farthest_of(Kept kept) { return kept == 0 ? 0 : 32 - static_cast<uint32_t>(__builtin_clz(kept)); }
inline bool has_gaps(Kept kept) { return (kept & (kept + 1)) != 0; }

// Codes by place, the nearest first, up to `n`; `<s>` is kBorder, and the last one. A place may hold kNoCode.
struct Places {
  std::array<int64_t, kMostPlaces> codes{};
  uint32_t n = 0;

  bool begins_at(uint32_t place) const { return codes[place - 1] == int64_t{kBorder}; }
};

// True if n-grams with these places kept count by occurrences.
inline bool counts_occurrences(Kept kept, bool begins, uint32_t n_places) {
  return (begins && !has_gaps(kept)) || kept == (Kept{1} << n_places) - 1;
}

inline uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}
// A symbol at a place; sums of these identify several.
inline uint64_t hash_at(Code code, uint32_t place) {
  return mixed((uint64_t{code} << 8 | place) + 0x9e3779b97f4a7c15u);
}

// The successors of a context.
struct GappedContext {
  // A column, and the position of the token that follows.
  struct Place {
    static constexpr uint32_t kPositionBits = 44;
    Place(uint32_t column, Position next) : packed(uint64_t{column} << kPositionBits | next) {}
    uint32_t column() const { return static_cast<uint32_t>(packed >> kPositionBits); }
    Position next() const { return packed & ((uint64_t{1} << kPositionBits) - 1); }
    uint64_t packed;
  };
  SuccessorCounts counts;
  std::vector<std::pair<Code, int64_t>> adjusted;  // of each token that follows, ascending
  std::vector<Place> places;                       // all of them, or none if they are many
  bool has_places = false;

  int64_t of(Code code) const {
    const auto found = std::lower_bound(adjusted.begin(), adjusted.end(), std::pair<Code, int64_t>{code, 0});
    return found == adjusted.end() || found->first != code ? 0 : found->second;
  }
};

struct SkipSettings {
  uint32_t n_places = 1;
  std::vector<Discount> discounts;  // by Kept
  std::vector<double> alone;        // P(w) of every type, of `</s>` and of any other token
  double farthest = 1.0;            // the weight of dropping the farthest place, beside 1 for all others together
};

class SkipModel {
 public:
  using Entry = std::shared_ptr<const GappedContext>;

  SkipModel(LanguageData* data, const SkipSettings& settings) : data_(data), settings_(settings) {
    for (size_t s = 0; s < data->columns.width(); ++s) {
      n_positions_.push_back(data->columns[s].segment().n_positions());
      n_all_positions_ += n_positions_.back();
    }
  }

  // The numbers of n-grams with an a(hw) of 1 … 4, by Kept: of `from` … `to` - 1. Only n-grams whose hash is divisible are counted if
  // there are more than n_most, whatever the segments are.
  std::vector<std::array<int64_t, 4>> counts_of_counts(Kept from, Kept to, uint64_t n_most, StopFlag stop) const;

  // P(w | context) of n tokens. contexts: n_places ids each, the nearest first; kBegin ends one, kNothing does, too.
  void probabilities(const int64_t* contexts, const int64_t* tokens, size_t n, double* out, StopFlag stop) const;

  // The same of every type, of `</s>` and of any other token.
  void distribution(const int64_t* context, double* out, StopFlag stop) const;

  static constexpr int64_t kNothing = -4;

 private:
  struct Key {
    std::array<int64_t, kMostPlaces> codes{};  // those that are not kept are kNoCode
    bool operator==(const Key& other) const { return codes == other.codes; }
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      uint64_t hash = 0;
      for (const int64_t code : key.codes) hash = mixed(hash + static_cast<uint64_t>(code) + 0x9e3779b97f4a7c15u);
      return hash;
    }
  };

  // A token that follows, and a hash of the fillings.
  struct Filling {
    Code next;
    int32_t sign;
    uint64_t hash;
    bool operator<(const Filling& other) const { return next != other.next ? next < other.next : hash < other.hash; }
  };

  // The places of a token: a bit for each position of each column.
  using Bitmap = std::shared_ptr<const std::vector<std::vector<uint64_t>>>;

  // Buffers of one call.
  struct Work {
    explicit Work(const Columns& columns) : searches(columns) {}
    Searches searches;
    std::vector<Filling> fillings;
    std::array<int64_t, kMostPlaces> ids{};  // in the order of the text
    std::vector<std::pair<uint32_t, uint32_t>> runs;  // of each search: its nearest and its farthest place
    std::vector<Entry> entries;           // by Kept
    std::vector<double> shares;           // by Kept
  };

  // Contexts whose occurrences took longer to find, in rows, are kept; places up to this many with them.
  static constexpr uint64_t kKeptFrom = 24;
  static constexpr size_t kMostPlacesKept = 1u << 15;
  static constexpr size_t kMostCached = size_t{128} << 20;  // bytes
  // Bitmaps are joined if more than 1 / kJoinedFrom of all positions would have to be read.
  static constexpr uint64_t kJoinedFrom = 512;
  static constexpr size_t kMostBitmaps = size_t{128} << 20;  // bytes

  Places places_of(const int64_t* context) const {
    Places places;
    for (uint32_t i = 0; i < settings_.n_places && context[i] != kNothing; ++i) {
      places.codes[places.n++] = context[i] == kBegin ? int64_t{kBorder} : code_of(context[i]);
      if (context[i] == kBegin) break;
    }
    return places;
  }

  static Key key_of(const Places& places, Kept kept) {
    Key key;
    for (uint32_t i = 0; i < kMostPlaces; ++i) key.codes[i] = (kept >> i & 1u) != 0 ? places.codes[i] : kNoCode;
    return key;
  }

  Entry get(const Key& key) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = cache_.find(key);
    return found == cache_.end() ? nullptr : found->second;
  }
  void put(const Key& key, const Entry& entry) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const size_t size = 256 + 16 * entry->adjusted.size() + 8 * entry->places.size();
    if (n_cached_ + size > kMostCached) {
      cache_.clear();
      n_cached_ = 0;
    }
    n_cached_ += size;
    cache_[key] = entry;
  }

  const std::vector<std::vector<Position>>& starts(StopFlag stop) const {
    const std::lock_guard<std::mutex> lock(starts_mutex_);
    if (!has_starts_) {
      std::vector<std::vector<Position>> found(data_->columns.width());
      for (size_t s = 0; s < found.size(); ++s) {
        data_->columns[s].each_start(stop, [&](Position at) { found[s].push_back(at); });
      }
      starts_.swap(found);
      has_starts_ = true;
    }
    return starts_;
  }

  double probability(const int64_t* context, int64_t token, Work& work, StopFlag stop) const;
  // Fills work.entries for all contexts of the places.
  void look_up(const Places& places, Work& work, StopFlag stop) const;
  // Fills work.shares: how much of the probability each context has, after contexts that keep more; returns that of none.
  double divide(const Places& places, Work& work) const;
  Entry gather(const Places& places, Kept kept, Work& work, StopFlag stop) const;
  void add(const Places& places, Kept kept, Kept known, uint32_t column, Position next, GappedContext& found,
           Work& work) const;
  Bitmap bitmap(Code code, const Range* rows, StopFlag stop) const;
  template <class Take>
  bool join(const Places& places, Kept kept, Work& work, StopFlag stop, Kept& known, Take take) const;
  void count(GappedContext& found, bool by_occurrences, Work& work, StopFlag stop) const;
  double add_of(const GappedContext& context, int64_t adjusted, Kept kept) const {
    return discounted(adjusted, settings_.discounts[kept]) / static_cast<double>(context.counts.total);
  }

  LanguageData* data_;
  SkipSettings settings_;
  std::vector<uint64_t> n_positions_;  // of each column
  uint64_t n_all_positions_ = 0;
  mutable std::mutex bitmaps_mutex_;
  mutable std::unordered_map<Code, Bitmap> bitmaps_;
  mutable size_t n_bitmap_bytes_ = 0;
  mutable std::mutex mutex_, starts_mutex_;
  mutable std::unordered_map<Key, Entry, KeyHash> cache_;
  mutable size_t n_cached_ = 0;
  mutable std::vector<std::vector<Position>> starts_;
  mutable bool has_starts_ = false;
};

// Appends the token at `next` and its fillings, if the context is before it. Places that are `known` are not read again.
inline void SkipModel::add(const Places& places, Kept kept, Kept known, uint32_t column, Position next,
                           GappedContext& found, Work& work) const {
  const Column& text = data_->columns[column];
  const uint32_t m = farthest_of(kept);
  const bool begins = places.begins_at(m);
  if (next >= n_positions_[column]) return;  // the text ends in a border, and so a document has ended before
  const bool is_first = next + 1 == m;       // the symbol before the text is a border, too
  if (next < m && !(is_first && begins)) return;
  for (Kept left = kept & ~known; left != 0; left &= left - 1) {
    const uint32_t place = static_cast<uint32_t>(__builtin_ctz(left)) + 1;
    const Code code = place > next ? kBorder : text.code_at(next - place);
    if (int64_t{code} != places.codes[place - 1]) return;
  }
  uint64_t hash = begins ? 0 : hash_at(next == m ? kBorder : text.code_at(next - m - 1), m + 1);
  for (Kept gaps = ~kept & ((Kept{1} << (m - 1)) - 1); gaps != 0; gaps &= gaps - 1) {
    const uint32_t place = static_cast<uint32_t>(__builtin_ctz(gaps)) + 1;
    const Code code = text.code_at(next - place);
    if (code == kBorder) return;
    hash += hash_at(code, place);
  }
  work.fillings.push_back({text.code_at(next), text.sign(), hash});
  if (found.places.size() <= kMostPlacesKept) found.places.emplace_back(column, next);
}

inline void SkipModel::count(GappedContext& found, bool by_occurrences, Work& work, StopFlag stop) const {
  sort_stoppably(work.fillings.begin(), work.fillings.end(), stop);
  for (size_t i = 0; i < work.fillings.size();) {
    const Code next = work.fillings[i].next;
    int64_t adjusted = 0, total = 0;
    while (i < work.fillings.size() && work.fillings[i].next == next) {
      const uint64_t hash = work.fillings[i].hash;
      int64_t net = 0;
      for (; i < work.fillings.size() && work.fillings[i].next == next && work.fillings[i].hash == hash; ++i) {
        net += work.fillings[i].sign;
      }
      total += net;
      adjusted += net > 0;
    }
    if (by_occurrences) adjusted = total;
    if (adjusted <= 0) continue;
    found.counts.add(adjusted, true);
    found.adjusted.emplace_back(next, adjusted);
  }
}

// The places of a token, whose rows are given; null if the memory for bitmaps is used up.
inline SkipModel::Bitmap SkipModel::bitmap(Code code, const Range* rows, StopFlag stop) const {
  const std::lock_guard<std::mutex> lock(bitmaps_mutex_);
  const auto known = bitmaps_.find(code);
  if (known != bitmaps_.end()) return known->second;
  const size_t n_bytes = n_all_positions_ / 8 + 8 * n_positions_.size();
  if (n_bitmap_bytes_ + n_bytes > kMostBitmaps) return nullptr;
  const auto made = std::make_shared<std::vector<std::vector<uint64_t>>>(n_positions_.size());
  for (size_t s = 0; s < n_positions_.size(); ++s) {
    std::vector<uint64_t>& bits = (*made)[s];
    bits.assign(n_positions_[s] / 64 + 1, 0);
    constexpr Row kPiece = 512;
    Position positions[kPiece];
    for (Row lo = rows[s].lo; lo < rows[s].hi; lo += kPiece) {
      const Range piece{lo, std::min<Row>(rows[s].hi, lo + kPiece)};
      data_->columns[s].segment().positions(piece, PositionsOut(positions));
      for (uint64_t i = 0; i < piece.size(); ++i) {
        if (positions[i] < n_positions_[s]) bits[positions[i] / 64] |= uint64_t{1} << (positions[i] % 64);
      }
      spend(stop, piece.size());
    }
  }
  n_bitmap_bytes_ += n_bytes;
  return bitmaps_[code] = made;
}

// Takes all positions after the tokens that are kept, `<s>` left out, and sets which are known; false without bitmaps.
template <class Take>
bool SkipModel::join(const Places& places, Kept kept, Work& work, StopFlag stop, Kept& known, Take take) const {
  const size_t w = n_positions_.size();
  std::vector<std::pair<uint32_t, Bitmap>> joined;
  for (size_t i = 0; i < work.runs.size(); ++i) {
    const uint32_t place = work.runs[i].first;
    if (work.runs[i].second != place || (kept >> (place - 1) & 1u) == 0) continue;
    joined.emplace_back(place, bitmap(static_cast<Code>(places.codes[place - 1]), work.searches.answers.data() + i * w, stop));
    if (joined.back().second == nullptr) return false;
  }
  for (const auto& one : joined) known |= Kept{1} << (one.first - 1);
  for (size_t s = 0; s < w; ++s) {
    const size_t n_words = n_positions_[s] / 64 + 1;
    for (size_t i = 0; i < n_words; ++i) {
      uint64_t all = ~uint64_t{0};
      for (const auto& one : joined) {
        const std::vector<uint64_t>& bits = (*one.second)[s];
        all &= bits[i] << one.first | (i == 0 ? 0 : bits[i - 1] >> (64 - one.first));
      }
      for (; all != 0; all &= all - 1) take(s, 64 * i + static_cast<uint32_t>(__builtin_ctzll(all)));
      if (i % 1024 == 0) spend(stop, 256);
    }
  }
  return true;
}

inline SkipModel::Entry SkipModel::gather(const Places& places, Kept kept, Work& work, StopFlag stop) const {
  const Columns& columns = data_->columns;
  const size_t w = columns.width();
  const uint32_t m = farthest_of(kept);
  // The rarest part.
  uint64_t least = UINT64_MAX;
  size_t run = 0;
  bool has_run = false;
  const GappedContext* part = nullptr;
  for (size_t i = 0; i < work.runs.size(); ++i) {
    const Kept of_run = (Kept{1} << work.runs[i].second) - (Kept{1} << (work.runs[i].first - 1));
    if ((of_run & kept) != of_run) continue;
    const uint64_t n = columns.n_rows(work.searches.answers.data() + i * w);
    if (n < least) least = n, run = i, has_run = true;
  }
  for (uint32_t place = 1; place <= m; ++place) {
    const Kept fewer = kept & ~(Kept{1} << (place - 1));
    if (fewer == kept || fewer == 0) continue;
    const Entry& entry = work.entries[fewer];
    if (entry->has_places && entry->places.size() <= least) least = entry->places.size(), part = entry.get();
  }
  const bool at_starts = part == nullptr && !has_run;  // of `<s>` alone
  const auto made = std::make_shared<GappedContext>();
  work.fillings.clear();
  uint64_t n_read = 0;
  Kept known = 0;
  const auto take = [&](size_t column, Position next) {
    add(places, kept, known, static_cast<uint32_t>(column), next, *made, work);
    ++n_read;
    spend(stop, 2);
  };
  const bool is_joined = !at_starts && least > n_all_positions_ / kJoinedFrom && has_gaps(kept) &&
                         join(places, kept, work, stop, known, take);
  if (is_joined) {
    // All are taken.
  } else if (part != nullptr) {
    for (const GappedContext::Place& place : part->places) take(place.column(), place.next());
  } else if (at_starts) {
    const std::vector<std::vector<Position>>& all = starts(stop);
    for (size_t s = 0; s < w; ++s) {
      for (const Position start : all[s]) take(s, start + m - 1);
      for (int64_t i = 0; m == 1 && i < columns[s].n_empty(); ++i) {
        work.fillings.push_back({kBorder, columns[s].sign(), 0});
      }
    }
  } else {
    const uint32_t near = work.runs[run].first, far = work.runs[run].second;
    known = (Kept{1} << far) - (Kept{1} << (near - 1));
    constexpr Row kPiece = 32;  // rows whose text is fetched while that of the last ones is read
    Position positions[kPiece];
    for (size_t s = 0; s < w; ++s) {
      const Range rows = work.searches.answers[run * w + s];
      for (Row lo = rows.lo; lo < rows.hi; lo += kPiece) {
        const Range piece{lo, std::min<Row>(rows.hi, lo + kPiece)};
        columns[s].prefetch_rows({piece.hi, std::min<Row>(rows.hi, piece.hi + kPiece)});
        columns[s].segment().positions(piece, PositionsOut(positions));
        for (uint64_t i = 0; i < piece.size(); ++i) take(s, positions[i] + far);
      }
    }
  }
  count(*made, counts_occurrences(kept, places.begins_at(m), settings_.n_places), work, stop);
  made->has_places = made->places.size() <= kMostPlacesKept;
  if (!made->has_places) std::vector<GappedContext::Place>().swap(made->places);
  if (n_read >= kKeptFrom) {
    made->places.shrink_to_fit();
    made->adjusted.shrink_to_fit();
    put(key_of(places, kept), made);
  }
  return made;
}

inline void SkipModel::look_up(const Places& places, Work& work, StopFlag stop) const {
  static const Entry nothing = std::make_shared<GappedContext>();
  const uint32_t n = places.n;
  for (uint32_t i = 0; i < n; ++i) work.ids[i] = places.codes[n - 1 - i] - 1;
  work.searches.lookups.clear();
  work.runs.clear();
  for (uint32_t near = 1; near <= n; ++near) {
    for (uint32_t far = near; far <= n && places.codes[far - 1] > 0; ++far) {
      work.searches.lookups.push_back({Request{work.ids.data() + (n - far), far - near + 1}, nullptr});
      work.runs.emplace_back(near, far);
    }
  }
  work.searches.run(stop);
  work.entries.assign(size_t{1} << n, nullptr);
  for (Kept kept = 1; kept < Kept{1} << n; ++kept) {
    Entry& entry = work.entries[kept];
    for (uint32_t place = 1; place <= n && entry == nullptr; ++place) {
      const Kept bit = Kept{1} << (place - 1);
      if ((kept & bit) == 0) continue;
      const bool is_empty = kept != bit && work.entries[kept ^ bit]->counts.total == 0;
      if (is_empty || places.codes[place - 1] == kNoCode) entry = nothing;
    }
    if (entry == nullptr) entry = get(key_of(places, kept));
    if (entry == nullptr) entry = gather(places, kept, work, stop);
  }
}

inline double SkipModel::divide(const Places& places, Work& work) const {
  const Kept all = (Kept{1} << places.n) - 1;
  work.shares.assign(size_t{all} + 1, 0.0);
  work.shares[all] = 1.0;
  const double far = settings_.farthest / (settings_.farthest + 1.0);
  for (Kept kept = all; kept > 0; --kept) {
    const SuccessorCounts& counts = work.entries[kept]->counts;
    double left = work.shares[kept];
    if (left == 0.0) continue;
    if (counts.total > 0) {
      double sum = 0.0;
      for (size_t k = 0; k < 3; ++k) sum += settings_.discounts[kept][k] * static_cast<double>(counts.n[k]);
      left *= sum / static_cast<double>(counts.total);
    }
    const uint32_t m = farthest_of(kept), n = n_kept(kept);
    const double of_other = n == 1 ? 0.0 : left * (1.0 - far) / (n - 1);
    for (uint32_t place = 1; place < m; ++place) {
      const Kept bit = Kept{1} << (place - 1);
      if ((kept & bit) != 0) work.shares[kept ^ bit] += of_other;
    }
    work.shares[kept ^ (Kept{1} << (m - 1))] += n == 1 ? left : left * far;
  }
  return work.shares[0];
}

inline double SkipModel::probability(const int64_t* context, int64_t token, Work& work, StopFlag stop) const {
  const Places places = places_of(context);
  look_up(places, work, stop);
  const int64_t code = token == kEnd ? int64_t{kBorder} : code_of(token);
  const size_t n_types = data_->vocabulary->size();
  const int64_t type = data_->vocabulary->find(code);
  const size_t at = token == kEnd ? n_types : type < 0 ? n_types + 1 : static_cast<size_t>(type);
  double p = divide(places, work) * settings_.alone[at];
  for (Kept kept = 1; kept < work.entries.size() && code != kNoCode; ++kept) {
    const GappedContext& found = *work.entries[kept];
    if (work.shares[kept] == 0.0 || found.counts.total == 0) continue;
    p += work.shares[kept] * add_of(found, found.of(static_cast<Code>(code)), kept);
  }
  return p;
}

inline void SkipModel::probabilities(const int64_t* contexts, const int64_t* tokens, size_t n, double* out,
                                     StopFlag stop) const {
  constexpr size_t kPiece = 32;
  std::atomic<size_t> next{0};
  ThreadTeam team(n < 8 * kPiece ? nullptr : &CoreBudget::of_machine(), stop);
  team.run([&](uint32_t thread) {
    Poll poll = team.poll_of(thread);
    Work work(data_->columns);
    for (size_t from; (from = next.fetch_add(kPiece)) < n;) {
      for (size_t i = from; i < std::min(n, from + kPiece); ++i) {
        out[i] = probability(contexts + i * settings_.n_places, tokens[i], work, &poll);
      }
      poll.check(from, n);
    }
  });
}

inline void SkipModel::distribution(const int64_t* context, double* out, StopFlag stop) const {
  Work work(data_->columns);
  const Places places = places_of(context);
  look_up(places, work, stop);
  const double rest = divide(places, work);
  for (size_t i = 0; i < settings_.alone.size(); ++i) out[i] = rest * settings_.alone[i];
  for (Kept kept = 1; kept < work.entries.size(); ++kept) {
    const GappedContext& found = *work.entries[kept];
    spend(stop, found.adjusted.size());
    if (work.shares[kept] == 0.0) continue;
    for (const auto& next : found.adjusted) {
      const int64_t type = next.first == kBorder ? static_cast<int64_t>(data_->vocabulary->size())
                                                 : data_->vocabulary->find(next.first);
      if (type >= 0) out[type] += work.shares[kept] * add_of(found, next.second, kept);
    }
  }
}

inline std::vector<std::array<int64_t, 4>> SkipModel::counts_of_counts(Kept from, Kept to, uint64_t n_most,
                                                                       StopFlag stop) const {
  struct Seen {
    uint64_t key, filling;
    int64_t sign;
    bool operator<(const Seen& other) const { return key != other.key ? key < other.key : filling < other.filling; }
  };
  const Columns& columns = data_->columns;
  const uint32_t k = settings_.n_places;
  const uint64_t n_all = static_cast<uint64_t>(columns.n_tokens() + columns.n_sentences()) * (to - from);
  const uint64_t one_in = std::max<uint64_t>(1, n_all / std::max<uint64_t>(1, n_most));
  std::vector<std::vector<Seen>> seen(2 * size_t{to - from});  // by Kept, then whether by occurrences
  std::vector<uint64_t> sums(size_t{1} << k);
  std::vector<Code> codes;
  std::array<uint64_t, kMostPlaces + 1> hashes{};
  // The n-grams that end in `next` after the places, of which the last one is `<s>` if it `begins`.
  const auto take = [&](Code next, uint32_t n, bool begins, int64_t sign) {
    const uint64_t of_next = hash_at(next, 0);
    for (Kept kept = 1; kept < std::min<Kept>(to, Kept{1} << std::min(n, k)); ++kept) {
      sums[kept] = sums[kept & (kept - 1)] + hashes[static_cast<size_t>(__builtin_ctz(kept))];
      if (kept < from) continue;
      const uint64_t key = mixed(of_next + sums[kept] + kept);
      if (key % one_in != 0) continue;
      const uint32_t m = farthest_of(kept);
      const bool begins_here = begins && m == n;
      // All places up to the next one on the left, without those that are kept.
      uint64_t filling = begins_here ? 0 : hashes[m];
      for (uint32_t place = 1; place < m; ++place) {
        if ((kept >> (place - 1) & 1u) == 0) filling += hashes[place - 1];
      }
      const bool by_occurrences = counts_occurrences(kept, begins_here, k);
      seen[2 * size_t{kept - from} + by_occurrences].push_back({key, filling, sign});
    }
    spend(stop, to - from);
  };
  for (size_t s = 0; s < columns.width(); ++s) {
    const Column& column = columns[s];
    const auto read_sentence = [&](Position at) {
      codes.assign(1, kBorder);
      for (bool has_ended = false; !has_ended;) {
        const Code next = column.code_at(at++);
        const uint32_t n = static_cast<uint32_t>(std::min<size_t>(codes.size(), k + 1));
        for (uint32_t place = 1; place <= n; ++place) hashes[place - 1] = hash_at(codes[codes.size() - place], place);
        take(next, n, codes.size() == n && codes[0] == kBorder, column.sign());
        has_ended = next == kBorder;
        codes.push_back(next);
        if (codes.size() > 1024) codes.erase(codes.begin(), codes.end() - (k + 1));
      }
    };
    column.each_start(stop, read_sentence);
    if (column.n_empty() > 0) {
      hashes[0] = hash_at(kBorder, 1);
      take(kBorder, 1, true, column.sign() * column.n_empty());
    }
  }
  std::vector<std::array<int64_t, 4>> found(to - from);
  for (size_t i = 0; i < seen.size(); ++i) {
    std::vector<Seen>& of_kept = seen[i];
    sort_stoppably(of_kept.begin(), of_kept.end(), stop);
    for (size_t j = 0; j < of_kept.size();) {
      const uint64_t key = of_kept[j].key;
      int64_t adjusted = 0, total = 0;
      while (j < of_kept.size() && of_kept[j].key == key) {
        const uint64_t filling = of_kept[j].filling;
        int64_t net = 0;
        for (; j < of_kept.size() && of_kept[j].key == key && of_kept[j].filling == filling; ++j) net += of_kept[j].sign;
        total += net;
        adjusted += net > 0;
      }
      if (i % 2 == 1) adjusted = total;
      if (adjusted >= 1 && adjusted <= 4) ++found[i / 2][static_cast<size_t>(adjusted - 1)];
    }
  }
  return found;
}

}  // namespace lm
}  // namespace ngramdb
