//===- LowerFragment.cpp - Accumulators to shared memory --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fragment of `wgmma`: thread t of a warpgroup has rows r and r + 8 of 64,
// r = 16 (t / 32) + t % 32 / 4, and of every 8 columns 2 (t % 4) and the next.
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// The number that all elements of `vector` are, or null.
static Value getSplat(OpBuilder &builder, Value vector) {
  DenseElementsAttr elements;
  if (matchPattern(vector, m_Constant(&elements)) && elements.isSplat())
    return arith::ConstantOp::create(
        builder, vector.getLoc(),
        builder.getFloatAttr(builder.getF32Type(),
                             elements.getSplatValue<APFloat>()));
  auto broadcast = vector.getDefiningOp<vector::BroadcastOp>();
  return broadcast && !isa<VectorType>(broadcast.getSource().getType())
             ? broadcast.getSource()
             : Value();
}

int64_t KernelLowering::getFragmentSize(Value fragment) {
  return cast<VectorType>(fragment.getType()).getNumElements();
}

Value KernelLowering::getFragmentValue(Value fragment, int64_t number) {
  if (auto found = fragments.find(fragment); found != fragments.end())
    return found->second[number];
  if (auto product = fragment.getDefiningOp<arith::MulFOp>())
    if (Value factor = getSplat(rewriter, product.getRhs()))
      if (Value value = getFragmentValue(product.getLhs(), number))
        return arith::MulFOp::create(rewriter, loc, value, factor);
  return {};
}

static LogicalResult refuseFragment(Operation *op) {
  return op->emitOpError("expected a result of mma_decoded, or one times "
                         "broadcast numbers");
}

/// Values of a thread that stand side by side.
static constexpr int64_t kPiece = 4;

int64_t KernelLowering::getSumsStride(MmaDecodedOp product) {
  return product.getWarpgroups() * 128 * kPiece * 4;
}

Value KernelLowering::getSums(MmaDecodedOp product, Value sums, Value slot,
                              Value thread) {
  int64_t pieces = product.getMaxWidth() / 2 / kPiece;
  Value first = multiply(slot, product.getWarpgroups() * 128 * pieces);
  return getGlobal(sums, add(first, thread), kPiece * 4);
}

/// The product whose fragment this is, or one of several parts of it.
static MmaDecodedOp getProduct(Value fragment) {
  if (auto sum = fragment.getDefiningOp<AddFragmentsOp>())
    return getProduct(sum.getFragment());
  return fragment.getDefiningOp<MmaDecodedOp>();
}

static LogicalResult refuseSum(Operation *op) {
  return op->emitOpError("expected a result of mma_decoded");
}

LogicalResult KernelLowering::lowerFragment(AddFragmentsOp op) {
  auto product = op.getFragment().getDefiningOp<MmaDecodedOp>();
  if (!product)
    return refuseSum(op);
  Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, getI32());
  SmallVector<Value> &own = fragments[op.getFragment()], all(own);
  auto size = static_cast<int64_t>(own.size());
  // 16 columns at a time: all at once would take twice their registers.
  constexpr int64_t columns = 16;
  Value some = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sgt,
                                     op.getCount(), constant(0));
  for (int64_t from = 0; from < 2 * size; from += columns) {
    int64_t first = from / 2, last = std::min(size, (from + columns) / 2);
    Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                     constant(from), op.getWidth());
    is = arith::AndIOp::create(rewriter, loc, is, some);
    SmallVector<Type> types(last - first, rewriter.getF32Type());
    auto branch = scf::IfOp::create(rewriter, loc, types, is, true, true);
    OpBuilder::InsertionGuard guard(rewriter);
    ValueRange values = ValueRange(own).slice(first, last - first);
    rewriter.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(rewriter, loc, values);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    auto load = [&](Value slot) {
      Value base = getSums(product, op.getSource(), slot, thread);
      return loadPieces(base, first, last, getSumsStride(product));
    };
    auto plus = [&](ValueRange a, ValueRange c) {
      return llvm::map_to_vector(
          llvm::zip_equal(a, c), [&](auto pair) -> Value {
            return arith::AddFOp::create(rewriter, loc, std::get<0>(pair),
                                         std::get<1>(pair));
          });
    };
    auto loop = scf::ForOp::create(rewriter, loc, constant(1), op.getCount(),
                                   constant(1), load(op.getSlot()));
    {
      OpBuilder::InsertionGuard inner(rewriter);
      rewriter.setInsertionPointToStart(loop.getBody());
      Value slot = arith::AddIOp::create(rewriter, loc, op.getSlot(),
                                         loop.getInductionVar());
      scf::YieldOp::create(rewriter, loc,
                           plus(loop.getRegionIterArgs(), load(slot)));
    }
    scf::YieldOp::create(rewriter, loc, plus(loop.getResults(), values));
    llvm::copy(branch.getResults(), all.begin() + first);
    rewriter.setInsertionPointAfter(branch);
  }
  fragments[op.getResult()] = std::move(all);
  return success();
}

