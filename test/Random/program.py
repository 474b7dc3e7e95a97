# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choices to a program: its text, its arguments, and what the oracle has to know.

Operands hold numbers of a lattice, on which sums are exact, or any numbers. Rows of no group hold garbage and NaN,
destinations a NaN of known bits.
"""

import dataclasses

import numpy as np

from nvfp4_cases import OUT, Product, batched, dense, join_along_k, masked, poison_rows, ragged
from nvfp4_formats import FORMATS, Plain, Scaled, random_scaled, row_pieces
from writer import Inexpressible, Writer

SIZES = {"none": [], "zeros": [0, 0], "one": [1], "few": [5, 3], "mixed": [3, 0, 17, 1], "tile": [127, 1, 32],
         "many": [130, 0, 70, 1, 41]}
REGION = """epilogue {{
  ^bb0({arguments}):
    %0 = arith.mulf %z, %r : f32
    %1 = arith.addf %0, %c : f32
    %2 = arith.maximumf %1, %g : f32
    grouped_scaled_gemm.yield %2 : f32
  }}"""
PAIRED = ("swiglu", "swiglu_oai", "geglu_tanh", "reglu")
PARAMETERS = {"swiglu_oai": ", alpha = 1.702, beta = 1.0, limit = 7.0"}


@dataclasses.dataclass
class Program:
    """A function with its arguments; `facts` are what the oracle works with, by name."""

    choices: dict
    text: str
    names: list
    arrays: list
    results: list  # (name, kind) in the order in which the function returns or writes them
    facts: dict


def make_groups(c):
    """The groups of a choice; `sizes` are rows, or the parts of K."""
    sizes, form = list(SIZES[c["sizes"]]), c["form"]
    index = np.int64 if c["index"] == "i64" else np.int32
    extra = 3 if c["slack"] == "after" else 0
    if form == "dense":
        return dense(sum(sizes))
    if form == "batched":
        return batched(len(sizes), max(sizes, default=0))
    if form == "masked":
        return masked(sizes, max(sizes, default=0) + extra, index)
    kind, offsets = ("ragged_k" if form.startswith("k_") else "ragged_rows"), form.split("_")[1]
    if kind == "ragged_k":
        sizes = [s * 3 for s in sizes]
    return ragged(sizes, offsets, c["align"], extra, kind, index)


def random_operand(rng, shape, fmt, numbers):
    if fmt in OUT:
        data = rng.integers(-8, 9, shape) if numbers == "lattice" else rng.standard_normal(shape)
        return Plain(np.asarray(data).astype(OUT[fmt]))
    return random_scaled(rng, shape, fmt, lattice=numbers == "lattice")


def powers(rng, *shape, low=-3, high=3):
    return (np.exp2(rng.integers(low, high, shape)) * rng.choice([-1, 1], shape)).astype(np.float32)


def quarters(rng, shape, element="f32"):
    return (rng.integers(-128, 128, shape) / 4).astype(np.float32).astype(OUT[element])


class Builder:
    """Builds one matmul, with what comes before and after it."""

    def __init__(self, c, seed):
        self.c, self.rng = c, np.random.default_rng(seed)
        self.groups = make_groups(c)
        self.along_k = self.groups.kind == "ragged_k"
        self.stacked = self.groups.kind in ("batched", "masked")
        self.n = c["n"]
        # Groups along K cut what others have as rows; M is then the other extent.
        self.m = min(c["k"], 135) if self.along_k else self.groups.extent
        self.k = self.groups.extent if self.along_k else c["k"]
        self.writer = Writer(c["storage"])
        self.facts = {"groups": self.groups}
        self.is_paired = c["activation"] in PAIRED or (c["activation"] == "custom" and c["gate"] != "none")
        self.columns = self.n // 2 if self.is_paired else self.n
        if c["gradient"] in PAIRED:
            self.columns = 2 * self.n

    # --- Extents in text ---

    def dim(self, extent, kind):
        known = {"none": "", "nk": "nk", "all": "gmnk"}[self.c["static"]]
        return extent if kind in known else "?"

    def g(self):
        return self.dim(len(self.groups), "g")

    def out_dims(self, columns):
        rows, columns = self.dim(self.m, "m"), self.dim(columns, "n")
        return ([self.g()] if self.stacked or self.along_k else []) + [rows, columns]

    def out_shape(self, columns):
        return ((len(self.groups),) if self.stacked or self.along_k else ()) + (self.m, columns)

    def grouping(self):
        kind, _, offsets = self.c["form"].partition("_")
        words = [{"rows": "ragged_rows", "k": "ragged_k"}.get(kind, kind)] + ([offsets] if offsets else [])
        words += [f"align = {self.c['align']}"] if self.c["align"] != 1 else []
        return f"<{', '.join(words)}>"

    # --- Operands ---

    def filler(self, fmt):
        """Half a byte past an odd K is garbage where the type says K."""
        return 15 if self.c["static"] != "none" and FORMATS[fmt].is_fp4 else 0

    def padding(self, fmt):
        return FORMATS[fmt].nan_scale if self.c["padding"] == "nan" else FORMATS[fmt].padding_scale

    def lhs_dims(self):
        dims = [self.dim(self.m, "m"), self.dim(self.k, "k")]
        return ([self.g()] if self.stacked else []) + dims

    def store_rows(self, lhs, layout, starts):
        fmt = lhs.fmt.name
        pieces = None
        if self.groups.kind == "ragged_rows" and starts != "whole":
            pieces = row_pieces(starts, layout, self.groups.begins, self.groups.counts, lhs.scales.shape[-1],
                                self.groups.extent)
        if layout != "linear" and not self.stacked and starts != "whole" and not pieces:
            pieces = []
        return lhs.store(layout, pieces, self.padding(fmt), self.filler(fmt))

    def operands(self):
        c, rng = self.c, self.rng
        sides = {fmt in FORMATS and FORMATS[fmt].is_fp4 for fmt in (c["lhs"], c["rhs"])}
        if c["static"] == "none" and self.k % 2 and (len(sides) > 1 or c["before"] != "none"):
            raise Inexpressible("an odd K that the type does not say")
        lhs_fmt, rhs_fmt, numbers = c["lhs"], c["rhs"], c["numbers"]
        if self.along_k:
            if not self.groups.counts:
                raise Inexpressible("no groups along K")
            lhs = [random_operand(rng, (self.m, n), lhs_fmt, numbers) for n in self.groups.counts]
            rhs = [random_operand(rng, (self.n, n), rhs_fmt, numbers) for n in self.groups.counts]
            self.product = Product(self.groups, lhs, rhs)
            return
        outer = (len(self.groups),) if self.stacked else ()
        lhs = random_operand(rng, outer + (self.m, self.k), lhs_fmt, numbers)
        if isinstance(lhs, Plain):
            valid = Scaled(FORMATS["nvfp4"], np.zeros(lhs.shape, np.uint8), np.zeros(lhs.shape, np.uint8))
            if self.groups.kind in ("masked", "ragged_rows"):
                lhs.data[poison_rows(valid, self.groups).codes != 0] = np.nan
        elif self.groups.kind in ("masked", "ragged_rows"):
            poison_rows(lhs, self.groups)
        if self.groups.kind == "dense":
            rhs = random_operand(rng, (self.n, self.k), rhs_fmt, numbers)
        elif c["weights"] == "discrete":
            rhs = [random_operand(rng, (self.n, self.k), rhs_fmt, numbers) for _ in self.groups.counts]
        else:
            rhs = random_operand(rng, (len(self.groups), self.n, self.k), rhs_fmt, numbers)
        if lhs_fmt == "f16" and rhs_fmt == "mxfp8_e5m2":
            # The decoder of sm_90a holds a factor of 2^8 (docs/Hopper.md).
            for part in rhs if isinstance(rhs, list) else [rhs]:
                part.scales = np.clip(part.scales, 120, 128)
        self.product = Product(self.groups, lhs, rhs)

    def groups_operand(self):
        """The operand `groups`, of as many operations as take it."""
        count = self.dim(len(self.groups.operand), "g")
        if "groups" in self.writer.names:
            return f"%groups : {self.writer.shaped([count], self.c['index'])}"
        return self.writer.tensor("groups", [count], self.c["index"], self.groups.operand)

    def groups_clause(self):
        return "" if self.groups.operand is None else f" groups({self.groups_operand()})"

    def stored_lhs(self, layout, starts):
        lhs = self.product.lhs
        return join_along_k(lhs, self.groups, layout, starts, self.filler(self.c["lhs"])) if self.along_k else \
            self.store_rows(lhs, layout, starts)

    def lhs_text(self):
        c, lhs = self.c, self.product.lhs
        if c["lhs"] in OUT:
            if self.along_k:
                data = np.full((self.m, self.k), np.nan, OUT[c["lhs"]])
                for part, begin in zip(lhs, self.groups.begins):
                    data[:, begin:begin + part.shape[1]] = part.data
            else:
                data = lhs.data
            return self.writer.tensor("lhs", self.lhs_dims(), c["lhs"], data)
        layout, starts = c["lhs_layout"], c["lhs_starts"]
        return self.writer.scaled("lhs", self.stored_lhs(layout, starts), self.lhs_dims(), c["lhs"], layout, starts)

    def rhs_text(self):
        c, rhs = self.c, self.product.rhs
        layout, starts = c["rhs_layout"], c["rhs_starts"]
        dims = [self.dim(self.n, "n"), self.dim(self.k, "k")]
        if self.along_k:
            stored = join_along_k(rhs, self.groups, layout, starts, self.filler(c["rhs"]))
            return self.writer.scaled("rhs", stored, dims, c["rhs"], layout, starts)
        several = rhs if isinstance(rhs, list) else [rhs]
        if not several:
            raise Inexpressible("no weights", excluded=True)
        if not isinstance(rhs, list) and self.groups.kind != "dense":
            dims = [self.g()] + dims
        return ", ".join(self.writer.scaled(
            f"rhs{i}", w.store(layout, None, self.padding(c["rhs"]), self.filler(c["rhs"])), dims, c["rhs"], layout,
            starts) for i, w in enumerate(several))

    def indices(self):
        """The rows of each group in a result."""
        for i, (begin, count) in enumerate(zip(self.groups.begins, self.groups.counts)):
            kind = self.groups.kind
            yield {"dense": (slice(0, count),), "ragged_k": (i,),
                   "ragged_rows": (slice(begin, begin + count),)}.get(kind, (i, slice(0, count)))
