// Large arrays that come and go, and memory that is free inside of this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>  // defines __GLIBC__ if it is that library
#include <new>
#include <type_traits>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace ngramdb {

// Gives back what the allocator keeps for later. For kernels that are about to need much, once in a while: freed
// pieces of megabytes stay in the allocator's heaps, where large arrays find no room.
inline void return_free_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// Returns to the system the pages within an array that are not read again, up to the last boundary of large
// ones: of a part of a large page it would get nothing, and have to split it. The array itself stays valid.
inline void release_pages(void* array, size_t n_bytes) {
#if defined(__unix__) || defined(__APPLE__)
  constexpr uintptr_t kLargePage = uintptr_t{1} << 21;
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)), start = reinterpret_cast<uintptr_t>(array);
  const uintptr_t first = (start + page - 1) / page * page, end = (start + n_bytes) / kLargePage * kLargePage;
  if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
#endif
}

// Lets the system provide the pages of an array that is about to be written to all over, in order and with looks
// between: calls look() after every megabyte. The system would else provide many large pages at once, in a tenth of a
// second or more. What is in the array is lost.
template <class Look>
void touch_pages(void* array, size_t n_bytes, Look look) {
  constexpr size_t kPage = 4096, kBetweenLooks = size_t{1} << 20;
  volatile uint8_t* const bytes = static_cast<uint8_t*>(array);
  for (size_t at = 0; at < n_bytes; at += kPage) {
    if (at % kBetweenLooks == 0) look();
    bytes[at] = 0;
  }
}

// An array of zeros in pages of its own. The system has them back at once when it goes: what threads free would stay in
// their heaps else, and that adds up.
template <class T>
class Pages {
  static_assert(std::is_trivially_copyable<T>::value, "elements are bytes here");

 public:
  Pages() = default;
  explicit Pages(size_t n) { allocate(n); }
  ~Pages() { release(); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  Pages(Pages&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }

  // Room for n elements at least; what was in it is lost if it grows.
  void reserve(size_t n) {
    if (n <= size_) return;
    release();
    allocate(n);
  }

 private:
  void allocate(size_t n) {
    if (n == 0) return;
    if (n > static_cast<size_t>(-1) / sizeof(T)) throw std::bad_alloc();
#if defined(__unix__) || defined(__APPLE__)
    void* const found = mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
    constexpr size_t kWorthHugePages = size_t{8} << 20;
    if (n * sizeof(T) >= kWorthHugePages) madvise(found, n * sizeof(T), MADV_HUGEPAGE);
#endif
#else
    void* const found = std::calloc(n, sizeof(T));
    if (found == nullptr) throw std::bad_alloc();
#endif
    data_ = static_cast<T*>(found);
    size_ = n;
  }

  void release() {
    if (data_ == nullptr) return;
#if defined(__unix__) || defined(__APPLE__)
    munmap(data_, size_ * sizeof(T));
#else
    std::free(data_);
#endif
    data_ = nullptr;
    size_ = 0;
  }

  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace ngramdb
