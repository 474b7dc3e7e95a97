//===- ProductEmitter.cpp - emission of the functions of a product *- C++ -===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions, access to the frame and the table, and the driver: fill the table,
// prepare the rows of activations, then compute tiles, each wholly by one task,
// so results do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"

#include "../Kernel/IsaEmitter.h"
#include "nvfp4/Target/Versions.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;
using IntPredicate = arith::CmpIPredicate;

ProductEmitter::ProductEmitter(ModuleOp module, const Product &product,
                               const KernelSpec &spec)
    : module(module), product(product), isa(spec.isa),
      // Conversions to bf16 by its instruction would flush subnormals.
      vectors(std::min(spec.isa, Isa::AVX512VNNI)), plan(spec.withoutTiles()),
      builder(module.getContext()), mb(builder, product.loc),
      features(IsaEmitter::create(vectors)->targetFeatures()) {
  kernels = getOrEmitKernels(module, plan.getSpec());
  KernelSpec many = spec;
  many.scaleWeights = !product.isBatchInvariant && spec.canScaleWeights();
  if (many != plan.getSpec())
    manyRows = ManyRows{KernelPlan(many), getOrEmitKernels(module, many),
                        spec.isTiled() ? kTiledRows : kManyRows};
}

std::string ProductEmitter::symbolOf(StringRef suffix, Scope scope) const {
  std::string symbol = product.name;
  if (scope != Scope::All)
    symbol += "_" + stringify(scope == Scope::Isa ? isa : vectors).str();
  return symbol + suffix.str();
}

LLVM::LLVMFuncOp ProductEmitter::beginFunction(StringRef suffix,
                                               ArrayRef<Type> args,
                                               Scope scope) {
  MLIRContext *context = module.getContext();
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types = {mb.ptr};
  types.append(args.begin(), args.end());
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto func =
      LLVM::LLVMFuncOp::create(builder, product.loc, symbolOf(suffix, scope),
                               type, LLVM::Linkage::Internal);
  func.setTargetCpu("x86-64");
  func.setTargetFeaturesAttr(LLVM::TargetFeaturesAttr::get(
      context,
      scope == Scope::All || features.empty() ? StringRef("+sse2") : features));
  func.setNoInline(true);
  func.setPassthroughAttr(
      builder.getArrayAttr(builder.getStringAttr(target::kLoweredAttr)));
  builder.setInsertionPointToStart(func.addEntryBlock(builder));
  frame = func.getArgument(0);
  return func;
}

void ProductEmitter::endFunction() {
  LLVM::ReturnOp::create(builder, product.loc, ValueRange());
}

Value ProductEmitter::toPtr(Value address) {
  return LLVM::IntToPtrOp::create(builder, product.loc, mb.ptr, address);
}
Value ProductEmitter::toInt(Value pointer) {
  return LLVM::PtrToIntOp::create(builder, product.loc, mb.i64, pointer);
}

Value ProductEmitter::problemAt(Value group) {
  return mb.ptrAdd(slotPtr(product.table), mb.mul(group, 8 * problem::Count));
}

Value ProductEmitter::kernelSlot(Value entry, Slot KernelSlots::*word) {
  return mb.select(hasManyRows(entry), slot(product.many.*word),
                   slot(product.few.*word));
}

Value ProductEmitter::findProblem(problem::Field prefix, Value index) {
  // Problems without tasks have the prefix of the next; the last one wins.
  Value table = slotPtr(product.table);
  auto search = scf::WhileOp::create(
      builder, product.loc, TypeRange{mb.i64, mb.i64},
      ValueRange{mb.i64Constant(0), slot(product.numProblems)},
      [&](OpBuilder &, Location, ValueRange range) {
        Value more = mb.cmp(IntPredicate::sgt, mb.sub(range[1], range[0]), 1);
        scf::ConditionOp::create(builder, product.loc, more, range);
      },
      [&](OpBuilder &, Location, ValueRange range) {
        Value middle = mb.shr(mb.add(range[0], range[1]), 1);
        Value candidate = mb.ptrAdd(table, mb.mul(middle, 8 * problem::Count));
        Value starts =
            mb.cmp(IntPredicate::sle, field(candidate, prefix), index);
        scf::YieldOp::create(builder, product.loc,
                             ValueRange{mb.select(starts, middle, range[0]),
                                        mb.select(starts, range[1], middle)});
      });
  return search.getResult(0);
}

Value ProductEmitter::buffer(int64_t bytes) {
  return LLVM::AllocaOp::create(builder, product.loc, mb.ptr, mb.i8,
                                mb.i64Constant(bytes), 64);
}

Value ProductEmitter::scaleRowOffset(ScaleLayout layout, Value row,
                                     Value tileStride) {
  switch (layout) {
  case ScaleLayout::Linear:
    return mb.mul(row, tileStride);
  case ScaleLayout::Blocked: {
    Value tile = mb.mul(mb.shr(row, 7), tileStride);
    Value inTile = mb.add(mb.shl(mb.bitAnd(row, 31), 4),
                          mb.shl(mb.bitAnd(mb.shr(row, 5), 3), 2));
    return mb.add(tile, inTile);
  }
  case ScaleLayout::Blocked8x4:
    return mb.add(mb.mul(mb.shr(row, 3), tileStride),
                  mb.shl(mb.bitAnd(row, 7), 2));
  case ScaleLayout::Wgmma:
  case ScaleLayout::WgmmaF16:
    break; // no scales by themselves: see explainUnsupported
  }
  return {};
}

