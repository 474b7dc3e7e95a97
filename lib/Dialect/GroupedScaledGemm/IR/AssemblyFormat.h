//===- AssemblyFormat.h - Custom directives of the assembly -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text of operands that are scaled values or values with scales:
//
//   %a : !scaled                                          value form
//   %v scaled_by %s : tensor<..>, tensor<..> as !scaled   storage form
//   %d : tensor<..>                                       a plain tensor
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_ASSEMBLYFORMAT_H
#define NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_ASSEMBLYFORMAT_H

#include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemm.h"

namespace nvfp4::gsg {

using UnresolvedOperand = mlir::OpAsmParser::UnresolvedOperand;

mlir::ParseResult parseScaledOperands(
    mlir::OpAsmParser &parser, llvm::SmallVectorImpl<UnresolvedOperand> &values,
    llvm::SmallVectorImpl<mlir::Type> &valueTypes,
    llvm::SmallVectorImpl<UnresolvedOperand> &scales,
    llvm::SmallVectorImpl<mlir::Type> &scaleTypes, mlir::ArrayAttr &types);
void printScaledOperands(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                         mlir::OperandRange values, mlir::TypeRange valueTypes,
                         mlir::OperandRange scales, mlir::TypeRange scaleTypes,
                         mlir::ArrayAttr types);

mlir::ParseResult parseScaledOperand(mlir::OpAsmParser &parser,
                                     UnresolvedOperand &value,
                                     mlir::Type &valueType,
                                     std::optional<UnresolvedOperand> &scales,
                                     mlir::Type &scalesType,
                                     mlir::ArrayAttr &types);
void printScaledOperand(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                        mlir::Value value, mlir::Type valueType,
                        mlir::Value scales, mlir::Type scalesType,
                        mlir::ArrayAttr types);

mlir::ParseResult parseOptionalScaledOperand(
    mlir::OpAsmParser &parser, std::optional<UnresolvedOperand> &value,
    mlir::Type &valueType, std::optional<UnresolvedOperand> &scales,
    mlir::Type &scalesType, mlir::ArrayAttr &types);
void printOptionalScaledOperand(mlir::OpAsmPrinter &printer,
                                mlir::Operation *op, mlir::Value value,
                                mlir::Type valueType, mlir::Value scales,
                                mlir::Type scalesType, mlir::ArrayAttr types);

/// The operand with the closing parenthesis, and its position unless an
/// expanded epilogue says it.
mlir::ParseResult parseProbClause(mlir::OpAsmParser &parser,
                                  std::optional<UnresolvedOperand> &prob,
                                  mlir::Type &type, ProbPositionAttr &position);
void printProbClause(mlir::OpAsmPrinter &printer, MatmulOp op, mlir::Value prob,
                     mlir::Type type, ProbPositionAttr position);

/// `<quantizer> transposed hadamard = <> global_scale(..) seed(..) outs(..)`
/// for each copy, with all but the first optional.
mlir::ParseResult
parseCopies(mlir::OpAsmParser &parser, mlir::ArrayAttr &copies,
            llvm::SmallVectorImpl<UnresolvedOperand> &globalScales,
            llvm::SmallVectorImpl<mlir::Type> &globalScaleTypes,
            llvm::SmallVectorImpl<UnresolvedOperand> &seeds,
            llvm::SmallVectorImpl<UnresolvedOperand> &outs,
            llvm::SmallVectorImpl<mlir::Type> &outTypes,
            llvm::SmallVectorImpl<UnresolvedOperand> &scales,
            llvm::SmallVectorImpl<mlir::Type> &scaleTypes,
            mlir::ArrayAttr &types);
void printCopies(mlir::OpAsmPrinter &printer, MatmulOp op,
                 mlir::ArrayAttr copies, mlir::OperandRange globalScales,
                 mlir::TypeRange globalScaleTypes, mlir::OperandRange seeds,
                 mlir::OperandRange outs, mlir::TypeRange outTypes,
                 mlir::OperandRange scales, mlir::TypeRange scaleTypes,
                 mlir::ArrayAttr types);

/// A region whose names may repeat those around it, because it is isolated.
mlir::ParseResult parseEpilogueRegion(mlir::OpAsmParser &parser,
                                      mlir::Region &region);
void printEpilogueRegion(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                         mlir::Region &region);

} // namespace nvfp4::gsg

#endif // NVFP4_LIB_DIALECT_GROUPEDSCALEDGEMM_IR_ASSEMBLYFORMAT_H
