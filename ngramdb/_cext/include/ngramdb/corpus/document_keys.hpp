// Stored keys of documents: records in the order of keys and documents, searched for many keys at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "ngramdb/base/checksums.hpp"
#include "ngramdb/base/interrupt.hpp"

namespace ngramdb {

// A key and a document that has it, as in a file: 12 bytes.
struct KeyRecord {
  uint32_t low, high, document;

  uint64_t key() const { return uint64_t{high} << 32 | low; }
};
static_assert(sizeof(KeyRecord) == 12 && alignof(KeyRecord) == 4);

// The rank of a document that does not count.
constexpr uint32_t kNoRank = UINT32_MAX;

class KeyRecords {
 public:
  // With `sums`, records are verified when they are read.
  KeyRecords(const KeyRecord* records, size_t n, Checksums* sums) : records_(records), n_(n), sums_(sums) {}

  // Appends, for each of these ascending keys, the ranks of the first `most` documents with it that count, and as often
  // the key's number. Throws std::invalid_argument for a document without a rank.
  void find(const uint64_t* keys, size_t n_keys, const uint32_t* ranks, size_t n_documents, uint32_t most,
            std::vector<uint32_t>& which, std::vector<uint32_t>& found, StopFlag stop) const {
    size_t at = n_keys == 0 ? 0 : first_from(0, keys[0], n_);
    for (size_t i = 0; i < n_keys; ++i) {
      if (i % 256 == 0) check_stop(stop);
      at = first_from(at, keys[i], 1);
      uint32_t n_found = 0;
      for (size_t k = at; k < n_ && n_found < most; ++k) {
        const KeyRecord& one = record(k);
        if (one.key() != keys[i]) break;
        if (one.document >= n_documents) throw std::invalid_argument("a stored key belongs to no document");
        if ((k - at + 1) % kStopInterval == 0) check_stop(stop);
        if (ranks[one.document] == kNoRank) continue;
        which.push_back(static_cast<uint32_t>(i));
        found.push_back(ranks[one.document]);
        ++n_found;
      }
    }
  }

 private:
  const KeyRecord& record(size_t i) const {
    if (sums_ != nullptr) sums_->verify_at(records_ + i, 1);
    return records_[i];
  }

  // The first record from `at` on whose key is not smaller: steps double from `step`.
  size_t first_from(size_t at, uint64_t key, size_t step) const {
    size_t low = at, high = at;
    while (high < n_ && record(high).key() < key) {
      low = high + 1;
      high = step < n_ - high ? high + step : n_;
      step *= 2;
    }
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (record(middle).key() < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  const KeyRecord* records_;
  size_t n_;
  Checksums* sums_;
};

}  // namespace ngramdb
