# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Grouped products of scaled operands, with every option of the dialect's ``matmul`` and ``matmul_list``.

Rows may also be numbers of bf16 or f16, without scales (weight-only quantisation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Union

import numpy as np

from . import _dlpack
from ._calls import DIALECT, FLOATS, Call, new_scaled, program_of
from .compiler import Program
from .errors import ArgumentError, check_keywords
from .options import ActivationLike, GateLike, QuantizerLike, activation_of, gate_of, quantizer_of, word_of
from .quantization import _destination, stored_scales
from .tensors import Grouping, ScaledTensor, dense

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["grouped_matmul", "Lhs", "MatmulOptions", "grouped_matmul_list", "MatmulResult", "MatmulPlan", "plan_matmul",
           "Strategy"]

#: Rows of a product: scaled, or numbers of bf16 or f16 (numpy with ml_dtypes, or any DLPack tensor of the CPU).
Lhs = Union[ScaledTensor, np.ndarray, Any]

#: A tiling of a GPU: text in MLIR, or the parameters of ``#grouped_scaled_gemm.strategy`` by name.
Strategy = Union[str, Mapping[str, Any]]


class MatmulResult(NamedTuple):
    """What :func:`grouped_matmul` returns when asked for more than the product."""

    out: Any
    preact: np.ndarray | None
    amax: np.ndarray | None


class MatmulPlan:
    """A product whose arguments are bound: run it, look at its code.

    ``run()`` computes into the same destinations each time and returns them; ``program`` is the compiled function.
    """

    def __init__(self, call: Call, operation: str, result: Any, target: str, device: str | None):
        self._call, self._operation, self._result = call, operation, result
        self._target, self._device = target, device
        self._program: Program | None = None

    @property
    def text(self) -> str:
        """The function in MLIR."""
        return self._call.text(self._operation)

    @property
    def program(self) -> Program:
        """The compiled function; compiled on first use, and shared by all products of the same signature."""
        if self._program is None:
            self._program = program_of(self.text, self._target, self._device)
        return self._program

    def ir(self, stage: str = "input") -> str:
        """See :meth:`Program.ir`."""
        return self.program.ir(stage)

    def explain(self, target: str | None = None) -> str:
        """See :meth:`Program.explain`."""
        return self.program.explain(target)

    def run(self) -> Any:
        """Computes the product; see :func:`grouped_matmul` for what is returned."""
        self.program.run_flat("call", self._call.arrays)
        return self._result


class MatmulOptions(TypedDict, total=False):
    """The options of :func:`grouped_matmul`, which explains them."""

    alpha: Any
    beta: Any
    addend: Any
    bias: Any
    prob: Any
    prob_at: str
    activation: ActivationLike | None
    outer_gate: GateLike | None
    activation_params: Any
    row: Sequence[Any]
    column: Sequence[Any]
    group: Sequence[Any]
    epilogue: str | None
    quantizer: QuantizerLike | None
    out_format: str | None
    out_layout: str
    out_starts: str
    out_axis: int
    global_scale: Any
    seed: int | None
    out: Any
    dtype: Any
    preact: Any
    amax: Any
    math: str | None
    tail: str | None
    determinism: str | None
    strategy: Strategy | None
    expected_rows: int | None
    target: str
    device: str | None


def _attributes(math: str | None, tail: str | None, determinism: str | None, strategy: Strategy | None,
                expected_rows: int | None) -> str:
    pairs = [(name, word_of(name, value)) for name, value in (("math", math), ("tail", tail), ("determinism", determinism))
             if value is not None]
    if strategy is not None and not isinstance(strategy, str):
        words = {True: "true", False: "false"}
        strategy = "<" + ", ".join(f"{k} = {words.get(v, v) if isinstance(v, bool) else v}"
                                   for k, v in strategy.items()) + ">"
    if strategy:
        pairs.append(("strategy", strategy if strategy.startswith("<") else f"<{strategy}>"))
    parts = [f"{name} = #{DIALECT}<{name} {value}>" if name != "strategy" else f"strategy = #{DIALECT}.strategy{value}"
             for name, value in pairs]
    if expected_rows is not None:
        parts.append(f"expected_rows = {int(expected_rows)} : i64")
    return f" {{{', '.join(parts)}}}" if parts else ""


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


def _lhs_of(value: Lhs) -> ScaledTensor | np.ndarray:
    """Rows as they are, or as an array of bf16 or f16."""
    if isinstance(value, ScaledTensor):
        return value
    got = type(value).__name__
    if hasattr(value, "dtype") or hasattr(value, "__dlpack__"):
        array = _dlpack.asarray(value)
        if array.dtype in (_dlpack.ELEMENTS["bf16"], _dlpack.ELEMENTS["f16"]) and array.ndim > 1:
            return array
        got = f"{array.dtype} of shape {array.shape}"
    raise ArgumentError("expected lhs as ScaledTensor (see nvfp4.quantize), or as rows of bfloat16 or float16, but got "
                        f"{got}")


class _Builder:
    """Writes the clauses of a product in the order of its assembly format."""

    def __init__(self, lhs: Lhs, rhs: ScaledTensor | Sequence[ScaledTensor], grouping: Grouping):
        self.call = Call()
        self.lhs, self.rhs = _lhs_of(lhs), list(rhs) if isinstance(rhs, Sequence) else [rhs]
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
        self.text = f"{DIALECT}.matmul {grouping.attribute}"
        if grouping.groups is not None:
            self.text += f" groups({self.call.memref('groups', grouping.groups, 'groups')})"
        self.text += f" lhs({self._lhs()})"
        self.text += " rhs(" + ", ".join(self.call.scaled(f"rhs{i}", r) for i, r in enumerate(self.rhs)) + ")"

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

    def floats(self, keyword: str, value: Any) -> None:
        if value is not None:
            self.text += f" {keyword}({self.call.floats(keyword, value, keyword)})"

    def tensor(self, keyword: str, value: Any, allowed: tuple[str, ...] = FLOATS, writes: bool = False) -> None:
        if value is not None:
            array = _dlpack.asarray(value, writable=writes)
            self.text += f" {keyword}({self.call.memref(keyword, array, keyword, allowed, writes)})"

    def vectors(self, keyword: str, values: Sequence[Any]) -> None:
        if not len(values):
            return
        operands = [self.call.floats(f"{keyword}{i}", np.asarray(_dlpack.asarray(v), np.float32), keyword)
                    for i, v in enumerate(values)]
        names, types = zip(*(operand.split(" : ") for operand in operands))
        self.text += f" {keyword}({', '.join(names)} : {', '.join(types)})"


def plan_matmul(lhs: Lhs, rhs: ScaledTensor | Sequence[ScaledTensor], grouping: Grouping | None = None, *,
                alpha: Any = None, beta: Any = None, addend: Any = None, bias: Any = None, prob: Any = None,
                prob_at: str = "post_activation", activation: ActivationLike | None = None,
                outer_gate: GateLike | None = None, activation_params: Any = None, row: Sequence[Any] = (), column: Sequence[Any] = (),
                group: Sequence[Any] = (), epilogue: str | None = None, quantizer: QuantizerLike | None = None,
                out_format: str | None = None, out_layout: str = "linear", out_starts: str = "whole",
                out_axis: int = -1, global_scale: Any = None, seed: int | None = None, out: Any = None,
                dtype: Any = np.float32, preact: Any = None, amax: Any = None, math: str | None = None,
                tail: str | None = None, determinism: str | None = None, strategy: Strategy | None = None,
                expected_rows: int | None = None, target: str = "cpu", device: str | None = None) -> MatmulPlan:
    """:func:`grouped_matmul` with its arguments bound, not yet computed."""
    grouping = dense() if grouping is None else grouping
    b = _Builder(lhs, rhs, grouping)
    lhs = b.lhs
    z_shape = _out_shape(lhs, b.rhs, grouping)
    halves = False
    for keyword, value in (("alpha", alpha), ("beta", beta)):
        b.floats(keyword, value)
    b.tensor("addend", addend)
    b.tensor("bias", bias)
    if prob is not None:
        b.floats("prob", _dlpack.asarray(prob))
        b.text += f" at {word_of('prob_at', prob_at)}"
    if activation is not None:
        text, halves = activation_of(activation)
        b.text += f" activation = {text}"
    if outer_gate is not None:
        b.text += f" outer_gate = {gate_of(outer_gate)}"
    b.floats("activation_params", activation_params)
    for keyword, values in (("row", row), ("column", column), ("group", group)):
        b.vectors(keyword, values)
    if epilogue is not None:
        b.text += f" epilogue {{\n{epilogue}\n}}"
    y_shape = z_shape[:-1] + (z_shape[-1] // 2,) if halves else z_shape
    quantized = quantizer is not None or out_format is not None or isinstance(out, ScaledTensor)
    if quantized:
        fmt = out_format or (out if isinstance(out, ScaledTensor) else lhs if isinstance(lhs, ScaledTensor) else b.rhs[0]).format
        b.text += f" quantizer = {quantizer_of(quantizer, fmt)}"
    b.floats("global_scale", global_scale)
    if seed is not None:
        b.call.scalar("seed", seed, "i64")
        b.text += " seed(%seed)"
    count = _group_count(lhs, b.rhs, grouping)
    preact = _make(preact, z_shape, "preact")
    b.tensor("preact_outs", preact, writes=True)
    if quantized:
        if out is not None and not isinstance(out, ScaledTensor):
            raise ArgumentError("expected out as a ScaledTensor for a quantised result")
        by_group = grouping if grouping.kind == "ragged_rows" else None
        # A tensor that is given says how it is laid out.
        if out is not None:
            out_layout, out_starts, out_axis = out.layout, out.starts, out.axis
        scales = stored_scales(y_shape, fmt, out_layout, out_starts, out_axis, by_group)
        out = _destination(out, y_shape, fmt, out_layout, out_starts, out_axis, scales)
        b.text += f" outs({b.call.scaled('out', out)})"
    else:
        out = np.zeros(y_shape, _dlpack.number_type(dtype)) if out is None else _dlpack.asarray(out, writable=True)
        b.tensor("outs", out, writes=True)
    amax = _make(amax, (count,), "amax")
    b.tensor("amax_outs", amax, ("f32",), writes=True)
    b.text += _attributes(math, tail, determinism, strategy, expected_rows)
    result = out if preact is None and amax is None else MatmulResult(out, preact, amax)
    return MatmulPlan(b.call, b.text, result, target, device)


def _make(wanted: Any, shape: tuple[int, ...], what: str) -> np.ndarray | None:
    """A destination: given, of float32 (True), or of a type."""
    if wanted is None or wanted is False:
        return None
    if wanted is True:
        return np.zeros(shape, np.float32)
    if isinstance(wanted, (type, np.dtype, str)):
        return np.zeros(shape, _dlpack.number_type(wanted))
    return _dlpack.asarray(wanted, writable=True)


def grouped_matmul(lhs: Lhs, rhs: ScaledTensor | Sequence[ScaledTensor], grouping: Grouping | None = None,
                   **options: Unpack[MatmulOptions]) -> Any:
    """``out = epilogue(alpha * lhs @ rhs^T)`` for each group, with every option of the dialect's ``matmul``.

    Operands: ``lhs`` ``[R, K]`` (``[G, M, K]`` if batched or masked); ``rhs`` ``[G, N, K]``, one ``[N, K]`` a group, or
    for dense and ragged-K products ``[N, K]``; K-major, in any format and scale layout. ``lhs`` may also be numbers of
    bfloat16 or float16, an array or any DLPack tensor of the CPU: weight-only quantisation, W4A16. ``grouping`` is
    :func:`dense` (the default), :func:`batched`, :func:`ragged_rows`, :func:`masked` or :func:`ragged_k`. With z the pre-activation:

    - ``alpha``: number, ``[G]``, or ``[G, 2]`` (gate, up) for activations of pairs
    - ``beta``, ``addend``: adds ``beta * addend``; without ``addend`` the given ``out`` is accumulated on
    - ``bias``: ``[N]`` or ``[G, N]``
    - ``prob`` ``[R]`` (``[G, M]``), ``prob_at``: ``gemm``, ``bias``, ``pre_activation`` or ``post_activation``
    - ``activation``: see :class:`Activation`; ``activation_params`` ``[G, 3]``: alpha, beta, limit of each group
    - ``outer_gate``: the gate layout of ``addend`` and ``preact`` where it is not that of ``activation``; kernels for sm_100a
      alone have it
    - ``epilogue``: with ``activation="custom"`` the body of a region in MLIR, whose arguments (``^bb0(%z: f32, ...)``)
      are z, or gate and up, then one for each of ``row`` ``[R]``, ``column`` ``[N_out]`` or ``[G, N_out]``, ``group`` ``[G]``
    - ``out``: destination, array (any DLPack tensor of the CPU) or ScaledTensor; else one of ``dtype`` (float32,
      float16, bfloat16) full of zeros. Rows of no group are not written, or with ``tail="zero"`` written as zero
    - ``quantizer``, ``out_format``, ``out_layout``, ``out_starts``, ``out_axis``, ``global_scale`` (number or ``[G]``),
      ``seed``: a quantised result
    - ``preact``: True, a type, or a destination ``[.., N]`` for z; ``amax``: True or a destination ``[G]`` for max |y|
    - ``math``: ``strict`` or ``fast``; ``determinism``: ``deterministic``, ``batch_invariant``, ``relaxed``;
      ``strategy``, ``expected_rows``: how a GPU tiles; ``target``, ``device``: as for :func:`compile`

    Returns the array or ScaledTensor ``out``, or a :class:`MatmulResult` with ``preact`` or ``amax``. Compiled once for
    each combination of options and types; sizes and offsets are data. Raises ArgumentError for what is no tensor of the
    right kind, CompileError for options that do not go together, DataError for offsets out of range, and TypeError for
    options that there are not.
    """
    check_keywords("grouped_matmul", options, MatmulOptions.__annotations__)
    return plan_matmul(lhs, rhs, grouping, **options).run()


def grouped_matmul_list(lhs: Sequence[ScaledTensor], rhs: Sequence[ScaledTensor], *, alpha: Any = None,
                        beta: Any = None, out: Sequence[Any] | None = None, dtype: Any = np.float32,
                        determinism: str | None = None, strategy: Strategy | None = None, target: str = "cpu",
                        device: str | None = None) -> list[np.ndarray]:
    """Independent products ``out[i] = alpha[i] * lhs[i] @ rhs[i]^T + beta[i] * out[i]``, each with its own M, N and K.

    ``lhs[i]`` ``[M_i, K_i]``, ``rhs[i]`` ``[N_i, K_i]`` of one format; ``alpha`` and ``beta`` are numbers or one a
    problem; without ``beta`` the destinations are not read. Returns the destinations, ``[M_i, N_i]`` each.
    """
    if not isinstance(lhs, Sequence) or not isinstance(rhs, Sequence):
        raise ArgumentError("expected lhs and rhs as lists of ScaledTensor, but got "
                            f"{type(lhs).__name__} and {type(rhs).__name__}")
    if len(lhs) != len(rhs) or not len(lhs):
        raise ArgumentError(f"expected as many lhs as rhs, at least one, but got {len(lhs)} and {len(rhs)}")
    if out is None:
        out = [np.zeros((a.shape[0], b.shape[0]), _dlpack.number_type(dtype)) for a, b in zip(lhs, rhs)]
    results = [_dlpack.asarray(o, writable=True) for o in out]
    call = Call()
    text = f"{DIALECT}.matmul_list lhs(" + ", ".join(call.scaled(f"lhs{i}", t) for i, t in enumerate(lhs)) + ")"
    text += " rhs(" + ", ".join(call.scaled(f"rhs{i}", t) for i, t in enumerate(rhs)) + ")"
    for keyword, value in (("alpha", alpha), ("beta", beta)):
        if value is not None:
            text += f" {keyword}({call.floats(keyword, value, keyword)})"
    operands = [call.memref(f"out{i}", o, f"out[{i}]", FLOATS, writes=True) for i, o in enumerate(results)]
    names, types = zip(*(operand.split(" : ") for operand in operands))
    text += f" outs({', '.join(names)} : {', '.join(types)})"
    call.run(text + _attributes(None, None, determinism, strategy, None), target, device)
    return results
