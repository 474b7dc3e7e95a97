// Tensors of f4E2M1FN come as packed bytes, which raised products read.
// REQUIRES: x86, python-numpy
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/make-product.py %t nvfp4 5 16 64
// DEFINE: %{inputs} = %t/x.npy,%t/xs.npy@f8E4M3FN,%t/w.npy,%t/ws.npy@f8E4M3FN,%t/out.npy
// DEFINE: %{pipeline} = nvfp4-pack-entry-points,raise-to-grouped-scaled-gemm
// RUN: nvfp4-run %s --entry=product --pass-pipeline='%{pipeline}' --inputs %{inputs} --outputs %t/run.npy --check=reference --exact | FileCheck %s
// RUN: cmp %t/run.npy %t/expected.npy
// CHECK: check of result 0: ok: 80 compared

// RUN: nvfp4-opt %s --pass-pipeline='builtin.module(%{pipeline})' | FileCheck %s --check-prefix=RAISED
// RAISED-LABEL: func.func @product
// RAISED-SAME: (%[[X:.*]]: tensor<?x32xi8>, %{{.*}}, %[[W:.*]]: tensor<16x32xi8>
// RAISED-NOT: linalg
// RAISED: make_scaled %[[X]],
// RAISED-NOT: linalg
// RAISED: make_scaled %[[W]],
// RAISED-LABEL: func.func @transposed

// Bytes of neighbours along another axis than K are unpacked, transposed and
// packed again, when the product runs.
// RAISED: linalg.generic
// RAISED: grouped_scaled_gemm.matmul
// RUN: %python %S/Inputs/transpose-packed.py %t/w.npy %t/kn.npy
// RUN: nvfp4-run %s --entry=transposed --pass-pipeline='%{pipeline}' --inputs %t/x.npy,%t/xs.npy@f8E4M3FN,%t/kn.npy,%t/ws.npy@f8E4M3FN,%t/out.npy --outputs %t/run-kn.npy --check=reference --exact | FileCheck %s
// RUN: cmp %t/run-kn.npy %t/expected.npy

// The interpreter knows what was not raised as well.
// RUN: nvfp4-run %s --entry=product --pass-pipeline=nvfp4-pack-entry-points --device=reference --inputs %{inputs} --outputs %t/interpreted.npy
// RUN: cmp %t/interpreted.npy %t/expected.npy

// Without packing, the message says how.
// RUN: not nvfp4-run %s --entry=product 2>&1 | FileCheck %s --check-prefix=FILES
// FILES: error: expected arguments of 'product' that files can hold, but got one of type tensor<?x64xf4E2M1FN>; nvfp4-pack-entry-points makes
// RUN: not nvfp4-compile %s --emit=llvm 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: argument 0 is 'tensor<?x64xf4E2M1FN>'; make the function private, or let it take bytes of two values with nvfp4-pack-entry-points

#mk = affine_map<(m, n, k) -> (m, k)>
#mb = affine_map<(m, n, k) -> (m, k floordiv 16)>
#nk = affine_map<(m, n, k) -> (n, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#nb = affine_map<(m, n, k) -> (n, k floordiv 16)>
#mn = affine_map<(m, n, k) -> (m, n)>
func.func @product(%x: tensor<?x64xf4E2M1FN>, %xs: tensor<?x4xf8E4M3FN>,
                   %w: tensor<16x64xf4E2M1FN>, %ws: tensor<16x4xf8E4M3FN>,
                   %out: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %y = linalg.generic {indexing_maps = [#mk, #mb, #nk, #nb, #mn],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>,
                             tensor<16x64xf4E2M1FN>, tensor<16x4xf8E4M3FN>)
      outs(%out : tensor<?x16xf32>) {
  ^bb0(%a: f4E2M1FN, %s: f8E4M3FN, %b: f4E2M1FN, %t: f8E4M3FN, %acc: f32):
    %ae = arith.extf %a : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %u = arith.mulf %ae, %se : f32
    %be = arith.extf %b : f4E2M1FN to f32
    %te = arith.extf %t : f8E4M3FN to f32
    %v = arith.mulf %be, %te : f32
    %p = arith.mulf %u, %v : f32
    %sum = arith.addf %acc, %p : f32
    linalg.yield %sum : f32
  } -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

func.func @transposed(%x: tensor<?x64xf4E2M1FN>, %xs: tensor<?x4xf8E4M3FN>,
                      %w: tensor<64x16xf4E2M1FN>, %ws: tensor<16x4xf8E4M3FN>,
                      %out: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %y = linalg.generic {indexing_maps = [#mk, #mb, #kn, #nb, #mn],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<?x64xf4E2M1FN>, tensor<?x4xf8E4M3FN>,
                             tensor<64x16xf4E2M1FN>, tensor<16x4xf8E4M3FN>)
      outs(%out : tensor<?x16xf32>) {
  ^bb0(%a: f4E2M1FN, %s: f8E4M3FN, %b: f4E2M1FN, %t: f8E4M3FN, %acc: f32):
    %ae = arith.extf %a : f4E2M1FN to f32
    %se = arith.extf %s : f8E4M3FN to f32
    %u = arith.mulf %ae, %se : f32
    %be = arith.extf %b : f4E2M1FN to f32
    %te = arith.extf %t : f8E4M3FN to f32
    %v = arith.mulf %be, %te : f32
    %p = arith.mulf %u, %v : f32
    %sum = arith.addf %acc, %p : f32
    linalg.yield %sum : f32
  } -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
