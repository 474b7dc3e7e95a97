# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls with arguments of known kinds give what first calls give, with whatever changes between them."""

import copy
import pickle
import threading

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4 import _repeats

G, M, N, K = 3, 7, 16, 64


@pytest.fixture(autouse=True)
def nothing_is_known():
    nvfp4.cache_clear()


def statements(monkeypatch):
    """How often operations were stated."""
    from nvfp4 import matmul, quantization
    count = []
    for module, name in ((matmul, "plan_matmul"), (quantization, "quantize_call")):
        original = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, original=original, **k: (count.append(1), original(*a, **k))[1])
    return count


def fresh(call):
    """The result of a first call."""
    nvfp4.cache_clear()
    return call()


def bytes_of(result):
    if isinstance(result, nvfp4.ScaledTensor):
        return result.values.tobytes() + result.scales.tobytes()
    if isinstance(result, tuple):
        return b"".join(map(bytes_of, (each for each in result if each is not None)))
    return result.tobytes()


def scaled(rng, *shape):
    return nvfp4.quantize(rng.standard_normal(shape).astype(np.float32))


ROWS = {"scaled": lambda rng: scaled(rng, M, K), "bf16": lambda rng: rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16),
        "f32": lambda rng: rng.standard_normal((M, K)).astype(np.float32)}
