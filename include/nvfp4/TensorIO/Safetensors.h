//===- Safetensors.h - The safetensors file format --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reader and writer of single .safetensors files: eight bytes of header
// length, a JSON header, then the tensors' bytes without holes. The header is
// validated in full before a tensor is handed out. Checkpoints of several
// files are in Checkpoint.h.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_SAFETENSORS_H
#define NVFP4_TENSORIO_SAFETENSORS_H

#include "nvfp4/TensorIO/SafetensorsEntry.h"
#include "nvfp4/TensorIO/Tensor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nvfp4::tensorio {

/// The longest header that the format allows, in bytes.
inline constexpr uint64_t maxSafetensorsHeader = 100000000;

/// An open .safetensors file. Tensors refer to its bytes and keep them alive.
class SafetensorsFile {
public:
  /// Maps and validates the file at `path`.
  static Expected<SafetensorsFile> open(const std::string &path);

  /// Validates `bytes`, which live as long as `owner`. `name` stands for the
  /// file in messages.
  static Expected<SafetensorsFile> parse(const std::string &name,
                                         std::span<const std::byte> bytes,
                                         std::shared_ptr<const void> owner);

  const std::string &path() const { return name; }
  /// The tensors in the order of their bytes in the file.
  std::span<const SafetensorsEntry> entries() const { return tensors; }
  const SafetensorsMetadata &metadata() const { return attributes; }

  /// The entry called `tensorName`, or null.
  const SafetensorsEntry *find(std::string_view tensorName) const;

  /// The tensor called `tensorName`. With `dtype`, the bytes are read as that
  /// type of the same size; the file must hold integers or say the same type.
  /// A missing name fails and names the nearest one.
  Expected<Tensor> tensor(std::string_view tensorName,
                          std::optional<DType> dtype = std::nullopt) const;

private:
  std::string name;
  std::vector<SafetensorsEntry> tensors;
  std::map<std::string, size_t, std::less<>> index;
  SafetensorsMetadata attributes;
  std::span<const std::byte> data;
  std::shared_ptr<const void> owner;
};

/// A tensor to write under a name.
struct NamedTensor {
  std::string name;
  Tensor tensor;
  /// Declares a u8 tensor as packed E2M1: the file says `F4` and twice the
  /// last dimension.
  bool packedF4 = false;
};

/// Writes `tensors` in the given order, with the data section aligned to 64
/// bytes. Names must differ from each other and from `__metadata__`. An
/// existing file is replaced at once, after everything has been written.
Status writeSafetensors(const std::string &path,
                        std::span<const NamedTensor> tensors,
                        const SafetensorsMetadata &metadata = {});

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_SAFETENSORS_H
