# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers with a bound on their error, as the oracle of random programs needs them.

Where the bound is zero a number is what every correct target computes, and each step rounds to f32 as docs/Spec.md
says. Elsewhere a target is within the bound.
"""

import dataclasses

import ml_dtypes
import numpy as np

from nvfp4_cases import activation_bound, assert_equal, assert_within, gamma, round_to
ULP = 2.0**-23
TINY = 2.0**-126


@dataclasses.dataclass
class Approximate:
    """f64 arrays: values, and how far from them a target may be."""

    value: np.ndarray
    error: np.ndarray

    @property
    def is_exact(self):
        return not self.error.any()

    def rounded(self):
        """After one rounding to f32."""
        with np.errstate(all="ignore"):
            value = self.value.astype(np.float32).astype(np.float64)
            grown = self.error + (np.abs(self.value) + self.error) * ULP + 2.0**-149
        return Approximate(np.where(self.error > 0, self.value, value), np.where(self.error > 0, grown, 0.0))

    def times(self, factor):
        """A factor that is exact."""
        factor = np.asarray(factor, np.float64)
        return Approximate(self.value * factor, self.error * np.abs(factor)).rounded()

    def plus(self, addend):
        addend = addend if isinstance(addend, Approximate) else Approximate(np.asarray(addend, np.float64), 0.0)
        value = self.value + addend.value
        return Approximate(value, np.broadcast_to(self.error + addend.error, value.shape)).rounded()

    def bfloat16(self):
        with np.errstate(all="ignore"):
            value = self.value.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
            grown = self.error + (np.abs(self.value) + self.error) * 2.0**-7
        return Approximate(np.where(self.error > 0, self.value, value), np.where(self.error > 0, grown, 0.0))

    def columns(self, index):
        return Approximate(self.value[..., index], self.error[..., index])


def lowest_bit(x):
    """A power of two that divides every number of x; 1 for none."""
    finite = x[np.isfinite(x) & (x != 0)]
    if not finite.size:
        return 1.0
    mantissa, exponent = np.frexp(np.abs(finite))
    bits = (mantissa * 2.0**53).astype(np.int64)
    low = (bits & -bits).astype(np.float64)
    return float(np.min(np.ldexp(low, exponent - 53)))


def product(x, w, additions):
    """x w^T with the bound of docs/Spec.md for as many rounded additions; exact where every order of them is."""
    value = x @ w.T
    size = np.abs(x) @ np.abs(w).T
    if size.max(initial=0) <= 2.0**24 * lowest_bit(x) * lowest_bit(w):
        return Approximate(value, np.zeros_like(value))
    # The sum in f64 is rounded as well.
    return Approximate(value, size * (gamma(additions) + 2.0**-45))


def _sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def silu(z, fast):
    one = Approximate(np.ones_like(z.value), np.zeros_like(z.value))
    return swiglu(z, one, fast)


def swiglu(g, u, fast, alpha=1.0, beta=0.0, limit=np.inf):
    gate = np.minimum(g.value, limit)
    up = np.clip(u.value, -limit, limit) + beta
    smooth = gate * _sigmoid(alpha * gate)
    value = smooth * up
    # The derivative of t sigmoid(t) is at most 1.1.
    error = 1.1 * g.error * (np.abs(up) + u.error) + np.abs(smooth) * u.error
    error = error + activation_bound(value, gate, alpha) + 4 * ULP * np.abs(smooth) * (np.abs(up) + abs(beta))
    if fast:
        error = error + 128 * ULP * np.abs(value) + 64 * ULP * np.abs(gate * up)
    return Approximate(value, error)


def geglu_tanh(g, u, fast):
    inner = np.float64(0.7978845608028654) * (g.value + 0.044715 * g.value**3)
    smooth = 0.5 * g.value * (1 + np.tanh(inner))
    value = smooth * u.value
    steps = 16 + 4 * np.minimum(np.abs(inner), 20)
    error = np.abs(u.value * g.value) * 0.5 * steps * 2.0**-24 + TINY
    error = error + 1.2 * g.error * (np.abs(u.value) + u.error) + np.abs(smooth) * u.error
    if fast:
        error = error + 64 * ULP * np.abs(g.value * u.value)
    return Approximate(value, error)


def gelu_tanh(z, fast):
    return geglu_tanh(z, Approximate(np.ones_like(z.value), np.zeros_like(z.value)), fast)


def reglu(g, u):
    gate = maximum(g, 0.0)
    return Approximate(gate.value * u.value, gate.error * (np.abs(u.value) + u.error) + np.abs(gate.value) * u.error).rounded()


def maximum(z, other):
    return Approximate(np.maximum(z.value, other), z.error)


def square(z):
    return Approximate(z.value**2, 2 * np.abs(z.value) * z.error + z.error**2).rounded()


def compare(got, y, element, what):
    """Equal where the oracle is exact, within its bound elsewhere."""
    exact = y.error == 0
    expected = round_to(y.value, element)
    assert_equal(np.where(exact, got, 0).astype(got.dtype), np.where(exact, expected, 0).astype(got.dtype), what)
    # Beyond the largest number of the element type.
    with np.errstate(invalid="ignore"):
        done = exact | (np.isinf(got) & ((got == round_to(y.value - y.error, element))
                                         | (got == round_to(y.value + y.error, element))))
    assert_within(np.where(done, 0, got), np.where(done, 0, y.value), np.where(done, 0, y.error), element, what)
