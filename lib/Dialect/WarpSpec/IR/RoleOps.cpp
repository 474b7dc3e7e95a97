//===- RoleOps.cpp - Kernels, roles, scheduling -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text, verifiers and the loop interface of the structural operations.
//
//===----------------------------------------------------------------------===//

#include "AssemblyFormat.h"

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
  auto space = dyn_cast_or_null<IntegerAttr>(type.getMemorySpace());
  return space && space.getInt() == 1 && type.getLayout().isIdentity() &&
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

LogicalResult EndOp::verify() { return success(); }

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

//===----------------------------------------------------------------------===//
// for_each_tile
//===----------------------------------------------------------------------===//

ParseResult nvfp4::warpspec::parseForEachTile(OpAsmParser &parser,
                                              Operands &inits, Types &initTypes,
                                              Types &resultTypes,
                                              Region &extents, Region &body) {
  Type i32 = parser.getBuilder().getI32Type();
  SmallVector<OpAsmParser::Argument> carried, group, tile;
  if (succeeded(parser.parseOptionalKeyword("iter_args"))) {
    if (parser.parseAssignmentList(carried, inits) ||
        parser.parseArrowTypeList(initTypes))
      return failure();
    if (carried.size() != initTypes.size())
      return parser.emitError(parser.getCurrentLocation(),
                              "expected as many types as iter_args");
  }
  resultTypes.assign(initTypes.begin(), initTypes.end());
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword("extents") ||
      parser.parseArgumentList(group, OpAsmParser::Delimiter::Paren))
    return failure();
  if (group.size() != 1)
    return parser.emitError(loc, "expected one argument of extents, the group");
  group.front().type = i32;
  if (parser.parseRegion(extents, group))
    return failure();
  loc = parser.getCurrentLocation();
  if (parser.parseKeyword("do") ||
      parser.parseArgumentList(tile, OpAsmParser::Delimiter::Paren))
    return failure();
  if (tile.size() < 3 || tile.size() > 6)
    return parser.emitError(loc, "expected three arguments, group, m, n, and "
                                 "with cut from, to, with parts another");
  for (OpAsmParser::Argument &arg : tile)
    arg.type = i32;
  for (auto [arg, type] : llvm::zip_equal(carried, initTypes))
    arg.type = type;
  tile.append(carried);
  if (parser.parseRegion(body, tile))
    return failure();
  if (initTypes.empty() &&
      (body.front().empty() ||
       !body.front().back().hasTrait<OpTrait::IsTerminator>())) {
    OpBuilder builder(parser.getContext());
    builder.setInsertionPointToEnd(&body.front());
    YieldOp::create(builder, parser.getEncodedSourceLoc(loc), ValueRange());
  }
  return success();
}

void nvfp4::warpspec::printForEachTile(OpAsmPrinter &printer, Operation *,
                                       OperandRange inits, TypeRange initTypes,
                                       TypeRange, Region &extents,
                                       Region &body) {
  auto arguments = body.getArguments();
  auto tile = arguments.drop_back(inits.size());
  if (!inits.empty()) {
    printer << " iter_args(";
    llvm::interleaveComma(
        llvm::zip_equal(arguments.take_back(inits.size()), inits), printer,
        [&](auto pair) {
          printer << std::get<0>(pair) << " = " << std::get<1>(pair);
        });
    printer << ")";
    printer.printArrowTypeList(initTypes);
  }
  printer.printNewline();
  printer << "extents(" << extents.getArgument(0) << ") ";
  printer.printRegion(extents, /*printEntryBlockArgs=*/false);
  printer << " do(";
  llvm::interleaveComma(tile, printer);
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!inits.empty());
}

void ForEachTileOp::getAsmBlockArgumentNames(Region &region,
                                             OpAsmSetValueNameFn setName) {
  static constexpr StringLiteral kNames[] = {"group", "m",  "n",
                                             "from",  "to", "before"};
  auto own = ArrayRef(kNames).take_front(getNumTileArguments());
  for (auto [argument, name] : llvm::zip(region.getArguments(), own))
    setName(argument, name);
}

SmallVector<Region *> ForEachTileOp::getLoopRegions() { return {&getBody()}; }

MutableArrayRef<OpOperand> ForEachTileOp::getInitsMutable() {
  return getInitArgsMutable();
}

Block::BlockArgListType ForEachTileOp::getRegionIterArgs() {
  return getBody().getArguments().drop_front(getNumTileArguments());
}

std::optional<MutableArrayRef<OpOperand>>
ForEachTileOp::getYieldedValuesMutable() {
  return getBody().front().getTerminator()->getOpOperands();
}

std::optional<ResultRange> ForEachTileOp::getLoopResults() {
  return getResults();
}