SmallVector<Value> KernelLowering::loadPieces(Value base, int64_t first,
                                              int64_t last, int64_t stride) {
  SmallVector<Value> values;
  SmallVector<Type> types(kPiece, rewriter.getF32Type());
  auto type = LLVM::LLVMStructType::getLiteral(kernel.getContext(), types);
  for (int64_t i = first; i < last; i += kPiece) {
    std::string text = "ld.global.v4.f32 {$0, $1, $2, $3}, [$4+" +
                       std::to_string(i / kPiece * stride) + "];";
    auto piece = LLVM::InlineAsmOp::create(
        rewriter, loc, type, base, text, "=f,=f,=f,=f,l,~{memory}",
        /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    for (int64_t j = 0; j < kPiece; ++j)
      values.push_back(
          LLVM::ExtractValueOp::create(rewriter, loc, piece->getResult(0), j));
  }
  return values;
}

LogicalResult KernelLowering::lowerFragment(StoreFragmentOp op) {
  MmaDecodedOp product = getProduct(op.getFragment());
  if (!product)
    return refuseSum(op);
  Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, getI32());
  Value base = getSums(product, op.getTarget(), op.getSlot(), thread);
  // Two columns of the fragment are a value of a thread, and there are four
  // pieces in 32.
  constexpr int64_t columns = 32;
  int64_t size = getFragmentSize(op.getFragment());
  for (int64_t from = 0; from < 2 * size; from += columns) {
    Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                     constant(from), op.getWidth());
    auto branch = scf::IfOp::create(rewriter, loc, is, false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    for (int64_t i = from / 2; i < std::min(size, (from + columns) / 2);
         i += kPiece) {
      SmallVector<Value> operands{base};
      for (int64_t j = 0; j < kPiece; ++j)
        operands.push_back(getFragmentValue(op.getFragment(), i + j));
      std::string text = "st.global.v4.f32 [$0+" +
                         std::to_string(i / kPiece * getSumsStride(product)) +
                         "], {$1, $2, $3, $4};";
      LLVM::InlineAsmOp::create(
          rewriter, loc, TypeRange(), operands, text, "l,f,f,f,f,~{memory}",
          /*has_side_effects=*/true,
          /*is_align_stack=*/false, LLVM::TailCallKind::None,
          LLVM::AsmDialectAttr(), ArrayAttr());
    }
  }
  rewriter.eraseOp(op);
  return success();
}

