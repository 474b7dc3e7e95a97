# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compile, run, ir, explain, save and load, and exceptions with the compiler's diagnostics."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from nvfp4._device_programs import has_ptxas
from nvfp4_formats import FORMATS, random_scaled

EXPERTS = """
!act = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!w   = !grouped_scaled_gemm.scaled<3x32x64, nvfp4>
func.func @experts(%x: !act, %w: !w, %ends: tensor<3xi32>, %out: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<3xi32>)
      lhs(%x : !act) rhs(%w : !w) outs(%out : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
func.func @twice(%x: memref<?xf32>, %a: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xf32>
    %w = arith.mulf %v, %a : f32
    memref.store %w, %x[%i] : memref<?xf32>
  }
  return
}
func.func @halves(%x: !act) -> (!act, index) {
  %c7 = arith.constant 7 : index
  return %x, %c7 : !act, index
}
"""


@pytest.fixture(scope="module")
def program():
    return nvfp4.compile(EXPERTS)


@pytest.fixture
def operands(rng):
    x, w = random_scaled(rng, (20, 64), "nvfp4"), random_scaled(rng, (3, 32, 64), "nvfp4")
    ends = np.array([5, 5, 17], np.int32)
    expected = np.full((20, 32), 13.0, np.float32)
    for g, (begin, end) in enumerate(((0, 5), (5, 5), (5, 17))):
        expected[begin:end] = x.values()[begin:end] @ w.values()[g].T
    return x.store(), w.store(), ends, expected


def test_functions_describe_themselves(program):
    assert set(program.functions) == {"experts", "twice", "halves"}
    values = program.functions["experts"].arguments
    assert [v.role for v in values] == ["values", "scales", "values", "scales", "plain", "plain"]
    assert values[0].shape == (-1, 32) and values[1].element == "f8E4M3FN"
    assert program.functions["twice"].arguments[0].is_mutable
    assert "memref<?xf32>" in repr(program)


def test_run_takes_pairs_tensors_and_parts(program, operands):
    x, w, ends, expected = operands
    out = np.full((20, 32), 13.0, np.float32)
    for arguments in ((x, w), (*x, *w), (nvfp4.ScaledTensor(*x), nvfp4.ScaledTensor(*w))):
        result = program.run(*arguments, ends, out, entry="experts")
        np.testing.assert_array_equal(result, expected)
    assert (out == 13).all()  # tensors are values


def test_memrefs_are_written_in_place(program):
    x = np.arange(5, dtype=np.float32)
    assert program.run(x, 3, entry="twice") is None
    np.testing.assert_array_equal(x, 3 * np.arange(5))
    x.flags.writeable = False
    with pytest.raises(nvfp4.ArgumentError, match="read-only"):
        program.run(x, 3, entry="twice")


def test_results_are_scaled_tensors_and_scalars(program, rng):
    x = random_scaled(rng, (7, 64), "nvfp4")
    result, seven = program.run(x.store(), entry="halves")
    assert isinstance(result, nvfp4.ScaledTensor) and result.shape == (7, 64) and seven == 7
    np.testing.assert_array_equal(result.values, x.store()[0])


def test_data_out_of_range_names_its_constraint(program, operands):
    x, w, _, expected = operands
    with pytest.raises(nvfp4.DataError, match="expected group ends") as error:
        program.run(x, w, np.array([5, 5, 21], np.int32), expected, entry="experts")
    assert error.value.constraint == "grouping_c6"
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("change,message", [
    (lambda a: (a[0][:, ::2], *a[1:]), "row-major"),
    (lambda a: (a[0].astype(np.float64), *a[1:]), "i8"),
    (lambda a: (a[0][:, :16].copy(), *a[1:]), "shape"),
    (lambda a: a[:-1], "expected 6 arguments"),
    (lambda a: (*a[:-2], a[-2].astype(np.int64), a[-1]), "i32"),
    (lambda a: (*a[:-1], "text"), "tensor|type")])
def test_wrong_arguments_are_named(program, operands, change, message):
    x, w, ends, expected = operands
    with pytest.raises(nvfp4.ArgumentError, match=message):
        program.run(*change((*x, *w, ends, expected)), entry="experts")


