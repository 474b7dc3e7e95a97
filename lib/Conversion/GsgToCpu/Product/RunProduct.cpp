//===- RunProduct.cpp -------------------------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Allocates frame and table, fills both, with the kernels of the fastest of the
// given instruction sets that the CPU has, and calls the product.
//
//===----------------------------------------------------------------------===//

#include "ProductEmitter.h"
#include "ProductOperands.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;

/// A symbol, and prefix of others, that no function of the module has.
static std::string uniqueName(ModuleOp module, StringRef stem) {
  for (unsigned number = 0;; ++number) {
    std::string name = (stem + Twine(number)).str();
    if (!module.lookupSymbol(name))
      return name;
  }
}

/// The function of the runtime that says what the CPU has: 0 generic, 1 AVX2,
/// 2 AVX-512 VNNI, 3 AVX-512 BF16, 4 AMX.
static Value callRuntimeIsa(MathBuilder &mb, ModuleOp module) {
  constexpr StringLiteral symbol = "nvfp4_cpu_isa";
  auto func = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (!func) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    func = LLVM::LLVMFuncOp::create(builder, mb.loc, symbol,
                                    LLVM::LLVMFunctionType::get(mb.i32, {}));
  }
  return LLVM::CallOp::create(mb.builder, mb.loc, func, ValueRange())
      .getResult();
}

LogicalResult cpu::runProduct(PatternRewriter &rewriter, Operation *op,
                              Product &product, ArrayRef<Isa> isas,
                              Value numProblems,
                              function_ref<void(MathBuilder &, Value)> fill) {
  auto module = op->getParentOfType<ModuleOp>();
  Location loc = op->getLoc();
  SmallVector<KernelSpec> specs;
  for (Isa isa : isas) {
    format::BlockFormat weights = toFormat(product.rhsType.getFormat());
    std::optional<KernelSpec> spec =
        product.plainRows == PlainRows::None
            ? KernelSpec::get(isa, toFormat(product.lhsType.getFormat()),
                              weights)
            : KernelSpec::get(isa, product.plainRows, weights);
    if (!spec)
      return rewriter.notifyMatchFailure(
          op, "expected operands with one kind of scale and one block size");
    // A process has to ask for tiles and may not get them.
    SmallVector<KernelSpec> needed = {*spec, spec->withoutTiles()};
    // Of several instruction sets the fastest is chosen: pairs may be slow.
    if (isas.size() > 1)
      needed.push_back(spec->withoutPairs());
    for (const KernelSpec &one : needed)
      if (!llvm::is_contained(specs, one))
        specs.push_back(one);
  }
  llvm::sort(specs, [](const KernelSpec &a, const KernelSpec &b) {
    return a.isa > b.isa;
  });

  MathBuilder mb(rewriter, loc);
  product.table = product.frame.reserve();
  product.numProblems = product.frame.add(numProblems);
  for (Frame::Slot *slot :
       {&product.few.prepareRows, &product.few.gemmTile, &product.few.stepBytes,
        &product.many.prepareRows, &product.many.gemmTile,
        &product.many.stepBytes, &product.manyFrom, &product.untiledRows,
        &product.epilogue, &product.store, &product.copyTile, &product.tileRows,
        &product.stepBytes, &product.rowBlocks, &product.prepareBlocks,
        &product.panels, &product.preparedBytes, &product.prepared,
        &product.maxima})
    *slot = product.frame.reserve();
  product.name = uniqueName(module, product.isList() ? "nvfp4_matmul_list_"
                                                     : "nvfp4_matmul_");

  int64_t frameWords = product.frame.size();
  Value words = mb.add(mb.mul(numProblems, problem::Count), frameWords);
  Value memory = memref::AllocOp::create(
      rewriter, loc, MemRefType::get({ShapedType::kDynamic}, mb.i64),
      arith::IndexCastOp::create(rewriter, loc, rewriter.getIndexType(), words)
          .getResult());
  Value address = arith::IndexCastOp::create(
      rewriter, loc, mb.i64,
      memref::ExtractAlignedPointerAsIndexOp::create(rewriter, loc, memory));
  Value frame = LLVM::IntToPtrOp::create(rewriter, loc, mb.ptr, address);
  product.frame.write(mb, frame);
  mb.store(mb.add(address, 8 * frameWords), frame, 8 * product.table);
  fill(mb, mb.ptrAdd(frame, 8 * frameWords));

  SmallVector<ProductEmitter::Functions> choices;
  for (const KernelSpec &spec : specs)
    choices.push_back(ProductEmitter(module, product, spec).emitFunctions());
  auto choose = [&](const ProductEmitter::Functions &chosen) {
    auto set = [&](Frame::Slot slot, int64_t value) {
      mb.store(mb.i64Constant(value), frame, 8 * slot);
    };
    auto setAddress = [&](Frame::Slot slot, LLVM::LLVMFuncOp function) {
      mb.store(LLVM::AddressOfOp::create(rewriter, loc, function), frame,
               8 * slot);
    };
    auto setKernels = [&](const KernelSlots &slots, const Kernels &kernels,
                          int64_t stepBytes) {
      setAddress(slots.prepareRows, kernels.prepareRows);
      setAddress(slots.gemmTile, kernels.gemmTile);
      set(slots.stepBytes, stepBytes);
    };
    setKernels(product.few, chosen.few, chosen.fewStepBytes);
    setKernels(product.many, chosen.many, chosen.manyStepBytes);
    set(product.manyFrom, chosen.manyFrom);
    if (chosen.untiledRows)
      setAddress(product.untiledRows, chosen.untiledRows);
    else
      set(product.untiledRows, 0);
    setAddress(product.epilogue, chosen.epilogue);
    setAddress(product.store, chosen.store);
    if (chosen.copyTile)
      setAddress(product.copyTile, chosen.copyTile);
    set(product.tileRows, chosen.tileRows);
    set(product.stepBytes, std::max(chosen.fewStepBytes, chosen.manyStepBytes));
  };
  if (choices.size() == 1) {
    choose(choices.front());
  } else {
    Value level = callRuntimeIsa(mb, module);
    std::function<void(size_t)> chooseFrom = [&](size_t i) {
      if (i + 1 == choices.size())
        return choose(choices[i]);
      // A level above that of pairs says that they are slow.
      auto predicate = choices[i].isa == Isa::AVX512BF16
                           ? arith::CmpIPredicate::eq
                           : arith::CmpIPredicate::sge;
      Value has =
          mb.cmp(predicate, level, static_cast<int64_t>(choices[i].isa));
      mb.ifThenElse(
          has, [&] { choose(choices[i]); }, [&] { chooseFrom(i + 1); });
    };
    chooseFrom(0);
  }
  func::FuncOp driver =
      ProductEmitter(module, product, specs.back()).emitDriver(choices);
  func::CallOp::create(rewriter, loc, driver, ValueRange{frame});
  memref::DeallocOp::create(rewriter, loc, memory);
  rewriter.eraseOp(op);
  return success();
}
