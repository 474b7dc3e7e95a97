//===- ProductEmitter.h - emission of the functions of a product *- C++ ---===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of one product: those with kernels or vectors for one
// instruction set, and the tasks and the driver, which find them in the frame,
// for all of them. Each part has its own file.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_GSGTOCPU_PRODUCT_PRODUCTEMITTER_H
#define NVFP4_LIB_CONVERSION_GSGTOCPU_PRODUCT_PRODUCTEMITTER_H

#include "Product.h"
#include "nvfp4/Conversion/GsgToCpu/Kernel/Kernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nvfp4::gsg::cpu {

class ProductEmitter {
public:
  using Func = mlir::LLVM::LLVMFuncOp;

  ProductEmitter(mlir::ModuleOp module, const Product &product,
                 const KernelSpec &spec);

  /// What depends on the instruction set.
  struct Functions {
    Isa isa;
    Kernels few, many;
    /// Null where kernels compute every tile.
    Func untiledRows;
    Func epilogue, store;
    /// Null without copies.
    Func copyTile;
    /// Rows of a group from which on `many` are for it.
    int64_t manyFrom;
    /// Bytes of a prepared row in a step of K.
    int64_t fewStepBytes, manyStepBytes;
    /// Rows that are prepared together.
    int64_t tileRows;
    int64_t scratchBytes, accumulatorBytes;
  };
  Functions emitFunctions();

  /// The rest, for any of `choices`; the result runs the product whose frame it
  /// is given.
  mlir::func::FuncOp emitDriver(llvm::ArrayRef<Functions> choices);

private:
  using Value = mlir::Value;
  using Slot = Frame::Slot;

  /// Which instruction sets a function is for: one of them, those with the same
  /// vectors, or all.
  enum class Scope { Isa, Vectors, All };
  std::string symbolOf(llvm::StringRef suffix, Scope scope) const;
  /// Starts an internal function and moves the builder into it. The first
  /// argument is the frame.
  Func beginFunction(llvm::StringRef suffix, llvm::ArrayRef<mlir::Type> args,
                     Scope scope = Scope::Isa);
  void endFunction();

  // ProblemTable.cpp: fill(frame).
  Func emitFillTable();
  // PrepareTask.cpp: prepare(frame, task).
  Func emitPrepareTask();
  /// Calls the kernel at `callee` for rows [row0, row0 + rows) of `entry`, at
  /// most kPrepareRows. `offsets` is a buffer of two arrays of that many i64.
  void prepareRows(Value callee, Value entry, Value row0, Value rows,
                   Value offsets, Value prepared);
  /// Where row `row0` of `entry` is or will be prepared.
  Value preparedAt(Value entry, Value row0);
  // TileColumns.cpp: columns(frame, problem, first, dataBase, scalesBase, data,
  //                          scales, rows).
  Func emitTileColumns();
  // TileTask.cpp: tile(frame, task).
  Func emitTileTask(llvm::ArrayRef<Functions> choices);
  /// The number of a tile among all, by which its maximum is kept; tasks are in
  /// another order.
  Value tileNumber(Value panel, Value rowBlock);
  /// Calls the kernel at `callee` for `entry`. The operands are row0, rows,
  /// needed columns, data, scales, nextData, nextScales, scratch and tile.
  void multiply(Value callee, Value entry, Value prepared,
                mlir::ValueRange operands);
  // UntiledRows.cpp: untiled(frame, entry, operands...): computes a tile that a
  //                  tiled kernel did not, from rows prepared anew.
  Func emitUntiledRows();
  /// Whether the tile has a NaN in its first `rows` rows.
  Value findNaN(Value tile, Value rows);
  // TileEpilogue.cpp: epilogue(frame, number, group, row0, rows, first,
  // columns,
  //                            weightRows, tile): accumulators to results.
  Func emitEpilogue();
  // TileStore.cpp: store(frame, group, row0, rows, first, columns, tile).
  Func emitStore();
  Func emitQuantize();
  // TileCopies.cpp: copies(frame, group, row0, rows, first, columns, tile).
  Func emitCopies();
  /// The group, the row within it and the column of a block's first element.
  struct CopyPlace {
    Value group, row, column;
  };
  /// Copies 16 columns of 16 rows of the tile to lines that are `pitch` bytes
  /// apart, a column each.
  void transposeSquare(Value source, Value target, int64_t pitch);
  /// Quantises `count` numbers of a block along rows; `bytes` is scratch memory
  /// for one.
  void storeColumn(const CopyRef &copy, const CopyPlace &at, Value numbers,
                   Value count, Value bytes);
  // TailTask.cpp: zero(frame, gap); GroupMaxima.cpp: maxima(frame).
  Func emitZeroTail();
  Func emitGroupMaxima();

