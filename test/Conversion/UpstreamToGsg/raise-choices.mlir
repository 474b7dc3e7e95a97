// Products of every expert of which one-hot vectors choose one for each token
// become one product of the tokens in the order of their experts. Each edit
// below makes them something else, and then the first stays.

// RUN: nvfp4-opt %s --raise-to-grouped-scaled-gemm | FileCheck %s

// All experts but one, 1 as a sign, experts that are counted in 8 bits, products
// that are rounded, or added to something.
// RUN: sed 's/cmpi eq/cmpi ne/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/arith.uitofp %%is : i1/arith.sitofp %%is : i1/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/%%number = arith.index_cast %%e : index to i64/%%short = arith.index_cast %%e : index to i8\n    %%number = arith.extsi %%short : i8 to i64/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/%%hp = arith.mulf %%h, %%p : f32/%%pr = arith.truncf %%p : f32 to bf16\n    %%pw = arith.extf %%pr : bf16 to f32\n    %%hp = arith.mulf %%h, %%pw : f32/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// RUN: sed 's/^  %%zero = arith.constant 0.0/  %%zero = arith.constant 1.0/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=KEPT
// Products that something else reads.
// RUN: sed 's/return %%y : tensor<6x16xf32>/%%y3 = linalg.add ins(%%products, %%products : tensor<4x6x16xf32>, tensor<4x6x16xf32>) outs(%%pe : tensor<4x6x16xf32>) -> tensor<4x6x16xf32>\n  %%y2 = tensor.extract_slice %%y3[0, 0, 0] [1, 6, 16] [1, 1, 1] : tensor<4x6x16xf32> to tensor<6x16xf32>\n  return %%y2 : tensor<6x16xf32>/' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=BATCHED
// A choice in another block, which may run more often.
// RUN: sed '/^func.func @one_hot_of_products/,/^}/{s/^  %%y = linalg/  %%r = scf.execute_region -> tensor<6x16xf32> {\n  %%y = linalg/;s/^  return %%y/  scf.yield %%y : tensor<6x16xf32>\n  }\n  return %%r/}' %s | nvfp4-opt --raise-to-grouped-scaled-gemm | FileCheck %s --check-prefix=BATCHED

// KEPT-LABEL: func.func @one_hot_of_products(
// KEPT-NOT:     sort_tokens
// KEPT:       func.func @one_hot_rows(
// BATCHED-LABEL: func.func @one_hot_of_products(
// BATCHED:         grouped_scaled_gemm.matmul <batched>
// BATCHED-NOT:     sort_tokens
// BATCHED:       func.func @one_hot_rows(

#enk = affine_map<(e, n, k) -> (e, n, k)>
#enb = affine_map<(e, n, k) -> (e, n, k floordiv 32)>
#te = affine_map<(t, e) -> (t, e)>

// jax.nn.one_hot(ids, 4), and einsum("te,etn->tn") with the products of all.

