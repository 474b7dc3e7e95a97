// RUN: nvfp4-opt %s --convert-gsg-to-cpu --split-input-file | FileCheck %s

// Rows in parallel; whole blocks of a row are read, quantised and packed as
// vectors, and a scale byte is stored for each. The last block of 100 is not
// full; 96 has no such block.

!s = !grouped_scaled_gemm.scaled<?x100, nvfp4>

// CHECK-LABEL: func @dense(
// CHECK-NOT:     grouped_scaled_gemm
// CHECK:         scf.parallel
// CHECK:           scf.for
// CHECK:             llvm.load {{.*}} -> vector<16xi16>
// CHECK:             vector.reduction <maxui>
// CHECK:             llvm.store {{.*}} : vector<8xi8>
// CHECK:             llvm.store {{.*}} : i8
// CHECK:           scf.if
// CHECK:             llvm.intr.masked.load
// CHECK:             llvm.intr.masked.store
// CHECK-NOT:     arith.{{(truncf|extf)}} {{.*}}f8
// CHECK:         return
func.func @dense(%x: memref<?x100xbf16>, %q: memref<?x50xi8>,
                 %s: memref<?x7xf8E4M3FN>) {
  grouped_scaled_gemm.quantize <trtllm>(%x : memref<?x100xbf16>)
      outs(%q scaled_by %s : memref<?x50xi8>, memref<?x7xf8E4M3FN> as !s)
  return
}

!t = !grouped_scaled_gemm.scaled<?x96, nvfp4>

// CHECK-LABEL: func @whole_blocks(
// CHECK-NOT:     masked
// CHECK:         return
func.func @whole_blocks(%x: memref<?x96xbf16>, %q: memref<?x48xi8>,
                        %s: memref<?x6xf8E4M3FN>) {
  grouped_scaled_gemm.quantize <trtllm>(%x : memref<?x96xbf16>)
      outs(%q scaled_by %s : memref<?x48xi8>, memref<?x6xf8E4M3FN> as !t)
  return
}

// -----

// Ragged rows: one thread resolves the offsets into a table, then each row
// looks up its group.

!s = !grouped_scaled_gemm.scaled<?x96, nvfp4, blocked, starts = compact>

// CHECK-LABEL: func @ragged(
// CHECK:         %[[TABLE:.*]] = memref.alloc(%{{.*}}) : memref<?x3xi64>
// CHECK:         scf.for
// CHECK:           memref.store {{.*}}, %[[TABLE]]
// CHECK:         scf.parallel
// CHECK:           scf.while
// CHECK:             memref.load %[[TABLE]]
// CHECK:         memref.dealloc %[[TABLE]]
func.func @ragged(%x: memref<?x96xbf16>, %ends: memref<8xi32>,
                  %q: memref<?x48xi8>, %s: memref<?x2x32x4x4xf8E4M3FN>) {
  grouped_scaled_gemm.quantize <trtllm>(%x : memref<?x96xbf16>)
      groups(%ends : memref<8xi32>) as <ragged_rows, ends>
      outs(%q scaled_by %s : memref<?x48xi8>, memref<?x2x32x4x4xf8E4M3FN> as !s)
  return
}
