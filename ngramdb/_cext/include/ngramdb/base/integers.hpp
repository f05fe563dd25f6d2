// Reading Python integers quickly: an n-gram of a thousand ids is read in a microsecond or two.
#pragma once

#include <Python.h>

#include <cstdint>

namespace ngramdb {

// The value of a Python int of one digit (below 2^30, negative ones included in some versions); false for any other
// object, which is then read by the general way.
inline bool small_int(PyObject* object, int64_t* value) {
  if (!PyLong_CheckExact(object)) return false;
#if PY_VERSION_HEX >= 0x030C0000
  PyLongObject* const number = reinterpret_cast<PyLongObject*>(object);
  if (!PyUnstable_Long_IsCompact(number)) return false;
  *value = PyUnstable_Long_CompactValue(number);
  return true;
#else
  const Py_ssize_t n_digits = Py_SIZE(object);
  if (n_digits != 0 && n_digits != 1) return false;
  *value = n_digits == 0 ? 0 : static_cast<int64_t>(reinterpret_cast<PyLongObject*>(object)->ob_digit[0]);
  return true;
#endif
}

}  // namespace ngramdb
