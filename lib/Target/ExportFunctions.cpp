//===- ExportFunctions.cpp - Symbols for other systems ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Other systems find a function of a shared object by a symbol with the
// system's prefix and calling convention. Each of these functions hands its
// arguments to the runtime, with a table of what the artefact has.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace nvfp4::target {
#define GEN_PASS_DEF_EXPORTFUNCTIONSPASS
#include "nvfp4/Target/Passes.h.inc"
} // namespace nvfp4::target

using namespace mlir;

static constexpr StringLiteral kEntryPrefix = "nvfp4_entry_";
static constexpr StringLiteral kMetadata = "nvfp4_metadata";
static constexpr StringLiteral kKernels = "nvfp4_kernels";
/// The nvfp4_artefact of the module.
static constexpr StringLiteral kArtefact = "nvfp4_artefact";

namespace {
/// A function that an artefact exports for each of its functions.
struct Export {
  /// Of the symbol; the name of the function follows.
  StringLiteral prefix;
  /// The function of the runtime that does the work. It takes the artefact and
  /// the name of the function before the arguments of the exported one.
  StringLiteral callee;
  /// One letter for the result and one for each argument: a pointer or i32.
  StringLiteral signature;
};
} // namespace

static constexpr Export kExports[] = {
    {"__tvm_ffi_", "nvfp4_tvm_ffi_call", "ippip"},
    {"__tvm_ffi__doc_", "nvfp4_tvm_ffi_doc", "ippip"},
    {"nvfp4_xla_ffi_", "nvfp4_xla_call", "pp"},
};

namespace {
struct ExportFunctions final
    : nvfp4::target::impl::ExportFunctionsPassBase<ExportFunctions> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module.lookupSymbol<LLVM::GlobalOp>(kMetadata))
      return;
    SmallVector<StringRef> functions;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      StringRef name = function.getSymName();
      if (!function.isExternal() && name.consume_front(kEntryPrefix))
        functions.push_back(name);
    }
    if (functions.empty())
      return;
    if (Operation *existing = module.lookupSymbol(kArtefact)) {
      existing->emitOpError("expected no symbol '")
          << kArtefact << "' before functions are exported";
      return signalPassFailure();
    }
    defineArtefact(functions);
    for (const Export &each : kExports)
      for (StringRef function : functions)
        defineExport(each, function);
  }

  LLVM::LLVMPointerType getPointer() {
    return LLVM::LLVMPointerType::get(&getContext());
  }

  static std::string nameOfText(StringRef text) {
    return ("nvfp4_name_" + text).str();
  }

  /// An internal text with a zero at its end.
  void defineText(OpBuilder &b, StringRef text) {
    std::string bytes = (text + StringRef("\0", 1)).str();
    LLVM::GlobalOp::create(
        b, getOperation().getLoc(),
        LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, nameOfText(text),
        b.getStringAttr(bytes));
  }

  /// The fields of nvfp4_artefact: a pointer of the runtime, and pairs of a
  /// name and an address that end with nulls.
  void defineArtefact(ArrayRef<StringRef> functions) {
    ModuleOp module = getOperation();
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    SmallVector<std::string> symbols = {kMetadata.str()};
    if (module.lookupSymbol(kKernels))
      symbols.push_back(kKernels.str());
    for (StringRef function : functions)
      symbols.push_back((kEntryPrefix + function).str());
    for (StringRef symbol : symbols)
      defineText(b, symbol);
    for (StringRef function : functions)
      defineText(b, function);

    Type pointer = getPointer();
    Type type = LLVM::LLVMArrayType::get(pointer, 2 * symbols.size() + 3);
    Location loc = module.getLoc();
    auto artefact =
        LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/false,
                               LLVM::Linkage::Internal, kArtefact, Attribute());
    b.setInsertionPointToStart(&artefact.getInitializerRegion().emplaceBlock());
    Value value = LLVM::ZeroOp::create(b, loc, type);
    int64_t index = 1;
    auto add = [&](StringRef symbol) {
      Value address = LLVM::AddressOfOp::create(b, loc, pointer, symbol);
      value = LLVM::InsertValueOp::create(b, loc, value, address, index++);
    };
    for (StringRef symbol : symbols) {
      add(nameOfText(symbol));
      add(symbol);
    }
    LLVM::ReturnOp::create(b, loc, value);
  }

  void defineExport(const Export &each, StringRef function) {
    ModuleOp module = getOperation();
    Location loc = module.getLoc();
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    SmallVector<Type> types;
    for (char letter : each.signature)
      types.push_back(letter == 'i' ? Type(b.getI32Type()) : getPointer());
    Type result = types.front();
    types.erase(types.begin());
    auto exported =
        LLVM::LLVMFuncOp::create(b, loc, (each.prefix + function).str(),
                                 LLVM::LLVMFunctionType::get(result, types));
    types.insert(types.begin(), {getPointer(), getPointer()});
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(each.callee);
    if (!callee)
      callee = LLVM::LLVMFuncOp::create(
          b, loc, each.callee, LLVM::LLVMFunctionType::get(result, types));
    Block *body = exported.addEntryBlock(b);
    b.setInsertionPointToStart(body);
    std::string text = nameOfText(function);
    SmallVector<Value> arguments = {
        LLVM::AddressOfOp::create(b, loc, getPointer(), kArtefact),
        LLVM::AddressOfOp::create(b, loc, getPointer(), text)};
    llvm::append_range(arguments, body->getArguments());
    auto call = LLVM::CallOp::create(b, loc, callee, arguments);
    LLVM::ReturnOp::create(b, loc, call.getResult());
  }
};
} // namespace
