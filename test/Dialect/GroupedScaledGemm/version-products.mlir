// A product whose rows are known only when it runs has a version for few rows and for many, in branches on the extent.
// RUN: nvfp4-opt %s --gsg-version-products="target=sm_90a" --split-input-file | FileCheck %s
// RUN: nvfp4-opt %s --gsg-version-products="target=sm_90a most=2" --split-input-file | FileCheck %s --check-prefix=TWO
// RUN: nvfp4-opt %s --gsg-version-products="target=sm_90a most=1" --split-input-file | FileCheck %s --check-prefix=ONE --implicit-check-not=scf.if
// RUN: nvfp4-opt %s --gsg-version-products="target=sm_90a explain" --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: not nvfp4-opt %s --gsg-version-products="target=sm_90a most=0" --split-input-file 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error: expected most >= 1, but got 0

!w = !grouped_scaled_gemm.scaled<128x3072x4096, nvfp4>
// CHECK-LABEL: func @ragged
// CHECK: %[[ROWS:.*]] = memref.dim %arg0, %{{.*}} : memref<?x4096xbf16>
// CHECK: %[[FIRST:.*]] = arith.cmpi ule, %[[ROWS]], %{{.*}} : index
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: matmul <ragged_rows
// CHECK-SAME: strategy = #grouped_scaled_gemm.strategy<
// CHECK-NEXT: } else {
// CHECK: scf.if
// CHECK-NEXT: matmul <ragged_rows
// CHECK: else
// CHECK: scf.if
// CHECK-NEXT: matmul <ragged_rows
// CHECK: else
// The last version has the widest rows and no bound.
// CHECK-NEXT: matmul <ragged_rows
// CHECK-SAME: strategy<m = 248, n = 128, k = 128>
// TWO-LABEL: func @ragged
// TWO-COUNT-2: matmul
// ONE-LABEL: func @ragged
// ONE: matmul
// EXPLAIN: remark: 4 versions, predicted to lose 0.{{.}}% to the best tile in the mean and {{.}}.{{.}}% at worst
// EXPLAIN-NEXT: 1 to {{[0-9]+}} rows, for {{[0-9]+}}: <m = {{[0-9]+}}, n = {{128|256}}, k = {{128|256}}>
// EXPLAIN-COUNT-2: to {{[0-9]+}} rows, for {{[0-9]+}}: <
// EXPLAIN-NEXT: {{[0-9]+}} rows or more, for {{[0-9]+}}: <m = 248, n = 128, k = 128>
func.func @ragged(%x: memref<?x4096xbf16>, %w: memref<128x3072x2048xi8>, %s: memref<128x3072x256xf8E4M3FN>,
    %ends: memref<128xi32>, %y: memref<?x3072xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<128xi32>) lhs(%x : memref<?x4096xbf16>)
      rhs(%w scaled_by %s : memref<128x3072x2048xi8>, memref<128x3072x256xf8E4M3FN> as !w) outs(%y : memref<?x3072xbf16>)
  return
}

// -----

// Rows of a batch are those of one of its matrices: 128 of them have 128 times as many in all.
!w = !grouped_scaled_gemm.scaled<128x3072x4096, nvfp4>
// CHECK-LABEL: func @batched
// TWO-NOT: matmul
// TWO-LABEL: func @batched
// TWO: arith.cmpi ule, %{{.*}}, %c{{[0-9][0-9]?[0-9]?}} : index
// TWO-NEXT: scf.if
// TWO-NEXT: matmul <batched> {{.*}}expected_rows = {{[0-9]+}} : i64, strategy
func.func @batched(%x: memref<128x?x4096xbf16>, %w: memref<128x3072x2048xi8>, %s: memref<128x3072x256xf8E4M3FN>,
    %y: memref<128x?x3072xbf16>) {
  grouped_scaled_gemm.matmul <batched> lhs(%x : memref<128x?x4096xbf16>)
      rhs(%w scaled_by %s : memref<128x3072x2048xi8>, memref<128x3072x256xf8E4M3FN> as !w) outs(%y : memref<128x?x3072xbf16>)
  return
}

// -----

// What the user decides stays, and so do rows that are known here, or on the device alone.
!w = !grouped_scaled_gemm.scaled<8x3072x4096, nvfp4>
// CHECK-LABEL: func @stay
// CHECK-NOT: scf.if
func.func @stay(%x: memref<?x4096xbf16>, %few: memref<64x4096xbf16>, %w: memref<8x3072x2048xi8>, %s: memref<8x3072x256xf8E4M3FN>,
    %ends: memref<8xi32>, %y: memref<?x3072xbf16>, %z: memref<64x3072xbf16>, %slots: memref<8x?x4096xbf16>, %t: memref<8x?x3072xbf16>) {
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<8xi32>) lhs(%x : memref<?x4096xbf16>)
      rhs(%w scaled_by %s : memref<8x3072x2048xi8>, memref<8x3072x256xf8E4M3FN> as !w) outs(%y : memref<?x3072xbf16>)
      {expected_rows = 64 : i64}
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<8xi32>) lhs(%x : memref<?x4096xbf16>)
      rhs(%w scaled_by %s : memref<8x3072x2048xi8>, memref<8x3072x256xf8E4M3FN> as !w) outs(%y : memref<?x3072xbf16>)
      {strategy = #grouped_scaled_gemm.strategy<m = 32, n = 256, k = 128>}
  grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : memref<8xi32>) lhs(%few : memref<64x4096xbf16>)
      rhs(%w scaled_by %s : memref<8x3072x2048xi8>, memref<8x3072x256xf8E4M3FN> as !w) outs(%z : memref<64x3072xbf16>)
  grouped_scaled_gemm.matmul <masked> groups(%ends : memref<8xi32>) lhs(%slots : memref<8x?x4096xbf16>)
      rhs(%w scaled_by %s : memref<8x3072x2048xi8>, memref<8x3072x256xf8E4M3FN> as !w) outs(%t : memref<8x?x3072xbf16>)
  return
}

// -----

// Groups along K are not what the model is of.
!a = !grouped_scaled_gemm.scaled<?x256, nvfp4>
!b = !grouped_scaled_gemm.scaled<128x256, nvfp4>
// CHECK-LABEL: func @along_k
// CHECK-NOT: scf.if
func.func @along_k(%x: memref<?x128xi8>, %xs: memref<?x16xf8E4M3FN>, %w: memref<128x128xi8>, %ws: memref<128x16xf8E4M3FN>,
    %ends: memref<2xi32>, %y: memref<2x?x128xf32>) {
  grouped_scaled_gemm.matmul <ragged_k, align = 16> groups(%ends : memref<2xi32>)
      lhs(%x scaled_by %xs : memref<?x128xi8>, memref<?x16xf8E4M3FN> as !a)
      rhs(%w scaled_by %ws : memref<128x128xi8>, memref<128x16xf8E4M3FN> as !b) outs(%y : memref<2x?x128xf32>)
  return
}
