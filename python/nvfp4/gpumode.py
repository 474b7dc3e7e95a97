# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The grouped product of the GPU MODE contest (``nvfp4_group_gemm``) on this compiler.

``from nvfp4.gpumode import custom_kernel`` is a submission: it takes the contest's data and returns what it wants, for
numpy arrays and for tensors of torch on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _dlpack
from .errors import ArgumentError
from .matmul_list import grouped_matmul_list
from .tensors import ScaledTensor

__all__ = ["custom_kernel", "TESTS"]

#: The ten tests of the contest: (m, n, k) of each group.
TESTS: tuple[tuple[tuple[int, int, int], ...], ...] = tuple(
    tuple(zip(*sizes)) for sizes in (
        ((96, 128), (128, 256), (128, 512)),
        ((256, 72), (512, 384), (256, 256)),
        ((128, 128), (128, 256), (128, 512)),
        ((80, 128, 256), (384, 256, 128), (256, 512, 128)),
        ((64, 72, 96), (128, 384, 512), (384, 512, 128)),
        ((64, 256, 128), (768, 128, 256), (512, 512, 128)),
        ((128, 128, 64), (256, 512, 512), (768, 128, 768)),
        ((128,) * 4, (128,) * 4, (128,) * 4),
        ((40, 56, 384, 512), (512, 384, 256, 128), (256,) * 4),
        ((512, 384, 256, 128), (256,) * 4, (512, 128, 512, 128))))


def _plane(array: np.ndarray, index: int) -> np.ndarray:
    """Matrix `index` of ``[rows, columns, L]``; the contest's lie row-major, so this is no copy."""
    return np.ascontiguousarray(array[:, :, index])


def _scales(plain: np.ndarray | None, reordered: np.ndarray | None, index: int) -> tuple[np.ndarray, str]:
    """(scales, layout) of one operand: the blocked ones where they are given."""
    if reordered is not None:
        # [32, 4, rows/128, 4, columns/4, L], a view of [L, rows/128, columns/4, 32, 4, 4].
        return np.ascontiguousarray(reordered.transpose(5, 2, 4, 0, 1, 3)[index]), "blocked"
    if plain is None:
        raise ArgumentError("expected scales of each operand")
    return _plane(plain, index), "linear"


def custom_kernel(data: Sequence[Any], *, target: str = "cpu", device: str | None = None) -> list[Any]:
    """``c = a @ b^T`` for each problem; writes into each ``c`` and returns them.

    ``data`` is ``(abc_tensors, sfasfb_tensors, problem_sizes)`` or, with the 6-D blocked scales that the contest gives as
    well, ``(abc_tensors, sfasfb_tensors, sfasfb_reordered_tensors, problem_sizes)``. In each problem ``a`` ``[M, K/2, L]``
    and ``b`` ``[N, K/2, L]`` are pairs of E2M1, ``sfa`` ``[M, K/16, L]`` and ``sfb`` E4M3 scales, ``c`` ``[M, N, L]`` is
    float16. ``target`` and ``device`` are those of :func:`nvfp4.compile`: the same data run as kernels for Blackwell in the
    simulator with ``sm_100a+sim``. ArgumentError where shapes and ``problem_sizes`` disagree.
    """
    if len(data) not in (3, 4):
        raise ArgumentError(f"expected a tuple of 3 or 4 lists, but got {len(data)}")
    abc, plain, sizes = data[0], data[1], data[-1]
    blocked = data[2] if len(data) == 4 else [(None, None)] * len(abc)
    if not len(abc) == len(plain) == len(blocked) == len(sizes):
        raise ArgumentError(f"expected lists of one length, but got {len(abc)}, {len(plain)}, {len(blocked)} and {len(sizes)}")
    lhs: list[tuple[np.ndarray, np.ndarray, str]] = []
    rhs: list[tuple[np.ndarray, np.ndarray, str]] = []
    outs, back = [], []
    for index, (operands, scales, reordered, (m, n, k, count)) in enumerate(zip(abc, plain, blocked, sizes)):
        a, b = (_dlpack.as_stored(_dlpack.asarray(t), np.dtype(np.uint8), f"{name} of problem {index}")
                for name, t in zip("ab", operands))
        c = _dlpack.asarray(operands[2], writable=True)
        for name, found, wanted in (("a", a.shape, (m, k // 2, count)), ("b", b.shape, (n, k // 2, count)),
                                    ("c", c.shape, (m, n, count))):
            if found != wanted:
                raise ArgumentError(f"problem {index}: expected {name} of shape {wanted}, but got {found}")
        sides = [[None if t is None else _dlpack.asarray(t) for t in pair] for pair in zip(scales, reordered)]
        for plane in range(count):
            for tensors, values, side in ((lhs, a, sides[0]), (rhs, b, sides[1])):
                tensors.append((_plane(values, plane), *_scales(side[0], side[1], plane)))
            out = c[:, :, plane]
            direct = out if out.flags.c_contiguous else np.empty(out.shape, out.dtype)
            outs.append(direct)
            if direct is not out:
                back.append((out, direct))
    # One list has one layout of scales on each side.
    layouts = {layout for _, _, layout in lhs + rhs}
    if len(layouts) > 1:
        raise ArgumentError("expected reordered scales of all problems, or of none")
    grouped_matmul_list([ScaledTensor(v, s, "nvfp4", layout=l) for v, s, l in lhs],
                        [ScaledTensor(v, s, "nvfp4", layout=l) for v, s, l in rhs], out=outs, target=target, device=device)
    for out, direct in back:
        out[...] = direct
    return [operands[2] for operands in abc]
