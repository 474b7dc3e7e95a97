//===- GroupingFormTest.cpp - The table of forms of grouping ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of the table against the shapes of operands in the description of
// #grouped_scaled_gemm.grouping.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"

#include "gtest/gtest.h"

namespace nvfp4::gsg {
namespace {

/// Number of dimensions in "[G, M, N]".
int64_t rankOf(llvm::StringRef shape) { return shape.count(',') + 1; }

TEST(GroupingForm, RowsAreThoseOfTheirKinds) {
  EXPECT_STREQ(getForm(GroupingKind::Dense).resultShape, "[M, N]");
  EXPECT_STREQ(getForm(GroupingKind::Batched).resultShape, "[L, M, N]");
  EXPECT_STREQ(getForm(GroupingKind::RaggedRows).resultShape, "[R, N]");
  EXPECT_STREQ(getForm(GroupingKind::Masked).resultShape, "[G, Mmax, N]");
  EXPECT_STREQ(getForm(GroupingKind::RaggedK).resultShape, "[G, M, N]");
}

TEST(GroupingForm, ColumnsAgreeWithEachOther) {
  mlir::MLIRContext context;
  context.loadDialect<GroupedScaledGemmDialect>();
  for (uint32_t kind = 0; kind <= getMaxEnumValForGroupingKind(); ++kind) {
    auto grouping = GroupingAttr::get(&context, static_cast<GroupingKind>(kind),
                                      OffsetsKind::Ends, /*align=*/1);
    const GroupingForm &form = getForm(grouping);
    std::string name = stringifyGroupingKind(grouping.getKind()).str();
    EXPECT_EQ(grouping.hasGroupsOperand(), form.operand != GroupsOperand::None)
        << name;
    EXPECT_EQ(form.hasOffsets(), form.getCutDim().has_value()) << name;
    EXPECT_EQ(form.stacksResult, rankOf(form.resultShape) == 3) << name;
    // A result for each group comes of rows or of K for each group.
    EXPECT_EQ(form.stacksResult, form.stacksRows || form.cutsK()) << name;
  }
}

TEST(GroupingForm, StartsAreOneMoreThanGroups) {
  mlir::MLIRContext context;
  context.loadDialect<GroupedScaledGemmDialect>();
  auto make = [&](GroupingKind kind, OffsetsKind offsets) {
    return GroupingAttr::get(&context, kind, offsets, /*align=*/1);
  };
  EXPECT_TRUE(hasStarts(make(GroupingKind::RaggedK, OffsetsKind::Starts)));
  EXPECT_TRUE(hasStarts(make(GroupingKind::RaggedRows, OffsetsKind::Starts)));
  EXPECT_FALSE(hasStarts(make(GroupingKind::RaggedRows, OffsetsKind::Ends)));
  EXPECT_FALSE(hasStarts(make(GroupingKind::Masked, OffsetsKind::Ends)));
}

TEST(GroupingForm, CutDimensionIsThatOfLhs) {
  EXPECT_EQ(getForm(GroupingKind::RaggedRows).getCutDim(), 0);
  EXPECT_EQ(getForm(GroupingKind::RaggedK).getCutDim(), 1);
  EXPECT_EQ(getForm(GroupingKind::Masked).getCutDim(), std::nullopt);
  EXPECT_FALSE(getForm(GroupingKind::Masked).coversRows());
  EXPECT_FALSE(getForm(GroupingKind::RaggedRows).coversRows());
  EXPECT_TRUE(getForm(GroupingKind::RaggedK).coversRows());
}

} // namespace
} // namespace nvfp4::gsg
