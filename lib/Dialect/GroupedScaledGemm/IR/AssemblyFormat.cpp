//===- AssemblyFormat.cpp - Custom directives of the assembly ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing and printing of operands that may be in storage form. The forms are
// in AssemblyFormat.h.
//
//===----------------------------------------------------------------------===//

#include "AssemblyFormat.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace nvfp4::gsg;

ParseResult nvfp4::gsg::parseOptionalScaledOperand(
    OpAsmParser &parser, std::optional<UnresolvedOperand> &value,
    Type &valueType, std::optional<UnresolvedOperand> &scales, Type &scalesType,
    ArrayAttr &types) {
  UnresolvedOperand operand;
  if (parser.parseOperand(operand))
    return failure();
  value = operand;
  if (failed(parser.parseOptionalKeyword("scaled_by")))
    return parser.parseColonType(valueType);
  UnresolvedOperand scaleOperand;
  Type scaledType;
  if (parser.parseOperand(scaleOperand) || parser.parseColonType(valueType) ||
      parser.parseComma() || parser.parseType(scalesType) ||
      parser.parseKeyword("as") || parser.parseType(scaledType))
    return failure();
  scales = scaleOperand;
  types = parser.getBuilder().getTypeArrayAttr(scaledType);
  return success();
}

void nvfp4::gsg::printOptionalScaledOperand(OpAsmPrinter &printer, Operation *,
                                            Value value, Type valueType,
                                            Value scales, Type scalesType,
                                            ArrayAttr types) {
  if (!value)
    return;
  printer << value;
  if (!scales) {
    printer << " : " << valueType;
    return;
  }
  printer << " scaled_by " << scales << " : " << valueType << ", " << scalesType
          << " as ";
  if (types && !types.empty())
    printer << types[0];
  else
    printer << "none";
}

ParseResult
nvfp4::gsg::parseScaledOperand(OpAsmParser &parser, UnresolvedOperand &value,
                               Type &valueType,
                               std::optional<UnresolvedOperand> &scales,
                               Type &scalesType, ArrayAttr &types) {
  std::optional<UnresolvedOperand> parsed;
  if (parseOptionalScaledOperand(parser, parsed, valueType, scales, scalesType,
                                 types))
    return failure();
  value = *parsed;
  return success();
}

void nvfp4::gsg::printScaledOperand(OpAsmPrinter &printer, Operation *op,
                                    Value value, Type valueType, Value scales,
                                    Type scalesType, ArrayAttr types) {
  printOptionalScaledOperand(printer, op, value, valueType, scales, scalesType,
                             types);
}

namespace {
/// The scales among operands of which some are in storage form.
struct FoundScales {
  SmallVectorImpl<OpAsmParser::UnresolvedOperand> &scales;
  SmallVectorImpl<Type> &scaleTypes;
  SmallVector<Attribute> scaledTypes = {};

  void add(const OpAsmParser::UnresolvedOperand &scale, Type scaleType,
           ArrayAttr type) {
    scales.push_back(scale);
    scaleTypes.push_back(scaleType);
    llvm::append_range(scaledTypes, type);
  }
  /// The types of what is in storage form, or null if nothing is.
  ArrayAttr getTypes(OpAsmParser &parser) const {
    return scaledTypes.empty() ? ArrayAttr()
                               : parser.getBuilder().getArrayAttr(scaledTypes);
  }
};
} // namespace

ParseResult nvfp4::gsg::parseScaledOperands(
    OpAsmParser &parser, SmallVectorImpl<UnresolvedOperand> &values,
    SmallVectorImpl<Type> &valueTypes,
    SmallVectorImpl<UnresolvedOperand> &scales,
    SmallVectorImpl<Type> &scaleTypes, ArrayAttr &types) {
  FoundScales found{scales, scaleTypes};
  auto parseOne = [&]() -> ParseResult {
    UnresolvedOperand value;
    std::optional<UnresolvedOperand> scale;
    Type valueType, scaleType;
    ArrayAttr type;
    if (parseScaledOperand(parser, value, valueType, scale, scaleType, type))
      return failure();
    values.push_back(value);
    valueTypes.push_back(valueType);
    if (scale)
      found.add(*scale, scaleType, type);
    return success();
  };
  if (parser.parseCommaSeparatedList(parseOne))
    return failure();
  types = found.getTypes(parser);
  return success();
}

void nvfp4::gsg::printScaledOperands(OpAsmPrinter &printer, Operation *op,
                                     OperandRange values, TypeRange valueTypes,
                                     OperandRange scales, TypeRange scaleTypes,
                                     ArrayAttr types) {
  for (size_t i = 0, e = values.size(); i < e; ++i) {
    if (i)
      printer << ", ";
    bool storage = i < scales.size() && types && i < types.size();
    printOptionalScaledOperand(
        printer, op, values[i], valueTypes[i], storage ? scales[i] : Value(),
        storage ? scaleTypes[i] : Type(),
        storage ? ArrayAttr::get(op->getContext(), types[i]) : ArrayAttr());
  }
}

ParseResult nvfp4::gsg::parseProbClause(OpAsmParser &parser,
                                        std::optional<UnresolvedOperand> &prob,
                                        Type &type,
                                        ProbPositionAttr &position) {
  UnresolvedOperand operand;
  if (parser.parseOperand(operand) || parser.parseColonType(type) ||
      parser.parseRParen())
    return failure();
  prob = operand;
  auto value = ProbPosition::PostActivation;
  if (succeeded(parser.parseOptionalKeyword("at"))) {
    auto parsed = FieldParser<ProbPosition>::parse(parser);
    if (failed(parsed))
      return failure();
    value = *parsed;
  }
  position = ProbPositionAttr::get(parser.getContext(), value);
  return success();
}

