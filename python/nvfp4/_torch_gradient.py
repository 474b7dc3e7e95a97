# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The gradients of ``torch.ops.nvfp4.grouped_matmul``: of rows that are not quantised, alpha, bias and prob.

With acc = lhs @ rhs^T, pre = alpha acc + bias and y = prob activation(pre), all are sums over products of the gradient
of y with what is recomputed here in float32. That dequantised weights are constants makes them exact gradients of the
function that is computed, up to its roundings of results.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import List, Optional

import torch

from . import matmul, packing, quantization, tensors
from ._dlpack import asarray
from .errors import ArgumentError
from .options import Activation, Gate

# Arguments of the operation in their order, and those with a gradient.
_ARGUMENTS = ("lhs", "lhs_scales", "rhs", "rhs_scales", "ends", "alpha", "bias", "format", "layout", "activation",
              "granularity", "gate_first", "dtype", "prob", "grouping", "offsets", "align", "starts", "columns",
              "addend", "beta", "activation_params", "swiglu_alpha", "swiglu_beta", "swiglu_limit", "round_bf16",
              "row_scale")
_NAMES = ("lhs", "alpha", "bias", "prob")


def _relu(z: torch.Tensor) -> torch.Tensor:
    return z.clamp(min=0)


def _relu_slope(z: torch.Tensor) -> torch.Tensor:
    return (z > 0).float()


