//===- ProductRunner.h - Products of groups, in threads ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decodes the operands of one group, multiplies them tile by tile, and hands
// over one row of accumulators at a time. Sampling happens here.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_PRODUCTRUNNER_H
#define NVFP4_LIB_REFERENCE_PRODUCTRUNNER_H

#include "Activation.h"
#include "Product.h"

#include "nvfp4/Reference/InterpreterOptions.h"
#include "nvfp4/Reference/Value.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace nvfp4::reference {

class ProductRunner {
public:
  /// Lines `first` .. `first + count` of a batch of an operand; `group` says
  /// where their scales (or their part of K) start.
  /// The rows of lhs may have no scales: then `plain` is their tensor, and
  /// `value` has no more than a shape.
  struct Side {
    const ScaledValue *value;
    int64_t batch;
    int64_t first;
    int64_t count;
    int64_t group;
    const Tensor *plain = nullptr;
    GroupRange plainColumns = {};
  };
  /// Receives row m and one accumulator a column.
  using RowFn = llvm::function_ref<llvm::Error(int64_t, llvm::ArrayRef<Real>)>;

  /// `lhs` is null if it has no scales.
  static llvm::Expected<ProductRunner>
  create(const InterpreterOptions &options, const ScaledValue *lhs,
         std::shared_ptr<const GroupMap> lhsGroups,
         llvm::ArrayRef<ScaledValue> rhs,
         std::shared_ptr<const GroupMap> rhsGroups);

  /// Calls `row` for every row, in order; what sampling leaves out has an
  /// infinite bound. With `pairs`, columns are left out pair by pair.
  llvm::Error run(const Side &left, const Side &right,
                  const PairedColumns *pairs, RowFn row);

private:
  llvm::Error multiply(const Side &left, const Side &right,
                       llvm::ArrayRef<int64_t> rows,
                       llvm::ArrayRef<int64_t> columns, std::vector<Real> &out);

  const InterpreterOptions *options = nullptr;
  std::optional<ScaledAddress> lhsAddress;
  std::vector<ScaledAddress> rhsAddresses;
  const ScaledValue *firstRhs = nullptr;
};

} // namespace nvfp4::reference

#endif // NVFP4_LIB_REFERENCE_PRODUCTRUNNER_H
