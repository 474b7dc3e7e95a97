# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped products of scaled operands, with every option of the dialect's ``matmul`` and ``matmul_list``.

Rows may also be numbers of bf16 or f16, without scales (weight-only quantisation).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Union

import numpy as np

from . import _dlpack
from ._calls import DIALECT, FLOATS, Call
from ._launcher import HostLauncher
from ._repeats import repeat
from ._scalars import check_count, check_flag, float32s
from .compiler import Program
from .errors import ArgumentError, DataError, check_keywords, check_one_of
from .options import ActivationLike, GateLike, Hadamard, QuantizerLike, activation_of, gate_of, quantizer_of, word_of
from .quantization import scaled_destination, stored_scales, write_hadamard
from .tensors import FORMATS, Grouping, ScaledTensor, dense

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["grouped_matmul", "Lhs", "MatmulCopies", "MatmulGradient", "MatmulOptions", "MatmulResult", "MatmulPlan", "QuantizedCopy",
           "plan_matmul", "Strategy"]

#: Rows of a product: scaled, or numbers of bf16, f16 or f32 (numpy with ml_dtypes, or any DLPack tensor of the CPU).
Lhs = Union[ScaledTensor, np.ndarray, Any]

#: A tiling of a GPU: text in MLIR, or the parameters of ``#grouped_scaled_gemm.strategy`` by name.
Strategy = Union[str, Mapping[str, Any]]


class MatmulResult(NamedTuple):
    """The results of :func:`grouped_matmul` with ``preact`` or ``amax``."""

    out: Any
    preact: np.ndarray | None
    amax: np.ndarray | None


class MatmulCopies(NamedTuple):
    """The results of :func:`grouped_matmul` with copies; ``out`` is None if there is no result beside them."""

    out: Any
    preact: np.ndarray | None
    amax: np.ndarray | None
    copies: tuple[ScaledTensor, ...]


class MatmulGradient(NamedTuple):
    """The results of :func:`grouped_matmul` with ``prob_gradient``; ``out`` is None if copies are the only results."""

    out: Any
    prob: np.ndarray
    copies: tuple[ScaledTensor, ...]


@dataclasses.dataclass(frozen=True)
class QuantizedCopy:
    """A further quantised result of :func:`grouped_matmul`: what :func:`nvfp4.quantize` makes of the product with the same
    options. ``transposed`` exchanges rows and columns, ``[N, R]`` (``[G, N, M]`` if batched or ragged in K): its blocks then
    lie along the rows of each group, as products of gradients read them. ``format`` is by default that of ``out``, else of
    ``lhs``, else of ``rhs``. ``out`` is a destination; without it, what lies outside the groups is zero."""

    format: str | None = None
    quantizer: QuantizerLike | None = None
    transposed: bool = False
    hadamard: Hadamard | None = None
    global_scale: Any = None
    seed: int | None = None
    layout: str = "linear"
    starts: str = "whole"
    axis: int = -1
    out: ScaledTensor | None = None


class MatmulPlan:
    """A product whose arguments are bound: run it, look at its code.

    ``run()`` computes into the same destinations each time and returns them; ``program`` is the compiled function.
    """

    def __init__(self, call: Call, result: Any, target: str, device: str | None):
        self._call, self._result = call, result
        self._target, self._device = target, device
        self._program: Program | None = None
        self._launcher: HostLauncher | None = None

    @property
    def call(self) -> Call:
        """The operation and its arrays."""
        return self._call

    @property
    def stated(self) -> tuple[Call, Any, str, str | None]:
        """The operation, what :meth:`run` returns, the target and the device."""
        return self._call, self._result, self._target, self._device

    @property
    def text(self) -> str:
        """The function in MLIR."""
        return self._call.text()

    @property
    def program(self) -> Program:
        """The compiled function; compiled on first use, and shared by all products of the same signature."""
        if self._program is None:
            self._program = self._call.program(self._target, self._device)
        return self._program

    def ir(self, stage: str = "input") -> str:
        """See :meth:`Program.ir`."""
        return self.program.ir(stage)

    def explain(self, target: str | None = None) -> str:
        """See :meth:`Program.explain`."""
        return self.program.explain(target)

    def run(self) -> Any:
        """Computes the product; see :func:`grouped_matmul` for what is returned."""
        if self._launcher is None:
            self._launcher = self._call.launcher(self.program)
        try:
            self._launcher.launch()
        except (ArgumentError, DataError) as error:
            raise self._call.explain(error) from None
        return self._result


