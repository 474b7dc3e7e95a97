# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""glu_backward on the CPU and on memory of a device, against formulas in float64 and differences of nvfp4.glu's meaning."""

import math

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from device_calls import SimMemory
from test_py_device_operations import DTYPES, TARGETS, cross

SLOPE = math.sqrt(2 / math.pi)
GATES = ["halves, gate_first", "1, up_first", "3, gate_first", "8, up_first", "16, gate_first", "32, up_first"]
#: Keyword and parameters of each activation: alpha, beta, limit.
SINGLE = ["identity", "relu", "relu2", "silu", "gelu_tanh"]
PAIRED = [("swiglu", ()), ("swiglu", (1.702, 1.0, 7.0)), ("swiglu", (1.0, 0.0, 2.0)), ("geglu_tanh", ()), ("reglu", ())]


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(SLOPE * (x + 0.044715 * x**3)))


def activate(kind, parameters, z, u=None):
    """The activation in float64."""
    alpha, beta, limit = parameters or (1.0, 0.0, np.inf)
    if kind == "swiglu":
        g, u = np.minimum(z, limit), np.clip(u, -limit, limit)
        return g * sigmoid(alpha * g) * (u + beta)
    one = {"identity": z, "relu": np.maximum(z, 0), "relu2": np.maximum(z, 0)**2, "silu": z * sigmoid(z), "gelu_tanh": gelu(z),
           "geglu_tanh": gelu(z), "reglu": np.maximum(z, 0)}[kind]
    return one if u is None else one * u


def differentiate(kind, parameters, z, u=None):
    """Derivatives by z and u: differences of four points, within 1e-9 away from bends."""
    h = 1e-3

    def difference(at):
        return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    by_z = difference(lambda d: activate(kind, parameters, z + d, u))
    return by_z, None if u is None else difference(lambda d: activate(kind, parameters, z, u + d))


def is_bent(kind, parameters, z, u):
    """Where a difference crosses a bend."""
    limit = parameters[2] if parameters else np.inf
    near = np.abs(z) < 4e-3 if kind.startswith("re") else np.zeros(z.shape, bool)
    return near | (np.abs(z - limit) < 4e-3) | (False if u is None else np.abs(np.abs(u) - limit) < 4e-3)


def columns_of(gate, width):
    """The columns of gate and up."""
    run, order = gate.split(", ")
    run = width if run == "halves" else int(run)
    first = np.arange(width) // run * 2 * run + np.arange(width) % run
    return (first, first + run) if order == "gate_first" else (first + run, first)


def text_of(kind, parameters, gate, rank, types, has_prob, has_sum):
    """A function of z, dy and what else there is."""
    attributes = f", gate = <{gate}>" if gate else ""
    if parameters:
        attributes += ", alpha = {}, beta = {}, limit = {}".format(*parameters)
    dims, factors = "?x" * rank, f"tensor<{'?x' * (rank - 1)}f32>"
    z, dy, out = (f"tensor<{dims}{element}>" for element in types)
    prob = f" prob(%p : {factors})" if has_prob else ""
    sums = f" prob_outs(%s : {factors})" if has_sum else ""
    results = f"{out}, {factors}" if has_sum else out
    names = "%r, %q" if has_sum else "%r"
    return f"""func.func @f(%z: {z}, %dy: {dy}, %o: {out}, %p: {factors}, %s: {factors}) -> ({results}) {{
  {names} = grouped_scaled_gemm.glu_backward <{kind}{attributes}>(%z : {z}) gradient(%dy : {dy}){prob} outs(%o : {out}){sums}
      -> {results}
  return {names} : {results}
}}"""


CASES = cross([(kind, (), None) for kind in SINGLE] + [(*PAIRED[i % len(PAIRED)], gate) for i, gate in enumerate(GATES * 5)],
              [("f32", "f32", "f32"), ("bf16", "bf16", "bf16"), ("f16", "bf16", "f32"), ("f32", "f16", "bf16")],
              [(5, 192), (2, 3, 384), (1, 960), (0, 192), (192,)], [True, False], [True, False, True])


def make(rng, shape, types, paired):
    """z, dy, destination of NaN and factors, some of them zero or negative."""
    width = shape[-1] // 2 if paired else shape[-1]
    z = (rng.standard_normal(shape) * 3).astype(DTYPES[types[0]])
    dy = rng.standard_normal(shape[:-1] + (width,)).astype(DTYPES[types[1]])
    p = np.asarray(rng.standard_normal(shape[:-1]) * (rng.random(shape[:-1]) < 0.8), np.float32)
    return z, dy, np.full(shape, np.nan, DTYPES[types[2]]), p, np.full(shape[:-1], np.nan, np.float32)


