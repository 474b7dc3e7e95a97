# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``torch.ops.nvfp4.grouped_matmul`` and ``quantize``: one implementation for the CPU and GPUs, and its fake.

Each has an overload ``out`` that writes into tensors of the caller.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import matmul, packing, quantization
from ._repeats import find
from ._torch_calls import find_call, stand_in
from ._torch_device import Device, find_device
from ._torch_direct import Direct, kinds_of, mark_written, remember
from ._torch_gradient import PAIRS, Product, register
from ._torch_library import library
from .errors import ArgumentError, check_one_of
from .tensors import FORMATS, ScaledTensor, scales_shape, values_shape

__all__ = ["ARGUMENTS", "as_rows", "check_destinations", "multiply", "quantize", "result_shape"]

# Exported programs and callers know arguments by their place: a new one goes to the end.
ARGUMENTS = ("Tensor lhs, Tensor? lhs_scales, Tensor rhs, Tensor rhs_scales, Tensor? ends=None, Tensor? alpha=None, "
             "Tensor? bias=None, str format='nvfp4', str layout='linear', str activation='identity', "
             "int granularity=0, bool gate_first=True, ScalarType dtype=bfloat16, Tensor? prob=None, "
             "str grouping='ragged_rows', str offsets='ends', int align=1, str starts='whole', int columns=0, "
             "Tensor? addend=None, float? beta=None, Tensor? activation_params=None, float? swiglu_alpha=None, "
             "float? swiglu_beta=None, float? swiglu_limit=None, bool round_bf16=False, Tensor? row_scale=None")


def result_shape(lhs: torch.Tensor, rhs: torch.Tensor, ends: torch.Tensor | None, layout: str, activation: str,
                 grouping: str, offsets: str, columns: int) -> tuple[int, ...]:
    """The shape of a product."""
    if packing.is_packed(layout) and columns < 1:
        raise ArgumentError(f"expected columns=, the N of packed weights, of 1 or more, but got {columns}")
    width = columns if packing.is_packed(layout) else rhs.shape[-2]
    if activation in PAIRS:
        width //= 2
    if grouping != "ragged_k":
        return (*lhs.shape[:-1], width)
    if ends is None:
        raise ArgumentError("expected ends, where each group along K ends, but got None")
    return (ends.shape[0] - (offsets == "starts"), lhs.shape[0], width)


def _by_group(alpha: torch.Tensor | None, lhs: torch.Tensor, ends: torch.Tensor | None, grouping: str,
              offsets: str) -> torch.Tensor | None:
    """alpha as numbers of float32 in memory: one a group where it is a single number."""
    if alpha is None:
        return None
    if alpha.ndim == 0:
        count = 1 if grouping == "dense" else lhs.shape[0]
        if grouping.startswith("ragged") and ends is not None:
            count = ends.shape[0] - (offsets == "starts")
        alpha = alpha.reshape(1).expand(count)
    return alpha.float().contiguous()


def _check_for_kernels(layout: str) -> None:
    if not packing.is_packed(layout):
        raise ArgumentError(f"expected packed weights on a GPU (nvfp4.torch.PackedWeights, of layout wgmma), but got "
                            f"layout {layout}")


def _fill(grouping: str) -> int | None:
    """The number in a result before the product is written: zero where rows may be of no group, None for any."""
    return None if grouping in ("dense", "batched") else 0


def _new(shape: Sequence[int], dtype: torch.dtype, like: torch.Tensor | None, grouping: str) -> torch.Tensor:
    """A destination, whose rows of no group are zero."""
    make = torch.empty if _fill(grouping) is None else torch.zeros
    return make(tuple(shape), dtype=dtype, device=like.device)  # type: ignore[union-attr]


