# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels of operations that are no products give the bits of the CPU's code, in memory of a device."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4_formats import random_scaled
from device_products import pack
from sim_driver import SimMemory

DTYPES = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}
TARGETS = ["sm_90a", "sm_100a"]
# Whole vectors, halves of them, none, and an extent that only the launch knows.
COLUMNS = [(256, "256"), (36, "36"), (33, "33"), (64, "?")]


def check(text, target, *arguments):
    """The result of the CPU is that of the device, whose memory has been used before."""
    wanted = np.asarray(nvfp4.compile(text, "cpu").run(*arguments))
    function = nvfp4.on_device(nvfp4.compile(text, f"{target}+sim", memory="device"), "sim")
    memory = SimMemory()
    placed = [each if np.ndim(each) == 0 else memory.put(each) for each in arguments]
    out = memory.put(np.full(wanted.nbytes, 0x7f, np.uint8))
    out = nvfp4.DeviceTensor(out.address, wanted.shape, wanted.dtype, "sim")
    function.run(placed, [out], memory.put(np.full(function.workspace(*placed) + 1, 0x7f, np.uint8)))
    assert memory.get(out).tobytes() == wanted.tobytes()


def make(rng, shape, element, scale=1):
    return (rng.standard_normal(shape) * scale).astype(DTYPES[element])


