//===- UnsupportedTest.cpp - what is refused when it is loaded --*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions the simulator lacks are errors at load that name what is
// missing and the line; nothing is guessed.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

/// The body is one line; `name` is what the error must contain.
void expectRefused(const std::string &instruction, const std::string &name) {
  std::string error = loadError(
      moduleAround(prologue() + ".reg .b128 %q;\n" + instruction + "\nret;",
                   ".extern .shared .align 128 .b8 smem[];\n"));
  EXPECT_NE(error.find(name), std::string::npos) << instruction << "\n"
                                                 << error;
  EXPECT_NE(error.find("test.ptx:"), std::string::npos) << error;
}

/// What the ISA has and the simulator lacks is called so, by its name.
void expectUnsupported(const std::string &instruction,
                       const std::string &name) {
  expectRefused(instruction, name);
  expectRefused(instruction, "not supported");
}

TEST(Unsupported, TensorCoreForms) {
  expectUnsupported(
      "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r1], %rd3, %rd4, "
      "[%r2], %r3, %p1;",
      "tcgen05.mma.ws.sp");
  expectUnsupported(
      "tcgen05.mma.sp.cta_group::1.kind::f16.ashift [%r1], [%r4], %rd4, "
      "[%r2], %r3, %p1;",
      "ashift");
  expectUnsupported(
      "tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %rd3, %rd4, %r3, "
      "%p1;",
      "ws");
  expectUnsupported(
      "tcgen05.mma.cta_group::1.kind::f16.ashift [%r1], [%r2], %rd4, "
      "%r3, %p1;",
      "ashift");
  expectRefused("tcgen05.shift.cta_group::1.up [%r1];", ".down");
  expectRefused(
      "tcgen05.ld.red.sync.aligned.32x32b.x2.f32.max {%r1, %r2}, %r3, "
      "[%r4];",
      "expected target sm_101a, sm_103a, sm_110a or a later one for "
      "'tcgen05.ld.red', but got sm_100a");
  expectRefused("tcgen05.cp.cta_group::1.4x256b.warpx4 [%r1], %rd3;",
                "do not go together");
  expectRefused("tcgen05.cp.cta_group::1.128x128b.b8x16.b4x16 [%r1], %rd3;",
                "b4x16_p64");
  expectUnsupported(
      "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%f0, "
      "%f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, "
      "{%f0, %f1, %f2, %f3}, %r9, 0;",
      "sp");
  expectUnsupported(
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, "
      "{%d2}, {%d3}, {%d0, %d1};",
      "mma");
  expectUnsupported(
      "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e4m3."
      "f32 {%f0, %f1, %f2, %f3}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, "
      "{%f0, %f1, %f2, %f3};",
      "e2m1");
  expectUnsupported(
      "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r1, %r2, "
      "%r3, %r4}, %rd3, %rd4, 1;",
      "type .s32 of");
  expectUnsupported(
      "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1, %r2, %r3, "
      "%r4, %r5, %r6, %r7, %r8}, [%rd3];",
      "wmma");
}

TEST(Unsupported, MemoryForms) {
  expectUnsupported(
      "cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::"
      "complete_tx::bytes [%r1], [%rd3, {%r2, %r3, %r4}], [%r5], "
      "{%h0};",
      "im2col");
  expectUnsupported("multimem.ld_reduce.global.add.u32 %r1, [%rd3];",
                    "multimem");
  expectUnsupported("multimem.red.global.add.u32 [%rd3], %r1;", "multimem");
  expectUnsupported("atom.global.exch.b128 %q, [%rd3], %q;", "type .b128 of");
  expectRefused("st.bulk.weak.shared::cta [%r1], %rd3, 1;",
                "expected the value 0, but got 1");
  expectUnsupported(
      "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd3, {%f4, %f5}];", "tex");
  expectUnsupported("suld.b.1d.b32.trap {%r1}, [%rd3, {%r2}];", "suld");
}

TEST(Unsupported, UnknownInstructionsAndModifiers) {
  expectRefused("frobnicate.u32 %r1, %r2;", "frobnicate");
  expectRefused("add.wobbly.u32 %r1, %r2, %r3;", "wobbly");
  expectUnsupported("vadd.u32.u32.u32 %r1, %r2, %r3;", "vadd");
  expectRefused("add.rn.f32.f16 %f0, %f1, %f2;", "16-bit register");
  expectUnsupported("max.f32 %f0, %f1, %f2, %f3;", "'max.f32' of three values");
  expectRefused("ld.global.sparkling.u32 %r1, [%rd3];", "sparkling");
  expectRefused("cvt.rs.f16.f32 %h0, %f0, %r1;", "f16");
  expectRefused("cvt.rs.e2m1x4.f32 %h0, {%f0, %f0, %f0, %f0}, %r1;",
                "satfinite");
}

} // namespace