def test_codes_of_a_byte_each_are_packed_or_refused(operands):
    x, w, ends, expected = operands
    program = nvfp4.compile(EXPERTS + """
func.func @bytes(%x: tensor<?x32xi8>, %y: memref<?x32xi8>) {
  return
}
func.func @floats(%x: tensor<?x32xf8E4M3FN>) {
  return
}
func.func @stores(%x: memref<?x32xi8> {grouped_scaled_gemm.values_of = !act},
                  %s: memref<?x4xf8E4M3FN> {grouped_scaled_gemm.scales_of = !act}) {
  return
}
""")
    codes = np.stack([x[0] & 15, x[0] >> 4], -1).reshape(20, 64)
    wide = codes.view(ml_dtypes.float4_e2m1fn)
    for pair in (((wide, x[1]),), (wide, x[1])):
        np.testing.assert_array_equal(program.run(*pair, w, ends, expected.copy(), entry="experts"), expected)
    with pytest.raises(nvfp4.ArgumentError, match="argument 0 of 'experts': expected K = 64, but got float4_e2m1fn of"):
        program.run(wide[:, :63].copy(), x[1], w, ends, expected, entry="experts")
    plain, half = np.zeros((20, 32), np.uint8), np.ascontiguousarray(codes[:, :32])
    for kind in (ml_dtypes.float4_e2m1fn, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float6_e2m3fn):
        for index, call in enumerate((lambda a: program.run(a, plain, entry="bytes"),
                                      lambda a: program.run(plain, a, entry="bytes"))):
            with pytest.raises(nvfp4.ArgumentError, match=f"argument {index} of 'bytes', .*, as uint8, but got "):
                call(half.view(kind))
    with pytest.raises(nvfp4.ArgumentError, match="argument 0 of 'stores', .* as uint8, but got float4_e2m1fn; two"):
        program.run(wide, x[1], entry="stores")
    with pytest.raises(nvfp4.ArgumentError, match="as uint8, but got int4"):
        program.run(codes.view(ml_dtypes.int4), x[1], w, ends, expected, entry="experts")
    with pytest.raises(nvfp4.ArgumentError, match="as float8_e4m3fn or bytes, but got float8_e5m2"):
        program.run(half.view(ml_dtypes.float8_e5m2), entry="floats")
    for kind in (np.int8, ml_dtypes.float8_e8m0fnu):
        program.run(half.view(kind), plain, entry="bytes")
    program.run(half, entry="floats")


def test_entries_are_chosen_by_name(program):
    with pytest.raises(nvfp4.ArgumentError, match="entry="):
        program.run()
    with pytest.raises(nvfp4.NotFoundError, match="experts, twice, halves"):
        program.run(entry="thrice")


def test_diagnostics_show_place_source_and_constraint():
    with pytest.raises(nvfp4.CompileError) as error:
        nvfp4.compile(EXPERTS.replace("3x32x64", "3x32x48"), name="layer.mlir")
    first = error.value.diagnostics[0]
    assert (first.severity, first.file, first.line) == ("error", "layer.mlir", 5)
    assert "equal K, but got 64 and 48" in first.message
    assert "grouped_scaled_gemm.matmul" in first.source
    assert str(error.value).splitlines()[-1].strip() == "^"


@pytest.mark.parametrize("text", ["", "(" * 10000, "\0", "func.func", "!x", "ML\xefR", "module {} module {}"])
def test_hostile_text_is_a_compile_error(text):
    with pytest.raises(nvfp4.CompileError):
        nvfp4.compile(text)


@pytest.mark.parametrize("text", [None, b"module {}", 7])
def test_text_is_a_string(text):
    for function in (nvfp4.compile, nvfp4.explain):
        with pytest.raises(nvfp4.ArgumentError, match=f"^expected the text of a .* got {type(text).__name__}$"):
            function(text)


def test_options_are_checked():
    with pytest.raises(nvfp4.CompileError, match="expected target"):
        nvfp4.compile(EXPERTS, target="sm_20")
    for isa in ("mmx", "avx2,mmx"):
        with pytest.raises(nvfp4.ArgumentError, match="^expected isa native, all, .*generic, avx2, .*, amx, but got 'mmx'$"):
            nvfp4.compile(EXPERTS, isa=isa)
    with pytest.raises(nvfp4.ArgumentError, match="sm_100a"):
        nvfp4.compile(EXPERTS, device="sim")
    with pytest.raises(nvfp4.ArgumentError, match="sm_100a\\+sim"):
        nvfp4.compile(EXPERTS, "sm_100a+tpu")
    for other in ("cuda", "cuda:1", "sim:1", "cpu"):
        with pytest.raises(nvfp4.ArgumentError, match=f"expected device sim or none for target 'sm_100a\\+sim', .* but got '{other}'"):
            nvfp4.compile(EXPERTS, "sm_100a+sim", device=other)


