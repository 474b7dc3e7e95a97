# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions on memory of a device give the bits of those on memory of the host, and what has no GPU code is refused."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from device_products import FORMS, get_bias, make_groups, make_text, pack
from nvfp4_formats import random_scaled
from sim_driver import SimMemory


def run_both(text, target, *arguments, **options):
    host, device = (nvfp4.compile(text, f"{target}+sim", memory=memory, **options) for memory in ("host", "device"))
    results = [program.run(*arguments) for program in (host, device)]
    # Rows that are nobody's keep what was there.
    assert results[0].shape == results[1].shape and results[0].tobytes() == results[1].tobytes()


CLAUSES = {"plain": ("", "f32", 128), "bf16": ("", "bf16", 128),
           "swiglu": ("alpha(%a : f32) bias(%b : {}) activation = <swiglu, gate = <1, gate_first>>", "bf16", 64)}


# Each clause with each form, and formats in turn.
CASES = [(form, clauses, ("nvfp4", "bf16") if (i + j) % 2 else ("mxfp4", "f16"))
         for i, form in enumerate(FORMS) for j, clauses in enumerate(CLAUSES)]


@pytest.mark.parametrize("form, clauses, formats", CASES)
def test_packed_weights_on_hopper(rng, form, clauses, formats):
    format, element = formats
    clause, result, columns = CLAUSES[clauses]
    _, _, x, w, y = FORMS[form]
    layout = "wgmma" if element == "bf16" else "wgmma_f16"
    text = make_text(form, element, format, "", f", {layout}", clause.format(get_bias(form)[0]), result, columns=columns)
    weights = random_scaled(rng, w, format, lattice=False)
    values = rng.standard_normal(x).astype(ml_dtypes.bfloat16 if element == "bf16" else np.float16)
    out = np.full((*y[:-1], columns), np.nan, np.float32 if result == "f32" else ml_dtypes.bfloat16)
    run_both(text, "sm_90a", values, pack(weights, format, layout), *make_groups(form),
             rng.standard_normal(get_bias(form)[1]).astype(np.float32), np.float32(0.5), out, versions=2)


@pytest.mark.parametrize("form", ["dense", "batched"])
@pytest.mark.parametrize("clauses", CLAUSES)
@pytest.mark.parametrize("format", ["nvfp4", "mxfp8_e4m3"])
def test_blocked_scales_on_blackwell(rng, form, clauses, format):
    clause, result, columns = CLAUSES[clauses]
    _, _, x, w, y = FORMS[form]
    text = make_text(form, None, format, ", blocked", ", blocked", clause.format(get_bias(form)[0]), result, columns=columns)
    operands = [random_scaled(rng, shape, format, lattice=False).store("blocked") for shape in (x, w)]
    out = np.full((*y[:-1], columns), np.nan, np.float32 if result == "f32" else ml_dtypes.bfloat16)
    run_both(text, "sm_100a", *operands, rng.standard_normal(get_bias(form)[1]).astype(np.float32), np.float32(0.5), out,
             versions=2)


# Each clause with each form, and formats and layouts of scales in turn.
ROWS = [(form, clauses, *[("nvfp4", "f16", ""), ("mxfp4", "bf16", ", blocked"), ("mxfp8_e4m3", "bf16", "")][(i + j) % 3])
        for i, form in enumerate(FORMS) for j, clauses in enumerate(CLAUSES)]


@pytest.mark.parametrize("form, clauses, format, element, layout", ROWS)
def test_unscaled_rows_on_blackwell(rng, form, clauses, format, element, layout):
    clause, result, columns = CLAUSES[clauses]
    _, _, x, w, y = FORMS[form]
    text = make_text(form, element, format, "", layout, clause.format(get_bias(form)[0]), result, columns=columns)
    values = rng.standard_normal(x).astype(ml_dtypes.bfloat16 if element == "bf16" else np.float16)
    weights = random_scaled(rng, w, format, lattice=False).store("blocked" if layout else "linear")
    out = np.full((*y[:-1], columns), np.nan, np.float32 if result == "f32" else ml_dtypes.bfloat16)
    run_both(text, "sm_100a", values, weights, *make_groups(form),
             rng.standard_normal(get_bias(form)[1]).astype(np.float32), np.float32(0.5), out, versions=2)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize("format", ["nvfp4", "mxfp4"])
