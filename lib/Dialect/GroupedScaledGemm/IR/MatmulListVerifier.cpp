//===- MatmulListVerifier.cpp - Verifier of matmul_list ---------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `matmul_list` against docs/Spec.md; comments name the constraints. Each
// problem is checked on its own, and against problem 0 where all must agree.
//
//===----------------------------------------------------------------------===//

#include "Verification.h"

using namespace mlir;
using namespace nvfp4::gsg;

LogicalResult MatmulListOp::verify() {
  if (failed(verifyForm(*this)) ||
      failed(verifyScaledOperands(*this, "lhs", getLhs(), getLhsScales(),
                                  getLhsTypesAttr())) ||
      failed(verifyScaledOperands(*this, "rhs", getRhs(), getRhsScales(),
                                  getRhsTypesAttr())))
    return failure();
  int64_t count = getLhs().size();
  // matmul_list_c1
  if (count == 0 || static_cast<int64_t>(getRhs().size()) != count ||
      static_cast<int64_t>(getOuts().size()) != count)
    return emitOpError("expected as many lhs as rhs as outs, at least 1, but "
                       "got ")
           << count << ", " << getRhs().size() << " and " << getOuts().size();
  if (failed(verifySameForm(*this, !getLhsScales().empty(), "lhs",
                            !getRhsScales().empty(), "rhs")))
    return failure();
  for (auto [name, value] : {std::pair<StringRef, Value>("alpha", getAlpha()),
                             std::pair<StringRef, Value>("beta", getBeta())})
    // matmul_list_c2
    if (value && failed(verifyShape(*this, name, value.getType(),
                                    {{{count}, "one a problem"}},
                                    /*orScalar=*/true)))
      return failure();
  for (int64_t i = 0; i < count; ++i) {
    ScaledType lhs = getLhsType(i), rhs = getRhsType(i);
    for (ScaledType type : {lhs, rhs}) {
      // matmul_list_c3
      if (type.getRank() != 2 || !type.isKMajor() ||
          type.getGroupStart() != GroupStart::Whole)
        return emitOpError("expected matrices of rank 2 with blocks along "
                           "axis 1 and starts = whole for problem ")
               << i << ", but got " << type;
    }
    // matmul_list_c4
    if (lhs.getFormat() != getLhsType(0).getFormat() ||
        rhs.getFormat() != getRhsType(0).getFormat())
      return emitOpError("expected all problems to share the formats of "
                         "problem 0, but got ")
             << stringifyBlockFormat(lhs.getFormat()) << " and "
             << stringifyBlockFormat(rhs.getFormat()) << " for problem " << i;
    // matmul_list_c8
    if (rhs.getLayout() == ScaleLayout::WgmmaF16)
      return emitOpError("expected the layout 'wgmma' of weights for rows that "
                         "are multiplied in bf16, but got 'wgmma_f16' for "
                         "problem ")
             << i;
    // matmul_list_c5
    if (!haveOneScaleType(lhs, rhs))
      return emitOpError("expected lhs and rhs of equal block size and scale "
                         "type, but got ")
             << stringifyBlockFormat(lhs.getFormat()) << " and "
             << stringifyBlockFormat(rhs.getFormat());
    // matmul_list_c6
    if (!areCompatible(lhs.getDimSize(1), rhs.getDimSize(1)))
      return emitOpError("expected lhs and rhs of equal K for problem ")
             << i << ", but got " << lhs.getDimSize(1) << " and "
             << rhs.getDimSize(1);
    // matmul_list_c7
    if (failed(verifyShape(
            *this, "outs of problem " + Twine(i), getOuts()[i].getType(),
            {{{lhs.getDimSize(0), rhs.getDimSize(0)}, "[M, N]"}})))
      return failure();
  }
  return verifyDestinations(*this, getDpsInitsMutable(),
                            getInitTypes(getDpsInitsMutable()));
}
