//===- ParserTest.cpp - the PTX front end -----------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the grammar accepts, and that what it does not know is named.
//
//===----------------------------------------------------------------------===//

#include "RunPtx.h"

#include "nvfp4/Simulator/Decode/Kernel.h"

using namespace nvfp4::sim;
using namespace nvfp4::sim::test;

namespace {

TEST(Parser, UnknownInstructionIsNamedWithItsLine) {
  std::string error = loadError(moduleAround("  frobnicate.u32 1;\n  ret;"));
  EXPECT_NE(error.find("test.ptx:6:"), std::string::npos) << error;
  EXPECT_NE(error.find("instruction 'frobnicate.u32' is not supported"),
            std::string::npos)
      << error;
}

TEST(Parser, UnknownModifierIsNamed) {
  std::string error = loadError(moduleAround(
      "  .reg .b32 %r<3>;\n  add.wobble.u32 %r0, %r1, %r2;\n ret;"));
  EXPECT_NE(error.find("modifier '.wobble'"), std::string::npos) << error;
}

TEST(Parser, NamesAreReadable) {
  EXPECT_EQ(readableName("main"), "main");
  EXPECT_EQ(readableName("i"), "i"); // `int`, where it a type
  EXPECT_EQ(readableName("_ZN5outerIfE6kernelE10Parameters"),
            "outer<float>::kernel(Parameters)");
  // What is not demangled keeps its outer name.
  EXPECT_EQ(readableName("_ZN7cutlass13device_kernelINS_4gemm?"),
            "cutlass::device_kernel<...>");
  EXPECT_EQ(readableName("_ZN7cutlass13device_k"), "cutlass");
  EXPECT_EQ(readableName("_Z13device_kernelI?"), "device_kernel<...>");
  for (const char *symbol : {"_Z", "_ZN", "_Z999999999999x", "_ZN3"})
    EXPECT_EQ(readableName(symbol), symbol);
}

TEST(Parser, WrongRegisterWidthIsAnError) {
  std::string error = loadError(moduleAround(
      "  .reg .b32 %r<3>;\n  .reg .b64 %rd<2>;\n  add.u32 %r0, %r1, %rd1;\n"
      "  ret;"));
  EXPECT_NE(error.find("expected a 32-bit register, but got %rd1"),
            std::string::npos)
      << error;
}

TEST(Parser, NestingIsBounded) {
  auto nested = [](unsigned depth, const std::string &open,
                   const std::string &close) {
    std::string text;
    for (unsigned i = 0; i < depth; ++i)
      text += open;
    text += "1";
    for (unsigned i = 0; i < depth; ++i)
      text += close;
    return text;
  };
  const std::string tooDeep = "expected at most 64 levels of nesting";
  auto around = [](const std::string &value) {
    return moduleAround("  .reg .b32 %r0;\n  mov.u32 %r0, " + value +
                        ";\n  ret;");
  };
  auto constant = [&](const std::string &value) {
    return loadError(around(value));
  };
  auto initial = [](const std::string &value) {
    return loadError(".version 8.8\n.target sm_100a\n.address_size 64\n"
                     ".global .u32 x[1] = " +
                     value + ";\n");
  };
  for (unsigned depth : {65u, 100000u}) {
    EXPECT_NE(constant(nested(depth, "-", "")).find(tooDeep),
              std::string::npos);
    EXPECT_NE(constant(nested(depth, "1+(", ")")).find(tooDeep),
              std::string::npos);
    EXPECT_NE(initial(nested(depth, "{", "}")).find(tooDeep),
              std::string::npos);
  }
  for (const std::string &legal :
       {nested(64, "-", ""), nested(64, "1+(", ")")}) {
    Diagnostics diagnostics("test.ptx");
    EXPECT_TRUE(Program::load(around(legal), "test.ptx", diagnostics))
        << diagnostics.str();
  }
  EXPECT_NE(constant(nested(100000, "(", ")"))
                .find("expected a register or a number"),
            std::string::npos);
}

TEST(Parser, UndeclaredNames) {
  EXPECT_NE(loadError(moduleAround("  bra nowhere;\n  ret;"))
                .find("unknown label 'nowhere'"),
            std::string::npos);
  EXPECT_NE(loadError(moduleAround("  .reg .b32 %r0;\n  mov.u32 %r0, %r77;\n"))
                .find("%r77"),
            std::string::npos);
}

TEST(Parser, NestedScopesRedeclareRegistersAndLabels) {
  Outcome outcome = run(moduleAround(prologue() + R"(
    mov.u32 %r2, 0;
    {
      .reg .pred P;
      .reg .b32 t;
      mov.u32 t, 3;
    again:
      add.u32 %r2, %r2, 1;
      sub.u32 t, t, 1;
      setp.ne.u32 P, t, 0;
      @P bra again;
    }
    {
      .reg .pred P;
      .reg .b32 t;
      mov.u32 t, 4;
    again:
      add.u32 %r2, %r2, 16;
      sub.u32 t, t, 1;
      setp.ne.u32 P, t, 0;
      @P bra again;
    }
    st.global.b32 [%rd1], %r2;
    ret;)"));
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  EXPECT_EQ(outcome.out[7], 3u + 64u);
}

TEST(Parser, InitialisedVariablesAndRelocations) {
  Outcome outcome =
      run(moduleAround(prologue() + R"(
    mov.u64 %rd3, table;
    ld.global.u64 %rd4, [%rd3+8];
    ld.global.u32 %r3, [%rd4];
    ld.const.u32 %r4, [c+4];
    st.global.v2.b32 [%rd1], {%r3, %r4};
    ret;)",
                       ".const .align 4 .b32 c[3] = {1, 2+3*4, 3};\n"
                       ".global .align 4 .u32 word = 0x2a;\n"
                       ".global .align 8 .u64 table[2] = {0, word};\n"));
  ASSERT_TRUE(outcome.result.ok()) << outcome.reports;
  EXPECT_EQ(outcome.out[0], (14ull << 32) | 42u);
}

TEST(Parser, RegistersAreCompacted) {
  std::string body = prologue();
  for (int i = 0; i < 200; ++i)
    body += "  .reg .b32 t" + std::to_string(i) + ";\n  mov.u32 t" +
            std::to_string(i) + ", " + std::to_string(i) +
            ";\n  st.global.b32 [%rd1], t" + std::to_string(i) + ";\n";
  auto program = load(moduleAround(body + "  ret;"));
  ASSERT_NE(program, nullptr);
  const Kernel &kernel = *program->kernel("k");
  EXPECT_GT(kernel.virtualRegisters, 200u);
  EXPECT_LT(kernel.allocatedPlanes, 10u);
}

TEST(Parser, HostileTextIsDiagnosed) {
  for (const char *text :
       {"", ".version", ".entry", ".visible .entry k(", "{", "}}}", "\"", "/*",
        ".global .b8 x[99999999999999999999];", ".const .b32 x = 1/0;",
        ".visible .entry k()\n{\n  .reg .b32 %r<99999999>;\n}"}) {
    Diagnostics diagnostics;
    Program::load(std::string(".version 8.8\n") + text, "x", diagnostics);
  }
  SUCCEED();
}

} // namespace