def _silu_slope(z: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.silu_backward(torch.ones_like(z), z)


def _gelu(z: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(z, approximate="tanh")


def _gelu_slope(z: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.gelu_backward(torch.ones_like(z), z, approximate="tanh")


#: Each activation with a gradient: of one value, or of the gate in a pair whose up value is a factor; and its derivative.
_SINGLE = {
    "identity": (lambda z: z, torch.ones_like), "relu": (_relu, _relu_slope), "relu2": (lambda z: _relu(z)**2, lambda z: 2 * _relu(z)),
    "silu": (torch.nn.functional.silu, _silu_slope), "gelu_tanh": (_gelu, _gelu_slope)}
_PAIRED = {
    "swiglu": (torch.nn.functional.silu, _silu_slope), "geglu_tanh": (_gelu, _gelu_slope), "reglu": (_relu, _relu_slope)}
PAIRS = tuple(_PAIRED)


@dataclasses.dataclass
class Product:
    """The arguments of an operation, as :func:`nvfp4.grouped_matmul` takes them."""

    lhs: torch.Tensor
    lhs_scales: Optional[torch.Tensor]
    rhs: torch.Tensor
    rhs_scales: torch.Tensor
    ends: Optional[torch.Tensor]
    alpha: Optional[torch.Tensor]
    bias: Optional[torch.Tensor]
    format: str
    layout: str
    kind: str
    granularity: int
    gate_first: bool
    prob: Optional[torch.Tensor]
    form: str
    offsets: str
    align: int
    starts: str
    columns: int = 0

    def rows(self):
        if self.lhs_scales is None:
            return self.lhs
        layout = "linear" if packing.is_packed(self.layout) else self.layout
        return tensors.ScaledTensor(asarray(self.lhs), asarray(self.lhs_scales), self.format, layout=layout,
                                    starts=self.starts)

    def weights(self) -> tensors.ScaledTensor:
        starts = self.starts if self.form == "ragged_k" else "whole"
        shape: tuple[int, ...] = ()
        if packing.is_packed(self.layout):
            shape = (*self.rhs.shape[:-3], self.columns, self.depth())
        elif self.columns:
            raise ArgumentError(f"expected columns with packed weights, but got {self.columns} for layout "
                                f"{self.layout}")
        return tensors.ScaledTensor(asarray(self.rhs), asarray(self.rhs_scales), self.format, shape, self.layout,
                                    starts)

    def depth(self) -> int:
        """K, of the rows."""
        codes = self.lhs_scales is not None and tensors.FORMATS[self.format].bits == 4
        return self.lhs.shape[-1] * (2 if codes else 1)

    def grouping(self) -> tensors.Grouping:
        if not self.form.startswith("ragged") and (self.offsets, self.align) != ("ends", 1):
            raise ArgumentError(f"expected offsets and align with grouping ragged_rows or ragged_k, but got {self.offsets} and "
                                f"{self.align} for {self.form}")
        if self.starts != "whole" and self.lhs_scales is None and self.form != "ragged_k":
            raise ArgumentError(f"expected lhs_scales with starts, which says where they start, but got None and {self.starts}")
        if self.form in ("dense", "batched"):
            if self.ends is not None:
                raise ArgumentError(f"expected no ends for {self.form}, but got some of shape {tuple(self.ends.shape)}")
            return tensors.dense() if self.form == "dense" else tensors.batched()
        make = {"ragged_rows": tensors.ragged_rows, "ragged_k": tensors.ragged_k, "masked": tensors.masked}.get(self.form)
        if make is None:
            raise ArgumentError("expected grouping ragged_rows, dense, batched, masked or ragged_k, but got "
                                f"'{self.form}'")
        if self.ends is None:
            raise ArgumentError(f"expected ends for {self.form}, but got None")
        if self.form == "masked":
            return make(self.ends)
        if self.offsets not in ("ends", "starts"):
            raise ArgumentError(f"expected offsets ends or starts, but got '{self.offsets}'")
        return make(**{self.offsets: self.ends}, align=self.align)

    def activation(self) -> Activation | None:
        if self.kind not in PAIRS and self.kind not in _SINGLE:
            raise ArgumentError(f"expected activation {', '.join((*_SINGLE, *PAIRS))}, but got '{self.kind}'")
        if self.kind not in PAIRS and (self.granularity, self.gate_first) != (0, True):
            raise ArgumentError(f"expected activation {' or '.join(PAIRS)} with granularity and gate_first, but got "
                                f"{self.granularity} and {self.gate_first} for {self.kind}")
        if self.kind == "identity":
            return None
        gate = Gate(self.granularity, "gate_first" if self.gate_first else "up_first")
        return Activation(self.kind, gate if self.kind in PAIRS else None)

    def problems(self) -> Iterator[tuple[int, tuple, tuple]]:
        """(group, where its rows lie in lhs, where its results lie) of groups that have results."""
        if self.form == "dense":
            yield 0, (), ()
        elif self.form == "batched":
            yield from ((g, (g,), (g,)) for g in range(self.lhs.shape[0]))
        else:
            for g, (first, end) in enumerate(self.grouping().ranges()):
                part = slice(first, end)
                if self.form == "ragged_k":  # a group without numbers has results: those of zero
                    yield g, (slice(None), part), (g,)
                elif end > first:
                    place = (part,) if self.form == "ragged_rows" else (g, part)
                    yield g, place, place

    def split(self, columns: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Gate and up columns of N, as views."""
        size = self.granularity or columns.shape[-1] // 2
        blocks = columns.unflatten(-1, (-1, 2, size))
        first, second = blocks[..., 0, :], blocks[..., 1, :]
        return (first, second) if self.gate_first else (second, first)


def _forward_and_back(product: Product, pre: torch.Tensor, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(activation(pre), the gradient of pre) from that of the activation."""
    if product.kind not in PAIRS:
        activate, slope = _SINGLE[product.kind]
        return activate(pre), grad * slope(pre)
    gate, up = product.split(pre)
    back = torch.empty_like(pre)
    back_gate, back_up = product.split(back)
    activate, slope = _PAIRED[product.kind]
    inner = activate(gate)
    shaped = grad.reshape(gate.shape)
    back_gate.copy_(shaped * up * slope(gate))
    back_up.copy_(shaped * inner)
    return (inner * up).reshape(grad.shape), back


def _factor(product: Product, g: int, columns: int) -> torch.Tensor:
    """alpha of a group: a number, or one a column."""
    if product.alpha is None:
        return torch.ones(())
    alpha = product.alpha.float()
    if alpha.ndim < 2:
        return alpha if alpha.ndim == 0 else alpha[g]
    result = torch.empty(columns)
    for half, value in zip(product.split(result), alpha[g]):
        half.fill_(value)
    return result


def _add_alpha(product: Product, result: torch.Tensor, g: int, back: torch.Tensor, acc: torch.Tensor) -> None:
    by_column = (back * acc).sum(0)
    if result.ndim < 2:
        place = result if result.ndim == 0 else result[g]
        place += by_column.sum()
    else:
        for half, part in enumerate(product.split(by_column)):
            result[g, half] += part.sum()


@torch.library.custom_op("nvfp4::grouped_matmul_backward", mutates_args=())
def grouped_matmul_backward(
        grad: torch.Tensor, lhs: torch.Tensor, lhs_scales: Optional[torch.Tensor], rhs: torch.Tensor,
        rhs_scales: torch.Tensor, ends: Optional[torch.Tensor], alpha: Optional[torch.Tensor],
        bias: Optional[torch.Tensor], format: str, layout: str, activation: str, granularity: int, gate_first: bool,
        prob: Optional[torch.Tensor], grouping: str, offsets: str, align: int, starts: str,
        wanted: List[bool]) -> List[torch.Tensor]:
    """The gradients of those of lhs, alpha, bias and prob that are ``wanted``, each of its argument's type."""
    product = Product(lhs, lhs_scales, rhs, rhs_scales, ends, alpha, bias, format, layout, activation, granularity,
                      gate_first, prob, grouping, offsets, align, starts)
    of_lhs, of_alpha, of_bias, of_prob = (
        torch.zeros_like(tensor, dtype=torch.float32, memory_format=torch.contiguous_format) if want else None
        for tensor, want in zip((lhs, alpha, bias, prob), wanted))
    weights, groups = product.weights(), product.grouping()
    acc_all = None
    if of_alpha is not None or of_prob is not None or activation != "identity":
        shape = (*lhs.shape[:-1], rhs.shape[-2]) if grouping != "ragged_k" else (len(groups), lhs.shape[0], rhs.shape[-2])
        acc_all = torch.zeros(shape)
        matmul.grouped_matmul(product.rows(), weights, groups, out=acc_all)
    matrix = None
    if of_lhs is not None and grouping in ("dense", "ragged_k"):
        matrix = torch.from_numpy(quantization.dequantize(weights, groups=groups if grouping == "ragged_k" else None))
    for g, rows, results in product.problems():
        # One value per row: prob has no dimension of groups along K.
        row = () if grouping == "ragged_k" else results
        back = grad[results].float()
        scaled = back if prob is None else back * prob[row].float()[:, None]
        acc, factor = None if acc_all is None else acc_all[results], _factor(product, g, rhs.shape[-2])
        if acc is not None:
            pre = acc * factor if bias is None else acc * factor + (bias if bias.ndim == 1 else bias[g]).float()
            y, scaled = _forward_and_back(product, pre, scaled)
            if of_prob is not None:
                of_prob[row] += (back * y).sum(-1)
            if of_alpha is not None:
                _add_alpha(product, of_alpha, g, scaled, acc)
        if of_bias is not None:
            place = of_bias if of_bias.ndim == 1 else of_bias[g]
            place += scaled.sum(0)
        if of_lhs is not None:
            part = torch.from_numpy(weights[g].dequantize()) if matrix is None else matrix
            of_lhs[rows] = (scaled * factor) @ (part[rows] if grouping == "ragged_k" else part)
    pairs = zip((of_lhs, of_alpha, of_bias, of_prob), (lhs, alpha, bias, prob))
    return [result.to(tensor.dtype) for result, tensor in pairs if result is not None]


@grouped_matmul_backward.register_fake
def _(grad, lhs, lhs_scales, rhs, rhs_scales, ends, alpha, bias, format, layout, activation, granularity, gate_first, prob,
      grouping, offsets, align, starts, wanted):
    return [torch.empty_like(tensor, memory_format=torch.contiguous_format)
            for tensor, want in zip((lhs, alpha, bias, prob), wanted) if want]


def _keep(ctx, inputs, output):
    *operands, format, layout, activation, granularity, gate_first, _, prob = inputs[:14]
    grouping, offsets, align, starts = inputs[14:18]
    if operands[0].is_cuda:
        raise ArgumentError("expected tensors of the CPU for a gradient, or tensors without requires_grad, but got "
                            f"some on {operands[0].device}; use torch.no_grad() or detach()")
    for name, value in zip(_ARGUMENTS[19:], inputs[19:]):
        if value is not None and value is not False:
            raise ArgumentError(f"expected no {name} where a gradient is asked for, for products with it have none; "
                                "use torch.no_grad() or detach()")
    ctx.save_for_backward(*operands, prob)
    ctx.options = format, layout, activation, granularity, gate_first
    ctx.rest = grouping, offsets, align, starts


def _back(ctx, grad):
    *operands, prob = ctx.saved_tensors
    # Arguments that were left out have no entry, and take no gradient.
    needs = dict.fromkeys(_ARGUMENTS, False) | dict(zip(_ARGUMENTS, ctx.needs_input_grad))
    quantised = ("lhs_scales", "rhs", "rhs_scales") + (("lhs",) if operands[1] is not None else ())
    for name in quantised:
        if needs[name]:
            raise ArgumentError(f"expected no gradient of {name}, for quantised operands and their scales have none; "
                                f"{', '.join(_NAMES)} have one, lhs where it is of bfloat16 or float16")
    wanted = [needs[name] for name in _NAMES]
    found = dict.fromkeys(_ARGUMENTS)
    if any(wanted):
        results = torch.ops.nvfp4.grouped_matmul_backward(grad, *operands, *ctx.options, prob, *ctx.rest, wanted)
        found |= zip((name for name in _NAMES if needs[name]), results)
    return tuple(found.values())[:len(ctx.needs_input_grad)]


def register(operation: str, library: torch.library.Library) -> None:
    """Gives the operation its gradient."""
    torch.library.register_autograd(operation, _back, setup_context=_keep, lib=library)