def test_ir_at_every_stage(program):
    assert "lhs(%arg0 : !" in program.ir("input") or "lhs(%x" in program.ir("input")
    assert "scaled_by" in program.ir("decomposed")
    bufferized = program.ir("bufferized")
    assert "memref<" in bufferized and "grouped_scaled_gemm.matmul" in bufferized
    assert "grouped_scaled_gemm.store_result" in program.ir("epilogues")
    loops = program.ir("loops")
    assert "lhs(" not in loops and "scf.for" in loops
    assert "llvm.func" in program.ir("llvm-dialect") and "define " in program.ir("llvm")
    assert ".text" in program.ir("asm")
    names = program.stages
    assert names[0] == "input" and "convert-gsg-to-cpu" in names and len(set(names)) == len(names)
    assert program.ir(names[3])
    with pytest.raises(nvfp4.NotFoundError, match="convert-gsg-to-cpu"):
        program.ir("no-such-stage")


def test_pipelines_of_the_user(program):
    text = program.transformed("builtin.module(gsg-decompose-scaled,cse)")
    assert "scaled_by" in text and "scaled_by" not in program.ir("input")
    with pytest.raises(nvfp4.CompileError, match="no-such-pass"):
        program.transformed("no-such-pass")


DEQUANTISED = """
#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#nb = affine_map<(m, n, k) -> (n, k floordiv 32)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @f(%x: tensor<?x64xbf16>, %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>,
             %out: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %y = linalg.generic {indexing_maps = [#mk, #nk, #nb, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w, %ws : tensor<?x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>) outs(%out : tensor<?x16xf32>) {
  ^bb0(%a: bf16, %b: f8E4M3FN, %s: f8E8M0FNU, %acc: f32):
    %c = arith.extf %a : bf16 to f32
    %v = arith.scaling_extf %b, %s : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %c, %v : f32
    %t = arith.addf %acc, %p : f32
    linalg.yield %t : f32
  } -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
"""


def test_a_pipeline_may_come_first(rng):
    """IR of exporters: raised, then compiled."""
    program = nvfp4.compile(DEQUANTISED, pipeline="builtin.module(raise-to-grouped-scaled-gemm)")
    assert "grouped_scaled_gemm.matmul" in program.ir() and "linalg.generic" not in program.ir()
    x = rng.integers(-8, 9, (5, 64)).astype(ml_dtypes.bfloat16)
    w = rng.integers(-8, 9, (16, 64)).astype(ml_dtypes.float8_e4m3fn)
    scales = np.exp2(rng.integers(-2, 3, (16, 2))).astype(ml_dtypes.float8_e8m0fnu)
    out = np.ones((5, 16), np.float32)
    weights = w.astype(float) * np.repeat(scales.astype(float), 32, -1)
    np.testing.assert_array_equal(program.run(x, w, scales, out), 1 + x.astype(float) @ weights.T)
    with pytest.raises(nvfp4.CompileError, match="no-such-pass"):
        nvfp4.compile(DEQUANTISED, pipeline="builtin.module(no-such-pass)")


def test_remarks_come_with_the_error():
    """Operations that are not raised have no code, and the reason is a remark; errors are before remarks."""
    text = DEQUANTISED.replace("floordiv 32", "floordiv 8").replace("16x2xf8E8M0FNU", "16x8xf8E8M0FNU")
    with pytest.raises(nvfp4.CompileError, match="error: (.|\n)*remark: not raised: .* blocks of 8") as error:
        nvfp4.compile(text, pipeline="builtin.module(raise-to-grouped-scaled-gemm{explain},canonicalize)")
    kinds = [d.severity for d in error.value.diagnostics]
    assert kinds == sorted(kinds) and set(kinds) == {"error", "remark"}


def test_explain_lists_strategies(program):
    text = program.explain()
    assert "strategy" in text and "sm_100a" in text
    for target in ("sm_100a", "sm_90a"):
        text = program.explain(target)
        assert f" on {target}; predictions" in text and "floor " in text and "chosen; " in text and "illegal: " in text
    with pytest.raises(nvfp4.CompileError):
        program.explain("sm_20")


