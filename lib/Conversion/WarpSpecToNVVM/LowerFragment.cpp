//===- LowerFragment.cpp - Accumulators to memory ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fragment.h"
#include "KernelPattern.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// The number that all elements of `vector`, a splat, are.
static Value getSplat(OpBuilder &b, Value vector) {
  if (auto broadcast = vector.getDefiningOp<vector::BroadcastOp>())
    return broadcast.getSource();
  DenseElementsAttr elements;
  if (!matchPattern(vector, m_Constant(&elements)))
    return {};
  return arith::ConstantOp::create(
      b, vector.getLoc(),
      b.getFloatAttr(b.getF32Type(), elements.getSplatValue<APFloat>()));
}

/// Value `number` of a thread in `fragment`, multiplied where it is used:
/// scaled values of all columns would take twice their registers.
static Value getFragmentValue(ConversionPatternRewriter &rewriter, Location loc,
                              Value fragment, int64_t number) {
  if (auto scaled = fragment.getDefiningOp<arith::MulFOp>()) {
    Value factor = getSplat(rewriter, scaled.getRhs());
    Value value = getFragmentValue(
        rewriter, loc, rewriter.getRemappedValue(scaled.getLhs()), number);
    return arith::MulFOp::create(rewriter, loc, value, factor);
  }
  if (auto values = fragment.getDefiningOp<vector::FromElementsOp>())
    return values.getElements()[number];
  return vector::ExtractOp::create(rewriter, loc, fragment, number);
}

namespace {
struct AddFragmentsLowering : KernelPattern<AddFragmentsOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(AddFragmentsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    AddressBuilder b(rewriter, loc);
    int64_t size = getFragmentSize(op.getFragment());
    SumsLayout layout{kernels.getWarpgroups(op), size};
    Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, b.getI32());
    SmallVector<Value> own;
    for (int64_t i = 0; i < size; ++i)
      own.push_back(getFragmentValue(rewriter, loc, adaptor.getFragment(), i));
    SmallVector<Value> all(own);
    // 16 columns at a time: all at once would take twice their registers.
    constexpr int64_t columns = 16;
    Value some = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sgt,
                                       adaptor.getCount(), b.constant(0));
    for (int64_t from = 0; from < 2 * size; from += columns) {
      int64_t first = from / 2, last = std::min(size, (from + columns) / 2);
      Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                       b.constant(from), adaptor.getWidth());
      is = arith::AndIOp::create(rewriter, loc, is, some);
      SmallVector<Type> types(last - first, rewriter.getF32Type());
      auto branch = scf::IfOp::create(rewriter, loc, types, is, true, true);
      OpBuilder::InsertionGuard guard(rewriter);
      ValueRange values = ValueRange(own).slice(first, last - first);
      rewriter.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(rewriter, loc, values);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      auto load = [&](Value slot) {
        Value address = layout.getAddress(b, adaptor.getSource(), slot, thread);
        return layout.load(b, address, first, last);
      };
      auto plus = [&](ValueRange x, ValueRange y) {
        return llvm::map_to_vector(
            llvm::zip_equal(x, y), [&](auto pair) -> Value {
              return arith::AddFOp::create(rewriter, loc, std::get<0>(pair),
                                           std::get<1>(pair));
            });
      };
      auto loop =
          scf::ForOp::create(rewriter, loc, b.constant(1), adaptor.getCount(),
                             b.constant(1), load(adaptor.getSlot()));
      {
        OpBuilder::InsertionGuard inner(rewriter);
        rewriter.setInsertionPointToStart(loop.getBody());
        Value slot = b.add(adaptor.getSlot(), loop.getInductionVar());
        scf::YieldOp::create(rewriter, loc,
                             plus(loop.getRegionIterArgs(), load(slot)));
      }
      scf::YieldOp::create(rewriter, loc, plus(loop.getResults(), values));
      llvm::copy(branch.getResults(), all.begin() + first);
      rewriter.setInsertionPointAfter(branch);
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, op.getType(), all);
    return success();
  }
};

