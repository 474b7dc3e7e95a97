// A thread has a block under one scale; blocks of one row are neighbours.
//
// RUN: nvfp4-opt %s --convert-gsg-to-gpu --split-input-file | FileCheck %s

#global = #gpu.address_space<global>
!q = !grouped_scaled_gemm.scaled<?x2880, nvfp4>

// CHECK-LABEL: func.func @rows
// CHECK:         gpu.launch
// CHECK-NOT:     scf.for
// CHECK:         llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<16xi16>
// CHECK:         llvm.store {{.*}} {alignment = 8 : i64} : vector<8xi8>
// CHECK:         llvm.store {{.*}} : i8
// CHECK-NOT:     grouped_scaled_gemm
func.func @rows(%x: memref<?x2880xbf16, #global>, %v: memref<?x1440xi8, #global>, %s: memref<?x180xf8E4M3FN, #global>) {
  grouped_scaled_gemm.quantize <trtllm>(%x : memref<?x2880xbf16, #global>)
      outs(%v scaled_by %s : memref<?x1440xi8, #global>, memref<?x180xf8E4M3FN, #global> as !q)
  return
}

// -----

// The offsets of groups are resolved on the device, into memory of the device.

#global = #gpu.address_space<global>
!q = !grouped_scaled_gemm.scaled<?x64, mxfp8_e4m3, blocked, starts = compact>

// CHECK-LABEL: func.func @groups
// CHECK:         %[[TABLE:.*]] = gpu.alloc ({{.*}}) : memref<?x3xi64, #gpu.address_space<global>>
// CHECK:         gpu.launch
// CHECK:           memref.store {{.*}}, %[[TABLE]]
// CHECK:         gpu.launch
// CHECK:           scf.while
// CHECK:             memref.load %[[TABLE]]
// CHECK:         gpu.dealloc %[[TABLE]]
func.func @groups(%x: memref<?x64xbf16, #global>, %g: memref<8xi32, #global>, %v: memref<?x64xf8E4M3FN, #global>,
                  %s: memref<?x1x32x4x4xf8E8M0FNU, #global>) {
  grouped_scaled_gemm.quantize <ue8m0_up>(%x : memref<?x64xbf16, #global>)
      groups(%g : memref<8xi32, #global>) as <ragged_rows, ends>
      outs(%v scaled_by %s : memref<?x64xf8E4M3FN, #global>, memref<?x1x32x4x4xf8E8M0FNU, #global> as !q)
  return
}

// -----

// Two blocks of different groups may have half of a byte each, so a thread has
// a whole row.

#global = #gpu.address_space<global>
!q = !grouped_scaled_gemm.scaled<64x?, nvfp4, blocked, starts = compact>

// CHECK-LABEL: func.func @groups_along_rows
// CHECK:         gpu.launch
// CHECK:         gpu.launch
// CHECK:           scf.for
// CHECK:             scf.for
func.func @groups_along_rows(%x: memref<64x?xbf16, #global>, %g: memref<8xi32, #global>, %v: memref<64x?xi8, #global>,
                             %s: memref<1x?x32x4x4xf8E4M3FN, #global>) {
  grouped_scaled_gemm.quantize <trtllm>(%x : memref<64x?xbf16, #global>)
      groups(%g : memref<8xi32, #global>) as <ragged_k, ends>
      outs(%v scaled_by %s : memref<64x?xi8, #global>, memref<1x?x32x4x4xf8E4M3FN, #global> as !q)
  return
}
