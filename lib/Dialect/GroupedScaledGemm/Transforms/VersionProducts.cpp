//===- VersionProducts.cpp - gsg-version-products ---------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost model says where which tile is best; branches on the number of rows
// hold the product once for each tile.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/KernelSupport.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Strategy.h"
#include "nvfp4/KernelTarget/Versions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"

namespace nvfp4::gsg {
#define GEN_PASS_DEF_VERSIONPRODUCTSPASS
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Passes.h.inc"
} // namespace nvfp4::gsg

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;

/// Matrices of rows that the host knows the number of when `op` runs, 0 if it
/// does not: rows of a masked product are as many as fit.
static int64_t countRowMatrices(MatmulOp op) {
  auto rows = dyn_cast<MemRefType>(op.getLhs().front().getType());
  if (!rows || !rows.isDynamicDim(rows.getRank() - 2) ||
      ShapedType::isDynamic(op.getNumGroups()))
    return 0;
  const GroupingForm &form = getForm(op.getGrouping());
  if (form.hasCounts() || form.cutsK())
    return 0;
  return form.stacksRows ? op.getNumGroups() : 1;
}

/// Says of each version its range, the rows that it is tuned for and its tile.
static void explain(MatmulOp op, ArrayRef<strategy::Version> versions,
                    const strategy::VersionRegret &regret) {
  std::string text;
  int64_t least = 1;
  for (const strategy::Version &version : versions) {
    bool isLast = version.mostRows == std::numeric_limits<int64_t>::max();
    text += "\n" + std::to_string(least);
    text += isLast ? " rows or more"
                   : " to " + std::to_string(version.mostRows) + " rows";
    text += ", for " + std::to_string(version.expectedRows) + ": " +
            strategy::toString(version.tile);
    if (!isLast)
      least = version.mostRows + 1;
  }
  op->emitRemark() << llvm::formatv(
                          "{0} versions, predicted to lose {1:P1} to the best "
                          "tile in the mean and {2:P1} at worst",
                          versions.size(), regret.mean, regret.worst)
                          .str()
                   << text;
}

/// The branches in place of `op`.
static void build(MatmulOp op, ArrayRef<strategy::Version> versions,
                  int64_t matrices) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Value input = op.getLhs().front();
  int64_t rank = cast<MemRefType>(input.getType()).getRank();
  Value rows = memref::DimOp::create(b, loc, input, rank - 2);
  for (const strategy::Version &version : versions) {
    auto makeVersion = [&](OpBuilder &b) {
      auto own = cast<MatmulOp>(b.clone(*op));
      own.setStrategyAttr(getStrategyAttr(op.getContext(), version.tile));
      own.setExpectedRows(version.expectedRows);
    };
    if (&version == &versions.back()) {
      makeVersion(b);
      break;
    }
    Value most =
        arith::ConstantIndexOp::create(b, loc, version.mostRows / matrices);
    Value fits =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ule, rows, most);
    auto branch = scf::IfOp::create(b, loc, fits, /*withElseRegion=*/true);
    OpBuilder inside = branch.getThenBodyBuilder();
    makeVersion(inside);
    b = branch.getElseBodyBuilder();
  }
  op.erase();
}

namespace {
struct VersionProducts
    : nvfp4::gsg::impl::VersionProductsPassBase<VersionProducts> {
  using VersionProductsPassBase::VersionProductsPassBase;

  void runOnOperation() override {
    if (most < 1) {
      getOperation()->emitError("expected most >= 1, but got ")
          << most.getValue();
      return signalPassFailure();
    }
    FailureOr<const KernelTarget *> found =
        getKernelTarget(getOperation(), target);
    if (failed(found))
      return signalPassFailure();
    SmallVector<MatmulOp> products;
    getOperation()->walk([&](MatmulOp op) { products.push_back(op); });
    for (MatmulOp op : products)
      version(op, **found);
  }

  void version(MatmulOp op, const KernelTarget &target) {
    int64_t matrices = countRowMatrices(op);
    if (matrices == 0 || op.getStrategyAttr() || op.getExpectedRows() ||
        !findUnsupportedByKernels(op, target).empty())
      return;
    strategy::VersionRegret regret;
    std::vector<strategy::Version> versions = strategy::chooseVersions(
        target,
        [&](int64_t rows) {
          strategy::Problem problem = forKernels(gsg::describe(op, rows));
          problem.multiprocessors = multiprocessors;
          return problem;
        },
        most, &regret);
    if (versions.size() < 2)
      return;
    if (explain)
      ::explain(op, versions, regret);
    build(op, versions, matrices);
  }
};
} // namespace
