# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The answer of a random program in numpy, step by step as docs/Spec.md has it.

It shares no code with the compiler or the interpreter. Where every step is exact or rounded once as the specification
says, results must be equal; after transcendental functions and inexact sums they are within a bound.
"""

import numpy as np

from approximate import (TINY, ULP, Approximate, compare, geglu_tanh, gelu_tanh, maximum, product as multiply, reglu, silu,
                         square, swiglu)
from clauses import COPY_SEED, SEED
from nvfp4_cases import assert_equal, assert_within, gate_rows, round_to
from nvfp4_formats import FORMATS, ceil_div, round_up, unpack
from program import PAIRED
from quantizers import numbers_of_elements, quantize, transform, uniforms

OAI = (float(np.float32(1.702)), 1.0, 7.0)


class Oracle:
    """Expected results of one program on one target."""

    def __init__(self, program, target):
        self.c, self.facts, self.target = program.choices, program.facts, target
        self.groups = self.facts["groups"]
        #: Whether quantised results may have other codes than the formula's, as far as check() has seen.
        self.has_uncertain_codes = False

    def factor(self, name, g, absent=1.0):
        array = self.facts.get(name)
        return absent if array is None else array if array.ndim == 0 else array[g]

    def row(self, name, index):
        """Numbers of the rows of a group, as a column."""
        array = self.facts[name]
        return (array[index] if self.groups.kind != "ragged_k" else array)[:, None].astype(np.float64)

    def accumulate(self, x, w):
        fp4 = all(self.c[side] in FORMATS and FORMATS[self.c[side]].is_fp4 for side in ("lhs", "rhs"))
        block = FORMATS[self.c["rhs"]].block
        k = x.shape[-1]
        return multiply(x, w, (ceil_div(k, block) if fp4 and self.target != "sm_90a" else round_up(k, block)) + 4)

    def pre_activation(self, g, index, x, w):
        """Steps 1 to 7."""
        c, facts = self.c, self.facts
        z = self.accumulate(x, w)
        if "alpha" in facts:
            alpha = self.factor("alpha", g)
            if np.ndim(alpha) == 1:
                gate, up = self.gate(z.value.shape[-1] // 2)
                both = np.empty(z.value.shape[-1])
                both[gate], both[up] = alpha
                alpha = both
            z = z.times(alpha)
        if c["row_scale"] != "none":
            z = z.times(self.row("row_scale", index))
        if c["prob"] == "gemm":
            z = z.times(self.row("prob", index))
        if "addend" in facts or c["beta"] != "none":
            old = facts["addend" if "addend" in facts else "out"][index].astype(np.float64)
            beta = np.float64(self.factor("beta", g))
            z = z.plus(Approximate(old * beta, np.zeros_like(old)).rounded())
        if "bias" in facts:
            bias = facts["bias"] if facts["bias"].ndim == 1 else facts["bias"][g]
            bias = np.broadcast_to(bias.astype(np.float64), z.value.shape)
            bias = Approximate(bias, np.zeros_like(bias))
            z = z.plus(bias.times(self.row("prob", index)) if c["prob"] == "bias" else bias)
        return z.times(self.row("prob", index)) if c["prob"] == "pre_activation" else z

    def gate(self, columns):
        granularity, order = self.c["gate"].split(", ")
        return gate_rows(0 if granularity == "halves" else int(granularity), order == "up_first", columns)

    def activate(self, z, g, index):
        """Steps 8 to 10."""
        c, kind, fast = self.c, self.c["activation"], self.c["math"] == "fast"
        z = z.bfloat16() if c["round"] == "bf16" and kind != "none" else z
        halves = None
        if kind in PAIRED or (kind == "custom" and c["gate"] != "none"):
            gate, up = self.gate(z.value.shape[-1] // 2)
            halves = z.columns(gate), z.columns(up)
        if kind in ("relu", "relu2"):
            y = maximum(z, 0.0)
            y = square(y) if kind == "relu2" else y
        elif kind == "silu":
            y = silu(z, fast)
        elif kind in ("swiglu", "swiglu_oai"):
            parameters = OAI if kind == "swiglu_oai" else (1.0, 0.0, np.inf)
            if "params" in self.facts:
                parameters = tuple(map(float, self.facts["params"][g]))
            y = swiglu(*halves, fast, *parameters)
        elif kind == "geglu_tanh":
            y = geglu_tanh(*halves, fast)
        elif kind == "gelu_tanh":
            y = gelu_tanh(z, fast)
        elif kind == "reglu":
            y = reglu(*halves)
        elif kind == "custom":
            y = halves[0] if halves else z
            y = y.times(self.row("row", index)).plus(np.broadcast_to(
                self.facts["column"].astype(np.float64), y.value.shape))
            y = maximum(y, float(self.facts["group"][g]))
        else:
            y = z
        return y.times(self.row("prob", index)) if c["prob"] == "post_activation" else y

    def differentiate(self, dy, g, index):
        """The gradient of the activation with respect to z, and that of the factors of rows."""
        c, kind = self.c, self.c["gradient"]
        stored = self.facts["z"][index].astype(np.float64)
        z = Approximate(stored, np.zeros_like(stored))
        z = z.bfloat16() if c["round"] == "bf16" else z
        t = dy.times(self.row("prob", index)) if c["prob"] == "post_activation" else dy

        def where(condition, x):
            return Approximate(np.where(condition, x.value, 0.0), np.where(condition, x.error, 0.0))
        if kind not in PAIRED:
            gradient, y = {"identity": lambda: (t, z), "relu": lambda: (where(z.value > 0, t), maximum(z, 0.0)),
                           "relu2": lambda: (where(z.value > 0, t.times(2 * z.value)), square(maximum(z, 0.0)))}[kind]()
        else:
            places = self.gate(stored.shape[-1] // 2)
            gate, up = (z.columns(place) for place in places)
            if kind == "reglu":
                halves = where(gate.value > 0, t.times(up.value)), t.times(maximum(gate, 0.0).value)
                y = reglu(gate, up)
            else:
                sigmoid = 1 / (1 + np.exp(-gate.value))
                factors = up.value * sigmoid * (1 + gate.value * (1 - sigmoid)), gate.value * sigmoid
                halves = [Approximate(t.value * f, t.error * np.abs(f) + 8 * ULP * np.abs(t.value * f) + TINY)
                          for f in factors]
                y = swiglu(gate, up, fast=False)
            gradient = Approximate(np.empty_like(stored), np.empty_like(stored))
            for place, half in zip(places, halves):
                gradient.value[..., place], gradient.error[..., place] = half.value, half.error
        terms = dy.value * y.value
        bound = dy.error * np.abs(y.value) + (np.abs(dy.value) + dy.error) * y.error
        error = np.where(np.any(bound > 0, axis=-1), np.sum(bound + np.abs(terms) * 2.0**-40, axis=-1), 0.0)
        return gradient, Approximate(np.sum(terms, axis=-1), error).rounded()

    def check(self, results):
        """Raises AssertionError where results, by name, are not what they must be."""
        written, chained = [], self.c["after"] != "none"
        for g, (index, a, b) in enumerate(self.facts["product"].problems()):
            z = self.pre_activation(g, index, a.values(), b.values())
            if "z" in self.facts:
                y, of_prob = self.differentiate(z, g, index)
                if "prob_out" in results:
                    compare(results["prob_out"][index], of_prob, "f32", f"gradient of the factors of group {g}")
            else:
                y = self.activate(z, g, index)
            written.append(index)
            if "copy" in results:
                self.has_uncertain_codes |= not y.is_exact
                if y.is_exact:
                    self.compare_copy(results, g, index, y.value)
            if "preact" in results:
                compare(results["preact"][index], z, self.c["preact"], f"pre-activation of group {g}")
            if "amax" in results:
                most = np.abs(y.value).max(initial=0)
                assert_within(results["amax"][g], most, y.error.max(initial=0), "f32", f"maximum of group {g}")
            if chained:
                self.compare_chained(results, g, index, y)
            elif "out_s" in results:
                self.has_uncertain_codes |= not y.is_exact
                self.compare_quantized(results, g, index, y)
            else:
                compare(results["out"][index], y, self.c["out"], f"group {g}")
        for name in ("preact", "out", "prob_out"):
            if name in results and not (chained and name == "out"):
                self.check_outside(name, results[name], written)

    def check_outside(self, name, got, written):
        """Elements outside every group are kept, or zero."""
        outside = np.ones(got.shape, bool)
        for index in written:
            outside[index] = False
        got = got[outside]
        if self.c["tail"] == "zero" or (name == "out" and ":" in self.c["out"] and self.c["storage"] == "value"):
            assert_equal(got.astype(np.float32), np.zeros(got.shape, np.float32), f"rows of {name} outside groups")
            return
        before = self.facts["stored"][0] if ":" in self.c["out"] and name == "out" else self.facts[name]
        same = got.view(np.uint8) == np.ascontiguousarray(before[outside]).view(np.uint8)
        assert same.all(), f"rows of {name} outside groups changed"

    # --- Quantised results ---

    def quantized(self, y, g, index):
        """Codes and scale bytes of the result of a group."""
        c = self.c
        quantizer, fmt = c["out"].split(":")
        along_rows = c["out_axis"] == "rows"
        draws = uniforms(SEED, numbers_of_elements(self.facts["out_shape"], along_rows)[index]) \
            if c["out_mode"] == "stochastic" else None
        return quantize(y, quantizer, fmt, along_rows=along_rows, factor=self.factor("global_scale", g),
                        mode=c["out_mode"], draws=draws)

    def compare_quantized(self, results, g, index, y):
        fmt = self.c["out"].split(":")[1]
        info, along_rows = FORMATS[fmt], self.c["out_axis"] == "rows"
        codes = unpack(info, results["out"][index], y.value.shape[1])
        scales = self.facts["places"].read(results["out_s"], g)
        wanted, bytes_ = self.quantized(y.value, g, index)
        if y.is_exact:
            assert_equal(scales, bytes_, f"scales of group {g}")
            assert_equal(codes, wanted, f"codes of group {g}")
            return
        self.compare_dequantized((codes, scales), (wanted, bytes_), info, along_rows, f"group {g}")

    def compare_copy(self, results, g, index, y):
        """What a quantiser makes of the numbers of the result, or of y where that is quantised."""
        c, places = self.c, self.facts["copy_places"]
        y = (y if ":" in c["out"] else round_to(y, c["out"])).astype(np.float32)
        quantizer, fmt = c["copy"].split(":")
        along_rows, where = c["copy_form"] == "across", index
        if c["copy_form"] == "columns":
            y, where = np.ascontiguousarray(y.T), index[:-1] + (slice(None), index[-1])
            if self.groups.kind == "ragged_k":
                where = index
        if c["copy_mode"] == "hadamard":
            y = transform(y.T).T if along_rows else transform(y)
        draws = uniforms(COPY_SEED % 2**64, numbers_of_elements(self.facts["copy_shape"], along_rows)[where]) \
            if c["copy_mode"] == "stochastic" else None
        wanted, bytes_ = quantize(y, quantizer, fmt, along_rows=along_rows, factor=self.factor("copy_scale", g),
                                  mode=c["copy_mode"], draws=draws)
        codes = unpack(FORMATS[fmt], results["copy"], self.facts["copy_shape"][-1])[where]
        assert_equal(places.read(results["copy_s"], g), bytes_, f"scales of the copy of group {g}")
        assert_equal(codes, wanted, f"codes of the copy of group {g}")

    def compare_chained(self, results, g, index, y):
        """The result of another operation for y; for an inexact y the interpreter knows more."""
        what, out = self.c["after"], self.c["out"]
        if not y.is_exact:
            return
        got = results["out"][index]
        if what == "glu":
            y = square(maximum(Approximate(round_to(y.value, out).astype(np.float64), y.error), 0.0))
            return compare(got, y, "f32", f"group {g} of the chain")
        if what == "quantize":
            codes, scales = quantize(round_to(y.value, out), "cutlass", "nvfp4")
            assert_equal(results["out_s"][index].view(np.uint8), scales, f"scales of group {g} of the chain")
            return assert_equal(unpack(FORMATS["nvfp4"], got, y.value.shape[1]), codes, f"codes of group {g}")
        fmt = out.split(":")[1]
        numbers = self.numbers(self.quantized(y.value, g, index), FORMATS[fmt], self.c["out_axis"] == "rows")
        if what == "dequantize":
            return assert_equal(got, numbers.astype(np.float32), f"group {g} of the chain")
        weights = self.facts["second"]
        weights = (weights if self.groups.kind == "dense" else weights[g]).values()
        if np.isfinite(numbers).all():
            compare(got, multiply(numbers, weights, round_up(numbers.shape[1], FORMATS[fmt].block) + 4), "f32",
                         f"group {g} of the chain")

    @staticmethod
    def numbers(pair, info, along_rows):
        axis = 0 if along_rows else 1
        scales = np.repeat(info.scales[pair[1]], info.block, axis)
        return info.values[pair[0]] * scales[:pair[0].shape[0], :pair[0].shape[1]]

    def compare_dequantized(self, got, expected, info, along_rows, what):
        """Inexact y: a number is at most half of itself and a quarter of the largest from the formula's, which is more
        than a step of codes. The interpreter knows which codes may be."""
        with np.errstate(all="ignore"):
            a, b = self.numbers(got, info, along_rows), self.numbers(expected, info, along_rows)
            limit = np.abs(b) / 2 + np.abs(b).max(initial=0) / 4 + 2.0**-9
        right = (np.abs(a - b) <= limit) | (np.isnan(a) & np.isnan(b)) | (a == b)
        assert right.all(), f"{what}: {(~right).sum()} of {right.size} numbers are far from what they must be"
