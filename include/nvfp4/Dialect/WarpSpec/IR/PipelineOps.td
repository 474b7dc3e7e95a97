//===- PipelineOps.td - Pipelines and hand-over ------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pipelines and the four operations by which agents hand slots to each other:
// acquire and commit to fill, wait and release to drain.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_PIPELINEOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_PIPELINEOPS_TD

include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

def WarpSpec_PipelineOp : WarpSpec_Op<"pipeline", [
    HasParent<"KernelOp">, WarpSpec_NamesResult,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "ring of slots over buffers, between two agents";
  let description = [{
    The leading dimension of every buffer is the depth; the rest of them is one
    slot. Several pipelines may cover one buffer. A pipeline without buffers
    hands over nothing but the order and gives its `depth`.

    | pipeline                     | acquire                          | commit              | wait               | release                    |
    |------------------------------|----------------------------------|---------------------|--------------------|----------------------------|
    | `tma to tensor_core`         | wait empty, expect bytes on full | nothing             | wait full          | `tcgen05.commit` to empty  |
    | `tma to threads`             | same                             | nothing             | wait full          | one arrival a warp         |
    | `tensor_core to threads`     | wait empty                       | `tcgen05.commit` to full | wait full     | one arrival a warp         |
    | `threads to tensor_core`     | wait empty                       | one arrival a warp  | wait full          | `tcgen05.commit` to empty  |
    | `threads to threads`         | wait empty                       | one arrival a warp  | wait full          | one arrival a warp         |
    | `tensor_core to tensor_core` | wait empty                       | nothing             | nothing            | `tcgen05.commit` to empty  |
    | `threads to tma`             | wait for reads of bulk groups    | role barrier        | nothing            | commit the bulk group      |

    The last two are within one role: the tensor pipe, and the threads of a
    role, order the full side. Leading dimensions are equal; the pair of agents
    is one of the table; buffers in tensor memory are filled by `tensor_core` or
    `threads`.

    `barriers(offset)` is the place of the barriers in shared memory, set by
    `warpspec-plan-memory`: `depth` full barriers, then `depth` empty ones, of 8
    bytes each.

    Example:

    ```mlir
    warpspec.kernel @k() {
      %a = warpspec.smem_alloc : memref<4x128x128xi8, #warpspec.smem<128>>
      %in = warpspec.pipeline(%a) tma to tensor_core
          : memref<4x128x128xi8, #warpspec.smem<128>>
      %order = warpspec.pipeline() depth 2 threads to threads
    }
    ```
  }];
  let arguments = (ins Variadic<WarpSpec_Buffer>:$buffers,
    I64Attr:$depth,
    WarpSpec_AgentAttr:$producer,
    WarpSpec_AgentAttr:$consumer,
    OptionalAttr<I32Attr>:$barriers);
  let results = (outs WarpSpec_PipelineType:$result);
  let assemblyFormat = [{
    `` custom<Pipeline>($buffers, type($buffers), $depth, $producer, $consumer,
                     $barriers) attr-dict
  }];
}

class WarpSpec_OpenOp<string mnemonic, Type token, bit fills>
    : WarpSpec_AgentOp<mnemonic, [
        DeclareOpInterfaceMethods<InferTypeOpInterface>,
        WarpSpec_PipelineEndOpInterface, AttrSizedOperandSegments]> {
  let extraClassDeclaration = WarpSpec_End<fills, /*opens=*/1>.methods;
  let arguments = (ins WarpSpec_PipelineType:$pipeline, Optional<I32>:$stage,
                       Optional<I32>:$phase, Optional<I1>:$ready,
                       Optional<I1>:$issuer);
  let results = (outs token:$token, Variadic<WarpSpec_Buffer>:$slot);
  let assemblyFormat = [{
    $pipeline (`[` $stage^ `,` $phase `]`)? (`ready` `(` $ready^ `)`)?
    (`issuer` `(` $issuer^ `)`)? attr-dict `:` type($pipeline)
  }];
}

def WarpSpec_AcquireOp
    : WarpSpec_OpenOp<"acquire", WarpSpec_FillType, /*fills=*/1> {
  let summary = "wait for an empty slot and begin to fill it";
  let description = [{
    Slots are acquired in order, round and round. `stage` and `phase` are set by
    `warpspec-materialize-stages`; `issuer` by `warpspec-lower-roles` where one
    thread waits for all. `ready` is the result of a `try_acquire` just before:
    if true, nothing is waited for.

    The slot's buffers may be written until the fill is committed.

    Example:

    ```mlir
    !p = !warpspec.pipeline<2 x (memref<128x64xf32, #warpspec.tmem>), tensor_core to threads>
    warpspec.kernel @k() {
      %acc = warpspec.tmem_alloc : memref<2x128x64xf32, #warpspec.tmem>
      %out = warpspec.pipeline(%acc) tensor_core to threads
          : memref<2x128x64xf32, #warpspec.tmem>
      warpspec.roles
      role @mma warps(1) {
        %fill, %d = warpspec.acquire %out : !p
        warpspec.commit %fill
      }
      role @store warps(4) {
        %drain, %d = warpspec.wait %out : !p
        warpspec.release %drain
      }
    }
    ```
  }];
}

def WarpSpec_WaitOp
    : WarpSpec_OpenOp<"wait", WarpSpec_DrainType, /*fills=*/0> {
  let summary = "wait for a full slot and begin to drain it";
  let description = [{
    The mirror of `acquire`. The slot's buffers may be read (and, by a role that
    rewrites them in place, written) until the drain is released.

    Example:

    ```mlir
    !p = !warpspec.pipeline<2 x (), threads to threads>
    warpspec.kernel @k() {
      %order = warpspec.pipeline() depth 2 threads to threads
      warpspec.roles
      role @first warps(1) {
        %fill = warpspec.acquire %order : !p
        warpspec.commit %fill
      }
      role @second warps(1) {
        %drain = warpspec.wait %order : !p
        warpspec.release %drain
      }
    }
    ```
  }];
}

