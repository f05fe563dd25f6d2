// Bytes of a file that are not here, brought by a Python object; its error reaches the kernel's caller as it was raised.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>

namespace ngramdb {

// Thrown if they cannot be fetched. Threads without an interpreter state may throw and discard it.
struct NotBrought {
  std::shared_ptr<PyObject> error;
};

// Calls `source(start, stop, table_start, table_stop, again)`; the GIL may be held or not.
inline void bring_by(PyObject* source, uint64_t start, uint64_t stop, uint64_t table_start, uint64_t table_stop,
                     bool again) {
  const PyGILState_STATE state = PyGILState_Ensure();
  using Number = unsigned long long;
  PyObject* const answer =
      PyObject_CallFunction(source, "KKKKO", static_cast<Number>(start), static_cast<Number>(stop),
                            static_cast<Number>(table_start), static_cast<Number>(table_stop), again ? Py_True : Py_False);
  PyObject* error = nullptr;
  if (answer == nullptr) {
    PyObject *type = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (trace != nullptr) PyException_SetTraceback(error, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
  }
  Py_XDECREF(answer);
  PyGILState_Release(state);
  if (answer != nullptr) return;
  throw NotBrought{std::shared_ptr<PyObject>(error, [](PyObject* one) {
    const PyGILState_STATE held = PyGILState_Ensure();
    Py_XDECREF(one);
    PyGILState_Release(held);
  })};
}

}  // namespace ngramdb