class MatmulOptions(TypedDict, total=False):
    """The options of :func:`grouped_matmul`, which explains them."""

    alpha: Any
    row_scale: Any
    beta: Any
    addend: Any
    bias: Any
    prob: Any
    prob_at: str | None
    activation: ActivationLike | None
    outer_gate: GateLike | None
    activation_params: Any
    gradient_of: ActivationLike | None
    z: Any
    prob_gradient: Any
    row: Sequence[Any]
    column: Sequence[Any]
    group: Sequence[Any]
    epilogue: str | None
    quantizer: QuantizerLike | None
    out_format: str | None
    out_layout: str | None
    out_starts: str | None
    out_axis: int | None
    global_scale: Any
    seed: int | None
    out: Any
    dtype: Any
    preact: Any
    amax: Any
    copies: Sequence[QuantizedCopy] | None
    math: str | None
    tail: str | None
    determinism: str | None
    strategy: Strategy | None
    expected_rows: int | None
    target: str
    device: str | None


def _strategy(strategy: Strategy) -> str:
    """The attribute in MLIR."""
    if isinstance(strategy, Mapping):
        words = {True: "true", False: "false"}
        strategy = ", ".join(f"{k} = {words[v] if isinstance(v, bool) else v}" for k, v in strategy.items())
    elif not isinstance(strategy, str):
        raise ArgumentError(f"expected strategy as text or as a mapping of its parameters, but got {type(strategy).__name__}")
    return f"#{DIALECT}.strategy{strategy if strategy.startswith('<') else f'<{strategy}>'}"


def write_attributes(call: Call, target: str, math: str | None, tail: str | None, determinism: str | None,
                     strategy: Strategy | None, expected_rows: int | None) -> None:
    """The attributes of a product; the last clause."""
    parts = [(name, f"#{DIALECT}<{name} {word_of(name, value)}>")
             for name, value in (("math", math), ("tail", tail), ("determinism", determinism)) if value is not None]
    if strategy is not None:
        if target == "cpu":
            raise ArgumentError("expected a GPU such as sm_100a as target for strategy, which says how a GPU tiles, but got "
                                "cpu")
        parts.append(("strategy", _strategy(strategy)))
    if expected_rows is not None:
        parts.append(("expected_rows", f"{check_count('expected_rows', expected_rows)} : i64"))
    for i, (name, value) in enumerate(parts):
        call.write(f"{', ' if i else ' {'}{name} = {value}", name)
    if parts:
        call.write("}")


def _out_shape(lhs: Lhs, rhs: Sequence[ScaledTensor], grouping: Grouping) -> tuple[int, ...]:
    """The shape of z."""
    n = rhs[0].shape[-2] if rhs[0].ndim > 1 else 0
    if grouping.kind == "ragged_k":
        return len(grouping), lhs.shape[0], n
    return lhs.shape[:-1] + (n,)


def _group_count(lhs: Lhs, rhs: Sequence[ScaledTensor], grouping: Grouping) -> int:
    if grouping.kind in ("dense", "ragged_k", "ragged_rows"):
        return len(grouping)
    return lhs.shape[0]


