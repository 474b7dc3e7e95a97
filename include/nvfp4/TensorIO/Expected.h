//===- Expected.h - A value or an error message -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The result types of TensorIO. No exception crosses the library's interface:
// what can fail returns a Status or an Expected, and every message names the
// file, what was expected and what was found.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_EXPECTED_H
#define NVFP4_TENSORIO_EXPECTED_H

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace nvfp4::tensorio {

/// Why an operation failed: one line, lower-case start, no full stop.
struct Error {
  std::string message;
};

/// Success, or an Error. Converts to true on success.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : error(std::move(error)), failed(true) {}

  explicit operator bool() const { return !failed; }
  /// The message of a failure; empty on success.
  const std::string &message() const { return error.message; }
  /// Moves the error out, to pass it on from a function of another type.
  Error takeError() {
    assert(failed && "success carries no error");
    return std::move(error);
  }

private:
  Error error;
  bool failed = false;
};

/// A value of type T, or an Error. Converts to true when it holds a value.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : storage(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error) : storage(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return storage.index() == 0; }
  T &operator*() & { return get(); }
  const T &operator*() const & { return get(); }
  T &&operator*() && { return std::move(get()); }
  T *operator->() { return &get(); }
  const T *operator->() const { return &get(); }

  /// The message of a failure; empty on success.
  std::string message() const {
    const Error *error = std::get_if<1>(&storage);
    return error ? error->message : std::string();
  }
  /// Moves the error out, to pass it on from a function of another type.
  Error takeError() {
    Error *error = std::get_if<1>(&storage);
    assert(error && "a value carries no error");
    return std::move(*error);
  }

private:
  T &get() {
    T *value = std::get_if<0>(&storage);
    assert(value && "dereferenced an Expected that holds an error");
    return *value;
  }
  const T &get() const {
    const T *value = std::get_if<0>(&storage);
    assert(value && "dereferenced an Expected that holds an error");
    return *value;
  }

  std::variant<T, Error> storage;
};

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_EXPECTED_H
