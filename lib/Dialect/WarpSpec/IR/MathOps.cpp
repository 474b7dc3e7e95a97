//===- MathOps.cpp - Tensor-core operations ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers of multiplications and of what feeds them. The legal shapes are
// those of the PTX ISA's tables of tcgen05.mma and wgmma.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::warpspec;

int64_t CopyScalesOp::getAtoms() {
  return getSharedBytes(getSource().getType()) / kScaleAtomBytes -
         (getRow() ? 1 : 0);
}

LogicalResult CopyScalesOp::verify() {
  MemRefType source = getSource().getType();
  MemRefType target = getTarget().getType();
  int64_t bytes = source.hasStaticShape() ? getSharedBytes(source) : 0;
  if (bytes == 0 || bytes % kScaleAtomBytes != 0 || getSwizzle(source) != 0)
    return emitOpError("expected an unswizzled source of atoms of 512 bytes, "
                       "but got ")
           << source;
  if (getAtoms() < 1)
    return emitOpError("expected an atom more than are copied, as rows behind "
                       "the last are read, but got ")
           << source;
  APInt row;
  if (getRow() && matchPattern(getRow(), m_ConstantInt(&row)) &&
      (row.isNegative() || row.sgt(31) || row.getZExtValue() % 8 != 0))
    return emitOpError("expected row 0, 8, 16 or 24, but got ")
           << row.getSExtValue();
  if (failed(verifyTmem(*this, target)))
    return failure();
  if (target.getRank() != 2 || getTmemColumns(target) < getAtoms() * 4)
    return emitOpError("expected a target of at least ")
           << getAtoms() * 4 << " columns, 4 for each atom, but got " << target;
  return success();
}

//===----------------------------------------------------------------------===//
// mma_scaled
//===----------------------------------------------------------------------===//

/// Rows of a tile [rows, k] or [k blocks, rows, k].
static int64_t getRows(MemRefType type) {
  return type.getDimSize(type.getRank() - 2);
}

int64_t MmaScaledOp::getRowBytes() {
  MemRefType type = getA().getType();
  return getSharedBytes(type) / getRows(type);
}

int64_t MmaScaledOp::getScalesPerStep() {
  switch (getKind()) {
  case ScaledKind::MXF4NVF4:
    return 4;
  case ScaledKind::MXF4:
    return 2;
  case ScaledKind::MXF8F6F4:
    return 1;
  }
  llvm_unreachable("covered switch");
}

bool MmaScaledOp::isPair() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  return kernel && kernel.getPair();
}

/// A K-major tile in shared memory of values that `kind` multiplies.
static LogicalResult verifyOperand(MmaScaledOp op, StringRef name,
                                   MemRefType type) {
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      (type.getRank() != 2 && type.getRank() != 3))
    return op.emitOpError("expected ")
           << name << " as [rows, k] or [k blocks, rows, k], but got " << type;
  Type element = type.getElementType();
  bool isLegal =
      op.getKind() == ScaledKind::MXF8F6F4
          ? isa<Float8E4M3FNType, Float8E5M2Type, Float4E2M1FNType>(element)
          : element.isInteger(8);
  if (!isLegal)
    return op.emitOpError("expected values of ")
           << name
           << (op.getKind() == ScaledKind::MXF8F6F4
                   ? " in f8E4M3FN, f8E5M2 or f4E2M1FN"
                   : " in i8, two E2M1 in each")
           << ", but got " << element;
  if (getSwizzle(type) == 0)
    return op.emitOpError("expected a swizzled tile as ")
           << name << ", but got " << type;
  int64_t span =
      getSharedBytes(MemRefType::get({type.getShape().back()}, element));
  if (span != getSwizzle(type) || countElements(type) == 0)
    return op.emitOpError("expected rows of ")
           << name << " of the " << getSwizzle(type)
           << " bytes of the swizzle, at least one K block, but got " << type;
  return success();
}

