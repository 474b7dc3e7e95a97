//===- WarpSpecInterfaces.td - Op interfaces ---------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one interface through which counts, bytes and fences are derived. Passes
// name operations only where structure is meant: hand-over, loops and branches,
// fences themselves, and mma_decoded, which hands over many slots.
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
      "return $_op.getAgent() != ::nvfp4::warpspec::Agent::Threads;">
  ];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_INTERFACES_TD
