/*===- embed.c - a compiler in C ----------------------------------*- C -*-===
 *
 * Part of the NVFP4 project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===
 *
 * Makes types and attributes, runs a pipeline through MLIR's C API, compiles a
 * product and calls it.
 *
 *===----------------------------------------------------------------------===
 */

#include "nvfp4-c/Attributes.h"
#include "nvfp4-c/Compiler.h"
#include "nvfp4-c/GroupedScaledGemm.h"
#include "nvfp4-c/Registration.h"
#include "nvfp4/Runtime/nvfp4_runtime.h"

#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/Diagnostics.h>
#include <mlir-c/Pass.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static void print(MlirStringRef text, void *userData) {
  (void)userData;
  fwrite(text.data, 1, text.length, stdout);
}

static MlirLogicalResult report(MlirDiagnostic diagnostic, void *userData) {
  fputs("diagnostic: ", stdout);
  mlirDiagnosticPrint(diagnostic, print, userData);
  fputs("\n", stdout);
  return mlirLogicalResultSuccess();
}

static MlirStringRef text(const char *chars) {
  return mlirStringRefCreateFromCString(chars);
}

static void printType(MlirType type) {
  mlirTypePrint(type, print, NULL);
  fputs("\n", stdout);
}

static void printAttribute(MlirAttribute attribute) {
  if (mlirAttributeIsNull(attribute)) {
    puts("null");
    return;
  }
  mlirAttributePrint(attribute, print, NULL);
  fputs("\n", stdout);
}

static void showTypesAndAttributes(void) {
  MlirContext context = mlirContextCreate();
  MlirDialectHandle gsg = mlirGetDialectHandle__grouped_scaled_gemm__();
  mlirDialectHandleRegisterDialect(gsg, context);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__warpspec__(), context);
  mlirContextAttachDiagnosticHandler(context, report, NULL, NULL);
  MlirLocation here = mlirLocationUnknownGet(context);

  int64_t shape[] = {mlirShapedTypeGetDynamicSize(), 64};
  MlirType scaled = nvfp4ScaledTypeGetChecked(
      here, 2, shape, Nvfp4BlockFormatNVFP4, Nvfp4ScaleLayoutBlocked,
      Nvfp4GroupStartCompact, -1);
  printType(scaled);
  printType(nvfp4ScaledTypeGetDataTensor(scaled));
  printf("blocks of %d, axis %d, scaled %d\n",
         (int)nvfp4ScaledTypeGetBlockSize(scaled),
         (int)nvfp4ScaledTypeGetAxis(scaled), nvfp4TypeIsAScaled(scaled));
  MlirType wrong = nvfp4ScaledTypeGetChecked(
      here, 2, shape, (Nvfp4BlockFormat)77, Nvfp4ScaleLayoutLinear,
      Nvfp4GroupStartWhole, -1);
  printf("wrong format is null: %d\n", mlirTypeIsNull(wrong));
  printAttribute(
      nvfp4GroupingAttrGetChecked(here, Nvfp4GroupingRaggedRows, false, 128));
  printAttribute(
      nvfp4GroupingAttrGetChecked(here, Nvfp4GroupingDense, false, 0));
  printAttribute(nvfp4GateAttrGetChecked(here, 32, false));
  printAttribute(
      nvfp4AttributeParse(context, text("quantizer"), text("trtllm")));
  printAttribute(nvfp4AttributeParse(context, text("math"), text("fast")));
  printAttribute(nvfp4AttributeParse(context, text("math"), text("sloppy")));
  mlirContextDestroy(context);
}

