//===- Checkpoint.cpp - Safetensors checkpoints of one or many files ------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The index of a sharded checkpoint, and the look-up over all shards.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Checkpoint.h"
#include "JsonEvents.h"
#include "nvfp4/TensorIO/MappedFile.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace nvfp4::tensorio {

namespace fs = std::filesystem;

namespace {
/// Reads `{"metadata": anything, "weight_map": {"tensor": "file", ...}}`.
class IndexEvents final : public JsonEvents {
public:
  using JsonEvents::JsonEvents;

  std::map<std::string, std::string> weightMap;
  bool haveMap = false;

  bool unexpected(std::string_view kind) override {
    if (skipped)
      return true;
    if (depth == 0)
      return fail("expected a JSON object, but got ", kind);
    if (inMap)
      return fail("expected a file name for tensor ", inQuotes(lastKey),
                  ", but got ", kind);
    if (depth == 1 && lastKey == "weight_map")
      return fail("expected an object for 'weight_map', but got ", kind);
    return true;
  }
  bool start_object(size_t size) override {
    if (depth == 0 || skipped)
      return enter();
    if (inMap)
      return JsonEvents::start_object(size);
    if (lastKey != "weight_map") {
      skipped = depth;
      return enter();
    }
    inMap = true;
    return enter();
  }
  bool start_array(size_t size) override {
    if (!skipped) {
      if (depth == 0 || inMap || lastKey == "weight_map")
        return JsonEvents::start_array(size);
      skipped = depth;
    }
    return enter();
  }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t &text) override {
    if (skipped)
      return true;
    lastKey = text;
    if (inMap && weightMap.contains(text))
      return fail("expected one tensor ", inQuotes(text), ", but got two");
    if (!inMap && text == "weight_map") {
      if (haveMap)
        return fail("expected one key 'weight_map', but got two");
      haveMap = true;
    }
    return true;
  }
  bool string(string_t &text) override {
    if (!inMap)
      return JsonEvents::string(text);
    // A shard lies beside the index; a path could lead anywhere.
    if (text.empty() || text.front() == '.' ||
        text.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
      return fail("expected a plain file name for tensor ", inQuotes(lastKey),
                  ", but got ", inQuotes(text));
    weightMap.emplace(lastKey, text);
    return true;
  }

private:
  static constexpr size_t maxDepth = 64;

  bool enter() {
    if (depth == maxDepth)
      return fail("expected JSON nested at most ", maxDepth,
                  " deep, but got more");
    ++depth;
    return true;
  }
  bool leave() {
    --depth;
    if (depth == skipped)
      skipped = 0;
    if (inMap && depth == 1)
      inMap = false;
    return true;
  }

  size_t depth = 0;
  /// The depth at which a value of no interest began; 0 outside one.
  size_t skipped = 0;
  bool inMap = false;
  std::string lastKey;
};
} // namespace

Expected<std::map<std::string, std::string>>
parseCheckpointIndex(const std::string &name, std::string_view text) {
  IndexEvents events(name);
  if (Status status = events.read(text); !status)
    return status.takeError();
  if (!events.haveMap)
    return errorIn(name, "expected the key 'weight_map', but got none");
  return std::move(events.weightMap);
}

static Expected<std::map<std::string, std::string>>
readCheckpointIndex(const std::string &path) {
  Expected<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  std::span<const std::byte> bytes = (*file)->bytes();
  // The same limit as for the header of one file.
  if (bytes.size() > maxSafetensorsHeader)
    return errorIn(path, "expected an index of at most ", maxSafetensorsHeader,
                   " bytes, but got ", bytes.size());
  return parseCheckpointIndex(
      path, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
}

Expected<Checkpoint> Checkpoint::open(const std::string &path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return openDirectory(path);
  return path.ends_with(".json") ? openIndex(path) : openFiles(path, {path});
}

Expected<Checkpoint> Checkpoint::openDirectory(const std::string &path) {
  std::error_code error;
  for (const char *file :
       {"model.safetensors.index.json", "model.safetensors"}) {
    fs::path candidate = fs::path(path) / file;
    if (fs::exists(candidate, error))
      return open(candidate.string());
  }
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".safetensors")
      files.push_back(entry->path().string());
  if (error)
    return errorIn(path, "cannot list the directory: ", error.message());
  if (files.empty())
    return errorIn(path, "expected a directory with "
                         "'model.safetensors.index.json' or files that end "
                         "with '.safetensors', but got neither");
  std::sort(files.begin(), files.end());
  return openFiles(path, files);
}

Expected<Checkpoint>
Checkpoint::openFiles(const std::string &path,
                      const std::vector<std::string> &files) {
  Checkpoint checkpoint;
  checkpoint.name = path;
  for (const std::string &name : files) {
    Expected<SafetensorsFile> file = SafetensorsFile::open(name);
    if (!file)
      return file.takeError();
    for (const SafetensorsEntry &entry : file->entries()) {
      auto [position, isNew] =
          checkpoint.shardOf.emplace(entry.name, checkpoint.shards.size());
      if (!isNew)
        return errorIn(path, "expected one tensor ", inQuotes(entry.name),
                       ", but got two, in ",
                       inQuotes(checkpoint.shards[position->second].path()),
                       " and ", inQuotes(name));
    }
    checkpoint.shards.push_back(*std::move(file));
  }
  return checkpoint;
}

Expected<Checkpoint> Checkpoint::openIndex(const std::string &path) {
  Expected<std::map<std::string, std::string>> weightMap =
      readCheckpointIndex(path);
  if (!weightMap)
    return weightMap.takeError();
  Checkpoint checkpoint;
  checkpoint.name = path;
  std::map<std::string, size_t> shardIndex;
  for (const auto &[tensor, shard] : *weightMap)
    shardIndex.emplace(shard, 0);
  for (auto &[shard, position] : shardIndex) {
    Expected<SafetensorsFile> file =
        SafetensorsFile::open((fs::path(path).parent_path() / shard).string());
    if (!file)
      return file.takeError();
    position = checkpoint.shards.size();
    checkpoint.shards.push_back(*std::move(file));
  }
  for (const auto &[tensor, shard] : *weightMap) {
    size_t position = shardIndex[shard];
    if (!checkpoint.shards[position].find(tensor))
      return errorIn(path, "expected tensor ", inQuotes(tensor), " in ",
                     inQuotes(shard), ", but that file has none of that name");
    checkpoint.shardOf.emplace(tensor, position);
  }
  return checkpoint;
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> result;
  result.reserve(shardOf.size());
  for (const auto &[tensor, position] : shardOf)
    result.push_back(tensor);
  return result;
}

const SafetensorsEntry *Checkpoint::find(std::string_view tensorName) const {
  auto position = shardOf.find(tensorName);
  return position == shardOf.end() ? nullptr
                                   : shards[position->second].find(tensorName);
}

Expected<Tensor> Checkpoint::tensor(std::string_view tensorName,
                                    std::optional<DType> dtype) const {
  auto position = shardOf.find(tensorName);
  if (position != shardOf.end())
    return shards[position->second].tensor(tensorName, dtype);
  NearestName nearest(tensorName);
  for (const auto &[candidate, shard] : shardOf)
    nearest.offer(candidate);
  return errorIn(name, "expected a tensor ", inQuotes(tensorName),
                 ", but the checkpoint has none of that name",
                 nearest.suggestion());
}

} // namespace nvfp4::tensorio
