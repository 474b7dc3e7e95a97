# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of the process while daemon threads are in the libraries."""

from __future__ import annotations

import atexit
import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any


def release_with(owner: Any, function: Callable[..., None], *arguments: Any) -> None:
    """Calls ``function(*arguments)`` when ``owner`` is dropped; of several, the last made first.

    Not at the end of the process: a daemon thread may be within a call then, and needs the code and the memory of it.
    """
    weakref.finalize(owner, function, *arguments).atexit = False


class _Calls:
    """Calls of functions that must be over before the process ends: the compiler's, whose static memory the end frees."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets the calls of a process that this one was forked from."""
        self._changed = threading.Condition()
        self._count, self._is_ending = 0, False

    def __enter__(self) -> None:
        with self._changed:
            # A daemon thread ends here with the process.
            while self._is_ending and threading.current_thread().daemon:
                self._changed.wait()
            self._count += 1

    def __exit__(self, *_: Any) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def end(self) -> None:
        """Waits for calls, and lets daemon threads begin no others."""
        with self._changed:
            self._is_ending = True
            while self._count:
                self._changed.wait()


_calls = _Calls()
atexit.register(_calls.end)
os.register_at_fork(after_in_child=_calls.reset)


def finished_at_exit(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, whose calls are over before the process ends."""
    @functools.wraps(function, assigned=("__name__",))
    def call(*arguments: Any) -> Any:
        with _calls:
            return function(*arguments)

    return call
