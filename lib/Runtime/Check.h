//===- Check.h - Arguments against a signature ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments of a call against the description that the compiler left in the
// artefact. Compiled code is entered only after they pass.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_RUNTIME_CHECK_H
#define NVFP4_LIB_RUNTIME_CHECK_H

#include "Module.h"

#include <optional>
#include <span>
#include <vector>

namespace nvfp4::runtime {

/// More bytes than a process can address, on x86-64 and AArch64.
inline constexpr int64_t kAddressSpace = int64_t(1) << 47;

/// A caller's tensor as the code sees it: packed values are bytes, whatever the
/// caller calls them.
class StoredTensor {
public:
  /// Takes `tensor`, which may be null, for a value of the function.
  void set(const ValueMetadata &value, const DLTensor *tensor);
  /// Null if there is none.
  const DLTensor *get() const { return isSet ? &tensor : nullptr; }
  const DLTensor *operator->() const { return &tensor; }
  const DLTensor &operator*() const { return tensor; }
  std::span<const int64_t> getShape() const {
    return {tensor.shape, static_cast<size_t>(tensor.ndim)};
  }
  /// The address of the first element; null without memory.
  char *getData() const {
    return tensor.data ? static_cast<char *>(tensor.data) + tensor.byte_offset
                       : nullptr;
  }

private:
  DLTensor tensor{};
  std::vector<int64_t> shape;
  bool isSet = false;
};

/// Where the tensors of a call are.
struct TensorPlace {
  /// A device; without one memory that the host reads.
  std::optional<DLDevice> device;
  /// Shapes are all that counts if not.
  bool hasData = true;
};

/// Argument or result (`what`) `index` of the function, for messages.
std::string describeValue(const nvfp4_function &function, const char *what,
                          size_t index, const ValueMetadata &value);

/// Checks argument or result `index`, which must exist.
nvfp4_status checkArgument(const nvfp4_function &function, size_t index,
                           const StoredTensor &tensor,
                           const TensorPlace &place);
nvfp4_status checkResult(const nvfp4_function &function, size_t index,
                         const StoredTensor &tensor, const TensorPlace &place);

/// Checks that the values and the scales of each block-scaled argument have the
/// same number of rows, where the type says how they must relate. Every
/// argument has passed checkArgument.
nvfp4_status checkPairs(const nvfp4_function &function,
                        std::span<const StoredTensor> arguments);

/// Takes and checks all arguments of a call.
nvfp4_status checkArguments(const nvfp4_function &function,
                            const DLTensor *const *arguments, size_t count,
                            const TensorPlace &place,
                            std::vector<StoredTensor> &stored);

/// An error unless there are as many arguments and results as the function has,
/// and no null pointer for some.
nvfp4_status checkCounts(const nvfp4_function *function, const void *arguments,
                         size_t numArguments, const void *results,
                         size_t numResults);

} // namespace nvfp4::runtime

#endif // NVFP4_LIB_RUNTIME_CHECK_H
