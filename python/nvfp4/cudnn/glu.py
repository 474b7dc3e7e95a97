# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GroupedGemmGluSm100 and its wrapper: grouped product, bias, SwiGLU or GeGLU, probability, optional FP8 results."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import _dlpack, matmul
from ..errors import ArgumentError
from .._scalars import check_flag
from ..options import Activation, Gate
from ..tensors import FORMATS, ragged_rows
from . import results, views
from .schedule import PADDING, Schedule

__all__ = ["GroupedGemmGluSm100", "grouped_gemm_glu_wrapper_sm100", "TensorDict"]

_GATE = Gate(32)
# Parameters of geglu, which swiglu has not: linear_offset, geglu_alpha, glu_clamp_max, glu_clamp_min.
_GEGLU = (None, 1.702, 7.0, -7.0)


class TensorDict(dict):
    """Results by name, as keys and as attributes, and in order when unpacked."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __iter__(self) -> Any:
        return iter(self.values())

    def like(self, model: Any) -> TensorDict:
        """The same results as tensors of the library of ``model``, on the same memory."""
        return TensorDict({name: _dlpack.like(self[name], model) for name in self.keys()})


def _clamped_glu(alpha: float, offset: float, low: float, high: float) -> str:
    """GeGLU with limits of its own, as the region of a custom activation."""
    def constant(name: str, value: float) -> str:
        return f"  %{name} = arith.constant {float(np.float32(value)):.9e} : f32\n"

    return ("^bb0(%gate: f32, %up: f32):\n" + constant("low", low) + constant("high", high) + constant("a", -alpha)
            + constant("offset", offset) + constant("one", 1.0)
            + "  %g = arith.minimumf %gate, %high : f32\n  %u0 = arith.minimumf %up, %high : f32\n"
              "  %u = arith.maximumf %u0, %low : f32\n  %t = arith.mulf %g, %a : f32\n  %e = math.exp %t : f32\n"
              "  %d = arith.addf %e, %one : f32\n  %s = arith.divf %g, %d : f32\n  %v = arith.addf %u, %offset : f32\n"
              "  %y = arith.mulf %s, %v : f32\n  grouped_scaled_gemm.yield %y : f32")


@dataclasses.dataclass
class _Sample:
    shape: tuple[int, ...]
    dtype: np.dtype

    @classmethod
    def of(cls, tensor: Any) -> _Sample | None:
        if tensor is None:
            return None
        array = _dlpack.asarray(tensor)
        return cls(array.shape, array.dtype)


class GroupedGemmGluSm100:
    """cuDNN frontend's class of this name: construct with samples, ``check_support()``, ``compile()``, ``execute(...)``.

    ``sample_a`` ``[M, K, 1]`` (FP4 as ``[M, K/2, 1]`` bytes), ``sample_b`` ``[N, K, L]`` or ``num_experts``, ``b_shape``
    and ``b_dtype`` for weights behind pointers, ``sample_c`` ``[M, N, 1]``, ``sample_d`` and ``sample_d_col``
    ``[M, N/2, 1]``, 6-D blocked scales, ``sample_padded_offsets`` int32 ``[L]`` (ends of groups), ``sample_alpha``
    float32 ``[L]``, ``sample_bias`` ``[N, L]``, ``sample_prob`` ``[M, 1, 1]``. ``discrete_col_sfd`` packs column scales by
    group, for results that have them; ``use_single_group_runtime_offsets``, of one expert, makes it end at M whatever
    ``padded_offsets`` holds; C is written where it is given, and ``generate_c`` wants one. ``compat="cudnn"``: see the module.
    """

    def __init__(self, sample_a: Any, sample_c: Any, sample_d: Any, sample_sfa: Any, sample_padded_offsets: Any,
                 sample_alpha: Any, sample_d_col: Any = None, sample_b: Any = None, sample_sfb: Any = None,
                 sample_bias: Any = None, num_experts: int | None = None, b_shape: tuple[int, ...] | None = None,
                 b_dtype: Any = None, sample_sfd_row: Any = None, sample_sfd_col: Any = None, sample_amax: Any = None,
                 sample_norm_const: Any = None, sample_prob: Any = None, acc_dtype: Any = None,
                 mma_tiler_mn: tuple[int, int] = (256, 256), cluster_shape_mn: tuple[int, int] | None = None,
                 sf_vec_size: int = 16, vector_f32: bool = False, m_aligned: int = PADDING, discrete_col_sfd: bool = False,
                 act_func: str = "swiglu", b_major: str = "k", use_dynamic_sched: bool = False,
                 use_single_group_runtime_offsets: bool = False, generate_c: bool = False, *, compat: str | None = None):
        if compat not in (None, "cudnn"):
            raise ArgumentError(f"expected compat None or 'cudnn', but got '{compat}'")
        if (sample_b is None) == (num_experts is None):
            raise ArgumentError("expected either sample_b and sample_sfb, or num_experts, b_shape and b_dtype")
        if sample_b is not None and sample_sfb is None:
            raise ArgumentError("expected sample_sfb with sample_b")
        if num_experts is not None and (b_shape is None or b_dtype is None):
            raise ArgumentError("expected b_shape and b_dtype with num_experts")
        samples = dict(a=sample_a, c=sample_c, d=sample_d, sfa=sample_sfa, offsets=sample_padded_offsets,
                       alpha=sample_alpha, d_col=sample_d_col, b=sample_b, sfb=sample_sfb, bias=sample_bias,
                       sfd_row=sample_sfd_row, sfd_col=sample_sfd_col, amax=sample_amax, norm_const=sample_norm_const,
                       prob=sample_prob)
        # Samples of optional tensors are None.
        self._s: dict[str, Any] = {name: _Sample.of(tensor) for name, tensor in samples.items()}
        self.num_experts, self.b_shape, self.b_major = num_experts, tuple(b_shape or ()), b_major
        self.b_dtype = np.dtype(np.uint8) if b_dtype is None else views.dtype_of(b_dtype, "b_dtype")
        self._schedule = dict(acc_dtype=acc_dtype, mma_tiler_mn=mma_tiler_mn, cluster_shape_mn=cluster_shape_mn,
                                        vector_f32=vector_f32, m_aligned=m_aligned, use_dynamic_sched=use_dynamic_sched)
        self.sf_vec_size, self.act_func, self.compat = sf_vec_size, act_func, compat
        self.discrete_col_sfd = check_flag("discrete_col_sfd", discrete_col_sfd)
        self.generate_c = check_flag("generate_c", generate_c)
        self._ends_at_m = check_flag("use_single_group_runtime_offsets", use_single_group_runtime_offsets)
        self._supported = False
        self._compiled = False

    @property
    def expert_cnt(self) -> int:
        return self._s["offsets"].shape[0]

    def check_support(self) -> bool:
        """True, or ValueError, NotImplementedError with what was expected and found."""
        s = self._s
        if len({s[name] is None for name in ("sfd_row", "sfd_col", "norm_const")}) != 1:
            raise ArgumentError("expected sfd_row, sfd_col and norm_const all or none")
        if self.act_func not in ("swiglu", "geglu"):
            raise ArgumentError(f"expected act_func swiglu or geglu, but got '{self.act_func}'")
        Schedule(**self._schedule)
        if self.discrete_col_sfd and s["sfd_col"] is None:
            raise ArgumentError("expected sfd_row, sfd_col and norm_const with discrete_col_sfd, which is about scales of "
                                "columns, but got none")
        if self.generate_c and s["c"] is None:
            raise ArgumentError("expected sample_c with generate_c, but got None")
        if self._ends_at_m and self.expert_cnt != 1:
            raise ArgumentError("expected one expert for use_single_group_runtime_offsets, but got "
                                f"{self.expert_cnt}")
        fmt = views.format_of(s["a"].dtype, s["sfa"].dtype, self.sf_vec_size)
        self._check_shapes(fmt)
        self._check_types(fmt)
        if self.compat == "cudnn":
            self._check_limits(fmt)
        self._supported = True
        return True

    def _check_shapes(self, fmt: str) -> None:
        s, bits = self._s, FORMATS[fmt].bits
        m, k = s["a"].shape[0], s["a"].shape[1] * 8 // bits
        if s["b"] is not None:
            n, b_k, experts = s["b"].shape[0], s["b"].shape[1] * 8 // bits, s["b"].shape[2]
        else:
            n, b_k, experts = *self.b_shape[:2], self.num_experts
        if b_k != k:
            raise ArgumentError(f"expected B with K = {k} as A has, but got {b_k}")
        if n % 64:
            raise ArgumentError(f"expected N to be a multiple of 64 (pairs of 32 columns), but got {n}; nearest are "
                                f"{n // 64 * 64} and {n // 64 * 64 + 64}")
        wanted = {"c": (m, n, 1), "d": (m, n // 2, 1), "d_col": (m, n // 2, 1), "bias": (n, experts),
                  "alpha": (experts,), "prob": (m, 1, 1), "amax": (experts, 1), "norm_const": (1,), "offsets": (experts,)}
        for name, shape in wanted.items():
            if s[name] is not None and s[name].shape != shape:
                raise ArgumentError(f"expected {name} of shape {shape}, but got {s[name].shape}")

    def _check_types(self, fmt: str) -> None:
        s = self._s
        b = s["b"].dtype if s["b"] is not None else self.b_dtype
        if b != s["a"].dtype:
            raise ArgumentError(f"expected B of the type of A, {s['a'].dtype}, but got {b}")
        if s["offsets"].dtype not in (np.int32, np.int64):
            raise ArgumentError(f"expected padded_offsets of int32, but got {s['offsets'].dtype}")
        if self.b_major != "k":
            raise ArgumentError(f"expected b_major 'k', but got '{self.b_major}'; transpose B")
        floats = [views.dtype_of(name) for name in ("float32", "float16", "bfloat16")]
        for name in ("c", "d", "d_col"):
            # A quantised D is FP8.
            allowed = list(views.FP8) if name != "c" and s["sfd_row"] is not None else floats
            if s[name] is not None and s[name].dtype not in allowed:
                raise ArgumentError(f"expected {name} of {', '.join(map(str, allowed))}, but got {s[name].dtype}")
        if s["sfd_row"] is not None and FORMATS[fmt].bits == 4:
            raise ArgumentError("expected FP8 operands for results with scales, but got FP4")

    def _check_limits(self, fmt: str) -> None:
        """Refuses calls that cuDNN refuses and this compiler does not."""
        s = self._s
        if self.expert_cnt > 1024:
            raise ArgumentError(f"expected at most 1024 experts, but got {self.expert_cnt}")
        fp4 = FORMATS[fmt].bits == 4
        if s["bias"] is None and fp4 and self.sf_vec_size == 16 and s["d"].dtype == np.float32:
            raise NotImplementedError("cudnn: FP4 operands with sf_vec_size 16 and float32 D need a bias; use bfloat16 D")
        if fp4 and s["c"] is not None and s["c"].dtype == np.float32:
            raise NotImplementedError("cudnn: FP4 operands need C of float16 or bfloat16, but got float32")

    def compile(self) -> None:
        """Checks support, if nobody has. Code is made at the first execution and shared by all sizes."""
        if not self._supported:
            self.check_support()
        self._compiled = True

    def execute(self, a_tensor: Any, c_tensor: Any, d_tensor: Any, sfa_tensor: Any, padded_offsets: Any,
                alpha_tensor: Any, b_tensor: Any = None, sfb_tensor: Any = None, bias_tensor: Any = None,
                b_ptrs: Any = None, sfb_ptrs: Any = None, d_col_tensor: Any = None, sfd_row_tensor: Any = None,
                sfd_col_tensor: Any = None, amax_tensor: Any = None, norm_const_tensor: Any = None,
                prob_tensor: Any = None, linear_offset: float | None = None, geglu_alpha: float = 1.702,
                glu_clamp_max: float = 7.0, glu_clamp_min: float = -7.0, current_stream: Any = None) -> None:
        """Computes into ``c_tensor``, ``d_tensor`` (and ``d_col_tensor``, ``sfd_*``, ``amax_tensor``) the rows of the
        groups; other rows keep what they hold. ``linear_offset`` None is 1 for geglu; swiglu has neither offset nor
        limits, and refuses others than the defaults. The results are there on return, in order with any
        ``current_stream``."""
        if not self._compiled:
            raise RuntimeError("expected compile() before execute()")
        lhs = views.lhs_of(a_tensor, sfa_tensor, self.sf_vec_size)
        if b_tensor is not None:
            rhs: Any = views.rhs_of(b_tensor, sfb_tensor, self.sf_vec_size)
            n = rhs.shape[1]
        else:
            count = self.num_experts
            n = self.b_shape[0]
            rhs = views.rhs_at(views.pointers_of(b_ptrs, "b_ptrs", count), views.pointers_of(sfb_ptrs, "sfb_ptrs", count),
                               n, lhs.values.shape[1], self.b_dtype, lhs.scales.dtype, self.sf_vec_size)
        ends = _dlpack.asarray(padded_offsets)
        if self._ends_at_m:
            ends = np.full_like(ends, lhs.shape[0])
        if self.compat == "cudnn" and (ends % PADDING).any():
            raise ArgumentError(f"expected padded_offsets that are multiples of {PADDING}, but got {ends.tolist()}")
        if self.generate_c and c_tensor is None:
            raise ArgumentError("expected c_tensor with generate_c, but got None")
        if (sfd_row_tensor is None) != (sfd_col_tensor is None) or (sfd_row_tensor is None) != (norm_const_tensor is None):
            raise ArgumentError("expected sfd_row_tensor, sfd_col_tensor and norm_const_tensor all or none")
        _check_weights(b_tensor, sfb_tensor, b_ptrs, sfb_ptrs)
        grouping = ragged_rows(ends)
        amax = None if amax_tensor is None else np.zeros(self.expert_cnt, np.float32)
        activation, epilogue, rows = self._activation(linear_offset, geglu_alpha, glu_clamp_max, glu_clamp_min)
        prob = None if prob_tensor is None else _dlpack.asarray(prob_tensor).reshape(-1)
        bias = None if bias_tensor is None else np.ascontiguousarray(_dlpack.asarray(bias_tensor).T)
        quantised = sfd_row_tensor is not None
        d = views.matrix(d_tensor, "d_tensor", writable=True)
        out = np.zeros(d.shape, np.float32) if quantised else d
        matmul.grouped_matmul(
            lhs, rhs, grouping, alpha=_dlpack.asarray(alpha_tensor), bias=bias, prob=prob, activation=activation,
            epilogue=epilogue, row=rows, out=out, amax=amax,
            preact=None if c_tensor is None else views.matrix(c_tensor, "c_tensor", writable=True))
        if quantised:
            results.quantise(out, grouping, d, sfd_row_tensor, d_col_tensor, sfd_col_tensor, norm_const_tensor, self.compat,
                             self.discrete_col_sfd)
        if amax is not None:
            self._store_amax(amax, ends, amax_tensor)

    def _activation(self, offset: float | None, alpha: float, high: float, low: float) -> Any:
        """(activation, epilogue, row operands)."""
        if self.act_func == "swiglu":
            if offset not in (None, 0) or (alpha, high, low) != _GEGLU[1:]:
                raise ArgumentError("expected act_func geglu with linear_offset, geglu_alpha, glu_clamp_max or glu_clamp_min, "
                                    f"which swiglu has not, but got {(offset, alpha, high, low)} for swiglu")
            return Activation("swiglu", _GATE), None, ()
        offset = 1.0 if offset is None else offset
        if high > 0 and low == -high and np.isfinite(high):
            return Activation("swiglu", _GATE, alpha, offset, high), None, ()
        return Activation("custom", _GATE), _clamped_glu(alpha, offset, low, high), ()

    def _store_amax(self, amax: np.ndarray, ends: np.ndarray, amax_tensor: Any) -> None:
        if self.compat == "cudnn":
            amax[np.diff(ends, prepend=0) == 0] = -np.inf
        _dlpack.asarray(amax_tensor, writable=True)[:, 0] = amax


def _check_weights(b_tensor: Any, sfb_tensor: Any, b_ptrs: Any, sfb_ptrs: Any) -> None:
    """Weights are tensors, or lie behind pointers."""
    given = [value is not None for value in (b_tensor, sfb_tensor, b_ptrs, sfb_ptrs)]
    if given not in ([True, True, False, False], [False, False, True, True]):
        names = [name for name, is_there in zip(("b_tensor", "sfb_tensor", "b_ptrs", "sfb_ptrs"), given) if is_there]
        raise ArgumentError("expected either b_tensor and sfb_tensor, or b_ptrs and sfb_ptrs (with n and b_dtype), but got "
                            f"{', '.join(names) or 'none'}")


def grouped_gemm_glu_wrapper_sm100(
        a_tensor: Any, sfa_tensor: Any, padded_offsets: Any, alpha_tensor: Any, b_tensor: Any = None,
        sfb_tensor: Any = None, bias_tensor: Any = None, b_ptrs: Any = None, sfb_ptrs: Any = None, n: int | None = None,
        b_dtype: Any = None, b_major: str = "k", norm_const_tensor: Any = None, prob_tensor: Any = None,
        acc_dtype: Any = None, c_dtype: Any = "bfloat16", d_dtype: Any = "bfloat16", cd_major: str = "n",
        mma_tiler_mn: tuple[int, int] = (256, 256), cluster_shape_mn: tuple[int, int] | None = None,
        sf_vec_size: int = 16, vector_f32: bool = False, m_aligned: int = PADDING, discrete_col_sfd: bool = False,
        act_func: str = "swiglu", linear_offset: float | None = None, geglu_alpha: float = 1.702,
        glu_clamp_max: float = 7.0, glu_clamp_min: float = -7.0, use_dynamic_sched: bool = False,
        current_stream: Any = None, compat: str | None = None) -> TensorDict:
    """Allocates results, checks, compiles and executes :class:`GroupedGemmGluSm100` in one call.

    Returns ``c_tensor`` ``[M, N, 1]``, ``d_tensor`` and ``d_col_tensor`` ``[M, N/2, 1]``, ``amax_tensor`` ``[L, 1]`` (16-bit
    D only), ``sfd_row_tensor`` and ``sfd_col_tensor`` (FP8 operands with FP8 ``d_dtype`` only), by name: tensors of torch if
    A is one, and else arrays.
    """
    if cd_major != "n":
        raise ArgumentError(f"expected cd_major 'n', but got '{cd_major}'")
    c_type, d_type = views.dtype_of(c_dtype, "c_dtype"), views.dtype_of(d_dtype, "d_dtype")
    a = _dlpack.asarray(a_tensor)
    m = a.shape[0]
    _check_weights(b_tensor, sfb_tensor, b_ptrs, sfb_ptrs)
    if b_tensor is not None:
        n_given = n
        n, _, experts = _dlpack.asarray(b_tensor).shape
        if n_given is not None or b_dtype is not None:
            raise ArgumentError("expected no n and b_dtype with b_tensor, which has both, but got "
                                f"{n_given} and {b_dtype}")
    elif b_ptrs is None or n is None or b_dtype is None:
        raise ArgumentError("expected either b_tensor and sfb_tensor, or b_ptrs, sfb_ptrs, n and b_dtype")
    else:
        experts = len(views.pointers_of(b_ptrs, "b_ptrs"))
    k = a.shape[1] * (2 if a.dtype == np.uint8 else 1)

    def empty(columns: int, dtype: np.dtype) -> np.ndarray:
        return np.zeros((1, m, columns), dtype).transpose(1, 2, 0)

    tensors = TensorDict(c_tensor=empty(n, c_type), d_tensor=empty(n // 2, d_type), d_col_tensor=empty(n // 2, d_type),
                         amax_tensor=None, sfd_row_tensor=None, sfd_col_tensor=None)
    if d_type.itemsize == 2:
        tensors["amax_tensor"] = np.full((experts, 1), -np.inf if compat == "cudnn" else 0, np.float32)
    if d_type in views.FP8:
        sf = _dlpack.asarray(sfa_tensor).dtype
        for name, rows, columns in (("sfd_row_tensor", m, n // 2), ("sfd_col_tensor", n // 2, m)):
            shape = (1, -(-rows // 128), -(-(-(-columns // sf_vec_size)) // 4), 32, 4, 4)
            tensors[name] = views.as_view(np.zeros(shape, np.uint8).view(sf))
    discrete = {} if b_tensor is not None else dict(num_experts=experts, b_shape=(n, k), b_dtype=b_dtype)
    api = GroupedGemmGluSm100(
        a_tensor, tensors.c_tensor, tensors.d_tensor, sfa_tensor, padded_offsets, alpha_tensor, tensors.d_col_tensor,
        sample_b=b_tensor, sample_sfb=sfb_tensor, sample_bias=bias_tensor, sample_sfd_row=tensors.sfd_row_tensor,
        sample_sfd_col=tensors.sfd_col_tensor, sample_amax=tensors.amax_tensor,
        sample_norm_const=norm_const_tensor, sample_prob=prob_tensor, acc_dtype=acc_dtype, mma_tiler_mn=mma_tiler_mn,
        cluster_shape_mn=cluster_shape_mn, sf_vec_size=sf_vec_size, m_aligned=m_aligned,
        discrete_col_sfd=discrete_col_sfd, act_func=act_func, b_major=b_major, compat=compat, vector_f32=vector_f32,
        use_dynamic_sched=use_dynamic_sched, **discrete)
    api.compile()
    if m:
        api.execute(a_tensor, tensors.c_tensor, tensors.d_tensor, sfa_tensor, padded_offsets, alpha_tensor, b_tensor,
                    sfb_tensor, bias_tensor, b_ptrs, sfb_ptrs, tensors.d_col_tensor, tensors.sfd_row_tensor,
                    tensors.sfd_col_tensor, tensors.amax_tensor, norm_const_tensor, prob_tensor, linear_offset,
                    geglu_alpha, glu_clamp_max, glu_clamp_min, current_stream)
    return tensors.like(a_tensor)
