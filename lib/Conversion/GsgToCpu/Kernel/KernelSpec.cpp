//===- KernelSpec.cpp - what a CPU kernel is made for -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes and sizes of the kernels. The register budgets behind the shapes: an
// integer block of 16 keeps 16 accumulators and 8 decoded weight registers in
// 32 registers; a block of 32 needs twice the weights, so half the columns; the
// routes of bf16 and f32 keep their block sums in registers, and accumulators
// in memory unless there are few; tiles are of 16 rows.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Conversion/GsgToCpu/Kernel/KernelSpec.h"

#include "nvfp4/Runtime/PairSpeed.h"
#include "nvfp4/Runtime/TilePermission.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <cassert>

using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::cpu;

llvm::StringRef cpu::stringify(Isa isa) {
  switch (isa) {
  case Isa::Generic:
    return "generic";
  case Isa::AVX2:
    return "avx2";
  case Isa::AVX512VNNI:
    return "avx512vnni";
  case Isa::AVX512BF16:
    return "avx512bf16";
  case Isa::AMX:
    return "amx";
  }
  return "";
}

std::optional<Isa> cpu::parseIsa(llvm::StringRef name) {
  for (Isa isa :
       {Isa::Generic, Isa::AVX2, Isa::AVX512VNNI, Isa::AVX512BF16, Isa::AMX})
    if (name == stringify(isa))
      return isa;
  return std::nullopt;
}

Isa cpu::detectHostIsa() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<llvm::StringRef> names) {
    for (llvm::StringRef name : names)
      if (!features.lookup(name))
        return false;
    return true;
  };
  if (!hasAll({"avx2", "fma", "bmi", "bmi2"}))
    return Isa::Generic;
  if (!hasAll({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd",
               "avx512vbmi", "avx512vnni"}))
    return Isa::AVX2;
  if (!hasAll({"avx512bf16"}))
    return Isa::AVX512VNNI;
  // LLVM looks at what the system saves, but not whether it lets this process.
  return hasAll({"avx512fp16", "amx-tile", "amx-bf16"}) &&
                 runtime::requestTiles()
             ? Isa::AMX
             : Isa::AVX512BF16;
}

Isa cpu::findFastestUntiled(Isa best) {
  if (best < Isa::AVX512BF16)
    return best;
  return runtime::hasFastPairs() ? Isa::AVX512BF16 : Isa::AVX512VNNI;
}

/// Without the instructions that a kernel for operands with scales, or with
/// such weights, does not use.
static Isa baseIsa(Isa isa) { return std::min(isa, Isa::AVX512VNNI); }

std::optional<KernelSpec> KernelSpec::get(Isa isa,
                                          format::BlockFormat activation,
                                          format::BlockFormat weight) {
  const format::BlockFormatTraits &a = format::traits(activation);
  const format::BlockFormatTraits &b = format::traits(weight);
  if (a.scale != b.scale || a.blockSize != b.blockSize)
    return std::nullopt;
  bool isTiled = isa == Isa::AMX && a.element == format::ElementKind::E2M1 &&
                 b.element == format::ElementKind::E2M1;
  return KernelSpec{isTiled ? isa : baseIsa(isa), a.element, b.element, a.scale,
                    a.blockSize};
}

KernelSpec KernelSpec::get(Isa isa, PlainRows rows,
                           format::BlockFormat weight) {
  const format::BlockFormatTraits &b = format::traits(weight);
  // The kind that A does not have is one that integers cannot hold.
  KernelSpec spec{
      isa, format::ElementKind::E5M2, b.element, b.scale, b.blockSize, rows};
  // CPUs with AMX are Intel's: see PairSpeed.h.
  if (isa != Isa::AVX512BF16 || !spec.hasPairs())
    spec.isa = baseIsa(isa);
  return spec;
}

KernelSpec KernelSpec::withoutTiles() const {
  KernelSpec spec = *this;
  if (isTiled())
    spec.isa = Isa::AVX512VNNI;
  return spec;
}

KernelSpec KernelSpec::withoutPairs() const {
  KernelSpec spec = *this;
  if (isa == Isa::AVX512BF16)
    spec.isa = Isa::AVX512VNNI;
  return spec;
}

bool KernelSpec::hasCommonWeights() const {
  return weight == format::ElementKind::E2M1 &&
         (scale == format::ScaleKind::UE4M3 || blockSize == kStep);
}

bool KernelSpec::hasPairs() const {
  // Half a step of scales of E8M0 leaves no accumulator of -0 as it is.
  return rows == PlainRows::BF16 && hasCommonWeights();
}

bool KernelSpec::canScaleWeights() const {
  return hasPairs() && scale == format::ScaleKind::UE4M3;
}

static llvm::StringRef elementName(format::ElementKind kind) {
  switch (kind) {
  case format::ElementKind::E2M1:
    return "e2m1";
  case format::ElementKind::E4M3:
    return "e4m3";
  case format::ElementKind::E5M2:
    return "e5m2";
  }
  return "";
}

std::string KernelSpec::name() const {
  llvm::StringRef scaleName =
      scale == format::ScaleKind::UE4M3 ? "_ue4m3_" : "_e8m0_";
  llvm::StringRef first = rows == PlainRows::BF16  ? "bf16"
                          : rows == PlainRows::F16 ? "f16"
                                                   : elementName(activation);
  return ("nvfp4_cpu_" + stringify(isa) + "_" + first + "_" +
          elementName(weight) + scaleName + llvm::Twine(blockSize) +
          (scaleWeights ? "_scaled" : ""))
      .str();
}

