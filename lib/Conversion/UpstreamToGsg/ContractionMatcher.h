//===- ContractionMatcher.h - A contraction by its loops --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which loops of a contraction are batch, rows, columns and K, which factors
// belong to which operand, and which format codes and scales are in.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_CONTRACTIONMATCHER_H
#define NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_CONTRACTIONMATCHER_H

#include "GroupLoop.h"
#include "ScaledContraction.h"

#include "nvfp4/Conversion/UpstreamToGsg/UpstreamToGsg.h"

#include "llvm/Support/FormatVariadic.h"

namespace nvfp4::gsg {

/// Kinds of loops, and the dimensions that stand for them. Slots are products
/// of one row with several experts.
enum Dim : unsigned { Batch, Row, Slot, Column, Depth, NumDims };

/// Describes one contraction.
class ContractionMatcher {
public:
  /// `groups`, `depth`: loops whose step `op` is, or null. `allowLookups`:
  /// weights may be looked up for each row. `allowHalves`: tensors of f4E2M1FN
  /// may be unpacked from bytes; else they are taken for what they are.
  /// `adder`: adds a bias to the results and is a part of the product; or null.
  ContractionMatcher(mlir::linalg::LinalgOp op, const GroupLoop *groups,
                     const DepthLoop *depth, const RaiseOptions &options,
                     bool allowLookups, bool allowHalves, std::string &reason,
                     mlir::linalg::LinalgOp adder = {})
      : op(op), groups(groups), depth(depth), options(options),
        allowLookups(allowLookups), allowHalves(allowHalves), reason(reason),
        context(op.getContext()), adder(adder),
        ranges(op.getStaticLoopRanges()) {}

  std::optional<ScaledContraction> match();

  /// True if `match` has met halves of bytes in another order than that of K.
  bool hasOtherHalves() const { return otherHalves; }
  /// True if `match` has met numbers that are looked up.
  bool hasLookups() const { return !lookups.empty(); }
  /// True if they are the experts of rows.
  bool isRouted() const { return expert >= 0; }
  /// The contraction whose results `op` chooses from, or null.
  mlir::Operation *getChosen() const { return chosen; }

private:
  template <typename... Args>
  std::nullopt_t fail(const char *format, Args &&...args) {
    reason = llvm::formatv(false, format, std::forward<Args>(args)...).str();
    return std::nullopt;
  }
  mlir::AffineExpr dim(unsigned position) {
    return mlir::getAffineDimExpr(position, context);
  }
  mlir::AffineExpr zero() { return mlir::getAffineConstantExpr(0, context); }

  std::optional<Product> traceProduct();
  /// Traces the element that `adder` adds.
  bool traceBias(ElementTrace &trace);
  std::optional<Arrangement> describeBias();
  bool leaveDepthLoop(Product &product);
  bool readsAllDepth(const Factor &factor);
  std::optional<Product> traceChosen(ElementTrace &trace,
                                     const Product &choice);
  bool takeMask(const RowMask &mask);
  bool takeChoice(Product &product);
  bool splitFactors(Product product);
  bool takeLookup();
  void splitLoop(unsigned loop, int64_t inner);
  bool leaveLookup();
  std::optional<Routing> describeRouting();
  bool groupLoops();
  bool orderLoops(llvm::ArrayRef<unsigned> outLoops);
  bool orderRoutedLoops(llvm::ArrayRef<unsigned> outLoops);
  size_t countRepeats(llvm::ArrayRef<unsigned> outLoops);
  bool assignScales();
  void substitute(Factor &factor);
  bool leaveLoop();
  bool leaveLoop(Factor &factor, bool isOfRows);
  void leaveLoopByElement(Factor &factor);
  std::pair<llvm::SmallVector<int64_t>, llvm::SmallVector<mlir::AffineExpr>>
  getMatrix(Dim row);
  /// `factor` as a matrix of `shape` with indices `target`, or a failure that
  /// says that it is not `what`.
  std::optional<Arrangement> arrange(const Factor &factor,
                                     llvm::ArrayRef<int64_t> shape,
                                     llvm::ArrayRef<mlir::AffineExpr> target,
                                     llvm::StringRef what);
  std::optional<RaisedOperand> describeRows();
  std::optional<RaisedOperand> describe(const Factor &code, const Factor &scale,
                                        Dim row);
  int64_t findBlock(const Factor &scale);

  mlir::linalg::LinalgOp op;
  const GroupLoop *groups;
  const DepthLoop *depth;
  const RaiseOptions &options;
  bool allowLookups;
  bool allowHalves;
  bool otherHalves = false;
  std::string &reason;
  mlir::MLIRContext *context;
  mlir::linalg::LinalgOp adder;

  /// Without scales for the rows, codes[0] are the rows.
  llvm::SmallVector<Factor> codes, scales, globals;
  /// One if there is an `adder`, of f32, f16 or bf16.
  llvm::SmallVector<Factor> biases;
  llvm::SmallVector<Slice> slices;
  llvm::SmallVector<ExpressionRef> lookups;
  bool hasPlainRows = false;
  /// The one of `lookups` that is the expert of a row; -1 if none is.
  int expert = -1;
  /// Experts, where a sum over them with all but one masked chose it; else 0.
  int64_t numChoices = 0;
  mlir::Operation *chosen = nullptr;
  /// Of a sum over groups with masked rows.
  std::optional<RowMask> mask;
  /// The rows are those of every matrix of a batch.
  bool isRepeated = false;
  /// The rows follow the columns in the result.
  bool isTransposed = false;
  /// Extents of the loops: of `op`, and of those that one of it is split into.
  llvm::SmallVector<int64_t> ranges;
  /// The first of two loops that the key is split into.
  llvm::SmallDenseMap<unsigned, unsigned> halves;
  llvm::SmallVector<unsigned> loops[NumDims];
  int64_t extents[NumDims];
  /// Each loop in terms of the dimensions.
  llvm::SmallVector<mlir::AffineExpr> replacements;
};

/// True if an index of `factor` depends on the loop.
bool uses(const Factor &factor, unsigned loop);

/// True if `factor` is not the same element where dimension `position` is 0 as
/// where it is `value`, with all others zero.
bool changes(const Factor &factor, unsigned numDims, unsigned position,
             int64_t value);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_CONVERSION_UPSTREAMTOGSG_CONTRACTIONMATCHER_H
