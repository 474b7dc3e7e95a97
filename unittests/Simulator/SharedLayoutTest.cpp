//===- SharedLayoutTest.cpp - static shared memory of kernels ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each kernel of a module has the shared variables that it reaches, from the
// base on, and nothing of the others.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

/// A kernel with a shared array of its own.
std::string kernelWithArray(const std::string &name, unsigned bytes) {
  return ".visible .entry " + name + R"(() {
  .shared .align 16 .b8 own[)" +
         std::to_string(bytes) + R"(];
  .reg .b32 %r<2>;
  mov.u32 %r0, own;
  st.shared.u32 [%r0], 7;
  ret;
}
)";
}

TEST(SharedLayout, OtherKernelsTakeNoRoom) {
  std::string others;
  for (int i = 0; i < 6; ++i)
    others += kernelWithArray("other" + std::to_string(i), 48000);
  std::string text =
      moduleAround(prologue() + R"(
  .shared .align 4 .b8 own[16];
  mov.u32 %r1, own;
  mov.u32 %r2, dynamic;
  st.global.v2.u32 [%rd1], {%r1, %r2};
  ret;)",
                   ".extern .shared .align 16 .b8 dynamic[];\n" + others);
  Outcome outcome = run(text);
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  auto own = static_cast<uint32_t>(outcome.out[0]);
  EXPECT_EQ(own, 1024u);
  EXPECT_EQ(outcome.out[0] >> 32, own + 16);
}

TEST(SharedLayout, BeyondTheKernelsOwnArrayIsOutOfBounds) {
  std::string text = moduleAround(R"(
  .shared .align 4 .b8 own[16];
  .reg .b32 %r<2>;
  mov.u32 %r0, own;
  st.shared.u32 [%r0+16], 7;
  ret;)",
                                  kernelWithArray("before", 16)) +
                     kernelWithArray("after", 16);
  Extents extents;
  extents.sharedBytes = 0;
  EXPECT_NE(runGrid(text, {}, extents)
                .reports.find("4 bytes at shared offset 1040 are outside "
                              "[1024, 1040)"),
            std::string::npos);
}

/// The kernel reaches one variable of the module itself and one through a
/// function, which has a variable of its own; nobody reaches the fourth.
TEST(SharedLayout, VariablesOfTheModuleAndOfFunctions) {
  std::string text = moduleAround(prologue() + R"(
  .shared .align 8 .b8 own[8];
  .param .b32 result;
  mov.u32 %r1, direct;
  mov.u32 %r2, own;
  call (result), place, ();
  ld.param.b32 %r3, [result];
  shl.b32 %r2, %r2, 16;
  or.b32 %r1, %r1, %r2;
  st.global.v2.u32 [%rd1], {%r1, %r3};
  ret;)",
                                  kernelWithArray("first", 64) + R"(
.shared .align 4 .b8 unused[4096];
.shared .align 4 .b8 direct[4];
.shared .align 4 .b8 indirect[12];
.func (.param .b32 r) place() {
  .shared .align 4 .b8 inner[20];
  .reg .b32 %a<3>;
  mov.u32 %a0, indirect;
  mov.u32 %a1, inner;
  shl.b32 %a1, %a1, 16;
  or.b32 %a2, %a0, %a1;
  st.param.b32 [r], %a2;
  ret;
}
)");
  Outcome outcome = run(text);
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  // In the order of the declarations.
  EXPECT_EQ(outcome.out[0] & 0xffff, 1024u);
  EXPECT_EQ(outcome.out[0] >> 32 & 0xffff, 1028u);
  EXPECT_EQ(outcome.out[0] >> 48, 1040u);
  EXPECT_EQ(outcome.out[0] >> 16 & 0xffff, 1064u);
  EXPECT_EQ(load(text)->kernel("k")->function->sharedBytes, 48u);
  EXPECT_EQ(load(text)->kernel("first")->function->sharedBytes, 64u);
}

} // namespace