static void showAttributesOfProducts(void) {
  MlirContext context = mlirContextCreate();
  mlirContextAttachDiagnosticHandler(context, report, NULL, NULL);
  MlirLocation here = mlirLocationUnknownGet(context);
  MlirAttribute none = {NULL};
  MlirAttribute gate = nvfp4GateAttrGetChecked(here, 32, false);

  MlirAttribute swiglu = nvfp4ActivationAttrGetChecked(
      here, Nvfp4ActivationSwiGLU, gate, 1.5f, 1.0f, 7.0f, true);
  printAttribute(swiglu);
  printf("kind %d, gate %d, %g %g %g, bf16 %d\n",
         nvfp4ActivationAttrGetKind(swiglu),
         mlirAttributeEqual(nvfp4ActivationAttrGetGate(swiglu), gate),
         nvfp4ActivationAttrGetAlpha(swiglu),
         nvfp4ActivationAttrGetBeta(swiglu),
         nvfp4ActivationAttrGetLimit(swiglu),
         nvfp4ActivationAttrRoundsToBf16(swiglu));
  MlirAttribute relu = nvfp4ActivationAttrGetChecked(
      here, Nvfp4ActivationReLU, none, 1.0f, 0.0f, INFINITY, false);
  printf("no gate %d, no limit %d, is %d, is not %d\n",
         mlirAttributeIsNull(nvfp4ActivationAttrGetGate(relu)),
         isinf(nvfp4ActivationAttrGetLimit(relu)) != 0,
         nvfp4AttributeIsAActivation(relu), nvfp4AttributeIsAActivation(gate));
  printAttribute(nvfp4ActivationAttrGetChecked(
      here, Nvfp4ActivationSwiGLU, none, 1.0f, 0.0f, INFINITY, false));
  printAttribute(nvfp4ActivationAttrGetChecked(here, Nvfp4ActivationSwiGLU,
                                               gate, NAN, 0.0f, 1.0f, false));
  printAttribute(nvfp4ActivationAttrGetChecked(
      here, Nvfp4ActivationSwiGLU, relu, 1.0f, 0.0f, INFINITY, false));

  MlirAttribute quantizer =
      nvfp4QuantizerAttrGetChecked(here, Nvfp4QuantizerTE, true, true, true);
  printAttribute(quantizer);
  printf("kind %d, %d %d %d\n", nvfp4QuantizerAttrGetKind(quantizer),
         nvfp4QuantizerAttrFlushesNegativeZero(quantizer),
         nvfp4QuantizerAttrIsStochastic(quantizer),
         nvfp4QuantizerAttrIsTwoD(quantizer));
  printAttribute(nvfp4QuantizerAttrGetChecked(here, Nvfp4QuantizerTrtllm, false,
                                              false, true));

  Nvfp4Strategy strategy = {.tileM = 256,
                            .tileN = 64,
                            .tileK = 128,
                            .ctas = 2,
                            .clusterM = 1,
                            .clusterN = 1,
                            .splitK = 3,
                            .swapAB = true,
                            .scheduler = Nvfp4SchedulerDynamicCounter};
  MlirAttribute tiled = nvfp4StrategyAttrGetChecked(here, &strategy);
  printAttribute(tiled);
  Nvfp4Strategy read = nvfp4StrategyAttrGet(tiled);
  printf("%d %d %d, %d open, split %d, %d %d, %d\n", (int)read.tileM,
         (int)read.tileN, (int)read.tileK, (int)read.stages, (int)read.splitK,
         read.swapAB, read.dynamicN, read.scheduler);
  strategy.ctas = 0;
  printAttribute(nvfp4StrategyAttrGetChecked(here, &strategy));

  MlirAttribute values[] = {
      nvfp4MathAttrGetChecked(here, Nvfp4MathFast),
      nvfp4TailAttrGetChecked(here, Nvfp4TailZero),
      nvfp4DeterminismAttrGetChecked(here, Nvfp4DeterminismBatchInvariant),
      nvfp4ProbPositionAttrGetChecked(here, Nvfp4ProbPositionPreActivation),
      nvfp4RoutingAttrGetChecked(here, Nvfp4RoutingDeepSeekV3)};
  for (int i = 0; i < 5; ++i)
    printAttribute(values[i]);
  printf("%d %d %d %d %d, is %d, is not %d\n", nvfp4MathAttrGetValue(values[0]),
         nvfp4TailAttrGetValue(values[1]),
         nvfp4DeterminismAttrGetValue(values[2]),
         nvfp4ProbPositionAttrGetValue(values[3]),
         nvfp4RoutingAttrGetValue(values[4]),
         nvfp4AttributeIsARouting(values[4]), nvfp4AttributeIsAMath(values[1]));
  printAttribute(nvfp4MathAttrGetChecked(here, (Nvfp4Math)5));
  mlirContextDestroy(context);
}

