//===- PipelineOps.cpp - Pipelines and hand-over ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text, inferred types and verifiers of pipelines and of the operations that
// hand slots over.
//
//===----------------------------------------------------------------------===//

#include "AssemblyFormat.h"
#include "Verifiers.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace nvfp4::warpspec;

//===----------------------------------------------------------------------===//
// pipeline
//===----------------------------------------------------------------------===//

// (%a, %b) [depth 2] tma to tensor_core [barriers(0)] [: types]
ParseResult nvfp4::warpspec::parsePipeline(
    OpAsmParser &parser, Operands &buffers, Types &types, IntegerAttr &depth,
    AgentAttr &producer, AgentAttr &consumer, IntegerAttr &barriers) {
  Builder &builder = parser.getBuilder();
  if (parser.parseOperandList(buffers, OpAsmParser::Delimiter::Paren))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  int64_t slots = 0;
  if (succeeded(parser.parseOptionalKeyword("depth")) &&
      parser.parseInteger(slots))
    return failure();
  FailureOr<Agent> from = FieldParser<Agent>::parse(parser);
  if (failed(from) || parser.parseKeyword("to"))
    return failure();
  FailureOr<Agent> to = FieldParser<Agent>::parse(parser);
  if (failed(to))
    return failure();
  producer = AgentAttr::get(builder.getContext(), *from);
  consumer = AgentAttr::get(builder.getContext(), *to);
  int32_t offset = 0;
  if (succeeded(parser.parseOptionalKeyword("barriers"))) {
    if (parser.parseLParen() || parser.parseInteger(offset) ||
        parser.parseRParen())
      return failure();
    barriers = builder.getI32IntegerAttr(offset);
  }
  if (!buffers.empty()) {
    if (parser.parseColonTypeList(types))
      return failure();
    auto first = dyn_cast<MemRefType>(types.front());
    if (first && first.getRank() > 0)
      slots = first.getDimSize(0);
  }
  if (slots < 1)
    return parser.emitError(loc,
                            "expected buffers with a leading dimension, or "
                            "a depth of at least 1");
  depth = builder.getI64IntegerAttr(slots);
  return success();
}

void nvfp4::warpspec::printPipeline(OpAsmPrinter &printer, Operation *,
                                    OperandRange buffers, TypeRange types,
                                    IntegerAttr depth, AgentAttr producer,
                                    AgentAttr consumer, IntegerAttr barriers) {
  printer << "(" << buffers << ") ";
  if (buffers.empty())
    printer << "depth " << depth.getInt() << " ";
  printer << stringifyAgent(producer.getValue()) << " to "
          << stringifyAgent(consumer.getValue());
  if (barriers)
    printer << " barriers(" << barriers.getInt() << ")";
  if (!buffers.empty())
    printer << " : " << types;
}

LogicalResult
PipelineOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                             ValueRange operands, DictionaryAttr attributes,
                             OpaqueProperties properties, RegionRange regions,
                             SmallVectorImpl<Type> &types) {
  PipelineOpAdaptor adaptor(operands, attributes, properties, regions);
  SmallVector<Type> slots;
  for (Value buffer : operands) {
    auto type = dyn_cast<MemRefType>(buffer.getType());
    if (!type || type.getRank() < 1 ||
        type.getDimSize(0) != static_cast<int64_t>(adaptor.getDepth()))
      return emitOptionalError(loc, "expected buffers of ", adaptor.getDepth(),
                               " slots in their leading dimension, but got ",
                               buffer.getType());
    slots.push_back(getSlotType(type));
  }
  auto emitError = [&] {
    return mlir::emitError(loc.value_or(UnknownLoc::get(context)));
  };
  PipelineType type = PipelineType::getChecked(
      emitError, context, static_cast<int64_t>(adaptor.getDepth()),
      ArrayRef<Type>(slots), adaptor.getProducer(), adaptor.getConsumer());
  if (!type)
    return failure();
  types.push_back(type);
  return success();
}

/// Slots follow one another, and each must begin where the agents that work
/// asynchronously, and the swizzle, allow it.
static LogicalResult verifySlotSize(PipelineOp pipeline, MemRefType buffer) {
  bool ofThreads = pipeline.getProducer() == Agent::Threads &&
                   pipeline.getConsumer() == Agent::Threads;
  if (pipeline.getDepth() == 1 || (ofThreads && getSwizzle(buffer) == 0))
    return success();
  int64_t size = getSharedBytes(getSlotType(buffer));
  int64_t alignment = getSharedAlignment(buffer);
  if (size % alignment == 0)
    return success();
  return pipeline.emitOpError("expected slots of a multiple of ")
         << alignment << " bytes, the alignment of " << buffer << ", but got "
         << size << "; the nearest is "
         << std::max<int64_t>(1, (size + alignment / 2) / alignment) *
                alignment;
}

void PipelineOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "pipeline");
}

