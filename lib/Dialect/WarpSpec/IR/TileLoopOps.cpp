//===- TileLoopOps.cpp - The loop over tiles --------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text, verifier and loop interface of for_each_tile.
//
//===----------------------------------------------------------------------===//

#include "AssemblyFormat.h"

using namespace mlir;
using namespace nvfp4::warpspec;

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

/// Any thread may run extents any number of times.
static LogicalResult verifyReadsOnly(Region &extents) {
  WalkResult walk = extents.walk([](Operation *op) {
    if (isa<AgentOpInterface>(op)) {
      op->emitOpError("expected no operation of an agent in extents");
      return WalkResult::interrupt();
    }
    auto effects = dyn_cast<MemoryEffectOpInterface>(op);
    bool isPureOrReads =
        effects &&
        (effects.hasNoEffect() || effects.onlyHasEffect<MemoryEffects::Read>());
    if (isPureOrReads || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      return WalkResult::advance();
    op->emitOpError("expected no effect in extents but reads of memory, as any "
                    "thread may run them any number of times");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult ForEachTileOp::verify() {
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
  for (Region *region : {&getExtents(), &getBody()})
    if (region->front().empty() || !isa<YieldOp>(region->front().back()))
      return emitOpError("expected regions that end with warpspec.yield");
  TypeRange inits = getInitArgs().getTypes();
  if (TypeRange(getRegionIterArgs()) != inits || getResultTypes() != inits)
    return emitOpError("expected arguments and results of the types of "
                       "iter_args");
  return verifyReadsOnly(getExtents());
}

LogicalResult YieldOp::verify() {
  auto loop = cast<ForEachTileOp>((*this)->getParentOp());
  TypeRange types = getOperandTypes();
  if ((*this)->getParentRegion() == &loop.getBody()) {
    if (types == loop.getInitArgs().getTypes())
      return success();
    return emitOpError("expected values of the types of iter_args, (")
           << loop.getInitArgs().getTypes() << "), but got (" << types << ")";
  }
  // Through a ring a cost may follow; where tiles are cut, it must.
  unsigned most = loop.getRing() ? 3 : 2, least = loop.getSteps() ? 3 : 2;
  if (types.size() >= least && types.size() <= most &&
      llvm::all_of(types, [](Type type) { return type.isInteger(32); }))
    return success();
  return emitOpError("expected the numbers of tiles (m, n)")
         << (least == 3  ? " and the cost of a tile, three values"
             : most == 3 ? ", or these and the cost of a tile, values"
                         : ", two values")
         << " of i32, but got (" << types << ")";
}
