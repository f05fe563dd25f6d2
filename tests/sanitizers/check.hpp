// Shared by all scenarios of the driver: a check that names its seed, random numbers, arrays of exact size.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

inline const char* scenario = "";
inline uint64_t seed = 0;

#define CHECK(condition)                                                                                         \
  do {                                                                                                           \
    if (!(condition)) {                                                                                          \
      std::fprintf(stderr, "%s:%d: %s: seed %llu: failed: %s\n", __FILE__, __LINE__, scenario,                   \
                   static_cast<unsigned long long>(seed), #condition);                                           \
      std::exit(1);                                                                                              \
    }                                                                                                            \
  } while (false)

class Random {
 public:
  explicit Random(uint64_t from) : engine_(from) {}
  // A number in [0, n), n >= 1.
  uint64_t below(uint64_t n) { return std::uniform_int_distribution<uint64_t>(0, n - 1)(engine_); }
  bool chance(uint32_t one_in) { return below(one_in) == 0; }
  template <class T>
  T pick(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  std::mt19937_64 engine_;
};

// An array on the heap that ends where its last value does: reading one beyond is found.
template <class T>
class Exact {
 public:
  Exact() = default;
  explicit Exact(size_t n) : data_(new T[n]()), n_(n) {}
  explicit Exact(const std::vector<T>& values) : Exact(values.size()) {
    for (size_t i = 0; i < n_; ++i) data_[i] = values[i];
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return n_; }
  T& operator[](size_t i) { return data_[i]; }
  T operator[](size_t i) const { return data_[i]; }

 private:
  std::unique_ptr<T[]> data_;
  size_t n_ = 0;
};

struct Scenario {
  const char* name;
  void (*check)(Random&);
  uint64_t rounds;
};

// Runs every scenario, each round from a seed of its own; prints a line a scenario; exits with 1 at the first wrong
// answer. Arguments, each with a default: how many times the usual rounds, the first seed, the one scenario to run.
template <size_t kCount>
int run_scenarios(const Scenario (&scenarios)[kCount], int argc, char** argv) {
  const uint64_t times = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  for (const Scenario& s : scenarios) {
    scenario = s.name;
    if (argc > 3 && std::strcmp(argv[3], s.name) != 0) continue;
    for (seed = first; seed < first + times * s.rounds; ++seed) {
      Random random(seed);
      s.check(random);
    }
    std::printf("%s: %llu rounds\n", s.name, static_cast<unsigned long long>(times * s.rounds));
  }
  return 0;
}
