//===- Attributes.cpp - Attributes of products in C -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Activations, quantisers, strategies and the enumerations of a product.
//
//===----------------------------------------------------------------------===//

#include "nvfp4-c/Attributes.h"

#include "Enums.h"

#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace nvfp4::gsg;
using nvfp4::capi::load;
using nvfp4::capi::toEnum;

template <typename AttrT> static AttrT to(MlirAttribute attribute) {
  return cast<AttrT>(unwrap(attribute));
}

template <typename AttrT> static bool isA(MlirAttribute attribute) {
  return isa_and_present<AttrT>(unwrap(attribute));
}

//===----------------------------------------------------------------------===//
// Activation
//===----------------------------------------------------------------------===//

MlirAttribute nvfp4ActivationAttrGetChecked(MlirLocation location,
                                            Nvfp4Activation kind,
                                            MlirAttribute gate, float alpha,
                                            float beta, float limit,
                                            bool roundBf16) {
  Location loc = load(location);
  auto activation =
      toEnum<ActivationKind>(loc, symbolizeActivationKind, kind, "activation");
  if (!activation)
    return {nullptr};
  if (!mlirAttributeIsNull(gate) && !isA<GateAttr>(gate)) {
    emitError(loc) << "expected a gate layout, but got " << unwrap(gate);
    return {nullptr};
  }
  bool isLimited = !(std::isinf(limit) && limit > 0);
  Builder builder(loc.getContext());
  return wrap(Attribute(ActivationAttr::getChecked(
      [&] { return emitError(loc); }, loc.getContext(), *activation,
      mlirAttributeIsNull(gate) ? GateAttr() : to<GateAttr>(gate),
      builder.getF32FloatAttr(alpha), builder.getF32FloatAttr(beta),
      isLimited ? builder.getF32FloatAttr(limit) : FloatAttr(), roundBf16)));
}

bool nvfp4AttributeIsAActivation(MlirAttribute attribute) {
  return isA<ActivationAttr>(attribute);
}

Nvfp4Activation nvfp4ActivationAttrGetKind(MlirAttribute attribute) {
  return static_cast<Nvfp4Activation>(to<ActivationAttr>(attribute).getKind());
}

MlirAttribute nvfp4ActivationAttrGetGate(MlirAttribute attribute) {
  return wrap(Attribute(to<ActivationAttr>(attribute).getGate()));
}

float nvfp4ActivationAttrGetAlpha(MlirAttribute attribute) {
  return to<ActivationAttr>(attribute).getAlphaValue();
}

float nvfp4ActivationAttrGetBeta(MlirAttribute attribute) {
  return to<ActivationAttr>(attribute).getBetaValue();
}

float nvfp4ActivationAttrGetLimit(MlirAttribute attribute) {
  return to<ActivationAttr>(attribute).getLimitValue();
}

bool nvfp4ActivationAttrRoundsToBf16(MlirAttribute attribute) {
  return to<ActivationAttr>(attribute).getRoundBf16();
}

//===----------------------------------------------------------------------===//
// Quantiser
//===----------------------------------------------------------------------===//

MlirAttribute nvfp4QuantizerAttrGetChecked(MlirLocation location,
                                           Nvfp4Quantizer kind,
                                           bool flushNegativeZero,
                                           bool isStochastic, bool isTwoD) {
  Location loc = load(location);
  auto quantizer =
      toEnum<QuantizerKind>(loc, symbolizeQuantizerKind, kind, "quantizer");
  if (!quantizer)
    return {nullptr};
  return wrap(Attribute(QuantizerAttr::getChecked(
      [&] { return emitError(loc); }, loc.getContext(), *quantizer,
      flushNegativeZero ? NegativeZero::Flush : NegativeZero::Keep,
      isStochastic ? Rounding::Stochastic : Rounding::Nearest, isTwoD)));
}

bool nvfp4AttributeIsAQuantizer(MlirAttribute attribute) {
  return isA<QuantizerAttr>(attribute);
}

Nvfp4Quantizer nvfp4QuantizerAttrGetKind(MlirAttribute attribute) {
  return static_cast<Nvfp4Quantizer>(to<QuantizerAttr>(attribute).getKind());
}

