//===- JitTest.cpp - Tests of code in this process --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules of the LLVM dialect, compiled into this process and called; and those
// that must fail with a message.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/Jit.h"

#include "TestModule.h"

#include "gtest/gtest.h"

using namespace nvfp4::target;
using nvfp4::test::TestModule;

TEST(Jit, RunsFunctions) {
  TestModule test(nvfp4::test::kTwice);
  ASSERT_TRUE(test.module);
  std::unique_ptr<Jit> jit = Jit::create(*test.module, {});
  ASSERT_TRUE(jit) << test.messages;
  auto *twice = reinterpret_cast<int (*)(int)>(jit->lookup("twice"));
  ASSERT_NE(twice, nullptr);
  EXPECT_EQ(twice(21), 42);
  EXPECT_EQ(jit->lookup("thrice"), nullptr);
}

TEST(Jit, ReportsUndefinedSymbols) {
  TestModule test(R"(
    llvm.func @nvfp4_nobody_defines_this()
    llvm.func @f() {
      llvm.call @nvfp4_nobody_defines_this() : () -> ()
      llvm.return
    })");
  ASSERT_TRUE(test.module);
  std::unique_ptr<Jit> jit = Jit::create(*test.module, {});
  // Found out when the code is linked, on the first lookup.
  EXPECT_TRUE(!jit || !jit->lookup("f"));
}

// Recovery from an abort of LLVM leaks, so not with AddressSanitizer.
#if defined(__x86_64__) && !NVFP4_TEST_HAS_ASAN
TEST(Jit, SurvivesWhatTheTargetCannotDo) {
  TestModule test(nvfp4::test::kNeedsAVX512);
  ASSERT_TRUE(test.module);
  auto target = NativeTarget::forIsa("generic");
  ASSERT_TRUE(static_cast<bool>(target));
  EXPECT_FALSE(Jit::create(*test.module, *target));
  EXPECT_NE(test.messages.find("could not generate code for CPU 'x86-64'"),
            std::string::npos)
      << test.messages;
}
#endif
