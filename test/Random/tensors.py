# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single operations on tensors: quantize, dequantize, relayout_scales, glu and hadamard."""

import numpy as np

from approximate import Approximate, compare, geglu_tanh, gelu_tanh, maximum, reglu, silu, square, swiglu
from nvfp4_cases import OUT, assert_equal, gate_rows, poison
from nvfp4_formats import FORMATS, ceil_div, pack, random_scaled, unpack
from places import Places, destination
from program import PAIRED, PARAMETERS, Program, make_groups
from quantizers import numbers_of_elements, quantize, uniforms
from writer import DIALECT, Inexpressible, Writer, scaled_type, storage_types

SIGNS = 0x5A31
SEED = 0x5EED00000007


class Single:
    """One operation without a product."""

    def __init__(self, choices, seed):
        self.c, self.rng = choices, np.random.default_rng(seed)
        self.groups = make_groups({**choices, "form": "dense" if choices["form"] == "none" else choices["form"]})
        kind = self.groups.kind
        self.along = {"ragged_rows": "rows", "ragged_k": "columns"}.get(kind)
        rows, columns = (21, self.groups.extent) if kind == "ragged_k" else (self.groups.extent, choices["n"])
        self.shape = ((len(self.groups),) if kind in ("batched", "masked") else ()) + (rows, columns)
        self.writer = Writer(choices["storage"])
        self.facts = {"groups": self.groups, "shape": self.shape}

    def dims(self, shape=None):
        return [extent if self.c["static"] == "all" else "?" for extent in (self.shape if shape is None else shape)]

    def clause(self):
        """`groups(..) as <..>`, where the choice has groups."""
        if self.c["form"] == "none" or self.groups.operand is None:
            return ""
        kind, _, offsets = self.c["form"].partition("_")
        words = [{"rows": "ragged_rows", "k": "ragged_k"}.get(kind, kind)] + ([offsets] if offsets else [])
        words += [f"align = {self.c['align']}"] if self.c["align"] != 1 else []
        count = self.dims((len(self.groups.operand),))
        operand = self.writer.tensor("groups", count, self.c["index"], self.groups.operand)
        return f" groups({operand}) as <{', '.join(words)}>"

    def scale(self):
        if self.c["global"] == "none":
            return ""
        count = len(self.groups) if self.c["form"] != "none" else 1
        shape = {"scalar": (), "group": (count,), "row": self.shape[:-1]}[self.c["global"]]
        array = self.facts["global_scale"] = (np.exp2(self.rng.integers(-2, 4, shape)) * 1.25).astype(np.float32)
        operand = self.writer.scalar("global_scale", array) if shape == () else self.writer.tensor(
            "global_scale", self.dims(shape), "f32", array)
        return f" global_scale({operand})"

    def per_row(self):
        return " {per_row}" if self.c["global"] == "row" else ""

    def type_words(self, layout="layout", starts="starts"):
        c = self.c
        axis = len(self.shape) - 2 if c["axis"] == "rows" else None
        if axis is not None and (c[layout] != "linear"):
            raise Inexpressible("column scales in tiles",
                                scaled_type(self.dims(), c["format"], c[layout], c[starts], axis))
        return c["format"], c[layout], c[starts], axis

    def random_values(self):
        x = self.rng.standard_normal(self.shape) * np.exp2(self.rng.integers(-6, 6, self.shape[:-1] + (1,)))
        x[self.rng.random(self.shape) < 0.1] = 0
        return x.astype(np.float32).astype(OUT[self.c["element"]])

    def scaled_operand(self):
        """Codes and scales of every group in their places; elsewhere garbage and NaN."""
        fmt, layout, starts, axis = words = self.type_words()
        info, block = FORMATS[fmt], FORMATS[fmt].block
        if info.is_fp4 and self.shape[-1] % 2 and self.c["static"] == "none":
            raise Inexpressible("an odd K that the type does not say")
        places = Places(self.groups, self.shape, block, layout, starts, self.c["axis"], self.c["form"] == "none")
        codes = np.full(self.shape, 15 if info.is_fp4 else 0x7F, np.uint8)
        stored = np.full(places.stored_shape(), info.nan_scale, np.uint8)
        for g, index in places.groups():
            rows, columns = codes[index].shape
            lines = random_scaled(self.rng, (columns, rows) if axis is not None else (rows, columns), fmt)
            codes[index] = lines.codes.T if axis is not None else lines.codes
            places.write(stored, g, lines.scales.T if axis is not None else lines.scales)
        self.facts.update(codes=codes, scales=stored, places=places)
        filler = 15 if self.c["static"] == "all" and info.is_fp4 else 0
        return self.writer.scaled("x", (pack(info, codes, filler), stored), self.dims(), *words)

    def build(self):
        c, w = self.c, self.writer
        text, outs = getattr(self, c["op"])()
        if c["math"] != "strict" and c["op"] == "glu":
            text += f" {{math = #{DIALECT}<math {c['math']}>}}"
        w.results = w.operation(text, outs)
        return Program(c, w.text(), w.names, w.arrays, [(name, value is not None) for name, _, value in outs], self.facts)

    def out(self, shape, element):
        array = self.facts["out"] = poison(shape, element)
        type_ = self.writer.shaped(self.dims(shape), element)
        return f" outs({self.writer.tensor('out', self.dims(shape), element, array)})", [("out", [type_], None)]

    # --- One function an operation ---

    def quantize(self):
        c, w = self.c, self.writer
        fmt, layout, starts, axis = words = self.type_words()
        self.facts["x"] = self.random_values()
        mode = {"plain": "", "flush": ", neg_zero = flush", "stochastic": ", rounding = stochastic",
                "two_d": ", two_d"}[c["mode"]]
        text = f"{DIALECT}.quantize <{c['quantizer']}{mode}>({w.tensor('x', self.dims(), c['element'], self.facts['x'])})"
        text += self.clause() + self.scale()
        if c["mode"] == "stochastic":
            w.scalar("seed", np.int64(SEED), "i64")
            text += " seed(%seed)"
        info = FORMATS[fmt]
        places = self.facts["places"] = Places(self.groups, self.shape, info.block, layout, starts, c["axis"],
                                               c["form"] == "none")
        if c["storage"] != "value":
            values = self.shape[:-1] + ((ceil_div(self.shape[-1], 2),) if info.is_fp4 else self.shape[-1:])
            stored = [destination(values, self.shape[-1], info), places.destination(info)]
            text += f" outs({w.scaled('out', stored, self.dims(), *words)})"
        types = storage_types(w.shell, self.dims(), *words)
        return text + self.per_row(), [("out", types, scaled_type(self.dims(), *words))]

    def dequantize(self):
        text = f"{DIALECT}.dequantize({self.scaled_operand()})" + self.clause() + self.scale()
        clause, outs = self.out(self.shape, self.c["element"])
        return text + clause + self.per_row(), outs

    def relayout(self):
        words = self.type_words("to_layout", "to_starts")
        info = FORMATS[words[0]]
        operand = self.scaled_operand()
        text = f"{DIALECT}.relayout_scales({operand})" + self.clause()
        places = self.facts["to"] = Places(self.groups, self.shape, info.block, words[1], words[2], self.c["axis"],
                                           self.c["form"] == "none")
        if self.c["storage"] == "value":
            return text, [("out", [], scaled_type(self.dims(), *words))]
        _, type_ = storage_types(self.writer.shell, self.dims(), *words)
        self.writer.parameter("out_s", type_, places.destination(info))
        return text + f" outs(%out_s : {type_} as {scaled_type(self.dims(), *words)})", [("out_s", [type_], None)]

    def glu(self):
        c, kind = self.c, self.c["activation"]
        self.facts["x"] = (self.rng.integers(-64, 64, self.shape) / 8).astype(np.float32).astype(OUT[c["element"]])
        words = ["swiglu" if kind == "swiglu_oai" else kind] + ([f"gate = <{c['gate']}>"] if c["gate"] != "none" else [])
        rounded = ", round_bf16" if c["round"] == "bf16" else ""
        operand = self.writer.tensor("x", self.dims(), c["element"], self.facts["x"])
        text = f"{DIALECT}.glu <{', '.join(words)}{PARAMETERS.get(kind, '')}{rounded}>({operand})"
        paired = kind in PAIRED
        clause, outs = self.out(self.shape[:-1] + (self.shape[-1] // 2 if paired else self.shape[-1],), c["to"])
        return text + clause, outs

    def hadamard(self):
        c, w = self.c, self.writer
        self.facts["x"] = (self.rng.integers(-64, 64, self.shape) / 8).astype(np.float32).astype(OUT[c["element"]])
        self.facts["out"] = poison(self.shape, c["to"])
        operand = w.tensor("x", self.dims(), c["element"], self.facts["x"])
        w.tensor("out", self.dims(), c["to"], self.facts["out"])
        types = w.shaped(self.dims(), c["element"]), w.shaped(self.dims(), c["to"])
        words = (["normalized"] if c["normalized"] == "yes" else []) + (
            [f"sign_mask = {SIGNS} : i32"] if c["signs"] == "yes" else [])
        text = f"{DIALECT}.hadamard %x outs(%out) {{{', '.join(words)}}} : {types[0]}, {types[1]}"
        return text, [("out", [types[1]], None)]


class SingleOracle:
    """The answer of each operation."""

    def __init__(self, program, target):
        self.c, self.facts = program.choices, program.facts

    def check(self, results):
        getattr(self, self.c["op"])(results)

    def factor(self, g, index):
        """The second-level scale of a group: a number, or a column of those of its rows."""
        factor = self.facts.get("global_scale", np.float32(1))
        if self.c["global"] == "row":
            return factor[index[:factor.ndim]][:, None]
        return factor if factor.ndim == 0 else factor[g]

    def quantize(self, results):
        c, places = self.c, self.facts["places"]
        info = FORMATS[c["format"]]
        codes = unpack(info, results["out"], self.facts["shape"][-1])
        numbers = numbers_of_elements(self.facts["shape"], c["axis"] == "rows")
        for g, index in places.groups():
            x, factor = self.facts["x"][index].astype(np.float32), self.factor(g, index)
            draws = uniforms(SEED, numbers[index]) if c["mode"] == "stochastic" else None
            # Rows with numbers of their own are quantised one by one.
            parts = [(slice(None), factor)]
            if c["global"] == "row":
                parts = [(slice(i, i + 1), f) for i, f in enumerate(factor[:, 0])] or [(slice(None), np.float32(1))]
            wanted, scales = (np.concatenate(each) for each in zip(*(
                quantize(x[part], c["quantizer"], c["format"], along_rows=c["axis"] == "rows", factor=f, mode=c["mode"],
                         draws=None if draws is None else draws[part]) for part, f in parts), strict=True))
            assert_equal(places.read(results["out_s"], g), scales, f"scales of group {g}")
            assert_equal(codes[index], wanted, f"codes of group {g}")

    def dequantize(self, results):
        info, places = FORMATS[self.c["format"]], self.facts["places"]
        axis = 0 if self.c["axis"] == "rows" else 1
        outside = np.ones(self.facts["shape"], bool)
        for g, index in places.groups():
            codes = self.facts["codes"][index]
            scales = np.repeat(info.scales[places.read(self.facts["scales"], g)], info.block, axis)
            value = info.values[codes] * scales[:codes.shape[0], :codes.shape[1]]
            value = value * np.float64(self.factor(g, index))
            compare(results["out"][index], Approximate(value, np.zeros_like(value)).rounded(), self.c["element"],
                    f"group {g}")
            outside[index] = False
        element = np.uint32 if self.c["element"] == "f32" else np.uint16
        assert (results["out"].view(element)[outside] == self.facts["out"].view(element)[outside]).all(), \
            "rows outside groups changed"

    def relayout(self, results):
        to, info = self.facts["to"], FORMATS[self.c["format"]]
        for g, _ in self.facts["places"].groups():
            assert_equal(to.read(results["out_s"], g), self.facts["places"].read(self.facts["scales"], g),
                         f"scales of group {g}")
        if self.c["storage"] != "value" and self.c["form"] not in ("none", "batched"):
            rest = results["out_s"].view(np.uint8).copy()
            for g, _ in self.facts["places"].groups():
                to.write(rest, g, info.padding_scale)
            assert (rest == info.padding_scale).all(), "scales outside groups are no padding"

    def glu(self, results):
        c, kind = self.c, self.c["activation"]
        x = self.facts["x"].astype(np.float64)
        z = Approximate(x, np.zeros_like(x))
        z = z.bfloat16() if c["round"] == "bf16" else z
        if kind in PAIRED:
            granularity, order = c["gate"].split(", ")
            gate, up = gate_rows(0 if granularity == "halves" else int(granularity), order == "up_first",
                                 x.shape[-1] // 2)
            pair = z.columns(gate), z.columns(up)
            fast = c["math"] == "fast"
            parameters = (float(np.float32(1.702)), 1.0, 7.0) if kind == "swiglu_oai" else ()
            y = {"geglu_tanh": lambda: geglu_tanh(*pair, fast), "reglu": lambda: reglu(*pair)}.get(
                kind, lambda: swiglu(*pair, fast, *parameters))()
        else:
            y = {"identity": lambda: z, "relu": lambda: maximum(z, 0.0), "relu2": lambda: square(maximum(z, 0.0)),
                 "silu": lambda: silu(z, c["math"] == "fast"),
                 "gelu_tanh": lambda: gelu_tanh(z, c["math"] == "fast")}[kind]()
        compare(results["out"], y, c["to"], kind)

    def hadamard(self, results):
        x = self.facts["x"].astype(np.float64)
        blocks = x.reshape(x.shape[:-1] + (x.shape[-1] // 16, 16))
        i = np.arange(16)
        matrix = np.array([[(-1.0)**bin(a & b).count("1") for b in i] for a in i])
        if self.c["signs"] == "yes":
            blocks = blocks * np.where(SIGNS >> i & 1, -1.0, 1.0)
        y = (blocks @ matrix).reshape(x.shape) * (0.25 if self.c["normalized"] == "yes" else 1.0)
        compare(results["out"], Approximate(y, np.zeros_like(y)), self.c["to"], "hadamard")