def test_text_is_explained_where_no_code_is_made():
    text = EXPERTS[:EXPERTS.index("func.func @twice")]
    assert nvfp4.explain(text, "sm_90a") == nvfp4.compile(text).explain("sm_90a")
    refused = text.replace(
        "-> tensor<?x32xf32>\n  return", "{strategy = #grouped_scaled_gemm.strategy<m = 96>} -> tensor<?x32xf32>\n  return")
    with pytest.raises(nvfp4.CompileError, match="96"):
        nvfp4.explain(refused, name="layer.mlir")
    assert "strategy" in nvfp4.explain(DEQUANTISED, "sm_90a", pipeline="builtin.module(raise-to-grouped-scaled-gemm)")
    with pytest.raises(nvfp4.CompileError, match="<text>:1"):
        nvfp4.explain("nonsense")


def test_saved_programs_load_without_a_compiler(program, operands, tmp_path):
    x, w, ends, expected = operands
    program.save(tmp_path / "experts.so")
    loaded = nvfp4.load(tmp_path / "experts.so")
    np.testing.assert_array_equal(loaded.run(x, w, ends, expected.copy(), entry="experts"), expected)
    with pytest.raises(nvfp4.NotFoundError):
        nvfp4.load(tmp_path / "nothing.so")
    (tmp_path / "text.so").write_text("no artefact")
    with pytest.raises(nvfp4.NVFP4Error):
        nvfp4.load(tmp_path / "text.so")


def test_products_become_kernels_in_the_simulator(operands):
    x, w, ends, expected = operands
    program = nvfp4.compile(EXPERTS[:EXPERTS.index("func.func @twice")], "sm_100a+sim")
    np.testing.assert_array_equal(program.run(x, w, ends, expected.copy()), expected)
    assert "tcgen05" in program.ir("ptx") and "warpspec." in program.ir("warpspec")
    assert "ptx" in program.stages


@pytest.mark.skipif(not has_ptxas(), reason="needs NVIDIA's ptxas")
@pytest.mark.parametrize("target", ["sm_90a", "sm_100a", "sm_100f"])
def test_assembled_kernels_run_in_the_simulator_as_well(target, operands, tmp_path):
    x, w, ends, expected = operands
    text = EXPERTS[:EXPERTS.index("func.func @twice")]
    plain, assembled = (nvfp4.compile(text, target, device="sim", assemble=each) for each in (False, True))
    np.testing.assert_array_equal(assembled.run(x, w, ends, expected.copy()), plain.run(x, w, ends, expected.copy()))
    assembled.save(tmp_path / "experts.so")
    assert b"\177ELF" in (tmp_path / "experts.so").read_bytes()[4:]
    loaded = nvfp4.load(tmp_path / "experts.so", device="sim")
    np.testing.assert_array_equal(loaded.run(x, w, ends, expected.copy()), expected)


def test_the_interpreter_is_at_hand(program, operands, rng):
    x, w, ends, expected = operands
    out = np.full((20, 32), 13.0, np.float32)
    np.testing.assert_array_equal(program.reference(x, w, ends, out, entry="experts"), expected)
    half, seven = program.reference(x, entry="halves")
    assert isinstance(half, nvfp4.ScaledTensor) and seven == 7
    report = program.check(x, w, ends, out, entry="experts", exact=True)
    assert "0 not equal" in report and "100 % equal" in report
    rough = [random_scaled(rng, s, "nvfp4", lattice=False).store() for s in ((20, 64), (3, 32, 64))]
    assert "0 beyond the bound" in program.check(*rough, ends, out, entry="experts", sampled=4)
    with pytest.raises(nvfp4.CompileError, match="group ends.* at most 20, but got 21"):
        program.reference(x, w, np.array([5, 5, 21], np.int32), out, entry="experts")
    with pytest.raises(nvfp4.CompileError, match="memref"):
        program.reference(np.zeros(3, np.float32), 2.0, entry="twice")


def test_threads_change_no_bit(program, rng):
    x = random_scaled(rng, (20, 64), "nvfp4", lattice=False).store()
    w = random_scaled(rng, (3, 32, 64), "nvfp4", lattice=False).store()
    ends, out = np.array([4, 9, 20], np.int32), np.full((20, 32), np.nan, np.float32)
    try:
        results = []
        for count in (1, 2, 3):
            nvfp4.set_num_threads(count)
            assert nvfp4.num_threads() == count
            results.append(program.run(x, w, ends, out, entry="experts"))
    finally:
        nvfp4.set_num_threads(0)
    assert np.isfinite(results[0]).all()
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    assert nvfp4.cpu_isa() in ("generic", "avx2", "avx512vnni", "avx512bf16", "amx") and FORMATS
