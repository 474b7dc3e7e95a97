# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The handling of each argument of cuDNN: honoured, without effect, accepted with some values only, or refused.

The table in docs/CuDNN.md has the same rows; python/tests/test_py_cudnn_arguments.py compares them.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

from ..errors import ArgumentError, UnsupportedError
from . import views
from .signatures import TEXTS, signature

__all__ = ["NOTES", "NO_EFFECT", "ONLY", "bind", "handling_of", "public", "table"]

#: Arguments about how a kernel computes. Results do not depend on them.
NO_EFFECT = frozenset((
    "_deterministic", "ab12_stages", "cluster_shape_mn", "current_stream", "descriptor_workspace", "deterministic",
    "mma_tiler_mn", "num_threads", "stream", "use_dsrelu_reuse", "use_dynamic_sched", "use_tmem_post_rht_amax",
    "vector_f32", "workspace"))

#: Arguments of which some values are accepted; other values are refused with a message that names the argument.
ONLY: dict[str, tuple[Any, ...]] = {
    "acc_dtype": (None, "float32"), "activation_tensor": (None,), "b_major": ("k",), "c_major": ("n",),
    "cd_major": ("n",), "d_major": ("n",), "dbias_workspace_tensor": (None,), "dprob_workspace_tensor": (None,),
    "epilogue_op": (None, "none", "identity"), "input_order": ("tensor2d",), "m_aligned": (256,),
    "round_dgrad_to_input_dtype": (False,), "sample_activation": (None,), "sample_dbias_workspace": (None,),
    "sample_dprob_workspace": (None,), "sample_scheduler_counter": (None,), "scheduler_counter_tensor": (None,),
    "sf_fp8_dtype_override": (None,), "situ_beta1": (None, 4.0), "situ_beta2": (None, 25.0), "tanh_clamp_scale": (None,)}

#: Honoured arguments that do not take every value of cuDNN, or that mean something of their own here.
NOTES: dict[str, str] = {
    "act_func": "only 'swiglu', 'geglu'; in the backward pass 'dswiglu', 'dgeglu'",
    "b_ptrs": "honoured: addresses of the CPU", "sfb_ptrs": "honoured: addresses of the CPU",
    "wgrad_ptrs": "honoured: addresses of the CPU",
    "generate_c": "honoured: wants a C; the function of GLU returns one in any case",
    "glu_clamp_min": "honoured; in the backward pass only -glu_clamp_max",
    "hadamard_tensor": "only the Hadamard matrix of 16 in Sylvester's order",
    "sample_hadamard": "honoured: its shape; hadamard_tensor of execute has the numbers",
    "sfa_tensor": "honoured; refused if None", "sfb_tensor": "honoured; refused if None without sfb_ptrs"}


def handling_of(argument: str) -> str:
    """The cell of the table in docs/CuDNN.md."""
    only = ONLY.get(argument)
    if only == (None,):
        return "refused unless None"
    if only is not None:
        return "only " + ", ".join(map(repr, only))
    return "no effect" if argument in NO_EFFECT else NOTES.get(argument, "honoured")


def table() -> str:
    """The table in docs/CuDNN.md: a row for each argument."""
    names = sorted({name for each in TEXTS for name in signature(each).parameters})
    rows = [f"| `{name}` | {handling_of(name)} |" for name in names]
    return "\n".join(["| argument | handling |", "|---|---|", *rows])


# Arguments of which cuDNN itself refuses the other values.
_NEITHER = ("acc_dtype", "cd_major", "m_aligned")


def _is_one_of(argument: str, value: Any, allowed: tuple[Any, ...]) -> bool:
    if argument == "acc_dtype" and value is not None:
        return views.dtype_of(value, argument).name in allowed
    # An enumeration of cuDNN is compared by its value.
    value = value if value is None or isinstance(value, (bool, int, float, str)) else getattr(value, "value", value)
    return any(value is each or type(value) is not bool and isinstance(value, type(each)) and value == each
               for each in allowed)


def bind(callable_: str, keywords: tuple[str, ...], arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """All arguments of a call by name, with cuDNN's defaults; UnsupportedError for values that are not accepted."""
    try:
        bound = public(callable_, keywords).bind(*arguments, **named)
    except TypeError as error:
        raise TypeError(f"{callable_}: {error}") from None
    bound.apply_defaults()
    if bound.arguments.get("compat") not in (None, "cudnn"):
        raise ArgumentError(f"expected compat None or 'cudnn', but got '{bound.arguments['compat']}'")
    for argument, value in bound.arguments.items():
        only = ONLY.get(argument)
        if only is not None and not _is_one_of(argument, value, only):
            kind = ArgumentError if argument in _NEITHER else UnsupportedError
            words = " or ".join(str(each) for each in only if len(only) == 1 or each is not None)
            raise kind(f"expected {argument} {words}, but got {value}")
    return dict(bound.arguments)


@functools.cache
def public(callable_: str, keywords: tuple[str, ...]) -> inspect.Signature:
    """The signature that callers see: that of cuDNN with keywords of this package behind it."""
    parameters = list(signature(callable_).parameters.values())
    extra = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in keywords]
    return inspect.Signature(parameters + extra)