LogicalResult KernelLowering::lowerFragment(StageFragmentOp op) {
  MemRefType target = getBufferType(op.getTargetMutable());
  Value fragment = op.getFragment();
  if (!getFragmentValue(fragment, 0))
    return refuseFragment(op);
  bool isWide = target.getElementType().isF32();
  int64_t columns = target.getDimSize(1);
  int64_t pitch = getSharedBytes(target) / target.getDimSize(0) / columns;
  auto bits = [&](Value value, int64_t mask) -> Value {
    return arith::AndIOp::create(rewriter, loc, value, constant(mask));
  };
  auto right = [&](Value value, int64_t by) -> Value {
    return arith::ShRUIOp::create(rewriter, loc, value, constant(by));
  };
  Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, getI32());
  Value warpgroup = right(thread, 7);
  Value firstRow = multiply(bits(right(thread, 5), 3), 16);
  Value start =
      add(op.getTargetMutable().get(), multiply(warpgroup, columns * pitch));
  auto meet = [&] {
    NVVM::BarrierOp::create(
        rewriter, loc, Type(), add(warpgroup, op.getBarrier().value_or(1)),
        constant(128), NVVM::BarrierReductionAttr(), Value());
  };
  Value base;
  if (isWide) {
    Value row = add(firstRow, bits(right(thread, 2), 7));
    base =
        add(add(start, multiply(bits(thread, 3), 2 * pitch)), multiply(row, 4));
  } else {
    // Lane l of a warp gives stmatrix row l % 8 of matrix l / 8: columns of the
    // fragment by eight, then rows by eight.
    Value matrix = bits(right(thread, 3), 3);
    Value column = add(multiply(right(matrix, 1), 8), bits(thread, 7));
    Value row = add(firstRow, multiply(bits(matrix, 1), 8));
    base = add(add(start, multiply(column, pitch)), multiply(row, 2));
  }
  meet();
  int64_t count = 2 * getFragmentSize(fragment);
  for (int64_t from = 0; from < count; from += columns) {
    Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                     op.getColumn(), constant(from));
    auto branch = scf::IfOp::create(rewriter, loc, is, false);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    for (int64_t j = 0; j < columns && from + j < count; j += isWide ? 8 : 16)
      if (isWide)
        storeWide(fragment, (from + j) / 2, add(base, j * pitch), pitch);
      else
        storeMatrices(fragment, (from + j) / 2, add(base, j * pitch),
                      target.getElementType());
  }
  meet();
  rewriter.eraseOp(op);
  return success();
}

/// Two columns, then the same of the row 8 further on.
void KernelLowering::storeWide(Value fragment, int64_t number, Value base,
                               int64_t pitch) {
  for (int64_t i = 0; i < 4; ++i)
    LLVM::StoreOp::create(rewriter, loc, getFragmentValue(fragment, number + i),
                          getShared(add(base, i % 2 * pitch + i / 2 * 32)), 4);
}

/// 16 columns of 16 rows of a warp, rounded to `element`.
void KernelLowering::storeMatrices(Value fragment, int64_t number, Value base,
                                   Type element) {
  auto assemble = [&](StringRef text, StringRef constraints, TypeRange results,
                      ValueRange operands, bool hasEffects) {
    return LLVM::InlineAsmOp::create(
        rewriter, loc, results, operands, text, constraints, hasEffects,
        /*is_align_stack=*/false, LLVM::TailCallKind::None,
        LLVM::AsmDialectAttr(), ArrayAttr());
  };
  StringRef convert = element.isBF16() ? "cvt.rn.bf16x2.f32 $0, $1, $2;"
                                       : "cvt.rn.f16x2.f32 $0, $1, $2;";
  SmallVector<Value> operands{base};
  for (int64_t i = 0; i < 4; ++i) {
    int64_t first = number + 2 * i;
    if (first >= getFragmentSize(fragment)) {
      operands.push_back(constant(0));
      continue;
    }
    Value low = getFragmentValue(fragment, first);
    Value high = getFragmentValue(fragment, first + 1);
    operands.push_back(
        assemble(convert, "=r,f,f", getI32(), {high, low}, false).getResult(0));
  }
  assemble("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0], "
           "{$1, $2, $3, $4};",
           "r,r,r,r,r,~{memory}", TypeRange(), operands, true);
}
