# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the scales of each group lie in the tensor of scales."""

import numpy as np

from nvfp4_formats import ROW_TILE, ceil_div, round_up, scale_offsets

_INNER = {"linear": (), "blocked": (32, 4, 4), "blocked_8x4": (8, 4)}


def destination(shape, columns, info):
    """Values as they are before a call: garbage, and zero in the half byte past an odd number of columns."""
    values = np.full(shape, 0x5A, np.uint8)
    if info.is_fp4 and columns % 2:
        values[..., -1] = 0x0A
    return values


class Places:
    """Of a tensor of `shape` whose blocks lie along `axis` ("rows" or "columns"), under a rule of starts.

    With `together` there are no groups: each matrix is one.
    """

    def __init__(self, groups, shape, block, layout, starts, axis, together=False):
        self.shape, self.block, self.layout, self.axis = shape, block, layout, axis
        rows, columns = shape[-2:]
        kind = groups.kind
        if together or kind in ("dense", "batched"):
            count = shape[0] if len(shape) == 3 else 1
            self.cuts = [(slice(0, rows), slice(0, columns))] * count
        elif kind == "masked":
            self.cuts = [(slice(0, n), slice(0, columns)) for n in groups.counts]
        elif kind == "ragged_rows":
            self.cuts = [(slice(b, b + n), slice(0, columns)) for b, n in zip(groups.begins, groups.counts)]
        else:
            self.cuts = [(slice(0, rows), slice(b, b + n)) for b, n in zip(groups.begins, groups.counts)]
        dimension = {"ragged_rows": 0, "ragged_k": 1}.get(kind) if not together else None
        self.dimension = dimension
        self.starts = starts if dimension is not None else "whole"
        self.begins = [self._begin(g) for g in range(len(self.cuts))]
        self.rows, self.columns = self._extent(0), self._extent(1)

    def groups(self):
        """(number, index into the tensor) of each group."""
        for g, cut in enumerate(self.cuts):
            yield g, ((g,) if len(self.shape) == 3 else ()) + cut

    def _number(self, g, dimension):
        """Scales of a group along a dimension."""
        cut = self.cuts[g][dimension]
        count = cut.stop - cut.start
        return ceil_div(count, self.block) if self._is_blocked(dimension) else count

    def _is_blocked(self, dimension):
        return (dimension == 0) == (self.axis == "rows")

    def _begin(self, g):
        """(row, column) of the first scale of a group."""
        at, dimension = [0, 0], self.dimension
        if dimension is None:
            return at
        begin = self.cuts[g][dimension].start
        if self.starts == "whole":
            at[dimension] = begin // self.block if self._is_blocked(dimension) else begin
        elif self.starts == "upper_bound":
            at[dimension] = (begin + 127 * g) // 128 * 128
        else:
            tile = 1 if self.layout == "linear" else 4 if self._is_blocked(dimension) else ROW_TILE[self.layout]
            at[dimension] = sum(round_up(self._number(i, dimension), tile) for i in range(g))
        return at

    def _extent(self, dimension):
        whole = self.shape[-2 + dimension]
        is_blocked = self._is_blocked(dimension)
        is_dense = self.starts == "compact" and self.layout == "linear" and not is_blocked
        if self.starts == "whole" or dimension != self.dimension or is_dense:
            return ceil_div(whole, self.block) if is_blocked else whole
        return max((at[dimension] + self._number(g, dimension) for g, at in enumerate(self.begins)
                    if self._number(g, dimension)), default=0)

    def stored_shape(self):
        outer = self.shape[:-2]
        if self.layout == "linear":
            return outer + (self.rows, self.columns)
        return outer + (ceil_div(self.rows, ROW_TILE[self.layout]), ceil_div(self.columns, 4)) + _INNER[self.layout]

    def _offsets(self, stored, g):
        # A target may allocate more columns than the groups need.
        width = stored.shape[-1] if self.layout == "linear" else 4 * stored.shape[-1 - len(_INNER[self.layout])]
        row, column = self.begins[g]
        return scale_offsets(self.layout, row + np.arange(self._number(g, 0)), column + np.arange(self._number(g, 1)),
                             width)

    def _matrix(self, stored, g):
        stored = stored.view(np.uint8)
        return stored[g].reshape(-1) if len(self.shape) == 3 else stored.reshape(-1)

    def read(self, stored, g):
        """Scale bytes of a group."""
        return self._matrix(stored, g)[self._offsets(stored, g)]

    def write(self, stored, g, scales):
        self._matrix(stored, g)[self._offsets(stored, g)] = scales

    def destination(self, info):
        """Scales as they are before a call: NaN where there are scales, what the format wants as padding."""
        stored = np.full(self.stored_shape(), info.padding_scale, np.uint8)
        for g in range(len(self.cuts)):
            self.write(stored, g, info.nan_scale)
        return stored
