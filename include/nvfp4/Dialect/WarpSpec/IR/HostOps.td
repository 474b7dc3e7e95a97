//===- HostOps.td - The host's side of kernels -------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands beside upstream's gpu.alloc, gpu.memcpy, gpu.memset, gpu.dealloc
// and gpu.wait in functions that launch kernels, for what upstream lacks.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_HOSTOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_HOSTOPS_TD

include "mlir/Dialect/GPU/IR/GPUBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecAttrs.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

def WarpSpec_DeviceMemRef : Type<
    CPred<"::nvfp4::isDeviceMemory($_self)">,
    "memref in memory of the device, #gpu.address_space<global>",
    "::mlir::MemRefType">;

def WarpSpec_EncodeTensorMapOp : WarpSpec_Op<"encode_tensor_map", [Pure,
    AttrSizedOperandSegments]> {
  let summary = "tensor map of device memory";
  let description = [{
    Describes a tensor at the address of `memory` to TMA: `sizes` in elements
    and `strides` in bytes, outermost dimension first, the last of which has no
    stride, for its elements follow each other. The type says the box that one
    copy moves, the type of the elements and the swizzle; `box` has the extents
    that the type leaves open. The address is part of the map. A tensor without
    elements is one of zeros.

    A size that is no coordinate of 32 bits fails the call. TMA wants the
    address and the strides to be multiples of 16 bytes.

    Example:

    ```mlir
    func.func @f(%a: memref<?x64xi8, #gpu.address_space<global>>, %rows: index) {
      %map = warpspec.encode_tensor_map %a sizes [%rows, 64] strides [64]
          : memref<?x64xi8, #gpu.address_space<global>>
          to !warpspec.tensor_map<128x64xi8, swizzle = 64>
      return
    }
    ```
  }];
  let arguments = (ins WarpSpec_DeviceMemRef:$memory,
                       Variadic<Index>:$sizes, Variadic<Index>:$strides,
                       Variadic<Index>:$box, DenseI64ArrayAttr:$static_sizes,
                       DenseI64ArrayAttr:$static_strides);
  let results = (outs WarpSpec_TensorMapType:$result);
  let assemblyFormat = [{
    $memory `sizes` custom<DynamicIndexList>($sizes, $static_sizes)
    `strides` custom<DynamicIndexList>($strides, $static_strides)
    (`box` `(` $box^ `)`)? attr-dict `:` type($memory) `to` type($result)
  }];
  let builders = [OpBuilder<(ins "TensorMapType":$type, "::mlir::Value":$memory,
    "::llvm::ArrayRef<::mlir::OpFoldResult>":$sizes,
    "::llvm::ArrayRef<::mlir::OpFoldResult>":$strides,
    CArg<"::mlir::ValueRange", "{}">:$box)>];
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::OpFoldResult> getMixedSizes();
    ::llvm::SmallVector<::mlir::OpFoldResult> getMixedStrides();
  }];
}

def WarpSpec_LaunchOp : WarpSpec_Op<"launch", [GPU_AsyncOpInterface,
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "start a kernel whose blocks share tiles of work";
  let description = [{
    Starts as many blocks as there are tiles, but no more than the device runs
    at a time in whole clusters; without tiles none. Threads, shared memory,
    clusters and whether blocks wait for one another or may start early are the
    kernel's.

    Parameters are passed by value: tensor maps, floats, integers, and of device
    memory the address of the first element. An `index` becomes a parameter of
    32 bits; one that has not room there fails the call. Memory that the kernel
    `writes` is marked; it reads that too.

    Example:

    ```mlir
    gpu.module @kernels {
      warpspec.kernel @scale(%x: memref<?xf32, 1>, %n: i32) {
        warpspec.roles
        role @work warps(4) {
        }
      }
    }
    func.func @f(%x: memref<?xf32, #gpu.address_space<global>>, %n: index) {
      %t0 = gpu.wait async
      %t1 = warpspec.launch async [%t0] @kernels::@scale tiles(%n)
          (writes %x, %n : memref<?xf32, #gpu.address_space<global>>, index)
      gpu.wait [%t1]
      return
    }
    ```
  }];
  let arguments = (ins Variadic<GPU_AsyncToken>:$asyncDependencies,
                       SymbolRefAttr:$kernel, Index:$tiles,
                       Variadic<AnyType>:$parameters,
                       DenseI32ArrayAttr:$written);
  let results = (outs Optional<GPU_AsyncToken>:$asyncToken);
  let assemblyFormat = [{
    custom<AsyncTokens>(type($asyncToken), $asyncDependencies)
    $kernel `tiles` `(` $tiles `)` ``
    custom<Parameters>($parameters, type($parameters), $written) attr-dict
  }];
}

