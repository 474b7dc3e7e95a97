//===- WarpSpecBase.td - Op base classes and constraints ---*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the definitions of operations share: constraints on where a buffer lies,
// and the classes they derive from.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_BASE_TD
#define NVFP4_DIALECT_WARPSPEC_IR_BASE_TD

include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecInterfaces.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecTypes.td"

def WarpSpec_IsSmem : CPred<
    "::llvm::isa_and_nonnull<::nvfp4::warpspec::SmemAttr>("
    "::llvm::cast<::mlir::MemRefType>($_self).getMemorySpace())">;
def WarpSpec_IsTmem : CPred<
    "::llvm::isa_and_nonnull<::nvfp4::warpspec::TmemAttr>("
    "::llvm::cast<::mlir::MemRefType>($_self).getMemorySpace())">;
def WarpSpec_IsMemRef : CPred<"::llvm::isa<::mlir::MemRefType>($_self)">;

def WarpSpec_SmemBuffer : Type<And<[WarpSpec_IsMemRef, WarpSpec_IsSmem]>,
    "buffer in shared memory", "::mlir::MemRefType">;
def WarpSpec_TmemBuffer : Type<And<[WarpSpec_IsMemRef, WarpSpec_IsTmem]>,
    "buffer in tensor memory", "::mlir::MemRefType">;
def WarpSpec_Buffer : Type<
    And<[WarpSpec_IsMemRef, Or<[WarpSpec_IsSmem, WarpSpec_IsTmem]>]>,
    "buffer in shared or tensor memory", "::mlir::MemRefType">;

class WarpSpec_Op<string mnemonic, list<Trait> traits = []>
    : Op<WarpSpec_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

/// Results have a name in IR: `%smem` rather than `%0`.
def WarpSpec_NamesResult
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>;
/// Arguments of regions have names in IR: `%group`, `%m`, `%n`.
def WarpSpec_NamesArguments
    : DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>;

/// An operation of an agent.
class WarpSpec_AgentOp<string mnemonic, list<Trait> traits = []>
    : WarpSpec_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<WarpSpec_AgentOpInterface>])>;

/// One that counts bytes on the full barrier of a fill.
class WarpSpec_CountedOp<string mnemonic, list<Trait> traits = []>
    : WarpSpec_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<WarpSpec_AgentOpInterface,
          ["getCountedFill", "getTransactionBytes"]>])>;

/// Which end of a pipeline an operation works on, and whether it opens slots.
class WarpSpec_End<bit fills, bit opens> {
  code methods = "bool fillsSlots() { return " # !if(fills, "true", "false")
      # "; }\nbool opensSlots() { return " # !if(opens, "true", "false")
      # "; }\n";
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_BASE_TD
