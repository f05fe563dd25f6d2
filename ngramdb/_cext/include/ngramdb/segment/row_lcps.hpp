// Telling rows their LCPs (rows.hpp): by a pass over the text, for rows that come without.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ngramdb/base/thread_team.hpp"
#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/segment/keys.hpp"
#include "ngramdb/base/prefetch.hpp"
#include "ngramdb/segment/rows.hpp"

namespace ngramdb {

// Key of the suffix at a position; the text ends in a separator.
template <class Sym>
inline Key key_at(const Sym* text, uint64_t n_text, uint64_t position) {
  constexpr uint32_t per_word = symbols_per_word<Sym>();
  if (position + 2 * per_word <= n_text) {
    const uint64_t first = load_word(text + position), rest = load_word(text + position + per_word);
    // Bits from a separator on do not count.
    if (zeros_in<Sym>(first) == 0 && zeros_in<Sym>(rest) == 0) return {first, rest};
  }
  return pack_suffix(text + position, n_text - position);
}

// Adds LCPs to rows that are positions only. Every position must be below n_text, and leave the upper lcp_width bits
// free.
//
// Cost: an independent random read per row, shared by as many threads as there are free cores.
template <class Sym>
void mark_lcps(const Sym* text, uint64_t n_text, uint32_t* rows, uint64_t n_rows, uint32_t lcp_width, CoreBudget* cores,
               StopFlag stop) {
  constexpr uint64_t kAhead = 32;
  if (lcp_width == 0 || n_rows == 0) return;
  const uint32_t shift = 32 - lcp_width, most = most_lcp(lcp_width);
  ThreadTeam team(cores, stop);
  const auto first_of = [&](uint32_t t) { return n_rows * t / team.size(); };
  // The rows before the threads' shares: another thread will write to them.
  std::vector<uint32_t> before(team.size());
  for (uint32_t t = 1; t < team.size(); ++t) before[t] = rows[std::max<uint64_t>(first_of(t), 1) - 1];
  team.run([&](uint32_t t) {
    const uint64_t start = first_of(t), end = first_of(t + 1);
    Key last = start == 0 ? Key{0, 0} : key_at(text, n_text, before[t]);
    for (uint64_t row = start; row < end; ++row) {
      if ((row - start) % kStopInterval == 0) team.look(t);
      if (row + kAhead < end) prefetch_line(text + rows[row + kAhead]);
      const Key key = key_at(text, n_text, rows[row]);
      const uint32_t lcp = row == 0 ? 0 : std::min(common_bits(last, key), most);
      rows[row] |= lcp << shift;
      last = key;
    }
  });
}

}  // namespace ngramdb
