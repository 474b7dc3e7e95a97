//===- Text.h - Messages and names ------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small helpers that put error messages together. Private to the library.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_TENSORIO_TEXT_H
#define NVFP4_LIB_TENSORIO_TEXT_H

#include "nvfp4/TensorIO/Expected.h"

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>

namespace nvfp4::tensorio {

inline void appendText(std::string &out, std::string_view text) { out += text; }
template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, char>)
void appendText(std::string &out, T number) {
  out += std::to_string(number);
}

/// Joins strings and integers.
template <typename... Ts> std::string concat(const Ts &...parts) {
  std::string out;
  (appendText(out, parts), ...);
  return out;
}

/// An error about `file`.
template <typename... Ts>
Error errorIn(std::string_view file, const Ts &...parts) {
  return Error{concat(file, ": ", parts...)};
}

/// Text from a file, made safe and short enough for a message: in single
/// quotes, all but printable ASCII as \xNN, long text cut in the middle.
std::string inQuotes(std::string_view text);

/// Keeps the candidate with the smallest edit distance to the wanted name, of
/// all that are offered one by one.
class NearestName {
public:
  explicit NearestName(std::string_view wanted) : wanted(wanted) {}
  void offer(std::string_view candidate);
  /// `; the nearest is 'x'`, or nothing if no candidate resembles the name.
  std::string suggestion() const;

private:
  std::string wanted;
  std::string best;
  size_t bestDistance = 0;
  bool found = false;
  size_t offered = 0;
};

} // namespace nvfp4::tensorio

#endif // NVFP4_LIB_TENSORIO_TEXT_H
