// Interpolated models: a context h gives a token w what it has of w, and the rest to the next shorter context h':
//
//   P(w | h) = (a(hw) - D + R(h) · P(w | h')) / (S(h) + θ(h)),  R(h) = Σ D + what is pruned + θ(h)
//
// a(hw): different left neighbours, or occurrences; S(h): the sum of them; D: the discount of an a(hw) of 1, 2, 3 or more.
// Modified Kneser-Ney (Chen & Goodman 1999, section 3; without a limit on order: Shareghi et al. 2016, section 2) has no
// θ. Witten-Bell (Witten & Bell 1991, method C) has no discounts, and for θ the number of different tokens after h. A
// Pitman-Yor process with a table per type (Teh 2006, section 3.2) has both, and others for contexts with one token after
// them than for the rest.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "ngramdb/lm/successors.hpp"

namespace ngramdb {
namespace lm {

// Discounts D1, D2, D3+ of an n-gram length.
using Discount = std::array<double, 3>;

// The parameters of an n-gram length. θ(h) = concentration + per_type · different tokens after h.
struct Smoothing {
  Discount discount{};
  double concentration = 0.0;
  double per_type = 0.0;
};

inline double discounted(int64_t adjusted, const Discount& d) {
  if (adjusted <= 0) return 0.0;
  return static_cast<double>(adjusted) - d[static_cast<size_t>(std::min<int64_t>(adjusted, 3) - 1)];
}

// Of an n-gram length: of contexts that one token follows, and of others.
struct Level {
  Smoothing lone, other;

  const Smoothing& of(const SuccessorCounts& next) const { return next.n[0] + next.n[1] + next.n[2] == 1 ? lone : other; }
};

// θ(h). next: the tokens after h.
inline double concentration_of(const SuccessorCounts& next, const Smoothing& smoothing) {
  const double n_types = static_cast<double>(next.n[0] + next.n[1] + next.n[2]);
  return smoothing.concentration + smoothing.per_type * n_types;
}

// S(h) + θ(h).
inline double total_of(const SuccessorCounts& next, const Smoothing& smoothing) {
  return static_cast<double>(next.total) + concentration_of(next, smoothing);
}

// The share of a context's probability that goes to shorter contexts: all that is discounted or pruned, and θ(h).
inline double share_of_shorter(const SuccessorCounts& next, const Smoothing& smoothing) {
  double sum = static_cast<double>(next.pruned);
  for (size_t k = 0; k < 3; ++k) sum += smoothing.discount[k] * static_cast<double>(next.n[k]);
  return (sum + concentration_of(next, smoothing)) / total_of(next, smoothing);
}

}  // namespace lm
}  // namespace ngramdb
