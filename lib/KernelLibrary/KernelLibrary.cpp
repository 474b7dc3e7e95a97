//===- KernelLibrary.cpp - CPU kernels compiled ahead -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what nvfp4-make-kernels wrote: a line for each kernel, its name and two
// pairs of sizes in bytes, compressed and raw, of its assembly and its object;
// an empty line; and these in that order.
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
/// Bytes of the library.
struct Packed {
  StringRef data;
  size_t rawSize = 0;

  std::optional<std::string> unpack() const {
    if (data.size() == rawSize)
      return data.str();
    SmallVector<uint8_t, 0> bytes;
    if (llvm::Error error = llvm::compression::zstd::decompress(
            llvm::arrayRefFromStringRef(data), bytes, rawSize)) {
      llvm::consumeError(std::move(error));
      return std::nullopt;
    }
    return llvm::toStringRef(ArrayRef<uint8_t>(bytes)).str();
  }
};

struct Entry {
  StringRef name;
  Packed assembly, object;
};
} // namespace

/// Entries in the order of the file.
static SmallVector<Entry> getEntries() {
  SmallVector<Entry> entries;
  auto [index, data] = getData().split("\n\n");
  for (StringRef rest = index; !rest.empty();) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    auto [name, sizes] = line.split(' ');
    Entry &entry = entries.emplace_back();
    entry.name = name;
    for (Packed *part : {&entry.assembly, &entry.object}) {
      size_t size = 0;
      sizes.consumeInteger(10, size);
      sizes = sizes.ltrim();
      sizes.consumeInteger(10, part->rawSize);
      sizes = sizes.ltrim();
      part->data = data.take_front(size);
      data = data.drop_front(size);
    }
  }
  return entries;
}

std::vector<std::string> kernels::listKernels() {
  std::vector<std::string> names;
  for (const Entry &entry : getEntries())
    names.push_back(entry.name.str());
  return names;
}

static std::optional<std::string> unpack(StringRef name, Packed Entry::*part) {
  for (const Entry &entry : getEntries())
    if (entry.name == name)
      return (entry.*part).unpack();
  return std::nullopt;
}

std::optional<std::string> kernels::getAssembly(StringRef name) {
  return unpack(name, &Entry::assembly);
}

std::optional<std::string> kernels::getObject(StringRef name) {
  return unpack(name, &Entry::object);
}

void kernels::declareKernels(ModuleOp module) {
  if (!getData().empty())
    module->setAttr(gsg::cpu::kDeclareKernels,
                    UnitAttr::get(module.getContext()));
}

/// The assembly or the objects of the kernels that `module` was asked to
/// declare and declares.
static FailureOr<std::vector<std::string>>
collect(ModuleOp module, std::optional<std::string> (*get)(StringRef name)) {
  std::vector<std::string> found;
  if (!module->removeAttr(gsg::cpu::kDeclareKernels))
    return found;
  llvm::SetVector<StringRef> names;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    StringRef name = function.getSymName();
    if (function.isExternal() && name.starts_with(gsg::cpu::kKernelPrefix) &&
        (name.consume_back("_prepare_rows") || name.consume_back("_gemm_tile")))
      names.insert(name);
  }
  for (StringRef name : names) {
    std::optional<std::string> code = get(name);
    if (!code)
      return module.emitError("expected the kernel '")
             << name << "' in the library of this compiler";
    found.push_back(std::move(*code));
  }
  return found;
}

LogicalResult kernels::attachKernels(ModuleOp module) {
  FailureOr<std::vector<std::string>> found = collect(module, getAssembly);
  if (failed(found))
    return failure();
  StringRef attrName = LLVM::LLVMDialect::getModuleLevelAsmAttrName();
  SmallVector<Attribute> texts;
  if (auto present = module->getAttrOfType<ArrayAttr>(attrName))
    llvm::append_range(texts, present);
  for (const std::string &text : *found)
    texts.push_back(StringAttr::get(module.getContext(), text));
  if (!texts.empty())
    module->setAttr(attrName, ArrayAttr::get(module.getContext(), texts));
  return success();
}

FailureOr<std::vector<std::string>> kernels::takeObjects(ModuleOp module) {
  return collect(module, getObject);
}
