//===- LLVMIRTest.cpp - Tests of emitted code -------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kind of output that a module can be written as, and that no option of
// the machine changes its arithmetic.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"

#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace nvfp4::target;
using nvfp4::test::TestModule;

static bool emit(TestModule &test, EmitKind kind, std::string &text,
                 const NativeTarget &target = {}) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  bool success = mlir::succeeded(emitModule(*test.module, target, kind, os));
  text.assign(bytes.begin(), bytes.end());
  return success;
}

TEST(LLVMIR, EmitsEveryKind) {
  TestModule test(nvfp4::test::kTwice);
  ASSERT_TRUE(test.module);
  std::string text;
  ASSERT_TRUE(emit(test, EmitKind::LLVM, text));
  EXPECT_NE(text.find("@twice(i32"), std::string::npos);
  ASSERT_TRUE(emit(test, EmitKind::Assembly, text));
  EXPECT_NE(text.find("twice:"), std::string::npos);
  ASSERT_TRUE(emit(test, EmitKind::Object, text));
  EXPECT_EQ(text.substr(1, 3), "ELF");
  EXPECT_EQ(test.messages, "");
}

TEST(LLVMIR, NamesWhatIsNotLowered) {
  TestModule test("\"other.op\"() : () -> ()");
  ASSERT_TRUE(test.module);
  std::string text;
  EXPECT_FALSE(emit(test, EmitKind::LLVM, text));
  EXPECT_NE(test.messages.find("'other.op' op expected only operations of the "
                               "LLVM dialect"),
            std::string::npos)
      << test.messages;
}

TEST(LLVMIR, NeverContractsFloatingPoint) {
  TestModule test(R"(
    llvm.func @f(%a: f32, %b: f32, %c: f32) -> f32 {
      %m = llvm.fmul %a, %b : f32
      %s = llvm.fadd %m, %c : f32
      llvm.return %s : f32
    })");
  ASSERT_TRUE(test.module);
  std::string text;
  ASSERT_TRUE(emit(test, EmitKind::Assembly, text));
  EXPECT_EQ(text.find("fmadd"), std::string::npos) << text;
}

// Recovery from an abort of LLVM leaks, so not with AddressSanitizer.
#if defined(__x86_64__) && !NVFP4_TEST_HAS_ASAN
TEST(LLVMIR, SurvivesWhatTheTargetCannotDo) {
  TestModule test(nvfp4::test::kNeedsAVX512);
  ASSERT_TRUE(test.module);
  std::string text;
  auto target = NativeTarget::forIsa("generic");
  ASSERT_TRUE(static_cast<bool>(target));
  EXPECT_FALSE(emit(test, EmitKind::Object, text, *target));
  EXPECT_NE(test.messages.find("could not generate code for CPU 'x86-64'"),
            std::string::npos)
      << test.messages;
}
#endif

/// A function of `count` additions one after the other, and a slot of its frame
/// that comes last.
static std::string makeChain(int count) {
  std::string text = "llvm.func @chain(%v0: i32) -> i32 {\n"
                     "%c1 = llvm.mlir.constant(1 : i32) : i32\n";
  for (int i = 0; i < count; ++i)
    text += "%v" + std::to_string(i + 1) + " = llvm.add %v" +
            std::to_string(i) + ", %v0 : i32\n";
  std::string last = "%v" + std::to_string(count);
  return text +
         "%slot = llvm.alloca %c1 x i32 : (i32) -> !llvm.ptr\n"
         "llvm.store volatile " +
         last + ", %slot : i32, !llvm.ptr\nllvm.return " + last + " : i32\n}";
}

TEST(LLVMIR, LongFunctionsWithoutLoopsAreLeftAsTheyAre) {
  std::string text;
  TestModule small(makeChain(1000));
  ASSERT_TRUE(small.module);
  ASSERT_TRUE(emit(small, EmitKind::LLVM, text));
  EXPECT_EQ(text.find("optnone"), std::string::npos);
  EXPECT_NE(text.find("mul i32"), std::string::npos) << text;

  TestModule large(makeChain(3000));
  ASSERT_TRUE(large.module);
  ASSERT_TRUE(emit(large, EmitKind::LLVM, text));
  EXPECT_NE(text.find("optnone"), std::string::npos);
  // All additions are there, in short blocks.
  llvm::SmallVector<llvm::StringRef> blocks;
  llvm::StringRef(text).split(blocks, "\n\n");
  size_t additions = 0;
  for (llvm::StringRef block : blocks) {
    size_t own = block.count(" = add i32");
    EXPECT_LE(own, 64u) << block.str();
    additions += own;
  }
  EXPECT_EQ(additions, 3000u);
  // The slot belongs to the frame: it stands in the first block.
  ASSERT_FALSE(blocks.empty());
  size_t slot = text.find(" = alloca i32"), first = text.find(" = add i32");
  ASSERT_NE(slot, std::string::npos);
  EXPECT_LT(slot, first);
}
