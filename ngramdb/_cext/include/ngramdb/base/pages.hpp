// Maps of files, and hints to the system about how they will be read. Answers do not depend on hints.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#if !defined(_WIN32)
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace ngramdb {

enum class Reading {
  kUsual,       // the system reads some pages around the one that is needed
  kAtRandom,    // that page alone
  kLargePages,  // as kUsual, with large pages (2 MB or the machine's size) if the file system supports them
  kSoon,        // these bytes will be needed: their pages may be read now
  kNow,         // the same, and the call returns when they have been read
  kDone,        // this process needs them no longer: they do not count as its memory
};

#if !defined(_WIN32)
inline size_t page_size() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// Maps the first `n` bytes of a file for reading; null with errno if the system fails or the file is shorter. n > 0
inline void* map_file(int fd, size_t n) {
  struct stat file;
  if (fstat(fd, &file) != 0) return nullptr;
  if (static_cast<uint64_t>(file.st_size) < n) {
    errno = EINVAL;
    return nullptr;
  }
  void* const mapped = mmap(nullptr, n, PROT_READ, MAP_SHARED, fd, 0);
  return mapped == MAP_FAILED ? nullptr : mapped;
}
inline void unmap(void* mapped, size_t n) { munmap(mapped, n); }

// Says so of the pages with `n` bytes; whether the system took it.
//
// With kDone, pages that also contain other bytes are kept. The memory must be a file's, unchanged.
inline bool advise(const void* bytes, size_t n, Reading how) {
  int advice = MADV_NORMAL;
  if (how == Reading::kAtRandom) advice = MADV_RANDOM;
  if (how == Reading::kSoon) advice = MADV_WILLNEED;
#if defined(MADV_HUGEPAGE)
  if (how == Reading::kLargePages) advice = MADV_HUGEPAGE;
#endif
#if defined(MADV_POPULATE_READ)
  if (how == Reading::kNow) advice = MADV_POPULATE_READ;
#elif defined(__linux__)
  if (how == Reading::kNow) advice = 22;  // of Linux 5.14, which older headers lack
#else
  if (how == Reading::kNow) advice = MADV_WILLNEED;
#endif
  const uintptr_t start = reinterpret_cast<uintptr_t>(bytes), first = start / page_size() * page_size();
  if (how == Reading::kDone) {
    const uintptr_t from = (start + page_size() - 1) / page_size() * page_size();
    const uintptr_t stop = (start + n) / page_size() * page_size();
    return from >= stop || madvise(reinterpret_cast<void*>(from), stop - from, MADV_DONTNEED) == 0;
  }
  return n == 0 || madvise(reinterpret_cast<void*>(first), start + n - first, advice) == 0;
}

// Returns the number of bytes in memory, counted in whole pages.
inline uint64_t resident(const void* bytes, size_t n) {
#if defined(__APPLE__)
  std::vector<char> is_there;
#else
  std::vector<unsigned char> is_there;
#endif
  constexpr size_t kPages = 1 << 16;  // asked for at a time
  const uintptr_t start = reinterpret_cast<uintptr_t>(bytes), stop = start + n;
  uint64_t found = 0;
  for (uintptr_t at = start / page_size() * page_size(); at < stop; at += kPages * page_size()) {
    const size_t length = static_cast<size_t>(stop - at) < kPages * page_size() ? stop - at : kPages * page_size();
    is_there.assign((length + page_size() - 1) / page_size(), 0);
    if (mincore(reinterpret_cast<void*>(at), length, is_there.data()) != 0) return found;
    for (size_t i = 0; i < is_there.size(); ++i) {
      if ((is_there[i] & 1) == 0) continue;
      const uintptr_t first = at + i * page_size(), last = first + page_size();
      found += (last < stop ? last : stop) - (first > start ? first : start);
    }
  }
  return found;
}
#else
inline void* map_file(int, size_t) {
  errno = ENOSYS;
  return nullptr;
}
inline void unmap(void*, size_t) {}
inline bool advise(const void*, size_t, Reading) { return false; }
inline uint64_t resident(const void*, size_t) { return 0; }
#endif

}  // namespace ngramdb
