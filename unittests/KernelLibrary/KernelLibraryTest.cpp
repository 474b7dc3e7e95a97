//===- KernelLibraryTest.cpp - CPU kernels compiled ahead -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What modules get from the library. That the code computes the same as emitted
// kernels is tested where it runs, in test/Tools.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/KernelLibrary/KernelLibrary.h"

#include "nvfp4/Conversion/GsgToCpu/Kernel/DeclareKernels.h"
#include "nvfp4/Conversion/GsgToCpu/Kernel/Kernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Object/ObjectFile.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <regex>
#include <set>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg::cpu;
using format::BlockFormat;

namespace {
class KernelLibrary : public ::testing::Test {
protected:
  void SetUp() override {
    if (kernels::listKernels().empty())
      GTEST_SKIP() << "built for another processor than x86-64";
    loadKernelDialects(context);
    module = ModuleOp::create(UnknownLoc::get(&context));
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(KernelLibrary, HoldsEveryPairOfFormats) {
  std::vector<std::string> names = kernels::listKernels();
  // Two NVFP4 formats with themselves, and nine pairs in blocks of 32.
  // Rows of bf16 by NVFP4, scaled before or after, and by MXFP4; of f16.
  // Tiles for three formats with themselves.
  EXPECT_EQ(names.size(), 3u * 11u + 4u * 3u + 3u * 2u + 3u);
  for (Isa isa : {Isa::Generic, Isa::AVX2, Isa::AVX512VNNI, Isa::AVX512BF16})
    for (BlockFormat weight : {BlockFormat::NVFP4, BlockFormat::MXFP4}) {
      KernelSpec spec = KernelSpec::get(isa, PlainRows::BF16, weight);
      EXPECT_EQ(spec.isa, isa);
      EXPECT_TRUE(std::count(names.begin(), names.end(), spec.name()))
          << spec.name();
      spec = KernelSpec::get(isa, PlainRows::F16, weight);
      EXPECT_EQ(spec.isa, std::min(isa, Isa::AVX512VNNI));
      EXPECT_TRUE(std::count(names.begin(), names.end(), spec.name()))
          << spec.name();
    }
  for (Isa isa : {Isa::Generic, Isa::AVX2, Isa::AVX512VNNI, Isa::AMX})
    for (BlockFormat a :
         {BlockFormat::NVFP4, BlockFormat::MXFP4, BlockFormat::NVFP4_E8M0,
          BlockFormat::MXFP8_E4M3, BlockFormat::MXFP8_E5M2})
      for (BlockFormat b :
           {BlockFormat::NVFP4, BlockFormat::MXFP4, BlockFormat::NVFP4_E8M0,
            BlockFormat::MXFP8_E4M3, BlockFormat::MXFP8_E5M2})
        if (auto spec = KernelSpec::get(isa, a, b)) {
          EXPECT_TRUE(std::count(names.begin(), names.end(), spec->name()))
              << spec->name();
        }
  EXPECT_FALSE(kernels::getAssembly("nvfp4_cpu_z80"));
}

/// The global symbols that an object defines, and those that it lacks.
struct Symbols {
  std::set<std::string> defined, undefined;
};

static Symbols readSymbols(llvm::StringRef object) {
  Symbols symbols;
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(object, "kernel"));
  if (!file) {
    ADD_FAILURE() << llvm::toString(file.takeError());
    return symbols;
  }
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    uint32_t flags = llvm::cantFail(symbol.getFlags());
    std::string name = llvm::cantFail(symbol.getName()).str();
    if (flags & llvm::object::SymbolRef::SF_Undefined)
      symbols.undefined.insert(name);
    else if (flags & llvm::object::SymbolRef::SF_Global)
      symbols.defined.insert(name);
  }
  return symbols;
}

TEST_F(KernelLibrary, ObjectsDefineWhatModulesDeclare) {
  for (const std::string &name : kernels::listKernels()) {
    auto object = kernels::getObject(name);
    ASSERT_TRUE(object) << name;
    Symbols symbols = readSymbols(*object);
    EXPECT_TRUE(symbols.defined.count(name + "_gemm_tile")) << name;
    EXPECT_TRUE(symbols.defined.count(name + "_prepare_rows")) << name;
    // Another kernel may be linked beside it.
    for (const std::string &symbol : symbols.defined)
      EXPECT_EQ(symbol.find(name), 0u) << symbol;
    // The C libraries have the rest.
    const std::set<std::string> known = {"", "_GLOBAL_OFFSET_TABLE_", "fmaf",
                                         "memcpy", "memset"};
    for (const std::string &symbol : symbols.undefined)
      EXPECT_TRUE(known.count(symbol)) << name << ": " << symbol;
  }
  EXPECT_FALSE(kernels::getObject("nvfp4_cpu_z80"));
}

TEST_F(KernelLibrary, SymbolsAreLocalAndLabelsUnique) {
  std::set<std::string> seen;
  const std::regex label("^([.A-Za-z_][.\\w]*):", std::regex::multiline);
  for (const std::string &name : kernels::listKernels()) {
    auto text = kernels::getAssembly(name);
    ASSERT_TRUE(text) << name;
    EXPECT_EQ(text->find(".globl"), std::string::npos) << name;
    EXPECT_NE(text->find("\n" + name + "_gemm_tile:"), std::string::npos);
    EXPECT_NE(text->find("\n" + name + "_prepare_rows:"), std::string::npos);
    for (auto it = std::sregex_iterator(text->begin(), text->end(), label);
         it != std::sregex_iterator(); ++it)
      EXPECT_TRUE(seen.insert((*it)[1]).second) << name << ": " << (*it)[1];
  }
}

TEST_F(KernelLibrary, ModuleGetsWhatItDeclares) {
  kernels::declareKernels(*module);
  auto spec =
      KernelSpec::get(Isa::AVX2, BlockFormat::MXFP4, BlockFormat::MXFP4);
  Kernels declared = getOrEmitKernels(*module, *spec);
  EXPECT_TRUE(declared.gemmTile.isExternal());
  EXPECT_TRUE(declared.prepareRows.isExternal());
  ASSERT_TRUE(succeeded(verify(*module)));
  ASSERT_TRUE(succeeded(kernels::attachKernels(*module)));
  EXPECT_FALSE((*module)->hasAttr(kDeclareKernels));
  auto texts = (*module)->getAttrOfType<ArrayAttr>(
      LLVM::LLVMDialect::getModuleLevelAsmAttrName());
  ASSERT_TRUE(texts);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(cast<StringAttr>(texts[0]).getValue().str(),
            *kernels::getAssembly(spec->name()));
}

TEST_F(KernelLibrary, ModuleWithoutTheAttributeHasBodies) {
  auto spec =
      KernelSpec::get(Isa::Generic, BlockFormat::NVFP4, BlockFormat::NVFP4);
  Kernels emitted = getOrEmitKernels(*module, *spec);
  EXPECT_FALSE(emitted.gemmTile.isExternal());
  ASSERT_TRUE(succeeded(kernels::attachKernels(*module)));
  EXPECT_FALSE(
      (*module)->hasAttr(LLVM::LLVMDialect::getModuleLevelAsmAttrName()));
}

TEST_F(KernelLibrary, UnknownKernelIsAnError) {
  kernels::declareKernels(*module);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  LLVM::LLVMFuncOp::create(
      builder, module->getLoc(), "nvfp4_cpu_z80_gemm_tile",
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&context), {}));
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  EXPECT_TRUE(failed(kernels::attachKernels(*module)));
  EXPECT_EQ(message, "expected the kernel 'nvfp4_cpu_z80' in the library of "
                     "this compiler");
}
} // namespace
