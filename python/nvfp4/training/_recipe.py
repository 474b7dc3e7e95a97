# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How layers are trained."""

from __future__ import annotations

import dataclasses

from .._scalars import check_count, check_flag
from ..errors import check_one_of
from ..tensors import FORMATS

__all__ = ["Recipe"]

#: The quantiser of each format that layers are trained in, and whether tensors have a second level of scales.
_QUANTIZERS = {"nvfp4": ("te", True), "mxfp8_e4m3": ("ue8m0_up", False), "mxfp4": ("ocp", False)}


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a layer is trained: ``format`` of all operands, ``nvfp4``, ``mxfp8_e4m3`` or ``mxfp4``.

    The other options belong to NVFP4: ``squares`` shares the scales of weights among 16 x 16 values, so that weights are the same
    numbers in the forward and in the backward product; ``stochastic`` rounds gradients stochastically, by the seed of the
    call; ``hadamard`` multiplies runs of 16 tokens of both operands of a gradient of weights by a Hadamard matrix, which
    spreads outliers and leaves the product as it is. ``sign_mask`` has a bit for each token of a run whose sign changes
    before; its default is Transformer Engine's.
    """

    format: str = "nvfp4"
    squares: bool = True
    stochastic: bool = True
    hadamard: bool = True
    sign_mask: int = 0xD7E8

    def __post_init__(self) -> None:
        check_one_of("format", self.format, _QUANTIZERS)
        for name in ("squares", "stochastic", "hadamard"):
            check_flag(name, getattr(self, name))
        check_count("sign_mask", self.sign_mask, 0xFFFF, "a bit for each of 16 tokens", least=0)

    @property
    def block(self) -> int:
        """Values under one scale; groups of tokens begin at multiples of it."""
        return FORMATS[self.format].block

    @property
    def turns(self) -> bool:
        """Whether operands of gradients of weights are multiplied by a Hadamard matrix."""
        return self.hadamard and self.has_global

    @property
    def has_global(self) -> bool:
        """Whether tensors have a second level of scales."""
        return _QUANTIZERS[self.format][1]

    def quantizer(self, *, of_weights: bool = False, of_gradient: bool = False) -> str:
        """The quantiser in MLIR."""
        kind, is_nvfp4 = _QUANTIZERS[self.format]
        options = [kind]
        if is_nvfp4 and of_gradient and self.stochastic:
            options.append("rounding = stochastic")
        if is_nvfp4 and of_weights and self.squares:
            options.append("two_d")
        return f"<{', '.join(options)}>"
