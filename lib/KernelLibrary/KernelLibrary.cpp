//===- KernelLibrary.cpp - CPU kernels compiled ahead -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what nvfp4-make-kernels wrote: one line "name compressed raw" a kernel
// (sizes in bytes), an empty line, and the texts in that order.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/KernelLibrary/KernelLibrary.h"

#include "nvfp4/Conversion/GsgToCpu/Kernel/DeclareKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Error.h"

using namespace mlir;
using namespace nvfp4;

#ifdef NVFP4_KERNEL_LIBRARY
asm(".pushsection .rodata,\"a\",@progbits\n"
    ".local nvfp4_kernel_library_begin, nvfp4_kernel_library_end\n"
    "nvfp4_kernel_library_begin:\n"
    ".incbin \"" NVFP4_KERNEL_LIBRARY "\"\n"
    "nvfp4_kernel_library_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" {
[[gnu::visibility("hidden")]] extern const char nvfp4_kernel_library_begin[];
[[gnu::visibility("hidden")]] extern const char nvfp4_kernel_library_end[];
}
static StringRef getData() {
  return {nvfp4_kernel_library_begin,
          static_cast<size_t>(nvfp4_kernel_library_end -
                              nvfp4_kernel_library_begin)};
}
#else
static StringRef getData() { return {}; }
#endif

namespace {
struct Entry {
  StringRef name, data;
  size_t rawSize;
};
} // namespace

/// Entries in the order of the file.
static SmallVector<Entry> getEntries() {
  SmallVector<Entry> entries;
  auto [index, texts] = getData().split("\n\n");
  for (StringRef rest = index; !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    auto [name, sizes] = line.split(' ');
    size_t size = 0, rawSize = 0;
    sizes.consumeInteger(10, size);
    sizes.ltrim().consumeInteger(10, rawSize);
    entries.push_back({name, texts.take_front(size), rawSize});
    texts = texts.drop_front(size);
  }
  return entries;
}

std::vector<std::string> kernels::listKernels() {
  std::vector<std::string> names;
  for (const Entry &entry : getEntries())
    names.push_back(entry.name.str());
  return names;
}

std::optional<std::string> kernels::getAssembly(StringRef name) {
  for (const Entry &entry : getEntries()) {
    if (entry.name != name)
      continue;
    if (entry.data.size() == entry.rawSize)
      return entry.data.str();
    SmallVector<uint8_t, 0> text;
    if (llvm::Error error = llvm::compression::zstd::decompress(
            llvm::arrayRefFromStringRef(entry.data), text, entry.rawSize)) {
      llvm::consumeError(std::move(error));
      return std::nullopt;
    }
    return llvm::toStringRef(ArrayRef<uint8_t>(text)).str();
  }
  return std::nullopt;
}

void kernels::declareKernels(ModuleOp module) {
  if (!getData().empty())
    module->setAttr(gsg::cpu::kDeclareKernels,
                    UnitAttr::get(module.getContext()));
}

LogicalResult kernels::attachKernels(ModuleOp module) {
  if (!module->removeAttr(gsg::cpu::kDeclareKernels))
    return success();
  llvm::SetVector<StringRef> names;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    StringRef name = function.getSymName();
    if (function.isExternal() && name.starts_with(gsg::cpu::kKernelPrefix) &&
        (name.consume_back("_prepare_rows") || name.consume_back("_gemm_tile")))
      names.insert(name);
  }
  StringRef attrName = LLVM::LLVMDialect::getModuleLevelAsmAttrName();
  SmallVector<Attribute> texts;
  if (auto present = module->getAttrOfType<ArrayAttr>(attrName))
    llvm::append_range(texts, present);
  for (StringRef name : names) {
    std::optional<std::string> text = getAssembly(name);
    if (!text)
      return module.emitError("expected the kernel '")
             << name << "' in the library of this compiler";
    texts.push_back(StringAttr::get(module.getContext(), *text));
  }
  if (!texts.empty())
    module->setAttr(attrName, ArrayAttr::get(module.getContext(), texts));
  return success();
}