def _lhs_of(value: Lhs, rhs: Any) -> ScaledTensor | np.ndarray:
    """Rows as they are, or as an array of bf16 or f16, to which those of f32 are rounded."""
    if isinstance(value, ScaledTensor):
        return value
    got = type(value).__name__
    if hasattr(value, "dtype") or hasattr(value, "__dlpack__"):
        array = _dlpack.asarray(value)
        if array.ndim > 1 and array.dtype == np.float32:
            halves = isinstance(rhs, ScaledTensor) and rhs.layout == "wgmma_f16"
            return _dlpack.as_rows(array, _dlpack.ELEMENTS["f16" if halves else "bf16"], "lhs")
        if array.ndim > 1 and array.dtype in (_dlpack.ELEMENTS["bf16"], _dlpack.ELEMENTS["f16"]):
            return array
        got = f"{array.dtype} of shape {array.shape}"
    raise ArgumentError("expected lhs as ScaledTensor (see nvfp4.quantize), or as rows of bfloat16, float16 or float32, but got "
                        f"{got}")


# The operands of the dialect's matmul in the order in which it has them.
_MATMUL = ("groups", "lhs", "lhs.scales", "rhs", "rhs.scales", "alpha", "row_scale", "bias", "prob", "beta", "addend",
           "activation_params", "z", "row", "column", "group", "global_scale", "seed", "copies.global_scale", "copies.seed",
           "preact", "out", "out.scales", "amax", "prob_gradient", "copies", "copies.scales")