def check_destinations(results: Sequence[tuple[str, torch.Tensor, Sequence[int], torch.dtype]],
                       operands: Sequence[torch.Tensor | None]) -> None:
    """ArgumentError unless each named tensor has this shape and type, is on the device of the first operand, without gaps,
    and shares no memory with operands."""
    device = operands[0].device  # type: ignore[union-attr]
    for name, tensor, shape, dtype in results:
        if not isinstance(tensor, torch.Tensor):
            raise ArgumentError(f"expected {name} as a tensor, but got {type(tensor).__name__}")
        if tuple(tensor.shape) != tuple(shape) or tensor.dtype != dtype or tensor.device != device:
            raise ArgumentError(f"expected {name} of shape {tuple(shape)} of {dtype} on {device}, but got "
                                f"{tuple(tensor.shape)} of {tensor.dtype} on {tensor.device}")
        if not tensor.is_contiguous():
            raise ArgumentError(f"expected {name} row-major without gaps, but got strides {tensor.stride()} for shape "
                                f"{tuple(tensor.shape)}")
        if torch.is_grad_enabled() and tensor.requires_grad:
            raise ArgumentError(f"expected {name} without requires_grad, for what is written to has no gradient")
        if any(each is not None and _overlap(tensor, each) for each in operands):
            raise ArgumentError(f"expected {name} in memory of its own, but it shares some with an operand")


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    if not (a.numel() and b.numel()) or torch.compiler.is_compiling() or type(a) not in (torch.Tensor, torch.nn.Parameter):
        return False
    return a.data_ptr() < b.data_ptr() + b.nbytes and b.data_ptr() < a.data_ptr() + a.nbytes


def _state(stand_ins: Sequence[Any], options: tuple[Any, ...], device: bool, **quantised: Any) -> Any:
    """The operation, of arrays that stand in for its tensors; ArgumentError for what does not go together."""
    *product_options, beta, swiglu_alpha, swiglu_beta, swiglu_limit, round_bf16 = options
    *operands, addend, params, prob, row_scale, place = stand_ins
    if device:
        _check_for_kernels(product_options[1])
    if beta is not None and addend is None:
        raise ArgumentError(f"expected addend= with beta, which scales it, but got beta={beta} alone")
    fields: Any = *operands, *product_options[:5], prob, *product_options[5:]
    product = Product(*fields)
    activation = product.activation()
    changes = {name: value for name, value in (("alpha", swiglu_alpha), ("beta", swiglu_beta), ("limit", swiglu_limit),
                                               ("round_bf16", round_bf16 or None)) if value is not None}
    if changes and activation is None:
        raise ArgumentError(f"expected an activation with {', '.join(changes)}, but got identity")
    if activation is not None:
        activation = dataclasses.replace(activation, **changes)
    return matmul.plan_matmul(product.rows(), product.weights(), product.grouping(), alpha=operands[5],
                              row_scale=row_scale, beta=beta, addend=addend, bias=operands[6], prob=prob, activation=activation,
                              activation_params=params, out=place, **quantised).call


def _prepare(lhs: torch.Tensor, lhs_scales: torch.Tensor | None, rhs: torch.Tensor, rhs_scales: torch.Tensor,
             ends: torch.Tensor | None = None, alpha: torch.Tensor | None = None, bias: torch.Tensor | None = None,
             format: str = "nvfp4", layout: str = "linear", activation: str = "identity", granularity: int = 0,
             gate_first: bool = True, dtype: torch.dtype = torch.bfloat16, prob: torch.Tensor | None = None,
             grouping: str = "ragged_rows", offsets: str = "ends", align: int = 1, starts: str = "whole",
             columns: int = 0, addend: torch.Tensor | None = None, beta: float | None = None,
             activation_params: torch.Tensor | None = None, swiglu_alpha: float | None = None,
             swiglu_beta: float | None = None, swiglu_limit: float | None = None,
             round_bf16: bool = False, row_scale: torch.Tensor | None = None,
             ) -> tuple[tuple[int, ...], torch.dtype, list[torch.Tensor | None], tuple[Any, ...]]:
    """Shape and type of the result, the tensors that the operation reads, and all else that says what it is."""
    shape = result_shape(lhs, rhs, ends, layout, activation, grouping, offsets, columns)
    tensors = [lhs, lhs_scales, rhs, rhs_scales, ends, _by_group(alpha, lhs, ends, grouping, offsets), bias, addend,
               activation_params, *(None if each is None else each.float() for each in (prob, row_scale))]
    return shape, dtype, [each if each is None else each.contiguous() for each in tensors], (
        format, layout, activation, granularity, gate_first, grouping, offsets, align, starts, columns, beta,
        swiglu_alpha, swiglu_beta, swiglu_limit, round_bf16)


def _multiply(device: Device | None, *arguments: Any, **named: Any) -> torch.Tensor:
    shape, dtype, tensors, options = _prepare(*arguments, **named)
    out = _new(shape, dtype, tensors[0], options[5])
    _run(device, tensors, out, options)
    return out


def _multiply_out(device: Device | None, *arguments: Any, out: torch.Tensor, **named: Any) -> None:
    shape, dtype, tensors, options = _prepare(*arguments, **named)
    check_destinations([("out", out, shape, dtype)], tensors)
    if _fill(options[5]) is not None:
        out.zero_()
    _run(device, tensors, out, options)
    mark_written([out])


