//===- ListTensors.cpp - What nvfp4-tensors does ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The work of nvfp4-tensors: names, types, shapes and statistics of the tensors
// of a file or checkpoint, and copies of single ones.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/ListTensors.h"

#include "nvfp4/TensorIO/Npy.h"
#include "nvfp4/TensorIO/OutputFile.h"
#include "nvfp4/TensorIO/Statistics.h"
#include "nvfp4/TensorIO/TensorRef.h"

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

using namespace nvfp4::tensorio;
using namespace nvfp4::tools;

/// Names come from files: no control characters reach the terminal.
static std::string printable(std::string text) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return text;
}

static void printValues(const Tensor &tensor, const ListOptions &options) {
  if (options.values) {
    Statistics statistics = computeStatistics(tensor);
    if (statistics.hasRange())
      std::printf("  min %.6g  max %.6g", statistics.min, statistics.max);
    if (statistics.nans)
      std::printf("  NaN %" PRId64, statistics.nans);
    if (statistics.infinities)
      std::printf("  Inf %" PRId64, statistics.infinities);
  }
  std::printf("\n");
  if (options.print == 0)
    return;
  std::printf("   ");
  for (int64_t i = 0; i < tensor.numElements() && i < options.print; ++i) {
    // The shortest text that reads back as the same double.
    char text[32];
    char *end = std::to_chars(text, std::end(text), tensor.at(i)).ptr;
    std::printf(" %.*s", int(end - text), text);
  }
  std::printf(options.print < tensor.numElements() ? " ...\n" : "\n");
}

static void printTensor(const std::string &label, const Tensor &tensor,
                        const ListOptions &options) {
  std::printf("%s  %s  %zu bytes", printable(label).c_str(),
              tensor.describe().c_str(), tensor.sizeInBytes());
  printValues(tensor, options);
}

/// Lists a whole checkpoint. Types that cannot be held are listed without
/// values.
static Status listCheckpoint(const std::string &path,
                             const ListOptions &options) {
  Expected<Checkpoint> checkpoint = Checkpoint::open(path);
  if (!checkpoint)
    return checkpoint.takeError();
  std::vector<std::string> names = checkpoint->names();
  std::printf("%s: %zu tensors in %zu files\n", path.c_str(), names.size(),
              checkpoint->files().size());
  for (const SafetensorsFile &file : checkpoint->files())
    for (const auto &[key, value] : file.metadata())
      std::printf("  metadata %s: %s\n", printable(key).c_str(),
                  printable(value).c_str());
  for (const std::string &name : names) {
    const SafetensorsEntry *entry = checkpoint->find(name);
    std::printf("  %s  %s %s  %" PRIu64 " bytes", printable(name).c_str(),
                formatShape(entry->shape).c_str(), entry->fileDType.c_str(),
                entry->end - entry->begin);
    // The values of packed E2M1 are codes and say nothing.
    Expected<Tensor> tensor = checkpoint->tensor(name);
    if (tensor && entry->fileDType != "F4")
      printValues(*tensor, options);
    else
      std::printf("\n");
  }
  return {};
}

static Status list(const std::string &spec, const ListOptions &options) {
  bool directory = spec.find_last_of(":@") == std::string::npos &&
                   !spec.ends_with(".npy") && !spec.ends_with(".safetensors") &&
                   !spec.ends_with(".json") && !spec.ends_with('/');
  Expected<TensorRef> ref = TensorRef::parse(directory ? spec + "/" : spec);
  if (!ref)
    return ref.takeError();
  if (ref->kind == TensorRef::Kind::Safetensors && ref->tensor.empty() &&
      !ref->dtype)
    return listCheckpoint(ref->path, options);
  Expected<Tensor> tensor = TensorLoader().load(*ref);
  if (!tensor)
    return tensor.takeError();
  printTensor(ref->str(), *tensor, options);
  return {};
}

static Status copy(const std::string &spec, const std::string &output) {
  Expected<TensorRef> ref = TensorRef::parse(spec);
  if (!ref)
    return ref.takeError();
  Expected<Tensor> tensor = TensorLoader().load(*ref);
  if (!tensor)
    return tensor.takeError();
  if (output.ends_with(".npy"))
    return writeNpy(output, *tensor);
  if (!output.ends_with(".safetensors"))
    return Error{output +
                 ": expected a name that ends in .npy or .safetensors"};
  NamedTensor named = {ref->tensor.empty() ? "tensor" : ref->tensor, *tensor};
  return writeSafetensors(output, {&named, 1});
}

int nvfp4::tools::runListTensors(const ListOptions &options) {
  int result = 0;
  for (const std::string &spec : options.specs)
    if (Status status = options.output.empty() ? list(spec, options)
                                               : copy(spec, options.output);
        !status) {
      std::fflush(stdout);
      options.report("error: " + printable(status.message()));
      result = 1;
    }
  if (Status status = flushStandardOutput(); !status) {
    options.report("error: " + status.message());
    result = 1;
  }
  return result;
}