static constexpr int64_t kVariants4[] = {1, 2, 4};
static constexpr int64_t kVariants8[] = {1, 2, 4, 8};
// Experts have any number of rows, and few of them.
static constexpr int64_t kVariantsAll[] = {1, 2, 3, 4, 5, 6, 7, 8};
static constexpr int64_t kVariants16[] = {16};

KernelPlan::KernelPlan(const KernelSpec &spec) : spec(spec) {
  assert((spec.blockSize == 16 || spec.blockSize == 32) &&
         "blocks have 16 or 32 elements");
  bool isAVX512 = spec.isa >= Isa::AVX512VNNI;
  bool fourBits = spec.activation == format::ElementKind::E2M1 &&
                  spec.weight == format::ElementKind::E2M1;
  route =
      spec.isa == Isa::Generic || !fourBits ? Route::Floats : Route::Integers;
  if (spec.isa == Isa::AVX512BF16 && spec.rows == PlainRows::BF16)
    route = Route::Pairs;
  if (spec.isTiled())
    route = Route::Tiles;
  lanes = isAVX512 ? 16 : spec.isa == Isa::AVX2 ? 8 : 4;
  switch (route) {
  case Route::Integers:
    groups = isAVX512 && spec.blockSize == 16 ? 2 : 1;
    chunk = 512;
    rowVariants = isAVX512 ? llvm::ArrayRef(kVariantsAll)
                           : llvm::ArrayRef<int64_t>(kVariants8);
    break;
  case Route::Pairs:
    groups = 2;
    chunk = 256;
    rowVariants = kVariantsAll;
    break;
  case Route::Tiles:
    groups = kPanelColumns / lanes;
    chunk = 512;
    rowVariants = kVariants16;
    break;
  case Route::Floats:
    groups = 2;
    chunk = 128;
    rowVariants = !isAVX512 ? llvm::ArrayRef<int64_t>(kVariants4)
                  : spec.weight == format::ElementKind::E2M1
                      ? llvm::ArrayRef(kVariantsAll)
                      : llvm::ArrayRef<int64_t>(kVariants8);
    break;
  }
}

int64_t KernelPlan::getPanelElementBytes() const {
  return usesIntegers() ? 1 : usesFloats() ? 4 : 2;
}

int64_t KernelPlan::getPanelStepBytes() const {
  return (usesTiles() ? lanes : getSetColumns()) * kStep *
         getPanelElementBytes();
}

int64_t KernelPlan::getRowBlockBytes() const {
  // Integers: int8 values, i32 bias, f32 scale. Pairs: bf16 values, an i32.
  // Tiles: bf16 values. Else: f32 values and scale.
  return usesIntegers() ? spec.blockSize + 8
         : usesPairs()  ? spec.blockSize * 2 + 4
         : usesTiles()  ? spec.blockSize * 2
                        : spec.blockSize * 4 + 4;
}

int64_t KernelPlan::getStepBytes(format::ElementKind kind) {
  return kind == format::ElementKind::E2M1 ? kStep / 2 : kStep;
}

int64_t KernelPlan::getRowStepBytes() const {
  return spec.rows == PlainRows::None ? getStepBytes(spec.activation)
                                      : 2 * kStep;
}

int64_t KernelPlan::getPaddedRows(int64_t rows) const {
  int64_t tail = rows % getTileRows();
  if (tail == 0)
    return rows;
  for (int64_t variant : rowVariants)
    if (tail <= variant)
      return rows - tail + variant;
  return rows;
}

int64_t KernelPlan::getPreparedBytes(int64_t rows, int64_t k) const {
  return getPreparedOffset(getPaddedRows(rows), k);
}

int64_t KernelPlan::getPreparedOffset(int64_t row, int64_t k) const {
  int64_t steps = (k + kStep - 1) / kStep;
  return row * steps * getPreparedStepBytes();
}

int64_t KernelPlan::getAccumulatorBytes(int64_t rows) const {
  return getPaddedRows(rows) * kPanelColumns * 4;
}

int64_t KernelPlan::getScaleOffset() const {
  return getSetColumns() * chunk * getPanelElementBytes();
}

int64_t KernelPlan::getScalesAtATime() const {
  return std::max(getSetColumns() * chunk, lanes * kFusedChunk) /
         spec.blockSize;
}

int64_t KernelPlan::getWordOffset() const {
  return getScaleOffset() + getScalesAtATime() * 4;
}

int64_t KernelPlan::getStageOffset() const {
  return getWordOffset() + getScalesAtATime();
}

int64_t KernelPlan::getStageOffsetsOffset() const {
  return getStageOffset() + getSetColumns() * getStepBytes(spec.weight);
}

int64_t KernelPlan::getGroupOffsetsOffset() const {
  return getStageOffsetsOffset() + getSetColumns() * 8;
}

int64_t KernelPlan::getScratchBytes() const {
  // Weights and scales of the panel and of the first group of the next one.
  return getGroupOffsetsOffset() + 2 * (kPanelColumns + lanes) * 8;
}