class WarpSpec_CloseOp<string mnemonic, Type type>
    : WarpSpec_AgentOp<mnemonic> {
  let arguments = (ins type:$token);
  let assemblyFormat = "$token attr-dict";
  let extraClassDeclaration = [{
    /// The pipeline whose slot is closed, or null if it cannot be told.
    PipelineOp getPipeline();
  }];
}

def WarpSpec_CommitOp : WarpSpec_CloseOp<"commit", WarpSpec_FillType> {
  let summary = "hand a filled slot to the consumer";
  let description = [{
    Takes effect when everything that the producer did to the slot has finished;
    asynchronous operations finish it by themselves.

    Example:

    ```mlir
    !p = !warpspec.pipeline<1 x (), threads to threads>
    warpspec.kernel @k() {
      %order = warpspec.pipeline() depth 1 threads to threads
      warpspec.roles
      role @first warps(1) {
        %fill = warpspec.acquire %order : !p
        warpspec.commit %fill
      }
      role @second warps(1) {
        %drain = warpspec.wait %order : !p
        warpspec.release %drain
      }
    }
    ```
  }];
}

def WarpSpec_ReleaseOp : WarpSpec_CloseOp<"release", WarpSpec_DrainType> {
  let summary = "hand a drained slot back to the producer";
  let description = [{
    Takes effect when everything that the consumer did with the slot has
    finished, asynchronous operations included.

    Example:

    ```mlir
    !p = !warpspec.pipeline<1 x (), threads to threads>
    warpspec.kernel @k() {
      %order = warpspec.pipeline() depth 1 threads to threads
      warpspec.roles
      role @first warps(1) {
        %fill = warpspec.acquire %order : !p
        warpspec.commit %fill
      }
      role @second warps(1) {
        %drain = warpspec.wait %order : !p
        warpspec.release %drain
      }
    }
    ```
  }];
}

class WarpSpec_TryOp<string mnemonic, bit fills> : WarpSpec_AgentOp<mnemonic, [
    WarpSpec_PipelineEndOpInterface, AttrSizedOperandSegments]> {
  let extraClassDeclaration = WarpSpec_End<fills, /*opens=*/0>.methods;
  let arguments = (ins WarpSpec_PipelineType:$pipeline, Optional<I32>:$stage,
                       Optional<I32>:$phase);
  let results = (outs I1:$ready);
  let assemblyFormat = [{
    $pipeline (`[` $stage^ `,` $phase `]`)? attr-dict `:` type($pipeline)
  }];
}

def WarpSpec_TryAcquireOp : WarpSpec_TryOp<"try_acquire", /*fills=*/1> {
  let summary = "ask whether the next slot is empty";
  let description = [{
    Never blocks and opens nothing. The answer may be given to the next
    `acquire` of the same pipeline; a false answer means nothing.

    Example:

    ```mlir
    !p = !warpspec.pipeline<1 x (), threads to threads>
    warpspec.kernel @k() {
      %order = warpspec.pipeline() depth 1 threads to threads
      warpspec.roles
      role @first warps(1) {
        %now = warpspec.try_acquire %order : !p
        %fill = warpspec.acquire %order ready(%now) : !p
        warpspec.commit %fill
      }
      role @second warps(1) {
        %drain = warpspec.wait %order : !p
        warpspec.release %drain
      }
    }
    ```
  }];
}

def WarpSpec_TryWaitOp : WarpSpec_TryOp<"try_wait", /*fills=*/0> {
  let summary = "ask whether the next slot is full";
  let description = [{
    The mirror of `try_acquire`.

    Example:

    ```mlir
    !p = !warpspec.pipeline<1 x (), threads to threads>
    warpspec.kernel @k() {
      %order = warpspec.pipeline() depth 1 threads to threads
      warpspec.roles
      role @first warps(1) {
        %fill = warpspec.acquire %order : !p
        warpspec.commit %fill
      }
      role @second warps(1) {
        %now = warpspec.try_wait %order : !p
        %drain = warpspec.wait %order ready(%now) : !p
        warpspec.release %drain
      }
    }
    ```
  }];
}

def WarpSpec_DrainAllOp : WarpSpec_Op<"drain_all", [
    AttrSizedOperandSegments, WarpSpec_PipelineEndOpInterface,
    DeclareOpInterfaceMethods<WarpSpec_AgentOpInterface,
      ["isIssuedByOneThread"]>]> {
  let summary = "wait until every slot has been released";
  let description = [{
    What a producer does last, so that no barrier of this block is signalled
    after the block has gone. No fill of the pipeline may be open. Between
    threads and `tma` it waits until every store has been written.

    Example:

    ```mlir
    !p = !warpspec.pipeline<1 x (), threads to threads>
    warpspec.kernel @k() {
      %order = warpspec.pipeline() depth 1 threads to threads
      warpspec.roles
      role @first warps(1) {
        %fill = warpspec.acquire %order : !p
        warpspec.commit %fill
        warpspec.drain_all %order : !p
      }
      role @second warps(1) {
        %drain = warpspec.wait %order : !p
        warpspec.release %drain
      }
    }
    ```
  }];
  let arguments = (ins WarpSpec_PipelineType:$pipeline, Optional<I32>:$stage,
                       Optional<I32>:$phase);
  let extraClassDeclaration = WarpSpec_End</*fills=*/1, /*opens=*/0>.methods;
  let assemblyFormat = [{
    $pipeline (`[` $stage^ `,` $phase `]`)? attr-dict `:` type($pipeline)
  }];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_PIPELINEOPS_TD
