# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler in this process: what the verifier says of a text, what a target says, and what a call returns."""

import ctypes
import functools

import nvfp4
from nvfp4 import _library
from nvfp4.compiler import _Collector, _pointers

SIMULATED = ("sm_90a", "sm_100a")


class Refused(Exception):
    """The diagnostics of a text, errors first, each with its notes."""

    def __init__(self, diagnostics):
        self.messages = [f"{d.severity}: {d.message}" for d in diagnostics]
        super().__init__("\n".join(self.messages))


@functools.cache
def _context():
    return _library.compiler().nvfp4ContextCreate()


class Text:
    """A module that the verifier has taken."""

    def __init__(self, text):
        self.text, self._library = text, _library.compiler()
        collector = _Collector(text)
        self._module = self._library.nvfp4ModuleParse(_context(), _library.string_ref(text),
                                                      _library.string_ref("program"), collector.sink)
        if not self._module:
            raise Refused(collector.diagnostics)

    def __del__(self):
        module = getattr(self, "_module", None)
        if module:
            self._library.nvfp4ModuleDestroy(module)

    def compare(self, target, arrays, found, exact):
        """None if the interpreter agrees with what the target found, else what it says."""
        collector, parts = _Collector(self.text), []
        callback = _library.StringCallback(lambda part, _: parts.append(part.bytes()))
        name, target = _library.string_ref("f"), _library.string_ref(target)
        good = self._library.nvfp4ModuleCheck(self._module, name, target, _pointers(arrays), len(arrays),
                                              _pointers(found), len(found), exact, 0, callback, None, collector.sink)
        if good:
            return None
        return b"".join(parts).decode() + "\n".join(d.message for d in collector.diagnostics)


def compile_text(text, target, **options):
    """A program for the target; Refused where it says no."""
    device = "sim" if target in SIMULATED else None
    try:
        return nvfp4.compile(text, target, device=device, **options)
    except nvfp4.CompileError as error:
        raise Refused(error.diagnostics) from None


def call(program, arrays):
    """Results of the function, values and scales apart; memrefs among `arrays` are written in place."""
    function = program.functions["f"]
    flat = [function._convert(i, array) for i, array in enumerate(arrays)]
    return program.run_flat("f", flat)