static const char kProduct[] =
    "!s = !grouped_scaled_gemm.scaled<1x32, mxfp8_e4m3>\n"
    "func.func @f(%x: !s, %w: !s, %out: tensor<1x1xf32>) -> tensor<1x1xf32> {\n"
    "  %y = grouped_scaled_gemm.matmul <dense> lhs(%x : !s) rhs(%w : !s)\n"
    "      outs(%out : tensor<1x1xf32>) -> tensor<1x1xf32>\n"
    "  return %y : tensor<1x1xf32>\n"
    "}\n";

static int runPipeline(void) {
  MlirContext context = nvfp4ContextCreate();
  MlirModule module = mlirModuleCreateParse(context, text(kProduct));
  nvfp4RegisterAllPasses();
  nvfp4RegisterAllPasses();
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirLogicalResult result = mlirParsePassPipeline(
      mlirPassManagerGetAsOpPassManager(manager),
      text("builtin.module(gsg-decompose-scaled)"), print, NULL);
  if (mlirLogicalResultIsSuccess(result))
    result = mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module));
  mlirOperationPrint(mlirModuleGetOperation(module), print, NULL);
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
  nvfp4ContextDestroy(context);
  return mlirLogicalResultIsSuccess(result);
}

static DLTensor matrix(void *data, DLDataType type, int64_t *shape) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = 2;
  tensor.dtype = type;
  tensor.shape = shape;
  return tensor;
}

static int compileAndRun(void) {
  Nvfp4DiagnosticSink silent = {NULL, NULL};
  MlirContext context = nvfp4ContextCreate();
  MlirModule module =
      nvfp4ModuleParse(context, text(kProduct), text("product"), silent);
  Nvfp4Executable code =
      nvfp4ExecutableCreate(module, nvfp4CompileOptionsGetDefault(), silent);
  const nvfp4_function *function = NULL;
  if (!code.ptr ||
      nvfp4_module_function(nvfp4ExecutableGetModule(code), "f", &function))
    return 0;
  /* 32 times 1.0 * 2.0, with scales 2 and 1/2. */
  unsigned char x[32], w[32], xs = 128, ws = 126;
  memset(x, 0x38, sizeof x);
  memset(w, 0x40, sizeof w);
  float out = 0;
  int64_t values[] = {1, 32}, single[] = {1, 1};
  DLDataType byte = {kDLUInt, 8, 1}, real = {kDLFloat, 32, 1};
  DLTensor tensors[] = {matrix(x, byte, values), matrix(&xs, byte, single),
                        matrix(w, byte, values), matrix(&ws, byte, single),
                        matrix(&out, real, single)};
  const DLTensor *arguments[5];
  for (int i = 0; i < 5; ++i)
    arguments[i] = &tensors[i];
  DLManagedTensor *result = NULL;
  if (nvfp4_function_call(function, arguments, 5, &result, 1, NULL)) {
    puts(nvfp4_last_error());
    return 0;
  }
  printf("product %g\n", *(float *)result->dl_tensor.data);
  result->deleter(result);
  nvfp4ExecutableDestroy(code);
  nvfp4ModuleDestroy(module);
  nvfp4ContextDestroy(context);
  return 1;
}

int main(void) {
  showTypesAndAttributes();
  showAttributesOfProducts();
  return runPipeline() && compileAndRun() ? 0 : 1;
}