def run_on_cpu(text, arguments):
    got = nvfp4.compile(text, "cpu").run(*arguments)
    return [np.asarray(each) for each in (got if isinstance(got, (tuple, list)) else [got])]


@pytest.mark.parametrize("activation, types, shape, has_prob, has_sum", CASES)
def test_gradient(rng, activation, types, shape, has_prob, has_sum):
    """Away from bends results are those of differences in float64, and everywhere within the bound of the interpreter."""
    kind, parameters, gate = activation
    arguments = make(rng, shape, types, gate)
    text = text_of(kind, parameters, gate, len(shape), types, has_prob, has_sum)
    got, *sums = run_on_cpu(text, arguments)
    z, dy, _, p, _ = (each.astype(np.float64) for each in arguments)
    t = dy * p[..., None] if has_prob else dy
    up = None
    if gate:
        gate_columns, up_columns = columns_of(gate, dy.shape[-1])
        z, up = z[..., gate_columns], z[..., up_columns]
    by_z, by_up = differentiate(kind, parameters, z, up)
    epsilon = {"f32": 2e-6, "bf16": 2**-8, "f16": 2**-11}[types[2]]
    smooth = ~is_bent(kind, parameters, z, up)

    def compare(got, slope):
        wanted = t * slope
        tolerance = epsilon * np.abs(wanted) + 2e-6 * np.abs(t) * (1 + np.abs(slope))
        assert np.all((np.abs(got.astype(np.float64) - wanted) <= tolerance)[smooth])
    if gate:
        compare(got[..., gate_columns], by_z)
        compare(got[..., up_columns], by_up)
    else:
        compare(got, by_z)
    for each in sums:
        y = activate(kind, parameters, z, up)
        tolerance = 2e-6 * np.sum(np.abs(dy * y), axis=-1) + 1e-30
        assert np.all(np.abs(each - np.sum(dy * y, axis=-1)) <= tolerance)
    nvfp4.compile(text, "cpu").check(*arguments)


@pytest.mark.parametrize("target, activation, types, shape, has_prob, has_sum",
                         [(TARGETS[i % len(TARGETS)], *case) for i, case in enumerate(CASES)])
def test_on_device(rng, target, activation, types, shape, has_prob, has_sum):
    """A kernel has the bits of the CPU's code; sums over rows, whose order differs, differ by one rounding."""
    kind, parameters, gate = activation
    arguments = make(rng, shape, types, gate)
    text = text_of(kind, parameters, gate, len(shape), types, has_prob, has_sum)
    wanted = run_on_cpu(text, arguments)
    function = nvfp4.on_device(nvfp4.compile(text, f"{target}+sim", memory="device"), "sim")
    memory = SimMemory()
    placed = [memory.put(each) for each in arguments]
    outs = [memory.put(np.full(each.shape, np.nan, each.dtype)) for each in wanted]
    function.run(placed, outs, memory.put(np.full(function.workspace(*placed) + 1, 0x7F, np.uint8)))
    got = [memory.get(each) for each in outs]
    assert got[0].tobytes() == wanted[0].tobytes()
    for sums, other in zip(got[1:], wanted[1:]):
        np.testing.assert_allclose(sums, other, rtol=1.2e-7, atol=0)


INF, NAN = np.inf, np.nan
SPECIAL = {
    # kind, parameters: z, u (or None), dy and what comes of it, for gate and up.
    ("relu", ()): [(0.0, None, 5.0, 0.0, None), (-1.0, None, INF, 0.0, None), (NAN, None, 1.0, NAN, None), (2.0, None, 3.0, 3.0, None)],
    ("relu2", ()): [(0.0, None, INF, 0.0, None), (3.0, None, 2.0, 12.0, None), (NAN, None, 0.0, NAN, None)],
    ("silu", ()): [(0.0, None, 2.0, 1.0, None), (INF, None, 2.0, 2.0, None), (-INF, None, 2.0, 0.0, None), (NAN, None, 2.0, NAN, None),
                   (120.0, None, 1.5, 1.5, None)],
    ("gelu_tanh", ()): [(0.0, None, 2.0, 1.0, None), (INF, None, 2.0, 2.0, None), (-3e38, None, 2.0, 0.0, None)],
    ("swiglu", (1.0, 0.0, 7.0)): [(7.0, 7.0, 1.0, 7.0 * 1.005_4, 6.993_6), (np.nextafter(np.float32(7), np.float32(8)), 1.0, INF, 0.0, INF),
                                  (0.0, -8.0, 1.0, -3.5, 0.0), (0.0, NAN, 1.0, NAN, 0.0), (NAN, 9.0, 1.0, NAN, 0.0)],
    ("reglu", ()): [(-1.0, INF, 1.0, 0.0, 0.0), (0.0, 4.0, 1.0, 0.0, 0.0), (2.0, 4.0, 1.0, 4.0, 2.0)],
}


