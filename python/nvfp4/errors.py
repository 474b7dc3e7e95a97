# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exceptions of the package.

Every message is one of the compiler or of the runtime, or has the same form: it
says what was expected and what was found. All derive from :class:`NVFP4Error`.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Collection, Sequence

__all__ = ["NVFP4Error", "LibraryError", "Diagnostic", "CompileError", "ArgumentError", "DataError", "CheckError",
           "DeviceError", "UnsupportedError", "NotFoundError", "CheckpointError"]


class NVFP4Error(Exception):
    """The base of all exceptions of this package."""


class LibraryError(NVFP4Error, ImportError):
    """A shared library of this package, or MLIR, was not found."""


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One diagnostic of the compiler.

    ``severity`` is ``error``, ``warning``, ``note`` (belongs to the one before it) or ``remark``; ``line`` and
    ``column`` count from 1 and are 0 where no place in the text is known. ``source`` is the line of text, or empty.
    """

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    source: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        text = f"{place}{self.severity}: {self.message}"
        if self.source:
            text += f"\n  {self.source}\n  {' ' * max(self.column - 1, 0)}^"
        return text


class CompileError(NVFP4Error):
    """The compiler refused a module. ``diagnostics`` are what it said: errors and warnings, then remarks."""

    diagnostics: tuple[Diagnostic, ...]

    def __init__(self, diagnostics: Sequence[Diagnostic], what: str = "could not compile the module"):
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)) or what)

    @property
    def constraint(self) -> str | None:
        """The label of the broken constraint in docs/Spec.md, such as ``matmul_c7``, where there is one."""
        return _label("\n".join(d.message for d in self.diagnostics if d.severity != "remark"))


class ArgumentError(NVFP4Error, ValueError):
    """An argument has a type, shape, layout or place that the function does not take."""


class DataError(NVFP4Error, ValueError):
    """Group offsets, indices or extents break a constraint of the program; nothing was computed from them.

    ``constraint`` is the label of the constraint in docs/Spec.md, such as ``grouping_c6``.
    """

    @property
    def constraint(self) -> str | None:
        return _label(self.args[0])


class DeviceError(NVFP4Error, RuntimeError):
    """A device's driver refused, a kernel failed, or the simulator reported something."""


class UnsupportedError(NVFP4Error, NotImplementedError):
    """This build or this machine cannot do it."""


class NotFoundError(NVFP4Error, LookupError):
    """No such file, module or function."""


class CheckError(NVFP4Error, AssertionError):
    """A result is beyond its bound; ``report`` says by how much."""

    def __init__(self, message: str, report: str):
        self.report = report
        super().__init__(f"{message}\n{report}" if report else message)


class CheckpointError(NVFP4Error, ValueError):
    """A checkpoint does not hold what its naming convention promises."""


def check_one_of(what: str, name: str, names: Collection[str]) -> None:
    """ArgumentError unless ``name`` is one of the ``names`` of ``what``."""
    if name not in names:
        raise ArgumentError(f"expected {what} {', '.join(names)}, but got '{name}'")


def check_keywords(function: str, found: Collection[str], names: Collection[str]) -> None:
    """TypeError unless each of the ``found`` keywords is one of the ``names`` that a function takes."""
    for name in found:
        if name not in names:
            near = difflib.get_close_matches(name, names)
            some = "such as " if near else ""
            raise TypeError(f"expected an option of {function}, {some}{', '.join(near or names)}, but got '{name}'")


def _label(text: str) -> str | None:
    found = re.search(r"\[([a-z_0-9]+_c\d+)\]", text)
    return found[1] if found else None
