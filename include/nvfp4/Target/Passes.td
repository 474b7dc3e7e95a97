//===- Passes.td - Passes that give modules an ABI ---------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What makes a module callable from outside: the description of its functions
// for the runtime, and one entry for each with a uniform signature.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_TARGET_PASSES_TD
#define NVFP4_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def PackEntryPointsPass
    : Pass<"nvfp4-pack-entry-points", "::mlir::ModuleOp"> {
  let summary = "let public functions take tensors of f4E2M1FN as packed bytes";
  let description = [{
    A public function with a body gets, for each argument that is a ranked
    tensor of f4E2M1FN, one of i8 with half the last extent: two neighbours along
    it are a byte, the first in the low half, as the values of `scaled` are. The
    body unpacks the bytes. `raise-to-grouped-scaled-gemm`, which comes after,
    looks through that: products with K along the last axis read the bytes.

    Refuses odd last extents, and functions that the module itself uses.
    Afterwards no public function with a body takes a tensor of f4E2M1FN that has
    a dimension and no encoding; results, memrefs and scalars are what they were.

    Before:

    ```mlir
    func.func @f(%x: tensor<4x64xf4E2M1FN>) -> tensor<4x64xf4E2M1FN> {
      return %x : tensor<4x64xf4E2M1FN>
    }
    ```

    After:

    ```mlir
    func.func @f(%x: tensor<4x32xi8>) -> tensor<4x64xf4E2M1FN> {
      %empty = tensor.empty() : tensor<4x64xf4E2M1FN>
      %values = linalg.generic {
          indexing_maps = [affine_map<(m, k) -> (m, k floordiv 2)>, affine_map<(m, k) -> (m, k)>],
          iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<4x32xi8>) outs(%empty : tensor<4x64xf4E2M1FN>) {
      ^bb0(%byte: i8, %_: f4E2M1FN):
        %k = linalg.index 1 : index
        %c2 = arith.constant 2 : index
        %half = arith.remui %k, %c2 : index
        %low = arith.index_cast %half : index to i8
        %c4 = arith.constant 4 : i8
        %shift = arith.muli %low, %c4 : i8
        %shifted = arith.shrui %byte, %shift : i8
        %code = arith.trunci %shifted : i8 to i4
        %value = arith.bitcast %code : i4 to f4E2M1FN
        linalg.yield %value : f4E2M1FN
      } -> tensor<4x64xf4E2M1FN>
      return %values : tensor<4x64xf4E2M1FN>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def DeclareEntryPointsPass
    : Pass<"nvfp4-declare-entry-points", "::mlir::ModuleOp"> {
  let summary = "make public functions callable from outside and describe them";
  let description = [{
    Every public function with a body becomes an entry point of the artefact:
    it gets the C interface (`llvm.emit_c_interface`), and its tensor arguments
    become read-only for bufferization, so that calls have value semantics.
    What a caller must pass is written as JSON into the constant
    `nvfp4_metadata`, from which the runtime checks each call. It says the
    `target` as well, whose bounds `nvfp4-run` compares results with.

    Accepts modules without values of type `scaled` (run it right after
    `gsg-decompose-scaled`, whose attributes of arguments and results name the
    scaled types). Afterwards no function has these attributes: what they said
    is in the description.

    Arguments and results of entry points must be ranked tensors, memrefs of
    identity layout, integers, floats or `index`; others are errors.

    Before:

    ```mlir
    func.func @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
      %y = arith.addf %x, %x : tensor<?xf32>
      return %y : tensor<?xf32>
    }
    ```

    After:

    ```mlir
    llvm.mlir.global external constant @nvfp4_metadata("{\"device\":\"cpu\",...}\00")
    func.func @twice(%x: tensor<?xf32> {bufferization.writable = false})
        -> tensor<?xf32> attributes {llvm.emit_c_interface} {
      %y = arith.addf %x, %x : tensor<?xf32>
      return %y : tensor<?xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"",
           "what products are compiled for, which the description says">,
    Option<"memory", "memory", "std::string", /*default=*/"\"host\"",
           "where tensors are: host or device, which the description says">
  ];
}

def EmitEntryPointsPass
    : Pass<"nvfp4-emit-entry-points", "::mlir::ModuleOp"> {
  let summary = "emit one uniform entry per callable function";
  let description = [{
    For every function `_mlir_ciface_f` with a body emits
    `void nvfp4_entry_f(void **values)`, by which the runtime calls f without
    knowing its signature: `values` holds one pointer an argument, to the memref
    descriptor or to the scalar, and then, if f returns anything, a pointer to
    storage for the results (a struct of descriptors and scalars in order).
    Private functions with a body become internal to the object.

    Accepts modules in the LLVM dialect; changes nothing else.

    Before:

    ```mlir
    llvm.func @f(%x: i32) -> f32
    llvm.func @_mlir_ciface_f(%x: i32) -> f32 attributes {llvm.emit_c_interface} {
      %r = llvm.call @f(%x) : (i32) -> f32
      llvm.return %r : f32
    }
    ```

    After, in addition:

    ```mlir
    llvm.func @_mlir_ciface_f(i32) -> f32
    llvm.func @nvfp4_entry_f(%values: !llvm.ptr) {
      %p = llvm.load %values : !llvm.ptr -> !llvm.ptr
      %x = llvm.load %p : !llvm.ptr -> i32
      %r = llvm.call @_mlir_ciface_f(%x) : (i32) -> f32
      %q = llvm.getelementptr %values[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %s = llvm.load %q : !llvm.ptr -> !llvm.ptr
      llvm.store %r, %s : f32, !llvm.ptr
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExportFunctionsPass : Pass<"nvfp4-export-functions", "::mlir::ModuleOp"> {
  let summary = "export functions by the conventions of other systems";
  let description = [{
    For every function `nvfp4_entry_f` with a body emits the symbols by which
    other systems find f in a shared object. Their code hands the arguments to
    the runtime (nvfp4_exports.h), together with the name of the function and
    the table `nvfp4_artefact` of the module's description, kernels and entries:

    | symbol | system |
    |---|---|
    | `__tvm_ffi_f`, `__tvm_ffi__doc_f` | tvm-ffi |
    | `nvfp4_xla_ffi_f` | XLA, as a handler of custom calls |

    The shared object has no code that runs when it is unloaded; the runtime
    keeps it loaded after the first call by one of these symbols. Accepts
    modules in the LLVM dialect; those without the description
    `nvfp4_metadata` are left as they are.

    Before:

    ```mlir
    llvm.mlir.global external constant @nvfp4_metadata("{}\00")
    llvm.func @nvfp4_entry_f(%values: !llvm.ptr) {
      llvm.return
    }
    ```

    After, in addition:

    ```mlir
    llvm.mlir.global internal constant @nvfp4_name_f("f\00")
    llvm.mlir.global internal @nvfp4_artefact() : !llvm.array<7 x ptr> {
      %nulls = llvm.mlir.zero : !llvm.array<7 x ptr>
      // Here the names and addresses are inserted.
      llvm.return %nulls : !llvm.array<7 x ptr>
    }
    llvm.func @nvfp4_tvm_ffi_call(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
    llvm.func @__tvm_ffi_f(%self: !llvm.ptr, %arguments: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 {
      %artefact = llvm.mlir.addressof @nvfp4_artefact : !llvm.ptr
      %name = llvm.mlir.addressof @nvfp4_name_f : !llvm.ptr
      %status = llvm.call @nvfp4_tvm_ffi_call(%artefact, %name, %self, %arguments, %count, %result)
          : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
      llvm.return %status : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def EmbedKernelsPass : Pass<"nvfp4-embed-kernels", "::mlir::ModuleOp"> {
  let summary = "make code of kernels and constants of the code";
  let description = [{
    Accepts modules whose `gpu.module`s hold functions of the LLVM and NVVM
    dialects. Afterwards there is no `gpu.module`. For a module `@m` the declared
    constant `@m_image` is defined: its PTX, with a zero at the end; for a kernel
    `@k` with `nvvm.reqntid` and a `warpspec.kernel_info` `@k_threads`,
    `@k_shared_bytes` and `@k_flags`: NVFP4_LAUNCH_COOPERATIVE if its blocks wait
    for one another (`cooperative`), else
    NVFP4_LAUNCH_PROGRAMMATIC if it waits for the launch before it
    (`griddepcontrol.wait`). What is not declared is not made.

    A declared `@m_k_entry`, by which `convert-gpu-host-to-llvm` starts kernel
    `@k`, becomes its nvfp4_kernel_entry: image, name, threads, shared memory,
    cluster and the flags above. Kernels have images of their own, unless they
    refer to the same definition. `@nvfp4_kernels` lists all of these for the
    runtime. LLVM and ptxas work on several kernels at once where the context
    has threads.

    `target` is the GPU: sm_90a, sm_100a, sm_103a or sm_100f. With `assemble` an
    image is a fat binary of the PTX and of the machine code that NVIDIA's ptxas
    makes of it.

    Before:

    ```mlir
    llvm.mlir.global external constant @k_threads() : i32
    gpu.module @kernels {
      warpspec.kernel_info @k shared_bytes(0)
      llvm.func @k() attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>} {
        llvm.return
      }
    }
    ```

    After:

    ```mlir
    llvm.mlir.global internal constant @k_threads(32 : i32) : i32
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_100a\"",
           "sm_90a, sm_100a, sm_103a or sm_100f">,
    Option<"assemble", "assemble", "bool", /*default=*/"false",
           "images hold machine code beside the PTX; needs NVIDIA's ptxas">
  ];
}

#endif // NVFP4_TARGET_PASSES_TD
