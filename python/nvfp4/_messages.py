# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler says about generated text, told of the arguments that the text was generated from."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import NamedTuple

from .errors import CompileError, Diagnostic, NVFP4Error

# Names of the dialect that are called otherwise in Python.
_RENAMED = {"outs": "out", "preact_out": "preact", "preact_outs": "preact", "amax_out": "amax", "amax_outs": "amax",
            "prob_position": "prob_at"}
_OPERATION = re.compile(r"^(?:custom op )?'[\w.]+' (?:op )?")
_OPERAND = re.compile(r"operand #(\d+)")
# Before what the runtime says about data, or the number of an argument.
_CALL = re.compile(r"^'call': (?:\S+:\d+:\d+: )?[\w.]+: ")
_ARGUMENT = re.compile(r"argument (\d+) of 'call'")


class Piece(NamedTuple):
    """A part of generated text, and the argument that it was made of: empty for none. ``is_source`` says that the
    caller wrote it."""

    text: str
    argument: str = ""
    is_source: bool = False


def explain_arguments(error: CompileError, function: str, pieces: Sequence[Piece], operands: Sequence[str]) -> CompileError:
    """``error`` with diagnostics that name arguments of ``function``. The text was the ``pieces`` one after the other;
    ``operands`` are the arguments behind the operands of the operation."""
    starts, at = [], 0
    for piece in pieces:
        starts.append(at)
        at += len(piece.text)
    text = "".join(piece.text for piece in pieces)

    def renamed(diagnostic: Diagnostic) -> Diagnostic:
        piece, start = _piece_at(diagnostic, pieces, starts, text)
        message = _of_operands(_OPERATION.sub("", diagnostic.message), operands)
        where = f"{function}: "
        if piece.argument and not re.search(rf"(?<!\w){re.escape(piece.argument)}(?!\w)", message):
            where += f"{piece.argument}: "
        if not piece.is_source:
            return Diagnostic(diagnostic.severity, where + message)
        before = text[:start].count("\n")
        return dataclasses.replace(diagnostic, message=where + message, file=piece.argument, line=diagnostic.line - before)

    return CompileError([renamed(diagnostic) for diagnostic in error.diagnostics], f"{function}: {error}")


def explain_data(error: NVFP4Error, function: str, arguments: Sequence[str]) -> NVFP4Error:
    """``error`` of a call of generated text, of the same class, told of ``function`` and of the ``arguments`` that it was
    called with."""
    message = _ARGUMENT.sub(lambda match: f"{function}: {arguments[int(match[1])]}", str(error))
    return type(error)(_renamed(_CALL.sub(f"{function}: ", message)))


def _piece_at(diagnostic: Diagnostic, pieces: Sequence[Piece], starts: Sequence[int], text: str) -> tuple[Piece, int]:
    lines = text.split("\n")
    if not 0 < diagnostic.line <= len(lines):
        return Piece(""), 0
    at = sum(len(line) + 1 for line in lines[:diagnostic.line - 1]) + max(diagnostic.column - 1, 0)
    return max(((piece, start) for piece, start in zip(pieces, starts) if start <= at), key=lambda pair: pair[1],
               default=(Piece(""), 0))


def _of_operands(message: str, operands: Sequence[str]) -> str:
    def name(match: re.Match[str]) -> str:
        number = int(match[1])
        return operands[number] if number < len(operands) else match[0]

    return _renamed(_OPERAND.sub(name, message))


def _renamed(message: str) -> str:
    for old, new in _RENAMED.items():
        message = re.sub(rf"(?<!\w){old}(?!\w)", new, message)
    return message
