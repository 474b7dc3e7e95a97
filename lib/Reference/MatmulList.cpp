//===- MatmulList.cpp - Lists of products -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// matmul_list: problems of their own extents, alpha * product + beta * out.
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "ProductRunner.h"

namespace nvfp4::reference {

llvm::Error Evaluator::evaluateMatmulList(gsg::MatmulListOp op) {
  auto fail = [&](size_t i, llvm::Error error) {
    return errorAt(op, "problem " + llvm::Twine(i) + ": " +
                           llvm::toString(std::move(error)));
  };
  auto lhs = gsg::getScaledOperands(op.getLhs(), op.getLhsScales(),
                                    op.getLhsTypesAttr());
  auto rhs = gsg::getScaledOperands(op.getRhs(), op.getRhsScales(),
                                    op.getRhsTypesAttr());
  if (op.hasExpandedEpilogue())
    return errorAt(op, "expected a list before gsg-expand-epilogue, but got an "
                       "expanded epilogue");
  size_t count = lhs.size();
  if (rhs.size() != count || op.getOuts().size() != count)
    // matmul_list_c1
    return errorAt(op, "expected as many rhs and outs as lhs");
  if (op->getNumResults() != count)
    return errorAt(op, "expected tensors, but got memrefs");
  std::vector<Value> results;
  for (size_t i = 0; i < count; ++i) {
    llvm::Expected<ScaledValue> a = scaled(lhs[i]);
    if (!a)
      return fail(i, a.takeError());
    llvm::Expected<ScaledValue> b = linearWeights(rhs[i]);
    if (!b)
      return fail(i, b.takeError());
    Tensor out = tensor(op.getOuts()[i]);
    if (a->type.getRank() != 2 || b->type.getRank() != 2)
      // matmul_list_c3
      return fail(i, makeError("expected operands of rank 2"));
    int64_t m = a->type.getDimSize(0), n = b->type.getDimSize(0);
    if (a->type.getDimSize(1) != b->type.getDimSize(1))
      // matmul_list_c6
      return fail(i,
                  makeError("expected K of rhs to be " +
                            llvm::Twine(a->type.getDimSize(1)) + ", but got " +
                            llvm::Twine(b->type.getDimSize(1))));
    if (out.shape() != llvm::ArrayRef<int64_t>({m, n}))
      // matmul_list_c7
      // matmul_list_c2
      return fail(i, makeError("expected outs of " + llvm::Twine(m) + " x " +
                               llvm::Twine(n) + ", but got " + out.describe()));
    std::optional<Real> alpha, beta;
    for (auto [operand, slot, name] :
         {std::tuple<mlir::Value, std::optional<Real> *, const char *>{
              op.getAlpha(), &alpha, "alpha"},
          {op.getBeta(), &beta, "beta"}}) {
      if (!operand)
        continue;
      llvm::Expected<Real> given = entry(operand, static_cast<int64_t>(i),
                                         static_cast<int64_t>(count), name);
      if (!given)
        return fail(i, given.takeError());
      *slot = *given;
    }
    llvm::Expected<ProductRunner> runner =
        ProductRunner::create(options, &*a, nullptr, *b, nullptr);
    if (!runner)
      return fail(i, runner.takeError());
    llvm::Error error = runner->run(
        {&*a, 0, 0, m, 0}, {&*b, 0, 0, n, 0}, nullptr,
        [&](int64_t row, llvm::ArrayRef<Real> acc) -> llvm::Error {
          for (int64_t c = 0; c < n; ++c) {
            Real z = acc[static_cast<size_t>(c)];
            if (alpha)
              z = multiply(Element::F32, *alpha, z);
            if (beta)
              z = add(Element::F32, z,
                      multiply(Element::F32, *beta, out.real(row * n + c)));
            out.setReal(row * n + c, out.element() == Element::F32
                                         ? z
                                         : convert(out.element(), z));
          }
          return llvm::Error::success();
        });
    if (error)
      return fail(i, std::move(error));
    results.emplace_back(std::move(out));
  }
  setResults(op, std::move(results));
  return llvm::Error::success();
}

} // namespace nvfp4::reference
