// Numbers in files are little-endian. Kernels read words of mapped files unchanged, and find the first byte in which
// two words differ in the lowest bits.
#pragma once

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "ngramdb needs a little-endian machine"
#endif
