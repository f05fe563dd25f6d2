// Threads for kernels that work on several; whoever builds several segments at once shares one number of cores.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "ngramdb/base/interrupt.hpp"

namespace ngramdb {

// The number of further threads that may work. Every working thread counts, including those that call the kernels.
class CoreBudget {
 public:
  explicit CoreBudget(int n) : free_(n) {}

  // Takes up to `wanted`; returns how many.
  int take(int wanted) {
    int free = free_.load();
    for (;;) {
      const int taken = free < wanted ? (free > 0 ? free : 0) : wanted;
      if (taken == 0 || free_.compare_exchange_weak(free, free - taken)) return taken;
    }
  }
  // Those of this machine that this process may use, for questions; one is the caller's. The variable NGRAMDB_CORES,
  // read when they are first wanted, makes them fewer: for processes that have a share of a machine.
  static CoreBudget& of_machine() {
    static CoreBudget cores(n_usable() - 1);
    return cores;
  }

  static int n_usable() {
    const int n = static_cast<int>(std::thread::hardware_concurrency());
    const char* const given = std::getenv("NGRAMDB_CORES");
    const int most = given == nullptr ? 0 : std::atoi(given);
    return most > 0 && most < n ? most : n;
  }

  // Takes one, there or not: for a thread that works anyway.
  void join() { --free_; }
  void give(int n) { free_ += n; }

 private:
  std::atomic<int> free_;
};

// The calling thread and, for the team's lifetime, as many others as cores are free; more where work can be shared out
// while it runs.
class ThreadTeam {
 public:
  // No others without `cores`. `stop` is checked by the calling thread only.
  ThreadTeam(CoreBudget* cores, StopFlag stop)
      : cores_(cores), n_more_(cores == nullptr ? 0 : cores->take(kMostThreads - 1)), stop_(stop) {}
  ~ThreadTeam() {
    if (n_more_ > 0) cores_->give(n_more_);
  }
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  uint32_t size() const { return 1 + static_cast<uint32_t>(n_more_); }

  // For member `i` to call every few milliseconds: throws Interrupted if the work must stop, or a part of it threw.
  void look(uint32_t i) {
    if (i == 0) check_stop(stop_);
    if (failed_.load(std::memory_order_relaxed)) throw Interrupted{StopReason::kRequested};
  }

  // The poll that member `i` passes to kernels that check for interrupts themselves.
  Poll poll_of(uint32_t i) const {
    return (stop_ == nullptr ? Poll() : *stop_).for_member(&failed_, i > 0);
  }

  // Calls work(0) … work(size() - 1), each once, at the same time as far as threads can be had, work(0) in the calling
  // thread. What the first of them throws is thrown again when all have ended.
  void run(const std::function<void(uint32_t)>& work);

  // Calls piece(i) again and again, i being 0 in the calling thread and below kMostThreads, until it returns false: in as
  // many threads as cores are free, also such as become free meanwhile.
  void share(const std::function<bool(uint32_t)>& piece);

  // More than this many share one memory to no gain.
  static constexpr int kMostThreads = 16;

 private:
  using Work = std::function<void(uint32_t)>;

  // Returns true if there is a core for one more thread, reserving it if necessary.
  bool has_core(size_t n_threads);

  // Starts work(i) in a thread, i being the number of threads then; false if no further thread can be started.
  bool start(std::vector<std::thread>& threads, const Work& work);

  // Waits until all have ended.
  void join(std::vector<std::thread>& threads);

  // Keeps the first exception that is thrown.
  void guarded(const std::function<void()>& work);

  // Waits for the others, with interrupt checks on their behalf.
  void wait();

  CoreBudget* const cores_;
  int n_more_;
  const StopFlag stop_;
  std::atomic<uint32_t> n_running_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable ended_;
  std::exception_ptr error_;
};

}  // namespace ngramdb
