//===- TunedStrategies.h - Tiles that were measured -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of the fastest strategies, by device, target and class of shapes: text
// with a line each, its fields apart by tabs.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TOOLS_TUNEDSTRATEGIES_H
#define NVFP4_TOOLS_TUNEDSTRATEGIES_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/TensorIO/Expected.h"

#include <string>
#include <vector>

namespace nvfp4::tools {

/// One line of the file.
struct TunedStrategy {
  /// The name of the device that was measured, such as `NVIDIA H200`.
  std::string device;
  std::string target;
  std::string shapes;
  /// As the attribute prints it: `<m = 128, n = 128, k = 128>`.
  std::string strategy;
  std::string microseconds;
};

class TunedStrategies {
public:
  /// Reads `path`; a missing file is empty if it `mayBeNew`. A line that is no
  /// strategy is an error that says where it is.
  static tensorio::Expected<TunedStrategies> load(const std::string &path,
                                                  bool mayBeNew);
  tensorio::Status save(const std::string &path) const;

  /// The last line for these, of any device if `device` is empty.
  const TunedStrategy *find(llvm::StringRef device, llvm::StringRef target,
                            llvm::StringRef shapes) const;
  void add(TunedStrategy strategy) { lines.push_back(std::move(strategy)); }

  /// Gives products of `module` without strategy what was measured for their
  /// class. Fails after a diagnostic if that is no strategy.
  mlir::LogicalResult apply(mlir::ModuleOp module,
                            const std::string &target) const;

private:
  std::vector<TunedStrategy> lines;
};

/// The properties that products with the same strategy share: formats, groups,
/// N and K, the expected rows rounded up to a power of two, and the epilogue.
/// Empty if N, K or the number of groups is not in the types.
std::string getShapeClass(gsg::MatmulOp op);

} // namespace nvfp4::tools

#endif // NVFP4_TOOLS_TUNEDSTRATEGIES_H
