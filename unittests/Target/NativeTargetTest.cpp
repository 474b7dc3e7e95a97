//===- NativeTargetTest.cpp - Tests of CPU names ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of CPUs, features and instruction sets: those of the host are known,
// unknown ones are refused by name.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/NativeTarget.h"

#include "llvm/Target/TargetMachine.h"
#include "gtest/gtest.h"

using namespace nvfp4::target;

static std::string messageOf(const NativeTarget &target) {
  auto machine = createTargetMachine(target);
  return machine ? "" : llvm::toString(machine.takeError());
}

TEST(NativeTarget, KnowsTheHost) { EXPECT_EQ(messageOf({}), ""); }

TEST(NativeTarget, RejectsUnknownNames) {
  EXPECT_EQ(messageOf({"i8080", "", 3}),
            "expected a CPU that LLVM knows, but got 'i8080'");
  EXPECT_EQ(messageOf({"native", "+turbo", 3}),
            "expected a target feature that LLVM knows, but got 'turbo'");
  EXPECT_EQ(messageOf({"native", "turbo", 3}),
            "expected a target feature with '+' or '-', but got 'turbo'");
}

TEST(NativeTarget, NamesInstructionSets) {
  auto unknown = NativeTarget::forIsa("mmx");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(
      llvm::toString(unknown.takeError()),
      "expected instruction set generic, avx2, avx512vnni, avx512bf16 or amx, "
      "but got 'mmx'");
#if defined(__x86_64__)
  for (const char *isa :
       {"generic", "avx2", "avx512vnni", "avx512bf16", "amx"}) {
    auto target = NativeTarget::forIsa(isa);
    ASSERT_TRUE(static_cast<bool>(target)) << isa;
    EXPECT_EQ(messageOf(*target), "") << isa;
  }
#endif
}
