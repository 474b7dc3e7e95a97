//===- KernelEmitter.h - emission of one kernel -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state shared by the parts of one kernel's emission, and the list of its
// functions in the order in which they call each other (leaves first). Each
// part has its own file.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOCPU_KERNEL_KERNELEMITTER_H
#define NVFP4_LIB_CONVERSION_GSGTOCPU_KERNEL_KERNELEMITTER_H

#include "IsaEmitter.h"
#include "nvfp4/Conversion/GsgToCpu/Kernel/Kernels.h"

namespace nvfp4::gsg::cpu {

class KernelEmitter {
public:
  KernelEmitter(mlir::ModuleOp module, const KernelSpec &spec);

  Kernels emit(mlir::LLVM::Linkage linkage);
  /// Functions without bodies.
  Kernels declare();

private:
  using Value = mlir::Value;
  using Func = mlir::LLVM::LLVMFuncOp;

  /// Starts an internal function of the kernel and moves the builder into it.
  Func beginFunction(llvm::StringRef suffix, llvm::ArrayRef<mlir::Type> args);
  void endFunction();
  /// Declares one of the two functions that callers see.
  Func declareFunction(llvm::StringRef suffix, llvm::ArrayRef<mlir::Type> args);
  llvm::SmallVector<mlir::Type> prepareRowsTypes() const;
  llvm::SmallVector<mlir::Type> gemmTileTypes() const;

  // StageStep.cpp: one zero-padded step of K of some rows, byte by byte.
  Func emitStageStep(format::ElementKind kind);
  // ScalePanel.cpp: scales of `columns` columns as f32.
  Func emitScalePanel(llvm::StringRef suffix, int64_t columns);
  // WeightPanel.cpp: weights of one set of columns in dot-product order.
  Func emitWeightPanel();
  // PrepareRows.cpp
  Func emitPrepareRows();
  /// Where a micro-kernel has its weights from: the panel; the panel, while it
  /// fetches the next one; memory, decoding them in registers.
  enum class Source { Panel, PanelAndFetch, Memory };
  // IntegerRows.cpp: rows x set of columns. More rows than a tile are two.
  Func emitIntegerRows(int64_t rows, Source source);
  // PairRows.cpp: the same for pairs of bf16.
  Func emitPairRows(int64_t rows, Source source);
  Func emitExactRows();
  /// A function for a Source: its name ends in one of its own and `rows`.
  Func beginRows(int64_t rows, Source source);
  Func emitRows(int64_t rows, Source source);
  /// Fetches the share of one block of the next set of columns.
  void fetchAhead(Value base, Value offsets, Value byteOffset, Value block);
  // FloatRows.cpp
  Func emitFloatRows(int64_t rows);
  // FusedFloatRows.cpp
  Func emitFusedFloatRows(int64_t rows);
  // GemmTile.cpp
  Func emitGemmTile();
  /// The arguments of gemmTile, what follows from them and parts of scratch.
  struct Tile {
    Value prepared, rows, k, data, scales, columnData, columnScales, columns,
        wordStride, phase, nextData, nextScales, scratch, accumulator;
    Value padded{}, allBlocks{}, scaleBuffer{}, words{}, stage{},
        stageOffsets{};
  };
  /// Copies step `element / kStep` of `columns` columns to the stage.
  void stageStep(const Tile &tile, Value offsets, int64_t columns,
                 Value element);
  /// Runs the row variant that covers `height` rows, if any.
  void dispatch(Value height, llvm::ArrayRef<int64_t> variants,
                llvm::function_ref<void(size_t, int64_t)> run);
  /// Through panels; `isExact` says whether pairs do not do.
  void runPanels(const Tile &tile, Value isExact);
  // FusedTile.cpp: few rows, which decode weights in registers.
  void runFused(const Tile &tile);
  // TileRows.cpp: one or two tiles of rows x tiles of all columns of a panel.
  Func emitTileRows(int64_t tiles, bool fetches);
  /// All rows of the chunk of `blocks` blocks that starts at `firstBlock`.
  void runTiles(const Tile &tile, Value firstBlock, Value blocks, Value ahead,
                Value byteOffset);
  /// Loads or drops the shapes of tiles.
  void configureTiles();
  void releaseTiles();
  // TileWeights.cpp
  /// The scales of four blocks, from their words, as decodeTileWeights wants
  /// them.
  llvm::SmallVector<Value> decodeTileScales(Value words);
  /// From the packed dwords of a block per lane, and its scales, the elements
  /// times scales as vectors of pairs of bf16; see PrepareRows.cpp.
  llvm::SmallVector<Value> decodeTileWeights(llvm::ArrayRef<Value> dwords,
                                             Value scales);
  /// Puts sums that are in the order of spread groups in that of columns.
  void orderColumns(const Tile &tile);
  /// The column in lane `lane` of spread group `group`.
  Value spreadColumn(Value group, Value lane);

  /// The packed dwords of one step of `lanes` columns, transposed: result d has
  /// bytes 4d..4d+3 of the step in lane = column. `columnPtr` gives the address
  /// of a column's step.
  llvm::SmallVector<Value>
  transposeStep(llvm::function_ref<Value(int64_t)> columnPtr,
                int64_t bytesOffset);
  /// The same of a step of a micro-kernel without a panel, given its arguments.
  llvm::SmallVector<Value> loadStep(mlir::ValueRange args, Value step);
  /// The loop over the steps of such a micro-kernel, of which there is at least
  /// one: body(step, packed dwords, carried values). With `early` the dwords
  /// are loaded and transposed a step before they are needed, so that this does
  /// not wait for the arithmetic nor the arithmetic for this.
  llvm::SmallVector<Value> forPackedSteps(
      mlir::ValueRange args, llvm::ArrayRef<Value> init, bool early,
      llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange,
                                                  mlir::ValueRange)>
          body);
  /// Fetches ahead for one step of one group of columns.
  void prefetchStep(Value base, Value offsets, Value byteOffset, Value step,
                    int64_t group, int64_t stepBytes,
                    KernelBuilder::Level level);
  /// Element `index` of 32-bit lanes of packed elements, as f32 lanes.
  Value decodeElement(format::ElementKind kind, Value dwords, int64_t index);
  /// Scale byte `index` of 32-bit lanes of scale words, as f32 lanes times
  /// 2^exponent.
  Value decodeScale(Value words, int64_t index, int exponent);
  /// Prepared scales carry this power of two: integer operands are doubled on
  /// both sides, and tiles are biased.
  int scaleExponent() const {
    bool isBiased = plan.usesTiles() && spec.scale == format::ScaleKind::UE4M3;
    return plan.usesIntegers() ? -2 : isBiased ? kTileBias : 0;
  }
  /// Row counts that are computed in one pass over memory, without a panel: up
  /// to two tiles where the registers hold their accumulators.
  llvm::SmallVector<int64_t> fusedVariants() const;
  /// One block's contribution: P, the two scales, the accumulator.
  Value accumulate(Value blockSum, Value scaleA, Value scaleB, Value acc);

  mlir::ModuleOp module;
  KernelSpec spec;
  KernelPlan plan;
  mlir::OpBuilder builder;
  KernelBuilder kb;
  std::unique_ptr<IsaEmitter> isa;

  Func stageActivations, stageWeights, scalePanel, groupScalePanel, weightPanel;
  Func panelRowsFetching, exactRows;
  /// For one tile of rows and for two, without and with fetching.
  Func tileRows[2][2];
  llvm::SmallVector<Func> panelRows, fusedRows;
};

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_LIB_CONVERSION_GSGTOCPU_KERNEL_KERNELEMITTER_H
