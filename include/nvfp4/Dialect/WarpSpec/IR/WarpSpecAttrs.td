//===- WarpSpecAttrs.td - Attributes -----------------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory spaces of buffers, with what of a layout must be part of the type so
// that writer and reader cannot disagree.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_ATTRS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecEnums.td"

def WarpSpec_SmemAttr : AttrDef<WarpSpec_Dialect, "Smem"> {
  let mnemonic = "smem";
  let summary = "shared memory, with the swizzle of a buffer";
  let description = [{
    Memory space of a buffer in shared memory. `swizzle` is the span in bytes
    (32, 64 or 128) within which 16-byte pieces are permuted by the row: what
    TMA writes and what the tensor core reads. 0, the default, is none. As it
    is part of the type, the writer and the reader of a tile cannot disagree.

    A swizzled buffer has rows (its last dimension) of exactly one span.

    Example:

    ```mlir
    func.func private @f(memref<4x128x128xi8, #warpspec.smem<128>>,
                         memref<4x4x512xi8, #warpspec.smem>)
    ```
  }];
  let parameters = (ins DefaultValuedParameter<"unsigned", "0">:$swizzle);
  let assemblyFormat = "(`<` $swizzle^ `>`)?";
  let genVerifyDecl = 1;
}

def WarpSpec_TmemAttr : AttrDef<WarpSpec_Dialect, "Tmem"> {
  let mnemonic = "tmem";
  let summary = "tensor memory";
  let description = [{
    Memory space of a buffer in tensor memory. Such a memref has elements of 32
    bits, 128 lanes as its last dimension but one, and columns as its last.

    Example:

    ```mlir
    func.func private @f(memref<2x128x128xf32, #warpspec.tmem>)
    ```
  }];
}

def WarpSpec_DataCheckAttr : AttrDef<WarpSpec_Dialect, "DataCheck"> {
  let mnemonic = "data_check";
  let summary = "a constraint on data that a kernel checks";
  let description = [{
    `label` is the constraint's in docs/Spec.md and `what` the operand, for the
    message; `groups` and `factor` have messages of their own. The numbers are by
    kind: for `groups` 0 for ends, 1 for starts or 2 for counts, and the
    alignment; for `factor` the format of packed weights; for `weights` how many
    powers of two their scales may be apart; none for others.

    Example:

    ```mlir
    func.func private @f() attributes {check = #warpspec.data_check<index, "permute_c4", "token_of_row">}
    ```
  }];
  let parameters = (ins EnumParameter<WarpSpec_DataKind>:$kind,
                        StringRefParameter<"the constraint">:$label,
                        StringRefParameter<"the operand">:$what,
                        OptionalArrayRefParameter<"int64_t">:$numbers);
  let assemblyFormat =
      "`<` $kind `,` $label `,` $what (`,` `[` $numbers^ `]`)? `>`";
  let genVerifyDecl = 1;
}

def WarpSpec_DataCheckArrayAttr : TypedArrayAttrBase<
    WarpSpec_DataCheckAttr, "checks of data"> {
  let constBuilderCall = "$_builder.getArrayAttr($0)";
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_ATTRS_TD