FailureOr<LoopLikeOpInterface> ForEachTileOp::replaceWithAdditionalYields(
    RewriterBase &rewriter, ValueRange newInits,
    bool replaceInitOperandUsesInLoop, const NewYieldValuesFn &newYields) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*this);
  SmallVector<Value> inits(getInitArgs());
  llvm::append_range(inits, newInits);
  auto loop = ForEachTileOp::create(
      rewriter, getLoc(), TypeRange(ValueRange(inits)), getOrder(), getGroups(),
      getRing(), getSteps(), getInParts(), inits);
  rewriter.inlineRegionBefore(getExtents(), loop.getExtents(),
                              loop.getExtents().end());
  rewriter.inlineRegionBefore(getBody(), loop.getBody(), loop.getBody().end());
  SmallVector<BlockArgument> newArgs;
  for (Value init : newInits)
    newArgs.push_back(
        loop.getBody().addArgument(init.getType(), init.getLoc()));
  Operation *terminator = loop.getBody().front().getTerminator();
  rewriter.setInsertionPoint(terminator);
  SmallVector<Value> yields = newYields(rewriter, getLoc(), newArgs);
  rewriter.modifyOpInPlace(terminator, [&] {
    terminator->insertOperands(terminator->getNumOperands(), yields);
  });
  if (replaceInitOperandUsesInLoop)
    for (auto [init, arg] : llvm::zip_equal(newInits, newArgs))
      rewriter.replaceUsesWithIf(init, arg, [&](OpOperand &use) {
        return loop->isProperAncestor(use.getOwner());
      });
  rewriter.replaceOp(*this, loop->getResults().take_front(getNumResults()));
  return cast<LoopLikeOpInterface>(loop.getOperation());
}

LogicalResult ForEachTileOp::verify() {
  if (!llvm::hasSingleElement(getExtents()) ||
      !llvm::hasSingleElement(getBody()))
    return emitOpError("expected regions of one block");
  if (Value ring = getRing()) {
    auto type = cast<PipelineType>(ring.getType());
    auto slot = type.getSlots().size() == 1
                    ? dyn_cast<MemRefType>(type.getSlots().front())
                    : MemRefType();
    if (type.getProducer() != Agent::Threads ||
        type.getConsumer() != Agent::Threads || !slot || !isSmem(slot) ||
        slot.getShape() != ArrayRef<int64_t>{getSteps() ? 8 : 4} ||
        !slot.getElementType().isInteger(32))
      return emitOpError("expected a ring from threads to threads with slots "
                         "of ")
             << (getSteps() ? 8 : 4) << " x i32 in shared memory, but got "
             << type;
  } else if (getSteps()) {
    return emitOpError("expected a ring, through which tiles are cut");
  }
  if (getInParts() && !getSteps())
    return emitOpError("expected cut with parts");
  auto isI32 = [](BlockArgument arg) { return arg.getType().isInteger(32); };
  if (getExtents().getNumArguments() != 1 ||
      !llvm::all_of(getExtents().getArguments(), isI32))
    return emitOpError("expected one i32 argument of extents, the group");
  unsigned own = getNumTileArguments();
  if (getBody().getNumArguments() != own + getInitArgs().size() ||
      !llvm::all_of(getBody().getArguments().take_front(own), isI32))
    return emitOpError("expected i32 arguments ")
           << (getInParts() ? "group, m, n, from, to and before"
               : getSteps() ? "group, m, n, from and to"
                            : "group, m and n")
           << " of the body, and one for each of the " << getInitArgs().size()
           << " iter_args";
  auto yield = dyn_cast<YieldOp>(getExtents().front().getTerminator());
  unsigned most = getRing() ? 3 : 2, least = getSteps() ? 3 : 2;
  if (!yield || yield.getNumOperands() < least ||
      yield.getNumOperands() > most ||
      !llvm::all_of(yield.getOperandTypes(),
                    [](Type type) { return type.isInteger(32); }))
    return emitOpError("expected extents to yield the numbers of tiles (m, n), "
                       "two values of i32")
           << (getRing() ? ", or these and the cost of a tile" : "");
  TypeRange inits = getInitArgs().getTypes();
  yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || TypeRange(yield.getOperandTypes()) != inits ||
      TypeRange(getRegionIterArgs()) != inits || getResultTypes() != inits)
    return emitOpError("expected arguments, yielded values and results of the "
                       "types of iter_args");
  WalkResult walk = getExtents().walk([&](Operation *op) {
    if (isa<AgentOpInterface>(op)) {
      op->emitOpError("expected no operation of an agent in extents");
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult YieldOp::verify() { return success(); }
