// IR of an exporter, which dequantises and multiplies, is raised before it is
// compiled: on a CPU, as an artefact and as a kernel for Blackwell.
// REQUIRES: x86, python-numpy
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/make-product.py %t mxfp8 5 16 64
// DEFINE: %{raise} = --pass-pipeline='builtin.module(raise-to-grouped-scaled-gemm,canonicalize)'
// DEFINE: %{inputs} = --inputs %t/x.npy@f8E4M3FN,%t/xs.npy@f8E8M0FNU,%t/w.npy@f8E4M3FN,%t/ws.npy@f8E8M0FNU,%t/out.npy
// RUN: nvfp4-run %s %{raise} %{inputs} --outputs %t/run.npy --check=reference --exact | FileCheck %s
// RUN: cmp %t/run.npy %t/expected.npy
// RUN: nvfp4-compile %s %{raise} -o %t/product.so
// RUN: nvfp4-run %t/product.so %{inputs} --outputs %t/so.npy --reference=%s %{raise} --check=reference | FileCheck %s
// RUN: cmp %t/so.npy %t/expected.npy
// CHECK: check of result 0: ok: 80 compared

// RUN: nvfp4-compile %s %{raise} --target=sm_100a --emit=ptx | FileCheck %s --check-prefix=PTX
// PTX: tcgen05.mma{{.*}}mxf8f6f4
// RUN: nvfp4-compile %s %{raise} --target=sm_100a --explain 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: remark: {{.*}}strategy

// What was not raised may have no code.
// RUN: not nvfp4-compile %s --emit=llvm 2>&1 | FileCheck %s --check-prefix=NOTRAISED
// NOTRAISED: error: 'arith.extf' op on ('f8E8M0FNU') -> ('f32') has no lowering to LLVM IR; where it dequantises an operand of a product, raise-to-grouped-scaled-gemm makes it a part of that, or says with its option explain why not

// What cannot be parsed, and what a pass refuses, ends the tools.
// RUN: not nvfp4-compile %s --pass-pipeline='no-such-pass' --emit=llvm 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not nvfp4-run %s --pass-pipeline='builtin.module(no-such-pass)' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: the pipeline 'no-such-pass' could not be parsed: {{.*}}'no-such-pass' does not refer to a registered pass or pass pipeline
// RUN: not nvfp4-compile %s --pass-pipeline='cse,canonicalize{nope=1}' --emit=llvm 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: error: the pipeline 'cse,canonicalize{nope=1}' could not be parsed: {{.*}}no such option nope
// RUN: not nvfp4-compile %s --pass-pipeline='convert-gsg-to-cpu{isa=z80}' --emit=llvm 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: error: {{.*}}z80
// REFUSED: error: the pipeline 'convert-gsg-to-cpu{isa=z80}' failed
// RUN: not nvfp4-run %t/product.so --pass-pipeline=cse 2>&1 | FileCheck %s --check-prefix=ARTEFACT
// ARTEFACT: error: expected --reference=module.mlir with --pass-pipeline, which is for modules; '{{.*}}product.so' is an artefact

#mk = affine_map<(m, n, k) -> (m, k)>
#mb = affine_map<(m, n, k) -> (m, k floordiv 32)>
#nk = affine_map<(m, n, k) -> (n, k)>
#nb = affine_map<(m, n, k) -> (n, k floordiv 32)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @product(%x: tensor<?x64xf8E4M3FN>, %xs: tensor<?x2xf8E8M0FNU>,
                   %w: tensor<16x64xf8E4M3FN>, %ws: tensor<16x2xf8E8M0FNU>,
                   %out: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %y = linalg.generic {indexing_maps = [#mk, #mb, #nk, #nb, #mn],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>,
                             tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
      outs(%out : tensor<?x16xf32>) {
  ^bb0(%a: f8E4M3FN, %s: f8E8M0FNU, %b: f8E4M3FN, %t: f8E8M0FNU, %acc: f32):
    %u = arith.scaling_extf %a, %s : f8E4M3FN, f8E8M0FNU to f32
    %v = arith.scaling_extf %b, %t : f8E4M3FN, f8E8M0FNU to f32
    %p = arith.mulf %u, %v : f32
    %sum = arith.addf %acc, %p : f32
    linalg.yield %sum : f32
  } -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
