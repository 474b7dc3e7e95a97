// Loops that add the products of one part of K after the other become one
// product. Each edit below makes the first something else: then what is in the
// loop stays there.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s

// Parts that overlap, leave some of K out or begin elsewhere, scales of other blocks,
// weights of the step before, sums that are scaled in each step.
// RUN: sed 's/%%c64 = arith.constant 64/%%c64 = arith.constant 32/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/%%c256 = arith.constant 256/%%c256 = arith.constant 192/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/= %%c0 to %%c256 step %%c64/= %%c64 to %%c256 step %%c64/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed '/^func.func @parts_of_k/,/^}/s/divui %%k, %%c32/divui %%k, %%c64/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/%%wk = tensor.extract_slice %%w\[0, %%k\]/%%wk = tensor.extract_slice %%w[0, %%block]/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/^    scf.yield %%p : tensor<8x16xf32>/    %%twice = arith.addf %%p, %%p : tensor<8x16xf32>\n    scf.yield %%twice : tensor<8x16xf32>/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT

// Sums that begin with those of other rows, or that other steps read.
// RUN: sed 's/%%yk = tensor.extract_slice %%carried\[%%start,/%%yk = tensor.extract_slice %%carried[%%g,/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=CARRIED
// RUN: sed 's/%%yk = tensor.extract_slice %%carried/%%yk = tensor.extract_slice %%all/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=CARRIED

// KEPT-LABEL: func.func @parts_of_k(
// KEPT:         scf.for
// KEPT:       func.func @groups_and_parts_of_k(

#mk = affine_map<(m, n, k) -> (m, k)>
#mb = affine_map<(m, n, k) -> (m, k floordiv 32)>
#nk = affine_map<(m, n, k) -> (n, k)>
#nb = affine_map<(m, n, k) -> (n, k floordiv 32)>
#n = affine_map<(m, n, k) -> (n, 0)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Steps of 64 along K, slices of whose weights are dequantised in the product.

