# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments of cuDNN about tiles, clusters and padding: results do not depend on them, and values that no kernel of
cuDNN takes are refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._scalars import check_flag
from ..errors import ArgumentError
from . import views

#: Rows to which cuDNN pads groups.
PADDING = 256


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Arguments of cuDNN's constructors by their names; ArgumentError for those that no kernel takes."""

    acc_dtype: Any = None
    mma_tiler_mn: tuple[int, int] = (256, 256)
    cluster_shape_mn: tuple[int, int] | None = None
    vector_f32: bool = False
    m_aligned: int = PADDING
    use_dynamic_sched: bool = False
    #: Columns of the tiles of a kernel.
    columns: tuple[int, ...] = (256,)

    def __post_init__(self) -> None:
        if self.acc_dtype is not None and views.dtype_of(self.acc_dtype, "acc_dtype") != np.float32:
            raise ArgumentError(f"expected acc_dtype float32, but got {self.acc_dtype}")
        rows, columns = _pair("mma_tiler_mn", self.mma_tiler_mn)
        tiles = [(m, n) for n in self.columns for m in (128, 256)]
        if (rows, columns) not in tiles:
            raise ArgumentError(f"expected mma_tiler_mn {' or '.join(map(str, tiles))}, but got {self.mma_tiler_mn}")
        if self.cluster_shape_mn is not None:
            # A tile of 256 rows is that of two processors, and a cluster holds one such pair or up to 256 rows.
            legal = [(m, n) for m in ((1, 2) if rows == 128 else (2,)) for n in (1, 2, 4)]
            if _pair("cluster_shape_mn", self.cluster_shape_mn) not in legal:
                raise ArgumentError(f"expected cluster_shape_mn {', '.join(map(str, legal))} for mma_tiler_mn "
                                    f"{(rows, columns)}, but got {self.cluster_shape_mn}")
        if self.m_aligned != PADDING:
            raise ArgumentError(f"expected m_aligned {PADDING}, but got {self.m_aligned}")
        check_flag("vector_f32", self.vector_f32)
        check_flag("use_dynamic_sched", self.use_dynamic_sched)


def _pair(name: str, value: Any) -> tuple[int, int]:
    if not isinstance(value, Sequence) or len(value) != 2 or not all(isinstance(n, (int, np.integer)) for n in value):
        raise ArgumentError(f"expected {name} as two whole numbers, but got {value!r}")
    return int(value[0]), int(value[1])
