//===- AssemblyFormat.h - Custom directives of the syntax -------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsers and printers that the declarative formats of the operations name:
// regions with arguments, roles, loops, pipelines and launches.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_LIB_DIALECT_WARPSPEC_IR_ASSEMBLYFORMAT_H
#define NVFP4_LIB_DIALECT_WARPSPEC_IR_ASSEMBLYFORMAT_H

#include "nvfp4/Dialect/WarpSpec/IR/WarpSpec.h"

namespace nvfp4::warpspec {

using Operands = llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand>;
using Types = llvm::SmallVectorImpl<mlir::Type>;

mlir::ParseResult parseKernelBody(mlir::OpAsmParser &parser,
                                  mlir::Region &body);
void printKernelBody(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                     mlir::Region &body);

mlir::ParseResult
parseRoles(mlir::OpAsmParser &parser, mlir::ArrayAttr &names,
           mlir::DenseI32ArrayAttr &warps, mlir::DenseI32ArrayAttr &registers,
           llvm::SmallVectorImpl<std::unique_ptr<mlir::Region>> &bodies);
void printRoles(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                mlir::ArrayAttr names, mlir::DenseI32ArrayAttr warps,
                mlir::DenseI32ArrayAttr registers,
                llvm::MutableArrayRef<mlir::Region> bodies);

mlir::ParseResult parseForEachTile(mlir::OpAsmParser &parser, Operands &inits,
                                   Types &initTypes, Types &resultTypes,
                                   mlir::Region &extents, mlir::Region &body);
void printForEachTile(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::OperandRange inits, mlir::TypeRange initTypes,
                      mlir::TypeRange resultTypes, mlir::Region &extents,
                      mlir::Region &body);

mlir::ParseResult parsePipeline(mlir::OpAsmParser &parser, Operands &buffers,
                                Types &types, mlir::IntegerAttr &depth,
                                AgentAttr &producer, AgentAttr &consumer,
                                mlir::IntegerAttr &barriers);
void printPipeline(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   mlir::OperandRange buffers, mlir::TypeRange types,
                   mlir::IntegerAttr depth, AgentAttr producer,
                   AgentAttr consumer, mlir::IntegerAttr barriers);

mlir::ParseResult parseAsyncTokens(mlir::OpAsmParser &parser,
                                   mlir::Type &tokenType,
                                   Operands &dependencies);
void printAsyncTokens(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::Type tokenType, mlir::OperandRange dependencies);

mlir::ParseResult parseParameters(mlir::OpAsmParser &parser,
                                  Operands &parameters, Types &types,
                                  mlir::DenseI32ArrayAttr &written);
void printParameters(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                     mlir::OperandRange parameters, mlir::TypeRange types,
                     mlir::DenseI32ArrayAttr written);

} // namespace nvfp4::warpspec

#endif // NVFP4_LIB_DIALECT_WARPSPEC_IR_ASSEMBLYFORMAT_H
