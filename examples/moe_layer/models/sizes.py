# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The expert layers of published models: sizes, formats and methods. The benchmarks read this table too.

Formats are those of the checkpoints with 4-bit experts: gpt-oss in MXFP4 beside rows of bf16, the others in NVFP4 with
quantised rows.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Model:
    """One expert layer. ``width`` is the length of an expert's row between its two products."""

    experts: int
    top_k: int
    hidden: int
    width: int
    #: Formats of weights, and of the rows beside them.
    weights: str = "nvfp4"
    rows: str = "nvfp4"
    routing: str = "topk_softmax"
    #: Parameters of the routing deepseek_v3: groups of experts, groups of a token, and the factor of its weights.
    groups: int = 1
    group_choices: int = 1
    scaling: float = 1.0
    #: Rows of gate and up: 0 is halves, 1 is in turn.
    gate_run: int = 0
    #: g' sigmoid(alpha g') (u' + beta), g' = min(g, limit), u' = clamp(u, -limit, limit).
    alpha: float = 1.0
    beta: float = 0.0
    limit: float = float("inf")
    #: Whether the router and the experts have biases.
    bias: bool = False
    #: The width of the shared expert in bf16; 0 is none.
    shared: int = 0
    epsilon: float = 1e-6

    @property
    def products(self):
        """N and K of the two products."""
        return {"gate_up": (2 * self.width, self.hidden), "down": (self.hidden, self.width)}

    @property
    def sizes(self):
        """Experts, experts of a token, hidden size and width."""
        return self.experts, self.top_k, self.hidden, self.width

    def slice(self, experts=None, hidden=None, width=None):
        """The model with fewer experts or smaller matrices; ValueError says which number does not fit."""
        for name, value in (("experts", experts), ("hidden", hidden), ("width", width)):
            most = getattr(self, name)
            if value is not None and not 1 <= value <= most:
                raise ValueError(f"expected --{name} in [1, {most}], but got {value}")
        part = dataclasses.replace(self, experts=experts or self.experts, hidden=hidden or self.hidden,
                                   width=width or self.width, shared=min(self.shared, width or self.shared))
        least = max(part.top_k, -(-part.top_k // part.group_choices) * part.groups, 2 * part.groups if part.groups > 1 else 1)
        if part.experts < least or part.experts % part.groups:
            nearest = max(least, part.experts // part.groups * part.groups)
            raise ValueError(f"expected --experts of at least {least}, divisible by {part.groups}, for {part.top_k} experts of "
                             f"a token, but got {part.experts}; the nearest is {nearest}")
        for name in ("hidden", "width"):
            if getattr(part, name) % 32:
                value = getattr(part, name)
                raise ValueError(f"expected --{name} divisible by 32, but got {value}; the nearest is {max(32, value // 32 * 32)}")
        return part


def _gpt_oss(experts):
    return Model(experts, 4, 2880, 2880, weights="mxfp4", rows="bf16", gate_run=1, alpha=1.702, beta=1.0, limit=7.0, bias=True,
                 epsilon=1e-5)


MODELS = {
    "gpt-oss-20b": _gpt_oss(32),
    "gpt-oss-120b": _gpt_oss(128),
    "qwen3-30b-a3b": Model(128, 8, 2048, 768),
    "qwen3-235b-a22b": Model(128, 8, 4096, 1536),
    "mixtral-8x7b": Model(8, 2, 4096, 14336, epsilon=1e-5),
    "deepseek-v3": Model(256, 8, 7168, 2048, routing="deepseek_v3", groups=8, group_choices=4, scaling=2.5, shared=2048),
}
