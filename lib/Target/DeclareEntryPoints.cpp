//===- DeclareEntryPoints.cpp - What an artefact can be asked ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the JSON description of the entry points that lib/Runtime/Metadata.cpp
// reads.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Runtime/ArtefactVersion.h"
#include "nvfp4/Target/PackedArguments.h"
#include "nvfp4/Target/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/JSON.h"

namespace nvfp4::target {
#define GEN_PASS_DEF_DECLAREENTRYPOINTSPASS
#include "nvfp4/Target/Passes.h.inc"
} // namespace nvfp4::target

using namespace mlir;
using namespace nvfp4;
using gsg::GroupedScaledGemmDialect;
namespace json = llvm::json;

static constexpr StringLiteral kMetadataSymbol = "nvfp4_metadata";

/// Attributes of the halves of scaled arguments and results, with the words by
/// which the description calls the halves.
static constexpr std::pair<StringLiteral, StringLiteral> kHalves[] = {
    {GroupedScaledGemmDialect::getValuesOfAttrName(), "values"},
    {GroupedScaledGemmDialect::getScalesOfAttrName(), "scales"}};

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  return text;
}

static json::Array describe(ArrayRef<int64_t> shape) {
  json::Array extents;
  for (int64_t size : shape)
    extents.push_back(ShapedType::isDynamic(size) ? -1 : size);
  return extents;
}

/// The text of a block-scaled type, and its parameters for readers that know no
/// MLIR.
static json::Object describe(gsg::ScaledType type) {
  return json::Object{
      {"text", print(type)},
      {"shape", describe(type.getShape())},
      {"format", gsg::stringifyBlockFormat(type.getFormat())},
      {"layout", gsg::stringifyScaleLayout(type.getLayout())},
      {"starts", gsg::stringifyGroupStart(type.getGroupStart())},
      {"axis", type.getAxis()}};
}

static bool isAbiScalar(Type type) {
  if (type.isIndex())
    return true;
  return type.isIntOrFloat() &&
         llvm::is_contained({1u, 8u, 16u, 32u, 64u},
                            type.getIntOrFloatBitWidth());
}

/// The description of one argument or result, or null if the type has no C
/// interface. `attributes` are those that gsg-decompose-scaled leaves.
static json::Value describe(Type type, DictionaryAttr attributes) {
  json::Object value;
  if (isAbiScalar(type)) {
    value["kind"] = "scalar";
    value["type"] = print(type);
    return value;
  }
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank() || !isa<TensorType, MemRefType>(type) ||
      !isAbiScalar(shaped.getElementType()))
    return nullptr;
  if (auto memref = dyn_cast<MemRefType>(type))
    if (!memref.getLayout().isIdentity())
      return nullptr;
  value["kind"] = isa<MemRefType>(type) ? "memref" : "tensor";
  value["type"] = print(shaped.getElementType());
  value["shape"] = describe(shaped.getShape());
  if (!attributes)
    return value;
  for (auto [name, role] : kHalves) {
    if (auto scaled = attributes.getAs<TypeAttr>(name)) {
      value["role"] = role;
      value["scaled"] = describe(cast<gsg::ScaledType>(scaled.getValue()));
    }
  }
  return value;
}

/// Removes what describe() has read: the translation to LLVM IR would warn of
/// attributes that it does not know.
static void removeHalves(func::FuncOp function) {
  for (auto [name, role] : kHalves) {
    for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
      function.removeArgAttr(i, StringAttr::get(function.getContext(), name));
    for (unsigned i = 0, e = function.getNumResults(); i < e; ++i)
      function.removeResultAttr(i,
                                StringAttr::get(function.getContext(), name));
  }
}

static InFlightDiagnostic refuse(func::FuncOp function, StringRef what,
                                 unsigned index, Type type) {
  InFlightDiagnostic error = function.emitOpError(
      "expected an entry point of ranked tensors, memrefs of identity layout "
      "and scalars, but ");
  error << what << " " << index << " is " << type
        << "; make the function private";
  return error;
}

static FailureOr<json::Object> describe(func::FuncOp function) {
  json::Array arguments, results;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    json::Value value = describe(type, function.getArgAttrDict(index));
    if (value.kind() == json::Value::Null) {
      InFlightDiagnostic error = refuse(function, "argument", index, type);
      if (nvfp4::target::canPackArgument(type))
        error << ", or let it take bytes of two values with "
                 "nvfp4-pack-entry-points";
      return error;
    }
    arguments.push_back(std::move(value));
  }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    json::Value value = describe(type, function.getResultAttrDict(index));
    if (value.kind() == json::Value::Null)
      return refuse(function, "result", index, type);
    results.push_back(std::move(value));
  }
  return json::Object{{"name", function.getSymName()},
                      {"arguments", std::move(arguments)},
                      {"results", std::move(results)}};
}

namespace {
struct DeclareEntryPoints final
    : nvfp4::target::impl::DeclareEntryPointsPassBase<DeclareEntryPoints> {
  using Base = DeclareEntryPointsPassBase<DeclareEntryPoints>;
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (Operation *existing = module.lookupSymbol(kMetadataSymbol)) {
      existing->emitOpError("expected no symbol '")
          << kMetadataSymbol << "' before entry points are declared";
      return signalPassFailure();
    }
    OpBuilder builder(&getContext());
    json::Array functions;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (!function.isPublic() || function.isExternal())
        continue;
      FailureOr<json::Object> description = describe(function);
      if (failed(description))
        return signalPassFailure();
      functions.push_back(std::move(*description));
      function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                        builder.getUnitAttr());
      for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
        if (isa<TensorType>(type))
          function.setArgAttr(
              index, bufferization::BufferizationDialect::kWritableAttrName,
              builder.getBoolAttr(false));
    }

    for (auto function : module.getOps<func::FuncOp>())
      removeHalves(function);

    std::string text;
    llvm::raw_string_ostream os(text);
    os << json::Value(
        json::Object{{"version", nvfp4::runtime::kArtefactVersion},
                     {"device", "cpu"},
                     {"memory", memory.getValue()},
                     {"target", target.getValue()},
                     {"functions", std::move(functions)}});
    text.push_back('\0');
    builder.setInsertionPointToStart(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
    LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/true,
                           LLVM::Linkage::External, kMetadataSymbol,
                           builder.getStringAttr(text));
  }
};
} // namespace
