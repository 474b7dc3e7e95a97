//===- SharedObjectTest.cpp - Tests of linking ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An object file becomes a library that can be loaded; what the linker says
// about a bad one reaches the caller.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Target/SharedObject.h"

#include "TestModule.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "gtest/gtest.h"

#include <dlfcn.h>

using namespace nvfp4::target;
using nvfp4::test::TestModule;

TEST(SharedObject, LinksWhatCanBeLoaded) {
  TestModule test(nvfp4::test::kTwice);
  ASSERT_TRUE(test.module);
  llvm::SmallString<128> object, output;
  int descriptor;
  ASSERT_FALSE(
      llvm::sys::fs::createTemporaryFile("test", "o", descriptor, object));
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("test", "so", output));
  llvm::FileRemover removeObject(object), removeOutput(output);
  {
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    ASSERT_TRUE(
        mlir::succeeded(emitModule(*test.module, {}, EmitKind::Object, os)));
  }
  llvm::Error error = linkSharedObject(object, output, {});
  ASSERT_FALSE(error) << llvm::toString(std::move(error));
  void *library = dlopen(output.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto *twice = reinterpret_cast<int (*)(int)>(dlsym(library, "twice"));
  ASSERT_NE(twice, nullptr);
  EXPECT_EQ(twice(21), 42);
  dlclose(library);
}

TEST(SharedObject, ShowsWhatTheLinkerSays) {
  llvm::Error error = linkSharedObject("no-such-file.o", "unused.so", {});
  ASSERT_TRUE(static_cast<bool>(error));
  std::string message = llvm::toString(std::move(error));
  EXPECT_NE(message.find("linking 'unused.so' with"), std::string::npos);
  EXPECT_NE(message.find("no-such-file.o"), std::string::npos) << message;
}
