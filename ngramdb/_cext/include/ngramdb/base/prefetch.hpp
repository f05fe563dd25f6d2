// Asking the memory for a cache line before it is read.
#pragma once

namespace ngramdb {

// The empty statement after it makes it an effect: gcc takes a function that only prefetches for an empty one, and
// drops the calls of it.
inline void prefetch_line(const void* address) {
  __builtin_prefetch(address);
  asm volatile("");
}

// For much that is needed a while later.
inline void prefetch_line_to_second_cache(const void* address) {
  __builtin_prefetch(address, 0, 2);
  asm volatile("");
}

inline void prefetch_line_to_write(const void* address) {
  __builtin_prefetch(address, 1);
  asm volatile("");
}

}  // namespace ngramdb
