//===- RoleOps.td - Kernels, roles, scheduling -------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The frame of a kernel: its entry, the roles into which its warps are divided,
// and the loop that gives each block its tiles.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_ROLEOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_ROLEOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

def WarpSpec_KernelOp : WarpSpec_Op<"kernel", [
    Symbol, IsolatedFromAbove, AutomaticAllocationScope, WarpSpec_NamesArguments,
    SingleBlockImplicitTerminator<"EndOp">]> {
  let summary = "entry point of a warp-specialised kernel";
  let description = [{
    The body is run by every thread of a block; its block arguments are the
    kernel's parameters: tensor maps, scalars (integers and floats), and
    contiguous memrefs in global memory (`1`) of which at most the first
    dimension is dynamic. A memref is passed as one pointer.

    Buffers and pipelines come first, then one `roles`. The number of threads
    follows from the roles.

    `cluster(n)` launches clusters of n blocks. `pair` makes the two blocks of
    each even-odd pair work on one tile (`cta_group::2`): the even block issues
    the multiplications of both. `shared_bytes` and `tmem_columns` are what
    `warpspec-plan-memory` found; `threads` is set by `warpspec-lower-roles`.

    Example:

    ```mlir
    warpspec.kernel @nothing(%n: i32, %out: memref<?x64xf32, 1>) {
      warpspec.roles
      role @work warps(4) {
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
    OptionalAttr<SymbolNameAttr>:$sym_visibility,
    OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$cluster,
    UnitAttr:$pair,
    OptionalAttr<I32Attr>:$shared_bytes,
    OptionalAttr<I32Attr>:$tmem_columns,
    OptionalAttr<I32Attr>:$threads);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `` custom<KernelBody>($body)
    oilist(`cluster` `(` $cluster `)`
         | `pair` $pair
         | `shared_bytes` `(` $shared_bytes `)`
         | `tmem_columns` `(` $tmem_columns `)`
         | `threads` `(` $threads `)`)
    attr-dict-with-keyword
  }];
  let extraClassDeclaration = [{
    /// The roles of the kernel, null after `warpspec-lower-roles`.
    RolesOp getRoles();
  }];
}

def WarpSpec_EndOp : WarpSpec_Op<"end", [Terminator, Pure,
    ParentOneOf<["KernelOp", "RolesOp"]>]> {
  let summary = "end of a kernel or of a role";
  let description = [{
    Implicit terminator; not printed.

    Example:

    ```mlir
    warpspec.kernel @nothing() {
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def WarpSpec_RolesOp : WarpSpec_Op<"roles", [
    HasParent<"KernelOp">, SingleBlockImplicitTerminator<"EndOp">,
    RecursiveMemoryEffects]> {
  let summary = "programs that run side by side";
  let description = [{
    One region for each role. A role is run by `warps` warps of the block; with
    one warp it may act for `tma` and `tensor_core` through one elected thread.
    `registers` is the number of registers that each of its threads may use: a
    multiple of 8 in [24, 256]; without it the kernel's limit holds.

    Roles see the values of the kernel above them and none of each other. They
    meet only in pipelines. Names are distinct.

    Example:

    ```mlir
    warpspec.kernel @copy(%map: !warpspec.tensor_map<64x64xi16>) {
      %tile = warpspec.smem_alloc : memref<2x64x64xi16, #warpspec.smem>
      %in = warpspec.pipeline(%tile) tma to threads
          : memref<2x64x64xi16, #warpspec.smem>
      warpspec.roles
      role @load warps(1) registers(40) {
        %c0 = arith.constant 0 : i32
        %fill, %dst = warpspec.acquire %in
            : !warpspec.pipeline<2 x (memref<64x64xi16, #warpspec.smem>), tma to threads>
        warpspec.tma_load %map[%c0, %c0] to %dst fills(%fill)
            : !warpspec.tensor_map<64x64xi16> to memref<64x64xi16, #warpspec.smem>
        warpspec.commit %fill
      }
      role @work warps(4) {
        %drain, %src = warpspec.wait %in
            : !warpspec.pipeline<2 x (memref<64x64xi16, #warpspec.smem>), tma to threads>
        warpspec.release %drain
      }
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$names, DenseI32ArrayAttr:$warps,
                       DenseI32ArrayAttr:$registers);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let assemblyFormat = "`` custom<Roles>($names, $warps, $registers, $bodies) attr-dict";
  let extraClassDeclaration = [{
    /// The number of the role that holds `op`, or -1.
    int getRoleNumber(::mlir::Operation *op);
    ::llvm::StringRef getRoleName(unsigned number);
  }];
}

def WarpSpec_ThreadIndexOp : WarpSpec_Op<"thread_index", [Pure]> {
  let summary = "number of this thread in its role";
  let description = [{
    From 0 to 32 times the warps of the role, less one. Only inside a role.

    Example:

    ```mlir
    warpspec.kernel @nothing() {
      warpspec.roles
      role @work warps(4) {
        %row = warpspec.thread_index : i32
      }
    }
    ```
  }];
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def WarpSpec_ForEachTileOp : WarpSpec_Op<"for_each_tile", [
    RecursiveMemoryEffects, AttrSizedOperandSegments, WarpSpec_NamesArguments,
    DeclareOpInterfaceMethods<LoopLikeOpInterface,
      ["getInitsMutable", "getRegionIterArgs", "getYieldedValuesMutable",
       "getLoopResults", "replaceWithAdditionalYields"]>]> {
  let summary = "this block's share of the tiles of all groups";
  let description = [{
    A persistent static scheduler. The `extents` region says how many tiles (m,
    n) group %g has; it is pure but for reads of global memory and may be run
    any number of times, by any thread. All tiles of all groups form one
    sequence, group after group; within a group the first index of `order` runs
    fastest. Worker w of W (blocks, or clusters of a kernel with `cluster`) runs
    the `do` region for the tiles w, w + W, w + 2W, ... of that sequence.
    Groups without tiles are skipped.

    Roles that iterate over the same groups with the same extents see the same
    tiles. Values are carried as in `scf.for`.

    Lowering: 32 lanes count the tiles of 32 groups at a time and find the
    group by a prefix sum, so all threads of a warp take part. With `through`, a
    warp of its own does that for all roles, ahead of them, and hands tiles over
    in the ring: slots of 4 x i32, from threads to threads, which no other
    operation uses. Then all tile loops of the kernel are over the same groups,
    and extents may yield a third value, what a tile of the group costs: the
    sequence is then one of falling cost if there are at most 32 groups, and
    worker w runs the tiles w, 2 W - 1 - w, 2 W + w, ... of it, so that workers
    with dear tiles get cheap ones next.

    With `cut`, which needs such a ring, of slots of 8 x i32, and costs, the `do`
    region gets which of so many steps along K it is to take, from one up to
    another: all of them, or, of some tiles, a part. If there are at most 32
    groups, more tiles than workers, and more to gain than a cut costs, then the
    last rounds, W to 2 W - 1 tiles, are cut into W ranges of the same cost.
    Worker w takes range W - 1 - w, its first tile from step 0 up to the cut,
    then whole tiles, and what is left of its last tile, whose first steps are
    those of worker w - 1. That one takes them first of all of its range, so
    nobody waits for long, and only for workers before itself.

    With `parts` as well, and no more than half as many tiles as workers, the
    steps of each tile are cut into as many parts as there are workers for, up to
    16 of at least 4 steps each. Parts of a tile go to workers one after another.
    The `do` region has one argument more: the number of parts before this one,
    0 where tiles are not in parts.

    Example:

    ```mlir
    warpspec.kernel @visit(%ends: memref<?xi32, 1>, %groups: i32) {
      warpspec.roles
      role @work warps(1) {
        warpspec.for_each_tile m_fastest of %groups
        extents(%g) {
          %c4 = arith.constant 4 : i32
          %i = arith.index_cast %g : i32 to index
          %tiles = memref.load %ends[%i] : memref<?xi32, 1>
          warpspec.yield %tiles, %c4 : i32, i32
        } do(%group, %m, %n) {
        }
      }
    }
    ```
  }];
  let arguments = (ins WarpSpec_TileOrderAttr:$order, I32:$groups,
                       Optional<WarpSpec_PipelineType>:$ring,
                       Optional<I32>:$steps, UnitAttr:$inParts,
                       Variadic<AnyType>:$initArgs);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$extents, SizedRegion<1>:$body);
  let assemblyFormat = [{
    `` $order `of` $groups (`through` $ring^ `:` type($ring))?
    (`cut` `(` $steps^ `)`)? (`parts` $inParts^)?
    `` custom<ForEachTile>($initArgs, type($initArgs), type($results), $extents, $body)
    attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::Value getGroup() { return getBody().getArgument(0); }
    ::mlir::Value getM() { return getBody().getArgument(1); }
    ::mlir::Value getN() { return getBody().getArgument(2); }
    /// Arguments of the body that say what to do: group, m, n and, with `cut`,
    /// the first step and the end of the steps, then the number of parts before.
    unsigned getNumTileArguments() {
      return getSteps() ? 5 + getInParts() : 3;
    }
  }];
}

def WarpSpec_YieldOp : WarpSpec_Op<"yield", [Pure, Terminator,
    HasParent<"ForEachTileOp">]> {
  let summary = "end of a region of for_each_tile";
  let description = [{
    Ends `extents` with the numbers of tiles (m, n), and `do` with the values of
    the next iteration.

    Example:

    ```mlir
    warpspec.kernel @visit(%groups: i32, %m: i32, %n: i32) {
      warpspec.roles
      role @work warps(1) {
        warpspec.for_each_tile n_fastest of %groups
        extents(%g) {
          warpspec.yield %m, %n : i32, i32
        } do(%group, %i, %j) {
        }
      }
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
}

#endif // NVFP4_DIALECT_WARPSPEC_IR_ROLEOPS_TD
