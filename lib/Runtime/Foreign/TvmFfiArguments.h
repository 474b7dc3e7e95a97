//===- TvmFfiArguments.h - Arguments of tvm-ffi's convention ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values of tvm-ffi as the tensors of a call: those of the function's
// arguments, tensors for its results if they are given, and a workspace. Each
// fault is an error in tvm-ffi that names the value.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FOREIGN_TVMFFIARGUMENTS_H
#define NVFP4_LIB_RUNTIME_FOREIGN_TVMFFIARGUMENTS_H

#include "../Module.h"
#include "TvmFfiLibrary.h"

#include <deque>
#include <span>

namespace nvfp4::runtime::tvm {

/// tvm-ffi's kind of an error with this status.
const char *kindOf(nvfp4_status status);

/// Raises an error in tvm-ffi, the second one that of the runtime; always
/// false.
bool raise(const Library &library, const char *kind,
           const std::string &message);
bool raise(const Library &library, nvfp4_status status);

/// The values of one call. Functions that return false have raised the error.
class Arguments {
public:
  Arguments(const Library &library, const nvfp4_function &function)
      : library(library), function(function), metadata(function.metadata) {}

  /// Takes the values, which must outlive this.
  bool read(std::span<const Any> given);
  /// One for each argument of the function, then one for each result if these
  /// are given.
  std::span<const DLTensor *const> getTensors() const { return tensors; }
  bool hasResults() const { return tensors.size() > metadata.arguments.size(); }
  bool hasWorkspace() const { return values.size() > tensors.size(); }
  /// The memory of the workspace, which must have `bytes` on a device.
  bool getWorkspace(uint64_t bytes, DLDevice place, void *&data) const;
  /// The value at `index` in messages: an argument, a result or the workspace.
  std::string describe(size_t index) const;

private:
  bool addValue(const Any &value, bool isItem);
  bool addItems(const Any &sequence);
  bool checkCount() const;
  bool addTensor(size_t index);
  bool addNumber(size_t index);

  const Library &library;
  const nvfp4_function &function;
  const FunctionMetadata &metadata;
  std::vector<Any> values;
  /// Items of sequences.
  std::vector<Reference> items;
  std::vector<const DLTensor *> tensors;
  /// Scalars among the arguments, and their memory.
  std::deque<std::pair<DLTensor, uint64_t>> scalars;
};

} // namespace nvfp4::runtime::tvm

#endif // NVFP4_LIB_RUNTIME_FOREIGN_TVMFFIARGUMENTS_H