def _run(device: Device | None, tensors: Sequence[torch.Tensor | None], out: torch.Tensor, options: tuple[Any, ...]) -> None:
    all_tensors = [*tensors, out]
    find_call(device, options, all_tensors, lambda arrays: _state(arrays, options, device is not None))(all_tensors)


def as_rows(lhs: torch.Tensor, lhs_scales: torch.Tensor | None, layout: str) -> torch.Tensor:
    """Rows without scales of float32 rounded to the type that products have for weights of a layout."""
    if lhs_scales is not None or lhs.dtype != torch.float32:
        return lhs
    return lhs.to(torch.float16 if layout == "wgmma_f16" else torch.bfloat16)


def multiply(tensors: tuple[torch.Tensor | None, ...], options: tuple[Any, ...], dtype: torch.dtype,
             out: torch.Tensor | None = None) -> torch.Tensor:
    """A product of lhs, lhs_scales, rhs, rhs_scales, ends, alpha, bias, addend, activation_params, prob and
    row_scale, without the dispatcher where it can be. ``options`` are the others as :func:`_prepare` returns them."""
    if tensors[1] is None and tensors[0].dtype == torch.float32:  # type: ignore[union-attr]
        tensors = as_rows(tensors[0], None, options[1]), *tensors[1:]  # type: ignore[arg-type]
    kinds = kinds_of(tensors)
    key = "product", kinds, options, dtype
    if kinds is not None:
        direct = find(key)
        if direct is not None:
            if out is None:
                return direct(tensors)[0]
            if not any(each is not None and _overlap(out, each) for each in tensors) and direct.write(tensors, (out,)):
                return out
    lhs, lhs_scales, rhs, rhs_scales, ends, alpha, bias, addend, params, prob, row_scale = tensors
    arguments = (lhs, lhs_scales, rhs, rhs_scales, ends, alpha, bias, *options[:5], dtype, prob, *options[5:10], addend, options[10],
                 params, *options[11:], row_scale)
    if out is not None:
        if torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in tensors):
            raise ArgumentError("expected tensors without requires_grad with out, for what is written to has no gradient; use "
                                "torch.no_grad() or detach()")
        torch.ops.nvfp4.grouped_matmul.out(*arguments, out=out)
        result = out
    else:
        # The operation with gradients costs a call twice as much, where none is wanted too.
        differs = torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in tensors)
        operation = torch.ops.nvfp4.grouped_matmul if differs else torch.ops.nvfp4.grouped_matmul_forward
        result = operation(*arguments)
    if kinds is not None:
        _, _, prepared, rest = _prepare(*arguments)
        _remember(key, tensors, prepared, (result,), (_fill(options[5]),), rest)
    return result


def _remember(key: Any, tensors: Sequence[torch.Tensor | None], prepared: Sequence[torch.Tensor | None],
              results: Sequence[torch.Tensor], fills: Sequence[int | None], options: tuple[Any, ...]) -> None:
    """Keeps the call that has been made, unless tensors of the caller had to be converted for it."""
    if all(given is used for given, used in zip(tensors, prepared)):
        bound = find_call(find_device(results[0]), options, [*prepared, *results], None)
        remember(key, Direct(bound, results, fills))


def _prepare_scaled(out_format: str, arguments: Sequence[Any], named: dict[str, Any]) -> tuple[Any, ...]:
    """As :func:`_prepare`, with values and scales as results, and the shape of their numbers."""
    check_one_of("out_format", out_format, FORMATS)
    fmt = FORMATS[out_format]
    shape, _, tensors, options = _prepare(*arguments, **named)
    device = tensors[0].device  # type: ignore[union-attr]
    values = torch.zeros(values_shape(shape, out_format), dtype=torch.uint8, device=device)
    scales = torch.full(scales_shape(shape, out_format), fmt.padding, dtype=torch.uint8, device=device)
    return (values, scales), [*tensors, values, scales], options, shape


def _state_scaled(stand_ins: Sequence[Any], options: tuple[Any, ...], shape: tuple[int, ...], device: bool,
                  out_format: str, global_scale: float | None, quantizer: str | None) -> Any:
    *operands, values, scales = stand_ins
    place = ScaledTensor(values, scales, out_format, shape)
    return _state([*operands, place], options, device, quantizer=quantizer, global_scale=global_scale)


