# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Epilogue and results of a random product, and the whole function."""

import dataclasses

import numpy as np

import chain
from choices import STRATEGIES
from nvfp4_cases import OUT, batched, poison
from nvfp4_formats import FORMATS, ceil_div
from places import Places, destination
from program import PARAMETERS, REGION, Builder, Program, powers, quarters
from writer import DIALECT, Inexpressible, scaled_type, storage_types

SEED = 0x5EED
#: Of copies, which are other numbers than the result.
COPY_SEED = -0x5EED0000DEED
SIGNS = 0x5A31
MODES = {"plain": "", "flush": ", neg_zero = flush", "stochastic": ", rounding = stochastic", "two_d": ", two_d",
         "hadamard": ""}


class Function(Builder):
    """One product: its clauses in the order of the syntax."""

    def fact(self, name, array):
        self.facts[name] = array
        return array

    def factor(self, name, kind, low, high):
        """A scalar or one factor a group."""
        if kind == "none":
            return ""
        count = len(self.groups)
        if kind == "scalar":
            return f" {name}({self.writer.scalar(name, self.fact(name, powers(self.rng, low=low, high=high)))})"
        dims, shape = ([self.g()], (count,)) if kind == "group" else ([self.g(), 2], (count, 2))
        array = self.fact(name, powers(self.rng, *shape, low=low, high=high))
        return f" {name}({self.writer.tensor(name, dims, 'f32', array)})"

    def terms(self):
        c, rng, text = self.c, self.rng, ""
        # Small numbers, so that quantised results and sigmoids are not all of one kind.
        text += self.factor("alpha", c["alpha"], -8, -2)
        if c["row_scale"] != "none":
            text += f" row_scale({self.row_operand('row_scale')})"
        text += self.factor("beta", c["beta"], -3, 3)
        if c["addend"] != "none":
            array = self.fact("addend", quarters(rng, self.out_shape(self.n), c["addend"]))
            text += f" addend({self.writer.tensor('addend', self.out_dims(self.n), c['addend'], array)})"
        if c["bias"] != "none":
            kind, element = c["bias"].split(":")
            dims, shape = [self.dim(self.n, "n")], (self.n,)
            if kind == "gn":
                dims, shape = [self.g()] + dims, (len(self.groups),) + shape
            array = self.fact("bias", quarters(rng, shape, element))
            text += f" bias({self.writer.tensor('bias', dims, element, array)})"
        if c["prob"] != "none":
            text += f" prob({self.row_operand('prob')}) at {c['prob']}"
        return text

    def rows(self):
        """The extents of rows, as text and as numbers."""
        dims, shape = [self.dim(self.m, "m")], (self.m,)
        return ([self.g()] + dims, (len(self.groups),) + shape) if self.stacked else (dims, shape)

    def clear_outside(self, array):
        """NaN in rows of no group."""
        if self.groups.kind in ("ragged_rows", "masked"):
            inside = np.zeros(array.shape, bool)
            for index in self.indices():
                inside[index] = True
            array[~inside] = np.nan

    def row_operand(self, name):
        """One number a row; of rows of no group NaN."""
        dims, shape = self.rows()
        array = self.fact(name, powers(self.rng, *shape, low=-2, high=2))
        self.clear_outside(array)
        return self.writer.tensor(name, dims, "f32", array)

    def gradient(self):
        c, kind = self.c, self.c["gradient"]
        if kind == "none":
            return ""
        words = [kind] + ([f"gate = <{c['gate']}>"] if c["gate"] != "none" else [])
        words += ["round_bf16"] if c["round"] == "bf16" else []
        array = self.fact("z", (self.rng.integers(-16, 17, self.out_shape(self.columns)) / 4).astype(OUT[c["z"]]))
        self.clear_outside(array)
        operand = self.writer.tensor("z", self.out_dims(self.columns), c["z"], array)
        return f" gradient_of = <{', '.join(words)}> preact({operand})"

    def activation(self):
        c, text = self.c, ""
        kind = c["activation"]
        if kind != "none":
            words = ["swiglu" if kind == "swiglu_oai" else kind]
            words += [f"gate = <{c['gate']}>"] if c["gate"] != "none" else []
            rounded = ", round_bf16" if c["round"] == "bf16" else ""
            text += f" activation = <{', '.join(words)}{PARAMETERS.get(kind, '')}{rounded}>"
        if c["params"] == "group":
            count = len(self.groups)
            choices = np.array([[1, 0, 100], [1, 1, 1], [1.702, 1, 7], [0.5, -1, 2]], np.float32)
            array = self.fact("params", choices[np.arange(count) % 4].reshape(count, 3))
            text += f" activation_params({self.writer.tensor('params', [self.g(), 3], 'f32', array)})"
        text += self.gradient()
        if kind == "custom":
            column = self.fact("column", quarters(self.rng, (self.columns,)))
            group = self.fact("group", quarters(self.rng, (len(self.groups),)))
            text += f" row({self.row_operand('row')})"
            text += f" column({self.writer.tensor('column', [self.dim(self.columns, 'n')], 'f32', column)})"
            text += f" group({self.writer.tensor('group', [self.g()], 'f32', group)})"
            names = (["z", "u"] if self.is_paired else ["z"]) + ["r", "c", "g"]
            text += " " + REGION.format(arguments=", ".join(f"%{n}: f32" for n in names))
        return text

    def global_scale(self, name, kind):
        """The clause of a second-level scale, a fact of this name."""
        if kind == "none":
            return ""
        shape = () if kind == "scalar" else (len(self.groups),)
        array = self.fact(name, np.abs(powers(self.rng, *shape, low=-2, high=4)) * np.float32(1.5))
        return " global_scale(" + (self.writer.scalar(name, array) if kind == "scalar" else
                                   self.writer.tensor(name, [self.g()], "f32", array)) + ")"

    def quantizer(self):
        c = self.c
        if ":" not in c["out"]:
            return ""
        text = f" quantizer = <{c['out'].split(':')[0]}{MODES[c['out_mode']]}>"
        text += self.global_scale("global_scale", c["global"])
        if c["out_mode"] == "stochastic":
            self.writer.scalar("seed", np.int64(SEED), "i64")
            text += " seed(%seed)"
        return text

    def results(self):
        """The clauses of destinations, and [(name, storage types, scaled type)] of them."""
        c, w, outs, text = self.c, self.writer, [], ""
        if c["preact"] != "none":
            array = self.fact("preact", poison(self.out_shape(self.n), c["preact"]))
            operand = w.tensor("preact", self.out_dims(self.n), c["preact"], array)
            text += f" preact_outs({operand})"
            outs.append(("preact", [w.shaped(self.out_dims(self.n), c["preact"])], None))
        dims, shape = self.out_dims(self.columns), self.out_shape(self.columns)
        if ":" not in c["out"]:
            array = poison(shape, c["out"])
            if c["beta"] != "none" and c["addend"] == "none":
                for index in self.indices():
                    array[index] = quarters(self.rng, array[index].shape, c["out"])
            text += f" outs({w.tensor('out', dims, c['out'], self.fact('out', array))})"
            outs.append(("out", [w.shaped(dims, c["out"])], None))
        else:
            fmt = c["out"].split(":")[1]
            axis = len(dims) - 2 if c["out_axis"] == "rows" else None
            words = (fmt, c["out_layout"], c["out_starts"], axis)
            types = storage_types(w.shell, dims, *words)
            if axis is not None and c["out_layout"] != "linear":
                raise Inexpressible("column scales in tiles", scaled_type(dims, *words))
            places = self.facts["places"] = self.places(shape, FORMATS[fmt].block)
            self.facts["out_shape"] = shape
            if c["storage"] != "value":
                values = shape[:-1] + ((ceil_div(shape[-1], 2),) if FORMATS[fmt].is_fp4 else shape[-1:])
                stored = [destination(values, shape[-1], FORMATS[fmt]), places.destination(FORMATS[fmt])]
                self.facts["stored"] = stored
                text += f" outs({w.scaled('out', stored, dims, *words)})"
            outs.append(("out", types, scaled_type(dims, *words)))
        if c["amax"] == "yes":
            operand = w.tensor("amax", [self.g()], "f32", self.fact("amax", poison((len(self.groups),), "f32")))
            text += f" amax_outs({operand})"
            outs.append(("amax", [w.shaped([self.g()], "f32")], None))
        if c["gradient"] != "none" and c["prob_out"] == "yes":
            dims, shape = self.rows()
            operand = w.tensor("prob_out", dims, "f32", self.fact("prob_out", poison(shape, "f32")))
            text += f" prob_outs({operand})"
            outs.append(("prob_out", [w.shaped(dims, "f32")], None))
        return text + self.copy(outs), outs

    def copy(self, outs):
        """The clause of a copy."""
        c, w = self.c, self.writer
        if c["copy"] == "none":
            return ""
        quantizer, fmt = c["copy"].split(":")
        info, is_turned = FORMATS[fmt], c["copy_form"] == "columns"
        text = f" copies(<{quantizer}{MODES[c['copy_mode']]}>" + (" transposed" if is_turned else "")
        if c["copy_mode"] == "hadamard":
            text += f" hadamard = <normalized, sign_mask = {SIGNS}>"
        text += self.global_scale("copy_scale", c["copy_global"])
        if c["copy_mode"] == "stochastic":
            w.scalar("copy_seed", np.int64(COPY_SEED), "i64")
            text += " seed(%copy_seed)"
        dims, shape, groups = self.out_dims(self.columns), self.out_shape(self.columns), self.groups
        if self.along_k:
            groups = batched(len(groups), self.m)
        if is_turned:
            if groups.kind == "masked":
                raise Inexpressible("a transposed copy of masked rows", excluded=True)
            dims, shape = dims[:-2] + dims[:-3:-1], shape[:-2] + shape[:-3:-1]
            groups = dataclasses.replace(groups, kind="ragged_k") if groups.kind == "ragged_rows" else groups
            if groups.kind in ("dense", "batched"):
                groups = dataclasses.replace(groups, extent=self.columns, counts=[self.columns] * len(groups))
            if info.is_fp4 and shape[-1] % 2 and dims[-1] == "?" and c["storage"] == "value":
                raise Inexpressible("an odd M that the type does not say")
        axis = len(dims) - 2 if c["copy_form"] == "across" else None
        words = (fmt, c["copy_layout"], c["copy_starts"], axis)
        if axis is not None and c["copy_layout"] != "linear":
            raise Inexpressible("column scales in tiles", scaled_type(dims, *words))
        places = self.facts["copy_places"] = Places(groups, shape, info.block, c["copy_layout"], c["copy_starts"],
                                                    "columns" if axis is None else "rows")
        self.facts["copy_shape"] = shape
        if c["storage"] != "value":
            values = shape[:-1] + ((ceil_div(shape[-1], 2),) if info.is_fp4 else shape[-1:])
            stored = [destination(values, shape[-1], info), places.destination(info)]
            text += f" outs({w.scaled('copy', stored, dims, *words)})"
        outs.append(("copy", storage_types(w.shell, dims, *words), scaled_type(dims, *words)))
        return text + ")"

    def places(self, shape, block):
        """Of the scales of the result; groups along K have a matrix each."""
        c, groups = self.c, self.groups
        if self.along_k:
            groups = batched(len(groups), self.m)
        return Places(groups, shape, block, c["out_layout"], c["out_starts"], c["out_axis"])

    def attributes(self):
        c = self.c
        pairs = [f"{name} = #{DIALECT}<{name} {c[name]}>" for name, plain in
                 (("tail", "preserve"), ("math", "strict"), ("determinism", "deterministic")) if c[name] != plain]
        if c["strategy"] != "open":
            depth = 128 if "8" in c["lhs"][:4] + c["rhs"][:4] or c["lhs"] in ("bf16", "f16") else 256
            pairs.append(f"strategy = #{DIALECT}.strategy<{STRATEGIES.get(c['strategy'], c['strategy']).format(k=depth)}>")
        if c["expected_rows"] != "none":
            pairs.append(f"expected_rows = {c['expected_rows']} : i64")
        return " {" + ", ".join(pairs) + "}" if pairs else ""

    def build(self):
        self.operands()
        lhs = self.lhs_text() if self.c["before"] == "none" else chain.before(self)
        body = f"{DIALECT}.matmul {self.grouping()}{self.groups_clause()} lhs({lhs}) rhs({self.rhs_text()})"
        body += self.terms() + self.activation() + self.quantizer()
        text, outs = self.results()
        results = self.writer.operation(body + text + self.attributes(), outs)
        kinds = {name: value is not None for name, _, value in outs}
        if self.c["after"] != "none":
            results, kinds["out"] = chain.after(self, results, list(kinds))
        self.writer.results = results
        self.facts["product"] = self.product
        return Program(self.c, self.writer.text(), self.writer.names, self.writer.arrays, list(kinds.items()),
                       self.facts)
