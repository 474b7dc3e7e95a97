//===- ModuleTest.cpp - Tests of loading ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Artefacts that load, and damaged ones that must be refused with a message:
// missing files, other versions, wrong descriptions.
//
//===----------------------------------------------------------------------===//

#include "TestTensors.h"

#include "gtest/gtest.h"

#include <elf.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace nvfp4::test;

static std::string complaintAbout(const char *path) {
  nvfp4_module *module = nullptr;
  if (nvfp4_module_load(path, &module) == NVFP4_OK) {
    nvfp4_module_release(module);
    return "";
  }
  return nvfp4_last_error();
}

TEST(Module, DescribesItsFunctions) {
  TestArtefact artefact;
  ASSERT_EQ(artefact.status, NVFP4_OK) << nvfp4_last_error();
  ASSERT_EQ(nvfp4_module_num_functions(artefact.module), 4u);
  const nvfp4_function *scale = nvfp4_module_function_at(artefact.module, 0);
  EXPECT_STREQ(nvfp4_function_name(scale), "scale");
  EXPECT_EQ(nvfp4_module_function_at(artefact.module, 4), nullptr);
  ASSERT_EQ(nvfp4_function_num_arguments(scale), 2u);
  ASSERT_EQ(nvfp4_function_num_results(scale), 2u);

  nvfp4_value_info info;
  ASSERT_EQ(nvfp4_function_argument(scale, 0, &info), NVFP4_OK);
  EXPECT_STREQ(info.element_type, "f32");
  EXPECT_EQ(info.ndim, 2);
  EXPECT_EQ(info.shape[0], -1);
  EXPECT_FALSE(info.is_scalar);
  EXPECT_FALSE(info.is_mutable);
  ASSERT_EQ(nvfp4_function_result(scale, 0, &info), NVFP4_OK);
  EXPECT_TRUE(info.is_scalar);
  EXPECT_EQ(nvfp4_function_result(scale, 2, &info), NVFP4_INVALID_ARGUMENT);

  const nvfp4_function *fill = artefact.function("fill");
  ASSERT_EQ(nvfp4_function_argument(fill, 1, &info), NVFP4_OK);
  EXPECT_EQ(info.role, NVFP4_ROLE_SCALES);
  EXPECT_STREQ(info.scaled_type, "!s<4x4>");
  nvfp4_scaled_info scaled;
  ASSERT_EQ(nvfp4_function_argument_scaled(fill, 1, &scaled), NVFP4_OK);
  EXPECT_STREQ(scaled.text, "!s<4x4>");
  ASSERT_EQ(scaled.ndim, 2);
  EXPECT_EQ(scaled.shape[1], 4);
  EXPECT_STREQ(scaled.format, "f");
  EXPECT_STREQ(scaled.layout, "linear");
  EXPECT_STREQ(scaled.starts, "whole");
  EXPECT_EQ(scaled.axis, 0);
  EXPECT_EQ(nvfp4_function_argument_scaled(fill, 0, &scaled),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_STREQ(nvfp4_last_error(),
               "expected argument 0 of 'fill' to be the values or scales of a "
               "block-scaled tensor, but it is a plain tensor");
  EXPECT_EQ(nvfp4_function_argument_scaled(fill, 2, &scaled),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(nvfp4_function_argument_scaled(fill, 1, nullptr),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(nvfp4_function_argument_scaled(nullptr, 0, &scaled),
            NVFP4_INVALID_ARGUMENT);
  EXPECT_EQ(nvfp4_function_result_scaled(scale, 1, &scaled),
            NVFP4_INVALID_ARGUMENT);
}

TEST(Module, ReportsWhatCannotBeLoaded) {
  EXPECT_NE(complaintAbout("no-such.so").find("no-such.so"), std::string::npos);
  EXPECT_NE(complaintAbout(NVFP4_TEST_BROKEN)
                .find("no symbol nvfp4_entry_absent, which the module's "
                      "description promises"),
            std::string::npos);
}

// Not of the symbol that it misses.
TEST(Module, SaysThatAnArtefactIsOlder) {
  EXPECT_EQ(complaintAbout(NVFP4_TEST_OLDER),
            "'" NVFP4_TEST_OLDER
            "': expected a module of version 6, but got 1; compile it again");
}

TEST(Module, RefusesTruncatedFiles) {
  std::ifstream stream(NVFP4_TEST_ARTEFACT, std::ios::binary);
  std::string whole{std::istreambuf_iterator<char>(stream), {}};
  ASSERT_GT(whole.size(), 4096u);
  std::string path = testing::TempDir() + "nvfp4-cut.so";
  auto complaint = [&](const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return complaintAbout(path.c_str());
  };
  EXPECT_EQ(complaint(whole), "");
  EXPECT_EQ(complaint(""), "could not load '" + path +
                               "': expected a shared object, but the file is "
                               "empty");
  for (size_t size : {size_t{10}, size_t{63}, size_t{64}, size_t{100},
                      whole.size() / 2, whole.size() - 1})
    EXPECT_NE(complaint(whole.substr(0, size))
                  .find("but got " + std::to_string(size) +
                        "; the file is truncated or damaged"),
              std::string::npos)
        << size;
  // Offsets of headers and segments whose end overflows.
  size_t load = 64;
  while (whole[load] != PT_LOAD)
    load += sizeof(Elf64_Phdr);
  for (size_t at : {size_t{32}, size_t{40}, load + 8}) {
    std::string bytes = whole;
    bytes.replace(at, 8, 8, '\xff');
    EXPECT_NE(complaint(bytes).find("truncated or damaged"), std::string::npos)
        << at;
  }
  EXPECT_NE(complaint("hello, this is text").find("does not start as an ELF"),
            std::string::npos);
  std::remove(path.c_str());
}

TEST(Module, ListsFunctionsOnAMiss) {
  TestArtefact artefact;
  const nvfp4_function *function = nullptr;
  EXPECT_EQ(nvfp4_module_function(artefact.module, "nothing", &function),
            NVFP4_NOT_FOUND);
  EXPECT_STREQ(nvfp4_last_error(), "expected one of the functions scale, fill, "
                                   "pair, grow, but got 'nothing'");
}

/// Loads a module whose description is `text`.
static std::string complaintAboutText(const char *text) {
  auto lookup = [](const char *symbol, void *context) -> void * {
    return std::strcmp(symbol, "nvfp4_metadata") ? nullptr : context;
  };
  nvfp4_module *module = nullptr;
  if (nvfp4_module_from_symbols(lookup, const_cast<char *>(text), &module))
    return nvfp4_last_error();
  nvfp4_module_release(module);
  return "";
}

TEST(Module, RejectsDamagedDescriptions) {
  EXPECT_EQ(
      complaintAboutText(R"({"version":6,"device":"cpu","functions":[]})"), "");
  for (const char *text :
       {"", "{", "[]", "3", R"({"version":"1","functions":[]})",
        R"({"version":6,"functions":3})", R"({"functions":[]})",
        R"({"version":6,"device":"cpu","memory":"","functions":[]})"})
    EXPECT_EQ(complaintAboutText(text),
              "the description of the module is damaged")
        << text;
  for (const char *arguments :
       {"3", "[3]", R"([{"kind":"tensor","type":"f32"}])",
        R"([{"kind":"tensor","type":"f32","shape":["x"]}])",
        R"([{"kind":"tensor","type":"f32","shape":[-2]}])",
        R"([{"kind":"tensor","type":"f32","shape":[9223372036854775808]}])",
        R"([{"kind":"tensor","type":"i8","shape":[1],"role":"scale"}])",
        R"([{"kind":"tensor","type":"i8","shape":[1],"role":"scales"}])",
        R"([{"kind":"tensor","type":"i8","shape":[1],"scaled":{"text":"s",)"
        R"("shape":[1],"format":"f","layout":"l","starts":"s","axis":0}}])",
        R"([{"kind":"tensor","type":"i8","shape":[1],"role":"values",)"
        R"("scaled":"!s<1>"}])",
        R"([{"kind":"tensor","type":"i8","shape":[1],"role":"values",)"
        R"("scaled":{"text":"s","shape":[1],"format":"f","layout":"l",)"
        R"("starts":"s","axis":1}}])",
        R"([{"kind":"vector","type":"f32","shape":[1]}])",
        R"([{"kind":"scalar","type":"f33"}])"}) {
    std::string text =
        R"({"version":6,"device":"cpu","functions":[{"name":"f","arguments":)" +
        std::string(arguments) + R"(,"results":[]}]})";
    EXPECT_EQ(complaintAboutText(text.c_str()),
              "the description of function 'f' is damaged")
        << text;
  }
  EXPECT_EQ(complaintAboutText(R"({"version":7,"functions":[]})"),
            "expected a module of version 6, but got 7; compile it again");
  EXPECT_EQ(
      complaintAboutText(R"({"version":6,"device":"tpu","functions":[]})"),
      "expected a module for device cpu, but got one for 'tpu'");
}

TEST(Module, NullObjects) {
  EXPECT_STREQ(nvfp4_module_metadata(nullptr), "");
  EXPECT_EQ(nvfp4_module_num_functions(nullptr), 0u);
  EXPECT_EQ(nvfp4_module_function_at(nullptr, 0), nullptr);
  EXPECT_STREQ(nvfp4_function_name(nullptr), "");
  EXPECT_EQ(nvfp4_function_num_arguments(nullptr), 0u);
  EXPECT_EQ(nvfp4_function_num_results(nullptr), 0u);
  nvfp4_module_release(nullptr);

  TestArtefact artefact;
  const nvfp4_function *scale = artefact.function("scale");
  const nvfp4_function *found = nullptr;
  nvfp4_value_info info;
  for (nvfp4_status status :
       {nvfp4_module_load(nullptr, nullptr),
        nvfp4_module_from_symbols(nullptr, nullptr, nullptr),
        nvfp4_module_function(nullptr, "scale", &found),
        nvfp4_module_function(artefact.module, nullptr, &found),
        nvfp4_module_function(artefact.module, "scale", nullptr),
        nvfp4_function_argument(nullptr, 0, &info),
        nvfp4_function_argument(scale, 0, nullptr),
        nvfp4_function_result(nullptr, 0, &info),
        nvfp4_function_result(scale, 0, nullptr),
        nvfp4_function_check(nullptr, 0, nullptr),
        nvfp4_choose_cpu_isa(nullptr)}) {
    EXPECT_EQ(status, NVFP4_INVALID_ARGUMENT);
    EXPECT_NE(std::string(nvfp4_last_error()), "");
  }
  EXPECT_EQ(nvfp4_function_check(scale, 0, nullptr), NVFP4_INVALID_ARGUMENT);
  EXPECT_STREQ(nvfp4_last_error(), "argument 0 of 'scale': expected a tensor, "
                                   "but got a null pointer");
  EXPECT_EQ(nvfp4_function_check(scale, 2, nullptr), NVFP4_INVALID_ARGUMENT);
  EXPECT_STREQ(nvfp4_last_error(), "expected an index below 2 of arguments of "
                                   "'scale', but got 2");
}
