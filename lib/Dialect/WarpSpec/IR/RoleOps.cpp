//===- RoleOps.cpp - Kernels and roles --------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text and verifiers of the frame of a kernel.
//
//===----------------------------------------------------------------------===//

#include "AssemblyFormat.h"
#include "Verifiers.h"

#include "llvm/ADT/SmallSet.h"

#include <array>

using namespace mlir;
using namespace nvfp4::warpspec;

//===----------------------------------------------------------------------===//
// kernel
//===----------------------------------------------------------------------===//

ParseResult nvfp4::warpspec::parseKernelBody(OpAsmParser &parser,
                                             Region &body) {
  SmallVector<OpAsmParser::Argument> arguments;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseRegion(body, arguments))
    return failure();
  KernelOp::ensureTerminator(body, parser.getBuilder(),
                             parser.getEncodedSourceLoc(loc));
  return success();
}

void nvfp4::warpspec::printKernelBody(OpAsmPrinter &printer, Operation *,
                                      Region &body) {
  printer << "(";
  llvm::interleaveComma(body.getArguments(), printer, [&](BlockArgument arg) {
    printer.printRegionArgument(arg);
  });
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/false);
}

void KernelOp::getAsmBlockArgumentNames(Region &region,
                                        OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    if (isa<TensorMapType>(argument.getType()))
      setName(argument, "map");
}

RolesOp KernelOp::getRoles() {
  for (Operation &op : getBody().front())
    if (auto roles = dyn_cast<RolesOp>(op))
      return roles;
  return {};
}

/// A contiguous buffer in global memory with at most its first size dynamic.
static bool isGlobalBuffer(MemRefType type) {
  return isGlobal(type) &&
         (type.getRank() == 0 ||
          llvm::none_of(type.getShape().drop_front(), ShapedType::isDynamic));
}

/// Integers and floats that a parameter of a kernel may be.
static bool isScalar(Type type) {
  if (type.isF16() || type.isBF16() || type.isF32() || type.isF64())
    return true;
  return llvm::any_of(std::array{1, 8, 16, 32, 64},
                      [&](int bits) { return type.isSignlessInteger(bits); });
}

LogicalResult KernelOp::verify() {
  for (BlockArgument arg : getBody().getArguments()) {
    Type type = arg.getType();
    auto memref = dyn_cast<MemRefType>(type);
    if (memref ? isGlobalBuffer(memref)
               : isa<TensorMapType>(type) || isScalar(type))
      continue;
    return emitOpError("expected parameters that are tensor maps, i1, i8, i16, "
                       "i32, i64, f16, bf16, f32, f64 or contiguous memrefs in "
                       "global memory (1) of which at most the first size is "
                       "dynamic, but got ")
           << type;
  }
  RolesOp first;
  for (auto roles : getBody().getOps<RolesOp>()) {
    if (first)
      return roles.emitOpError("expected one roles operation in a kernel");
    first = roles;
  }
  if (int32_t cluster = getCluster().value_or(1); cluster < 1 || cluster > 16)
    return emitOpError("expected a cluster of 1 to 16 blocks, but got ")
           << cluster << "; the nearest is " << std::clamp(cluster, 1, 16);
  if (getPair() && getCluster().value_or(1) % 2 != 0)
    return emitOpError("expected an even cluster for pairs, but got ")
           << getCluster().value_or(1);
  return success();
}

//===----------------------------------------------------------------------===//
// roles
//===----------------------------------------------------------------------===//

ParseResult
nvfp4::warpspec::parseRoles(OpAsmParser &parser, ArrayAttr &names,
                            DenseI32ArrayAttr &warps,
                            DenseI32ArrayAttr &registers,
                            SmallVectorImpl<std::unique_ptr<Region>> &bodies) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> nameList;
  SmallVector<int32_t> warpList, registerList;
  while (succeeded(parser.parseOptionalKeyword("role"))) {
    StringAttr name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseSymbolName(name) || parser.parseKeyword("warps") ||
        parser.parseLParen() || parser.parseInteger(warpList.emplace_back()) ||
        parser.parseRParen())
      return failure();
    registerList.push_back(0);
    if (succeeded(parser.parseOptionalKeyword("registers")) &&
        (parser.parseLParen() || parser.parseInteger(registerList.back()) ||
         parser.parseRParen()))
      return failure();
    nameList.push_back(name);
    auto body = std::make_unique<Region>();
    if (parser.parseRegion(*body))
      return failure();
    RolesOp::ensureTerminator(*body, builder, parser.getEncodedSourceLoc(loc));
    bodies.push_back(std::move(body));
  }
  names = builder.getArrayAttr(nameList);
  warps = builder.getDenseI32ArrayAttr(warpList);
  registers = builder.getDenseI32ArrayAttr(registerList);
  return success();
}

void nvfp4::warpspec::printRoles(OpAsmPrinter &printer, Operation *,
                                 ArrayAttr names, DenseI32ArrayAttr warps,
                                 DenseI32ArrayAttr registers,
                                 MutableArrayRef<Region> bodies) {
  for (auto [name, warpCount, registerCount, body] : llvm::zip_equal(
           names, warps.asArrayRef(), registers.asArrayRef(), bodies)) {
    printer.printNewline();
    printer << "role ";
    printer.printSymbolName(cast<StringAttr>(name).getValue());
    printer << " warps(" << warpCount << ") ";
    if (registerCount)
      printer << "registers(" << registerCount << ") ";
    printer.printRegion(body, /*printEntryBlockArgs=*/false,
                        /*printBlockTerminators=*/false);
  }
}

int RolesOp::getRoleNumber(Operation *op) {
  for (Region &body : getBodies())
    if (body.isAncestor(op->getParentRegion()))
      return body.getRegionNumber();
  return -1;
}

StringRef RolesOp::getRoleName(unsigned number) {
  return cast<StringAttr>(getNames()[number]).getValue();
}

LogicalResult RolesOp::verify() {
  if (getNames().size() != getBodies().size() ||
      getWarps().size() != getBodies().size() ||
      getRegisters().size() != getBodies().size())
    return emitOpError("expected one name, number of warps and number of "
                       "registers for each of the ")
           << getBodies().size() << " roles";
  if (getBodies().empty())
    return emitOpError("expected at least one role");
  llvm::SmallSet<StringRef, 8> seen;
  for (unsigned i = 0; i < getBodies().size(); ++i) {
    if (!seen.insert(getRoleName(i)).second)
      return emitOpError("expected distinct names, but got role @")
             << getRoleName(i) << " twice";
    if (getWarps()[i] < 1)
      return emitOpError("expected at least one warp for role @")
             << getRoleName(i) << ", but got " << getWarps()[i];
    int32_t registers = getRegisters()[i];
    if (registers != 0 &&
        (registers < 24 || registers > 256 || registers % 8 != 0))
      return emitOpError("expected a multiple of 8 in [24, 256] as registers "
                         "of role @")
             << getRoleName(i) << ", but got " << registers
             << "; the nearest is "
             << std::clamp((registers + 4) / 8 * 8, 24, 256);
  }
  return success();
}

LogicalResult ThreadIndexOp::verify() {
  if (!(*this)->getParentOfType<RolesOp>())
    return emitOpError("expected to be inside a role");
  return success();
}
