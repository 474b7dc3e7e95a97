//===- TensorRef.h - Tensors named on a command line ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The way tools name a tensor:
//   a.npy                          the array of the file
//   model.safetensors:layer.weight one tensor of a file
//   model.safetensors              the only tensor of a file
//   model.safetensors.index.json:w one tensor of a sharded checkpoint
//   checkpoint/:w                  the same, by directory (note the slash)
// each with an optional `@dtype` that names the type of raw or integer data:
// `scales.npy@f8_e4m3fn`.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_TENSORREF_H
#define NVFP4_TENSORIO_TENSORREF_H

#include "nvfp4/TensorIO/Checkpoint.h"
#include "nvfp4/TensorIO/Tensor.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace nvfp4::tensorio {

/// A parsed specification.
struct TensorRef {
  enum class Kind { Npy, Safetensors };

  Kind kind = Kind::Npy;
  /// The file or directory.
  std::string path;
  /// The tensor's name; empty for the only tensor of a file.
  std::string tensor;
  /// The type after `@`.
  std::optional<DType> dtype;

  /// Parses `spec` without touching the file system. The tensor's name starts
  /// after the first `.safetensors:`, `.json:` or `/:`; `@` starts a type if no
  /// '.', '/' or ':' follows it.
  static Expected<TensorRef> parse(std::string_view spec);

  /// The specification as text.
  std::string str() const;
};

/// Loads tensors and keeps the checkpoints open between calls.
class TensorLoader {
public:
  /// The tensor that `ref` names; its memory may be that of the mapped file.
  Expected<Tensor> load(const TensorRef &ref);
  /// Parses and loads.
  Expected<Tensor> load(std::string_view spec);

private:
  std::map<std::string, std::shared_ptr<const Checkpoint>> open;
};

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_TENSORREF_H