def WarpSpec_WriteTableOp : WarpSpec_Op<"write_table", [GPU_AsyncOpInterface,
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "store parameters of several problems to device memory";
  let description = [{
    Each of `rows` rows has the same number of values. The numbers and addresses
    of a row fill its first entry of 128 bytes in order, each at a multiple of
    its size: an `index` as 32 bits, which fails the call without room there, an
    address as 64. An entry for each tensor map follows. Values are part of the
    work, so that a graph which captures it keeps them.

    Example:

    ```mlir
    !map = !warpspec.tensor_map<128x64xi8, swizzle = 64>
    func.func @f(%table: memref<4x128xi8, #gpu.address_space<global>>,
                 %x: memref<8xf32, #gpu.address_space<global>>, %n: index, %map: !map) {
      %t0 = gpu.wait async
      %t1 = warpspec.write_table async [%t0] %table rows(2)
          (%n, %x, %map, %n, %x, %map
            : index, memref<8xf32, #gpu.address_space<global>>, !map,
              index, memref<8xf32, #gpu.address_space<global>>, !map)
          : memref<4x128xi8, #gpu.address_space<global>>
      gpu.wait [%t1]
      return
    }
    ```
  }];
  let arguments = (ins Variadic<GPU_AsyncToken>:$asyncDependencies,
                       WarpSpec_DeviceMemRef:$table,
                       ConfinedAttr<I32Attr, [IntPositive]>:$rows,
                       Variadic<AnyType>:$values);
  let results = (outs Optional<GPU_AsyncToken>:$asyncToken);
  let assemblyFormat = [{
    custom<AsyncTokens>(type($asyncToken), $asyncDependencies)
    $table `rows` `(` $rows `)` `(` $values `:` type($values) `)` attr-dict
    `:` type($table)
  }];
  let extraClassDeclaration = [{
    /// The values of row `row`.
    ::mlir::OperandRange getRow(int64_t row);
    /// Entries of a row: one of numbers and addresses, and its maps.
    int64_t getRowEntries();
  }];
}

def WarpSpec_ResultOp : WarpSpec_Op<"result"> {
  let summary = "device memory of a result of the function";
  let description = [{
    The memory that the caller has for result `index` of the running call, or
    new memory that becomes the caller's. Its extents are known before any work
    is done: a caller can ask for them. The function returns the memory and does
    not free it.

    Example:

    ```mlir
    func.func @f(%n: index) -> memref<?x64xf32, #gpu.address_space<global>> {
      %y = warpspec.result 0(%n) : memref<?x64xf32, #gpu.address_space<global>>
      return %y : memref<?x64xf32, #gpu.address_space<global>>
    }
    ```
  }];
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative]>:$index,
                       Variadic<Index>:$dynamicSizes);
  let results = (outs Res<WarpSpec_DeviceMemRef, "", [MemAlloc]>:$memref);
  let assemblyFormat = [{
    $index `(` $dynamicSizes `)` attr-dict `:` type($memref)
  }];
}

def WarpSpec_DataRecordOp : WarpSpec_Op<"data_record", [Pure]> {
  let summary = "where kernels of the running call record bad data";
  let description = [{
    The address of the 64 bytes (`nvfp4_data_record`) that hold the first
    violation, in memory that host and device share. A kernel that finds one
    exchanges their first word, if it is 0, for the address of its check
    (`data_checks`), and then stores the rest. A kernel gets the address as a
    parameter: the operation stands on the host.

    Example:

    ```mlir
    func.func @f() -> i64 {
      %record = warpspec.data_record
      return %record : i64
    }
    ```
  }];
  let results = (outs I64:$address);
  let assemblyFormat = "attr-dict";
}

def WarpSpec_DataChecksOp : WarpSpec_Op<"data_checks", [Pure]> {
  let summary = "descriptions of the checks of a kernel";
  let description = [{
    The address of constants of the artefact (`nvfp4_data_check`), one of 48
    bytes for each check. `place` names the place in the program.

    Example:

    ```mlir
    func.func @f() -> i64 {
      %checks = warpspec.data_checks "layer.mlir:7:3: grouped_scaled_gemm.permute"
          [#warpspec.data_check<index, "permute_c4", "token_of_row">]
      return %checks : i64
    }
    ```
  }];
  let arguments = (ins StrAttr:$place, WarpSpec_DataCheckArrayAttr:$checks);
  let results = (outs I64:$address);
  let assemblyFormat = "$place $checks attr-dict";
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_HOSTOPS_TD