OPTIONS = {
    "plain": lambda rng: {}, "alpha": lambda rng: dict(alpha=float(rng.random())), "numpy number": lambda rng: dict(
        alpha=np.float32(rng.random())), "integer": lambda rng: dict(alpha=3, dtype="float16"),
    "vectors": lambda rng: dict(alpha=rng.random(G).astype(np.float32), bias=rng.random((G, N)).astype(np.float32),
                                prob=rng.random(M).astype(np.float32)),
    "doubles": lambda rng: dict(alpha=rng.random(G)),
    "addend": lambda rng: dict(addend=rng.random((M, N)).astype(np.float32), beta=float(rng.random())),
    "activation": lambda rng: dict(activation=nvfp4.swiglu(alpha=1.5), dtype=ml_dtypes.bfloat16),
    "quantised": lambda rng: dict(quantizer="trtllm", global_scale=float(rng.random())),
    "quantised blocked": lambda rng: dict(out_format="nvfp4", out_layout="blocked"),
    "quantised by group": lambda rng: dict(out_format="nvfp4", out_layout="blocked", out_starts="compact"),
    "maxima": lambda rng: dict(amax=True, preact=True),
    "out": lambda rng: dict(out=np.full((M, N), 7, np.float32)),
    "scaled out": lambda rng: dict(out=scaled(np.random.default_rng(0), M, N)),
    "row": lambda rng: dict(activation="custom", row=[rng.random(M).astype(np.float32)], epilogue="""^bb0(%z: f32, %r: f32):
      %y = arith.mulf %z, %r : f32
      grouped_scaled_gemm.yield %y : f32"""),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("options", OPTIONS)
def test_products_with_other_data(rng, rows, options):
    for step in range(4):
        x, w, given = ROWS[rows](rng), scaled(rng, G, N, K), OPTIONS[options](rng)
        ends = np.sort(rng.integers(0, M + 1, G)).astype(np.int32)
        groups = nvfp4.ragged_rows(ends)
        got = nvfp4.grouped_matmul(x, w, groups, **copy.deepcopy(given))
        assert bytes_of(got) == bytes_of(threaded(lambda: nvfp4.grouped_matmul(x, w, groups, **copy.deepcopy(given)))), step


def threaded(call):
    """The result in a new thread, which knows of no calls."""
    result = []
    thread = threading.Thread(target=lambda: result.append(call()))
    thread.start()
    thread.join()
    return result[0]


@pytest.mark.parametrize("options", [{}, {"layout": "blocked"}, {"format": "mxfp8_e4m3"}, {"global_scale": 3.0}, {"transposed": True},
                                     {"hadamard": nvfp4.Hadamard()}], ids=str)
def test_quantisers_with_other_data(rng, options, monkeypatch):
    count = statements(monkeypatch)
    arrays = [rng.standard_normal((M, K)).astype(np.float32) for _ in range(3)]
    got = [nvfp4.quantize(each, **options) for each in arrays]
    assert len(count) == 1
    for array, result in zip(arrays, got):
        assert result == threaded(lambda: nvfp4.quantize(array, **options))
    nvfp4.quantize(arrays[0], out=(again := nvfp4.quantize(arrays[1], **options)), **options)
    assert again == got[0]


def test_kinds_are_stated_once(rng, monkeypatch):
    count = statements(monkeypatch)
    w, bias = scaled(rng, N, K), np.zeros(N, np.float32)
    x = [nvfp4.ScaledTensor(np.zeros((M, K // 2), np.uint8), np.zeros((M, K // 16), np.uint8)) for _ in range(3)]
    before = len(count)
    for number, each in enumerate(x):
        nvfp4.grouped_matmul(each, w, bias=bias, alpha=float(number))
    assert len(count) == before + 1
    nvfp4.grouped_matmul(x[0], w, bias=bias.astype(np.float16), alpha=1.0)
    nvfp4.grouped_matmul(x[0], w, bias=bias, alpha=1)
    nvfp4.grouped_matmul(x[0][:3], w, bias=bias, alpha=1.0)
    assert len(count) == before + 4


def test_one_array_as_two_arguments(rng):
    """Calls with two arrays come after one where both were the same."""
    x, y = scaled(rng, N, K), scaled(rng, N, K)
    first = nvfp4.grouped_matmul(x, x)
    assert bytes_of(nvfp4.grouped_matmul(x, y)) == bytes_of(fresh(lambda: nvfp4.grouped_matmul(x, y))) != bytes_of(first)
    both, other = np.ones(N, np.float32), rng.random(N).astype(np.float32)
    for prob in (both, other):
        got = nvfp4.grouped_matmul(x, y, bias=both, prob=prob)
        assert bytes_of(got) == bytes_of(threaded(lambda: nvfp4.grouped_matmul(x, y, bias=both.copy(), prob=prob)))
    out = np.ones((N, N), np.float32)
    nvfp4.grouped_matmul(x, y, addend=np.ones_like(out), out=out)
    with pytest.raises(nvfp4.DataError, match="overlap"):
        nvfp4.grouped_matmul(x, y, addend=out, out=out)


def test_what_is_refused_stays_refused(rng):
    x, w, out = scaled(rng, M, K), scaled(rng, N, K), np.zeros((M, N), np.float32)
    product = lambda **options: nvfp4.grouped_matmul(x, w, **options)  # noqa: E731
    product(out=out, alpha=1.0)
    read_only, gaps = out.copy(), np.zeros((M, 2 * N), np.float32)[:, ::2]
    read_only.flags.writeable = False
    for options, message in ((dict(out=read_only), "read-only"), (dict(out=gaps), "row-major"), (dict(alpha=1e39), "float32 holds"),
                             (dict(out=out[1:]), "out"), (dict(out=out, dtype="float16"), "dtype float32 as out has")):
        with pytest.raises(nvfp4.NVFP4Error, match=message):
            product(**{"alpha": 1.0, **options})
    with pytest.raises(TypeError, match="alhpa"):
        product(alhpa=1.0)
    kept = nvfp4.quantize(np.ones((M, K), np.float32))
    for _ in range(2):
        nvfp4.quantize(np.ones((M, K), np.float32), out=kept)
    kept.scales.flags.writeable = False
    with pytest.raises(nvfp4.ArgumentError, match="read-only"):
        nvfp4.quantize(np.ones((M, K), np.float32), out=kept)
    groups = [nvfp4.ragged_rows(np.array(ends, np.int32)) for ends in ([2, 7], [2, 8])]
    stack = scaled(rng, 2, N, K)
    nvfp4.grouped_matmul(x, stack, groups[0])
    with pytest.raises(nvfp4.DataError, match="grouped_matmul: .*ends"):
        nvfp4.grouped_matmul(x, stack, groups[1])


def test_copies_of_tensors_have_their_own_memory(rng):
    w, x = scaled(rng, N, K), scaled(rng, M, K)
    wanted = nvfp4.grouped_matmul(x, w)
    for make in (copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each)), copy.copy):
        other = make(x)
        assert bytes_of(nvfp4.grouped_matmul(other, w)) == bytes_of(wanted)
        other.values[:] = 0
        assert not nvfp4.grouped_matmul(other, w).any()
        if make is not copy.copy:
            assert bytes_of(nvfp4.grouped_matmul(x, w)) == bytes_of(wanted)


def test_results_are_new(rng):
    x, w = scaled(rng, M, K), scaled(rng, N, K)
    results = [nvfp4.grouped_matmul(x, w) for _ in range(3)] + [nvfp4.grouped_matmul(x, w, out_format="nvfp4").values for _ in range(3)]
    assert len({each.ctypes.data for each in results}) == 6


def test_calls_are_forgotten(rng):
    x, w = scaled(rng, M, K), scaled(rng, N, K)
    nvfp4.grouped_matmul(x, w)
    assert nvfp4.cache_info()["programs"]
    nvfp4.cache_clear()
    assert not nvfp4.cache_info()["programs"]
    nvfp4.grouped_matmul(x, w)
    assert nvfp4.cache_info()["programs"] == 1


def test_few_calls_are_kept(rng, monkeypatch):
    monkeypatch.setattr(_repeats, "_MOST", 3)
    w = scaled(rng, N, K)
    for rows in range(1, 9):
        nvfp4.grouped_matmul(np.ones((rows, K), ml_dtypes.bfloat16), w)
        assert len(_repeats._kept.repeats) <= 3


def test_plans_run_again_with_what_is_in_their_arrays(rng):
    x, w = scaled(rng, M, K), scaled(rng, N, K)
    plan = nvfp4.plan_matmul(x, w, alpha=2.0)
    first = plan.run().copy()
    x.values[:] = scaled(rng, M, K).values
    second = plan.run()
    assert bytes_of(second) == bytes_of(nvfp4.grouped_matmul(x, w, alpha=2.0)) != bytes_of(first)
    ends = np.array([2, 9], np.int32)
    bad = nvfp4.plan_matmul(x, scaled(rng, 2, N, K), nvfp4.ragged_rows(ends))
    for _ in range(2):
        with pytest.raises(nvfp4.DataError, match="grouped_matmul: .*group ends"):
            bad.run()
    ends[1] = M
    bad.run()