LogicalResult PipelineOp::verify() {
  for (Value buffer : getBuffers()) {
    Operation *made = buffer.getDefiningOp();
    if (!isa_and_nonnull<SmemAllocOp, TmemAllocOp, TmemSliceOp>(made))
      return emitOpError("expected buffers of smem_alloc, tmem_alloc or "
                         "tmem_slice, but got one of ")
             << (made ? made->getName().getStringRef() : "a block argument");
    if (Operation *origin = getOrigin(buffer).getDefiningOp();
        !isa_and_nonnull<SmemAllocOp, TmemAllocOp>(origin)) {
      InFlightDiagnostic diag =
          emitOpError("expected slices of one tmem_alloc, but got those of ");
      if (origin)
        diag << origin->getName() << "; cover its parts instead";
      else
        diag << "a value that is passed on";
      return diag;
    }
    auto type = cast<MemRefType>(buffer.getType());
    if (isSmem(type) ? failed(verifySlotSize(*this, type))
                     : failed(verifyTmem(*this, getSlotType(type))))
      return failure();
  }
  if (std::optional<int32_t> offset = getBarriers();
      offset && (*offset < 0 || *offset % 8 != 0))
    return emitOpError("expected barriers at a multiple of 8, at least 0, but "
                       "got ")
           << *offset << "; the next is "
           << (*offset < 0 ? 0 : (int64_t(*offset) + 7) / 8 * 8);
  return success();
}

//===----------------------------------------------------------------------===//
// Opening and closing slots
//===----------------------------------------------------------------------===//

/// The token and the buffers of one slot.
static LogicalResult inferSlot(std::optional<Location> loc, ValueRange operands,
                               Type token, SmallVectorImpl<Type> &types) {
  if (operands.empty())
    return emitOptionalError(loc, "expected a pipeline, but got no operand");
  auto type = dyn_cast<PipelineType>(operands[0].getType());
  if (!type)
    return emitOptionalError(loc, "expected a pipeline, but got ",
                             operands[0].getType());
  types.push_back(token);
  llvm::append_range(types, type.getSlots());
  return success();
}

LogicalResult AcquireOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> loc,
                                          ValueRange operands, DictionaryAttr,
                                          OpaqueProperties, RegionRange,
                                          SmallVectorImpl<Type> &types) {
  return inferSlot(loc, operands, FillType::get(context), types);
}

LogicalResult WaitOp::inferReturnTypes(MLIRContext *context,
                                       std::optional<Location> loc,
                                       ValueRange operands, DictionaryAttr,
                                       OpaqueProperties, RegionRange,
                                       SmallVectorImpl<Type> &types) {
  return inferSlot(loc, operands, DrainType::get(context), types);
}

LogicalResult nvfp4::warpspec::verifyUse(Operation *op, Value pipeline,
                                         Value stage, Value phase) {
  if (!getPipelineOp(pipeline))
    return op->emitOpError("expected a pipeline of the kernel, not one that is "
                           "passed on");
  if (static_cast<bool>(stage) != static_cast<bool>(phase))
    return op->emitOpError(
               "expected stage and phase together, but got only the ")
           << (stage ? "stage" : "phase");
  if (op->getParentOfType<RolesOp>())
    return success();
  if (op->getParentOfType<KernelOp>().getRoles())
    return op->emitOpError("expected to be inside a role, but got an operation "
                           "of the kernel beside its roles");
  // Bulk groups are waited for without a barrier.
  auto type = cast<PipelineType>(pipeline.getType());
  bool isOfGroups = isa<DrainAllOp>(op) && type.getConsumer() == Agent::Tma;
  if (!stage && !isOfGroups)
    return op->emitOpError("expected to be inside a role, or, after "
                           "warpspec-lower-roles, to have a stage and a phase");
  return success();
}

LogicalResult AcquireOp::verify() {
  return verifyUse(*this, getPipeline(), getStage(), getPhase());
}
LogicalResult WaitOp::verify() {
  return verifyUse(*this, getPipeline(), getStage(), getPhase());
}
LogicalResult TryAcquireOp::verify() {
  return verifyUse(*this, getPipeline(), getStage(), getPhase());
}
LogicalResult TryWaitOp::verify() {
  return verifyUse(*this, getPipeline(), getStage(), getPhase());
}
LogicalResult DrainAllOp::verify() {
  return verifyUse(*this, getPipeline(), getStage(), getPhase());
}

PipelineOp CommitOp::getPipeline() { return getPipelineOf(getToken()); }
PipelineOp ReleaseOp::getPipeline() { return getPipelineOf(getToken()); }

static LogicalResult verifyClose(Operation *op, PipelineOp pipeline,
                                 StringRef opener) {
  if (!pipeline)
    return op->emitOpError("expected a token that ") << opener << " made";
  return success();
}
LogicalResult CommitOp::verify() {
  return verifyClose(*this, getPipeline(), "acquire");
}
LogicalResult ReleaseOp::verify() {
  return verifyClose(*this, getPipeline(), "wait");
}