bool nvfp4QuantizerAttrFlushesNegativeZero(MlirAttribute attribute) {
  return to<QuantizerAttr>(attribute).getNegZero() == NegativeZero::Flush;
}

bool nvfp4QuantizerAttrIsStochastic(MlirAttribute attribute) {
  return to<QuantizerAttr>(attribute).getRounding() == Rounding::Stochastic;
}

bool nvfp4QuantizerAttrIsTwoD(MlirAttribute attribute) {
  return to<QuantizerAttr>(attribute).getTwoD();
}

//===----------------------------------------------------------------------===//
// Strategy
//===----------------------------------------------------------------------===//

MlirAttribute nvfp4StrategyAttrGetChecked(MlirLocation location,
                                          const Nvfp4Strategy *strategy) {
  Location loc = load(location);
  if (!strategy) {
    emitError(loc) << "expected a strategy, but got null";
    return {nullptr};
  }
  auto scheduler = toEnum<Scheduler>(loc, symbolizeScheduler,
                                     strategy->scheduler, "scheduler");
  if (!scheduler)
    return {nullptr};
  return wrap(Attribute(StrategyAttr::getChecked(
      [&] { return emitError(loc); }, loc.getContext(), strategy->tileM,
      strategy->tileN, strategy->tileK, strategy->stages, strategy->ctas,
      strategy->clusterM, strategy->clusterN, strategy->splitK,
      strategy->accumulatorStages, strategy->scaleStages, strategy->epilogueN,
      strategy->swapAB, strategy->dynamicN, *scheduler)));
}

bool nvfp4AttributeIsAStrategy(MlirAttribute attribute) {
  return isA<StrategyAttr>(attribute);
}

Nvfp4Strategy nvfp4StrategyAttrGet(MlirAttribute attribute) {
  auto strategy = to<StrategyAttr>(attribute);
  return {strategy.getTileM(),
          strategy.getTileN(),
          strategy.getTileK(),
          strategy.getStages(),
          strategy.getCtas(),
          strategy.getClusterM(),
          strategy.getClusterN(),
          strategy.getSplitK(),
          strategy.getAccumulatorStages(),
          strategy.getScaleStages(),
          strategy.getEpilogueN(),
          strategy.getSwapAB(),
          strategy.getDynamicN(),
          static_cast<Nvfp4Scheduler>(strategy.getScheduler())};
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

#define NVFP4_ENUM_ATTRIBUTE(NAME, ENUM, CLASS, WHAT)                          \
  MlirAttribute nvfp4##NAME##AttrGetChecked(MlirLocation location,             \
                                            Nvfp4##NAME value) {               \
    Location loc = load(location);                                             \
    auto checked = toEnum<ENUM>(loc, symbolize##ENUM, value, WHAT);            \
    return checked ? wrap(Attribute(CLASS::get(loc.getContext(), *checked)))   \
                   : MlirAttribute{nullptr};                                   \
  }                                                                            \
  bool nvfp4AttributeIsA##NAME(MlirAttribute attribute) {                      \
    return isA<CLASS>(attribute);                                              \
  }                                                                            \
  Nvfp4##NAME nvfp4##NAME##AttrGetValue(MlirAttribute attribute) {             \
    return static_cast<Nvfp4##NAME>(to<CLASS>(attribute).getValue());          \
  }

NVFP4_ENUM_ATTRIBUTE(Math, MathMode, MathModeAttr, "mode of math")
NVFP4_ENUM_ATTRIBUTE(Tail, TailMode, TailModeAttr, "mode of the tail")
NVFP4_ENUM_ATTRIBUTE(Determinism, Determinism, DeterminismAttr, "determinism")
NVFP4_ENUM_ATTRIBUTE(ProbPosition, ProbPosition, ProbPositionAttr,
                     "position of prob")
NVFP4_ENUM_ATTRIBUTE(Routing, RoutingMethod, RoutingMethodAttr,
                     "routing method")

#undef NVFP4_ENUM_ATTRIBUTE
