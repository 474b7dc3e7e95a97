//===- Epilogue.h - What follows the accumulator of a product ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// alpha, prob, beta, bias, activation: one f32 operation after the other, in
// the order of the description of `matmul`.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_REFERENCE_EPILOGUE_H
#define NVFP4_LIB_REFERENCE_EPILOGUE_H

#include "Activation.h"
#include "Evaluator.h"

#include <functional>

namespace nvfp4::reference {

/// The extents that operands of the epilogue are checked against.
struct EpilogueShape {
  int64_t groups = 1;
  /// Rows of the result, all groups together, and of one group where every
  /// group has the same number (0 where they differ).
  int64_t totalRows = 0;
  int64_t rowsPerGroup = 0;
  /// Columns of the product and of the result.
  int64_t columns = 0;
  int64_t outputColumns = 0;
};

/// Where an element of the result is.
struct EpiloguePlace {
  int64_t group = 0;
  /// The row among all rows of the result, and within its group.
  int64_t row = 0;
  int64_t rowInGroup = 0;
};

/// The epilogue of one `matmul`.
class Epilogue {
public:
  using Lookup = std::function<const Value &(mlir::Value)>;

  /// Reads and checks all operands. `destination` is what `beta` accumulates
  /// into when there is no addend; it may be null.
  static llvm::Expected<Epilogue> create(gsg::MatmulOp op, EpilogueShape shape,
                                         const Lookup &lookup,
                                         const Tensor *destination);

  /// z of product column `n`.
  Real preActivation(const EpiloguePlace &at, Real acc, int64_t n) const;
  /// y of result column `c` from z, or from gate and up.
  llvm::Expected<Real> result(Evaluator &evaluator, const EpiloguePlace &at,
                              Real z, Real up, int64_t c) const;

private:
  /// A per-row, per-column or per-group operand.
  struct Field {
    Tensor values;
    Real one;
    enum { Scalar, Group, GroupPair, Row, RowInGroup, Column, GroupColumn } by;
  };
  Real read(const Field &field, const EpiloguePlace &at, int64_t column,
            int64_t columns) const;
  Real applyProb(gsg::ProbPosition position, const EpiloguePlace &at,
                 Real x) const;

  EpilogueShape shape;
  std::optional<Field> alpha, rowScale, beta, bias, prob;
  std::optional<Tensor> addend;
  std::optional<Tensor> activationParams;
  llvm::SmallVector<Field> extra;
  gsg::ProbPosition position = gsg::ProbPosition::PostActivation;
  ActivationParams activation;
  llvm::SmallVector<bool> isUp;
  bool paired = false;
  mlir::Block *custom = nullptr;
};

} // namespace nvfp4::reference

#endif // NVFP4_LIB_REFERENCE_EPILOGUE_H
