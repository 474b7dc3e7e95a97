# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor copies: ranks 1 to 5, swizzles, elements outside, stores, reductions,
multicast."""

import math

import numpy as np

from device import TensorMap
from shared import CLUSTER, READY, shared_case, wait

U8, U16, U32, S32, U64, S64, F16, F32, F64, BF16, FTZ, TF32, TF32_FTZ = range(13)
WIDTH = {U8: 1, U16: 2, U32: 4, S32: 4, U64: 8, S64: 8, F16: 2, F32: 4, F64: 8,
         BF16: 2, FTZ: 4, TF32: 4, TF32_FTZ: 4}
NAMES = ("u8 u16 u32 s32 u64 s64 f16 f32 f64 bf16 f32_ftz tf32 tf32_ftz").split()


def tensor_map(kind, size, box, **more):
    """A dense tensor whose rows are padded to multiples of 16 bytes."""
    stride, bytes_ = [], WIDTH[kind]
    for i, extent in enumerate(size):
        bytes_ = -(-bytes_ * extent // 16) * 16
        stride.append(bytes_)
    return TensorMap(0, kind, size, stride[:-1], box, **more), stride[-1]


def corner(kind, coords, is_store=False):
    """The nearest place where a box may start: its address is a multiple of 16
    bytes, and stores start at no negative coordinate."""
    each = 16 // WIDTH[kind]
    coords = [coords[0] // each * each] + list(coords[1:])
    return [max(0, x) for x in coords] if is_store else coords


def issue(coords):
    rank = len(coords)
    moves = "".join(f"  mov.u32 %t{10 + i}, {x};\n" for i, x in enumerate(coords))
    return moves, rank, "{" + ", ".join(f"%t{10 + i}" for i in range(rank)) + "}"


def content(bytes_, kind, seed=9):
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 256, bytes_, dtype=np.uint8)
    return data


def rows(box, step=None):
    """Steps do not count along the first dimension."""
    return math.prod(-(-b // s) for b, s in
                     zip(box[1:], (step or [1] * len(box))[1:]))


def room(box, kind, step=None, swizzle=0):
    """Bytes in shared memory: with a swizzle a row takes its whole span."""
    return rows(box, step) * max(box[0] * WIDTH[kind],
                                 (0, 32, 64, 128)[swizzle])


def load(name, kind, size, box, coords, **more):
    spec, bytes_ = tensor_map(kind, size, box, **more)
    moves, rank, at = issue(corner(kind, coords))
    filled = rows(box, more.get("step")) * box[0] * WIDTH[kind]
    taken = room(box, kind, more.get("step"), more.get("swizzle", 0))
    total = max(1024, -(-taken // 1024) * 1024)
    return shared_case(
        "tensor load", name, READY + "\n  @%p bra done;\n" + moves +
        f"  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], {filled};\n"
        f"  cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile"
        f".mbarrier::complete_tx::bytes [%sm], [%m0, {at}], [%bar];\ndone:" +
        wait("loop") + "\n  setp.gt.u32 %w, %n, 2000000;\n"
        "  selp.b32 %r0, 1, 0, %w;", size=total, threads=128, results=1,
        extra=[content(bytes_, kind)], maps=[spec])


def store(name, kind, size, box, coords, reduction=None, **more):
    spec, bytes_ = tensor_map(kind, size, box, **more)
    moves, rank, at = issue(corner(kind, coords, is_store=True))
    total = max(1024, -(-room(box, kind) // 1024) * 1024)
    op = f"cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group"
    if reduction:
        op = (f"cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta"
              f".{reduction}.tile.bulk_group")
    return shared_case(
        "tensor store" if not reduction else "tensor reduce", name, READY +
        "\n  @%p bra done;\n" + moves + f"  {op} [%m0, {at}], [%sm];\n"
        "  cp.async.bulk.commit_group;\n  cp.async.bulk.wait_group 0;\ndone:",
        size=total, threads=128, extra=[content(bytes_, kind)], maps=[spec],
        outputs=[0])


SHAPES = [  # size, box, coordinates
    ([300], [128], [[0], [101], [-40], [250], [400]]),
    ([72, 40], [32, 16], [[0, 0], [16, 8], [-8, -3], [56, 36], [80, 4]]),
    ([40, 20, 9], [16, 8, 4], [[0, 0, 0], [8, 5, 3], [-8, 16, 7], [32, -2, -1]]),
    ([24, 10, 6, 5], [16, 4, 3, 2], [[0, 0, 0, 0], [8, 3, 2, 4],
                                     [-8, -1, 5, -1]]),
    ([20, 7, 5, 4, 3], [16, 3, 2, 2, 2], [[0, 0, 0, 0, 0], [8, 2, 4, 3, 2],
                                          [-16, -1, -1, -1, 1]])]


def loads():
    for size, box, places in SHAPES:
        for coords in places:
            for kind in (U8, F16, F32):
                yield load(f"{len(size)}d {NAMES[kind]} at {coords}", kind, size,
                           box, coords)
            for kind in (F16, F32, BF16):
                yield load(f"{len(size)}d {NAMES[kind]} nan at {coords}", kind,
                           size, box, coords, fill_nan=1)
    for kind in (U16, U32, S32, U64, S64, F64, BF16, FTZ, TF32, TF32_FTZ):
        for coords in ([0, 0], [-2, 35]):
            yield load(f"{NAMES[kind]} at {coords}", kind, [72, 40], [16, 16],
                       coords)
    for kind in (F64, FTZ, TF32, TF32_FTZ):
        yield load(f"{NAMES[kind]} nan", kind, [72, 40], [16, 16], [-2, 35],
                   fill_nan=1)
    for swizzle, bytes_ in ((1, 32), (2, 64), (3, 128)):
        for kind in (U8, F16, F32):
            inner = bytes_ // WIDTH[kind]
            for coords in ([0, 0], [8, 5], [-4, 30], [60, -3]):
                yield load(f"swizzle {bytes_} {NAMES[kind]} at {coords}", kind,
                           [150, 40], [inner, 24], coords, swizzle=swizzle)
            half = max(inner // 2, 16 // WIDTH[kind])
            yield load(f"swizzle {bytes_} {NAMES[kind]} half box", kind,
                       [150, 40], [half, 16], [3, 2], swizzle=swizzle)
            yield load(f"swizzle {bytes_} {NAMES[kind]} 3d", kind, [150, 20, 5],
                       [inner, 4, 3], [1, 2, 1], swizzle=swizzle)
    for step in ([2, 1], [1, 3], [3, 2]):
        for coords in ([0, 0], [5, 3], [-3, -2], [64, 33]):
            yield load(f"steps {step} at {coords}", F32, [72, 40], [24, 12],
                       coords, step=step)


def stores():
    for size, box, places in SHAPES:
        for coords in places:
            for kind in (U8, F32):
                yield store(f"{len(size)}d {NAMES[kind]} at {coords}", kind,
                            size, box, coords)
    for swizzle, bytes_ in ((1, 32), (2, 64), (3, 128)):
        for coords in ([0, 0], [8, 5], [-4, 30]):
            yield store(f"swizzle {bytes_} at {coords}", F16, [150, 40],
                        [bytes_ // 2, 24], coords, swizzle=swizzle)
    for op, kinds in (("add", (U32, S32, U64)),
                      ("min", (U32, S32, U64, S64, F16, BF16)),
                      ("max", (U32, S32, U64, S64, F16, BF16)),
                      ("and", (U32, U64)), ("or", (U32, U64)),
                      ("xor", (U32, U64)), ("inc", (U32,)), ("dec", (U32,)),):
        for kind in kinds:
            yield store(f"{op} {NAMES[kind]}", kind, [72, 40], [16, 12], [-2, 3],
                        reduction=op)
    for kind in (F16, F32, BF16):
        yield store(f"add {NAMES[kind]}", kind, [72, 40], [16, 12], [66, 33],
                    reduction="add")


def multicast():
    for swizzle in (0, 3):
        spec, bytes_ = tensor_map(F16, [150, 40], [64, 8], swizzle=swizzle)
        moves, rank, at = issue([8, 3])
        # Each CTA loads one half and sends it to both.
        yield shared_case(
            "cluster", f"tensor multicast, swizzle {swizzle}", READY + CLUSTER +
            "\n  @%p bra done;\n" + moves +
            "  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 2048;\n"
            "  mad.lo.u32 %t11, %rank, 8, %t11;\n"
            "  mad.lo.u32 %t1, %rank, 1024, %sm;\n  mov.u16 %h0, 3;\n"
            "  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier"
            f"::complete_tx::bytes.multicast::cluster [%t1], [%m0, {at}], "
            "[%bar], %h0;\ndone:" + wait("loop"), size=2048, threads=64, grid=2,
            cluster=2, extra=[content(bytes_, F16)], maps=[spec])


def all_cases():
    for family in (loads, stores, multicast):
        yield from family()