def cross(*axes):
    """Every choice of each axis, with those of the others in turn."""
    return [tuple(axis[(i + i // len(axis) * j) % len(axis)] for j, axis in enumerate(axes))
            for i in range(max(map(len, axes)) * 3)]


@pytest.mark.parametrize("target, element, columns", cross(TARGETS, list(DTYPES), COLUMNS))
def test_permute(rng, target, element, columns):
    size, extent = columns
    x, y = f"tensor<?x{extent}x{element}>", f"tensor<?x{extent}x{element}>"
    text = f"""func.func @f(%x: {x}, %t: tensor<?xi32>, %y: {y}) -> {y} {{
  %r = grouped_scaled_gemm.permute(%x : {x}) by(%t : tensor<?xi32>) outs(%y : {y}) -> {y}
  return %r : {y}
}}"""
    tokens = np.array([3, -1, 0, 0, 8, 4, -1], np.int32)
    check(text, target, make(rng, (9, size), element), tokens, make(rng, (7, size), element))


@pytest.mark.parametrize("target, element, result, columns, is_weighted",
                         cross(TARGETS, list(DTYPES), ["f32", "bf16", "f16"], COLUMNS, [True, False]))
def test_combine(rng, target, element, result, columns, is_weighted):
    size, extent = columns
    x, y = f"tensor<?x{extent}x{element}>", f"tensor<5x{extent}x{result}>"
    weights = "weights(%w : tensor<5x3xf32>) " if is_weighted else ""
    text = f"""func.func @f(%x: {x}, %r: tensor<5x3xi32>, %w: tensor<5x3xf32>, %y: {y}) -> {y} {{
  %s = grouped_scaled_gemm.combine(%x : {x}) by(%r : tensor<5x3xi32>) {weights}outs(%y : {y}) -> {y}
  return %s : {y}
}}"""
    rows = np.array([[0, 1, 2], [-1, 10, -1], [-1, -1, -1], [3, 3, 4], [10, 5, -1]], np.int32)
    check(text, target, make(rng, (11, size), element), rows, make(rng, (5, 3), "f32"), make(rng, (5, size), result))


ACTIVATIONS = [("silu", None), ("swiglu", "gate_first"), ("geglu_tanh", "up_first"), ("gelu_tanh", None), ("reglu", "gate_first"),
               ("relu2", None)]
SHAPES = [(5, 64), (64,), (2, 3, 64), (4, 6), (3, 2, 2, 16)]


@pytest.mark.parametrize("target, activation, run, shape, element, result",
                         cross(TARGETS, ACTIVATIONS, [0, 1, 4, 2], SHAPES, list(DTYPES), ["f32", "bf16", "f16"]))
def test_glu(rng, target, activation, run, shape, element, result):
    name, order = activation
    run = run if shape[-1] % max(run, 1) == 0 else 0
    gate = f", gate = <{run}, {order}>" if order else ""
    shaped = lambda extents: "x".join(["?", *map(str, extents[1:])]) if len(extents) > 1 else str(extents[0])
    inner = (*shape[:-1], shape[-1] * 2) if order else shape
    x, y = f"tensor<{shaped(inner)}x{element}>", f"tensor<{shaped(shape)}x{result}>"
    text = f"""func.func @f(%x: {x}, %y: {y}) -> {y} {{
  %r = grouped_scaled_gemm.glu <{name}{gate}>(%x : {x}) outs(%y : {y}) -> {y}
  return %r : {y}
}}"""
    check(text, target, make(rng, inner, element, 3), make(rng, shape, result))


@pytest.mark.parametrize("target, shape, element, result, attributes",
                         cross(TARGETS, [(5, 64), (48,), (2, 3, 16)], list(DTYPES), ["f32", "f16", "bf16"],
                               ["", " {normalized}", " {normalized, sign_mask = 27368 : i32}"]))
def test_hadamard(rng, target, shape, element, result, attributes):
    x, y = (f"tensor<{'x'.join(map(str, shape))}x{each}>" for each in (element, result))
    text = f"""func.func @f(%x: {x}, %y: {y}) -> {y} {{
  %r = grouped_scaled_gemm.hadamard %x outs(%y){attributes} : {x}, {y} -> {y}
  return %r : {y}
}}"""
    check(text, target, make(rng, shape, element), make(rng, shape, result))


@pytest.mark.parametrize("rows", [0, 1, 70])
def test_an_expert_layer_without_its_routing(rng, rows):
    """Rows of tokens are gathered, multiplied, activated, multiplied and summed up; nothing is on the host.

    The products are in a private function, which is inlined: calls own no memory of the device.
    """
    up, down = "!grouped_scaled_gemm.scaled<3x256x128, nvfp4, wgmma>", "!grouped_scaled_gemm.scaled<3x128x128, nvfp4, wgmma>"
    x, z, h, y = "tensor<?x128xbf16>", "tensor<?x256xbf16>", "tensor<?x128xbf16>", "tensor<?x128xf32>"
    text = f"""func.func @f(%x: {x}, %u: {up}, %d: {down}, %t: tensor<?xi32>, %g: tensor<3xi32>, %r: tensor<?x2xi32>,
    %w: tensor<?x2xf32>, %out: {y}) -> {y} {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %t, %c0 : tensor<?xi32>
  %p0 = tensor.empty(%n) : {x}
  %p = grouped_scaled_gemm.permute(%x : {x}) by(%t : tensor<?xi32>) outs(%p0 : {x}) -> {x}
  %e = func.call @experts(%p, %u, %d, %g) : ({x}, {up}, {down}, tensor<3xi32>) -> {x}
  %y = grouped_scaled_gemm.combine(%e : {x}) by(%r : tensor<?x2xi32>) weights(%w : tensor<?x2xf32>) outs(%out : {y}) -> {y}
  return %y : {y}
}}
func.func private @experts(%p: {x}, %u: {up}, %d: {down}, %g: tensor<3xi32>) -> {x} {{
  %c0 = arith.constant 0 : index
  %n = tensor.dim %p, %c0 : {x}
  %z0 = tensor.empty(%n) : {z}
  %z = grouped_scaled_gemm.matmul <ragged_rows> groups(%g : tensor<3xi32>) lhs(%p : {x}) rhs(%u : {up}) outs(%z0 : {z}) -> {z}
  %h0 = tensor.empty(%n) : {h}
  %h = grouped_scaled_gemm.glu <swiglu, gate = <1, gate_first>>(%z : {z}) outs(%h0 : {h}) -> {h}
  %e0 = tensor.empty(%n) : {x}
  %e = grouped_scaled_gemm.matmul <ragged_rows> groups(%g : tensor<3xi32>) lhs(%h : {h}) rhs(%d : {down}) outs(%e0 : {x}) -> {x}
  return %e : {x}
}}"""
    weights = [pack(random_scaled(rng, (3, columns, 128), "nvfp4", lattice=False), "nvfp4", "wgmma") for columns in (256, 128)]
    tokens = rows // 2
    slots = rng.permutation(2 * tokens).astype(np.int32)
    token_of_row = np.empty(2 * tokens, np.int32)
    token_of_row[slots] = np.arange(2 * tokens) // 2
    arguments = [make(rng, (tokens, 128), "bf16"), *weights, token_of_row,
                 np.array([tokens // 2, tokens // 2, 2 * tokens], np.int32), slots.reshape(tokens, 2),
                 make(rng, (tokens, 2), "f32"), np.full((tokens, 128), np.nan, np.float32)]
    host, device = (nvfp4.compile(text, "sm_90a+sim", memory=memory, versions=1).run(*arguments) for memory in ("host", "device"))
    assert np.isfinite(host).all() and host.tobytes() == device.tobytes()


@pytest.mark.parametrize("target, tokens, slots, experts, align, rows",
                         cross(TARGETS, [(7, "?"), (0, "?"), (1, "1"), (300, "?"), (64, "64")], [1, 3, 8], [4, 1, 40, 300],
                               [1, 8, 128], [700, 0, 20, 3000]))
def test_sort_tokens(rng, target, tokens, slots, experts, align, rows):
    """Entries that name no expert, experts without entries, and rows that the checks would have refused as too few."""
    entries = rng.integers(-2, experts + 2, (tokens[0], slots)).astype(np.int32)
    check_sort(target, tokens[1], entries, experts, align, rows)


def check_sort(target, extent, entries, experts, align, rows):
    size, slots = entries.shape
    e, t, r = f"tensor<{extent}x{slots}xi32>", "tensor<?xi32>", f"tensor<{experts}xi32>"
    text = f"""func.func @f(%e: {e}, %a: {r}, %b: {t}, %c: {e}) -> ({r}, {t}, {e}) {{
  %x, %y, %z = grouped_scaled_gemm.sort_tokens(%e : {e}) outs(%a, %b, %c : {r}, {t}, {e}) {{align = {align} : i64}} -> {r}, {t}, {e}
  return %x, %y, %z : {r}, {t}, {e}
}}"""
    arguments = [entries, *(np.full(shape, 99, np.int32) for shape in ((experts,), (rows,), (size, slots)))]
    host, device = (nvfp4.compile(text, where, memory=memory, runtime_checks=False).run(*arguments)
                    for where, memory in (("cpu", "host"), (target + "+sim", "device")))
    for wanted, got in zip(host, device):
        assert np.array_equal(wanted, got)


@pytest.mark.parametrize("target, tokens, slots, experts, align, rows",
                         cross(TARGETS, [(300, "?"), (1025, "?"), (520, "520")], [8, 9, 16], [40, 1, 300, 1100], [1, 128, 8],
                               [9000, 100, 70000]))
def test_sort_many_tokens(rng, target, tokens, slots, experts, align, rows):
    """By three launches: pieces that are not full, experts of one piece only, rows that are too few."""
    entries = np.where(rng.random((tokens[0], slots)) < 0.5, rng.integers(-2, experts + 2, (tokens[0], slots)), experts // 2)
    check_sort(target, tokens[1], entries.astype(np.int32), experts, align, rows)
