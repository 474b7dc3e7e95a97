# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each stage of a model's layer against float64, with the largest error that any correct code may have.

Sums of n terms in float32, in any order, are off by at most gamma(n) times the sum of their magnitudes; a result in bf16 by
half a unit more. Quantised results must be what some number within that error is quantised to. Where a layer is large, rows
of some experts and some tokens are checked.
"""

import ml_dtypes
import numpy as np

from nvfp4_numpy import E2M1, dequantize, quantize_activation, to_codes, to_e4m3, unpack

BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
UNIT = 2.0**-24  # a rounding to float32
# A check reads at most so many elements of weights (but two experts), multiplies them at most so often with rows (but so many
# rows of an expert), and reads at most so many tokens.
MOST_WEIGHTS, MOST_PRODUCTS, MOST_ROWS, MOST_TOKENS = 2**25, 2**31, 32, 64


class Mismatch(Exception):
    """A stage is not what it should be."""


def gamma(n):
    return n * UNIT / (1 - n * UNIT)


def choose(count, most, seed=0):
    """Some of `count` numbers in their order: all, or `most` with the first and the last among them."""
    if count <= most:
        return np.arange(count)
    inner = np.random.default_rng(seed).choice(count - 2, most - 2, replace=False) + 1
    return np.sort(np.concatenate([[0], inner, [count - 1]]))


class Checks:
    """The checks of a :class:`sizes.Model` on ``arrays``: of the layer as it was drawn, of the tokens and of all results.

    A check is named after its stage; it gives the largest error as a share of its bound, or None where bits are equal, and
    a note. Mismatch says what is wrong.
    """

    def __init__(self, model, arrays):
        self.model, self.arrays = model, arrays
        self.tokens = choose(len(arrays["x"]), MOST_TOKENS)

    def _get(self, name, rows=None, dtype=BF16):
        array = self.arrays[name] if rows is None else self.arrays[name][rows]
        return array.view(dtype).astype(np.float64) if dtype is BF16 else array.astype(np.float64)

    def _within(self, name, got, exact, bound, is_bf16):
        if is_bf16:
            bound = bound + (np.abs(exact) + bound) * 2.0**-8 + 2.0**-134
        error = np.abs(got - exact)
        # NaN is no error within a bound.
        wrong = ~(error <= bound)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise Mismatch(f"{name}: {wrong.sum()} of {wrong.size} are out of their bounds, first at {place} of those checked: "
                           f"got {got[place]}, expected {exact[place]} within {bound[place]:.3e}")
        return float((error / np.where(bound > 0, bound, 1)).max(initial=0.0))

    def _equal(self, name, got, expected):
        if got.shape != expected.shape or not np.array_equal(got, expected):
            raise Mismatch(f"{name} differs from numpy")

    def norm(self):
        x = self._get("x", self.tokens)
        exact = x / np.sqrt((x * x).mean(1, keepdims=True) + self.model.epsilon) * self.arrays["norm"].astype(np.float64)
        # Half of the error of a sum of squares, and 16 units for rsqrt and the products.
        bound = gamma(x.shape[1] / 2 + 16) * np.abs(exact)
        return self._within("normed", self._get("normed", self.tokens), exact, bound, True), "bf16"

    def _matmul(self, x, w, start=0.0):
        """x w^T + start and its error."""
        return x @ w.T + start, gamma(x.shape[1] + 2) * (np.abs(x) @ np.abs(w).T + np.abs(start))

    def router(self):
        start = self.arrays["router.bias"].astype(np.float64) if self.model.bias else 0.0
        exact, bound = self._matmul(self._get("normed", self.tokens), self._get("router"), start)
        return self._within("logits", self.arrays["logits"][self.tokens].astype(np.float64), exact, bound, False), "f32 sums"

    def route(self):
        m = self.model
        logits, experts = self.arrays["logits"].astype(np.float64), self.arrays["experts"]
        scores, slack = logits, 0.0
        if m.routing == "deepseek_v3":
            # The sigmoid within 4 units and the sum with the correction: less than this apart, either may be the larger.
            scores, slack = 1 / (1 + np.exp(-logits)) + self.arrays["correction"].astype(np.float64), 2.0**-20
        if (experts < 0).any() or (experts >= m.experts).any():
            raise Mismatch(f"experts are out of [0, {m.experts})")
        expected, is_close = self._best(scores, slack)
        for token in np.flatnonzero(is_close):
            self._check_tie(token, experts[token], scores[token], slack)
        wrong = (experts != expected).any(1) & ~is_close
        if wrong.any():
            token = int(np.flatnonzero(wrong)[0])
            raise Mismatch(f"experts of {wrong.sum()} tokens differ, first of token {token}: got {experts[token]}, expected "
                           f"{expected[token]}")
        exact, bound = self._factors(np.take_along_axis(logits, experts, 1))
        ratio = self._within("weights", self.arrays["weights"].astype(np.float64), exact, bound, False)
        return ratio, f"top-{m.top_k} equal" + (f", {is_close.sum()} ties" if is_close.any() else "")

    def _best(self, scores, slack):
        """The experts of each token, and whether another choice is less than `slack` apart."""
        m = self.model
        is_close = np.zeros(len(scores), bool)
        if m.groups > 1:
            groups = scores.reshape(len(scores), m.groups, -1)
            sums = np.sort(groups, 2)[:, :, -2:].sum(2)
            order = np.argsort(-sums, axis=1, kind="stable")
            ranked = np.take_along_axis(sums, order, 1)
            if m.group_choices < m.groups:
                is_close |= ranked[:, m.group_choices - 1] - ranked[:, m.group_choices] < 2 * slack
            chosen = np.zeros(sums.shape, bool)
            np.put_along_axis(chosen, order[:, :m.group_choices], True, 1)
            scores = np.where(np.repeat(chosen, m.experts // m.groups, 1), scores, -np.inf)
        order = np.argsort(-scores, axis=1, kind="stable")
        ranked = np.take_along_axis(scores, order[:, :m.top_k + 1], 1)
        with np.errstate(invalid="ignore"):
            is_close |= (ranked[:, :-1] - ranked[:, 1:] < slack).any(1)
        return order[:, :m.top_k], is_close

    def _check_tie(self, token, experts, scores, slack):
        """Whether scores within `slack / 2` of `scores` give these experts of a token."""
        m = self.model
        if len(set(experts.tolist())) < m.top_k:
            raise Mismatch(f"experts of token {token} are not distinct: {experts}")
        allowed = np.ones(m.experts, bool)
        if m.groups > 1:
            sums = np.sort(scores.reshape(m.groups, -1), 1)[:, -2:].sum(1)
            ranked = np.append(np.sort(sums)[::-1], -np.inf)
            group_of = np.arange(m.experts) // (m.experts // m.groups)
            used = np.unique(group_of[experts])
            low = used[sums[used] < ranked[m.group_choices - 1] - 2 * slack]
            if len(low) or len(used) > m.group_choices:
                raise Mismatch(f"experts of token {token} are in groups {used}, expected {m.group_choices} groups of the best sums")
            # Every choice of groups has these: those that are used, and those that are best by more than the error.
            sure = np.flatnonzero(sums > ranked[m.group_choices] + 2 * slack)
            allowed = np.isin(group_of, np.union1d(used, sure))
        best = np.sort(scores[allowed])[::-1][:m.top_k]
        low = scores[experts] < best - slack
        if low.any():
            slot = int(np.flatnonzero(low)[0])
            raise Mismatch(f"expert {experts[slot]} of token {token} in slot {slot}: got score {scores[experts[slot]]:.9g}, expected "
                           f"at least {best[slot]:.9g} - {slack:.3g}")

    def _factors(self, chosen):
        """Weights from the logits of the chosen experts, and their error."""
        m = self.model
        if m.routing == "deepseek_v3":
            sigmoid = 1 / (1 + np.exp(-chosen))
            exact = sigmoid / (sigmoid.sum(1, keepdims=True) + 1e-20) * m.scaling
            # Two sigmoids within 4 units, that is 8 roundings, the sum, the quotient and the factor.
            return exact, gamma(2 * 8 + m.top_k + 3) * exact
        power = np.exp(chosen - chosen.max(1, keepdims=True))
        exact = power / power.sum(1, keepdims=True)
        # The argument of exp is rounded, so by as much as arguments differ; exp within 4 units, twice.
        spread = (chosen.max(1, keepdims=True) - chosen.min(1, keepdims=True))
        return exact, gamma(2 * spread + 2 * 8 + m.top_k + 1) * exact

    def sort(self):
        m, experts = self.model, self.arrays["experts"]
        order = np.argsort(experts.reshape(-1), kind="stable")
        places = np.empty(order.size, np.int32)
        places[order] = np.arange(order.size)
        ends = np.cumsum(np.bincount(experts.reshape(-1), minlength=m.experts)).astype(np.int32)
        self._equal("ends", self.arrays["ends"], ends)
        self._equal("token_of_row", self.arrays["token_of_row"], (order // m.top_k).astype(np.int32))
        self._equal("row_of_slot", self.arrays["row_of_slot"], places.reshape(experts.shape))
        return None, "order equal"

    def gather(self):
        rows = choose(len(self.arrays["token_of_row"]), 64 * MOST_TOKENS)
        normed = self.arrays["normed"].view(BF16)[self.arrays["token_of_row"][rows]]
        if self.model.rows == "bf16":
            self._equal("rows", self.arrays["rows"].view(np.uint16)[rows], normed.view(np.uint16))
        else:
            values, scales = quantize_activation(normed, self.arrays["w13.encode"][0])
            self._equal("values of rows", self.arrays["rows.values"].view(np.uint8)[rows], values)
            self._equal("scales of rows", self.arrays["rows.scales"].view(E4M3)[rows].astype(np.float32), scales)
        return None, "bits equal"

    def _groups(self, name):
        """Experts and some of their rows."""
        ends = self.arrays["ends"]
        rows, columns = self.arrays[f"{name}.values"].shape[1:]
        size = rows * columns * 2
        used = np.flatnonzero(np.diff(ends, prepend=0))
        used = used[choose(len(used), max(2, MOST_WEIGHTS // size), 1)]
        for expert in used:
            first = ends[expert - 1] if expert else 0
            yield expert, first + choose(ends[expert] - first, max(MOST_ROWS, MOST_PRODUCTS // (size * len(used))), 2)

    def _product(self, name, source, expert, rows):
        """Exact sums of rows times an expert's weights, without alpha and bias, and their error."""
        m = self.model
        if m.rows == "bf16":
            x = self._get(source, rows)
        else:
            x = dequantize(self.arrays[f"{source}.values"][rows].view(np.uint8), self.arrays[f"{source}.scales"].view(E4M3)[rows])
        w = dequantize(self.arrays[f"{name}.values"][expert], self.arrays[f"{name}.scales"][expert],
                           32 if m.weights == "mxfp4" else 16)
        exact = x @ w.T
        np.abs(w, out=w)
        return exact, gamma(x.shape[1] + 4) * (np.abs(x) @ w.T)

    def _with_bias(self, name, expert, exact, error):
        if not self.model.bias:
            return exact, error
        bias = self._get(f"{name}.bias", expert)
        return exact + bias, error + 2 * UNIT * (np.abs(exact) + np.abs(bias))

    def _halves(self, z):
        return np.split(z, 2, 1) if self.model.gate_run == 0 else (z[:, 0::2], z[:, 1::2])

    def _activation(self, expert, exact, error):
        m = self.model
        gate, up = self._halves(exact)
        gate_error, up_error = self._halves(error)
        limit = np.float64(np.float32(m.limit))
        gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit) + m.beta
        up_error = up_error + UNIT * np.abs(up)
        active = gate / (1 + np.exp(-np.float64(np.float32(m.alpha)) * gate))
        # The slope of g sigmoid(a g) is below 1.1; the sigmoid of fast math is formed from tanh within 64 units.
        active_error = 1.1 * gate_error + np.abs(gate) * 2.0**-17
        return active * up, active_error * (np.abs(up) + up_error) + np.abs(active) * up_error + 4 * UNIT * np.abs(active * up)

    def gate_up(self):
        m, worst, codes, equal = self.model, 0.0, 0, 0
        for expert, rows in self._groups("w13"):
            exact, error = self._product("w13", "rows", expert, rows)
            if m.weights == "nvfp4":
                for part, (z, e) in enumerate(zip(self._halves(exact), self._halves(error))):
                    alpha = np.float64(self.arrays["w13.alpha"][expert, part])
                    z *= alpha
                    e *= alpha
            exact, error = self._activation(expert, *self._with_bias("w13", expert, exact, error))
            if m.rows == "bf16":
                worst = max(worst, self._within("glu", self._get("glu", rows), exact, error, True))
            else:
                same = self._quantized(rows, exact, error)
                codes, equal = codes + same.size, equal + same.sum()
        if m.rows == "bf16":
            return worst, "bf16"
        return None, f"{equal / max(codes, 1):.3%} of codes equal"

    def _quantized(self, rows, exact, error):
        """Whether codes are those of the exact numbers. Every scale and code must be that of a number within the error."""
        encode = np.float64(self.arrays["w2.encode"][0])
        values = self.arrays["glu.values"].view(np.uint8)[rows]
        scales = self.arrays["glu.scales"].view(E4M3)[rows].astype(np.float64)
        exact = exact * encode
        error = error * encode + 2.0**-20 * np.abs(exact)
        blocks, errors = (each.reshape(*scales.shape, 16) for each in (np.abs(exact), error))
        least, most = (to_e4m3(np.maximum(blocks + sign * errors, 0).max(2) / 6).astype(np.float64) for sign in (-1, 1))
        if not ((least <= scales) & (scales <= most)).all():
            raise Mismatch("glu: a scale is not that of a number within the error")
        spread = np.repeat(scales, 16, 1)
        inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread != 0)
        got = E2M1[unpack(values)]
        low, middle, high = (E2M1[to_codes(each * inverse)] for each in (exact - error, exact, exact + error))
        wrong = ~((low <= got) & (got <= high))
        if wrong.any():
            raise Mismatch(f"glu: {wrong.sum()} of {wrong.size} codes are not those of a number within the error")
        return got == middle

    def down(self):
        worst = 0.0
        for expert, rows in self._groups("w2"):
            exact, error = self._product("w2", "glu", expert, rows)
            if self.model.weights == "nvfp4":
                alpha = np.float64(self.arrays["w2.alpha"][expert])
                exact, error = exact * alpha, error * alpha
            exact, error = self._with_bias("w2", expert, exact, error)
            worst = max(worst, self._within("y", self._get("y", rows), exact, error, True))
        return worst, "bf16"

    def combine(self):
        y, weights = self._get("y", self.arrays["row_of_slot"][self.tokens]), self._get("weights", self.tokens, np.float32)
        exact, terms = (np.einsum("tsn,ts->tn", each, weights) for each in (y, np.abs(y)))
        bound = gamma(self.model.top_k) * terms
        return self._within("routed", self.arrays["routed"][self.tokens].astype(np.float64), exact, bound, False), "f32 sums"

    def shared(self):
        normed = self._get("normed", self.tokens)
        (gate, gate_error), (up, up_error) = (self._matmul(normed, self._get(f"shared.{name}")) for name in ("gate", "up"))
        active = gate / (1 + np.exp(-gate))
        # exp and the quotient within 16 roundings; then bf16.
        error = (1.1 * gate_error + 16 * UNIT * np.abs(active)) * (np.abs(up) + up_error) + np.abs(active) * up_error
        error += (2.0**-8 + UNIT) * (np.abs(active * up) + error)
        down = self._get("shared.down")
        exact, sums = self._matmul(active * up, down)
        bound = sums + (1 + gamma(down.shape[1] + 2)) * (error @ np.abs(down).T)
        return self._within("shared", self.arrays["shared"][self.tokens].astype(np.float64), exact, bound, False), "f32 sums"

    def add(self):
        terms = [self._get("x", self.tokens)]
        terms += [self._get(name, self.tokens, np.float32) for name in (["routed"] + ["shared"] * bool(self.model.shared))]
        bound = gamma(len(terms)) * sum(map(np.abs, terms))
        return self._within("result", self._get("result", self.tokens), sum(terms), bound, True), "bf16"

    def layer(self):
        if not np.array_equal(self.arrays["layer"].view(np.uint16), self.arrays["result"].view(np.uint16)):
            raise Mismatch("the layer differs from its stages")
        return None, "same bits as the stages"
