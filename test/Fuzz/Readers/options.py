# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Command lines of the tools: options that --help names, with values of every kind, beside right and wrong files."""

import re
import subprocess

import numpy as np

from files import MODULE
from isolate import Finding

TOOLS = ("nvfp4-compile", "nvfp4-run", "nvfp4-sim", "nvfp4-opt", "nvfp4-tensors")
VALUES = ["", "0", "1", "-1", "2", "3", "64", "65536", "99999999999999999999", "1e9", "0x10", "cpu", "sm_90a", "sm_100a",
          "sm_103a", "sm_100f", "native", "generic", "avx2,avx2", "amx", "mlir", "llvm", "asm", "obj", "so", "ptx", "cubin",
          "host", "device", "sim", "cuda", "reference", "reference:sampled=4", "reference:sampled=-1", "f", "g", "f32:1.5",
          "f32:", "i32:99999999999", "a.npy", "a.npy,a.npy", "a.npy@bf16", "a.npy@", "no.npy", "a.npy,,", ",", "f.mlir",
          "m.safetensors:x", "m.safetensors:", "builtin.module(gsg-to-cpu)", "builtin.module(", "builtin.module(canonicalize{",
          "any(cse)", "1,2,3,4", "1,,1", "4294967297", "struct(i32:1", "struct(i32:1,f32:2)", "bytes:0", "bytes:00ff",
          "out:b.npy=f32[4]", "out:b.npy=f32[4x", "zero:b.npy=f32[-1]", "zero:b.npy=f32[99999999999999x99999999999]",
          "inout:a.npy>b.npy", "peers(a.npy;9)", "tensormap(a.npy;box=0)", "tensormap(a.npy;box=4x1;dims=4,4)", "strict",
          "cutlass", "data-race@1", "data-race@", "uniform", "adversarial", "immediate", "aligned", "f64", "wake=-1",
          "copy-bytes=0", "b.txt", "\n", "é", "%n", "x" * 5000]
PTX = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<3>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [n];
  st.global.u32 [%rd1], %r1;
  ret;
}
"""
BAD = re.compile(rb"terminate called|Assertion|assert|Stack dump|PLEASE submit|Traceback|AddressSanitizer|runtime error:|"
                 rb"std::|what\(\)|json\.exception|Segmentation")
# Options that another program or the terminal's editor would have to answer, or that print pages of help.
LEFT_OUT = re.compile(r"--(help|version|tune|time|mlir-.*(crash|server|debug)|assemble|print-supported|allow-un|load-|dump|"
                      r"remark|debug|emit-bytecode|irdl|view|verify-each)")


class CommandLine:
    def __init__(self, build, folder):
        self.bin, self.named = build / "bin", {}
        self.options = {tool: self.options_of(tool) for tool in TOOLS}
        self.files = ["f.mlir", "f.so", "k.ptx", "a.npy", "no.mlir", "a.npy", "-", ".", "", "bad.mlir"]
        (folder / "f.mlir").write_text(MODULE)
        (folder / "bad.mlir").write_text(MODULE[:-200])
        (folder / "k.ptx").write_text(PTX)
        np.save("a.npy", np.arange(4, dtype=np.int32))
        self.call("nvfp4-compile", ["f.mlir", "-o", "f.so"])

    def call(self, tool, arguments):
        return subprocess.run([self.bin / tool, *arguments], capture_output=True, timeout=25, check=False,
                              stdin=subprocess.DEVNULL)

    def options_of(self, tool):
        done = self.call(tool, ["--help"])
        lines = re.findall(r"^ +(--?[\w-]+)(.*)", (done.stdout + done.stderr).decode(), re.MULTILINE)
        self.named.update({name: re.findall(r"[\w.:]+", text) for name, text in lines})
        names = [name for name, _ in lines if not LEFT_OUT.match(name)]
        if tool == "nvfp4-opt":  # the passes of the project, and what drives them
            names = [n for n in names if re.match(r"--(gsg|convert-gsg|nvfp4|raise|pass-pipeline|target|split|verify)", n)]
        return names or ["--nothing"]

    def word(self, rng, tool):
        name = rng.choice(self.options[tool])
        # What the help names is more often right.
        values = self.named.get(name) or VALUES if rng.random() < 0.5 else VALUES
        if tool == "nvfp4-sim" or name == "-o":
            return [name, rng.choice(values)] if rng.random() < 0.8 else [name]
        how = rng.random()
        if how < 0.2:
            return [name]
        value = rng.choice(values)
        return [f"{name}={value}"] if how < 0.8 else [f"{name}=" + "".join(rng.choice(VALUES)[:20] for _ in range(2))]

    def run(self, rng):
        tool = rng.choice(TOOLS)
        right = {"nvfp4-sim": "k.ptx", "nvfp4-tensors": "a.npy", "nvfp4-run": "f.so"}.get(tool, "f.mlir")
        words = [right if rng.random() < 0.8 else rng.choice(self.files)]
        for _ in range(rng.choice([1, 1, 2, 3])):
            words += self.word(rng, tool)
        words = [w for w in words if "\0" not in w]
        shown = " ".join([tool, *map(repr, words)])[:1500]
        try:
            done = self.call(tool, words)
        except subprocess.TimeoutExpired:
            raise Finding(f"hangs: {shown}") from None
        said = done.stdout + done.stderr
        if done.returncode not in (0, 1, 2):
            raise Finding(f"status {done.returncode}: {shown}\n{said[-800:].decode(errors='replace')}")
        if BAD.search(done.stderr):
            raise Finding(f"{shown}\n{done.stderr[-800:].decode(errors='replace')}")
        if done.returncode and not done.stderr.strip():
            raise Finding(f"status {done.returncode} without a message: {shown}\n{said[-300:]!r}")
        return "taken" if done.returncode == 0 else "refused"
