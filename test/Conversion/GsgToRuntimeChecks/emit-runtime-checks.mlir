// RUN: nvfp4-opt %s --gsg-emit-runtime-checks --split-input-file | FileCheck %s

// What is static is not checked: only the entries are read.

// permute_c4
// CHECK-DAG:  @[[PLACE:nvfp4_check_text_[0-9]+]]("{{.*}}runtime-checks.mlir:[[# @LINE + 16]]:3: grouped_scaled_gemm.permute\00")
// CHECK-DAG:  @[[LABEL:nvfp4_check_text_[0-9]+]]("permute_c4\00")
// CHECK-DAG:  @[[NAME:nvfp4_check_text_[0-9]+]]("token_of_row\00")
// CHECK:      func @permute(
// CHECK-NOT:  nvfp4_check_equal
// CHECK-DAG:    %[[W:.*]] = llvm.mlir.addressof @[[PLACE]]
// CHECK-DAG:    %[[L:.*]] = llvm.mlir.addressof @[[LABEL]]
// CHECK-DAG:    %[[N:.*]] = llvm.mlir.addressof @[[NAME]]
// CHECK:        %[[OK:.*]] = llvm.call @nvfp4_check_indices(%[[W]], %[[L]], %[[N]],
// CHECK:        %[[HOLDS:.*]] = arith.cmpi ne, %[[OK]],
// CHECK:        scf.if %[[HOLDS]] {
// CHECK-NEXT:     grouped_scaled_gemm.permute
// CHECK-NEXT:   }
// CHECK-NEXT:   return
func.func @permute(%x: memref<8x64xbf16>, %t: memref<16xi32>) -> memref<16x64xbf16> {
  %y = memref.alloc() : memref<16x64xbf16>
  grouped_scaled_gemm.permute(%x : memref<8x64xbf16>) by(%t : memref<16xi32>)
      outs(%y : memref<16x64xbf16>)
  return %y : memref<16x64xbf16>
}

// -----

// Nothing to ask: the operation stays as it is.

// CHECK-LABEL: func @static(
// CHECK-NEXT:    memref.alloc
// CHECK-NEXT:    grouped_scaled_gemm.hadamard
// CHECK-NEXT:    return
func.func @static(%x: memref<4x32xf32>) -> memref<4x32xf32> {
  %y = memref.alloc() : memref<4x32xf32>
  grouped_scaled_gemm.hadamard %x outs(%y) : memref<4x32xf32>, memref<4x32xf32>
  return %y : memref<4x32xf32>
}

// -----

// dest_c3: two buffers of the caller may be one. Each is rows of bytes: address,
// rows, bytes a row, bytes from row to row.

// CHECK-LABEL: func @buffers(
// CHECK:         %[[SAME:.*]] = llvm.call @nvfp4_check_disjoint(
// CHECK:         %[[APART:.*]] = arith.cmpi ne, %[[SAME]]
// CHECK:         scf.if %[[APART]]
// CHECK-NEXT:      grouped_scaled_gemm.hadamard
func.func @buffers(%x: memref<4x32xf32>, %y: memref<4x32xf32, strided<[64, 1], offset: ?>>) {
  grouped_scaled_gemm.hadamard %x outs(%y) : memref<4x32xf32>, memref<4x32xf32, strided<[64, 1], offset: ?>>
  return
}

// -----

// Of many operands the runtime compares each output with the others in a table:
// a call for each pair would be outputs times operands calls.

// CHECK-LABEL: func @many_buffers(
// CHECK:         %[[TABLE:.*]] = llvm.alloca %{{.*}} x i64
// CHECK-NOT:     nvfp4_check_disjoint
// CHECK-COUNT-50: llvm.store
// CHECK-NOT:     llvm.store
// CHECK:         llvm.call @nvfp4_check_all_disjoint({{.*}}, %[[TABLE]], %c10_i64{{.*}}, %c2_i64
// CHECK-NOT:     nvfp4_check_all_disjoint
// CHECK:         grouped_scaled_gemm.matmul_list
!v = memref<16x32xi8>
!s = memref<16x4xf8E4M3FN>
!t = !grouped_scaled_gemm.scaled<16x64, nvfp4>
func.func @many_buffers(%a: !v, %as: !s, %b: !v, %bs: !s, %c: !v, %cs: !s, %d: !v, %ds: !s,
                        %x: memref<16x16xf32>, %y: memref<16x16xf32>) {
  grouped_scaled_gemm.matmul_list
      lhs(%a scaled_by %as : !v, !s as !t, %b scaled_by %bs : !v, !s as !t)
      rhs(%c scaled_by %cs : !v, !s as !t, %d scaled_by %ds : !v, !s as !t)
      outs(%x, %y : memref<16x16xf32>, memref<16x16xf32>)
  return
}

// -----

// Integer results are defined whatever the data hold, since they may be sizes or
// addresses of what follows.

