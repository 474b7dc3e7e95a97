# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists of products with extents of their own."""

import numpy as np

from approximate import Approximate, compare, product as multiply
from choices import STRATEGIES
from nvfp4_cases import poison
from nvfp4_formats import FORMATS, ceil_div, random_scaled, round_up
from program import Program, powers, quarters
from writer import DIALECT, Inexpressible, Writer

EXTENTS = {"even": [(5, 64, 64), (40, 128, 256)], "one": [(7, 40, 96)], "zeros": [(0, 8, 32), (3, 0, 32), (3, 8, 0)],
           "odd": [(1, 33, 15), (130, 1, 135), (3, 5, 1)],
           "tiles": [(130, 264, 288), (1, 8, 32), (64, 72, 33), (129, 130, 160)]}


class List:
    """One matmul_list."""

    def __init__(self, choices, seed):
        self.c, self.rng = choices, np.random.default_rng(seed)
        self.writer, self.facts = Writer(choices["storage"]), {}
        self.problems = EXTENTS[choices["sizes"]]

    def dims(self, *extents):
        known = {"none": (), "k": (1,), "all": (0, 1)}[self.c["static"]]
        return [e if i in known else "?" for i, e in enumerate(extents)]

    def side(self, name, row, layout):
        fmt = self.c["lhs" if name == "a" else "rhs"]
        operands, texts = [], []
        for i, problem in enumerate(self.problems):
            operand = random_scaled(self.rng, (problem[row], problem[2]), fmt, lattice=self.c["numbers"] == "lattice")
            padding = FORMATS[fmt].nan_scale if self.c["padding"] == "nan" else FORMATS[fmt].padding_scale
            filler = 15 if self.c["static"] != "none" and FORMATS[fmt].is_fp4 else 0
            stored = operand.store(layout, None, padding, filler)
            texts.append(self.writer.scaled(f"{name}{i}", stored, self.dims(problem[row], problem[2]), fmt, layout))
            operands.append(operand)
        self.facts[name] = operands
        return ", ".join(texts)

    def factor(self, name):
        kind = self.c[name]
        if kind == "none":
            return ""
        shape = () if kind == "scalar" else (len(self.problems),)
        array = self.facts[name] = powers(self.rng, *shape)
        if kind == "scalar":
            return f" {name}({self.writer.scalar(name, array)})"
        dims = self.dims(0, len(self.problems))[1:] if self.c["static"] == "all" else ["?"]
        return f" {name}({self.writer.tensor(name, dims, 'f32', array)})"

    def build(self):
        c, w = self.c, self.writer
        if c["static"] == "none" and c["sizes"] in ("odd", "tiles") and FORMATS[c["lhs"]].is_fp4 != FORMATS[c["rhs"]].is_fp4:
            raise Inexpressible("an odd K that the type does not say")
        text = f"{DIALECT}.matmul_list lhs({self.side('a', 0, c['lhs_layout'])})"
        text += f" rhs({self.side('b', 1, c['rhs_layout'])})" + self.factor("alpha") + self.factor("beta")
        outs, self.facts["c"] = [], []
        for i, (m, n, _) in enumerate(self.problems):
            array = quarters(self.rng, (m, n), c["out"]) if c["beta"] != "none" else poison((m, n), c["out"])
            self.facts["c"].append(array)
            dims = [m, n] if c["static"] == "all" else ["?", "?"]
            w.tensor(f"c{i}", dims, c["out"], array)
            outs.append((f"c{i}", [w.shaped(dims, c["out"])], None))
        names, types = ", ".join(f"%{name}" for name, _, _ in outs), ", ".join(t for _, (t,), _ in outs)
        text += f" outs({names} : {types})"
        pairs = []
        if c["determinism"] != "deterministic":
            pairs.append(f"determinism = #{DIALECT}<determinism {c['determinism']}>")
        if c["strategy"] != "open":
            depth = 128 if "8" in c["lhs"][:4] + c["rhs"][:4] else 256
            strategy = STRATEGIES.get(c["strategy"], c["strategy"]).format(k=depth)
            pairs.append(f"strategy = #{DIALECT}.strategy<{strategy}>")
        text += " {" + ", ".join(pairs) + "}" if pairs else ""
        w.results = w.operation(text, outs)
        return Program(c, w.text(), w.names, w.arrays, [(name, False) for name, _, _ in outs], self.facts)


class ListOracle:
    """alpha_i a_i b_i^T + beta_i c_i."""

    def __init__(self, program, target):
        self.c, self.facts, self.target = program.choices, program.facts, target

    def check(self, results):
        fp4 = all(FORMATS[self.c[side]].is_fp4 for side in ("lhs", "rhs")) and self.target != "sm_90a"
        block = FORMATS[self.c["rhs"]].block
        for i, (a, b, old) in enumerate(zip(self.facts["a"], self.facts["b"], self.facts["c"])):
            k = a.shape[1]
            z = multiply(a.values(), b.values(), (ceil_div(k, block) if fp4 else round_up(k, block)) + 4)
            for name in ("alpha", "beta"):
                if name not in self.facts:
                    continue
                factor = self.facts[name]
                factor = np.float64(factor if factor.ndim == 0 else factor[i])
                if name == "alpha":
                    z = z.times(factor)
                else:
                    term = old.astype(np.float64) * factor
                    z = z.plus(Approximate(term, np.zeros_like(term)).rounded())
            compare(results[f"c{i}"], z, self.c["out"], f"problem {i}")
