# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles random products to PTX and on with NVIDIA's assembler: each is taken
without spills, or refused by one of our diagnostics. Nothing crashes.

usage: sample.py DIRECTORY PTXAS COUNT [SEED]

Forms, formats, extents, epilogues and strategies are drawn independently, extents
and strategies also where nobody would have them. What was drawn is printed where
it fails, and its text lies in DIRECTORY."""

import collections
import pathlib
import random
import re
import subprocess
import sys

GSG = "grouped_scaled_gemm"
TARGETS = ("sm_100a", "sm_103a", "sm_100f")
# Formats of rows and of weights.
FORMATS = [(f, f) for f in ("nvfp4", "nvfp4_e8m0", "mxfp4", "mxfp8_e4m3", "mxfp8_e5m2")]
FORMATS += [("mxfp8_e4m3", "mxfp4"), ("mxfp4", "mxfp8_e5m2"), ("mxfp8_e4m3", "mxfp8_e5m2")]
ROWS = ["?", "?", 0, 1, 7, 128, 1000, 1 << 20, (1 << 31) - 1]
COLUMNS = ["?", 64, 128, 192, 256, 384, 4096, 7168, 1 << 20]
ODD_COLUMNS = [0, 1, 3, 8, 40, 264, 2880]
DEPTHS = ["?", "?", 0, 1, 16, 33, 64, 160, 256, 1000, 7168, 1 << 20, (1 << 31) - 32]
GRANULARITY = ["1", "2", "8", "16", "32", "64", "halves"]
# What a region makes of %z.
REGIONS = ["%y = arith.mulf %z, %z : f32",
           "%w = arith.extf %z : f32 to f64\n%v = arith.divf %w, %w : f64\n"
           "%y = arith.truncf %v : f64 to f32",
           "%i = arith.fptosi %z : f32 to i64\n%j = arith.floordivsi %i, %i : i64\n"
           "%y = arith.sitofp %j : i64 to f32",
           "%h = arith.truncf %z : f32 to bf16\n%c = arith.cmpf ult, %h, %h : bf16\n"
           "%y = arith.select %c, %z, %z : f32",
           "%y = arith.remf %z, %z : f32", "%y = math.exp %z : f32"]


class Sample:
    """One function with one product."""

    def __init__(self, rng):
        self.rng, self.arguments = rng, []
        self.form = rng.choice(["dense", "batched", "masked", "ragged_rows, ends",
                                "ragged_rows, starts", "ragged_rows, ends, align = 128",
                                "ragged_rows, starts, align = 4", "ragged_k, ends"])
        self.lhs_format, self.rhs_format = rng.choice(FORMATS)
        self.paired = rng.random() < 0.35
        self.quantized = rng.random() < 0.25
        self.m, self.k = rng.choice(ROWS), rng.choice(DEPTHS)
        even = self.paired or self.quantized
        self.n = rng.choice(COLUMNS if even else COLUMNS + ODD_COLUMNS)
        self.groups = rng.choice(["?", 1, 8, 256])
        # The type of rows without scales.
        self.rows = rng.choice([None, None, None, "bf16", "f16"])

    def maybe(self, text, chance=0.3):
        return text if self.rng.random() < chance else ""

    def operand(self, name, type):
        self.arguments.append(f"%{name}: {type}")
        return f"(%{name} : {type})"

    def shaped(self, element, *extents):
        return f"tensor<{'x'.join(map(str, extents))}x{element}>"

    def real(self):
        return self.rng.choice(["f32", "bf16", "f16"])

    def scaled(self, format, extents, layout="linear"):
        return f"!{GSG}.scaled<{'x'.join(map(str, extents))}, {format}, {layout}>"

    def get_operands(self):
        batched = self.form in ("batched", "masked")
        rows = (self.groups, self.m, self.k) if batched else (self.m, self.k)
        weights = (self.n, self.k) if self.form in ("dense", "ragged_k, ends") else (
            self.groups, self.n, self.k)
        layout = self.rng.choice(["linear", "blocked"])
        text = ""
        if self.form not in ("dense", "batched"):
            count = self.groups + 1 if "starts" in self.form and self.groups != "?" else self.groups
            text += " groups" + self.operand("groups", self.shaped(
                self.rng.choice(["i32", "i64"]), count))
        starts = layout
        if "ragged_rows" in self.form and layout == "blocked":
            starts += self.rng.choice([", starts = upper_bound", ", starts = compact"])
        if "ragged_k" in self.form:
            starts = layout = "linear, starts = compact"
        text += " lhs" + self.operand("lhs", self.shaped(self.rows, *rows) if self.rows else
                                      self.scaled(self.lhs_format, rows, starts))
        return text + " rhs" + self.operand("rhs", self.scaled(self.rhs_format, weights, layout))

    def get_product_shape(self, columns):
        if self.form in ("batched", "masked", "ragged_k, ends"):
            return (self.groups, self.m, columns)
        return (self.m, columns)

    def get_group_extents(self):
        return 1 if self.form == "dense" else self.groups

    def get_epilogue(self):
        rng, groups = self.rng, self.get_group_extents()
        rows = self.get_product_shape(0)[:-1]
        if self.form == "ragged_k, ends":
            rows = (self.m,)
        text = ""
        if rng.random() < 0.6:
            types = ["f32", self.shaped("f32", groups)]
            types += [self.shaped("f32", groups, 2)] if self.paired else []
            text += " alpha" + self.operand("alpha", rng.choice(types))
        terms = rng.random() < 0.3
        if terms:
            text += " beta" + self.operand("beta", "f32")
            text += " addend" + self.operand("addend", self.shaped(
                self.real(), *self.get_product_shape(self.n)))
        if rng.random() < 0.3:
            text += " bias" + self.operand("bias", self.shaped(self.real(), groups, self.n))
        if rng.random() < 0.3:
            at = ["gemm", "pre_activation", "post_activation"]
            text += " prob" + self.operand("prob", self.shaped("f32", *rows))
            text += " at " + rng.choice(at + (["bias"] if " bias(" in text else []))
        if self.paired:
            gate = f"<{rng.choice(GRANULARITY)}, {rng.choice(['gate_first', 'up_first'])}>"
            text += f" activation = <{rng.choice(['swiglu', 'geglu_tanh', 'reglu'])}, gate = {gate}"
            text += self.maybe(", round_bf16") + ">"
        elif rng.random() < 0.4:
            text += f" activation = <{rng.choice(['relu', 'relu2', 'silu', 'gelu_tanh', 'identity'])}>"
        elif rng.random() < 0.2:
            text += " activation = <custom> epilogue {\n^bb0(%z: f32):\n" + rng.choice(REGIONS)
            text += f"\n{GSG}.yield %y : f32\n}}"
        return text

    def get_results(self):
        rng, types, text = self.rng, [], ""
        columns = self.n // 2 if self.paired and self.n != "?" else self.n
        quantizer = ""
        if self.quantized:
            kind, format = rng.choice([("trtllm", "nvfp4"), ("cutlass", "nvfp4"), ("te", "nvfp4"),
                                       ("ue8m0_up", "mxfp4"), ("ue8m0_up", "mxfp8_e4m3"),
                                       ("ocp", "mxfp8_e5m2")])
            quantizer = f" quantizer = <{kind}>"
        preact = ""
        if rng.random() < 0.2:
            types.append(self.shaped(self.real(), *self.get_product_shape(self.n)))
            preact = " preact_outs" + self.operand("preact", types[-1])
        if self.quantized:
            types.append(self.scaled(format, self.get_product_shape(columns),
                                     rng.choice(["linear", "blocked"])))
            text += quantizer + preact
        else:
            types.append(self.shaped(self.real(), *self.get_product_shape(columns)))
            text += preact + " outs" + self.operand("out", types[-1])
        if rng.random() < 0.2:
            types.append(self.shaped("f32", self.get_group_extents()))
            text += " amax_outs" + self.operand("amax", types[-1])
        return text, types

    def get_strategy(self):
        rng = self.rng
        if rng.random() < 0.4:
            return ""
        ctas, swap = rng.choice([1, 2]), rng.choice(["true", "false"])
        words = {"m": 128 * ctas, "n": rng.choice([8, 16, 32, 64, 128, 192, 256]),
                 "k": 128 if self.rows or "mxfp8" in self.lhs_format + self.rhs_format else 256,
                 "ctas": ctas, "swap_ab": swap}
        for word, values in {"stages": [1, 2, 3, 16, 1 << 40], "split_k": [2, 16, 17],
                             "accumulator_stages": [1, 2, 3], "scale_stages": [1, 2, 1 << 62],
                             "epilogue_n": [8, 32, 128], "cluster_m": [2], "dynamic_n": ["true"],
                             "m": [64, 1 << 62], "n": [24, 512, 0], "k": [64, 1 << 40],
                             "scheduler": ["launch_control"]}.items():
            if rng.random() < (0.15 if word in ("stages", "split_k") else 0.04):
                words[word] = rng.choice(values)
        order = ["m", "n", "k", "stages", "ctas", "cluster_m", "split_k", "accumulator_stages",
                 "scale_stages", "epilogue_n", "swap_ab", "dynamic_n", "scheduler"]
        text = ", ".join(f"{word} = {words[word]}" for word in order if word in words)
        return f"strategy = #{GSG}.strategy<{text}>"

    def get_text(self):
        body = f"{GSG}.matmul <{self.form}>" + self.get_operands() + self.get_epilogue()
        results, types = self.get_results()
        attributes = [self.get_strategy(),
                      self.maybe(f"determinism = #{GSG}<determinism relaxed>", 0.5),
                      self.maybe(f"math = #{GSG}<math fast>"),
                      self.maybe(f"tail = #{GSG}<tail zero>")]
        body += results + " {" + ", ".join(a for a in attributes if a) + "}"
        count = len(types)
        names = [f"%r#{i}" for i in range(count)] if count > 1 else ["%r"]
        types = ", ".join(types)
        return (f"func.func @f({', '.join(self.arguments)}) -> ({types}) {{\n"
                f"  {'%r:' + str(count) if count > 1 else '%r'} = {body}\n      -> {types}\n"
                f"  return {', '.join(names)} : {types}\n}}\n")


def get_list_text(rng):
    """A list of products with extents of their own."""
    lhs_format, rhs_format = rng.choice(FORMATS)
    count, element = rng.randint(1, 5), rng.choice(["f32", "bf16", "f16"])
    types = [(rng.choice(ROWS), rng.choice(COLUMNS + ODD_COLUMNS), rng.choice(DEPTHS))
             for _ in range(count)]
    sides = {"a": [f"!{GSG}.scaled<{m}x{k}, {lhs_format}>" for m, _, k in types],
             "b": [f"!{GSG}.scaled<{n}x{k}, {rhs_format}>" for _, n, k in types],
             "c": [f"tensor<{m}x{n}x{element}>" for m, n, _ in types]}
    arguments = ", ".join(f"%{side}{i}: {type}" for side, all in sides.items()
                          for i, type in enumerate(all))
    lhs, rhs = (", ".join(f"%{side}{i} : {type}" for i, type in enumerate(sides[side]))
                for side in "ab")
    outs, results = ", ".join(f"%c{i}" for i in range(count)), ", ".join(sides["c"])
    names = ", ".join(f"%r#{i}" for i in range(count)) if count > 1 else "%r"
    return (f"func.func @f({arguments}) -> ({results}) {{\n"
            f"  {'%r:' + str(count) if count > 1 else '%r'} = {GSG}.matmul_list\n"
            f"      lhs({lhs})\n      rhs({rhs})\n      outs({outs} : {results})\n"
            f"      -> {results}\n  return {names} : {results}\n}}\n")


def check(directory, ptxas, text, target):
    """What became of it, in words that may be counted."""
    source, ptx = directory / "sample.mlir", directory / "sample.ptx"
    source.write_text(text)
    done = subprocess.run(["nvfp4-compile", source, f"--target={target}", "--emit=ptx", "-o", ptx],
                          capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        said = re.search(r"error: (.*)", done.stderr)
        if done.returncode != 1 or not said or "LLVM ERROR" in done.stderr:
            raise SystemExit(f"nvfp4-compile ended with {done.returncode}\n{text}\n{done.stderr}")
        return "refused", said[1]
    done = subprocess.run([ptxas, f"-arch={target}", "-v", ptx, "-o", directory / "sample.cubin"],
                          capture_output=True, text=True)
    if done.returncode != 0 or "0 bytes spill stores, 0 bytes spill loads" not in done.stderr:
        raise SystemExit(f"ptxas ended with {done.returncode}\n{text}\n{done.stderr}")
    return "assembled", re.search(r"Used (\d+) registers", done.stderr)[1]


def main():
    directory, ptxas, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    outcomes, most = collections.Counter(), 0
    for number in range(count):
        rng = random.Random(seed * 1000003 + number)
        target = rng.choice(TARGETS)
        text = get_list_text(rng) if rng.random() < 0.1 else Sample(rng).get_text()
        outcome, said = check(directory, ptxas, text, target)
        outcomes[outcome] += 1
        if outcome == "assembled":
            most = max(most, int(said))
        elif "-v" in sys.argv:
            print(said[:160])
    print(f"{outcomes['assembled']} assembled without spills with up to {most} registers, "
          f"{outcomes['refused']} refused")


main()
