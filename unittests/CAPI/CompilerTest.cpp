//===- CompilerTest.cpp - The compiler's C API ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From text to a called function through nothing but C, and what happens to
// text, options and handles that are wrong.
//
//===----------------------------------------------------------------------===//

#include "nvfp4-c/Compiler.h"

#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <algorithm>
#include <cstdio>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

extern "C" int parsesFromC(const char *text, size_t length);

namespace {

const char *const kDouble =
    "func.func @twice(%x: memref<?xf32>) {\n"
    "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
    "  %n = memref.dim %x, %c0 : memref<?xf32>\n"
    "  scf.for %i = %c0 to %n step %c1 {\n"
    "    %v = memref.load %x[%i] : memref<?xf32>\n"
    "    %w = arith.addf %v, %v : f32\n"
    "    memref.store %w, %x[%i] : memref<?xf32>\n  }\n  return\n}\n";

const char *const kProduct =
    "!a = !grouped_scaled_gemm.scaled<128x256, nvfp4>\n"
    "func.func @f(%a: !a, %b: !a, %o: tensor<128x128xf32>)\n"
    "    -> tensor<128x128xf32> {\n"
    "  %d = grouped_scaled_gemm.matmul <dense> lhs(%a : !a) rhs(%b : !a)\n"
    "      outs(%o : tensor<128x128xf32>) -> tensor<128x128xf32>\n"
    "  return %d : tensor<128x128xf32>\n}\n";

MlirStringRef view(std::string_view text) { return {text.data(), text.size()}; }

struct Compiler : testing::Test {
  Compiler() : context(nvfp4ContextCreate()) {
    sink.userData = this;
    sink.callback = [](const Nvfp4Diagnostic *d, void *self) {
      static_cast<Compiler *>(self)->take(*d);
    };
  }
  ~Compiler() override {
    for (MlirModule module : modules)
      nvfp4ModuleDestroy(module);
    nvfp4ContextDestroy(context);
  }
  void take(const Nvfp4Diagnostic &d) {
    text += std::string(d.file.data, d.file.length) + ":" +
            std::to_string(d.line) + ":" + std::to_string(d.column) + ": " +
            std::string(d.message.data, d.message.length) + "\n";
    severities.push_back(d.severity);
  }
  MlirModule parse(const std::string &source) {
    modules.push_back(nvfp4ModuleParse(context, view(source), view("t"), sink));
    return modules.back();
  }
  static void append(MlirStringRef part, void *out) {
    static_cast<std::string *>(out)->append(part.data, part.length);
  }

