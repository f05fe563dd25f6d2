#include "ngramdb/base/interrupt.hpp"

#include <chrono>

namespace ngramdb {

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Poll::check() {
  if (requested() || one_too_many()) throw Interrupted{StopReason::kRequested};
  const int64_t now = now_ns();
  if (own_ != nullptr && now >= own_->deadline_ns.load(std::memory_order_relaxed)) {
    throw Interrupted{StopReason::kTimeout};
  }
  if (now < visit_at_ns_) return;
  if (visit_() != 0) throw Interrupted{StopReason::kPythonError};
  visit_at_ns_ = now_ns() + kVisitInterval;
}

}  // namespace ngramdb
