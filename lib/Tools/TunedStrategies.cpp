//===- TunedStrategies.cpp - Tiles that were measured -----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The file, its lines and what they stand for.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/TunedStrategies.h"

#include "nvfp4/Dialect/GroupedScaledGemm/Transforms/Strategy.h"
#include "nvfp4/Tools/TextFiles.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::tools;
using tensorio::Error;

static constexpr StringLiteral kHeader =
    "# Strategies of products: device, target, shapes, strategy, microseconds";

tensorio::Expected<TunedStrategies>
TunedStrategies::load(const std::string &path, bool mayBeNew) {
  TunedStrategies result;
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer) {
    if (mayBeNew && buffer.getError() == std::errc::no_such_file_or_directory)
      return result;
    return Error{"could not read '" + path +
                 "': " + buffer.getError().message()};
  }
  SmallVector<StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n');
  for (auto [number, line] : llvm::enumerate(lines)) {
    if (line.trim().empty() || line.starts_with("#"))
      continue;
    SmallVector<StringRef> fields;
    line.split(fields, '\t');
    if (fields.size() != 5)
      return Error{path + ":" + std::to_string(number + 1) +
                   ": expected device, target, shapes, strategy and "
                   "microseconds apart by tabs, but got " +
                   std::to_string(fields.size()) +
                   (fields.size() == 1 ? " field" : " fields")};
    result.add({fields[0].str(), fields[1].str(), fields[2].str(),
                fields[3].str(), fields[4].str()});
  }
  return result;
}

tensorio::Status TunedStrategies::save(const std::string &path) const {
  std::string text = kHeader.str() + "\n";
  llvm::raw_string_ostream os(text);
  for (const TunedStrategy &line : lines)
    os << line.device << "\t" << line.target << "\t" << line.shapes << "\t"
       << line.strategy << "\t" << line.microseconds << "\n";
  return writeText(path, text);
}

const TunedStrategy *TunedStrategies::find(StringRef device, StringRef target,
                                           StringRef shapes) const {
  for (const TunedStrategy &line : llvm::reverse(lines))
    if ((device.empty() || line.device == device) && line.target == target &&
        line.shapes == shapes)
      return &line;
  return nullptr;
}

LogicalResult TunedStrategies::apply(ModuleOp module,
                                     const std::string &target) const {
  WalkResult result = module.walk([&](gsg::MatmulOp op) {
    std::string shapes = op.getStrategyAttr() ? "" : getShapeClass(op);
    const TunedStrategy *line =
        shapes.empty() ? nullptr : find("", target, shapes);
    if (!line)
      return WalkResult::advance();
    Attribute parsed = parseAttribute(
        "#grouped_scaled_gemm.strategy" + line->strategy, module.getContext());
    auto strategy = dyn_cast_or_null<gsg::StrategyAttr>(parsed);
    if (!strategy) {
      op.emitOpError("expected a strategy of the shapes '")
          << shapes << "', but got '" << line->strategy << "'";
      return WalkResult::interrupt();
    }
    op.setStrategyAttr(strategy);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

std::string tools::getShapeClass(gsg::MatmulOp op) {
  if (ShapedType::isDynamic(op.getN()) || ShapedType::isDynamic(op.getK()) ||
      ShapedType::isDynamic(op.getNumGroups()))
    return "";
  strategy::Problem problem = gsg::describe(op);
  // Spread over groups, rows that are expected are not as many in sum.
  auto rows =
      static_cast<int64_t>(op.getExpectedRows().value_or(problem.getRows()));
  std::string lhs;
  if (gsg::ScaledType type = op.getLhsType())
    lhs = stringifyBlockFormat(type.getFormat());
  else
    llvm::raw_string_ostream(lhs)
        << getElementTypeOrSelf(op.getLhs()[0].getType());
  std::string text = llvm::formatv(
      "{0} {1} x {2}, {3} groups, n {4}, k {5}, {6} rows, "
      "{7} bits",
      stringifyGroupingKind(op.getGrouping().getKind()), lhs,
      stringifyBlockFormat(op.getRhsType().getFormat()), op.getNumGroups(),
      op.getN(), op.getK(), llvm::PowerOf2Ceil(std::max<int64_t>(rows, 1)),
      problem.epilogue.storedBits);
  if (problem.epilogue.paired)
    text += ", paired";
  else if (problem.epilogue.heavy)
    text += ", activated";
  return text;
}
