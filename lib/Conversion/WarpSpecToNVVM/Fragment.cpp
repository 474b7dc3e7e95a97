//===- Fragment.cpp - Accumulators as values of a thread --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragment.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::warpspec;

bool nvfp4::warpspec::isSplat(Value vector) {
  DenseElementsAttr elements;
  if (matchPattern(vector, m_Constant(&elements)))
    return elements.isSplat();
  auto broadcast = vector.getDefiningOp<vector::BroadcastOp>();
  return broadcast && !isa<VectorType>(broadcast.getSource().getType());
}

int64_t nvfp4::warpspec::getFragmentSize(Value fragment) {
  return cast<VectorType>(fragment.getType()).getNumElements();
}

SmallVector<Value>
nvfp4::warpspec::assemble(OpBuilder &b, Location loc, StringRef text,
                          StringRef constraints, TypeRange results,
                          ValueRange operands, bool hasEffects) {
  Type result = results.empty() ? Type()
                : results.size() == 1
                    ? results.front()
                    : LLVM::LLVMStructType::getLiteral(
                          b.getContext(), llvm::to_vector(results));
  auto call = LLVM::InlineAsmOp::create(
      b, loc, result ? TypeRange{result} : TypeRange(), operands, text,
      constraints, hasEffects, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  if (results.size() <= 1)
    return SmallVector<Value>(call->getResults());
  SmallVector<Value> values;
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(
        LLVM::ExtractValueOp::create(b, loc, call->getResult(0), i));
  return values;
}

Value SumsLayout::getAddress(AddressBuilder &b, Value sums, Value slot,
                             Value thread) const {
  Value first = b.multiply(slot, warpgroups * 128 * (values / kPiece));
  return b.getGlobal(sums, b.add(first, thread), kPiece * 4);
}

SmallVector<Value> SumsLayout::load(AddressBuilder &b, Value address,
                                    int64_t first, int64_t last) const {
  SmallVector<Value> loaded;
  SmallVector<Type> types(kPiece, b.b.getF32Type());
  for (int64_t i = first; i < last; i += kPiece)
    loaded.append(assemble(b.b, b.loc,
                           "ld.global.v4.f32 {$0, $1, $2, $3}, [$4+" +
                               std::to_string(i / kPiece * getStride()) + "];",
                           "=f,=f,=f,=f,l,~{memory}", types, address,
                           /*hasEffects=*/true));
  return loaded;
}

void SumsLayout::store(AddressBuilder &b, Value address, int64_t first,
                       ArrayRef<Value> piece) const {
  SmallVector<Value> operands{address};
  operands.append(piece.begin(), piece.end());
  assemble(b.b, b.loc,
           "st.global.v4.f32 [$0+" +
               std::to_string(first / kPiece * getStride()) +
               "], {$1, $2, $3, $4};",
           "l,f,f,f,f,~{memory}", TypeRange(), operands, /*hasEffects=*/true);
}