  MlirContext context;
  std::vector<MlirModule> modules;
  Nvfp4DiagnosticSink sink{};
  std::string text;
  std::vector<Nvfp4Severity> severities;
};

TEST_F(Compiler, CompilesAndCalls) {
  Nvfp4Executable code = nvfp4ExecutableCreate(
      parse(kDouble), nvfp4CompileOptionsGetDefault(), sink);
  ASSERT_NE(code.ptr, nullptr) << text;
  const nvfp4_function *function = nullptr;
  ASSERT_EQ(
      nvfp4_module_function(nvfp4ExecutableGetModule(code), "twice", &function),
      NVFP4_OK);
  float data[3] = {1, 2.5, -3};
  int64_t shape[1] = {3};
  DLTensor tensor{data, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  const DLTensor *arguments[1] = {&tensor};
  EXPECT_EQ(nvfp4_function_call(function, arguments, 1, nullptr, 0, nullptr),
            NVFP4_OK);
  EXPECT_EQ(data[0], 2);
  EXPECT_EQ(data[1], 5);
  EXPECT_EQ(data[2], -6);
  nvfp4ExecutableDestroy(code);
}

TEST_F(Compiler, ParseErrorsHavePlaces) {
  EXPECT_EQ(parse("module {\n  bogus\n}").ptr, nullptr);
  EXPECT_EQ(text.find("t:2:3: "), 0u) << text;
  EXPECT_EQ(severities.front(), Nvfp4SeverityError);
}

TEST_F(Compiler, HostileTextIsRefused) {
  EXPECT_EQ(parse(std::string(100000, '(')).ptr, nullptr);
  EXPECT_NE(text.find("nested"), std::string::npos) << text;
  EXPECT_EQ(parse(std::string(1, '\0')).ptr, nullptr);
  EXPECT_EQ(parse("ML\xefR nonsense").ptr, nullptr);
  EXPECT_NE(parse("").ptr, nullptr);
}

TEST_F(Compiler, NullHandlesAreDiagnosed) {
  Nvfp4CompileOptions options = nvfp4CompileOptionsGetDefault();
  EXPECT_EQ(nvfp4ModuleParse({nullptr}, view(""), view(""), sink).ptr, nullptr);
  EXPECT_EQ(nvfp4ExecutableCreate({nullptr}, options, sink).ptr, nullptr);
  EXPECT_EQ(nvfp4ModuleRunPipeline({nullptr}, view("cse"), sink).value, 0);
  EXPECT_EQ(nvfp4ModuleExplain({nullptr}, view("sm_100a"), sink).value, 0);
  EXPECT_EQ(severities.size(), 4u);
  EXPECT_EQ(nvfp4ModuleClone({nullptr}).ptr, nullptr);
  EXPECT_EQ(nvfp4ExecutableGetModule({nullptr}), nullptr);
  nvfp4ExecutableDestroy({nullptr});
  nvfp4ModuleDestroy({nullptr});
  // Without a callback the message is dropped.
  EXPECT_EQ(nvfp4ExecutableCreate({nullptr}, options, {}).ptr, nullptr);
}

TEST_F(Compiler, OptionsAreChecked) {
  MlirModule module = parse(kDouble);
  Nvfp4CompileOptions options = nvfp4CompileOptionsGetDefault();
  options.target = view("sm_1");
  EXPECT_EQ(nvfp4ExecutableCreate(module, options, sink).ptr, nullptr);
  EXPECT_NE(text.find("expected target"), std::string::npos) << text;
  options = nvfp4CompileOptionsGetDefault();
  options.isa = view("mmx");
  EXPECT_EQ(nvfp4ExecutableCreate(module, options, sink).ptr, nullptr);
  EXPECT_NE(text.find("mmx"), std::string::npos) << text;
}

TEST_F(Compiler, ModulesWithNothingToCallAreRefused) {
  MlirModule module = parse("func.func private @f(%x: f32) { return }");
  Nvfp4CompileOptions options = nvfp4CompileOptionsGetDefault();
  std::string path = ::testing::TempDir() + "nothing.so";
  EXPECT_EQ(
      nvfp4ModuleEmitSharedObject(module, options, view(path), sink).value, 0);
  EXPECT_NE(text.find("the module has none"), std::string::npos) << text;
  text.clear();
  EXPECT_EQ(nvfp4ExecutableCreate(module, options, sink).ptr, nullptr);
  EXPECT_NE(text.find("the module has none"), std::string::npos) << text;
}

TEST_F(Compiler, PipelinesRunInPlace) {
  MlirModule module = parse(kProduct);
  EXPECT_EQ(nvfp4ModuleRunPipeline(module, view("no-such-pass"), sink).value,
            0);
  EXPECT_NE(text.find("no-such-pass"), std::string::npos) << text;
  ASSERT_EQ(nvfp4ModuleRunPipeline(
                module, view("builtin.module(gsg-decompose-scaled,cse)"), sink)
                .value,
            1)
      << text;
  std::string printed;
  nvfp4ModulePrint(module, append, &printed);
  EXPECT_NE(printed.find("scaled_by"), std::string::npos) << printed;
}

TEST_F(Compiler, StagesLeadFromTheModuleToTheLLVMDialect) {
  MlirModule module = parse(kProduct);
  std::vector<std::string> names;
  ASSERT_EQ(nvfp4ModulePrintStages(
                module, nvfp4CompileOptionsGetDefault(),
                [](MlirStringRef pass, MlirStringRef, void *out) {
                  static_cast<std::vector<std::string> *>(out)->emplace_back(
                      pass.data, pass.length);
                },
                &names, sink)
                .value,
            1)
      << text;
  EXPECT_EQ(std::count(names.begin(), names.end(), "convert-gsg-to-cpu"), 1);
  EXPECT_EQ(names.back(), "nvfp4-export-functions");
  // The module itself is as it was.
  std::string printed;
  nvfp4ModulePrint(module, append, &printed);
  EXPECT_NE(printed.find("grouped_scaled_gemm.matmul"), std::string::npos);
}

TEST_F(Compiler, EmitsEveryKind) {
  MlirModule module = parse(kProduct);
  Nvfp4CompileOptions options = nvfp4CompileOptionsGetDefault();
  auto emit = [&](const char *kind) {
    std::string out;
    bool done =
        nvfp4ModuleEmit(module, options, view(kind), append, &out, sink).value;
    return done ? out : "failed";
  };
  EXPECT_NE(emit("mlir").find("llvm.func"), std::string::npos);
  EXPECT_NE(emit("llvm").find("define "), std::string::npos);
  EXPECT_NE(emit("asm").find(".text"), std::string::npos);
  EXPECT_EQ(emit("obj").substr(1, 3), "ELF");
  EXPECT_EQ(emit("ptx"), "failed");
  EXPECT_EQ(emit("tiff"), "failed");
  EXPECT_NE(text.find("'tiff'"), std::string::npos) << text;
  options.target = view("sm_100a");
  EXPECT_NE(emit("ptx").find("tcgen05"), std::string::npos) << text;
}

TEST_F(Compiler, ExplainsInRemarks) {
  MlirModule module = parse(kProduct);
  ASSERT_EQ(nvfp4ModuleExplain(module, view("sm_100a"), sink).value, 1) << text;
  ASSERT_FALSE(severities.empty());
  EXPECT_EQ(severities.front(), Nvfp4SeverityRemark);
  EXPECT_NE(text.find("strategy"), std::string::npos) << text;
  EXPECT_EQ(nvfp4ModuleExplain(module, view("sm_1"), sink).value, 0);
}

TEST_F(Compiler, SharedObjectsLoad) {
  std::string path = testing::TempDir() + "capi-twice.so";
  ASSERT_EQ(nvfp4ModuleEmitSharedObject(parse(kDouble),
                                        nvfp4CompileOptionsGetDefault(),
                                        view(path), sink)
                .value,
            1)
      << text;
  nvfp4_module *module = nullptr;
  ASSERT_EQ(nvfp4_module_load(path.c_str(), &module), NVFP4_OK)
      << nvfp4_last_error();
  EXPECT_EQ(nvfp4_module_num_functions(module), 1u);
  nvfp4_module_release(module);
  std::remove(path.c_str());
}

TEST(CompilerFromC, Parses) {
  EXPECT_EQ(parsesFromC("module {}", 9), 1);
  EXPECT_EQ(parsesFromC("module {", 8), 0);
}

} // namespace