@pytest.mark.parametrize("kind, parameters", SPECIAL)
def test_special_values(kind, parameters):
    """Limits are inclusive, zeros of the table are zeros whatever the gradient is, NaN stays."""
    for z, u, dy, of_z, of_u in SPECIAL[kind, parameters]:
        row = np.array([[z]] if u is None else [[z, u]], np.float32)
        text = text_of(kind, parameters, None if u is None else "halves, gate_first", 2, ("f32",) * 3, False, False)
        got, = run_on_cpu(text, (row, np.array([[dy]], np.float32), np.zeros_like(row), np.zeros(1, np.float32),
                                 np.zeros(1, np.float32)))
        np.testing.assert_allclose(got[0], [of_z] if u is None else [of_z, of_u], rtol=1e-4)


def test_strided_rows(rng):
    """Rows with gaps, in either direction, are read and written where they are."""
    z, dy = rng.standard_normal((4, 40, 2)).astype(np.float32), rng.standard_normal((4, 20, 3)).astype(np.float32)
    z_type, dy_type = "memref<4x40xf32, strided<[80, 2]>>", "memref<4x20xf32, strided<[60, 3]>>"
    text = f"""func.func @f(%z: memref<4x40x2xf32>, %dy: memref<4x20x3xf32>, %o: memref<4x40x2xf32>) {{
  %a = memref.subview %z[0, 0, 0] [4, 40, 1] [1, 1, 1] : memref<4x40x2xf32> to {z_type}
  %b = memref.subview %dy[0, 0, 0] [4, 20, 1] [1, 1, 1] : memref<4x20x3xf32> to {dy_type}
  %c = memref.subview %o[0, 0, 0] [4, 40, 1] [1, 1, 1] : memref<4x40x2xf32> to {z_type}
  grouped_scaled_gemm.glu_backward <swiglu, gate = <4, gate_first>>(%a : {z_type}) gradient(%b : {dy_type}) outs(%c : {z_type})
  return
}}"""
    out = np.full((4, 40, 2), 7, np.float32)
    nvfp4.compile(text, "cpu").run(z, dy, out)
    wanted = nvfp4.glu_backward(z[..., 0].copy(), dy[..., 0].copy(), nvfp4.swiglu(nvfp4.Gate(4, "gate_first"))).z
    assert np.array_equal(out[..., 0], wanted) and np.all(out[..., 1] == 7)


def test_function(rng):
    """The function of the package: results of the type of z, factors, and errors that name the argument."""
    z, dy = rng.standard_normal((3, 8)).astype(ml_dtypes.bfloat16), rng.standard_normal((3, 4)).astype(np.float32)
    p = np.array([1, 0, -2], np.float32)
    got = nvfp4.glu_backward(z, dy, nvfp4.swiglu("vllm"), prob=p, prob_gradient=True)
    assert got.z.dtype == ml_dtypes.bfloat16 and got.prob.shape == (3,) and not np.any(got.z[1].astype(np.float32))
    y = nvfp4.glu(z, nvfp4.swiglu("vllm"), dtype="float32")
    np.testing.assert_allclose(got.prob, np.sum(dy * y, axis=1), rtol=1e-6)
    assert nvfp4.glu_backward(z, dy, nvfp4.swiglu("vllm")).prob is None
    with pytest.raises(nvfp4.ArgumentError, match=r"expected gradient of shape \(3, 4\), that of the activation, but got \(3, 8\)"):
        nvfp4.glu_backward(z, z, nvfp4.swiglu("vllm"))
    with pytest.raises(nvfp4.ArgumentError, match=r"expected prob of shape \(3,\), one number a row, but got \(8,\)"):
        nvfp4.glu_backward(z, dy, nvfp4.swiglu("vllm"), prob=np.ones(8, np.float32))
