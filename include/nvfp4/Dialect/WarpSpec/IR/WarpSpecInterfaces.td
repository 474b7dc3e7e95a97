//===- WarpSpecInterfaces.td - Op interfaces ---------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interfaces through which counts, bytes, fences and stages are derived.
// Passes name operations only where structure is meant: the tokens of hand-over,
// loops and branches, and fences themselves.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_INTERFACES_TD
#define NVFP4_DIALECT_WARPSPEC_IR_INTERFACES_TD

include "mlir/IR/OpBase.td"

def WarpSpec_AgentOpInterface : OpInterface<"AgentOpInterface"> {
  let cppNamespace = "::nvfp4::warpspec";
  let description = [{
    An operation by which an agent acts on buffers or on a pipeline. Arrival
    counts, expected bytes, fences and the choice of the issuing thread are
    derived from these methods alone.
  }];
  let methods = [
    InterfaceMethod<"The agent that carries the operation out, and whose "
                    "completion ends it.",
      "::nvfp4::warpspec::Agent", "getAgent">,
    InterfaceMethod<"The buffers that are read and written.",
      "void", "getAccesses",
      (ins "::llvm::SmallVectorImpl<::nvfp4::warpspec::BufferAccess> &":$accesses),
      "", "">,
    InterfaceMethod<"The fill whose full barrier counts the bytes of this "
                    "operation, or null.",
      "::mlir::Value", "getCountedFill", (ins), "", "return {};">,
    InterfaceMethod<"Bytes counted on that barrier.",
      "int64_t", "getTransactionBytes", (ins), "", "return 0;">,
    InterfaceMethod<"What these bytes are to be multiplied with, i32; null "
                    "stands for 1.",
      "::mlir::Value", "getTransactionCount", (ins), "", "return {};">,
    InterfaceMethod<"The global memory that an asynchronous copy writes, where "
                    "it is known by another name than that of its tensor map.",
      "::mlir::Value", "getWrittenMemory", (ins), "", "return {};">,
    InterfaceMethod<"True if one thread of the role issues the operation; "
                    "otherwise every thread of the role takes part.",
      "bool", "isIssuedByOneThread", (ins), "",
      "return $_op.getAgent() != ::nvfp4::warpspec::Agent::Threads;">,
    InterfaceMethod<"True if the operation numbers the threads of its "
                    "warpgroups from the first of the block, where its role "
                    "must begin.",
      "bool", "isOfFirstWarpgroups", (ins), "", "return false;">
  ];
}

def WarpSpec_PipelineEndOpInterface : OpInterface<"PipelineEndOpInterface"> {
  let cppNamespace = "::nvfp4::warpspec";
  let description = [{
    An operation of a role at one end of a pipeline: it opens the next slots of
    the ring, or asks for them. `stage` and `phase` are those of the first. They
    are threaded through a role, and arrivals are counted, by these methods
    alone.
  }];
  let methods = [
    InterfaceMethod<"The pipeline.",
      "::mlir::TypedValue<::nvfp4::warpspec::PipelineType>", "getPipeline">,
    InterfaceMethod<"True at the producer's end.", "bool", "fillsSlots">,
    InterfaceMethod<"True if slots are opened, so that the next operation at "
                    "this end works on others.",
      "bool", "opensSlots">,
    InterfaceMethod<"The stage of the slot, i32, if it is known.",
      "::mlir::MutableOperandRange", "getStageMutable">,
    InterfaceMethod<"The phase of the slot, i32, if it is known.",
      "::mlir::MutableOperandRange", "getPhaseMutable">,
    InterfaceMethod<"Stage and phase for the next operation at this end, built "
                    "after this one, whose own are known.",
      "::nvfp4::warpspec::RingPosition", "getNextPosition",
      (ins "::mlir::OpBuilder &":$builder), "", [{
        return ::nvfp4::warpspec::buildNextPosition($_op, builder);
      }]>
  ];
  let extraClassDeclaration = [{
    ::nvfp4::warpspec::PipelineEnd getEnd() {
      return {getPipeline(), fillsSlots()};
    }
    /// True once stages have been materialised.
    bool hasPosition() { return !getStageMutable().empty(); }
    void setPosition(::nvfp4::warpspec::RingPosition position) {
      getStageMutable().assign(position.stage);
      getPhaseMutable().assign(position.phase);
    }
  }];
}

def WarpSpec_SlotLoopOpInterface : OpInterface<"SlotLoopOpInterface",
    [WarpSpec_PipelineEndOpInterface]> {
  let cppNamespace = "::nvfp4::warpspec";
  let description = [{
    An operation at the consumer's end that is a loop: for each step it waits for
    a slot and releases one. Threads have read what it releases, without a fence
    after their reads, so the role that fills the slot again orders its writes
    after them.
  }];
  let methods = [
    InterfaceMethod<"The first step.", "::mlir::Value", "getFrom">,
    InterfaceMethod<"The step after the last; none if it is not above the first.",
      "::mlir::Value", "getTo">
  ];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_INTERFACES_TD