struct StoreFragmentLowering : KernelPattern<StoreFragmentOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(StoreFragmentOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    AddressBuilder b(rewriter, loc);
    int64_t size = getFragmentSize(op.getFragment());
    SumsLayout layout{kernels.getWarpgroups(op), size};
    Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, b.getI32());
    Value address =
        layout.getAddress(b, adaptor.getTarget(), adaptor.getSlot(), thread);
    // Two columns of the fragment are a value of a thread, and there are four
    // pieces in 32.
    constexpr int64_t columns = 32;
    for (int64_t from = 0; from < 2 * size; from += columns) {
      Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                       b.constant(from), adaptor.getWidth());
      auto branch = scf::IfOp::create(rewriter, loc, is, false);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      for (int64_t i = from / 2; i < std::min(size, (from + columns) / 2);
           i += SumsLayout::kPiece) {
        SmallVector<Value> piece;
        for (int64_t j = 0; j < SumsLayout::kPiece; ++j)
          piece.push_back(
              getFragmentValue(rewriter, loc, adaptor.getFragment(), i + j));
        layout.store(b, address, i, piece);
      }
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct StageFragmentLowering : KernelPattern<StageFragmentOp> {
  using KernelPattern::KernelPattern;
  LogicalResult
  matchAndRewrite(StageFragmentOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    AddressBuilder b(rewriter, loc);
    MemRefType target = op.getTarget().getType();
    Value fragment = adaptor.getFragment();
    bool isWide = target.getElementType().isF32();
    int64_t columns = target.getDimSize(1);
    int64_t pitch = getSharedBytes(target) / target.getDimSize(0) / columns;
    Value thread = NVVM::ThreadIdXOp::create(rewriter, loc, b.getI32());
    Value warpgroup = b.shiftRight(thread, 7);
    Value firstRow = b.multiply(b.bitAnd(b.shiftRight(thread, 5), 3), 16);
    Value start =
        b.add(adaptor.getTarget(), b.multiply(warpgroup, columns * pitch));
    Value base;
    if (isWide) {
      Value row = b.add(firstRow, b.bitAnd(b.shiftRight(thread, 2), 7));
      Value column = b.multiply(b.bitAnd(thread, 3), 2 * pitch);
      Value inColumn = b.add(start, column);
      base = b.add(inColumn, b.multiply(row, 4));
    } else {
      // Lane l of a warp gives stmatrix row l % 8 of matrix l / 8: columns of
      // the fragment by eight, then rows by eight.
      Value matrix = b.bitAnd(b.shiftRight(thread, 3), 3);
      Value first = b.multiply(b.shiftRight(matrix, 1), 8);
      Value column = b.add(first, b.bitAnd(thread, 7));
      Value row = b.add(firstRow, b.multiply(b.bitAnd(matrix, 1), 8));
      Value inColumn = b.add(start, b.multiply(column, pitch));
      base = b.add(inColumn, b.multiply(row, 2));
    }
    auto meet = [&] {
      NVVM::BarrierOp::create(
          rewriter, loc, Type(), b.add(warpgroup, op.getBarrier().value_or(1)),
          b.constant(128), NVVM::BarrierReductionAttr(), Value());
    };
    meet();
    int64_t count = 2 * getFragmentSize(fragment);
    for (int64_t from = 0; from < count; from += columns) {
      Value is = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                       adaptor.getColumn(), b.constant(from));
      auto branch = scf::IfOp::create(rewriter, loc, is, false);
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPointToStart(branch.thenBlock());
      for (int64_t j = 0; j < columns && from + j < count; j += isWide ? 8 : 16)
        if (isWide)
          storeWide(b, rewriter, fragment, (from + j) / 2,
                    b.add(base, j * pitch), pitch);
        else
          storeMatrices(b, rewriter, fragment, (from + j) / 2,
                        b.add(base, j * pitch), target.getElementType());
    }
    meet();
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Two columns, then the same of the row 8 further on.
  static void storeWide(AddressBuilder &b, ConversionPatternRewriter &rewriter,
                        Value fragment, int64_t number, Value base,
                        int64_t pitch) {
    for (int64_t i = 0; i < 4; ++i) {
      Value value = getFragmentValue(rewriter, b.loc, fragment, number + i);
      Value address = b.add(base, i % 2 * pitch + i / 2 * 32);
      LLVM::StoreOp::create(rewriter, b.loc, value,
                            b.getPointer(Space::Shared, address), 4);
    }
  }

  /// 16 columns of 16 rows of a warp, rounded to `element`.
  static void storeMatrices(AddressBuilder &b,
                            ConversionPatternRewriter &rewriter, Value fragment,
                            int64_t number, Value base, Type element) {
    StringRef convert = element.isBF16() ? "cvt.rn.bf16x2.f32 $0, $1, $2;"
                                         : "cvt.rn.f16x2.f32 $0, $1, $2;";
    SmallVector<Value> operands{base};
    for (int64_t i = 0; i < 4; ++i) {
      int64_t first = number + 2 * i;
      if (first >= getFragmentSize(fragment)) {
        operands.push_back(b.constant(0));
        continue;
      }
      Value low = getFragmentValue(rewriter, b.loc, fragment, first);
      Value high = getFragmentValue(rewriter, b.loc, fragment, first + 1);
      operands.append(assemble(rewriter, b.loc, convert, "=r,f,f", b.getI32(),
                               {high, low}, /*hasEffects=*/false));
    }
    assemble(rewriter, b.loc,
             "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0], "
             "{$1, $2, $3, $4};",
             "r,r,r,r,r,~{memory}", TypeRange(), operands, /*hasEffects=*/true);
  }
};
} // namespace

void nvfp4::warpspec::populateFragmentToNVVMPatterns(
    const TypeConverter &converter, const KernelAnalysis &kernels,
    RewritePatternSet &patterns) {
  patterns
      .add<AddFragmentsLowering, StoreFragmentLowering, StageFragmentLowering>(
          converter, patterns.getContext(), kernels);
}
