// Thrown if a block of a file differs from its state when it was written.
#pragma once

#include <cstdint>
#include <string>

namespace ngramdb {

struct DamagedBlock {
  std::string file;
  uint64_t block;
  uint64_t offset;
  uint32_t expected;
  uint32_t found;
};

}  // namespace ngramdb
