//===- Tune.cpp - Measuring strategies --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function is measured as it stands, with one strategy changed: what is
// measured is what will be compiled. Only its kernels count.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Tune.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupingForm.h"
#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Strategy.h"
#include "nvfp4/KernelTarget/KernelTarget.h"
#include "nvfp4/Runtime/nvfp4_device.h"
#include "nvfp4/Runtime/nvfp4_launch.h"
#include "nvfp4/Tools/CompiledFunction.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>
#include <random>

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::tools;
using tensorio::DType;
using tensorio::Error;
using tensorio::Expected;
using tensorio::Tensor;

/// Calls that are timed; the first one loads the kernels as well.
static constexpr int kCalls = 5;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

namespace {
/// The dynamic extents and the offsets of a function's arguments.
struct MadeUp {
  int64_t rows = 1;
  /// Rows or columns of each group.
  std::vector<int64_t> sizes;
  /// The product that is measured.
  gsg::MatmulOp op;
};
} // namespace

static MadeUp makeUp(gsg::MatmulOp op) {
  MadeUp result;
  result.op = op;
  strategy::Problem problem = gsg::describe(op);
  for (const strategy::Problem::Group &group : problem.groups)
    result.sizes.insert(result.sizes.end(), group.count, group.rows);
  result.sizes.resize(op.getNumGroups());
  result.rows = 0;
  int64_t align = op.getGrouping().getAlign();
  bool isMasked = gsg::getForm(op.getGrouping()).hasCounts();
  for (int64_t size : result.sizes)
    result.rows = isMasked ? std::max(result.rows, size)
                           : result.rows + llvm::alignTo(size, align);
  result.rows = std::max<int64_t>(result.rows, 1);
  return result;
}

/// Offsets or counts for the product, at most `rows` of a buffer.
static std::vector<int64_t> makeOffsets(const MadeUp &made, int64_t count,
                                        int64_t rows) {
  gsg::MatmulOp op = made.op;
  gsg::GroupingAttr grouping = op.getGrouping();
  std::vector<int64_t> values;
  int64_t end = 0, align = grouping.getAlign();
  bool isStarts = grouping.getOffsets() == gsg::OffsetsKind::Starts;
  if (isStarts)
    values.push_back(0);
  for (int64_t size : made.sizes) {
    if (gsg::getForm(grouping).hasCounts()) {
      values.push_back(std::min(size, rows));
      continue;
    }
    int64_t begin = isStarts ? end : llvm::alignTo(end, align);
    end = std::min(begin + size, rows);
    values.push_back(end);
  }
  values.resize(count, end);
  return values;
}

static void store(std::byte *to, int64_t value, size_t bytes) {
  std::memcpy(to, &value, bytes);
}

/// Numbers near 1, whose bits vary like those of data: zeros would cost less
/// power and time.
static Expected<Tensor> makeTensor(const ValueType &type, const MadeUp &made,
                                   bool isOffsets) {
  std::vector<int64_t> shape;
  for (int64_t extent : type.shape)
    shape.push_back(extent < 0 ? made.rows : extent);
  Expected<Tensor> tensor = Tensor::allocate(type.dtype, shape);
  if (!tensor)
    return tensor;
  std::byte *data = tensor->mutableBytes().data();
  size_t bytes = tensorio::dtypeSize(type.dtype);
  int64_t count = tensor->numElements();
  std::mt19937 random(static_cast<uint32_t>(count));
  if (isOffsets) {
    auto values = makeOffsets(made, count, made.rows);
    for (int64_t i = 0; i < count; ++i)
      store(data + i * bytes, values[i], bytes);
    return tensor;
  }
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = random();
    switch (type.dtype) {
    case DType::F32:
      // From 0.5 to 1, like the others.
      bits = 0x3F000000 | (bits & 0x7FFFFF);
      break;
    case DType::BF16:
      bits = 0x3F00 | (bits & 0x807F);
      break;
    case DType::F16:
      bits = 0x3800 | (bits & 0x83FF);
      break;
    case DType::F8E4M3FN:
      bits = 0x30 | (bits & 7);
      break;
    case DType::F8E5M2:
      bits = 0x38 | (bits & 3);
      break;
    case DType::F8E8M0FNU:
      bits = 126 + (bits & 1);
      break;
    case DType::I8:
    case DType::U8:
      break;
    default:
      // Indices of rows, or their number.
      bits = type.isScalar ? static_cast<uint32_t>(made.rows) : 0;
    }
    store(data + i * bytes, bits, bytes);
  }
  return tensor;
}

