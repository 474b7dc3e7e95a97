# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attributes of the dialect that callers write as text, read by the compiler itself (nvfp4-c/Attributes.h)."""

from __future__ import annotations

import functools
import threading
from typing import Any, NamedTuple

from . import _library, _words
from ._library import string_ref

__all__ = ["ActivationFields", "read_activation"]

_lock = threading.Lock()


class ActivationFields(NamedTuple):
    """``gate`` is the granularity, 0 for halves, and a word of GATE_ORDER; None for activations of single values."""

    kind: str
    gate: tuple[int, str] | None
    alpha: float
    beta: float
    limit: float
    round_bf16: bool


@_library.DiagnosticHandler
def _drop(_: Any, __: Any) -> int:
    """A diagnostic of a text that is no attribute: the compiler says it again, of the whole operation."""
    return 1


@functools.cache
def _context() -> Any:
    """The context of attributes, which lives as long as the process. One thread at a time may use it."""
    library = _library.compiler()
    context = library.nvfp4ContextCreate()
    library.mlirContextAttachDiagnosticHandler(context, _drop, None, None)
    return context


@functools.lru_cache(maxsize=256)
def read_activation(text: str) -> ActivationFields | None:
    """The activation that MLIR's text ``<swiglu, gate = <halves, gate_first>>`` stands for, or None for another text."""
    library = _library.compiler()
    with _lock:
        found = library.nvfp4AttributeParse(_context(), string_ref("activation"), string_ref(text.strip()[1:-1]))
        if not found:
            return None
        gate = library.nvfp4ActivationAttrGetGate(found)
        return ActivationFields(
            _words.ACTIVATION_KIND[library.nvfp4ActivationAttrGetKind(found)],
            (library.nvfp4GateAttrGetGranularity(gate), _words.GATE_ORDER[library.nvfp4GateAttrIsUpFirst(gate)]) if gate else None,
            library.nvfp4ActivationAttrGetAlpha(found), library.nvfp4ActivationAttrGetBeta(found),
            library.nvfp4ActivationAttrGetLimit(found), library.nvfp4ActivationAttrRoundsToBf16(found))
