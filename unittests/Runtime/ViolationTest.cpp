//===- ViolationTest.cpp - Violations of calls at the same time -*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions written here in the form of compiled code; their threads enter
// calls as nvfp4-share-call has those of parallel loops do.
//
//===----------------------------------------------------------------------===//

#include "TestTensors.h"

#include "nvfp4/Runtime/nvfp4_checks.h"

#include "gtest/gtest.h"

#include <barrier>
#include <cstring>
#include <string>
#include <thread>

namespace {

const char metadata[] =
    "{\"version\":6,\"device\":\"cpu\",\"functions\":["
    "{\"name\":\"clean\",\"arguments\":[],\"results\":[]},"
    "{\"name\":\"dirty\",\"arguments\":[],\"results\":[]}]}";

std::barrier<> found(2), ended(2);

/// A worker finds something wrong while `clean` runs.
void dirty(void **) {
  nvfp4_call *call = nvfp4_call_current();
  std::thread([call] {
    nvfp4_call *before = nvfp4_call_enter(call);
    EXPECT_EQ(before, nullptr);
    nvfp4_check_equal("worker", "c1", "K", 4, 3);
    EXPECT_EQ(nvfp4_call_enter(before), call);
  }).join();
  found.arrive_and_wait();
  ended.arrive_and_wait();
}

void clean(void **) { found.arrive_and_wait(); }

void *lookUp(const char *symbol, void *) {
  std::string name = symbol;
  return name == "nvfp4_metadata"      ? const_cast<char *>(metadata)
         : name == "nvfp4_entry_clean" ? reinterpret_cast<void *>(clean)
                                       : reinterpret_cast<void *>(dirty);
}

} // namespace

TEST(Violation, BelongsToTheCallOfTheWorker) {
  nvfp4_module *module = nullptr;
  ASSERT_EQ(nvfp4_module_from_symbols(lookUp, nullptr, &module), NVFP4_OK);
  auto call = [&](const char *name) {
    const nvfp4_function *function = nullptr;
    EXPECT_EQ(nvfp4_module_function(module, name, &function), NVFP4_OK);
    return nvfp4_function_call(function, nullptr, 0, nullptr, 0, nullptr);
  };
  std::thread other([&] {
    EXPECT_EQ(call("dirty"), NVFP4_INVALID_DATA);
    EXPECT_STREQ(nvfp4_last_error(),
                 "'dirty': worker: expected K to be 3, but got 4 [c1]");
  });
  EXPECT_EQ(call("clean"), NVFP4_OK) << nvfp4_last_error();
  ended.arrive_and_wait();
  other.join();
  EXPECT_EQ(nvfp4_take_violation(), NVFP4_OK);
  nvfp4_module_release(module);
}

TEST(Violation, OutsideOfCallsIsNoCalls) {
  nvfp4_check_equal("before", "c1", "K", 4, 3);
  nvfp4_module *module = nullptr;
  auto none = [](const char *symbol, void *) -> void * {
    return std::strcmp(symbol, "nvfp4_metadata")
               ? reinterpret_cast<void *>(+[](void **) {})
               : const_cast<char *>(metadata);
  };
  ASSERT_EQ(nvfp4_module_from_symbols(none, nullptr, &module), NVFP4_OK);
  EXPECT_EQ(nvfp4_function_call(nvfp4_module_function_at(module, 0), nullptr, 0,
                                nullptr, 0, nullptr),
            NVFP4_OK);
  EXPECT_EQ(nvfp4_take_violation(), NVFP4_INVALID_DATA);
  nvfp4_module_release(module);
}
