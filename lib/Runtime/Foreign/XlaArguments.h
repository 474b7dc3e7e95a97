//===- XlaArguments.h - Arguments of XLA's convention -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Buffers of XLA as the tensors of a call. The function's arguments and then
// its results come in the order of the operands and then the results of the
// custom call, so that arguments that the function writes to may be results. A
// result that shares the memory of an operand is that argument. Attributes
// arg0, arg1, ... are scalars.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_FOREIGN_XLAARGUMENTS_H
#define NVFP4_LIB_RUNTIME_FOREIGN_XLAARGUMENTS_H

#include "../Module.h"
#include "XlaInterface.h"

#include <deque>
#include <optional>

namespace nvfp4::runtime::xla {

class Arguments {
public:
  explicit Arguments(const nvfp4_function &function)
      : function(function), metadata(function.metadata) {}

  /// Takes the buffers of a call; those of functions on device memory are on
  /// `place`.
  nvfp4_status read(const CallFrame &frame, DLDevice place);
  /// One for each argument and then for each result of the function.
  const DLTensor *const *getTensors() const { return pointers.data(); }
  /// The buffer beyond the results of the function, or null.
  const DLTensor *getWorkspace() const {
    return workspace ? &*workspace : nullptr;
  }

private:
  nvfp4_status readScalars(const Attributes &attributes);
  nvfp4_status readResults(const CallFrame &frame, DLDevice place);
  nvfp4_status refuseCount(const CallFrame &frame) const;

  const nvfp4_function &function;
  const FunctionMetadata &metadata;
  /// Buffers of operands and results in order.
  std::deque<DLTensor> buffers;
  /// For each argument its scalar, if an attribute has it.
  std::vector<std::optional<DLTensor>> scalars;
  std::deque<uint64_t> memory;
  std::vector<const DLTensor *> pointers;
  std::optional<DLTensor> workspace;
};

} // namespace nvfp4::runtime::xla

#endif // NVFP4_LIB_RUNTIME_FOREIGN_XLAARGUMENTS_H