  // Frame and table, in the function under construction.
  Value slot(Slot slot) { return mb.load(mb.i64, frame, 8 * slot); }
  Value slotPtr(Slot s) { return toPtr(slot(s)); }
  Value slotF32(Slot slot) { return mb.load(mb.f32, frame, 8 * slot); }
  void setSlot(Slot slot, Value value) { mb.store(value, frame, 8 * slot); }
  Value problemAt(Value group);
  /// The word of the kernel that is for the rows of `entry`.
  Value kernelSlot(Value entry, Slot KernelSlots::*word);
  Value hasManyRows(Value entry) {
    return mb.cmp(mlir::arith::CmpIPredicate::sge, field(entry, problem::Rows),
                  slot(product.manyFrom));
  }
  Value field(Value problem, problem::Field field) {
    return mb.load(mb.i64, problem, 8 * field);
  }
  void setField(Value problem, problem::Field field, Value value) {
    mb.store(value, problem, 8 * field);
  }
  Value toPtr(Value address);
  Value toInt(Value pointer);
  /// The last problem whose `prefix` field is not above `index`.
  Value findProblem(problem::Field prefix, Value index);
  /// Calls the function at an address, which has the type of `like`.
  void callAt(Value callee, Func like, mlir::ValueRange args) {
    mlir::SmallVector<Value> operands = {callee};
    llvm::append_range(operands, args);
    mlir::LLVM::CallOp::create(builder, product.loc, like.getFunctionType(),
                               operands);
  }
  Value addressOf(Func function) {
    return mlir::LLVM::AddressOfOp::create(builder, product.loc, function);
  }
  /// A buffer in the stack frame of the function.
  Value buffer(int64_t bytes);
  /// Byte offset of column 0 of scale row `row`.
  Value scaleRowOffset(ScaleLayout layout, Value row, Value tileStride);
  /// Of several a group, number `member`.
  Value groupValue(const GroupRef &ref, Value group, int64_t member = 0);
  Value outputColumns(Value columns) {
    return product.isPaired() ? mb.shr(columns, 1) : columns;
  }

  // Parts of the epilogue.
  struct TileClauses;
  class TileLanes;
  Value rowValue(const RowRef &ref, Value group, Value rowInGroup,
                 Value globalRow);
  /// The entries of a panel's columns as f32 [64].
  void loadColumns(const ColumnRef &ref, Value group,
                   llvm::function_ref<Value(Value)> columnOf, Value target);
  /// Moves the panel's columns of one matrix row from or to f32 [64] `temp`.
  void moveRow(Value rowAddress, mlir::Type element, Value first, Value columns,
               Value weightRows, Value temp, bool isStore);
  mlir::Type lanesOf(mlir::Type element) const;
  Value laneMask(Value count);

  mlir::ModuleOp module;
  const Product &product;
  Isa isa;
  /// The one whose vectors functions without kernels use.
  Isa vectors;
  KernelPlan plan;
  mlir::OpBuilder builder;
  MathBuilder mb;
  std::string features;
  Kernels kernels;
  /// Others, for groups of at least `from` rows. Those of `scaleWeights` take
  /// the same prepared rows, tiled ones have their own.
  struct ManyRows {
    KernelPlan plan;
    Kernels kernels;
    int64_t from;
    bool isTiled() const { return plan.usesTiles(); }
    /// Whether a NaN of theirs may be something else.
    bool isPartial() const {
      return isTiled() && plan.getSpec().scale == format::ScaleKind::E8M0;
    }
  };
  std::optional<ManyRows> manyRows;
  Value frame;
  /// Lanes of the vectors of the function under construction.
  int64_t lanes = 16;
};

} // namespace nvfp4::gsg::cpu

#endif // NVFP4_LIB_CONVERSION_GSGTOCPU_PRODUCT_PRODUCTEMITTER_H
