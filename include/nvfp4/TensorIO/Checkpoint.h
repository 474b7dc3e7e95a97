//===- Checkpoint.h - Safetensors checkpoints of one or many files --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One name space over a checkpoint, be it a single .safetensors file or the
// shards that a model.safetensors.index.json lists.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TENSORIO_CHECKPOINT_H
#define NVFP4_TENSORIO_CHECKPOINT_H

#include "nvfp4/TensorIO/Safetensors.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nvfp4::tensorio {

/// An open checkpoint. All shards are mapped and validated when it is opened.
class Checkpoint {
public:
  /// Opens a `.safetensors` file, an index (`*.index.json`), or a directory
  /// that holds `model.safetensors.index.json`, or `model.safetensors`, or
  /// other files of that kind, which have no tensor in common. Shard names must
  /// be plain file names beside the index, and each tensor of the index must be
  /// in its shard.
  static Expected<Checkpoint> open(const std::string &path);

  const std::string &path() const { return name; }
  /// The files, in the order of their names for an index.
  std::span<const SafetensorsFile> files() const { return shards; }
  /// All tensor names, sorted.
  std::vector<std::string> names() const;

  /// The entry called `tensorName`, or null.
  const SafetensorsEntry *find(std::string_view tensorName) const;

  /// As SafetensorsFile::tensor.
  Expected<Tensor> tensor(std::string_view tensorName,
                          std::optional<DType> dtype = std::nullopt) const;

private:
  static Expected<Checkpoint> openDirectory(const std::string &path);
  static Expected<Checkpoint> openIndex(const std::string &path);
  /// All tensors of `files`, each of which has its own names.
  static Expected<Checkpoint> openFiles(const std::string &path,
                                        const std::vector<std::string> &files);

  std::string name;
  std::vector<SafetensorsFile> shards;
  std::map<std::string, size_t, std::less<>> shardOf;
};

/// Reads the `weight_map` of the text of an index: tensor name to file name.
/// `name` stands for the file in messages.
Expected<std::map<std::string, std::string>>
parseCheckpointIndex(const std::string &name, std::string_view text);

} // namespace nvfp4::tensorio

#endif // NVFP4_TENSORIO_CHECKPOINT_H
