//===- TestModule.cpp - Running .mlir text in tests -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses a module, interprets its function f and returns the results or the
// error; operands on a lattice, where sums are exact.
//
//===----------------------------------------------------------------------===//

#include "TestModule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"

namespace nvfp4::reference::test {

static mlir::MLIRContext &context() {
  static mlir::MLIRContext *shared = [] {
    mlir::DialectRegistry registry;
    registry.insert<gsg::GroupedScaledGemmDialect, mlir::arith::ArithDialect,
                    mlir::func::FuncDialect, mlir::linalg::LinalgDialect,
                    mlir::math::MathDialect, mlir::scf::SCFDialect,
                    mlir::tensor::TensorDialect>();
    auto *made =
        new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *shared;
}

Outcome run(const std::string &text, std::vector<Value> args,
            InterpreterOptions options) {
  Outcome outcome;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    // What verifiers refuse is an error of the run too.
    mlir::ScopedDiagnosticHandler collect(
        &context(),
        [&](mlir::Diagnostic &diag) { outcome.error += diag.str() + "\n"; });
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context());
  }
  if (!module)
    return outcome;
  llvm::Expected<std::vector<Value>> results =
      Interpreter(*module, options).run("f", args);
  if (results)
    outcome.results = std::move(*results);
  else
    outcome.error = llvm::toString(results.takeError());
  return outcome;
}

Lattice::Lattice(int64_t batches, int64_t rows, int64_t columns, uint32_t seed)
    : batches(batches), rows(rows), columns(columns) {
  std::mt19937 random(seed);
  codes.resize(static_cast<size_t>(batches * rows * columns));
  for (uint8_t &code : codes)
    code = static_cast<uint8_t>(random() % 16);
  scales.resize(static_cast<size_t>(batches * rows * ((columns + 15) / 16)));
  // 0x38 is 1 and 0x40 is 2 in E4M3.
  for (uint8_t &scale : scales)
    scale = random() % 2 != 0 ? 0x38 : 0x40;
}

double Lattice::at(int64_t batch, int64_t row, int64_t column) const {
  static constexpr double magnitudes[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
  int64_t line = batch * rows + row;
  uint8_t code = codes[static_cast<size_t>(line * columns + column)];
  double value = magnitudes[code & 7];
  uint8_t scale =
      scales[static_cast<size_t>(line * ((columns + 15) / 16) + column / 16)];
  return (code & 8 ? -value : value) * (scale == 0x40 ? 2.0 : 1.0);
}

std::vector<Value> Lattice::values(bool stacked) const {
  int64_t width = (columns + 1) / 2;
  std::vector<uint8_t> packed(static_cast<size_t>(batches * rows * width));
  for (int64_t line = 0; line < batches * rows; ++line)
    for (int64_t k = 0; k < columns; ++k)
      packed[static_cast<size_t>(line * width + k / 2)] |= static_cast<uint8_t>(
          codes[static_cast<size_t>(line * columns + k)] << (k % 2 * 4));
  std::vector<int64_t> dataShape = {rows, width};
  std::vector<int64_t> scaleShape = {rows, (columns + 15) / 16};
  if (stacked) {
    dataShape.insert(dataShape.begin(), batches);
    scaleShape.insert(scaleShape.begin(), batches);
  }
  return {Tensor::ofBytes(Element::I8, dataShape, std::move(packed)),
          Tensor::ofBytes(Element::F8E4M3FN, scaleShape, scales)};
}

std::vector<Value> join(std::initializer_list<std::vector<Value>> parts) {
  std::vector<Value> all;
  for (const std::vector<Value> &part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

} // namespace nvfp4::reference::test