def _multiply_scaled(device: Device | None, out_format: str, global_scale: float | None, quantizer: str | None,
                     *arguments: Any, **named: Any) -> tuple[torch.Tensor, torch.Tensor]:
    results, tensors, options, shape = _prepare_scaled(out_format, arguments, named)
    _run_scaled(device, tensors, options, shape, out_format, global_scale, quantizer)
    return results


def _multiply_scaled_out(device: Device | None, out_format: str, global_scale: float | None, quantizer: str | None,
                         *arguments: Any, values: torch.Tensor, scales: torch.Tensor, **named: Any) -> None:
    _, tensors, options, shape = _place_scaled(out_format, arguments, named, values, scales)
    values.zero_()
    scales.fill_(FORMATS[out_format].padding)
    _run_scaled(device, tensors, options, shape, out_format, global_scale, quantizer)


def _place_scaled(out_format: str, arguments: Sequence[Any], named: dict[str, Any], values: torch.Tensor,
                  scales: torch.Tensor) -> tuple[Any, ...]:
    """As :func:`_prepare_scaled`, with the results of the caller."""
    check_one_of("out_format", out_format, FORMATS)
    shape, _, tensors, options = _prepare(*arguments, **named)
    check_destinations([("out[0]", values, values_shape(shape, out_format), torch.uint8),
                        ("out[1]", scales, scales_shape(shape, out_format), torch.uint8)], tensors)
    return (values, scales), [*tensors, values, scales], options, shape


def _run_scaled(device: Device | None, tensors: Sequence[torch.Tensor | None], options: tuple[Any, ...],
                shape: tuple[int, ...], *rest: Any) -> None:
    find_call(device, (*options, *rest), tensors,
              lambda arrays: _state_scaled(arrays, options, shape, device is not None, *rest))(tensors)


def _scaled_shapes_only(out_format: str, global_scale: float | None, quantizer: str | None, *arguments: Any,
                        **named: Any) -> tuple[torch.Tensor, torch.Tensor]:
    results, tensors, options, shape = _prepare_scaled(out_format, arguments, named)
    if _is_static(tensors):
        _state_scaled([stand_in(each) for each in tensors], options, shape, results[0].is_cuda, out_format,
                      global_scale, quantizer)
    return results


def _scaled_shapes_only_out(out_format: str, global_scale: float | None, quantizer: str | None, *arguments: Any,
                            values: torch.Tensor, scales: torch.Tensor, **named: Any) -> None:
    _, tensors, options, shape = _place_scaled(out_format, arguments, named, values, scales)
    if _is_static(tensors):
        _state_scaled([stand_in(each) for each in tensors], options, shape, values.is_cuda, out_format, global_scale, quantizer)


def _is_static(tensors: Sequence[torch.Tensor | None]) -> bool:
    return all(isinstance(extent, int) for each in tensors if each is not None for extent in each.shape)


def _shapes_only(*arguments: Any, **named: Any) -> torch.Tensor:
    shape, dtype, tensors, options = _prepare(*arguments, **named)
    out = _new(shape, dtype, tensors[0], options[5])
    _check_shapes(tensors, out, options)
    return out


def _shapes_only_out(*arguments: Any, out: torch.Tensor, **named: Any) -> None:
    shape, dtype, tensors, options = _prepare(*arguments, **named)
    check_destinations([("out", out, shape, dtype)], tensors)
    _check_shapes(tensors, out, options)


def _check_shapes(tensors: Sequence[torch.Tensor | None], out: torch.Tensor, options: tuple[Any, ...]) -> None:
    if _is_static([*tensors, out]):
        _state([stand_in(each) for each in (*tensors, out)], options, out.is_cuda)


def _quantize(device: Device | None, x: torch.Tensor, global_scale: float = 1.0,
              quantizer: str = "trtllm") -> tuple[torch.Tensor, torch.Tensor]:
    values, scales = _quantized(x)
    _run_quantize(device, x.contiguous(), values, scales, global_scale, quantizer)
    return values, scales


def _quantize_out(device: Device | None, x: torch.Tensor, global_scale: float = 1.0, quantizer: str = "trtllm", *,
                  values: torch.Tensor, scales: torch.Tensor) -> None:
    _check_quantized(x, values, scales)
    _run_quantize(device, x.contiguous(), values, scales, global_scale, quantizer)
    mark_written([values, scales])


def _check_quantized(x: torch.Tensor, values: torch.Tensor, scales: torch.Tensor) -> None:
    check_destinations([(f"out[{i}]", each, shape, torch.uint8)
                        for i, (each, shape) in enumerate(zip((values, scales), _quantized_shapes(x)))], [x])


