# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/check-types passes on the package and names what is wrong. Skipped without pyright."""

import pathlib
import shutil
import subprocess
import sys

import pytest

import nvfp4
from conftest import ROOT

pytestmark = pytest.mark.skipif(not (pathlib.Path(sys.executable).parent / "pyright").exists(), reason="no pyright here")


def run(folder):
    done = subprocess.run([sys.executable, ROOT / "scripts" / "check-types", folder], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_names_and_types_are_found(tmp_path):
    shutil.copytree(ROOT / "python" / "nvfp4", tmp_path / "nvfp4")
    status, text = run(tmp_path)
    assert (status, text.splitlines()[-1]) == (0, "0 problems"), text
    with open(tmp_path / "nvfp4" / "options.py", "a") as file:
        file.write("\n\nclass Loose:\n    def __init__(self, a):\n        self.value = a\n\n\n__all__.append('Loose')\n")
    with open(tmp_path / "nvfp4" / "checkpoint" / "__init__.py", "a") as file:
        file.write("\n__all__ += ['absent']\n")
    init = tmp_path / "nvfp4" / "__init__.py"
    init.write_text(init.read_text().replace("__all__ += matmul.__all__\n", ""))
    status, text = run(tmp_path)
    assert status == 1
    assert 'nvfp4.plan_matmul: "plan_matmul" is not exported' in text and "nvfp4.options.Loose" in text, text


def test_names_are_there():
    assert all(hasattr(nvfp4, name) for name in nvfp4.__all__)
    assert len(nvfp4.__all__) == len(set(nvfp4.__all__)) and {"quantize", "Program", "MatmulPlan"} < set(nvfp4.__all__)
