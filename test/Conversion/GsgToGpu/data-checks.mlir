// Kernels check what they read, where only bad data go, and no launch is added.
// RUN: nvfp4-opt %s --convert-gsg-to-gpu=data-checks --cse | FileCheck %s
// RUN: nvfp4-opt %s --convert-gsg-to-gpu --cse | FileCheck %s --check-prefix=WITHOUT

// WITHOUT-NOT: warpspec.data_
// WITHOUT-NOT: llvm.cmpxchg

#global = #gpu.address_space<global>
!x = memref<64x256xbf16, #global>
!t = memref<256xi32, #global>
!p = memref<256x256xbf16, #global>

// The entry that names no row is looked at again, by one thread.
// CHECK-LABEL: func.func @permute
// CHECK-DAG: %[[RECORD:.*]] = warpspec.data_record
// CHECK-DAG: %[[CHECKS:.*]] = warpspec.data_checks "{{.*}}data-checks.mlir:[[@LINE+14]]:{{[0-9]+}}: grouped_scaled_gemm.permute" [#warpspec.data_check<index, "permute_c4", "token_of_row">]
// CHECK: gpu.launch
// CHECK: %[[TOKEN:.*]] = arith.index_cast
// CHECK: scf.if
// CHECK: } else {
// CHECK-DAG: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0
// CHECK-DAG: %[[SOME:.*]] = arith.cmpi ne, %[[TOKEN]], %c-1
// CHECK: %[[BAD:.*]] = arith.andi %[[SOME]], %[[FIRST]]
// CHECK: scf.if %[[BAD]] {
// CHECK: %[[ADDRESS:.*]] = llvm.inttoptr %[[RECORD]] : i64 to !llvm.ptr
// CHECK: llvm.cmpxchg %[[ADDRESS]], %{{.*}}, %{{.*}} monotonic monotonic : !llvm.ptr, i64
// CHECK: llvm.store %{{.*}}, %{{.*}} atomic release {alignment = 8 : i64} : i64, !llvm.ptr
// CHECK-NOT: gpu.launch
func.func @permute(%x: !x, %t: !t, %p: !p) {
  grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !p)
  return
}

!q = !grouped_scaled_gemm.scaled<?x64, nvfp4, blocked, starts = compact>

// The launch that fills the table of groups checks them and the room for their
// scales; the one that quantises checks the only global scale.
// CHECK-LABEL: func.func @quantize
// CHECK: warpspec.data_checks {{.*}} [#warpspec.data_check<groups, "", "", [0, 1]>, #warpspec.data_check<room, "storage_c9", "rows of the scales of outs">, #warpspec.data_check<positive, "quantizer_c8", "global_scale">]
// CHECK: gpu.launch
// CHECK-COUNT-2: llvm.cmpxchg
// CHECK: gpu.launch
// CHECK: llvm.cmpxchg
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @quantize(%x: memref<?x64xbf16, #global>, %g: memref<4xi32, #global>, %s: memref<f32, #global>,
                    %v: memref<?x32xi8, #global>, %c: memref<?x1x32x4x4xf8E4M3FN, #global>) {
  grouped_scaled_gemm.quantize <trtllm>(%x : memref<?x64xbf16, #global>) groups(%g : memref<4xi32, #global>) as <ragged_rows, ends>
      global_scale(%s : memref<f32, #global>)
      outs(%v scaled_by %c : memref<?x32xi8, #global>, memref<?x1x32x4x4xf8E4M3FN, #global> as !q)
  return
}

// Counts are checked by the first thread of their matrix.
// CHECK-LABEL: func.func @sums
// CHECK: warpspec.data_checks {{.*}} [#warpspec.data_check<groups, "", "", [2, 1]>]
// CHECK: gpu.launch
// CHECK: llvm.cmpxchg
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @sums(%x: memref<3x20x64xf32, #global>, %g: memref<3xi32, #global>, %y: memref<3x64xf32, #global>) {
  grouped_scaled_gemm.sum_rows(%x : memref<3x20x64xf32, #global>) groups(%g : memref<3xi32, #global>) as <masked>
      outs(%y : memref<3x64xf32, #global>)
  return
}

// An operation without such data has no checks.
// CHECK-LABEL: func.func @glu
// CHECK-NOT: warpspec.data
// CHECK: return
func.func @glu(%x: !x, %y: memref<64x128xbf16, #global>) {
  grouped_scaled_gemm.glu <swiglu, gate = <halves, gate_first>>(%x : !x) outs(%y : memref<64x128xbf16, #global>)
  return
}

// A bad slot is kept for after the loop, whose turns stay short.
// CHECK-LABEL: func.func @combine
// CHECK: %[[FOUND:.*]]:2 = scf.for %[[SLOT:.*]] = %c0 to %{{.*}} step %c1 iter_args(%{{.*}} = %{{.*}}, %[[LAST:.*]] = %c-1)
// CHECK: scf.if
// CHECK: } else {
// CHECK-NEXT: %[[BAD:.*]] = arith.cmpi ne, %{{.*}}, %c-1
// CHECK-NEXT: %[[NEXT:.*]] = arith.select %[[BAD]], %[[SLOT]], %[[LAST]]
// CHECK-NEXT: scf.yield %{{.*}}, %[[NEXT]]
// CHECK-NOT: llvm.cmpxchg
// CHECK: arith.cmpi ne, %[[FOUND]]#1, %c-1
// CHECK: llvm.cmpxchg
func.func @combine(%x: memref<64x256xf32, #global>, %r: memref<8x4xi32, #global>, %y: memref<8x256xf32, #global>) {
  grouped_scaled_gemm.combine(%x : memref<64x256xf32, #global>) by(%r : memref<8x4xi32, #global>) outs(%y : memref<8x256xf32, #global>)
  return
}

// Scales of MXFP4 that are too far apart are found where factors are stored.
// CHECK-LABEL: func.func @pack
// CHECK: warpspec.data_checks "{{.*}}: grouped_scaled_gemm.relayout_weights" [#warpspec.data_check<weights, "relayout_weights_c4", "", [{{[0-9]+}}]>]
// CHECK: arith.cmpi sgt, %{{.*}} : i32
// CHECK: scf.if
// CHECK: llvm.cmpxchg
// CHECK-NOT: llvm.cmpxchg
// CHECK: return
func.func @pack(%w: memref<64x64xi8, #global>, %s: memref<64x4xf8E8M0FNU, #global>, %out: memref<1x2x2304xi8, #global>,
                %factors: memref<1xf32, #global>) {
  grouped_scaled_gemm.relayout_weights(%w scaled_by %s : memref<64x64xi8, #global>, memref<64x4xf8E8M0FNU, #global> as !grouped_scaled_gemm.scaled<64x128, mxfp4>)
      outs(%out scaled_by %factors : memref<1x2x2304xi8, #global>, memref<1xf32, #global> as !grouped_scaled_gemm.scaled<64x128, mxfp4, wgmma>)
  return
}
