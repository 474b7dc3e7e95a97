# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions on device memory, compiled once for a process, or once for all in a folder.

``$NVFP4_CACHE_DIR`` is a folder that keeps what was compiled: another process loads it, without a compiler. What is kept has
been assembled where NVIDIA's ptxas was at hand.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import threading
from typing import Any

from .compiler import Program, load
from .device_functions import DeviceFunction, on_device
from .errors import NVFP4Error

__all__ = ["cached_path", "check", "device_function", "device_program", "has_ptxas"]

_FOLDER = "NVFP4_CACHE_DIR"
_programs: dict[tuple[str, str], Any] = {}
_functions: dict[tuple[str, str, str], DeviceFunction] = {}
_lock = threading.RLock()


def cached_path(text: str, target: str) -> pathlib.Path | None:
    """Where the artefact of a text for a target is kept; None where no folder is named."""
    folder = os.environ.get(_FOLDER)
    if not folder:
        return None
    from . import __version__
    key = "\0".join((__version__, target, text)).encode()
    return pathlib.Path(folder) / f"{hashlib.sha256(key).hexdigest()[:32]}.so"


def _load(path: pathlib.Path) -> Any:
    """The artefact, None where there is none that this runtime takes."""
    try:
        return load(path) if path.exists() else None
    except NVFP4Error:  # of another version, or cut off: it is written anew
        return None


def has_ptxas() -> bool:
    """Whether the compiler finds ptxas and fatbinary, by $CUDA_HOME or PATH."""
    folders = [os.path.join(os.environ["CUDA_HOME"], "bin")] if "CUDA_HOME" in os.environ else []
    path = os.pathsep.join([*folders, os.environ.get("PATH", "")])
    return all(shutil.which(name, path=path) for name in ("ptxas", "fatbinary"))


def _compile(text: str, target: str, path: pathlib.Path | None) -> Program:
    # The host's part only counts and launches; artefacts move between machines.
    program = Program(text, target=target, isa="generic", memory="device", assemble=path is not None and has_ptxas(),
                      name="<nvfp4>")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        program.save(part)
        os.replace(part, path)
    return program


def device_program(text: str, target: str) -> Any:
    """The program of a text with ``memory="device"``: of this process, of the folder, or compiled now."""
    key = text, target
    with _lock:
        if key not in _programs:
            path = cached_path(text, target)
            _programs[key] = (path and _load(path)) or _compile(text, target, path)
        return _programs[key]


def device_function(text: str, target: str, device: str) -> DeviceFunction:
    """The only function of such a program, its kernels loaded on a device. Not while a stream of the thread captures,
    unless it was called before."""
    key = text, target, device
    with _lock:
        if key not in _functions:
            _functions[key] = on_device(device_program(text, target), device)
        return _functions[key]


def is_loaded(text: str, target: str, device: str) -> bool:
    """Whether :func:`device_function` has it already."""
    return (text, target, device) in _functions


def check() -> None:
    """:meth:`DeviceFunction.check` of every such function, until one raises."""
    with _lock:
        functions = list(_functions.values())
    for function in functions:
        function.check()


def forget() -> None:
    """Drops every program; calls that are bound keep theirs."""
    with _lock:
        _programs.clear()
        _functions.clear()