LogicalResult MmaScaledOp::verify() {
  MemRefType a = getA().getType(), b = getB().getType();
  MemRefType acc = getAcc().getType();
  if (failed(verifyOperand(*this, "A", a)) ||
      failed(verifyOperand(*this, "B", b)))
    return failure();
  if (getUe8m0() && getKind() != ScaledKind::MXF4NVF4)
    return emitOpError(
        "expected ue8m0 with mxf4nvf4 only; the other kinds have "
        "no other scales");
  // The verifier of the pair sees half of M and half of N in each block.
  int64_t blocks = isPair() ? 2 : 1;
  int64_t n = getRows(b) * blocks;
  if (getRows(a) != 128)
    return emitOpError("expected 128 rows of A in each block, but got ")
           << getRows(a);
  if (n < 8 * blocks || n > 256 || n % (8 * blocks) != 0)
    return emitOpError("expected N as a multiple of ")
           << 8 * blocks << " in [" << 8 * blocks << ", 256], but got " << n;
  if (getSharedBytes(b) / getRows(b) != getRowBytes())
    return emitOpError("expected rows of B of ")
           << getRowBytes() << " bytes as those of A, but got "
           << getSharedBytes(b) / getRows(b);
  if (acc.getRank() != 2 || !acc.hasStaticShape() ||
      !acc.getElementType().isF32() || acc.getDimSize(0) != kTmemLanes ||
      acc.getDimSize(1) != n)
    return emitOpError("expected an accumulator of 128x")
           << n << "xf32, but got " << acc;
  auto verifyScales = [&](StringRef name, MemRefType type,
                          int64_t rows) -> LogicalResult {
    int64_t atoms = llvm::divideCeil(rows, 128);
    int64_t lastAtom = (getStepCount() - 1) * getScalesPerStep() / 4;
    int64_t columns = lastAtom * atoms * 4 + llvm::divideCeil(rows, 32);
    if (type.getRank() != 2 || !type.hasStaticShape() ||
        getTmemColumns(type) < columns)
      return emitOpError("expected scales of ")
             << name << " in at least " << columns << " columns, but got "
             << type;
    return success();
  };
  if (failed(verifyScales("A", getAScales().getType(), 128)) ||
      failed(verifyScales("B", getBScales().getType(), n)))
    return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// mma and decode_codes
//===----------------------------------------------------------------------===//

int64_t MmaOp::getStepCount() { return getTmemColumns(getA().getType()) / 8; }

LogicalResult MmaOp::verify() {
  MemRefType a = getA().getType(), b = getB().getType();
  MemRefType acc = getAcc().getType();
  Type element = b.getElementType();
  if (!b.hasStaticShape() || !b.getLayout().isIdentity() ||
      (b.getRank() != 2 && b.getRank() != 3) ||
      !(element.isBF16() || element.isF16()) || getSwizzle(b) == 0 ||
      2 * b.getShape().back() != getSwizzle(b) || countElements(b) == 0)
    return emitOpError("expected B as [rows, k] or [k blocks, rows, k] of bf16 "
                       "or f16, with rows of the bytes of its swizzle, but "
                       "got ")
           << b;
  int64_t n = getRows(b), words = countElements(b) / n / 2;
  if (n < 16 || n > 256 || n % 16 != 0)
    return emitOpError("expected N as a multiple of 16 in [16, 256], but got ")
           << n;
  auto isTile = [](MemRefType type) {
    return type.getRank() == 2 && type.hasStaticShape() &&
           type.getDimSize(0) == kTmemLanes;
  };
  if (!isTile(a) || a.getDimSize(1) != words ||
      !a.getElementType().isInteger(32))
    return emitOpError("expected A of 128x")
           << words << "xi32, two values in each, but got " << a;
  if (!isTile(acc) || !acc.getElementType().isF32() || acc.getDimSize(1) != n)
    return emitOpError("expected an accumulator of 128x")
           << n << "xf32, but got " << acc;
  auto kernel = (*this)->getParentOfType<KernelOp>();
  if (kernel && kernel.getPair())
    return emitOpError("expected a kernel without pair");
  return success();
}

int64_t DecodeCodesOp::getExponent(WeightCode code) {
  switch (code) {
  case WeightCode::E2M1_UE4M3:
    return 0;
  case WeightCode::E2M1_UE8M0:
    return -2;
  case WeightCode::E4M3_UE8M0:
    return 3;
  case WeightCode::E5M2_UE8M0:
    return 10;
  }
  llvm_unreachable("covered switch");
}

bool DecodeCodesOp::isFP4(WeightCode code) {
  return code == WeightCode::E2M1_UE4M3 || code == WeightCode::E2M1_UE8M0;
}

LogicalResult DecodeCodesOp::verify() {
  auto count = [](Value vector) {
    return cast<VectorType>(vector.getType()).getNumElements();
  };
  WeightCode code = getCode();
  bool isUE4M3 = code == WeightCode::E2M1_UE4M3;
  if (!getElement().isBF16() && !(getElement().isF16() && isUE4M3))
    return emitOpError("expected bf16, or f16 with e2m1_ue4m3, but got ")
           << getElement() << " with " << stringifyWeightCode(code);
  int64_t codes = count(getCodes()), values = isFP4(code) ? 2 * codes : codes;
  if (codes % 4 != 0)
    return emitOpError("expected a multiple of 4 bytes of codes, but got ")
           << codes;
  if (count(getResult()) != values / 2)
    return emitOpError("expected ")
           << values / 2 << " words of two values, but got "
           << count(getResult());
  int64_t block = values / count(getScales());
  if (values % count(getScales()) != 0 || (block != 16 && block != 32))
    return emitOpError("expected a scale for each 16 or 32 of ")
           << values << " values, but got " << count(getScales());
  return success();
}

//===----------------------------------------------------------------------===//
// mma_decoded
//===----------------------------------------------------------------------===//

static constexpr int64_t kBlockColumns = 64;

static MemRefType getSlot(PipelineType type, unsigned number) {
  return number < type.getSlots().size()
             ? dyn_cast<MemRefType>(type.getSlots()[number])
             : MemRefType();
}

int64_t MmaDecodedOp::getWarpgroups() {
  return getSlot(getPipeline().getType(), 0).getDimSize(0);
}
int64_t MmaDecodedOp::getMaxWidth() {
  return getSlot(getPipeline().getType(), 1).getDimSize(1);
}
int64_t MmaDecodedOp::getKBlocks() {
  return getSlot(getPipeline().getType(), 1).getDimSize(0);
}

int64_t MmaDecodedOp::getBlockBytes() {
  // Codes of 64 rows by 64 columns, and a scale for each 16.
  return (DecodeCodesOp::isFP4(getCode()) ? 2048 : 4096) + 256;
}

SmallVector<int64_t> MmaDecodedOp::getWidths() {
  SmallVector<int64_t> widths;
  for (int64_t width = 8; width <= getMaxWidth();
       width += width < 64 ? 8 : static_cast<int64_t>(getWidthStep()))
    widths.push_back(width);
  if (widths.back() != getMaxWidth())
    widths.push_back(getMaxWidth());
  return widths;
}

LogicalResult MmaDecodedOp::verify() {
  PipelineType type = getPipeline().getType();
  if (type.getProducer() != Agent::Tma || type.getConsumer() != Agent::Threads)
    return emitOpError("expected a pipeline from tma to threads, but got ")
           << type;
  MemRefType weights = getSlot(type, 0), tokens = getSlot(type, 1);
  if (type.getSlots().size() != 2 || !weights || !tokens || !isSmem(weights) ||
      !isSmem(tokens))
    return emitOpError("expected slots of weights and of tokens, but got ")
           << type;
  Type element = tokens.getElementType();
  if (tokens.getRank() != 3 || !(element.isBF16() || element.isF16()) ||
      getSwizzle(tokens) != 128 || tokens.getDimSize(2) != kBlockColumns ||
      tokens.getDimSize(1) < 8 || tokens.getDimSize(1) > 256 ||
      tokens.getDimSize(1) % 8 != 0)
    return emitOpError("expected tokens [k blocks, a multiple of 8 up to 256, "
                       "64] of bf16 or f16 with a swizzle of 128 bytes, but "
                       "got ")
           << tokens;
  if (weights.getRank() != 2 || !weights.getElementType().isInteger(8) ||
      getSwizzle(weights) != 0 ||
      weights.getDimSize(1) != tokens.getDimSize(0) * getBlockBytes())
    return emitOpError("expected weights [warpgroups, ")
           << tokens.getDimSize(0) * getBlockBytes() << "] of i8, but got "
           << weights;
  // The next slot is waited for before the one before it is released.
  if (type.getDepth() < 2)
    return emitOpError("expected a pipeline of at least 2 slots, but got ")
           << type.getDepth();
  if (getWidthStep() % 8 != 0)
    return emitOpError("expected a step that is a multiple of 8, but got ")
           << getWidthStep();
  if (cast<VectorType>(getResult().getType()).getNumElements() !=
      getMaxWidth() / 2)
    return emitOpError("expected ")
           << getMaxWidth() / 2 << " values a thread, but got "
           << getResult().getType();
  if (failed(verifyUse(*this, getPipeline(), getStage(), getPhase())))
    return failure();
  auto roles = (*this)->getParentOfType<RolesOp>();
  if (!roles)
    return success();
  int role = roles.getRoleNumber(*this);
  if (roles.getWarps()[role] != 4 * getWarpgroups())
    return emitOpError("expected a role of ")
           << 4 * getWarpgroups() << " warps, but @" << roles.getRoleName(role)
           << " has " << roles.getWarps()[role];
  return success();
}

/// Pieces of four values, of which 8 columns have one.
static LogicalResult verifyPieces(Operation *op, Value fragment) {
  if (cast<VectorType>(fragment.getType()).getNumElements() % 4 == 0)
    return success();
  return op->emitOpError("expected a multiple of 4 values a thread, but got ")
         << fragment.getType();
}

LogicalResult StoreFragmentOp::verify() {
  return verifyPieces(*this, getFragment());
}

LogicalResult AddFragmentsOp::verify() {
  return verifyPieces(*this, getFragment());
}

LogicalResult StageFragmentOp::verify() {
  MemRefType target = getTarget().getType();
  Type element = target.getElementType();
  // Rows of 16-bit elements start at multiples of 16 bytes, as stmatrix wants.
  int64_t unit = element.isF32() ? 4 : 8;
  if (target.getRank() != 3 || !target.hasStaticShape() ||
      !(element.isF32() || element.isBF16() || element.isF16()) ||
      getSwizzle(target) != 0 ||
      target.getDimSize(1) % (element.isF32() ? 8 : 16) != 0 ||
      target.getDimSize(2) < 64 || target.getDimSize(2) % unit != 0)
    return emitOpError("expected a target [warpgroups, a multiple of 8, a "
                       "multiple of 4 from 64 on] of f32, or twice these of "
                       "bf16 or f16, but got ")
           << target;
  auto roles = (*this)->getParentOfType<RolesOp>();
  if (!roles)
    return success();
  int role = roles.getRoleNumber(*this);
  int64_t warps = roles.getWarps()[role];
  if (warps != 4 * target.getDimSize(0))
    return emitOpError("expected a role of ")
           << 4 * target.getDimSize(0)
           << " warps, 4 for each entry of the target, but @"
           << roles.getRoleName(role) << " has " << warps;
  return success();
}