def _run_quantize(device: Device | None, x: torch.Tensor, values: torch.Tensor, scales: torch.Tensor, global_scale: float,
                  quantizer: str) -> None:
    def state(stand_ins: Sequence[Any]) -> Any:
        source, *parts = stand_ins
        out = ScaledTensor(*parts, shape=source.shape)
        return quantization.quantize_call(source, quantizer=quantizer, global_scale=global_scale, out=out)[0]

    find_call(device, ("quantize", global_scale, quantizer), [x, values, scales], state)([x, values, scales])


def quantize(x: torch.Tensor, global_scale: float, quantizer: str,
             out: Sequence[torch.Tensor] | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Values and scales, without the dispatcher where it can be."""
    kinds = kinds_of((x,))
    key = "quantize", kinds, global_scale, quantizer
    if kinds is not None:
        direct = find(key)
        if direct is not None:
            if out is None:
                values, scales = direct((x,))
                return values, scales
            if not any(_overlap(each, x) for each in out) and direct.write((x,), out):
                return out[0], out[1]
    if out is None:
        results = torch.ops.nvfp4.quantize(x, global_scale, quantizer)
    else:
        results = tuple(out)
        torch.ops.nvfp4.quantize.out(x, global_scale, quantizer, values=results[0], scales=results[1])
    if kinds is not None:
        _remember(key, (x,), (x,), results, (None, None), ("quantize", global_scale, quantizer))
    return results


def _quantized_shapes(x: torch.Tensor) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    if not 1 <= x.ndim <= 3:
        raise ArgumentError(f"expected a tensor of rank 1, 2 or 3, but got shape {tuple(x.shape)}")
    rows, columns = x.shape[:-1], x.shape[-1]
    return (*rows, (columns + 1) // 2), (*rows, (columns + 15) // 16)


def _quantized(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, scales = _quantized_shapes(x)
    return x.new_empty(values, dtype=torch.uint8), x.new_empty(scales, dtype=torch.uint8)


def _implement(name: str, function: Callable[..., Any], place: int = 0) -> None:
    """Implements an operation, whose tensor on the device is the argument at ``place``."""
    def on_gpu(*arguments: Any, **options: Any) -> Any:
        return function(find_device(arguments[place]), *arguments, **options)

    library.impl(name, lambda *arguments, **options: function(None, *arguments, **options), "CPU")
    library.impl(name, on_gpu, "CUDA")


# grouped_matmul has gradients, which cost each call; grouped_matmul_forward has none.
for _name in ("grouped_matmul", "grouped_matmul_forward"):
    library.define(f"{_name}({ARGUMENTS}) -> Tensor")
    _implement(_name, _multiply)
    torch.library.register_fake(f"nvfp4::{_name}", _shapes_only, lib=library)
library.define(f"grouped_matmul.out({ARGUMENTS}, *, Tensor(a!) out) -> ()")
_implement("grouped_matmul.out", _multiply_out)
torch.library.register_fake("nvfp4::grouped_matmul.out", _shapes_only_out, lib=library)

_SCALED = "str out_format, float? global_scale, str? quantizer, " + ARGUMENTS
_PAIR = "Tensor(a!) values, Tensor(b!) scales"
library.define(f"grouped_matmul_scaled({_SCALED}) -> (Tensor, Tensor)")
_implement("grouped_matmul_scaled", _multiply_scaled, 3)
torch.library.register_fake("nvfp4::grouped_matmul_scaled", _scaled_shapes_only, lib=library)
library.define(f"grouped_matmul_scaled.out({_SCALED}, *, {_PAIR}) -> ()")
_implement("grouped_matmul_scaled.out", _multiply_scaled_out, 3)
torch.library.register_fake("nvfp4::grouped_matmul_scaled.out", _scaled_shapes_only_out, lib=library)

_QUANTIZE = "Tensor x, float global_scale=1.0, str quantizer='trtllm'"
library.define(f"quantize({_QUANTIZE}) -> (Tensor, Tensor)")
_implement("quantize", _quantize)
library.define(f"quantize.out({_QUANTIZE}, *, {_PAIR}) -> ()")
_implement("quantize.out", _quantize_out)


register("nvfp4::grouped_matmul", library)


@torch.library.register_fake("nvfp4::quantize", lib=library)
def _(x, global_scale=1.0, quantizer="trtllm"):
    return _quantized(x)


@torch.library.register_fake("nvfp4::quantize.out", lib=library)
def _(x, global_scale=1.0, quantizer="trtllm", *, values, scales):
    _check_quantized(x, values, scales)
