// Graphs that are kept between calls: what one text has taught serves the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ngramdb/lm/suffix_graph.hpp"

namespace ngramdb {
namespace lm {

class GraphPool {
 public:
  // A graph for one thread. It goes back to the pool, unless an exception left it half made.
  class Lease {
   public:
    Lease(GraphPool& pool, size_t width, bool has_records) : pool_(pool), n_exceptions_(std::uncaught_exceptions()) {
      const std::lock_guard<std::mutex> lock(pool_.mutex_);
      if (pool_.graphs_.empty()) {
        graph_ = std::make_unique<SuffixGraph>(width, has_records);
      } else {
        graph_ = std::move(pool_.graphs_.back());
        pool_.graphs_.pop_back();
      }
      graph_->set_limit(kBytesOfAll / std::max(kMostFull, ++pool_.n_leased_));
    }
    ~Lease() {
      const std::lock_guard<std::mutex> lock(pool_.mutex_);
      --pool_.n_leased_;
      if (std::uncaught_exceptions() > n_exceptions_) return;
      if (pool_.graphs_.size() < kMostKept) pool_.graphs_.push_back(std::move(graph_));
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    SuffixGraph& operator*() const { return *graph_; }

   private:
    GraphPool& pool_;
    int n_exceptions_;
    std::unique_ptr<SuffixGraph> graph_;
  };

 private:
  // Two graphs are kept, of at most 4 MB each, more only after a text that repeats itself: larger ones cost more in the
  // caches than they save in searches. If more threads than four have one, each new one is smaller.
  static constexpr size_t kMostKept = 2;
  static constexpr size_t kBytesOfAll = size_t{1} << 24;
  static constexpr size_t kMostFull = 4;

  std::mutex mutex_;
  size_t n_leased_ = 0;
  std::vector<std::unique_ptr<SuffixGraph>> graphs_;
};

}  // namespace lm
}  // namespace ngramdb
