// What is thrown when a block of a file is not what it was when it was written.
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