// CHECK-LABEL: func.func @one_hot_of_products(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<6x64xbf16>, %[[W:[a-z0-9]+]]: tensor<4x16x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<4x16x2xf8E8M0FNU>, %[[IDS:[a-z0-9]+]]: tensor<6xi64>
// CHECK-NOT:     grouped_scaled_gemm.matmul <batched>
// CHECK:         %[[EXPERTS:.*]] = tensor.generate
// CHECK:           %[[ID:.*]] = tensor.extract %[[IDS]]
// CHECK-DAG:       %[[COUNT:.*]] = arith.constant 4 : i64
// CHECK-DAG:       %[[NONE:.*]] = arith.constant -1 : i64
// CHECK:           %[[IS:.*]] = arith.cmpi ult, %[[ID]], %[[COUNT]] : i64
// CHECK:           %[[EXPERT:.*]] = arith.select %[[IS]], %[[ID]], %[[NONE]] : i64
// CHECK:           arith.trunci %[[EXPERT]] : i64 to i32
// CHECK:         %[[SORTED:.*]]:3 = grouped_scaled_gemm.sort_tokens(%[[EXPERTS]] : tensor<6x1xi32>)
// CHECK:         %[[ROWS:.*]] = grouped_scaled_gemm.permute(%[[X]] :
// CHECK:         make_scaled %[[W]], %[[WS]]
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%[[SORTED]]#0 : tensor<4xi32>) lhs(%[[ROWS]] :
// CHECK:         grouped_scaled_gemm.permute(
// CHECK-NOT:     addf
// CHECK:         return
func.func @one_hot_of_products(%x: tensor<6x64xbf16>, %w: tensor<4x16x64xf8E4M3FN>, %ws: tensor<4x16x2xf8E8M0FNU>,
                               %ids: tensor<6xi64>) -> tensor<6x16xf32> {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0.0 : f32
  %he = tensor.empty() : tensor<6x4xf32>
  %hot = linalg.generic {indexing_maps = [affine_map<(t, e) -> (t)>, #te], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<6xi64>) outs(%he : tensor<6x4xf32>) {
  ^bb0(%id: i64, %o: f32):
    %e = linalg.index 1 : index
    %number = arith.index_cast %e : index to i64
    %is = arith.cmpi eq, %id, %number : i64
    %h = arith.uitofp %is : i1 to f32
    linalg.yield %h : f32
  } -> tensor<6x4xf32>
  %we = tensor.empty() : tensor<4x16x64xf32>
  %wd = linalg.generic {indexing_maps = [#enk, #enb, #enk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws : tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>) outs(%we : tensor<4x16x64xf32>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: f32):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to f32
    linalg.yield %v : f32
  } -> tensor<4x16x64xf32>
  %pe = tensor.empty() : tensor<4x6x16xf32>
  %pz = linalg.fill ins(%zero : f32) outs(%pe : tensor<4x6x16xf32>) -> tensor<4x6x16xf32>
  %products = linalg.generic {indexing_maps = [affine_map<(e, t, n, k) -> (t, k)>, affine_map<(e, t, n, k) -> (e, n, k)>,
                                               affine_map<(e, t, n, k) -> (e, t, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %wd : tensor<6x64xbf16>, tensor<4x16x64xf32>) outs(%pz : tensor<4x6x16xf32>) {
  ^bb0(%a: bf16, %b: f32, %acc: f32):
    %ae = arith.extf %a : bf16 to f32
    %ab = arith.mulf %ae, %b : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> tensor<4x6x16xf32>
  %ye = tensor.empty() : tensor<6x16xf32>
  %yz = linalg.fill ins(%none : f32) outs(%ye : tensor<6x16xf32>) -> tensor<6x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(t, n, e) -> (t, e)>, affine_map<(t, n, e) -> (e, t, n)>,
                                        affine_map<(t, n, e) -> (t, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%hot, %products : tensor<6x4xf32>, tensor<4x6x16xf32>) outs(%yz : tensor<6x16xf32>) {
  ^bb0(%h: f32, %p: f32, %acc: f32):
    %hp = arith.mulf %h, %p : f32
    %s = arith.addf %acc, %hp : f32
    linalg.yield %s : f32
  } -> tensor<6x16xf32>
  return %y : tensor<6x16xf32>
}

// Rows of f16 that are zero for all experts but one, summed over experts and K
// at once and added to the destination; some rows have no expert.

// CHECK-LABEL: func.func @one_hot_rows(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?x64xf16>, %[[W:[a-z0-9]+]]: tensor<4x16x64xf8E4M3FN>, %[[WS:[a-z0-9]+]]: tensor<4x16x2xf8E8M0FNU>, %{{.*}}: tensor<?xi32>, %[[OUT:[a-z0-9]+]]: tensor<?x16xf32>
// CHECK:         grouped_scaled_gemm.sort_tokens(%{{.*}} : tensor<?x1xi32>)
// CHECK:         %[[ROWS:.*]] = grouped_scaled_gemm.permute(%[[X]] :
// CHECK:         make_scaled %[[W]], %[[WS]]
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends> {{.*}} lhs(%[[ROWS]] :
// CHECK:         %[[SUMS:.*]] = grouped_scaled_gemm.permute(
// CHECK:         linalg.add ins(%[[OUT]], %[[SUMS]] :
func.func @one_hot_rows(%x: tensor<?x64xf16>, %w: tensor<4x16x64xf8E4M3FN>, %ws: tensor<4x16x2xf8E8M0FNU>,
                        %ids: tensor<?xi32>, %out: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %x, %c0 : tensor<?x64xf16>
  %he = tensor.empty(%t) : tensor<?x4xf16>
  %hot = linalg.generic {indexing_maps = [affine_map<(t, e) -> (t)>, #te], iterator_types = ["parallel", "parallel"]}
      ins(%ids : tensor<?xi32>) outs(%he : tensor<?x4xf16>) {
  ^bb0(%id: i32, %o: f16):
    %e = linalg.index 1 : index
    %number = arith.index_cast %e : index to i32
    %same = arith.cmpi eq, %number, %id : i32
    %wide = arith.extui %same : i1 to i64
    %h = arith.sitofp %wide : i64 to f16
    linalg.yield %h : f16
  } -> tensor<?x4xf16>
  %xe = tensor.empty(%t) : tensor<4x?x64xf16>
  %xm = linalg.generic {indexing_maps = [affine_map<(e, t, k) -> (t, e)>, affine_map<(e, t, k) -> (t, k)>,
                                         affine_map<(e, t, k) -> (e, t, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%hot, %x : tensor<?x4xf16>, tensor<?x64xf16>) outs(%xe : tensor<4x?x64xf16>) {
  ^bb0(%h: f16, %a: f16, %o: f16):
    %v = arith.mulf %h, %a : f16
    linalg.yield %v : f16
  } -> tensor<4x?x64xf16>
  %we = tensor.empty() : tensor<4x16x64xbf16>
  %wd = linalg.generic {indexing_maps = [#enk, #enb, #enk], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w, %ws : tensor<4x16x64xf8E4M3FN>, tensor<4x16x2xf8E8M0FNU>) outs(%we : tensor<4x16x64xbf16>) {
  ^bb0(%code: f8E4M3FN, %scale: f8E8M0FNU, %o: bf16):
    %v = arith.scaling_extf %code, %scale : f8E4M3FN, f8E8M0FNU to bf16
    linalg.yield %v : bf16
  } -> tensor<4x16x64xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(t, n, e, k) -> (e, t, k)>, affine_map<(t, n, e, k) -> (e, n, k)>,
                                        affine_map<(t, n, e, k) -> (t, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%xm, %wd : tensor<4x?x64xf16>, tensor<4x16x64xbf16>) outs(%out : tensor<?x16xf32>) {
  ^bb0(%a: f16, %b: bf16, %acc: f32):
    %ae = arith.extf %a : f16 to f32
    %be = arith.extf %b : bf16 to f32
    %ab = arith.mulf %ae, %be : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// Several experts a token, of products [T, E, N] of scaled rows, masked by a
// selection.

// CHECK-LABEL: func.func @choices_of_scaled_rows(
// CHECK:         grouped_scaled_gemm.sort_tokens(%{{.*}} : tensor<6x3xi32>)
// CHECK:         grouped_scaled_gemm.matmul <ragged_rows, ends>
// CHECK-NOT:     addf
// CHECK:         return
func.func @choices_of_scaled_rows(%x: tensor<6x64xf8E4M3FN>, %xs: tensor<6x2xf8E8M0FNU>, %w: tensor<4x16x64xf8E4M3FN>,
                                  %ws: tensor<4x16x2xf8E8M0FNU>, %ids: tensor<6x3xi32>) -> tensor<6x3x16xf32> {
  %none = arith.constant 0.0 : f32
  %pe = tensor.empty() : tensor<6x4x16xf32>
  %pz = linalg.fill ins(%none : f32) outs(%pe : tensor<6x4x16xf32>) -> tensor<6x4x16xf32>
  %products = linalg.generic {indexing_maps = [affine_map<(t, e, n, k) -> (t, k)>, affine_map<(t, e, n, k) -> (t, k floordiv 32)>,
        affine_map<(t, e, n, k) -> (e, n, k)>, affine_map<(t, e, n, k) -> (e, n, k floordiv 32)>,
        affine_map<(t, e, n, k) -> (t, e, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %xs, %w, %ws : tensor<6x64xf8E4M3FN>, tensor<6x2xf8E8M0FNU>, tensor<4x16x64xf8E4M3FN>,
          tensor<4x16x2xf8E8M0FNU>) outs(%pz : tensor<6x4x16xf32>) {
  ^bb0(%a: f8E4M3FN, %as: f8E8M0FNU, %b: f8E4M3FN, %bs: f8E8M0FNU, %acc: f32):
    %av = arith.scaling_extf %a, %as : f8E4M3FN, f8E8M0FNU to f32
    %bv = arith.scaling_extf %b, %bs : f8E4M3FN, f8E8M0FNU to f32
    %ab = arith.mulf %av, %bv : f32
    %s = arith.addf %acc, %ab : f32
    linalg.yield %s : f32
  } -> tensor<6x4x16xf32>
  %ye = tensor.empty() : tensor<6x3x16xf32>
  %yz = linalg.fill ins(%none : f32) outs(%ye : tensor<6x3x16xf32>) -> tensor<6x3x16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(t, s, n, e) -> (t, s)>, affine_map<(t, s, n, e) -> (t, e, n)>,
                                        affine_map<(t, s, n, e) -> (t, s, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%ids, %products : tensor<6x3xi32>, tensor<6x4x16xf32>) outs(%yz : tensor<6x3x16xf32>) {
  ^bb0(%id: i32, %p: f32, %acc: f32):
    %e = linalg.index 3 : index
    %number = arith.index_cast %e : index to i32
    %same = arith.cmpi eq, %number, %id : i32
    %masked = arith.select %same, %p, %none : f32
    %s = arith.addf %acc, %masked : f32
    linalg.yield %s : f32
  } -> tensor<6x3x16xf32>
  return %y : tensor<6x3x16xf32>
}
