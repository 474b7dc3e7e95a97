//===- WarpSpecTypes.td - Types ----------------------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pipelines, the tokens of their slots while these are open, and tensor maps:
// what roles hand to each other, and what copies through TMA name.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_TYPES_TD
#define NVFP4_DIALECT_WARPSPEC_IR_TYPES_TD

include "nvfp4/Dialect/WarpSpec/IR/WarpSpecAttrs.td"

class WarpSpec_Type<string name, string typeMnemonic>
    : TypeDef<WarpSpec_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def WarpSpec_PipelineType : WarpSpec_Type<"Pipeline", "pipeline"> {
  let summary = "ring of slots that one agent fills and another drains";
  let description = [{
    `depth` slots, each a tuple of buffers, and the two agents. The agents
    decide what the four hand-over operations become; nothing else does.

    Example:

    ```mlir
    func.func private @f(!warpspec.pipeline<4 x (memref<128x128xi8, #warpspec.smem<128>>,
        memref<4x512xi8, #warpspec.smem>), tma to tensor_core>)
    ```
  }];
  let parameters = (ins
    "int64_t":$depth,
    ArrayRefParameter<"::mlir::Type", "buffers of one slot">:$slots,
    EnumParameter<WarpSpec_Agent>:$producer,
    EnumParameter<WarpSpec_Agent>:$consumer);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def WarpSpec_FillType : WarpSpec_Type<"Fill", "fill"> {
  let summary = "right and duty to fill one slot";
  let description = [{
    Made by `acquire`, closed exactly once on every path by `commit`.

    Example:

    ```mlir
    func.func private @f(!warpspec.fill)
    ```
  }];
}

def WarpSpec_DrainType : WarpSpec_Type<"Drain", "drain"> {
  let summary = "right and duty to drain one slot";
  let description = [{
    Made by `wait`, closed exactly once on every path by `release`. May be
    carried to a later iteration of a loop.

    Example:

    ```mlir
    func.func private @f(!warpspec.drain)
    ```
  }];
}

def WarpSpec_TensorMapType : WarpSpec_Type<"TensorMap", "tensor_map"> {
  let summary = "TMA descriptor whose box has this shape";
  let description = [{
    128 opaque bytes that the host (or a kernel) has encoded. The type names
    what the kernel must know of it: the box that one copy moves, outermost
    dimension first, its element type, and its swizzle. Elements of type
    `f4E2M1FN` are stored with padding (16 values in 16 bytes) as
    `mxf8f6f4` reads them; packed FP4 is `i8`, two values in each. An extent of
    the box but the innermost may be open, `?`: the host chooses it.

    Example:

    ```mlir
    func.func private @f(!warpspec.tensor_map<128x128xi8, swizzle = 128>,
                         !warpspec.tensor_map<1x4x256xi16>)
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"int64_t", "box, outermost first">:$shape,
    "::mlir::Type":$elementType,
    DefaultValuedParameter<"unsigned", "0">:$swizzle);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// Bytes that one copy adds to the transaction count of its barrier.
    /// Padded FP4 counts packed bytes. Open extents count as 1.
    int64_t getTransactionBytes() const;
    bool hasOpenExtents() const {
      return ::mlir::ShapedType::isDynamicShape(getShape());
    }
    /// Bytes that one box takes in shared memory; its extents are known.
    int64_t getSharedBytes() const;
  }];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_TYPES_TD
