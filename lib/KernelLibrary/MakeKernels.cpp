//===- MakeKernels.cpp - nvfp4-make-kernels ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs when the project is built: compiles the kernels of every instruction set
// and pair of formats, and those for rows of bf16 and f16, and writes the file
// that KernelLibrary.cpp describes.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToCpu/Kernel/DeclareKernels.h"
#include "nvfp4/Conversion/GsgToCpu/Kernel/Kernels.h"
#include "nvfp4/Target/LLVMIR.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using format::BlockFormat;

static std::vector<KernelSpec> listSpecs() {
  constexpr BlockFormat formats[] = {
      BlockFormat::NVFP4, BlockFormat::MXFP4, BlockFormat::NVFP4_E8M0,
      BlockFormat::MXFP8_E4M3, BlockFormat::MXFP8_E5M2};
  std::vector<KernelSpec> specs;
  for (Isa isa : {Isa::Generic, Isa::AVX2, Isa::AVX512VNNI, Isa::AMX})
    for (BlockFormat activation : formats)
      for (BlockFormat weight : formats)
        if (auto spec = KernelSpec::get(isa, activation, weight);
            spec && !llvm::is_contained(specs, *spec))
          specs.push_back(*spec);
  for (Isa isa : {Isa::Generic, Isa::AVX2, Isa::AVX512VNNI, Isa::AVX512BF16})
    for (PlainRows rows : {PlainRows::BF16, PlainRows::F16})
      for (BlockFormat weight : formats)
        for (bool scaleWeights : {false, true}) {
          KernelSpec spec = KernelSpec::get(isa, rows, weight);
          spec.scaleWeights = scaleWeights;
          if (isCompiledAhead(spec) &&
              (!scaleWeights || spec.canScaleWeights()) &&
              !llvm::is_contained(specs, spec))
            specs.push_back(spec);
        }
  return specs;
}

namespace {
/// A kernel as text and as an ELF object.
struct Code {
  std::string assembly, object;
};
} // namespace

static FailureOr<Code> compile(const KernelSpec &spec, MLIRContext &context) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  getOrEmitKernels(*module, spec, LLVM::Linkage::External);
  PassManager pm(&context);
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  if (failed(pm.run(*module)))
    return failure();
  auto target = target::NativeTarget::forIsa(stringify(spec.isa));
  if (!target) {
    llvm::errs() << llvm::toString(target.takeError()) << "\n";
    return failure();
  }
  SmallVector<char, 0> text, object;
  llvm::raw_svector_ostream texts(text), objects(object);
  if (failed(target::emitModule(*module, *target, target::EmitKind::Assembly,
                                texts)) ||
      failed(target::emitModule(*module, *target, target::EmitKind::Object,
                                objects)))
    return failure();
  return Code{texts.str().str(), objects.str().str()};
}

/// The bytes as the file has them; compressed, if there is a way to.
static std::string pack(StringRef bytes) {
  SmallVector<uint8_t, 0> data(bytes.begin(), bytes.end());
  if (llvm::compression::zstd::isAvailable())
    llvm::compression::zstd::compress(llvm::arrayRefFromStringRef(bytes), data,
                                      /*Level=*/15);
  return llvm::toStringRef(ArrayRef<uint8_t>(data)).str();
}

/// Makes every symbol local, and labels unlike those of other kernels and of
/// the code around: they begin with ".L" and here with ".Lk<number>_".
static std::string makeLocal(StringRef text, size_t number) {
  std::string prefix = ".Lk" + std::to_string(number) + "_";
  std::string result;
  SmallVector<StringRef> lines;
  text.split(lines, '\n');
  for (StringRef line : lines) {
    StringRef word = line.ltrim();
    if (llvm::any_of(
            ArrayRef<StringRef>{".globl", ".file", ".ident", ".addrsig",
                                ".hidden"},
            [&](StringRef prefix) { return word.starts_with(prefix); }))
      continue;
    for (size_t i = 0; i < line.size(); ++i) {
      bool starts = line.substr(i).starts_with(".L") &&
                    (i == 0 || (!llvm::isAlnum(line[i - 1]) &&
                                line[i - 1] != '_' && line[i - 1] != '.'));
      if (starts) {
        result += prefix;
        ++i;
      } else {
        result += line[i];
      }
    }
    result += '\n';
  }
  return result + "\t.text\n";
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: nvfp4-make-kernels FILE\n";
    return 1;
  }
  DialectRegistry registry;
  target::registerTranslations(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  loadKernelDialects(context);
  std::string index, data;
  for (auto [number, spec] : llvm::enumerate(listSpecs())) {
    FailureOr<Code> code = compile(spec, context);
    if (failed(code))
      return 1;
    index += spec.name();
    for (const std::string &bytes :
         {makeLocal(code->assembly, number), code->object}) {
      std::string packed = pack(bytes);
      index += " " + std::to_string(packed.size()) + " " +
               std::to_string(bytes.size());
      data += packed;
    }
    index += "\n";
  }
  std::error_code code;
  llvm::ToolOutputFile file(argv[1], code, llvm::sys::fs::OF_None);
  if (code) {
    llvm::errs() << "could not write '" << argv[1] << "': " << code.message()
                 << "\n";
    return 1;
  }
  file.os() << index << "\n" << data;
  file.keep();
  return 0;
}