void nvfp4::gsg::printProbClause(OpAsmPrinter &printer, MatmulOp op, Value prob,
                                 Type type, ProbPositionAttr position) {
  printer << prob << " : " << type << ")";
  if (!op.hasExpandedEpilogue())
    printer << " at " << stringifyProbPosition(position.getValue());
}

ParseResult
nvfp4::gsg::parseCopies(OpAsmParser &parser, ArrayAttr &copies,
                        SmallVectorImpl<UnresolvedOperand> &globalScales,
                        SmallVectorImpl<Type> &globalScaleTypes,
                        SmallVectorImpl<UnresolvedOperand> &seeds,
                        SmallVectorImpl<UnresolvedOperand> &outs,
                        SmallVectorImpl<Type> &outTypes,
                        SmallVectorImpl<UnresolvedOperand> &scales,
                        SmallVectorImpl<Type> &scaleTypes, ArrayAttr &types) {
  SmallVector<Attribute> attributes;
  FoundScales found{scales, scaleTypes};
  auto parseOne = [&]() -> ParseResult {
    QuantizerAttr quantizer;
    HadamardAttr hadamard;
    if (parser.parseCustomAttributeWithFallback(quantizer))
      return failure();
    bool isTransposed = succeeded(parser.parseOptionalKeyword("transposed"));
    if (succeeded(parser.parseOptionalKeyword("hadamard")) &&
        (parser.parseEqual() ||
         parser.parseCustomAttributeWithFallback(hadamard)))
      return failure();
    bool hasScale = succeeded(parser.parseOptionalKeyword("global_scale"));
    if (hasScale && (parser.parseLParen() ||
                     parser.parseOperand(globalScales.emplace_back()) ||
                     parser.parseColonType(globalScaleTypes.emplace_back()) ||
                     parser.parseRParen()))
      return failure();
    SMLoc seedLoc = parser.getCurrentLocation();
    bool hasSeed = succeeded(parser.parseOptionalKeyword("seed"));
    if (hasSeed &&
        (parser.parseLParen() || parser.parseOperand(seeds.emplace_back()) ||
         parser.parseRParen()))
      return failure();
    // quantizer_c4; seeds belong to the copies that need one, in order.
    bool isStochastic = quantizer.getRounding() == Rounding::Stochastic;
    if (hasSeed != isStochastic)
      return parser.emitError(seedLoc, "expected ")
             << (isStochastic ? "a seed" : "no seed") << " for the copy by "
             << quantizer << ", but got " << (hasSeed ? "one" : "none");
    attributes.push_back(CopyAttr::get(parser.getContext(), quantizer, hadamard,
                                       isTransposed, hasScale));
    if (failed(parser.parseOptionalKeyword("outs")))
      return success();
    std::optional<UnresolvedOperand> out, scale;
    Type outType, scaleType;
    ArrayAttr type;
    if (parser.parseLParen() ||
        parseOptionalScaledOperand(parser, out, outType, scale, scaleType,
                                   type) ||
        parser.parseRParen())
      return failure();
    outs.push_back(*out);
    outTypes.push_back(outType);
    if (scale)
      found.add(*scale, scaleType, type);
    return success();
  };
  if (parser.parseCommaSeparatedList(parseOne))
    return failure();
  copies = parser.getBuilder().getArrayAttr(attributes);
  types = found.getTypes(parser);
  return success();
}

void nvfp4::gsg::printCopies(OpAsmPrinter &printer, MatmulOp op, ArrayAttr,
                             OperandRange, TypeRange, OperandRange,
                             OperandRange, TypeRange, OperandRange, TypeRange,
                             ArrayAttr) {
  llvm::interleaveComma(
      op.getCopyList(), printer, [&](const ProductCopy &copy) {
        printer.printStrippedAttrOrType(copy.attr.getQuantizer());
        if (copy.attr.getTransposed())
          printer << " transposed";
        if (copy.attr.getHadamard()) {
          printer << " hadamard = ";
          printer.printStrippedAttrOrType(copy.attr.getHadamard());
        }
        if (copy.globalScale)
          printer << " global_scale(" << copy.globalScale << " : "
                  << copy.globalScale.getType() << ")";
        if (copy.seed)
          printer << " seed(" << copy.seed << ")";
        if (!copy.out.data)
          return;
        printer << " outs(";
        printOptionalScaledOperand(
            printer, op, copy.out.data, copy.out.data.getType(),
            copy.out.scales,
            copy.out.scales ? copy.out.scales.getType() : Type(),
            copy.out.type
                ? ArrayAttr::get(op.getContext(), TypeAttr::get(copy.out.type))
                : ArrayAttr());
        printer << ")";
      });
}

ParseResult nvfp4::gsg::parseEpilogueRegion(OpAsmParser &parser,
                                            Region &region) {
  return parser.parseRegion(region, /*arguments=*/{},
                            /*enableNameShadowing=*/true);
}

void nvfp4::gsg::printEpilogueRegion(OpAsmPrinter &printer, Operation *,
                                     Region &region) {
  printer.printRegion(region);
}

SmallVector<ScaledOperand> nvfp4::gsg::getScaledOperands(ValueRange values,
                                                         ValueRange scales,
                                                         ArrayAttr types) {
  SmallVector<ScaledOperand> operands;
  for (auto [i, value] : llvm::enumerate(values)) {
    ScaledOperand operand{value, i < scales.size() ? scales[i] : Value(),
                          dyn_cast<ScaledType>(value.getType())};
    if (!operand.type && types && i < types.size())
      if (auto attr = dyn_cast<TypeAttr>(types[i]))
        operand.type = dyn_cast<ScaledType>(attr.getValue());
    operands.push_back(operand);
  }
  return operands;
}