def test_tails_of_quantised_results_are_zero_bits(rng, target, format):
    """A scale of UE8M0 is never 0, but its byte is."""
    rows = 60
    out = f"!grouped_scaled_gemm.scaled<?x128, {format}, blocked, starts = upper_bound>"
    weights = "!grouped_scaled_gemm.scaled<3x128x128, nvfp4>"
    text = f"""func.func @f(%x: !grouped_scaled_gemm.scaled<?x128, nvfp4>, %w: {weights}, %g: tensor<3xi32>) -> {out} {{
  %y = grouped_scaled_gemm.matmul <ragged_rows> groups(%g : tensor<3xi32>) lhs(%x : !grouped_scaled_gemm.scaled<?x128, nvfp4>)
      rhs(%w : {weights}) quantizer = <{'trtllm' if format == 'nvfp4' else 'ocp'}> {{tail = #grouped_scaled_gemm<tail zero>}}
      -> {out}
  return %y : {out}
}}"""
    x, w = (random_scaled(rng, shape, "nvfp4").store() for shape in ((rows, 128), (3, 128, 128)))
    ends = np.array([17, 17, 41], np.int32)
    wanted, got = (nvfp4.compile(text, where, versions=1).run(x, w, ends) for where in ("cpu", target + "+sim"))
    assert wanted.values.tobytes() == got.values.tobytes() and not got.values[41:].any()
    assert wanted.scales.tobytes() == got.scales.tobytes()


def test_products_after_each_other_need_no_host(rng):
    """What the first writes, the second reads where it is."""
    text = """
!u = !grouped_scaled_gemm.scaled<3x128x128, nvfp4, wgmma>
func.func @f(%x: tensor<?x128xbf16>, %u: !u, %d: !u, %g: tensor<3xi32>) -> tensor<?x128xbf16> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %e = tensor.empty(%n) : tensor<?x128xbf16>
  %h = grouped_scaled_gemm.matmul <ragged_rows> groups(%g : tensor<3xi32>) lhs(%x : tensor<?x128xbf16>) rhs(%u : !u)
      activation = <relu2> outs(%e : tensor<?x128xbf16>) {tail = #grouped_scaled_gemm<tail zero>} -> tensor<?x128xbf16>
  %f = tensor.empty(%n) : tensor<?x128xbf16>
  %y = grouped_scaled_gemm.matmul <ragged_rows> groups(%g : tensor<3xi32>) lhs(%h : tensor<?x128xbf16>) rhs(%d : !u)
      outs(%f : tensor<?x128xbf16>) {tail = #grouped_scaled_gemm<tail zero>} -> tensor<?x128xbf16>
  return %y : tensor<?x128xbf16>
}
"""
    up, down = (pack(random_scaled(rng, (3, 128, 128), "nvfp4"), "nvfp4", "wgmma") for _ in range(2))
    x = rng.standard_normal((50, 128)).astype(ml_dtypes.bfloat16)
    run_both(text, "sm_90a", x, up, down, np.array([20, 20, 45], np.int32), versions=1)
    stage = nvfp4.compile(text, "sm_90a+sim", memory="device", versions=1).ir("warpspec")
    assert "memref.alloc" not in stage and "gpu.memcpy" not in stage


@pytest.mark.parametrize("text, target, message", [
    ("""func.func @f(%p: !grouped_scaled_gemm.scaled<128x128, nvfp4, wgmma>) -> !grouped_scaled_gemm.scaled<128x128, nvfp4> {
  %w = grouped_scaled_gemm.relayout_weights(%p : !grouped_scaled_gemm.scaled<128x128, nvfp4, wgmma>)
      -> !grouped_scaled_gemm.scaled<128x128, nvfp4>
  return %w : !grouped_scaled_gemm.scaled<128x128, nvfp4>
}""", "sm_90a", "relayout_weights' op expected packing, from linear to wgmma, for its kernel; compile with memory = host"),
    ("func.func @f(%x: tensor<8xf32>) -> f32 {\n  %c0 = arith.constant 0 : index\n  %y = tensor.extract %x[%c0] : tensor<8xf32>\n"
     "  return %y : f32\n}", "sm_90a", "expected memory of the host"),
])
def test_what_has_no_gpu_code_is_refused_by_name(text, target, message):
    with pytest.raises(nvfp4.CompileError, match=message):
        nvfp4.compile(text, target + "+sim", memory="device")


