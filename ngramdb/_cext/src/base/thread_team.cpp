#include "ngramdb/base/thread_team.hpp"

#include <chrono>

namespace ngramdb {

void ThreadTeam::run(const Work& work) {
  if (size() == 1) return work(0);
  std::vector<std::thread> threads;
  threads.reserve(size() - 1);
  while (threads.size() + 1 < size() && start(threads, work)) {
  }
  guarded([&] { work(0); });
  for (uint32_t i = static_cast<uint32_t>(threads.size()) + 1; i < size(); ++i) guarded([&] { work(i); });
  join(threads);
}

void ThreadTeam::share(const std::function<bool(uint32_t)>& piece) {
  const Work all_pieces = [&](uint32_t i) {
    while (piece(i)) {
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(kMostThreads);
  guarded([&] {
    bool may_grow = cores_ != nullptr;
    do {
      while (may_grow && has_core(threads.size())) may_grow = start(threads, all_pieces);
    } while (piece(0));
  });
  join(threads);
}

bool ThreadTeam::has_core(size_t n_threads) {
  if (n_threads + 1 == size() && n_more_ + 1 < kMostThreads) n_more_ += cores_->take(1);
  return n_threads + 1 < size();
}

bool ThreadTeam::start(std::vector<std::thread>& threads, const Work& work) {
  const uint32_t i = static_cast<uint32_t>(threads.size()) + 1;
  ++n_running_;
  try {
    threads.emplace_back([this, &work, i] {
      guarded([&] { work(i); });
      const std::lock_guard<std::mutex> lock(mutex_);
      --n_running_;
      ended_.notify_one();
    });
  } catch (const std::exception&) {
    --n_running_;
    return false;
  }
  return true;
}

void ThreadTeam::join(std::vector<std::thread>& threads) {
  guarded([&] { wait(); });
  for (std::thread& thread : threads) thread.join();
  if (error_) std::rethrow_exception(error_);
}

void ThreadTeam::guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::current_exception();
    failed_ = true;
  }
}

void ThreadTeam::wait() {
  constexpr std::chrono::milliseconds between_looks{10};
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ended_.wait_for(lock, between_looks, [&] { return n_running_ == 0; })) {
    lock.unlock();
    look(0);
    lock.lock();
  }
}

}  // namespace ngramdb
