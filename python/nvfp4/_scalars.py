# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that operations take: as they are, or not at all.

A number becomes one of an element type if the type holds it: integers exactly, floating-point numbers up to rounding and
without overflow. Texts are no numbers.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import ml_dtypes
import numpy as np

from .errors import ArgumentError

_FLOATS = tuple(map(np.dtype, (np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
                               ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu)))
_MOST_FLOAT32 = float(np.finfo(np.float32).max)


def check_count(name: str, value: Any, most: int | None = None, what: str = "", least: int = 1) -> int:
    """``value`` as an int; ArgumentError unless it is a whole number of at least ``least`` and of at most ``most``, which
    is ``what``."""
    wanted = f"of {least} or more" if most is None else f"from {least} to {most}" + (f", {what}" if what else "")
    try:
        count = operator.index(value)
    except TypeError:
        count = least - 1
    if isinstance(value, bool) or count < least or most is not None and count > most:
        raise ArgumentError(f"expected {name} as a whole number {wanted}, but got {value!r}")
    return count


def check_flag(name: str, value: Any) -> bool:
    """``value`` as a bool; ArgumentError unless it is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"expected {name} True or False, but got {value!r}")
    return bool(value)


def scalar(value: Any, dtype: np.dtype, what: str) -> np.ndarray:
    """``value``, a number or an array of one, as an array of ``dtype`` without dimensions. ArgumentError, which calls it
    ``what``, unless it is a number that the type holds."""
    number = _number(value)
    if number is None:
        raise ArgumentError(f"expected {what} as a number, but got {_shown(value)}")
    if dtype in _FLOATS:
        return _as_float(number, dtype, what)
    return _as_integer(number, dtype, what)


def float32s(array: np.ndarray, what: str) -> np.ndarray:
    """``array`` as numbers of float32, itself where it has them; ArgumentError as for :func:`scalar`."""
    if array.dtype == np.float32:
        return array
    if array.dtype not in _FLOATS and array.dtype.kind not in "iu":
        raise ArgumentError(f"expected {what} of float32, but got {array.dtype}")
    with np.errstate(over="ignore"):
        result = array.astype(np.float32)
    if array.dtype.kind in "iu":
        # Up to 2^24 all are exact.
        large = (array > 2**24) | (array < -2**24)
        changed = [n for n in array[large].tolist() if int(np.float32(n)) != n]
    else:
        changed = array[np.isinf(result) & np.isfinite(array.astype(np.float64))].tolist()
    if changed:
        raise ArgumentError(f"expected {what} of numbers that float32 holds, but got {changed[0]}")
    return result


def _number(value: Any) -> int | float | None:
    """A number as Python has it, None for what is none."""
    if isinstance(value, (np.ndarray, np.generic)):
        if value.size != 1:
            return None
        if value.dtype in _FLOATS:
            return float(np.float64(value.reshape(())))
        return int(value.reshape(())) if value.dtype.kind in "iub" else None
    if isinstance(value, (str, bytes, bytearray)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        pass
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _as_integer(number: int | float, dtype: np.dtype, what: str) -> np.ndarray:
    if dtype == np.bool_:
        low, high = 0, 1
    else:
        info = np.iinfo(dtype)
        # Bytes stand for integers of 8 bits with a sign and without one.
        low, high = (-128 if dtype == np.uint8 else int(info.min)), int(info.max)
    if isinstance(number, float) and not number.is_integer() or not low <= number <= high:
        raise ArgumentError(f"expected {what} as a whole number from {low} to {high}, but got {_shown(number)}")
    whole = int(number)
    return np.array(whole & 0xFF if dtype == np.uint8 else whole, dtype)


def _as_float(number: int | float, dtype: np.dtype, what: str) -> np.ndarray:
    if type(number) is float and dtype == np.float32 and -_MOST_FLOAT32 <= number <= _MOST_FLOAT32:
        return np.array(number, dtype)
    try:
        wide = float(number)
    except OverflowError:
        wide = math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        result = np.array(wide, np.float64).astype(dtype)
    back = float(result.astype(np.float64))
    same_kind = math.isnan(back) == math.isnan(wide) and math.isinf(back) == math.isinf(wide)
    if not same_kind or isinstance(number, int) and (math.isinf(back) or int(back) != number):
        raise ArgumentError(f"expected {what} as a number that {dtype} holds, but got {_shown(number)}")
    return result


def _shown(value: Any) -> str:
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.dtype} of shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
