// Loops that look like one over groups of rows: each edit makes this one compute
// something else, and then it keeps a dense product.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=RAISED
// RAISED-NOT: scf.for
// RAISED:     matmul <ragged_rows, starts>

// KEPT: scf.for
// KEPT: matmul <dense>

// Not every group.
// RUN: sed 's/= %%c0 to/= %%c1 to/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/step %%c1/step %%c2/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// A number of groups that is not known.
// RUN: sed 's/to %%c3/to %%m/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// Weights of another group, or of always the same.
// RUN: sed 's/%%w\[%%g,/%%w[%%next,/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/%%ws\[%%g,/%%ws[1,/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// Rows from elsewhere, or put elsewhere.
// RUN: sed 's/%%x\[%%start,/%%x[%%g,/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/into %%acc\[%%start,/into %%acc[%%g,/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// Ends of something else.
// RUN: sed 's/arith.subi %%end, %%first/arith.subi %%end, %%shift/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/arith.addi %%g, %%c1/arith.addi %%g, %%c2/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/= tensor.extract %%starts\[%%next\]/= tensor.extract %%others[%%next]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// Sums that start from something else.
// RUN: sed 's/constant 0.0 : f32/constant 1.0 : f32/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/outs(%%yz/outs(%%ye/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=RAISED
// RUN: sed 's/outs(%%yz/outs(%%ye/; s/%%acc\[%%start, 0\] \[%%rows, 16\] \[1, 1\] : tensor<?x16xf32> to/%%acc[%%g, 0] [%%rows, 16] [1, 1] : tensor<?x16xf32> to/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT

#rk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#nb = affine_map<(m, n, k) -> (n, k floordiv 32)>
#mn = affine_map<(m, n, k) -> (m, n)>

func.func @groups(%x: tensor<?x64xbf16>, %w: tensor<3x16x64xf8E4M3FN>, %ws: tensor<3x16x2xf8E8M0FNU>,
                  %starts: tensor<4xi32>, %others: tensor<4xi32>, %shift: i32, %m: index,
                  %out: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %y = scf.for %g = %c0 to %c3 step %c1 iter_args(%acc = %out) -> (tensor<?x16xf32>) {
    %first = tensor.extract %starts[%g] : tensor<4xi32>
    %next = arith.addi %g, %c1 : index
    %end = tensor.extract %starts[%next] : tensor<4xi32>
    %count = arith.subi %end, %first : i32
    %start = arith.index_cast %first : i32 to index
    %rows = arith.index_cast %count : i32 to index
    %xg = tensor.extract_slice %x[%start, 0] [%rows, 64] [1, 1] : tensor<?x64xbf16> to tensor<?x64xbf16>
    %wg = tensor.extract_slice %w[%g, 0, 0] [1, 16, 64] [1, 1, 1] : tensor<3x16x64xf8E4M3FN> to tensor<16x64xf8E4M3FN>
    %wsg = tensor.extract_slice %ws[%g, 0, 0] [1, 16, 2] [1, 1, 1] : tensor<3x16x2xf8E8M0FNU> to tensor<16x2xf8E8M0FNU>
    %ye = tensor.extract_slice %acc[%start, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> to tensor<?x16xf32>
    %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<?x16xf32>) -> tensor<?x16xf32>
    %yg = linalg.generic {indexing_maps = [#rk, #nk, #nb, #mn],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xg, %wg, %wsg : tensor<?x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
        outs(%yz : tensor<?x16xf32>) {
    ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %sum: f32):
      %av = arith.extf %a : bf16 to f32
      %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
      %ab = arith.mulf %av, %bv : f32
      %s = arith.addf %sum, %ab : f32
      linalg.yield %s : f32
    } -> tensor<?x16xf32>
    %all = tensor.insert_slice %yg into %acc[%start, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> into tensor<?x16xf32>
    scf.yield %all : tensor<?x16xf32>
  }
  return %y : tensor<?x16xf32>
}
