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

#include <sys/mman.h>

#include <cstddef>
#include <utility>
#include <vector>

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
  EXPECT_FALSE(Jit::create(*test.module, {}));
  EXPECT_NE(test.messages.find("could not compile the module: Symbols not "
                               "found: [ nvfp4_nobody_defines_this ]"),
            std::string::npos)
      << test.messages;
}

/// Occupies all of the address space above the next 8 GiB of it, but a hole of
/// `pages`: a small piece of memory comes from the hole, others lie far below.
class FragmentedMemory {
public:
  explicit FragmentedMemory(std::size_t pages) {
    std::byte *wall = reserve(std::size_t(8) << 30);
    for (std::size_t size = 1 << 20; size >= kPage; size /= 2)
      while (reserve(size) > wall)
        ;
    munmap(wall + (std::size_t(4) << 30), pages * kPage);
  }
  // The hole may be occupied by now, by what lives on.
  ~FragmentedMemory() {
    for (auto [start, size] : reserved)
      if (size <= std::size_t(1) << 20)
        munmap(start, size);
  }

private:
  static constexpr std::size_t kPage = 4096;

  std::byte *reserve(std::size_t size) {
    void *start = mmap(nullptr, size, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
      return nullptr;
    reserved.emplace_back(static_cast<std::byte *>(start), size);
    return static_cast<std::byte *>(start);
  }

  std::vector<std::pair<std::byte *, std::size_t>> reserved;
};

// A reference within the code reaches 2 GiB.
TEST(Jit, SectionsReachEachOtherWhereMemoryIsFragmented) {
  for (std::size_t pages = 1; pages <= 4; ++pages) {
    TestModule test(R"(
      llvm.func @strlen(!llvm.ptr) -> i64
      llvm.mlir.global internal constant @text("twelve bytes\00")
      llvm.mlir.global internal @count(0 : i64) : i64
      llvm.func @length() -> i64 {
        %text = llvm.mlir.addressof @text : !llvm.ptr
        %length = llvm.call @strlen(%text) : (!llvm.ptr) -> i64
        %count = llvm.mlir.addressof @count : !llvm.ptr
        %old = llvm.load volatile %count : !llvm.ptr -> i64
        %new = llvm.add %old, %length : i64
        llvm.store volatile %new, %count : i64, !llvm.ptr
        llvm.return %new : i64
      })");
    ASSERT_TRUE(test.module);
    FragmentedMemory memory(pages);
    std::unique_ptr<Jit> jit = Jit::create(*test.module, {});
    ASSERT_TRUE(jit) << test.messages;
    auto *length = reinterpret_cast<long (*)()>(jit->lookup("length"));
    ASSERT_NE(length, nullptr);
    EXPECT_EQ(length(), 12);
    EXPECT_EQ(length(), 24);
  }
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
