# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the cells of docs/Python.md, README.md and docs/Tour.md as they are printed there."""

import contextlib
import io
import re

import pytest

import nvfp4
from conftest import ROOT

CELL = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def run(text, cells):
    """Runs cells one after another; returns all that they printed."""
    # A reader begins with nothing compiled.
    nvfp4.cache_clear()
    everything = ""
    scope = {"__name__": "notebook"}
    for source, printed in cells:
        line = text[:text.index(source)].count("\n")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * line + source, "document", "exec"), scope)
        everything += out.getvalue()
        if printed:
            assert out.getvalue() == printed, f"cell at line {line + 1}"
    return everything


def test_tutorial():
    text = (ROOT / "docs" / "Python.md").read_text()
    cells = CELL.findall(text)
    assert len(cells) >= 10 and sum(bool(printed) for _, printed in cells) >= 8
    run(text, cells)


def test_readme():
    text = (ROOT / "README.md").read_text()
    cells = CELL.findall(text)
    assert len(cells) == 1 and cells[0][0].count("\n") <= 10
    # The last line prints what its comment says.
    assert run(text, cells) == cells[0][0].rsplit("# ", 1)[1]


def test_tour():
    text = (ROOT / "docs" / "Tour.md").read_text()
    sections = [part for part in re.split(r"^(?=## |\*\*)", text, flags=re.MULTILINE) if part.startswith("**Python.**")]
    if len(sections) != 1:
        pytest.fail("expected one section '**Python.**' in docs/Tour.md")
    cells = CELL.findall(sections[0])
    assert len(cells) == 1 and cells[0][0].count("\n") <= 10
    run(text, cells)
