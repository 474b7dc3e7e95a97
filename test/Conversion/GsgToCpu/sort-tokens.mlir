// RUN: nvfp4-opt %s --convert-gsg-to-cpu --canonicalize | FileCheck %s

// A stable counting sort runs on one thread, since the order of equal experts
// is part of the result: rows are marked as empty, experts counted, counts
// become aligned first rows, and pairs are placed.

// CHECK-LABEL: func @sort_tokens(
// CHECK-SAME:    %[[EXPERTS:.*]]: memref<?x8xi32>, %[[ENDS:.*]]: memref<64xi32>,
// CHECK-SAME:    %[[TOKEN_OF_ROW:.*]]: memref<?xi32>, %[[ROW_OF_SLOT:.*]]: memref<?x8xi32>
// CHECK-NOT:     scf.parallel
// CHECK:         scf.for
// CHECK:           memref.store %c-1{{.*}}, %[[TOKEN_OF_ROW]]
// CHECK:         scf.for
// CHECK:           memref.store %c0{{.*}}, %[[ENDS]]
// CHECK:         memref.load %[[EXPERTS]]
// CHECK:         memref.store %{{.*}}, %[[ENDS]]
// CHECK:         arith.ceildivui %{{.*}}, %c128
// CHECK:         memref.load %[[EXPERTS]]
// CHECK:         memref.store %{{.*}}, %[[TOKEN_OF_ROW]]
// CHECK:         memref.store %{{.*}}, %[[ROW_OF_SLOT]]
// CHECK-NOT:     scf.parallel
// CHECK:         return
func.func @sort_tokens(%experts: memref<?x8xi32>, %ends: memref<64xi32>,
                       %tokens: memref<?xi32>, %rows: memref<?x8xi32>) {
  grouped_scaled_gemm.sort_tokens(%experts : memref<?x8xi32>)
      outs(%ends, %tokens, %rows : memref<64xi32>, memref<?xi32>, memref<?x8xi32>)
      {align = 128 : i64}
  return
}