// CHECK-LABEL: func.func @parts_of_k(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x256xbf16>, %[[W:[a-z0-9]+]]: tensor<16x256xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<16x8xf8E8M0FNU>, %[[OUT:[a-z0-9]+]]: tensor<8x16xf32>
// CHECK-NOT:     scf.for
// CHECK:         %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <dense> lhs(%[[X]] : tensor<8x256xbf16>) rhs(%[[RHS]] : {{[^ ]*}}) beta(%{{.*}} : f32) outs(%[[OUT]] :
// CHECK-NEXT:    return %[[Y]]
func.func @parts_of_k(%x: tensor<8x256xbf16>, %w: tensor<16x256xf8E4M3FN>, %ws: tensor<16x8xf8E8M0FNU>,
                      %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %y = scf.for %k = %c0 to %c256 step %c64 iter_args(%sum = %out) -> (tensor<8x16xf32>) {
    %block = arith.divui %k, %c32 : index
    %xk = tensor.extract_slice %x[0, %k] [8, 64] [1, 1] : tensor<8x256xbf16> to tensor<8x64xbf16>
    %wk = tensor.extract_slice %w[0, %k] [16, 64] [1, 1] : tensor<16x256xf8E4M3FN> to tensor<16x64xf8E4M3FN>
    %wsk = tensor.extract_slice %ws[0, %block] [16, 2] [1, 1] : tensor<16x8xf8E8M0FNU> to tensor<16x2xf8E8M0FNU>
    %p = linalg.generic {indexing_maps = [#mk, #nk, #nb, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xk, %wk, %wsk : tensor<8x64xbf16>, tensor<16x64xf8E4M3FN>, tensor<16x2xf8E8M0FNU>)
        outs(%sum : tensor<8x16xf32>) {
    ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
      %av = arith.extf %a : bf16 to f32
      %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
      %ab = arith.mulf %av, %bv : f32
      %s = arith.addf %acc, %ab : f32
      linalg.yield %s : f32
    } -> tensor<8x16xf32>
    scf.yield %p : tensor<8x16xf32>
  }
  return %y : tensor<8x16xf32>
}

// A loop over groups, the rows of each of which are summed part by part; steps are
// counted in parts, and weights dequantised before.

// CHECK-LABEL: func.func @groups_and_parts_of_k(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x256xf8E4M3FN>, %[[XS:[a-z0-9]+]]: tensor<?x8xf8E8M0FNU>, %[[W:[a-z0-9]+]]: tensor<3x16x256xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<3x16x8xf8E8M0FNU>, %[[STARTS:[a-z0-9]+]]: tensor<4xi32>, %[[OUT:[a-z0-9]+]]: tensor<?x16xf32>
// CHECK-NOT:     scf.for
// CHECK-DAG:     %[[LHS:.*]] = grouped_scaled_gemm.make_scaled %[[X]], %[[XS]]
// CHECK-DAG:     %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK:         %[[Y:.*]] = grouped_scaled_gemm.matmul <ragged_rows, starts> groups(%[[STARTS]] : tensor<4xi32>) lhs(%[[LHS]] : {{[^ ]*}}) rhs(%[[RHS]] : {{[^ ]*}}) outs(%[[OUT]] :
// CHECK-NEXT:    return %[[Y]]
func.func @groups_and_parts_of_k(%x: tensor<?x256xf8E4M3FN>, %xs: tensor<?x8xf8E8M0FNU>,
                                 %w: tensor<3x16x256xf8E4M3FN>, %ws: tensor<3x16x8xf8E8M0FNU>,
                                 %starts: tensor<4xi32>, %out: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %we = tensor.empty() : tensor<3x16x256xf32>
  %wd = linalg.generic {indexing_maps = [affine_map<(g, n, k) -> (g, n, k)>, affine_map<(g, n, k) -> (g, n, k floordiv 32)>,
                                         affine_map<(g, n, k) -> (g, n, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws : tensor<3x16x256xf8E4M3FN>, tensor<3x16x8xf8E8M0FNU>) outs(%we : tensor<3x16x256xf32>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<3x16x256xf32>
  %y = scf.for %g = %c0 to %c3 step %c1 iter_args(%all = %out) -> (tensor<?x16xf32>) {
    %first = tensor.extract %starts[%g] : tensor<4xi32>
    %next = arith.addi %g, %c1 : index
    %end = tensor.extract %starts[%next] : tensor<4xi32>
    %count = arith.subi %end, %first : i32
    %start = arith.index_cast %first : i32 to index
    %rows = arith.index_cast %count : i32 to index
    %xsg = tensor.extract_slice %xs[%start, 0] [%rows, 8] [1, 1] : tensor<?x8xf8E8M0FNU> to tensor<?x8xf8E8M0FNU>
    %ye = tensor.empty(%rows) : tensor<?x16xf32>
    %yz = linalg.fill ins(%zero : f32) outs(%ye : tensor<?x16xf32>) -> tensor<?x16xf32>
    %yg = scf.for %part = %c0 to %c4 step %c1 iter_args(%sum = %yz) -> (tensor<?x16xf32>) {
      %k = affine.apply affine_map<(p) -> (p * 64)>(%part)
      %block = arith.muli %part, %c2 : index
      %xk = tensor.extract_slice %x[%start, %k] [%rows, 64] [1, 1] : tensor<?x256xf8E4M3FN> to tensor<?x64xf8E4M3FN>
      %xsk = tensor.extract_slice %xsg[0, %block] [%rows, 2] [1, 1] : tensor<?x8xf8E8M0FNU> to tensor<?x2xf8E8M0FNU>
      %wk = tensor.extract_slice %wd[%g, 0, %k] [1, 16, 64] [1, 1, 1] : tensor<3x16x256xf32> to tensor<16x64xf32>
      %p = linalg.generic {indexing_maps = [#mk, #mb, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%xk, %xsk, %wk : tensor<?x64xf8E4M3FN>, tensor<?x2xf8E8M0FNU>, tensor<16x64xf32>)
          outs(%sum : tensor<?x16xf32>) {
      ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %b: f32, %acc: f32):
        %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
        %ab = arith.mulf %av, %b : f32
        %s = arith.addf %acc, %ab : f32
        linalg.yield %s : f32
      } -> tensor<?x16xf32>
      scf.yield %p : tensor<?x16xf32>
    }
    %with = tensor.insert_slice %yg into %all[%start, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> into tensor<?x16xf32>
    scf.yield %with : tensor<?x16xf32>
  }
  return %y : tensor<?x16xf32>
}

// Both loops carry the rows of all groups, to which each step adds.

// CHECK-LABEL: func.func @all_rows(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<10x256xbf16>, %[[W:[a-z0-9]+]]: tensor<3x16x256xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<3x16x8xf8E8M0FNU>, %[[ENDS:[a-z0-9]+]]: tensor<3xi64>, %[[OUT:[a-z0-9]+]]: tensor<10x16xf32>
// CHECK-NOT:     scf.for
// CHECK:         %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%[[ENDS]] : tensor<3xi64>) lhs(%[[X]] : {{[^ ]*}}) rhs(%[[RHS]] : {{[^ ]*}}) beta(%{{.*}} : f32) outs(%[[OUT]] :
// CHECK-NEXT:    return
// CARRIED-LABEL: func.func @all_rows(
// CARRIED:         scf.for
// CARRIED:           scf.for
func.func @all_rows(%x: tensor<10x256xbf16>, %w: tensor<3x16x256xf8E4M3FN>, %ws: tensor<3x16x8xf8E8M0FNU>,
                    %ends: tensor<3xi64>, %out: tensor<10x16xf32>) -> tensor<10x16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %y:2 = scf.for %g = %c0 to %c3 step %c1 iter_args(%all = %out, %start = %c0) -> (tensor<10x16xf32>, index) {
    %e = tensor.extract %ends[%g] : tensor<3xi64>
    %end = arith.index_cast %e : i64 to index
    %rows = arith.subi %end, %start : index
    %sums = scf.for %k = %c0 to %c256 step %c128 iter_args(%carried = %all) -> (tensor<10x16xf32>) {
      %block = arith.divui %k, %c32 : index
      %xk = tensor.extract_slice %x[%start, %k] [%rows, 128] [1, 1] : tensor<10x256xbf16> to tensor<?x128xbf16>
      %wk = tensor.extract_slice %w[%g, 0, %k] [1, 16, 128] [1, 1, 1] : tensor<3x16x256xf8E4M3FN> to tensor<16x128xf8E4M3FN>
      %wsk = tensor.extract_slice %ws[%g, 0, %block] [1, 16, 4] [1, 1, 1] : tensor<3x16x8xf8E8M0FNU> to tensor<16x4xf8E8M0FNU>
      %yk = tensor.extract_slice %carried[%start, 0] [%rows, 16] [1, 1] : tensor<10x16xf32> to tensor<?x16xf32>
      %p = linalg.generic {indexing_maps = [#mk, #nk, #nb, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%xk, %wk, %wsk : tensor<?x128xbf16>, tensor<16x128xf8E4M3FN>, tensor<16x4xf8E8M0FNU>)
          outs(%yk : tensor<?x16xf32>) {
      ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
        %av = arith.extf %a : bf16 to f32
        %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
        %ab = arith.mulf %av, %bv : f32
        %s = arith.addf %acc, %ab : f32
        linalg.yield %s : f32
      } -> tensor<?x16xf32>
      %with = tensor.insert_slice %p into %carried[%start, 0] [%rows, 16] [1, 1] : tensor<?x16xf32> into tensor<10x16xf32>
      scf.yield %with : tensor<10x16xf32>
    }
    scf.yield %sums, %end : tensor<10x16xf32>, index
  }
  return %y#0 : tensor<10x16xf32>
}

// Parts of one block each, with scales of which the loop reads eight a row: there
// may be more.

// CHECK-LABEL: func.func @some_of_k(
// CHECK:         scf.for
func.func @some_of_k(%x: tensor<8x256xbf16>, %w: tensor<16x256xf8E4M3FN>, %ws: tensor<16x?xf8E8M0FNU>,
                      %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  %y = scf.for %k = %c0 to %c256 step %c32 iter_args(%sum = %out) -> (tensor<8x16xf32>) {
    %block = arith.divui %k, %c32 : index
    %xk = tensor.extract_slice %x[0, %k] [8, 32] [1, 1] : tensor<8x256xbf16> to tensor<8x32xbf16>
    %wk = tensor.extract_slice %w[0, %k] [16, 32] [1, 1] : tensor<16x256xf8E4M3FN> to tensor<16x32xf8E4M3FN>
    %wsk = tensor.extract_slice %ws[0, %block] [16, 1] [1, 1] : tensor<16x?xf8E8M0FNU> to tensor<16x1xf8E8M0FNU>
    %p = linalg.generic {indexing_maps = [#mk, #nk, #n, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xk, %wk, %wsk : tensor<8x32xbf16>, tensor<16x32xf8E4M3FN>, tensor<16x1xf8E8M0FNU>)
        outs(%sum : tensor<8x16xf32>) {
    ^bb0(%a: bf16, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
      %av = arith.extf %a : bf16 to f32
      %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
      %ab = arith.mulf %av, %bv : f32
      %s = arith.addf %acc, %ab : f32
      linalg.yield %s : f32
    } -> tensor<8x16xf32>
    scf.yield %p : tensor<8x16xf32>
  }
  return %y : tensor<8x16xf32>
}

// Packed codes, dequantised before the loop.

// CHECK-LABEL: func.func @packed(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8x256xbf16>, %[[W:[a-z0-9]+]]: tensor<16x128xi8>, %[[WS:[a-z0-9]+]]: tensor<16x8xf8E8M0FNU>
// CHECK-NOT:     scf.for
// CHECK:         %[[RHS:.*]] = grouped_scaled_gemm.make_scaled %[[W]], %[[WS]]
// CHECK:         grouped_scaled_gemm.matmul <dense> lhs(%[[X]] : tensor<8x256xbf16>) rhs(%[[RHS]] :
// CHECK-NEXT:    return
func.func @packed(%x: tensor<8x256xbf16>, %w: tensor<16x128xi8>, %ws: tensor<16x8xf8E8M0FNU>,
                      %out: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %we = tensor.empty() : tensor<16x128x2xf32>
  %wd = linalg.generic {indexing_maps = [affine_map<(n,b,h)->(n,b)>, affine_map<(n,b,h)->(n,b floordiv 16)>, affine_map<(n,b,h)->(n,b,h)>], iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%w, %ws : tensor<16x128xi8>, tensor<16x8xf8E8M0FNU>) outs(%we : tensor<16x128x2xf32>) {
    ^bb0(%b: i8, %bs: f8E8M0FNU, %o: f32):
      %h = linalg.index 2 : index
      %hi = arith.index_cast %h : index to i32
      %c4i = arith.constant 4 : i32
      %sh = arith.muli %hi, %c4i : i32
      %bw = arith.extui %b : i8 to i32
      %shifted = arith.shrui %bw, %sh : i32
      %nib = arith.trunci %shifted : i32 to i4
      %code = arith.bitcast %nib : i4 to f4E2M1FN
      %v = arith.scaling_extf %code, %bs : f4E2M1FN, f8E8M0FNU to f32
      linalg.yield %v : f32
  } -> tensor<16x128x2xf32>
  %wf = tensor.collapse_shape %wd [[0],[1,2]] : tensor<16x128x2xf32> into tensor<16x256xf32>
  %y = scf.for %k = %c0 to %c256 step %c64 iter_args(%sum = %out) -> (tensor<8x16xf32>) {
    %xk = tensor.extract_slice %x[0, %k] [8, 64] [1, 1] : tensor<8x256xbf16> to tensor<8x64xbf16>
    %wk = tensor.extract_slice %wf[0, %k] [16, 64] [1, 1] : tensor<16x256xf32> to tensor<16x64xf32>
    %p = linalg.generic {indexing_maps = [#mk, #nk, #mn], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xk, %wk : tensor<8x64xbf16>, tensor<16x64xf32>)
        outs(%sum : tensor<8x16xf32>) {
    ^bb0(%a: bf16, %b: f32, %acc: f32):
      %av = arith.extf %a : bf16 to f32
      %ab = arith.mulf %av, %b : f32
      %s = arith.addf %acc, %ab : f32
      linalg.yield %s : f32
    } -> tensor<8x16xf32>
    scf.yield %p : tensor<8x16xf32>
  }
  return %y : tensor<8x16xf32>
}
