//===- LaunchStaging.cpp - Operands in another form for a kernel ----------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands that kernels cannot read as they lie in memory, by the staging
// operations of warpspec. Those that need none are passed as they are.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/FormatEnums.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Format/WgmmaWeights.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::kernels;

static format::BlockFormat getFormat(const ScaledOperand &operand) {
  return toFormat(operand.type.getFormat());
}

static StringRef getFormatName(const ScaledOperand &operand) {
  std::string_view name = format::stringify(getFormat(operand));
  return {name.data(), name.size()};
}

/// The product of all extents but the last.
static HostNumber countRows(HostMath &math, Value memref) {
  HostNumber rows = math.constant(1);
  int64_t rank = cast<MemRefType>(memref.getType()).getRank();
  for (int64_t d = 0; d < rank - 1; ++d)
    rows = math.mul(rows, math.dim(memref, d));
  return rows;
}

bool Launch::isCompact(const ScaledOperand &operand) {
  return operand.type.getGroupStart() != GroupStart::Whole;
}

void Launch::setGroups(GroupingAttr grouping, Value offsets, int64_t stage) {
  using warpspec::GroupForm;
  groups = {};
  groups.stage = stage;
  if (!offsets)
    return;
  bool isStarts = hasStarts(grouping);
  GroupForm form = GroupForm::Counts;
  if (getForm(grouping).cutsRows())
    form = isStarts ? GroupForm::RowStarts : GroupForm::RowEnds;
  if (getForm(grouping).cutsK()) {
    form = isStarts ? GroupForm::KStarts : GroupForm::KEnds;
    groups.numAlongK = math.dim(offsets, 0);
    if (isStarts)
      groups.numAlongK = math.add(groups.numAlongK, math.constant(-1));
  }
  groups.offsets = offsets;
  groups.form = warpspec::GroupFormAttr::get(host.getContext(), form);
  groups.align = grouping.getAlign();
}

HostNumber Launch::countStagedColumns(HostNumber columns) {
  // Each group along K begins at a stage of its own.
  HostNumber stages =
      math.add(math.ceilDiv(columns, groups.stage), groups.numAlongK);
  return math.mul(math.atLeastOne(stages), math.constant(groups.stage));
}

Buffer Launch::addScales(Value memref, HostNumber rows, HostNumber rowBytes,
                         HostNumber columns) {
  constexpr int64_t atomBytes = warpspec::kScaleAtomBytes;
  if (columns.known && *columns.known % 4 == 0)
    return addBuffer(memref, rows, rowBytes, atomBytes, Read);
  HostNumber pitch =
      math.mul(math.ceilDiv(math.atLeastOne(rowBytes), atomBytes),
               math.constant(atomBytes));
  Value padded = allocate(rows, pitch, host.getI8Type());
  warpspec::StagePaddedScalesOp::create(host, loc, memref,
                                        math.toIndex(columns), padded);
  return {padded, rows, rowBytes, pitch};
}

Buffer Launch::addValuesOfK(const ScaledOperand &operand, HostNumber columns) {
  HostNumber rows = math.dim(operand.data, 0);
  int64_t bits = operand.type.isFP4() ? 4 : 8;
  HostNumber bytes = math.ceilDiv(
      math.mul(countStagedColumns(columns), math.constant(bits)), 8);
  Value staged = allocate(rows, bytes, host.getI8Type());
  warpspec::StageValuesOp::create(
      host, loc, operand.data, host.getStringAttr(getFormatName(operand)),
      math.toIndex(columns), groups.offsets, groups.form,
      host.getI64IntegerAttr(groups.align),
      host.getI64IntegerAttr(groups.stage), staged);
  return {staged, rows, bytes, bytes};
}

Buffer Launch::addScalesOfK(const ScaledOperand &operand, HostNumber columns) {
  // Tiles of 128 rows by 4 scales are 512 bytes.
  HostNumber rows = math.ceilDiv(math.dim(operand.data, 0), 128);
  HostNumber bytes = math.mul(math.ceilDiv(countStagedColumns(columns),
                                           4 * operand.type.getBlockSize()),
                              math.constant(warpspec::kScaleAtomBytes));
  Value staged = allocate(rows, bytes, host.getI8Type());
  warpspec::StageScalesOp::create(
      host, loc, operand.scales, host.getStringAttr(getFormatName(operand)),
      isCompact(operand) ? host.getUnitAttr() : UnitAttr(),
      math.toIndex(columns), groups.offsets, groups.form,
      host.getI64IntegerAttr(groups.align),
      host.getI64IntegerAttr(groups.stage), staged);
  return {staged, rows, bytes, bytes};
}

Buffer Launch::addTokens(const ScaledOperand &rows, HostNumber columns,
                         Type element) {
  HostNumber count = countRows(math, rows.data);
  HostNumber pitch = math.mul(countStagedColumns(columns), math.constant(2));
  bool isAlongK = groups.numAlongK.known != 0;
  if (!rows.scales && !isAlongK) {
    // TMA fills in zeros after the last block of 64 columns, not within one.
    constexpr int64_t blockBytes = 128;
    HostNumber bytes = math.mul(columns, math.constant(2));
    return addBuffer(rows.data, count, bytes, blockBytes, Read);
  }
  Value out = allocate(count, pitch, element);
  warpspec::StageRowsOp::create(
      host, loc, rows.data, rows.scales,
      rows.scales ? host.getStringAttr(getFormatName(rows)) : StringAttr(),
      rows.scales && isCompact(rows) ? host.getUnitAttr() : UnitAttr(),
      math.toIndex(columns), groups.offsets, groups.form,
      host.getI64IntegerAttr(groups.align),
      host.getI64IntegerAttr(groups.stage), out);
  return {out, count, pitch, pitch};
}

bool Launch::hasKnownFactors(const ScaledOperand &weights) {
  return getFormat(weights) == format::BlockFormat::NVFP4;
}

Launch::CodedWeights Launch::packWeights(const ScaledOperand &weights,
                                         bool isF16, HostNumber matrices,
                                         HostNumber rows, HostNumber columns) {
  constexpr int64_t blockRows = format::wgmma::kBlockRows,
                    blockColumns = format::wgmma::kBlockColumns;
  if (weights.type.isCoded())
    return {weights.data, weights.scales};
  format::BlockFormat kind = getFormat(weights);
  format::wgmma::Coding coding{format::elementKind(kind),
                               format::scaleKind(kind)};
  HostNumber blocks =
      math.mul(math.ceilDiv(rows, blockRows),
               math.ceilDiv(countStagedColumns(columns), blockColumns));
  HostNumber bytes = math.mul(blocks, math.constant(coding.blockBytes()));
  CodedWeights packed = {allocate(matrices, bytes, host.getI8Type()),
                         allocate({matrices}, host.getF32Type())};
  // Otherwise they depend on the weights alone, and may be packed once.
  bool isAlongK = groups.numAlongK.known != 0;
  warpspec::StageWeightsOp::create(
      host, loc, weights.data, weights.scales,
      host.getStringAttr(getFormatName(weights)),
      isF16 ? host.getUnitAttr() : UnitAttr(),
      isCompact(weights) ? host.getUnitAttr() : UnitAttr(),
      math.toIndex(columns), isAlongK ? groups.offsets : Value(),
      isAlongK ? groups.form : warpspec::GroupFormAttr(),
      host.getI64IntegerAttr(isAlongK ? groups.align : 1),
      host.getI64IntegerAttr(groups.stage), packed.codes, packed.factors);
  return packed;
}