// sort_tokens_c4, sort_tokens_c5, sort_tokens_c6
// CHECK-LABEL: func @sort(
// CHECK-COUNT-2: llvm.call @nvfp4_check_range(
// CHECK:         llvm.call @nvfp4_check_indices(
// CHECK:         scf.if
// CHECK-NEXT:      grouped_scaled_gemm.sort_tokens
// CHECK:         } else {
// CHECK-COUNT-3:   linalg.fill
// CHECK:         }
func.func @sort(%e: memref<?x4xi32>, %ends: memref<8xi32>, %t: memref<?xi32>,
                %r: memref<?x4xi32>) {
  grouped_scaled_gemm.sort_tokens(%e : memref<?x4xi32>)
      outs(%ends, %t, %r : memref<8xi32>, memref<?xi32>, memref<?x4xi32>)
  return
}

// -----

// All checks stand before the product and none is in a parallel loop; offsets
// are read with their stride.

// grouping_c5, grouping_c6
// CHECK-LABEL: func @strided(
// CHECK-NOT:     scf.parallel
// CHECK:         llvm.call @nvfp4_check_equal(
// CHECK:         %{{.*}}, %[[OFFSET:.*]], %[[SIZE:.*]], %[[STRIDE:.*]] = memref.extract_strided_metadata %{{.*}} : memref<?xi64, strided<[?], offset: ?>>
// CHECK:         arith.index_cast %[[STRIDE]]
// CHECK:         llvm.call @nvfp4_check_groups(
// CHECK:         arith.andi
// CHECK:         scf.if
// CHECK-NEXT:      grouped_scaled_gemm.matmul
!x = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!w = !grouped_scaled_gemm.scaled<?x96x64, nvfp4>
func.func @strided(%x: memref<?x32xi8>, %xs: memref<?x4xf8E4M3FN>,
                   %w: memref<?x96x32xi8>, %ws: memref<?x96x4xf8E4M3FN>,
                   %ends: memref<?xi64, strided<[?], offset: ?>>,
                   %y: memref<?x96xf32>) {
  grouped_scaled_gemm.matmul <ragged_rows, ends>
      groups(%ends : memref<?xi64, strided<[?], offset: ?>>)
      lhs(%x scaled_by %xs : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !x)
      rhs(%w scaled_by %ws : memref<?x96x32xi8>, memref<?x96x4xf8E4M3FN> as !w)
      outs(%y : memref<?x96xf32>)
  return
}

// -----

// combine_c2, combine_c3, combine_c4
// CHECK-DAG:  "T of weights\00"
// CHECK-DAG:  "k of weights\00"
// CHECK-DAG:  "N of outs\00"
// CHECK-DAG:  "row_of_slot\00"
// CHECK:      func @combine(
// CHECK-COUNT-4: llvm.call @nvfp4_check_equal(
// CHECK:      llvm.call @nvfp4_check_indices(
func.func @combine(%x: memref<?x?xbf16>, %r: memref<?x?xi32>,
                   %w: memref<?x?xf32>, %y: memref<?x?xbf16>) {
  grouped_scaled_gemm.combine(%x : memref<?x?xbf16>) by(%r : memref<?x?xi32>)
      weights(%w : memref<?x?xf32>) outs(%y : memref<?x?xbf16>)
  return
}

// -----

// quantizer_c8: one number is looked at where the code runs, entries by group
// are not. What quantises nothing may have any.

// CHECK-LABEL: func @one_scale(
// CHECK-SAME:    %[[X:.*]]: memref<?x64xf32>, %[[S:.*]]: f32,
// CHECK:         %[[USERS:.*]] = arith.muli
// CHECK:         llvm.call @nvfp4_check_positive({{.*}}, %[[S]], %[[USERS]])
// CHECK:         scf.if
// CHECK-NEXT:      grouped_scaled_gemm.quantize
!q = !grouped_scaled_gemm.scaled<?x64, nvfp4>
func.func @one_scale(%x: memref<?x64xf32>, %s: f32, %y: memref<?x32xi8>, %ys: memref<?x4xf8E4M3FN>) {
  grouped_scaled_gemm.quantize <trtllm>(%x : memref<?x64xf32>) global_scale(%s : f32)
      outs(%y scaled_by %ys : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !q)
  return
}

// CHECK-LABEL: func @scale_of_each_group(
// CHECK-NOT:     nvfp4_check_positive
// CHECK:         return
func.func @scale_of_each_group(%x: memref<?x64xf32>, %g: memref<2xi32>, %s: memref<2xf32>, %y: memref<?x32xi8>,
                               %ys: memref<?x4xf8E4M3FN>) {
  grouped_scaled_gemm.quantize <trtllm>(%x : memref<?x64xf32>) groups(%g : memref<2xi32>) as <ragged_rows, ends>
      global_scale(%s : memref<2xf32>) outs(%y scaled_by %ys : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !q)
  return
}
