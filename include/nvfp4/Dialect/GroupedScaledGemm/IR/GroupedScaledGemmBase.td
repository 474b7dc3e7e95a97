//===- GroupedScaledGemmBase.td - Op base classes and type constraints ----===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the definitions of operations share: the element types they accept, as
// scaled values or as storage, and the classes they derive from.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_BASE_TD
#define NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_BASE_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmAttrs.td"
include "nvfp4/Dialect/GroupedScaledGemm/IR/GroupedScaledGemmTypes.td"

class Gsg_ShapedOf<list<Type> types>
    : AnyTypeOf<[RankedTensorOf<types>, MemRefOf<types>]>;

/// What products read and write in full precision.
def Gsg_Real : AnyTypeOf<[F32, F16, BF16]>;
def Gsg_RealShaped : Gsg_ShapedOf<[F32, F16, BF16]>;
def Gsg_F32Shaped : Gsg_ShapedOf<[F32]>;
def Gsg_I32Shaped : Gsg_ShapedOf<[I32]>;
/// A scalar, or one entry (or one pair of entries) a group.
def Gsg_F32OrShaped : AnyTypeOf<[F32, RankedTensorOf<[F32]>, MemRefOf<[F32]>]>;
/// Offsets or counts of groups (grouping_c12).
def Gsg_Offsets : Gsg_ShapedOf<[I32, I64]>;
def Gsg_AnyShaped : AnyTypeOf<[AnyRankedTensor, AnyMemRef]>;
/// A scaled value, or the values of one in storage form.
def Gsg_ScaledOrData : AnyTypeOf<[Gsg_ScaledType, AnyRankedTensor, AnyMemRef]>;
def Gsg_ScaledOrTensor : AnyTypeOf<[Gsg_ScaledType, AnyRankedTensor]>;

class Gsg_Op<string mnemonic, list<Trait> traits = []>
    : Op<GroupedScaledGemm_Dialect, mnemonic, traits>;

/// An op that writes its `outs`: pure on tensors, read and write effects on
/// memrefs. Destination style is attached as an external model
/// (IR/DestinationStyle.cpp): the trait's own verifier knows no result of
/// type `scaled`.
class Gsg_DestinationOp<string mnemonic, list<Trait> traits = []>
    : Gsg_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<ConditionallySpeculatable>])> {
  code destinationDeclaration = [{
    /// The operands that this op writes; contiguous and last.
    ::mlir::MutableOperandRange getDpsInitsMutable();
  }];
}

#endif // NVFP4_DIALECT_GROUPEDSCALEDGEMM_IR_BASE_TD
