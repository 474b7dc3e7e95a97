//===- DataChecks.h - Kernels that check their data -------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets, indices and factors in memory of a device are checked by the kernels
// that read them anyway. A violation goes to the record of the call
// (nvfp4_data_record); a check costs a comparison and no launch.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_CONVERSION_GSGTOLOOPS_DATACHECKS_H
#define NVFP4_CONVERSION_GSGTOLOOPS_DATACHECKS_H

#include "nvfp4/Conversion/GsgArithmetic/MathBuilder.h"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"
#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

#include <optional>
#include <string>

namespace nvfp4::gsg::loops {

/// The checks of one operation. Without any, nothing is emitted.
class DataChecks {
public:
  using Value = mlir::Value;
  using Check = warpspec::DataCheckAttr;

  DataChecks() = default;
  /// Emits what kernels need to know of `checks`, on the host before launches
  /// for `op`.
  DataChecks(mlir::OpBuilder &host, mlir::Operation *op,
             llvm::ArrayRef<Check> checks);
  /// The same checks where the two addresses of the host are those values of a
  /// kernel.
  DataChecks inKernel(Value record, Value checks) const;

  explicit operator bool() const { return static_cast<bool>(record); }
  /// i64, on the host.
  Value getRecord() const { return record; }
  Value getAddress() const { return address; }
  /// The number of the check of `kind` and, if given, of the operand `what`;
  /// nothing if there is none.
  std::optional<size_t> find(warpspec::DataKind kind,
                             llvm::StringRef what = "") const;

  /// The numbers of a violation, i64; see nvfp4_data_record. Null is 0, and -1
  /// for the column.
  struct Finding {
    Value row = {}, column = {}, seen = {}, before = {}, limit = {};
  };
  /// In a kernel: reports check `number` if `isBad`, unless another one has
  /// been reported.
  void report(arithmetic::MathBuilder &b, size_t number, Value isBad,
              const Finding &finding) const;

  /// An entry of `groups`, offsets or counts that cut `extent`: what to report
  /// of it, and whether it breaks the rule. The first entry that does is found,
  /// and maybe some after it.
  struct GroupEntry {
    Finding finding;
    Value isBad;
    /// `index`, `numEntries` and `extent` are i64; `load` loads an entry as an
    /// i64.
    GroupEntry(arithmetic::MathBuilder &b, GroupingAttr grouping, Value index,
               Value numEntries, Value extent,
               llvm::function_ref<Value(Value)> load);
  };
  void checkGroup(arithmetic::MathBuilder &b, const GroupEntry &entry) const;
  /// An f32 is finite and above zero.
  void checkPositive(arithmetic::MathBuilder &b, Value number) const;
  /// An f32 is a factor of packed weights with scales of `format`, number
  /// `index`, i64.
  void checkFactor(arithmetic::MathBuilder &b, Value number, Value index,
                   BlockFormat format) const;
  /// There are `seen` of `what`, of which the groups need `needed`, i64.
  void checkRoom(arithmetic::MathBuilder &b, llvm::StringRef what,
                 Value hasGroups, Value seen, Value needed) const;

  static Check getGroups(GroupingAttr grouping);
  static Check getIndex(mlir::MLIRContext *context, llvm::StringRef label,
                        llvm::StringRef what);
  static Check getPositive(mlir::MLIRContext *context);
  static Check getFactor(mlir::MLIRContext *context, BlockFormat format);
  static Check getWeights(mlir::MLIRContext *context, int64_t spread);
  static Check getRoom(mlir::MLIRContext *context, llvm::StringRef what);

private:
  llvm::SmallVector<Check> checks;
  Value record, address;
};

/// Whether `value` is a global scale in memory that the host would check if it
/// could read it: one number.
bool isSingleNumber(mlir::Value value);

/// The operand of a check that the scales of the operand `name` have room: rows
/// of scales, or blocks if groups cut lines.
std::string describeRoom(llvm::StringRef name, bool cutsLines);

} // namespace nvfp4::gsg::loops

#endif // NVFP4_CONVERSION_GSGTOLOOPS_DATACHECKS_H