Value ProductEmitter::groupValue(const GroupRef &ref, Value group,
                                 int64_t member) {
  if (ref.kind == GroupRef::Scalar)
    return slotF32(ref.slot);
  Value own =
      mb.ptrAdd(slotPtr(ref.slot), mb.mul(group, slot(ref.groupStride)));
  return mb.load(mb.f32, own, ref.kind == GroupRef::Several ? 4 * member : 0);
}

ProductEmitter::Functions ProductEmitter::emitFunctions() {
  Functions functions;
  functions.isa = isa;
  auto once = [&](StringRef suffix, Func (ProductEmitter::*emit)()) {
    auto found = module.lookupSymbol<Func>(symbolOf(suffix, Scope::Vectors));
    return found ? found : (this->*emit)();
  };
  functions.epilogue = once("_epilogue", &ProductEmitter::emitEpilogue);
  functions.store = product.quantizer
                        ? once("_quantize", &ProductEmitter::emitQuantize)
                        : once("_store", &ProductEmitter::emitStore);
  if (!product.copies.empty())
    functions.copyTile = once("_copies", &ProductEmitter::emitCopies);
  functions.few = functions.many = kernels;
  functions.manyFrom = std::numeric_limits<int64_t>::max();
  const KernelPlan &other = manyRows ? manyRows->plan : plan;
  if (manyRows) {
    functions.manyFrom = manyRows->from;
    functions.many.gemmTile = manyRows->kernels.gemmTile;
    if (manyRows->isTiled())
      functions.many.prepareRows = manyRows->kernels.prepareRows;
    if (manyRows->isPartial())
      functions.untiledRows = emitUntiledRows();
  }
  functions.fewStepBytes = plan.getPreparedStepBytes();
  functions.manyStepBytes = other.getPreparedStepBytes();
  functions.tileRows = std::max(plan.getTileRows(), other.getTileRows());
  functions.scratchBytes =
      std::max(plan.getScratchBytes(), other.getScratchBytes());
  functions.accumulatorBytes = std::max(plan.getAccumulatorBytes(kTaskRows),
                                        other.getAccumulatorBytes(kTaskRows));
  return functions;
}

func::FuncOp ProductEmitter::emitDriver(ArrayRef<Functions> choices) {
  Location loc = product.loc;
  Func prepareTask = emitPrepareTask();
  Func tileTask = emitTileTask(choices);
  Func fillTable = emitFillTable();
  Func zeroTail = product.zeroTail ? emitZeroTail() : Func();
  Func groupMaxima = product.amax ? emitGroupMaxima() : Func();
  builder.setInsertionPointToEnd(module.getBody());
  auto func = func::FuncOp::create(builder, loc, product.name,
                                   builder.getFunctionType({mb.ptr}, {}));
  func.setPrivate();
  builder.setInsertionPointToStart(func.addEntryBlock());
  frame = func.getArgument(0);
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      value);
  };
  auto allocate = [&](Value bytes, Frame::Slot s) {
    auto type = MemRefType::get({ShapedType::kDynamic}, mb.i8);
    Value memory = memref::AllocOp::create(builder, loc, type, toIndex(bytes),
                                           builder.getI64IntegerAttr(64));
    Value address =
        memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, memory);
    setSlot(s, arith::IndexCastOp::create(builder, loc, mb.i64, address));
    return memory;
  };
  auto parallel = [&](Value count, llvm::function_ref<void(Value)> task) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    scf::ParallelOp::create(
        builder, loc, ValueRange{zero}, ValueRange{toIndex(count)},
        ValueRange{one}, [&](OpBuilder &, Location, ValueRange index) {
          task(arith::IndexCastOp::create(builder, loc, mb.i64, index[0]));
        });
  };
  auto parallelTask = [&](Value count, Func task) {
    parallel(count, [&](Value number) { mb.call(task, {frame, number}); });
  };

  mb.call(fillTable, {frame});
  SmallVector<Value> memory;
  memory.push_back(allocate(slot(product.preparedBytes), product.prepared));
  parallelTask(slot(product.prepareBlocks), prepareTask);
  if (zeroTail)
    parallelTask(mb.add(slot(product.numProblems), 1), zeroTail);
  Value tasks = mb.mul(slot(product.rowBlocks), slot(product.panels));
  if (product.amax)
    memory.push_back(allocate(mb.shl(tasks, 2), product.maxima));
  parallelTask(tasks, tileTask);
  if (groupMaxima)
    mb.call(groupMaxima, {frame});
  for (Value buffer : memory)
    memref::DeallocOp::create(builder, loc, buffer);
  func::ReturnOp::create(builder, loc);
  return func;
}
