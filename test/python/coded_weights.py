# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Weights coded for sm_90a by relayout_weights, compiled for a CPU."""

from nvfp4_cases import DIALECT, scaled_type
from nvfp4_module import compile_module

LAYOUTS = ("wgmma", "wgmma_f16")


def relayout_text(name, fmt, shape, layout, back=False):
    linear, coded = scaled_type(fmt, shape=shape), scaled_type(fmt, shape=shape, layout=layout)
    source, target = (coded, linear) if back else (linear, coded)
    return (f"func.func @{name}(%w: {source}) -> {target} {{\n"
            f"  %r = {DIALECT}.relayout_weights(%w : {source}) -> {target}\n"
            f"  return %r : {target}\n}}\n")


def lay_out(fmt, shape, layout, operand):
    """(blocks, factors) of linear (values, scales)."""
    return compile_module(relayout_text("f", fmt, shape, layout)).f(operand)
