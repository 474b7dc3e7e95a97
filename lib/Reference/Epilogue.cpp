//===- Epilogue.cpp - What follows the accumulator of a product -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every step is one f32 operation with one rounding; nothing is contracted.
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"

namespace nvfp4::reference {
namespace {
constexpr Element F32 = Element::F32;

llvm::Error countError(llvm::StringRef what, const llvm::Twine &expected,
                       const Tensor &got) {
  return makeError("expected " + what + " of " + expected + ", but got " +
                   got.describe());
}
} // namespace

llvm::Expected<Epilogue> Epilogue::create(gsg::MatmulOp op, EpilogueShape shape,
                                          const Lookup &lookup,
                                          const Tensor *destination) {
  // It checks what gsg-expand-epilogue makes of the clauses.
  if (op.hasExpandedEpilogue())
    return makeError("expected a product before gsg-expand-epilogue, but got "
                     "an expanded epilogue");
  Epilogue e;
  e.shape = shape;
  e.position = op.getProbPosition();
  gsg::ActivationAttr attr = op.getActivationOrIdentity();
  e.activation = makeActivation(attr, op.getMath());
  e.paired = attr.isPaired();
  if (e.paired) {
    llvm::Expected<PairedColumns> pairs =
        pairColumns(attr.getGate(), shape.columns);
    if (!pairs)
      return pairs.takeError();
    e.isUp.resize(static_cast<size_t>(shape.columns));
    for (int64_t n : pairs->up)
      e.isUp[static_cast<size_t>(n)] = true;
  }
  if (attr.getKind() == gsg::ActivationKind::Custom) {
    if (op.getEpilogue().empty())
      return makeError("expected an epilogue region for activation custom");
    e.custom = &op.getEpilogue().front();
  }

  auto tensorOf = [&](mlir::Value v) -> const Tensor & {
    return std::get<Tensor>(lookup(v));
  };
  int64_t groups = shape.groups;
  // Scalar or one a group; alpha also one pair a group.
  // matmul_c9, matmul_c10, matmul_c22
  auto perGroup = [&](mlir::Value v, llvm::StringRef what,
                      bool pairs) -> llvm::Expected<Field> {
    if (const auto *one = std::get_if<Scalar>(&lookup(v)))
      return Field{{}, one->real, Field::Scalar};
    const Tensor &t = tensorOf(v);
    if (pairs && t.rank() == 2 && t.dim(0) == groups && t.dim(1) == 2)
      return Field{t, {}, Field::GroupPair};
    if (t.rank() == 1 && t.numElements() == groups)
      return Field{t, {}, Field::Group};
    if (t.rank() == 0 || (t.rank() == 1 && t.numElements() == 1))
      return Field{{}, t.real(0), Field::Scalar};
    return countError(what, "one entry or " + llvm::Twine(groups) + " entries",
                      t);
  };
  // matmul_c14, matmul_c20, matmul_c55
  auto perRow = [&](mlir::Value v,
                    llvm::StringRef what) -> llvm::Expected<Field> {
    const Tensor &t = tensorOf(v);
    if (t.numElements() == shape.totalRows)
      return Field{t, {}, Field::Row};
    if (t.rank() == 1 && shape.rowsPerGroup != 0 &&
        t.numElements() == shape.rowsPerGroup)
      return Field{t, {}, Field::RowInGroup};
    return countError(what, llvm::Twine(shape.totalRows) + " rows", t);
  };
  // matmul_c13, matmul_c21
  auto perColumn = [&](mlir::Value v, int64_t columns,
                       llvm::StringRef what) -> llvm::Expected<Field> {
    const Tensor &t = tensorOf(v);
    if (t.rank() == 1 && t.numElements() == columns)
      return Field{t, {}, Field::Column};
    if (t.rank() == 2 && t.dim(0) == groups && t.dim(1) == columns)
      return Field{t, {}, Field::GroupColumn};
    return countError(what,
                      llvm::Twine(columns) + " columns or " +
                          llvm::Twine(groups) + " x " + llvm::Twine(columns),
                      t);
  };
  auto take = [](auto &slot, llvm::Expected<Field> field) -> llvm::Error {
    if (!field)
      return field.takeError();
    slot = std::move(*field);
    return llvm::Error::success();
  };

  if (op.getAlpha())
    if (llvm::Error error =
            take(e.alpha, perGroup(op.getAlpha(), "alpha", e.paired)))
      return error;
  if (op.getBeta()) {
    if (llvm::Error error = take(e.beta, perGroup(op.getBeta(), "beta", false)))
      return error;
    // matmul_c11
    if (op.getAddend())
      e.addend = tensorOf(op.getAddend());
    else if (destination && !e.paired)
      e.addend = *destination;
    else
      return makeError("expected an addend or a destination of the shape of "
                       "the product for beta");
  } else if (op.getAddend()) {
    e.addend = tensorOf(op.getAddend());
  }
  // matmul_c12
  if (e.addend && (e.addend->numElements() != shape.totalRows * shape.columns ||
                   e.addend->rank() == 0 ||
                   e.addend->dim(e.addend->rank() - 1) != shape.columns))
    return countError("an addend",
                      llvm::Twine(shape.totalRows) + " x " +
                          llvm::Twine(shape.columns) + " elements",
                      *e.addend);
  if (op.getBias())
    if (llvm::Error error =
            take(e.bias, perColumn(op.getBias(), shape.columns, "bias")))
      return error;
  if (op.getRowScale())
    if (llvm::Error error =
            take(e.rowScale, perRow(op.getRowScale(), "row_scale")))
      return error;
  if (op.getProb())
    if (llvm::Error error = take(e.prob, perRow(op.getProb(), "prob")))
      return error;
  if (op.getActivationParams()) {
    e.activationParams = tensorOf(op.getActivationParams());
    // matmul_c17
    if (e.activationParams->numElements() != groups * 3)
      return countError("activation_params", llvm::Twine(groups) + " x 3",
                        *e.activationParams);
  }
  Field field;
  for (mlir::Value v : op.getRow()) {
    if (llvm::Error error = take(field, perRow(v, "a row operand")))
      return error;
    e.extra.push_back(field);
  }
  for (mlir::Value v : op.getColumn()) {
    if (llvm::Error error =
            take(field, perColumn(v, shape.outputColumns, "a column operand")))
      return error;
    e.extra.push_back(field);
  }
  for (mlir::Value v : op.getGroup()) {
    if (llvm::Error error = take(field, perGroup(v, "a group operand", false)))
      return error;
    e.extra.push_back(field);
  }
  // matmul_c34
  if (e.custom &&
      e.custom->getNumArguments() != (e.paired ? 2 : 1) + e.extra.size())
    return makeError("expected an epilogue region with " +
                     llvm::Twine((e.paired ? 2 : 1) + e.extra.size()) +
                     " arguments, but got " +
                     llvm::Twine(e.custom->getNumArguments()));
  return e;
}

Real Epilogue::read(const Field &field, const EpiloguePlace &at, int64_t column,
                    int64_t columns) const {
  switch (field.by) {
  case Field::Scalar:
    return field.one;
  case Field::Group:
    return field.values.real(at.group);
  case Field::GroupPair:
    return field.values.real(2 * at.group +
                             (isUp[static_cast<size_t>(column)] ? 1 : 0));
  case Field::Row:
    return field.values.real(at.row);
  case Field::RowInGroup:
    return field.values.real(at.rowInGroup);
  case Field::Column:
    return field.values.real(column);
  case Field::GroupColumn:
    return field.values.real(at.group * columns + column);
  }
  return {};
}

Real Epilogue::applyProb(gsg::ProbPosition where, const EpiloguePlace &at,
                         Real x) const {
  if (!prob || position != where)
    return x;
  return multiply(F32, x, read(*prob, at, 0, 1));
}

Real Epilogue::preActivation(const EpiloguePlace &at, Real acc,
                             int64_t n) const {
  Real z = acc;
  if (alpha)
    z = multiply(F32, read(*alpha, at, n, shape.columns), z);
  if (rowScale)
    z = multiply(F32, z, read(*rowScale, at, 0, 1));
  z = applyProb(gsg::ProbPosition::Gemm, at, z);
  if (addend) {
    Real c = addend->real(at.row * shape.columns + n);
    if (beta)
      c = multiply(F32, read(*beta, at, n, shape.columns), c);
    z = add(F32, z, c);
  }
  if (bias)
    z = add(F32, z,
            applyProb(gsg::ProbPosition::Bias, at,
                      read(*bias, at, n, shape.columns)));
  return applyProb(gsg::ProbPosition::PreActivation, at, z);
}

llvm::Expected<Real> Epilogue::result(Evaluator &evaluator,
                                      const EpiloguePlace &at, Real z, Real up,
                                      int64_t c) const {
  ActivationParams params = activation;
  if (activationParams) {
    params.alpha = activationParams->real(3 * at.group);
    params.beta = activationParams->real(3 * at.group + 1);
    params.limit = activationParams->real(3 * at.group + 2);
  }
  if (params.roundBf16) {
    z = convert(Element::BF16, z);
    up = convert(Element::BF16, up);
  }
  Real y;
  if (custom) {
    llvm::SmallVector<Scalar> args = {Scalar::ofReal(F32, z)};
    if (paired)
      args.push_back(Scalar::ofReal(F32, up));
    for (const Field &field : extra)
      args.push_back(
          Scalar::ofReal(F32, read(field, at, c, shape.outputColumns)));
    llvm::Expected<Scalar> given = evaluator.runScalarBlock(*custom, args);
    if (!given)
      return given.takeError();
    y = given->real;
  } else {
    y = activate(params, z, up);
  }
  return applyProb(gsg::ProbPosition::PostActivation, at, y);
}

} // namespace nvfp4::reference
