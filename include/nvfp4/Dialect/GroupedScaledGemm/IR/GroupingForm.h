//===- GroupingForm.h - What a form of grouping means -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One row for each form of grouping. Code asks a row for what it depends on and
// does not compare kinds, so that a new form is a new row.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_GROUPINGFORM_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_GROUPINGFORM_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace nvfp4::gsg {

/// The dimension of a matrix that groups are ranges of.
enum class GroupCut { None, Rows, K };

/// Contents of the `groups` operand.
enum class GroupsOperand { None, Offsets, Counts };

/// One form of grouping.
struct GroupingForm {
  /// Each group has a matrix of lhs, which is a stack of them.
  bool stacksRows;
  /// Each group has a matrix of rhs; else all have one.
  bool hasOwnWeights;
  /// Each group has a matrix of the result.
  bool stacksResult;
  GroupCut cut;
  GroupsOperand operand;
  /// The shape of a result, for messages.
  const char *resultShape;

  bool cutsRows() const { return cut == GroupCut::Rows; }
  bool cutsK() const { return cut == GroupCut::K; }
  bool hasOffsets() const { return operand == GroupsOperand::Offsets; }
  bool hasCounts() const { return operand == GroupsOperand::Counts; }
  /// Every row of the result belongs to a group.
  bool coversRows() const { return !cutsRows() && !hasCounts(); }
  /// The dimension of lhs [rows, K] that groups cut.
  std::optional<int64_t> getCutDim() const {
    if (cut == GroupCut::None)
      return std::nullopt;
    return cutsRows() ? 0 : 1;
  }
};

/// The row of a kind.
inline const GroupingForm &getForm(GroupingKind kind) {
  static constexpr GroupingForm forms[] = {
      // dense
      {false, false, false, GroupCut::None, GroupsOperand::None, "[M, N]"},
      // batched
      {true, true, true, GroupCut::None, GroupsOperand::None, "[L, M, N]"},
      // ragged_rows
      {false, true, false, GroupCut::Rows, GroupsOperand::Offsets, "[R, N]"},
      // masked
      {true, true, true, GroupCut::None, GroupsOperand::Counts, "[G, Mmax, N]"},
      // ragged_k
      {false, false, true, GroupCut::K, GroupsOperand::Offsets, "[G, M, N]"},
  };
  static_assert(std::size(forms) == getMaxEnumValForGroupingKind() + 1);
  return forms[static_cast<unsigned>(kind)];
}

inline const GroupingForm &getForm(GroupingAttr grouping) {
  return getForm(grouping.getKind());
}

/// True if the operand holds one offset more than there are groups.
inline bool hasStarts(GroupingAttr grouping) {
  return getForm(grouping).hasOffsets() &&
         grouping.getOffsets() == OffsetsKind::Starts;
}

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_GROUPINGFORM_H