class _Builder:
    """Writes the clauses of a product in the order of its assembly format."""

    def __init__(self, lhs: Lhs, rhs: ScaledTensor | Sequence[ScaledTensor], grouping: Grouping):
        self.call = Call("grouped_matmul", _MATMUL)
        self.lhs, self.rhs = _lhs_of(lhs, rhs), list(rhs) if isinstance(rhs, Sequence) else [rhs]
        self.grouping = grouping
        wrong = [t for t in self.rhs if not isinstance(t, ScaledTensor)]
        if wrong or not self.rhs:
            raise ArgumentError("expected rhs as ScaledTensor (one, or a list of one a group; see nvfp4.quantize), "
                                f"but got {type(wrong[0]).__name__ if wrong else 'an empty list'}")
        if not isinstance(grouping, Grouping):
            raise ArgumentError("expected grouping as dense(), batched(), ragged_rows(...), masked(...) or ragged_k(...), "
                                f"but got {type(grouping).__name__}")
        if grouping.kind == "dense":
            self._check_dense()
        self.call.write(f"{DIALECT}.matmul ")
        self.call.write(grouping.attribute, "grouping")
        if grouping.groups is not None:
            self.call.write(f" groups({self.call.memref('groups', grouping.groups, 'groups')})", "grouping")
        self.call.write(f" lhs({self._lhs()})", "lhs")
        names = ["rhs"] if isinstance(rhs, ScaledTensor) else [f"rhs[{i}]" for i in range(len(self.rhs))]
        operands = [self.call.scaled(f"rhs{i}", r, name) for i, (r, name) in enumerate(zip(self.rhs, names))]
        self.call.write(f" rhs({', '.join(operands)})", "rhs")

    def _check_dense(self) -> None:
        """Without a grouping a product is dense, which is rarely meant for stacks."""
        if self.lhs.ndim == 2 and len(self.rhs) == 1 and self.rhs[0].ndim == 2:
            return
        rhs = ", ".join(str(t.shape) for t in self.rhs)
        likely = "ragged_rows(ends), for lhs [R, K]" if self.lhs.ndim == 2 else \
            "batched() or masked(counts), for lhs [G, M, K]"
        raise ArgumentError(f"expected lhs [M, K] and one rhs [N, K] for grouping dense(), which is the default, but got "
                            f"{self.lhs.shape} and {rhs}; weights [G, N, K] have grouping {likely}")

    def _lhs(self) -> str:
        if isinstance(self.lhs, ScaledTensor):
            return self.call.scaled("lhs", self.lhs)
        return self.call.memref("lhs", self.lhs, "lhs")

    def floats(self, keyword: str, value: Any, rank: int | None = None) -> None:
        if value is not None:
            self.call.write(f" {keyword}({self.call.floats(keyword, value, keyword, rank)})", keyword)

    def tensor(self, keyword: str, value: Any, allowed: tuple[str, ...] = FLOATS, writes: bool = False,
               name: str = "") -> None:
        """An array as the operand `keyword`, made of the argument of that or of another name."""
        if value is not None:
            name = name or keyword
            array = _dlpack.asarray(value, writable=writes)
            self.call.write(f" {keyword}({self.call.memref(keyword, array, name, allowed, writes)})", name)

    def vectors(self, keyword: str, values: Sequence[Any]) -> None:
        if not len(values):
            return
        ranks = (1, 2) if keyword == "column" else (1,)
        operands = []
        for i, value in enumerate(values):
            array = float32s(_dlpack.asarray(value), f"{keyword}[{i}]")
            if array.ndim not in ranks:
                raise ArgumentError(f"expected {keyword}[{i}] of rank {' or '.join(map(str, ranks))}, but got shape "
                                    f"{array.shape}")
            operands.append(self.call.memref(f"{keyword}{i}", array, f"{keyword}[{i}]"))
        names, types = zip(*(operand.split(" : ") for operand in operands))
        self.call.write(f" {keyword}({', '.join(names)} : {', '.join(types)})", keyword)


    def copies(self, copies: Sequence[QuantizedCopy], shape: tuple[int, ...]) -> tuple[ScaledTensor, ...]:
        """The clause of copies of a result of ``shape``, and their destinations."""
        results = []
        for i, copy in enumerate(copies):
            name = f"copies[{i}]"
            if not isinstance(copy, QuantizedCopy):
                raise ArgumentError(f"expected {name} as nvfp4.QuantizedCopy, but got {type(copy).__name__}")
            source = copy.out or (self.lhs if isinstance(self.lhs, ScaledTensor) else self.rhs[0])
            fmt = copy.format or source.format
            check_one_of(f"{name}.format", fmt, FORMATS)
            self.call.write(f"{', ' if i else ' copies('}{quantizer_of(copy.quantizer, fmt)}", name)
            if check_flag(f"{name}.transposed", copy.transposed):
                self.call.write(" transposed", name)
            write_hadamard(self.call, copy.hadamard, name)
            if copy.global_scale is not None:
                operand = self.call.floats(f"copy{i}_global_scale", copy.global_scale, f"{name}.global_scale")
                self.call.write(f" global_scale({operand})", name)
            if copy.seed is not None:
                self.call.scalar(f"copy{i}_seed", copy.seed, "i64", f"{name}.seed")
                self.call.write(f" seed(%copy{i}_seed)", name)
            groups = self.grouping if self.grouping.kind == "ragged_rows" else None
            wanted = shape
            if copy.transposed:
                wanted = (*shape[:-2], shape[-1], shape[-2])
                groups = dataclasses.replace(groups, kind="ragged_k") if groups else None
            scales = stored_scales(wanted, fmt, copy.layout, copy.starts, copy.axis, groups)
            out = scaled_destination(copy.out, wanted, fmt, copy.layout, copy.starts, copy.axis, scales)
            self.call.write(f" outs({self.call.scaled(f'copy{i}', out, name)})", name)
            results.append(out)
        if results:
            self.call.write(")", "copies")
        return tuple(results)


