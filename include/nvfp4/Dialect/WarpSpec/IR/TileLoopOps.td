//===- TileLoopOps.td - The loop over tiles ----------------*- tablegen -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop that gives each block its tiles.
//
//===----------------------------------------------------------------------===//

#ifndef NVFP4_DIALECT_WARPSPEC_IR_TILELOOPOPS_TD
#define NVFP4_DIALECT_WARPSPEC_IR_TILELOOPOPS_TD

include "mlir/Interfaces/LoopLikeInterface.td"
include "nvfp4/Dialect/WarpSpec/IR/WarpSpecBase.td"

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

#endif // NVFP4_DIALECT_WARPSPEC_IR_TILELOOPOPS_TD
