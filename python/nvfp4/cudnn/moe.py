# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped products of 16-bit tokens and 16-bit weights, and the gradient of such weights.

The dialect's products have scaled weights, so these are numpy's products of float32, rounded once. Group g belongs to expert
``g % E``: there may be several times as many groups as experts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _dlpack
from ..errors import ArgumentError, check_one_of
from .operation import check_types, Sample

__all__ = ["moe_grouped_matmul", "moe_grouped_matmul_bwd"]


def _matrix(tensor: Any, name: str) -> np.ndarray:
    """``[1, rows, columns]`` of 16 bits as a matrix."""
    array = _dlpack.asarray(tensor)
    if array.ndim != 3 or array.shape[0] != 1:
        raise ArgumentError(f"expected {name} of shape [1, rows, columns], but got {array.shape}")
    check_types({name: Sample.of(array)}, ("float16", "bfloat16"), name)
    return array[0]


def _indices(tensor: Any, name: str, mode: str, count: int | None = None) -> np.ndarray:
    """A vector of int32, ``[1, rows, 1]``."""
    if tensor is None:
        raise ArgumentError(f"expected {name} with mode '{mode}', but got None")
    array = _dlpack.asarray(tensor)
    if array.ndim != 3 or (array.shape[0], array.shape[2]) != (1, 1) or count not in (None, array.shape[1]):
        raise ArgumentError(f"expected {name} of shape [1, {'rows' if count is None else count}, 1], but got {array.shape}")
    check_types({name: Sample.of(array)}, (np.int32,), name)
    return array[0, :, 0]


def _bounds(tensor: Any, experts: int, rows: int) -> np.ndarray:
    """The boundaries of groups: given, or starts behind which all rows follow."""
    array = _dlpack.asarray(tensor)
    if array.ndim != 3 or array.shape[1:] != (1, 1) or array.dtype != np.int32:
        raise ArgumentError("expected first_token_offset of int32 and shape [G, 1, 1] or [G + 1, 1, 1], but got "
                            f"{array.dtype} of {array.shape}")
    bounds, count = array[:, 0, 0].astype(np.int64), array.shape[0]
    if experts > 1 and count and count % experts == 0:
        bounds = np.append(bounds, rows)
    elif count < 2 or (count - 1) % experts:
        raise ArgumentError(f"expected first_token_offset of G starts or G + 1 boundaries, G a multiple of {experts} experts (G + 1 "
                            f"for one expert), but got {count}")
    if bounds[0] < 0 or bounds[-1] > rows or (np.diff(bounds) < 0).any():
        raise ArgumentError(f"expected first_token_offset that does not decrease, in [0, {rows}], but got {bounds.tolist()}")
    return bounds


def moe_grouped_matmul(token: Any, weight: Any, first_token_offset: Any, token_index: Any = None, token_ks: Any = None,
                       mode: str = "none", top_k: int = 1) -> Any:
    """The rows of each group times the weights ``[E, K, N]`` of its expert: ``[1, rows, N]`` of the type of ``token``
    ``[1, rows, K]``.

    With ``gather`` row i is row ``token_index[i]`` of ``token``. With ``scatter`` the result of row i becomes row
    ``token_index[i] top_k + token_ks[i]``. Rows of no group are zero.
    """
    check_one_of("mode", mode, ("none", "gather", "scatter"))
    tokens, weights = _matrix(token, "token"), _dlpack.asarray(weight)
    if weights.ndim != 3 or weights.shape[1] != tokens.shape[1] or weights.dtype != tokens.dtype:
        raise ArgumentError(f"expected weight [E, {tokens.shape[1]}, N] of {tokens.dtype} as token, but got {weights.shape} of "
                            f"{weights.dtype}")
    rows = tokens.shape[0]
    if mode == "none" and (token_index is not None or token_ks is not None):
        raise ArgumentError("expected mode 'gather' or 'scatter' with token_index or token_ks, but got 'none'")
    if mode != "scatter" and (top_k != 1 or token_ks is not None):
        raise ArgumentError(f"expected mode 'scatter' with top_k or token_ks, but got '{mode}'")
    places = None
    if mode == "gather":
        places = _indices(token_index, "token_index", mode)
        if len(places) and not (0 <= places.min() and places.max() < rows):
            raise ArgumentError(f"expected token_index in [0, {rows}), but got {places.min()} to {places.max()}")
        tokens, rows = tokens[places], len(places)
    elif mode == "scatter":
        if not isinstance(top_k, (int, np.integer)) or not 1 <= top_k <= weights.shape[0] or rows % top_k:
            raise ArgumentError(f"expected top_k from 1 to {weights.shape[0]} experts that divides {rows} rows, but got {top_k}")
        index, slot = (_indices(each, name, mode, rows) for each, name in ((token_index, "token_index"), (token_ks, "token_ks")))
        is_there = (index >= 0) & (index < rows // top_k) & (slot >= 0) & (slot < top_k)
        places = np.where(is_there, index * top_k + slot, -1)
    bounds, result = _bounds(first_token_offset, len(weights), rows), np.zeros((rows, weights.shape[2]), tokens.dtype)
    for g, (first, end) in enumerate(zip(bounds, bounds[1:])):
        y = tokens[first:end].astype(np.float32) @ weights[g % len(weights)].astype(np.float32)
        if mode == "scatter" and places is not None:
            kept = places[first:end] >= 0
            result[places[first:end][kept]] = y[kept]
        else:
            result[first:end] = y
    return _dlpack.like(result[None], token)


def moe_grouped_matmul_bwd(doutput: Any, token: Any, first_token_offset: Any, *, num_experts: int | None = None) -> Any:
    """The gradient ``[E, K, N]`` of the weights from that of the result ``[1, rows, N]`` and the tokens ``[1, rows, K]``, without
    a mode. ``num_experts`` None is the number of offsets, which are starts then, as cuDNN's graph infers."""
    gradient, tokens = _matrix(doutput, "doutput"), _matrix(token, "token")
    if gradient.shape[0] != tokens.shape[0] or gradient.dtype != tokens.dtype:
        raise ArgumentError(f"expected doutput of {tokens.shape[0]} rows of {tokens.dtype} as token, but got {gradient.shape[0]} of "
                            f"{gradient.dtype}")
    experts = _dlpack.asarray(first_token_offset).shape[0] if num_experts is None else num_experts
    bounds = _bounds(first_token_offset, experts, len(tokens))
    sums = np.zeros((experts, tokens.shape[1], gradient.shape[1]), np.float32)
    for g, (first, end) in enumerate(zip(bounds, bounds[1:])):
        sums[g % experts] += tokens[first:end].astype(np.float32).T @ gradient[first:end].astype(np.float32)
    return _dlpack.like(sums.astype(tokens.dtype), token)
