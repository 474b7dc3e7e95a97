# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Takes the advice of a diagnostic: what it says to use instead becomes other choices.

Only what the text says is tried. A refusal from which nothing follows is a finding, as is advice that, taken, is refused
again.
"""

import itertools
import re

from choices import STRATEGIES

_KEYS = "m|n|k|stages|ctas|cluster_m|cluster_n|split_k|accumulator_stages|scale_stages|epilogue_n|swap_ab|dynamic_n"
_LAYOUTS = re.compile(r"\b(linear|blocked_8x4|blocked)\b")
_STARTS = re.compile(r"\b(whole|compact|upper_bound)\b")
_TARGETS = re.compile(r"\btargets? (?:(?:sm_\w+|cpu)(?:, | or | and )?(?:target )?)+")


def strategy_words(choices):
    """The strategy as a dictionary of texts."""
    text = STRATEGIES.get(choices["strategy"], choices["strategy"])
    fp8 = "8" in choices["lhs"][:4] + choices["rhs"][:4]
    return dict(word.split(" = ") for word in text.format(k=128 if fp8 else 256).split(", ") if word)


def with_strategy(choices, **words):
    merged = {**strategy_words(choices), **words}
    order = _KEYS.split("|")
    return {**choices, "strategy": ", ".join(f"{w} = {merged[w]}" for w in sorted(merged, key=order.index))}


def _strategy(choices, text, advised):
    if "strategy" not in choices:
        return
    for found in re.findall(r"strategy<([^>]*)>|<(m = [^>]*)>", advised):
        yield {**choices, "strategy": found[0] or found[1]}
    for key, values in re.findall(rf"\b({_KEYS}) = (\w+(?:, \w+)*(?: or \w+)?)", advised):
        for value in re.findall(r"\w+", values):
            if value != "or":
                taken = with_strategy(choices, **{key: value})
                yield taken
                if "without swap_ab" in advised:
                    yield with_strategy(taken, swap_ab="false")
    for key, low in re.findall(rf"\b({_KEYS}) (?:a multiple of|from) (\d+)", advised):
        yield with_strategy(choices, **{key: low})
    for most in re.findall(r"1 to (\d+) stages", advised):
        yield with_strategy(choices, stages=most)


def _layouts(choices, text, advised):
    layouts = _LAYOUTS.findall(advised) or [None]
    starts = _STARTS.findall(advised) or [None]
    if layouts == starts == [None]:
        return
    operands = [side for side, name in (("out", "result"), ("lhs", "lhs"), ("rhs", "rhs"))
                if re.search(rf"\b{name}\b", text)] or ["out", "lhs", "rhs"]
    if choices["family"] == "single":
        return
    if "out" in operands and choices.get("before") == "matmul":
        operands.append("lhs")  # the result of the product before
    for side, layout, start in itertools.product(operands, layouts, starts):
        edit = {f"{side}_layout": layout, f"{side}_starts": start}
        yield {**choices, **{key: value for key, value in edit.items() if value}}


def _gates(choices, text, advised):
    if "gate" not in choices:
        return
    order = choices["gate"].split(", ")[-1]
    found = re.findall(r"gate = <(\d+|halves)", advised) + re.findall(r"blocks of (\d+)", advised)
    for values in re.findall(r"runs of ((?:\d+(?:, | or )?)+)", advised):
        found += re.findall(r"\d+", values)
    for granularity in found:
        yield {**choices, "gate": f"{granularity}, {order}"}


def _words(choices, text, advised):
    for value in re.findall(r"align = (\d+)", advised):
        yield {**choices, "align": int(value)}
    for axis in sorted({"tail", "determinism", "math"} & set(choices)):
        for value in re.findall(rf"{axis} = (\w+)", advised):
            yield {**choices, axis: value}
    if choices["family"] != "matmul":
        return
    if "as addend" in advised:
        yield {**choices, "addend": choices["out"] if ":" not in choices["out"] else "f32"}
    for fmt in re.findall(r"format (\w+)", advised):
        if ":" in choices["out"]:
            yield {**choices, "out": choices["out"].split(":")[0] + ":" + fmt}
    if re.search(r"axis = 1|blocks along columns|K-major", advised):
        yield {**choices, "out_axis": "columns"}
    if "grouped_scaled_gemm.quantize" in advised and ":" in choices["out"]:
        # What comes after takes a quantised result: here it is the separate operation.
        after = {"dequantize": "quantize", "matmul": "quantize"}.get(choices["after"], choices["after"])
        yield {**choices, "out": "f32", "after": after}


def advised_part(message):
    """What is to be used instead: behind a semicolon, or what was expected."""
    expected = re.search(r"expected (.*?)(?:, but got|$)", message, re.DOTALL)
    return (expected[1] if expected else "") + "; " + message.partition(";")[2]


def take(choices, message):
    """(other choices, None) or (the same, another target) for each alternative that the text names."""
    advised, seen = advised_part(message), []
    for rule in (_strategy, _layouts, _gates, _words):
        for other in rule(choices, message, advised):
            if other != choices and other not in seen:
                seen.append(other)
                yield other, None
    for targets in _TARGETS.findall(advised):
        for target in re.findall(r"sm_90a|sm_100a|cpu", targets):
            yield choices, target
