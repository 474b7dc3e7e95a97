# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations past torch's dispatcher, where it would only hand the arguments on.

That is most of what a call costs. Whatever has to see an operation, or changes what tensors are, still goes to the
dispatcher: gradients, modes, transforms, traces, profiles, fake tensors and other subclasses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import torch
from torch import is_grad_enabled
from torch.autograd import profiler
from torch.compiler import is_compiling

from ._repeats import keep
from ._torch_calls import BoundCall

__all__ = ["Direct", "is_seen", "kinds_of", "mark_written", "remember"]

_PLAIN = (torch.Tensor, torch.nn.Parameter)

try:
    from torch._C import _get_tracing_state, _len_torch_dispatch_stack, _len_torch_function_stack
    from torch._C._functorch import peek_interpreter_stack

    def is_seen() -> bool:
        """Whether something has to see operations of the dispatcher."""
        return (is_compiling() or _len_torch_dispatch_stack() > 0 or _len_torch_function_stack() > 0
                or peek_interpreter_stack() is not None or profiler._is_profiler_enabled or _get_tracing_state() is not None)
except ImportError:  # of a version of torch where these are elsewhere
    def is_seen() -> bool:
        """Nobody knows."""
        return True


def kinds_of(tensors: Sequence[torch.Tensor | None]) -> tuple[Hashable, ...] | None:
    """Shapes, types and devices of tensors; None if the dispatcher has to see the operation."""
    if is_seen():
        return None
    with_gradients = is_grad_enabled()
    kinds: list[Hashable] = []
    for each in tensors:
        if each is None:
            kinds.append(None)
        elif (type(each) in _PLAIN and each.is_contiguous() and not (with_gradients and each.requires_grad)
              and ((index := each.get_device()) >= 0 or each.is_cpu)):
            kinds += each.shape, each.dtype, index
        else:
            return None
    return tuple(kinds)


def _maker(like: torch.Tensor, fill: int | None) -> Callable[[], torch.Tensor]:
    """A function that makes tensors like one: of any numbers, or of ``fill``."""
    # One number of memory stands for all. A copy has no gaps; to ask for that costs it more.
    model, form = like.new_empty(()).expand(like.shape), {}
    if not torch.empty_like(model).is_contiguous():
        form = {"memory_format": torch.contiguous_format}
    if fill is None:
        return functools.partial(torch.empty_like, model, **form)
    if fill == 0:
        return functools.partial(torch.zeros_like, model, **form)
    return functools.partial(torch.full_like, model, fill, **form)


def mark_written(results: Sequence[torch.Tensor]) -> None:
    """Tells autograd that tensors hold other numbers, though no operation of torch wrote them."""
    torch.autograd.graph.increment_version([each for each in results if not each.is_inference()])


class Direct:
    """An operation for tensors of known kinds. ``results`` are like those of a call, which have ``fills`` in them before it
    writes: None for anything."""

    def __init__(self, bound: BoundCall, results: Sequence[torch.Tensor], fills: Sequence[int | None]):
        self._bound, self._fills = bound, fills
        self._makers = [_maker(each, fill) for each, fill in zip(results, fills)]
        self._kinds = tuple([kind for each in results for kind in (each.shape, each.dtype, each.get_device())])

    def __call__(self, tensors: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
        """The results, which are new."""
        made = [make() for make in self._makers]
        self._bound([*tensors, *made])
        return made

    def write(self, tensors: Sequence[torch.Tensor | None], results: Sequence[torch.Tensor]) -> bool:
        """Writes results into tensors; False, and nothing is written, if they are not of the right kinds."""
        if kinds_of(results) != self._kinds:
            return False
        for each, fill in zip(results, self._fills):
            if fill is not None:
                each.fill_(fill)
        self._bound((*tensors, *results))
        mark_written(results)
        return True


def remember(key: Hashable, direct: Direct) -> None:
    """Keeps an operation in this thread for a key that holds the kinds of its tensors and all else that says what it is."""
    keep(key, lambda: direct)
