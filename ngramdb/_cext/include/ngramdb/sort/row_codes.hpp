// Codes by which a merge tells which of two rows comes first without reading their text.
//
// A suffix is taken as a string of words of 8 bytes, those of its key (keys.hpp) and those after them. Its *code* after
// a smaller suffix says how many words the two share, and begins with the word that differs. Of two suffixes with codes
// after the same third one, the smaller code belongs to the smaller suffix; and where codes differ, the larger one is
// also the code after the smaller suffix. So a tournament compares integers, and reads text only where codes are equal
// (offset-value coding: Conner, "Offset-value coding", IBM Technical Disclosure Bulletin, 1977; Do and Graefe, "Robust
// and efficient sorting with offset-value coding", ACM Transactions on Database Systems, 2023).
//
// From the highest bit: 16 for the words that are shared, more words being fewer; the first bits of the next word; the
// number of the input, `run_bits`, which decides where suffixes are equal.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ngramdb {

class RowCodes {
 public:
  explicit RowCodes(uint32_t run_bits) : run_bits_(run_bits) {}

  // Of a suffix that shares `n_words` words with the one before it, the next one being `word`.
  uint64_t of(uint64_t n_words, uint64_t word, uint32_t run) const {
    // Beyond kMostWords codes of all numbers of words are the same.
    if (__builtin_expect(n_words >= kMostWords, 0)) {
      n_words = kMostWords;
      word = 0;
    }
    return (kNothingShared - n_words) << 48 | (word >> 16 & ~run_mask()) | run;
  }
  // Of a suffix that is equal to the one before it.
  uint64_t equal(uint32_t run) const { return run; }
  // Of an input that has come to its end.
  uint64_t over(uint32_t run) const { return (kNothingShared + 1) << 48 | run; }

  uint32_t run_of(uint64_t code) const { return static_cast<uint32_t>(code & run_mask()); }
  // Whether codes say nothing about the order.
  bool same(uint64_t a, uint64_t b) const { return (a ^ b) >> run_bits_ == 0; }
  static bool is_equal(uint64_t code) { return code >> 48 == 0; }
  static bool is_over(uint64_t code) { return code >> 48 == kNothingShared + 1; }

 private:
  static constexpr uint64_t kNothingShared = 0xFFFE;
  static constexpr uint64_t kMostWords = kNothingShared - 1;

  uint64_t run_mask() const { return (uint64_t{1} << run_bits_) - 1; }

  uint32_t run_bits_;
};

}  // namespace ngramdb