def test_memory_is_host_or_device():
    text = make_text("dense", "bf16", "nvfp4", "", "")
    with pytest.raises(nvfp4.CompileError, match="expected --memory of host or device, but got 'gpu'"):
        nvfp4.compile(text, "sm_90a+sim", memory="gpu")
    with pytest.raises(nvfp4.CompileError, match="expected --memory=host for --target=cpu, but got device; or a GPU as target"):
        nvfp4.compile(text, memory="device")


@pytest.fixture(scope="module")
def product():
    text = make_text("ragged_rows", "bf16", "nvfp4", "", ", wgmma", "alpha(%a : f32) bias(%b : tensor<3x128xf32>)", "bf16")
    return nvfp4.compile(text, "sm_90a+sim", memory="device", versions=1)


def list_arguments(rng, rows):
    packed = pack(random_scaled(rng, (3, 128, 128), "nvfp4", lattice=False), "nvfp4", "wgmma")
    return [rng.standard_normal((rows, 128)).astype(ml_dtypes.bfloat16), packed.values, packed.scales,
            np.array([rows // 3, rows // 3, rows - 5], np.int32), rng.standard_normal((3, 128)).astype(np.float32),
            np.float32(0.5), np.full((rows, 128), 7, ml_dtypes.bfloat16)]


def test_tensors_of_a_device_run_in_the_callers_memory(rng, product):
    memory = SimMemory()
    function = nvfp4.on_device(product, "sim")
    call = None
    for rows in (70, 9):
        arguments = list_arguments(rng, rows)
        wanted = product.run(*arguments)
        there = [each if np.ndim(each) == 0 else memory.put(each) for each in arguments]
        assert function.result_shapes(*there) == [(rows, 128)]
        out = memory.put(np.full((rows, 128), np.nan, ml_dtypes.bfloat16))
        workspace = memory.put(np.full(max(function.workspace(*there), 1), 127, np.uint8))
        call = function.bind(there, [out], workspace)
        call.launch()
        assert memory.get(out).tobytes() == wanted.tobytes()
        # Other data at the same addresses.
        changed = list_arguments(rng, rows)
        for tensor, array in zip(there, changed):
            if isinstance(tensor, nvfp4.DeviceTensor):
                memory.copy(tensor.address, array.ctypes.data, array.nbytes)
        call.launch()
        assert memory.get(out).tobytes() == product.run(*changed).tobytes()


@pytest.mark.parametrize("change, message", [
    (lambda there, memory: there.__setitem__(0, np.zeros((70, 128), ml_dtypes.bfloat16)), "argument 0.*expected memory of a device, but got an array of numpy"),
    (lambda there, memory: there.__setitem__(0, nvfp4.DeviceTensor(there[0].address + 2, (70, 128), ml_dtypes.bfloat16, "sim")),
     "argument 0.*aligned to 16 bytes"),
    (lambda there, memory: there.__setitem__(3, memory.put(np.zeros(4, np.int32))), "argument 3.*shape"),
    (lambda there, memory: there.__setitem__(0, memory.put(np.zeros((70, 128), np.float16))), "argument 0.*(bf16|element)"),
    (lambda there, memory: there.pop(), "expected 7 arguments"),
    (lambda there, memory: there.__setitem__(3, [5, 6, 7]), "expected 7 arguments .* but got 9"),
    (lambda there, memory: there.__setitem__(3, "ends"), "argument 3.*expected a tensor of torch, a DeviceTensor or a DLPack tensor"),
])
def test_what_is_no_tensor_of_the_device_is_refused(rng, product, change, message):
    memory = SimMemory()
    function = nvfp4.on_device(product, "sim")
    there = [each if np.ndim(each) == 0 else memory.put(each) for each in list_arguments(rng, 70)]
    out = memory.put(np.full((70, 128), np.nan, ml_dtypes.bfloat16))
    workspace = memory.put(np.zeros(function.workspace(*there) + 1, np.uint8))
    change(there, memory)
    with pytest.raises(nvfp4.NVFP4Error, match=message):
        function.run(there, [out], workspace)
    assert np.isnan(memory.get(out).astype(np.float32)).all()


def test_extents_are_checked_and_bad_offsets_stay_within_memory(rng, product):
    """Offsets are data, which the host cannot read; extents are not."""
    memory, function = SimMemory(), nvfp4.on_device(product, "sim")
    arguments = list_arguments(rng, 70)
    there = [each if np.ndim(each) == 0 else memory.put(each) for each in arguments]
    out = memory.put(np.full((70, 128), np.nan, ml_dtypes.bfloat16))
    workspace = memory.put(np.zeros(function.workspace(*there) + 1, np.uint8))
    few = [memory.put(arguments[0][:60]), *there[1:]]
    with pytest.raises(nvfp4.DataError, match="dimension 0 of outs|M"):
        function.run(few, [out], workspace)
    for ends in ([-5, 1 << 30, 3], [71, 1000, 2], [-1, -1, -1]):
        there[3] = memory.put(np.array(ends, np.int32))
        function.run(there, [out], workspace)
        memory.get(out)


def test_a_workspace_that_is_too_small_is_refused(rng):
    """Rows that end within a block of 64 columns are copied there."""
    text = make_text("dense", "bf16", "nvfp4", "", ", wgmma").replace("x128xbf16", "x96xbf16").replace("128x128, nvfp4", "128x96, nvfp4")
    program = nvfp4.compile(text, "sm_90a+sim", memory="device", versions=1)
    memory, function = SimMemory(), nvfp4.on_device(program, "sim")
    packed = pack(random_scaled(rng, (128, 96), "nvfp4"), "nvfp4", "wgmma")
    arguments = [rng.standard_normal((37, 96)).astype(ml_dtypes.bfloat16), packed.values, packed.scales,
                 np.zeros(128, np.float32), np.float32(1), np.zeros((37, 128), np.float32)]
    there = [each if np.ndim(each) == 0 else memory.put(each) for each in arguments]
    size = function.workspace(*there)
    assert size >= 37 * 256
    out = memory.put(np.full((37, 128), np.nan, np.float32))
    with pytest.raises(nvfp4.NVFP4Error, match="nvfp4_function_workspace says how many"):
        function.run(there, [out], memory.put(np.zeros(size - 1, np.uint8)))
    wanted = program.run(*arguments).tobytes()
    # A workspace of the caller, and one that is made.
    for workspace in (memory.put(np.full(size, 127, np.uint8)), None):
        memory.copy(out.address, np.full((37, 128), np.nan, np.float32).ctypes.data, 37 * 512)
        function.run(there, [out], workspace)
        assert memory.get(out).tobytes() == wanted


def test_arrays_of_a_device_need_no_other_library(rng, product):
    arguments = list_arguments(rng, 33)
    there = [each if np.ndim(each) == 0 else nvfp4.DeviceArray.of(each, "sim") for each in arguments]
    for tensor, array in zip(there, arguments):
        if np.ndim(array):
            assert tensor.numpy().tobytes() == array.tobytes() and tensor.nbytes == array.nbytes
    function = nvfp4.on_device(product, "sim")
    result, = function.run(there)
    assert isinstance(result, nvfp4.DeviceArray) and result.numpy().tobytes() == product.run(*arguments).tobytes()
    there[0].copy_from(arguments[0][::-1])
    arguments[0] = np.ascontiguousarray(arguments[0][::-1])
    assert function.run(there)[0].numpy().tobytes() == product.run(*arguments).tobytes()
    with pytest.raises(nvfp4.ArgumentError, match="expected bfloat16 of shape \\(33, 128\\), but got float32"):
        there[0].copy_from(np.zeros((33, 128), np.float32))
    with pytest.raises(nvfp4.ArgumentError, match="expected device cuda or sim"):
        nvfp4.DeviceArray((2,), np.float32, "tpu")
    with pytest.raises(MemoryError):
        nvfp4.DeviceArray((1 << 60,), np.float32, "sim")
    for stream in (-1, True, "default", 1.5):
        with pytest.raises(nvfp4.ArgumentError, match="expected stream as the address of a CUstream or a stream of torch"):
            function.run(there, stream=stream)


def test_functions_on_memory_of_the_host_are_no_device_functions():
    program = nvfp4.compile(make_text("dense", "bf16", "nvfp4", "", ", wgmma"), "sm_90a+sim", versions=1)
    with pytest.raises(nvfp4.NVFP4Error, match="expected a function on device memory; compile it with --memory=device"):
        nvfp4.on_device(program, "sim")
    with pytest.raises(nvfp4.ArgumentError, match="expected device cuda or sim, or one by number such as cuda:1, but got 'gpu'"):
        nvfp4.on_device(program, "gpu")