static Expected<std::vector<Tensor>> makeTensors(const Signature &signature,
                                                 const MadeUp &made) {
  // A block-scaled argument counts twice.
  int64_t offsets = -1, next = 0;
  gsg::MatmulOp op = made.op;
  Value groups = op.getGroups();
  for (BlockArgument argument :
       op->getParentOfType<func::FuncOp>().getArguments()) {
    if (groups == argument)
      offsets = next;
    next += isa<gsg::ScaledType>(argument.getType()) ? 2 : 1;
  }
  std::vector<Tensor> tensors;
  for (auto [index, type] : llvm::enumerate(signature.arguments)) {
    auto tensor =
        makeTensor(type, made, static_cast<int64_t>(index) == offsets);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

static std::vector<strategy::Tile>
getCandidates(gsg::MatmulOp op, const CodeOptions &options, unsigned count) {
  std::vector<strategy::Tile> tiles;
  strategy::Problem problem = gsg::forKernels(gsg::describe(op));
  problem.multiprocessors = options.multiprocessors;
  if (const auto *kernels = strategy::findKernelTarget(options.target))
    for (const auto &each : kernels->rankTiles(problem))
      if (!each.violation)
        tiles.push_back(each.tile);
  tiles.resize(std::min<size_t>(tiles.size(), count));
  return tiles;
}

/// Microseconds of the kernels of a call of `function`, in which product
/// `number` of the module has the strategy `tile`.
static Expected<double> measure(ModuleOp module, func::FuncOp function,
                                unsigned number, const strategy::Tile &tile,
                                const CodeOptions &options,
                                const std::vector<Tensor> &arguments,
                                const Signature &signature) {
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone()));
  unsigned next = 0;
  copy->walk([&](gsg::MatmulOp op) {
    if (next++ == number)
      op.setStrategyAttr(gsg::getStrategyAttr(op.getContext(), tile));
  });
  // A tile may turn out to have no kernel; that is no one's error.
  std::string problem;
  ScopedDiagnosticHandler quiet(module.getContext(), [&](Diagnostic &text) {
    if (problem.empty())
      problem = text.str();
    return success();
  });
  std::string entry = function.getSymName().str();
  for (auto other : llvm::make_early_inc_range(copy->getOps<func::FuncOp>()))
    if (other.getSymName() != entry &&
        SymbolTable::symbolKnownUseEmpty(other, copy->getOperation()))
      other.erase();
  auto compiled = CompiledFunction::compile(*copy, options, entry);
  if (!compiled)
    return Error{problem.empty() ? compiled.message() : problem};
  std::vector<double> times;
  for (int call = 0; call <= kCalls; ++call) {
    nvfp4_launch_take_time();
    auto results = (*compiled)->call(arguments, signature);
    if (!results)
      return results.takeError();
    times.push_back(nvfp4_launch_take_time());
  }
  times.erase(times.begin());
  std::nth_element(times.begin(), times.begin() + kCalls / 2, times.end());
  return times[kCalls / 2];
}

/// The name of the device that launches will use.
static Expected<std::string> getDeviceName() {
  nvfp4_device *device = nullptr;
  nvfp4_device_info info{};
  if (nvfp4_device_open(nullptr, &device))
    return Error{nvfp4_last_error()};
  bool failed = nvfp4_device_query(device, &info);
  std::string name = failed ? "" : info.name;
  nvfp4_device_release(device);
  if (failed)
    return Error{nvfp4_last_error()};
  return name;
}

LogicalResult tools::tune(ModuleOp module, const CodeOptions &options,
                          unsigned count, TunedStrategies &tuned) {
  auto fail = [&](const std::string &message) {
    return failure(reportError(options, message));
  };
  Expected<std::string> device = getDeviceName();
  if (!device)
    return fail(device.message());
  SmallVector<gsg::MatmulOp> products;
  module.walk([&](gsg::MatmulOp op) { products.push_back(op); });
  nvfp4_launch_set_timing(1);
  llvm::scope_exit reset([] { nvfp4_launch_set_timing(0); });
  for (auto [number, op] : llvm::enumerate(products)) {
    auto function = op->getParentOfType<func::FuncOp>();
    std::string shapes = op.getStrategyAttr() ? "" : getShapeClass(op);
    if (shapes.empty() || !function || !function.isPublic() ||
        tuned.find(*device, options.target, shapes))
      continue;
    std::string entry = function.getSymName().str();
    auto signature = Signature::get(module, entry);
    if (!signature)
      return fail(signature.message());
    auto arguments = makeTensors(*signature, makeUp(op));
    if (!arguments)
      return fail(arguments.message());
    std::string best, problem;
    double least = 0;
    unsigned measured = 0;
    for (const strategy::Tile &tile : getCandidates(op, options, count)) {
      auto time = measure(module, function, static_cast<unsigned>(number), tile,
                          options, *arguments, *signature);
      if (!time) {
        problem = time.message();
        continue;
      }
      ++measured;
      if (best.empty() || *time < least) {
        best = strategy::toString(tile);
        least = *time;
      }
    }
    if (best.empty())
      return fail("could not measure '" + entry + "' with any strategy" +
                  (problem.empty() ? "" : ": " + problem));
    std::string microseconds;
    llvm::raw_string_ostream(microseconds) << llvm::format("%.1f", least);
    options.report(("tuned '" + entry + "' on " + *device + ": " + best + ", " +
                    microseconds + " us, the best of " + Twine(measured) +
                    " for " + shapes)
                       .str());
    tuned.add({*device, options.target, shapes, best, microseconds});
  }
  return success();
}
