// CRC-32 as in zlib and gzip (polynomial 0xEDB88320): eight bytes at a time by tables, or by carry-less multiplication
// if the processor supports it, about ten times faster.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ngramdb {

// The CRC of bytes that follow those whose CRC is given (0: of none).
uint32_t crc32(uint32_t before, const uint8_t* data, size_t n);

}  // namespace ngramdb
