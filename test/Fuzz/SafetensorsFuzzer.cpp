//===- SafetensorsFuzzer.cpp - Fuzzes the readers of checkpoints ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each input is read as a safetensors file, as the JSON header of one (the
// length and the data are put around it), as an index of shards and as a
// specification on a command line. Every tensor of an accepted file must lie
// inside the file and be readable.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Checkpoint.h"
#include "nvfp4/TensorIO/Statistics.h"
#include "nvfp4/TensorIO/TensorRef.h"

#include <cstdlib>
#include <cstring>

using namespace nvfp4::tensorio;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

static void readFile(std::span<const std::byte> bytes) {
  Expected<SafetensorsFile> file =
      SafetensorsFile::parse("input", bytes, nullptr);
  if (!file) {
    require(!file.message().empty());
    return;
  }
  for (const SafetensorsEntry &entry : file->entries()) {
    require(file->find(entry.name) == &entry);
    Expected<Tensor> tensor = file->tensor(entry.name);
    if (!tensor)
      continue;
    require(tensor->sizeInBytes() == entry.end - entry.begin);
    require(tensor->sizeInBytes() == 0 ||
            (tensor->data() >= bytes.data() &&
             tensor->data() + tensor->sizeInBytes() <=
                 bytes.data() + bytes.size()));
    require(computeStatistics(*tensor).elements == tensor->numElements());
    (void)file->tensor(entry.name, DType::F8E4M3FN);
  }
  require(!file->tensor("no such tensor"));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  std::string_view text(reinterpret_cast<const char *>(data), size);
  readFile(bytes);

  // Behind the JSON come as many bytes as the first offset pair asks for, if
  // they are few: this lets valid files appear without a matching length.
  uint64_t length = size, dataSize = 0;
  if (size_t key = text.rfind("data_offsets\":["); key != text.npos)
    if (size_t comma = text.find(',', key); comma != text.npos)
      dataSize = std::strtoull(std::string(text.substr(comma + 1, 8)).c_str(),
                               nullptr, 10) %
                 4096;
  std::string wrapped(reinterpret_cast<const char *>(&length), 8);
  wrapped += text;
  wrapped.append(dataSize, '\x7f');
  readFile(std::as_bytes(std::span(wrapped.data(), wrapped.size())));

  (void)parseCheckpointIndex("input", text);
  if (Expected<TensorRef> ref = TensorRef::parse(text)) {
    Expected<TensorRef> again = TensorRef::parse(ref->str());
    require(bool(again));
    require(again->path == ref->path && again->tensor == ref->tensor &&
            again->dtype == ref->dtype && again->kind == ref->kind);
  }
  return 0;
}
