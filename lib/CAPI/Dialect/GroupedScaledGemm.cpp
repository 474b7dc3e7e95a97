//===- GroupedScaledGemm.cpp - Types and attributes in C --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handles to types and attributes of the dialect; numbers that are no value of
// an enumeration are refused like other illegal parameters.
//
//===----------------------------------------------------------------------===//

#include "nvfp4-c/GroupedScaledGemm.h"

#include "Enums.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/CAPI/Support.h"

using namespace mlir;
using namespace nvfp4::gsg;
using nvfp4::capi::load;
using nvfp4::capi::toEnum;

MlirType nvfp4ScaledTypeGetChecked(MlirLocation location, intptr_t rank,
                                   const int64_t *shape,
                                   Nvfp4BlockFormat format,
                                   Nvfp4ScaleLayout layout,
                                   Nvfp4GroupStart starts, int64_t axis) {
  Location loc = load(location);
  if (rank < 0 || (rank && !shape)) {
    emitError(loc) << "expected a shape, but got rank " << rank;
    return {nullptr};
  }
  auto blockFormat =
      toEnum<BlockFormat>(loc, symbolizeBlockFormat, format, "block format");
  auto scaleLayout =
      toEnum<ScaleLayout>(loc, symbolizeScaleLayout, layout, "scale layout");
  auto groupStart =
      toEnum<GroupStart>(loc, symbolizeGroupStart, starts, "start of groups");
  if (!blockFormat || !scaleLayout || !groupStart)
    return {nullptr};
  return wrap(Type(ScaledType::getChecked(
      [&] { return emitError(loc); }, loc.getContext(),
      ArrayRef<int64_t>(shape, rank), *blockFormat, *scaleLayout, *groupStart,
      axis == -1 ? rank - 1 : axis)));
}

static ScaledType toScaled(MlirType type) {
  return cast<ScaledType>(unwrap(type));
}

bool nvfp4TypeIsAScaled(MlirType type) {
  return isa_and_present<ScaledType>(unwrap(type));
}

intptr_t nvfp4ScaledTypeGetRank(MlirType type) {
  return toScaled(type).getRank();
}

int64_t nvfp4ScaledTypeGetDimSize(MlirType type, intptr_t dim) {
  return toScaled(type).getDimSize(dim);
}

Nvfp4BlockFormat nvfp4ScaledTypeGetFormat(MlirType type) {
  return static_cast<Nvfp4BlockFormat>(toScaled(type).getFormat());
}

Nvfp4ScaleLayout nvfp4ScaledTypeGetLayout(MlirType type) {
  return static_cast<Nvfp4ScaleLayout>(toScaled(type).getLayout());
}

Nvfp4GroupStart nvfp4ScaledTypeGetStarts(MlirType type) {
  return static_cast<Nvfp4GroupStart>(toScaled(type).getGroupStart());
}

int64_t nvfp4ScaledTypeGetAxis(MlirType type) {
  return toScaled(type).getAxis();
}

int64_t nvfp4ScaledTypeGetBlockSize(MlirType type) {
  return toScaled(type).getBlockSize();
}

MlirType nvfp4ScaledTypeGetDataTensor(MlirType type) {
  return wrap(Type(toScaled(type).getDataTensorType()));
}

MlirType nvfp4ScaledTypeGetScaleTensor(MlirType type) {
  return wrap(Type(toScaled(type).getScaleTensorType()));
}

MlirAttribute nvfp4GroupingAttrGetChecked(MlirLocation location,
                                          Nvfp4Grouping kind, bool starts,
                                          int64_t align) {
  Location loc = load(location);
  auto grouping =
      toEnum<GroupingKind>(loc, symbolizeGroupingKind, kind, "grouping");
  if (!grouping)
    return {nullptr};
  return wrap(Attribute(GroupingAttr::getChecked(
      [&] { return emitError(loc); }, loc.getContext(), *grouping,
      starts ? OffsetsKind::Starts : OffsetsKind::Ends, align)));
}

static GroupingAttr toGrouping(MlirAttribute attribute) {
  return cast<GroupingAttr>(unwrap(attribute));
}

bool nvfp4AttributeIsAGrouping(MlirAttribute attribute) {
  return isa_and_present<GroupingAttr>(unwrap(attribute));
}

Nvfp4Grouping nvfp4GroupingAttrGetKind(MlirAttribute attribute) {
  return static_cast<Nvfp4Grouping>(toGrouping(attribute).getKind());
}

bool nvfp4GroupingAttrHasStarts(MlirAttribute attribute) {
  return toGrouping(attribute).getOffsets() == OffsetsKind::Starts;
}

int64_t nvfp4GroupingAttrGetAlign(MlirAttribute attribute) {
  return toGrouping(attribute).getAlign();
}

MlirAttribute nvfp4GateAttrGetChecked(MlirLocation location,
                                      int64_t granularity, bool upFirst) {
  Location loc = load(location);
  return wrap(Attribute(GateAttr::getChecked(
      [&] { return emitError(loc); }, loc.getContext(), granularity,
      upFirst ? GateOrder::UpFirst : GateOrder::GateFirst)));
}

bool nvfp4AttributeIsAGate(MlirAttribute attribute) {
  return isa_and_present<GateAttr>(unwrap(attribute));
}

int64_t nvfp4GateAttrGetGranularity(MlirAttribute attribute) {
  return cast<GateAttr>(unwrap(attribute)).getGranularity();
}

bool nvfp4GateAttrIsUpFirst(MlirAttribute attribute) {
  return cast<GateAttr>(unwrap(attribute)).getOrder() == GateOrder::UpFirst;
}

MlirAttribute nvfp4AttributeParse(MlirContext context, MlirStringRef mnemonic,
                                  MlirStringRef parameters) {
  MLIRContext *owner = unwrap(context);
  owner->getOrLoadDialect<GroupedScaledGemmDialect>();
  StringRef name = unwrap(mnemonic), inner = unwrap(parameters);
  // Enumerations are spelled `#dialect<name value>`, others
  // `#dialect.name<..>`.
  bool isEnum = llvm::is_contained(
      {"math", "tail", "determinism", "prob_position", "routing"}, name);
  std::string text = "#grouped_scaled_gemm";
  text += isEnum ? "<" + name.str() + " " : "." + name.str() + "<";
  text += inner.str() + ">";
  return wrap(parseAttribute(text, owner));
}
