//===- GroupedScaledGemm.h - The dialect's public header --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types, attributes and operations of `grouped_scaled_gemm`, and the helpers
// by which passes read operands that are either scaled values or storage.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_GROUPEDSCALEDGEMM_H
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_GROUPEDSCALEDGEMM_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmDialect.h.inc"
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmTypes.h.inc"

namespace nvfp4::gsg {

/// One block-scaled operand: a value of type `scaled`, or values and scales in
/// storage form.
struct ScaledOperand {
  /// The scaled value, or the packed values in storage form.
  mlir::Value data;
  /// The scales in storage form, null in value form.
  mlir::Value scales;
  /// The logical type in both forms.
  ScaledType type;
  bool isStorageForm() const { return static_cast<bool>(scales); }
};

/// One of the `copies` of a product and its operands. In value form `out` has
/// a type only.
struct ProductCopy {
  CopyAttr attr;
  /// Null if absent.
  mlir::Value globalScale, seed;
  ScaledOperand out;
  /// True if blocks lie along the columns of the product's result.
  bool hasBlocksAlongColumns() const {
    return out.type.isKMajor() != attr.getTransposed();
  }
};

} // namespace nvfp4::gsg

#define GET_OP_CLASSES
#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmOps.h.inc"

namespace nvfp4::gsg {

/// Pairs operands, scales and types of one operand group. `types` is null in
/// value form.
llvm::SmallVector<ScaledOperand> getScaledOperands(mlir::ValueRange values,
                                                   mlir::ValueRange scales,
                                                   mlir::ArrayAttr types);

/// True if `op` is a part of the epilogue region of a product.
bool isInEpilogue(mlir::Operation *op);

/// The operation of an expanded epilogue where columns of the product become
/// columns of the result; null without pairs.
PairColumnsOp getPairColumns(mlir::Block &epilogue);

/// Registers the external models of BufferizableOpInterface.
void registerBufferizableOpInterfaceExternalModels(
    mlir::DialectRegistry &registry);

} // namespace nvfp4::gsg

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_GROUPEDSCALEDGEMM_H
