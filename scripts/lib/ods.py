# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the TableGen records of the tree: the ops, types, attributes and
passes that include/nvfp4 declares, as llvm-tblgen's JSON gives them."""

import json
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LLVM = pathlib.Path(os.environ.get("NVFP4_LLVM_DIR", "/usr/lib/llvm-22"))


def find_tool(name):
    """Path of an LLVM tool of the version that the tree is built with."""
    path = LLVM / "bin" / name
    return str(path) if path.exists() else shutil.which(name) or name


def roots():
    """The .td files that TableGen runs on: <Dialect>Ops.td, which includes the
    other files of its dialect, and every Passes.td, which includes other files of passes."""
    include = ROOT / "include" / "nvfp4"
    dialects = [path for path in include.glob("Dialect/*/IR/*Ops.td")
                if path.stem == path.parent.parent.name + "Ops"]
    return sorted([*dialects, *include.rglob("Passes.td")])


def load(path):
    """The JSON records of one .td file. Raises RuntimeError with the words of
    llvm-tblgen if it does not parse."""
    done = subprocess.run(
        [find_tool("llvm-tblgen"), "--dump-json", "-I", str(ROOT / "include"),
         "-I", str(LLVM / "include"), str(path)],
        capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


class Record:
    """One op, type, attribute, enum or pass of ours."""

    def __init__(self, kind, name, fields, path, traits=()):
        self.kind, self.name, self.fields, self.path = kind, name, fields, path
        # The classes of all traits of an op.
        self.traits = set(traits)

    def __str__(self):
        return f"{self.path.relative_to(ROOT)}: {self.kind} {self.name}"

    def text(self, field):
        value = self.fields.get(field)
        return value.strip() if isinstance(value, str) else ""


def kind_of(fields):
    classes = fields["!superclasses"]
    for kind, base in (("op", "Op"), ("type", "TypeDef"), ("attr", "AttrDef"),
                       ("pass", "PassBase"), ("dialect", "Dialect")):
        if base in classes:
            return kind
    return None


def records():
    """Every record that a file below include/nvfp4 defines, once."""
    ours = {path.name: path
            for path in (ROOT / "include" / "nvfp4").rglob("*.td")}
    seen = {}
    for path in roots():
        loaded = load(path)
        for name, fields in loaded.items():
            if name.startswith("!") or not isinstance(fields, dict):
                continue
            kind = kind_of(fields)
            where = fields["!locs"][0].rsplit(":", 1)[0] if fields["!locs"] else ""
            where = pathlib.Path(where).name
            if kind is None or where not in ours:
                continue
            traits = (base for trait in fields.get("traits", ())
                      for base in loaded[trait["def"]]["!superclasses"])
            seen.setdefault((kind, name),
                            Record(kind, name, fields, ours[where], traits))
    return [seen[key] for key in sorted(seen)]
