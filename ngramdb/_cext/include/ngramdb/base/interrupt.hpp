// Stopping a kernel from outside, and telling how far it is.
//
// A kernel that may run for more than a few milliseconds takes a `StopFlag` (a pointer to its own Poll, or null) and
// calls `check_stop(stop)` after every piece of work of at most a few milliseconds; a check costs about 25 ns. It throws
// when the work must stop: at the request of another thread, at a deadline, or because Python code that was
// run meanwhile (a signal's handler, a progress callback) raised. Kernels leave by that exception and clean up by
// their destructors.
#pragma once

#include <atomic>
#include <cstdint>

namespace ngramdb {

// Why a kernel was left early.
enum class StopReason { kRequested, kTimeout, kPythonError };

struct Interrupted {
  StopReason reason;
};

constexpr int64_t kNever = INT64_MAX;
// The interval between two visits to Python: well below the 100 ms within which Ctrl-C must work, but rare since waiting for
// the GIL (5 ms while other threads run Python code) costs little.
constexpr int64_t kVisitInterval = 30'000'000;

// Pieces of work between two checks if one takes ten to a hundred nanoseconds: a few milliseconds.
constexpr uint32_t kStopInterval = 1u << 16;

// Nanoseconds of a clock that never goes back.
int64_t now_ns();

// State of a piece of work that threads share: whether it must stop, and its progress.
struct StopState {
  std::atomic<uint32_t> n_requests{0};
  std::atomic<int64_t> deadline_ns{kNever};
  // Looks until the work stops, for tests that stop it at each of them in turn.
  std::atomic<int64_t> polls_left{kNever};
  // The work proceeds in steps; a kernel is within the one from `done` to `done + step`. Shares of 1.
  std::atomic<double> done{0.0};
  std::atomic<double> step{0.0};
  std::atomic<double> fraction{-1.0};  // negative: not known

  // Counts a look; returns true if it is one too many.
  bool count_poll() {
    if (polls_left.load(std::memory_order_relaxed) == kNever) return false;
    return polls_left.fetch_sub(1, std::memory_order_relaxed) <= 0;
  }

  void begin_step(double from, double length) {
    done.store(from, std::memory_order_relaxed);
    step.store(length, std::memory_order_relaxed);
    fraction.store(from, std::memory_order_relaxed);
  }
  void set_within_step(double share) {
    const double length = step.load(std::memory_order_relaxed);
    const double reached = done.load(std::memory_order_relaxed) + length * share;
    // A second kernel within the step does not go back.
    if (length > 0.0 && reached > fraction.load(std::memory_order_relaxed)) {
      fraction.store(reached, std::memory_order_relaxed);
    }
  }
};

// One thread's view of it, made for one call of a kernel.
class Poll {
 public:
  // Takes the GIL, lets Python do what is due, returns non-zero when that raised.
  using Visit = int (*)();

  Poll() = default;
  Poll(StopState* own, StopState* parent, uint32_t parent_before, Visit visit)
      : own_(own), parent_(parent), parent_before_(parent_before), visit_(visit) {
    if (visit != nullptr) visit_at_ns_ = now_ns() + kVisitInterval;
  }

  // The same for a member of a team: work also ends when `failed` is set. Helpers do not visit Python.
  Poll for_member(const std::atomic<bool>* failed, bool is_helper) const {
    Poll member = *this;
    member.failed_ = failed;
    if (is_helper) {
      member.visit_ = nullptr;
      member.visit_at_ns_ = kNever;
    }
    return member;
  }

  void check();

  // Adds n units of work, of about ten nanoseconds each, and checks after every kStopInterval of them.
  void spend(uint64_t n) {
    n_spent_ += n;
    if (n_spent_ < kStopInterval) return;
    n_spent_ = 0;
    check();
  }

  // The same, with word of how much of this call's work is done.
  void check(uint64_t done, uint64_t total) {
    if (own_ != nullptr && total > 0) own_->set_within_step(static_cast<double>(done) / static_cast<double>(total));
    check();
  }

 private:
  bool requested() const {
    return (own_ != nullptr && own_->n_requests.load(std::memory_order_relaxed) != 0) ||
           (failed_ != nullptr && failed_->load(std::memory_order_relaxed)) ||
           (parent_ != nullptr && parent_->n_requests.load(std::memory_order_relaxed) != parent_before_);
  }

  // Both count, since a test holds the parent of what a verb makes.
  bool one_too_many() {
    return (own_ != nullptr && own_->count_poll()) || (parent_ != nullptr && parent_->count_poll());
  }

  StopState* own_ = nullptr;
  StopState* parent_ = nullptr;
  uint32_t parent_before_ = 0;
  Visit visit_ = nullptr;
  int64_t visit_at_ns_ = kNever;
  uint64_t n_spent_ = 0;
  const std::atomic<bool>* failed_ = nullptr;
};

using StopFlag = Poll*;

inline void check_stop(StopFlag stop) {
  if (stop != nullptr) stop->check();
}

inline void check_stop(StopFlag stop, uint64_t done, uint64_t total) {
  if (stop != nullptr) stop->check(done, total);
}

// For loops whose rounds may take a nanosecond or a second, as those over contexts of any length do: counts units of
// work in place of rounds.
inline void spend(StopFlag stop, uint64_t n) {
  if (stop != nullptr) stop->spend(n);
}

}  // namespace ngramdb
