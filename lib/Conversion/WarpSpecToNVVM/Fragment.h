//===- Fragment.h - Accumulators as values of a thread ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fragment of `wgmma`: thread t of a warpgroup has rows r and r + 8 of 64,
// r = 16 (t / 32) + t % 32 / 4, and of every 8 columns 2 (t % 4) and the next.
// The vector that is a fragment becomes `vector.from_elements` of the values of
// a thread, from which patterns take them.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_CONVERSION_WARPSPECTONVVM_FRAGMENT_H
#define NVFP4_LIB_CONVERSION_WARPSPECTONVVM_FRAGMENT_H

#include "AddressBuilder.h"

namespace nvfp4::warpspec {

/// True if all elements of `vector` are one number.
bool isSplat(mlir::Value vector);

/// Number of values of a thread in `fragment`.
int64_t getFragmentSize(mlir::Value fragment);

/// How fragments stand in global memory: slots with places for `values` values
/// of each thread of `warpgroups`.
struct SumsLayout {
  int64_t warpgroups, values;

  /// Values of a thread that stand side by side.
  static constexpr int64_t kPiece = 4;

  /// Bytes from one piece of a thread to the next.
  int64_t getStride() const { return warpgroups * 128 * kPiece * 4; }
  /// A pointer to the first values of `thread` in slot `slot` of `sums`.
  mlir::Value getAddress(AddressBuilder &b, mlir::Value sums, mlir::Value slot,
                         mlir::Value thread) const;
  /// Values `first` to `last` of a thread, loaded from `address`, where its
  /// first are.
  llvm::SmallVector<mlir::Value> load(AddressBuilder &b, mlir::Value address,
                                      int64_t first, int64_t last) const;
  /// Stores a piece from value `first` on.
  void store(AddressBuilder &b, mlir::Value address, int64_t first,
             llvm::ArrayRef<mlir::Value> piece) const;
};

/// A statement of PTX. Returns its results.
llvm::SmallVector<mlir::Value>
assemble(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef text,
         llvm::StringRef constraints, mlir::TypeRange results,
         mlir::ValueRange operands, bool hasEffects);

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_CONVERSION_WARPSPECTONVVM_FRAGMENT_H
