// Turns what the kernels throw into Python exceptions.
#pragma once

namespace ngramdb {

// For Cython's `except +`: called with the GIL, inside the handler.
void translate_exception();

}  // namespace ngramdb