def plan_matmul(lhs: Lhs, rhs: ScaledTensor | Sequence[ScaledTensor], grouping: Grouping | None = None, *,
                alpha: Any = None, row_scale: Any = None, beta: Any = None, addend: Any = None, bias: Any = None,
                prob: Any = None, prob_at: str | None = None, activation: ActivationLike | None = None,
                outer_gate: GateLike | None = None, activation_params: Any = None,
                gradient_of: ActivationLike | None = None, z: Any = None, prob_gradient: Any = None,
                row: Sequence[Any] = (), column: Sequence[Any] = (), group: Sequence[Any] = (), epilogue: str | None = None,
                quantizer: QuantizerLike | None = None,
                out_format: str | None = None, out_layout: str | None = None, out_starts: str | None = None,
                out_axis: int | None = None, global_scale: Any = None, seed: int | None = None, out: Any = None,
                dtype: Any = None, preact: Any = None, amax: Any = None, copies: Sequence[QuantizedCopy] | None = (),
                math: str | None = None, tail: str | None = None, determinism: str | None = None, strategy: Strategy | None = None,
                expected_rows: int | None = None, target: str = "cpu", device: str | None = None) -> MatmulPlan:
    """:func:`grouped_matmul` with its arguments bound, not yet computed."""
    grouping = dense() if grouping is None else grouping
    copies = tuple(copies or ())
    b = _Builder(lhs, rhs, grouping)
    lhs = b.lhs
    z_shape = _out_shape(lhs, b.rhs, grouping)
    halves = False
    if beta is not None and addend is None and out is None:
        raise ArgumentError("expected addend= or out= with beta, for it scales what is added, but got neither")
    row_rank = 2 if grouping.kind in ("batched", "masked") else 1
    b.floats("alpha", alpha)
    b.floats("row_scale", row_scale, row_rank)
    b.floats("beta", beta)
    b.tensor("addend", addend)
    b.tensor("bias", bias)
    if prob is not None:
        b.floats("prob", prob, row_rank)
        b.call.write(f" at {word_of('prob_at', prob_at or 'post_activation')}", "prob_at")
    elif prob_at is not None:
        raise ArgumentError(f"expected prob= with prob_at, but got prob_at='{prob_at}' alone")
    if activation is not None:
        text, halves = activation_of(activation)
        b.call.write(f" activation = {text}", "activation")
    if outer_gate is not None:
        b.call.write(f" outer_gate = {gate_of(outer_gate)}", "outer_gate")
    b.floats("activation_params", activation_params, 2)
    y_shape = z_shape[:-1] + (z_shape[-1] // 2,) if halves else z_shape
    if (gradient_of is None) != (z is None):
        raise ArgumentError("expected gradient_of= and z=, the pre-activation of the forward pass, together, but got "
                            f"{'z' if gradient_of is None else 'gradient_of'} alone")
    if gradient_of is not None:
        text, doubles = activation_of(gradient_of)
        y_shape = z_shape[:-1] + (2 * z_shape[-1],) if doubles else z_shape
        if np.shape(z) != y_shape:
            raise ArgumentError(f"expected z of shape {y_shape}, that of the gradient, but got {np.shape(z)}")
        b.call.write(f" gradient_of = {text}", "gradient_of")
        b.tensor("preact", z, name="z")
    for keyword, values in (("row", row), ("column", column), ("group", group)):
        b.vectors(keyword, values)
    if epilogue is not None:
        b.call.write(" epilogue {\n", "epilogue")
        b.call.write(epilogue, "epilogue", is_source=True)
        b.call.write("\n}", "epilogue")
    quantized = quantizer is not None or out_format is not None or isinstance(out, ScaledTensor)
    _check_result(quantized, out, dtype, dict(out_layout=out_layout, out_starts=out_starts, out_axis=out_axis,
                                              global_scale=global_scale, seed=seed))
    if quantized:
        fmt = out_format or (out if isinstance(out, ScaledTensor) else lhs if isinstance(lhs, ScaledTensor) else b.rhs[0]).format
        b.call.write(f" quantizer = {quantizer_of(quantizer, fmt)}", "quantizer")
    b.floats("global_scale", global_scale)
    if seed is not None:
        b.call.scalar("seed", seed, "i64")
        b.call.write(" seed(%seed)", "seed")
    count = _group_count(lhs, b.rhs, grouping)
    preact = _make(preact, z_shape)
    b.tensor("preact_outs", preact, writes=True, name="preact")
    if quantized:
        by_group = grouping if grouping.kind == "ragged_rows" else None
        # A tensor that is given says how it is laid out, unless the caller does too.
        given = (out.layout, out.starts, out.axis) if out is not None else ("linear", "whole", -1)
        layout, starts, axis = (of_out if said is None else said
                                for said, of_out in zip((out_layout, out_starts, out_axis), given))
        scales = stored_scales(y_shape, fmt, layout, starts, axis, by_group)
        out = scaled_destination(out, y_shape, fmt, layout, starts, axis, scales)
        b.call.write(f" outs({b.call.scaled('out', out)})", "out")
    elif not copies or out is not None or dtype is not None:
        out = _dlpack.destination(out, y_shape, dtype)
        b.tensor("outs", out, writes=True, name="out")
    amax = _make(amax, (count,))
    b.tensor("amax_outs", amax, ("f32",), writes=True, name="amax")
    prob_gradient = _make(prob_gradient, z_shape[:-1])
    b.tensor("prob_outs", prob_gradient, ("f32",), writes=True, name="prob_gradient")
    results = b.copies(copies, y_shape)
    write_attributes(b.call, target, math, tail, determinism, strategy, expected_rows)
    if prob_gradient is not None:
        result: Any = MatmulGradient(out, prob_gradient, results)
    elif results:
        result = MatmulCopies(out, preact, amax, results)
    else:
        result = out if preact is None and amax is None else MatmulResult(out, preact, amax)
    return MatmulPlan(b.call, result, target, device)


def _check_result(quantized: bool, out: Any, dtype: Any, options: Mapping[str, Any]) -> None:
    """ArgumentError for options of the other kind of result: ``options`` are those of quantised ones."""
    if quantized:
        if out is not None and not isinstance(out, ScaledTensor):
            raise ArgumentError(f"expected out as a ScaledTensor for a quantised result, but got {type(out).__name__}")
        if dtype is not None:
            raise ArgumentError(f"expected out_format= for a quantised result, which has no dtype, but got dtype={dtype}")
        return
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(f"expected quantizer= or out_format= with {name}, which is of a quantised result, but got "
                                "neither")


def _make(wanted: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """A destination: given, of float32 (True), or of a type."""
    if wanted is None or wanted is False:
        return None
    if wanted is True:
        return np.zeros(shape, np.float32)
    if isinstance(wanted, (type, np.dtype, str)) or _dlpack.is_torch_type(wanted):
        return np.zeros(shape, _dlpack.number_type(wanted))
    return _dlpack.asarray(wanted, writable=True)


def grouped_matmul(lhs: Lhs, rhs: ScaledTensor | Sequence[ScaledTensor], grouping: Grouping | None = None,
                   **options: Unpack[MatmulOptions]) -> Any:
    """``out = epilogue(alpha * lhs @ rhs^T)`` for each group, with every option of the dialect's ``matmul``.

    Operands: ``lhs`` ``[R, K]`` (``[G, M, K]`` if batched or masked); ``rhs`` ``[G, N, K]``, one ``[N, K]`` a group, or
    for dense and ragged-K products ``[N, K]``; K-major, in any format and scale layout. ``lhs`` may also be numbers of
    bfloat16 or float16, an array or any DLPack tensor of the CPU: weight-only quantisation, W4A16; those of float32 are rounded
    to bfloat16, or to float16 for weights of layout ``wgmma_f16``. ``grouping`` is :func:`dense` (the default), :func:`batched`, :func:`ragged_rows`, :func:`masked` or :func:`ragged_k`. With z the pre-activation:

    - ``alpha``: number, ``[G]``, or ``[G, 2]`` (gate, up) for activations of pairs
    - ``row_scale`` ``[R]`` (``[G, M]``): the second-level scale of each row of ``lhs``, multiplied after ``alpha``
    - ``beta``, ``addend``: adds ``beta * addend``; without ``addend`` the given ``out`` is accumulated on, and there must
      be one
    - ``bias``: ``[N]`` or ``[G, N]``
    - ``prob`` ``[R]`` (``[G, M]``), ``prob_at``: ``gemm``, ``bias``, ``pre_activation`` or ``post_activation``
    - ``activation``: see :class:`Activation`; ``activation_params`` ``[G, 3]``: alpha, beta, limit of each group
    - ``gradient_of``, ``z``: the product is dy, and ``out`` the gradient of ``prob`` times this activation with respect to
      ``z`` ``[.., N]`` (``[.., 2N]`` for pairs), the pre-activation that a product of the forward pass has stored; of the shape
      and the gate layout of ``z``. ``prob_gradient``: True or a destination ``[R]`` (``[G, M]``) for the gradient of ``prob``
    - ``outer_gate``: the gate layout of ``addend`` and ``preact`` where it is not that of ``activation``; kernels for sm_100a
      alone have it
    - ``epilogue``: with ``activation="custom"`` the body of a region in MLIR, whose arguments (``^bb0(%z: f32, ...)``)
      are z, or gate and up, then one for each of ``row`` ``[R]``, ``column`` ``[N_out]`` or ``[G, N_out]``, ``group`` ``[G]``
    - ``out``: destination, array (any DLPack tensor of the CPU) or ScaledTensor; else one of ``dtype`` (float32, the
      default, float16, bfloat16) full of zeros. Rows of no group are not written, or with ``tail="zero"`` written as zero
    - ``quantizer``, ``out_format``, ``out_layout``, ``out_starts``, ``out_axis``, ``global_scale`` (number or ``[G]``),
      ``seed``: a quantised result
    - ``copies``: further quantised results, :class:`QuantizedCopy` each, of the numbers of ``out``; without ``out``, ``dtype``
      and quantiser they are the only results, of the product in float32
    - ``preact``: True, a type, or a destination ``[.., N]`` for z; ``amax``: True or a destination ``[G]`` for max |y|
    - ``math``: ``strict`` or ``fast``; ``determinism``: ``deterministic``, ``batch_invariant``, ``relaxed``;
      ``strategy``: how a GPU tiles, for targets that are one; ``expected_rows``: a hint for its choice; ``target``,
      ``device``: as for :func:`compile`

    Returns the array or ScaledTensor ``out``, or a :class:`MatmulResult` with ``preact`` or ``amax``, or with ``copies`` a
    :class:`MatmulCopies`, or with ``prob_gradient`` a :class:`MatmulGradient`; arrays are tensors of torch where ``lhs`` is
    one. Compiled once for each combination of options and types; sizes and offsets are data. Raises ArgumentError for what is no tensor of the
    right kind, CompileError for options that do not go together, DataError for offsets out of range, and TypeError for
    options that there are not.
    """
    def state() -> tuple[Call, Any, str, str | None]:
        check_keywords("grouped_matmul", options, MatmulOptions.__annotations__)
        return plan_matmul(lhs, rhs, grouping, **options).stated

    result = repeat("grouped_matmul", ("lhs", "rhs", "grouping", *options), (lhs, rhs, grouping, *options.values()), state)
    if isinstance(result, (ScaledTensor, np.ndarray)) and isinstance(lhs, (ScaledTensor, np.ndarray)):
        return result
    if isinstance(result, MatmulGradient):
        arrays = [each if isinstance(each, ScaledTensor) or each is None else _dlpack.like(each, lhs) for each in result[:2]]
        return MatmulGradient(*arrays, result.copies)
    if isinstance(result, MatmulCopies):
        arrays = [each if isinstance(each, ScaledTensor) or each is None else _dlpack.like(each, lhs) for each in result[:3]]
        return MatmulCopies(*arrays, result.copies)
    if isinstance(result, MatmulResult):
        return MatmulResult(*(each if isinstance(each, ScaledTensor) else _dlpack.like(each, lhs) for each in result))
    return result if isinstance(result, ScaledTensor) else _dlpack.like(result, lhs)
