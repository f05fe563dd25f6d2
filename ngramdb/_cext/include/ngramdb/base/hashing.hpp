// Hashes of bytes, the same in each process: some are kept in files (FORMAT.md, "Keys of documents").
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ngramdb {

inline uint64_t mixed_bits(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

inline uint64_t hash_bytes(const char* text, size_t n, uint64_t seed) {
  uint64_t hash = seed + n * 0x9e3779b97f4a7c15u;
  for (; n >= 8; text += 8, n -= 8) {
    uint64_t some;
    std::memcpy(&some, text, 8);
    hash = mixed_bits(hash ^ some) + 0x9e3779b97f4a7c15u;
  }
  uint64_t rest = 0;
  std::memcpy(&rest, text, n);
  return mixed_bits(hash ^ rest);
}

}  // namespace ngramdb
