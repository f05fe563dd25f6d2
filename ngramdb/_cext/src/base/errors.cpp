// Turns what the kernels throw into Python exceptions: the one table of it.
#include "ngramdb/base/errors.hpp"

#include <Python.h>

#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>

#include "ngramdb/base/bringing.hpp"
#include "ngramdb/base/damaged_block.hpp"
#include "ngramdb/base/interrupt.hpp"
#include "ngramdb/segment/segment.hpp"

namespace ngramdb {

namespace {

PyObject* error_class(const char* name) {
  PyObject* const module = PyImport_ImportModule("ngramdb.errors");
  if (module == nullptr) return nullptr;
  PyObject* const found = PyObject_GetAttrString(module, name);
  Py_DECREF(module);
  return found;
}

// Takes over both references; either may be null, with an exception set.
void set_corruption(PyObject* message, PyObject* fields) {
  PyObject* const type = error_class("CorruptionError");
  PyObject* const args = message ? PyTuple_Pack(1, message) : nullptr;
  PyObject* const error = type && args && fields ? PyObject_Call(type, args, fields) : nullptr;
  if (error != nullptr) PyErr_SetObject(type, error);
  Py_XDECREF(error);
  Py_XDECREF(args);
  Py_XDECREF(type);
  Py_XDECREF(fields);
  Py_XDECREF(message);
}

void set_corruption_error(const CorruptPointer& e) {
  const unsigned long long row = e.row, found = e.found, n_symbols = e.limit;
  const std::string limit = "a value below " + std::to_string(e.limit);
  PyObject* const message = PyUnicode_FromFormat(
      "%s is damaged: the pointer of row %llu leads to %llu, beyond the %llu symbols of the text; "
      "run CHECK, and restore the file from a backup or load the documents again",
      e.file.c_str(), row, found, n_symbols);
  set_corruption(message, Py_BuildValue("{s:s,s:s,s:K}", "path", e.file.c_str(), "expected", limit.c_str(), "found",
                                        found));
}

void set_damage_error(const DamagedBlock& e) {
  const unsigned long long block = e.block, offset = e.offset, expected = e.expected, found = e.found;
  char sums[64];
  std::snprintf(sums, sizeof(sums), "expected crc32 0x%08x, found 0x%08x", e.expected, e.found);
  PyObject* const message =
      PyUnicode_FromFormat("%s: block %llu at byte %llu is damaged: %s; restore the file from a backup",
                           e.file.c_str(), block, offset, sums);
  set_corruption(message, Py_BuildValue("{s:s,s:K,s:K,s:K}", "path", e.file.c_str(), "offset", offset, "expected",
                                        expected, "found", found));
}

// Created where the current work and its progress are known.
void set_interrupted_error(const Interrupted& e) {
  PyObject* const module = PyImport_ImportModule("ngramdb._cext.base.interrupt");
  if (module == nullptr) return;
  PyObject* const late = e.reason == StopReason::kTimeout ? Py_True : Py_False;
  PyObject* const answer = PyObject_CallMethod(module, "raise_stopped", "O", late);
  Py_XDECREF(answer);  // null: it raises
  Py_DECREF(module);
}

}  // namespace

void translate_exception() {
  if (PyErr_Occurred()) return;
  try {
    throw;
  } catch (const CorruptPointer& e) {
    set_corruption_error(e);
  } catch (const DamagedBlock& e) {
    set_damage_error(e);
  } catch (const NotBrought& e) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(e.error.get())), e.error.get());
  } catch (const Interrupted& e) {
    set_interrupted_error(e);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::length_error&) {  // a vector of more than fits an address space
    PyErr_NoMemory();
  } catch (const std::overflow_error& e) {
    PyErr_SetString(PyExc_OverflowError, e.what());
  } catch (const std::invalid_argument& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {  // an exception that leaves this function would end the process
    PyErr_SetString(PyExc_RuntimeError, "a kernel threw something that is no std::exception");
  }
}

}  // namespace ngramdb
