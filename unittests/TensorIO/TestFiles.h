//===- TestFiles.h - Files for the tests of TensorIO ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Temporary directories and byte strings put together by hand, so that the
// readers are not tested against our own writers only.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_UNITTESTS_TENSORIO_TESTFILES_H
#define NVFP4_UNITTESTS_TENSORIO_TESTFILES_H

#include "nvfp4/TensorIO/Tensor.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace nvfp4::tensorio::test {

/// A directory that goes away with the object.
class TemporaryDirectory {
public:
  TemporaryDirectory() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "nvfp4-tensorio-XXXXXX")
            .string();
    directory = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
  std::string operator/(std::string_view name) const {
    return (directory / name).string();
  }
  /// Writes a file and returns its path.
  std::string write(std::string_view name, std::string_view content) const {
    std::string path = *this / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  size_t countFiles() const {
    return std::distance(std::filesystem::directory_iterator(directory), {});
  }

private:
  std::filesystem::path directory;
};

inline std::string readFile(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::span<const std::byte> asBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// The object representation of some numbers.
template <typename T> std::string rawBytes(std::initializer_list<T> values) {
  return {reinterpret_cast<const char *>(std::data(values)),
          values.size() * sizeof(T)};
}

/// A .npy file with `dictionary` as its header.
inline std::string npyFile(std::string_view dictionary, std::string_view data,
                           int major = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(major);
  file += '\0';
  uint32_t length = dictionary.size();
  file.append(reinterpret_cast<const char *>(&length), major == 1 ? 2 : 4);
  file += dictionary;
  file += data;
  return file;
}

/// A safetensors file with `json` as its header.
inline std::string safetensorsFile(std::string_view json,
                                   std::string_view data) {
  uint64_t length = json.size();
  std::string file(reinterpret_cast<const char *>(&length), 8);
  file += json;
  file += data;
  return file;
}

/// All elements as doubles.
inline std::vector<double> values(const Tensor &tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    result.push_back(tensor.at(i));
  return result;
}

inline std::vector<int64_t> shapeOf(const Tensor &tensor) {
  return {tensor.shape().begin(), tensor.shape().end()};
}

/// A tensor whose bytes count up from `first`.
inline Tensor counting(DType dtype, std::vector<int64_t> shape,
                       unsigned first = 1) {
  Tensor tensor = *Tensor::allocate(dtype, std::move(shape));
  for (std::byte &byte : tensor.mutableBytes())
    byte = std::byte(first++ & 0xff);
  return tensor;
}

inline bool sameTensor(const Tensor &a, const Tensor &b) {
  return a.dtype() == b.dtype() && std::ranges::equal(a.shape(), b.shape()) &&
         std::ranges::equal(a.bytes(), b.bytes());
}

} // namespace nvfp4::tensorio::test

#endif // NVFP4_UNITTESTS_TENSORIO_TESTFILES_H
