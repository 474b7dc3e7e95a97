// Written by torch_layers.py with torch 2.11.0 and torch-mlir 20261001.
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0) -> (d0)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map7 = affine_map<(d0, d1, d2) -> (d0, d2)>
module {
  func.func @main(%arg0: tensor<8x64xbf16>, %arg1: tensor<8x2xi64>, %arg2: tensor<8x2xf32>, %arg3: tensor<4x64x32xi8>, %arg4: tensor<4x64x4xf8E4M3FN>, %arg5: tensor<4x64x16xi8>, %arg6: tensor<4x64x2xf8E4M3FN>) -> tensor<8x64xf32> {
    %c4_i64 = arith.constant 4 : i64
    %c0_i64 = arith.constant 0 : i64
    %c16_i64 = arith.constant 16 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %cst_1 = arith.constant dense_resource<torch_tensor_16_torch.float64_1> : tensor<16xf64>
    %cst_2 = arith.constant dense_resource<torch_tensor_16_torch.float64> : tensor<16xf64>
    %c15_i8 = arith.constant 15 : i8
    %c4_i8 = arith.constant 4 : i8
    %0 = tensor.empty() : tensor<8x64xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<8x64xbf16>) outs(%0 : tensor<8x64xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %55 = arith.extf %in : bf16 to f32
      linalg.yield %55 : f32
    } -> tensor<8x64xf32>
    %2 = tensor.empty() : tensor<16xbf16>
    %3 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%cst_2 : tensor<16xf64>) outs(%2 : tensor<16xbf16>) {
    ^bb0(%in: f64, %out: bf16):
      %55 = arith.truncf %in : f64 to bf16
      linalg.yield %55 : bf16
    } -> tensor<16xbf16>
    %4 = tensor.empty() : tensor<4x64x32xi8>
    %5 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg3 : tensor<4x64x32xi8>) outs(%4 : tensor<4x64x32xi8>) {
    ^bb0(%in: i8, %out: i8):
      %55 = arith.andi %in, %c15_i8 : i8
      linalg.yield %55 : i8
    } -> tensor<4x64x32xi8>
    %6 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg3 : tensor<4x64x32xi8>) outs(%4 : tensor<4x64x32xi8>) {
    ^bb0(%in: i8, %out: i8):
      %55 = arith.shrui %in, %c4_i8 : i8
      linalg.yield %55 : i8
    } -> tensor<4x64x32xi8>
    %expanded = tensor.expand_shape %5 [[0], [1], [2, 3]] output_shape [4, 64, 32, 1] : tensor<4x64x32xi8> into tensor<4x64x32x1xi8>
    %expanded_3 = tensor.expand_shape %6 [[0], [1], [2, 3]] output_shape [4, 64, 32, 1] : tensor<4x64x32xi8> into tensor<4x64x32x1xi8>
    %concat = tensor.concat dim(3) %expanded, %expanded_3 : (tensor<4x64x32x1xi8>, tensor<4x64x32x1xi8>) -> tensor<4x64x32x2xi8>
    %collapsed = tensor.collapse_shape %concat [[0], [1], [2, 3]] : tensor<4x64x32x2xi8> into tensor<4x64x64xi8>
    %7 = tensor.empty() : tensor<4x64x64xi64>
    %8 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed : tensor<4x64x64xi8>) outs(%7 : tensor<4x64x64xi64>) {
    ^bb0(%in: i8, %out: i64):
      %55 = arith.extui %in : i8 to i64
      linalg.yield %55 : i64
    } -> tensor<4x64x64xi64>
    %9 = tensor.empty() : tensor<4x64x64xbf16>
    %10 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8 : tensor<4x64x64xi64>) outs(%9 : tensor<4x64x64xbf16>) {
    ^bb0(%in: i64, %out: bf16):
      %55 = arith.cmpi slt, %in, %c0_i64 : i64
      %56 = arith.addi %in, %c16_i64 : i64
      %57 = arith.select %55, %56, %in : i64
      %58 = arith.index_cast %57 : i64 to index
      %extracted = tensor.extract %3[%58] : tensor<16xbf16>
      linalg.yield %extracted : bf16
    } -> tensor<4x64x64xbf16>
    %11 = tensor.empty() : tensor<4x64x64xf32>
    %12 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10 : tensor<4x64x64xbf16>) outs(%11 : tensor<4x64x64xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %55 = arith.extf %in : bf16 to f32
      linalg.yield %55 : f32
    } -> tensor<4x64x64xf32>
    %expanded_4 = tensor.expand_shape %12 [[0], [1], [2, 3]] output_shape [4, 64, 4, 16] : tensor<4x64x64xf32> into tensor<4x64x4x16xf32>
    %13 = tensor.empty() : tensor<4x64x4xf32>
    %14 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg4 : tensor<4x64x4xf8E4M3FN>) outs(%13 : tensor<4x64x4xf32>) {
    ^bb0(%in: f8E4M3FN, %out: f32):
      %55 = arith.extf %in : f8E4M3FN to f32
      linalg.yield %55 : f32
    } -> tensor<4x64x4xf32>
    %expanded_5 = tensor.expand_shape %14 [[0], [1], [2, 3]] output_shape [4, 64, 4, 1] : tensor<4x64x4xf32> into tensor<4x64x4x1xf32>
    %15 = tensor.empty() : tensor<4x64x4x16xf32>
    %16 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_4, %expanded_5 : tensor<4x64x4x16xf32>, tensor<4x64x4x1xf32>) outs(%15 : tensor<4x64x4x16xf32>) {
    ^bb0(%in: f32, %in_28: f32, %out: f32):
      %55 = arith.mulf %in, %in_28 : f32
      linalg.yield %55 : f32
    } -> tensor<4x64x4x16xf32>
    %collapsed_6 = tensor.collapse_shape %16 [[0], [1], [2, 3]] : tensor<4x64x4x16xf32> into tensor<4x64x64xf32>
    %17 = tensor.empty() : tensor<8x2x64x64xf32>
    %18 = linalg.generic {indexing_maps = [#map5, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<8x2xi64>) outs(%17 : tensor<8x2x64x64xf32>) {
    ^bb0(%in: i64, %out: f32):
      %55 = arith.cmpi slt, %in, %c0_i64 : i64
      %56 = arith.addi %in, %c4_i64 : i64
      %57 = arith.select %55, %56, %in : i64
      %58 = arith.index_cast %57 : i64 to index
      %59 = linalg.index 2 : index
      %60 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed_6[%58, %59, %60] : tensor<4x64x64xf32>
      linalg.yield %extracted : f32
    } -> tensor<8x2x64x64xf32>
    %expanded_7 = tensor.expand_shape %1 [[0], [1, 2]] output_shape [8, 1, 64] : tensor<8x64xf32> into tensor<8x1x64xf32>
    %19 = tensor.empty() : tensor<8x64x2x64xf32>
    %transposed = linalg.transpose ins(%18 : tensor<8x2x64x64xf32>) outs(%19 : tensor<8x64x2x64xf32>) permutation = [0, 3, 1, 2] 
    %collapsed_8 = tensor.collapse_shape %transposed [[0], [1], [2, 3]] : tensor<8x64x2x64xf32> into tensor<8x64x128xf32>
    %20 = tensor.empty() : tensor<8x1x128xf32>
    %21 = linalg.fill ins(%cst : f32) outs(%20 : tensor<8x1x128xf32>) -> tensor<8x1x128xf32>
    %22 = linalg.batch_matmul ins(%expanded_7, %collapsed_8 : tensor<8x1x64xf32>, tensor<8x64x128xf32>) outs(%21 : tensor<8x1x128xf32>) -> tensor<8x1x128xf32>
    %expanded_9 = tensor.expand_shape %22 [[0], [1], [2, 3]] output_shape [8, 1, 2, 64] : tensor<8x1x128xf32> into tensor<8x1x2x64xf32>
    %23 = tensor.empty() : tensor<8x2x64x1xf32>
    %transposed_10 = linalg.transpose ins(%expanded_9 : tensor<8x1x2x64xf32>) outs(%23 : tensor<8x2x64x1xf32>) permutation = [0, 2, 3, 1] 
    %collapsed_11 = tensor.collapse_shape %transposed_10 [[0], [1], [2, 3]] : tensor<8x2x64x1xf32> into tensor<8x2x64xf32>
    %extracted_slice = tensor.extract_slice %collapsed_11[0, 0, 0] [8, 2, 32] [1, 1, 1] : tensor<8x2x64xf32> to tensor<8x2x32xf32>
    %extracted_slice_12 = tensor.extract_slice %collapsed_11[0, 0, 32] [8, 2, 32] [1, 1, 1] : tensor<8x2x64xf32> to tensor<8x2x32xf32>
    %24 = tensor.empty() : tensor<8x2x32xf32>
    %25 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<8x2x32xf32>) outs(%24 : tensor<8x2x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %55 = arith.negf %in : f32
      %56 = math.exp %55 : f32
      %57 = arith.addf %56, %cst_0 : f32
      %58 = arith.divf %cst_0, %57 : f32
      linalg.yield %58 : f32
    } -> tensor<8x2x32xf32>
    %26 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%extracted_slice, %25 : tensor<8x2x32xf32>, tensor<8x2x32xf32>) outs(%24 : tensor<8x2x32xf32>) {
    ^bb0(%in: f32, %in_28: f32, %out: f32):
      %55 = arith.mulf %in, %in_28 : f32
      linalg.yield %55 : f32
    } -> tensor<8x2x32xf32>
    %27 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26, %extracted_slice_12 : tensor<8x2x32xf32>, tensor<8x2x32xf32>) outs(%24 : tensor<8x2x32xf32>) {
    ^bb0(%in: f32, %in_28: f32, %out: f32):
      %55 = arith.mulf %in, %in_28 : f32
      linalg.yield %55 : f32
    } -> tensor<8x2x32xf32>
    %28 = tensor.empty() : tensor<8x2x32xbf16>
    %29 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%27 : tensor<8x2x32xf32>) outs(%28 : tensor<8x2x32xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %55 = arith.truncf %in : f32 to bf16
      linalg.yield %55 : bf16
    } -> tensor<8x2x32xbf16>
    %30 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29 : tensor<8x2x32xbf16>) outs(%24 : tensor<8x2x32xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %55 = arith.extf %in : bf16 to f32
      linalg.yield %55 : f32
    } -> tensor<8x2x32xf32>
    %31 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel"]} ins(%cst_1 : tensor<16xf64>) outs(%2 : tensor<16xbf16>) {
    ^bb0(%in: f64, %out: bf16):
      %55 = arith.truncf %in : f64 to bf16
      linalg.yield %55 : bf16
    } -> tensor<16xbf16>
    %32 = tensor.empty() : tensor<4x64x16xi8>
    %33 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg5 : tensor<4x64x16xi8>) outs(%32 : tensor<4x64x16xi8>) {
    ^bb0(%in: i8, %out: i8):
      %55 = arith.andi %in, %c15_i8 : i8
      linalg.yield %55 : i8
    } -> tensor<4x64x16xi8>
    %34 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg5 : tensor<4x64x16xi8>) outs(%32 : tensor<4x64x16xi8>) {
    ^bb0(%in: i8, %out: i8):
      %55 = arith.shrui %in, %c4_i8 : i8
      linalg.yield %55 : i8
    } -> tensor<4x64x16xi8>
    %expanded_13 = tensor.expand_shape %33 [[0], [1], [2, 3]] output_shape [4, 64, 16, 1] : tensor<4x64x16xi8> into tensor<4x64x16x1xi8>
    %expanded_14 = tensor.expand_shape %34 [[0], [1], [2, 3]] output_shape [4, 64, 16, 1] : tensor<4x64x16xi8> into tensor<4x64x16x1xi8>
    %concat_15 = tensor.concat dim(3) %expanded_13, %expanded_14 : (tensor<4x64x16x1xi8>, tensor<4x64x16x1xi8>) -> tensor<4x64x16x2xi8>
    %collapsed_16 = tensor.collapse_shape %concat_15 [[0], [1], [2, 3]] : tensor<4x64x16x2xi8> into tensor<4x64x32xi8>
    %35 = tensor.empty() : tensor<4x64x32xi64>
    %36 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_16 : tensor<4x64x32xi8>) outs(%35 : tensor<4x64x32xi64>) {
    ^bb0(%in: i8, %out: i64):
      %55 = arith.extui %in : i8 to i64
      linalg.yield %55 : i64
    } -> tensor<4x64x32xi64>
    %37 = tensor.empty() : tensor<4x64x32xbf16>
    %38 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%36 : tensor<4x64x32xi64>) outs(%37 : tensor<4x64x32xbf16>) {
    ^bb0(%in: i64, %out: bf16):
      %55 = arith.cmpi slt, %in, %c0_i64 : i64
      %56 = arith.addi %in, %c16_i64 : i64
      %57 = arith.select %55, %56, %in : i64
      %58 = arith.index_cast %57 : i64 to index
      %extracted = tensor.extract %31[%58] : tensor<16xbf16>
      linalg.yield %extracted : bf16
    } -> tensor<4x64x32xbf16>
    %39 = tensor.empty() : tensor<4x64x32xf32>
    %40 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%38 : tensor<4x64x32xbf16>) outs(%39 : tensor<4x64x32xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %55 = arith.extf %in : bf16 to f32
      linalg.yield %55 : f32
    } -> tensor<4x64x32xf32>
    %expanded_17 = tensor.expand_shape %40 [[0], [1], [2, 3]] output_shape [4, 64, 2, 16] : tensor<4x64x32xf32> into tensor<4x64x2x16xf32>
    %41 = tensor.empty() : tensor<4x64x2xf32>
    %42 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg6 : tensor<4x64x2xf8E4M3FN>) outs(%41 : tensor<4x64x2xf32>) {
    ^bb0(%in: f8E4M3FN, %out: f32):
      %55 = arith.extf %in : f8E4M3FN to f32
      linalg.yield %55 : f32
    } -> tensor<4x64x2xf32>
    %expanded_18 = tensor.expand_shape %42 [[0], [1], [2, 3]] output_shape [4, 64, 2, 1] : tensor<4x64x2xf32> into tensor<4x64x2x1xf32>
    %43 = tensor.empty() : tensor<4x64x2x16xf32>
    %44 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_17, %expanded_18 : tensor<4x64x2x16xf32>, tensor<4x64x2x1xf32>) outs(%43 : tensor<4x64x2x16xf32>) {
    ^bb0(%in: f32, %in_28: f32, %out: f32):
      %55 = arith.mulf %in, %in_28 : f32
      linalg.yield %55 : f32
    } -> tensor<4x64x2x16xf32>
    %collapsed_19 = tensor.collapse_shape %44 [[0], [1], [2, 3]] : tensor<4x64x2x16xf32> into tensor<4x64x32xf32>
    %45 = tensor.empty() : tensor<8x2x64x32xf32>
    %46 = linalg.generic {indexing_maps = [#map5, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<8x2xi64>) outs(%45 : tensor<8x2x64x32xf32>) {
    ^bb0(%in: i64, %out: f32):
      %55 = arith.cmpi slt, %in, %c0_i64 : i64
      %56 = arith.addi %in, %c4_i64 : i64
      %57 = arith.select %55, %56, %in : i64
      %58 = arith.index_cast %57 : i64 to index
      %59 = linalg.index 2 : index
      %60 = linalg.index 3 : index
      %extracted = tensor.extract %collapsed_19[%58, %59, %60] : tensor<4x64x32xf32>
      linalg.yield %extracted : f32
    } -> tensor<8x2x64x32xf32>
    %collapsed_20 = tensor.collapse_shape %30 [[0, 1], [2]] : tensor<8x2x32xf32> into tensor<16x32xf32>
    %expanded_21 = tensor.expand_shape %collapsed_20 [[0], [1, 2]] output_shape [16, 1, 32] : tensor<16x32xf32> into tensor<16x1x32xf32>
    %47 = tensor.empty() : tensor<8x2x32x64xf32>
    %transposed_22 = linalg.transpose ins(%46 : tensor<8x2x64x32xf32>) outs(%47 : tensor<8x2x32x64xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_23 = tensor.collapse_shape %transposed_22 [[0, 1], [2], [3]] : tensor<8x2x32x64xf32> into tensor<16x32x64xf32>
    %48 = tensor.empty() : tensor<16x1x64xf32>
    %49 = linalg.fill ins(%cst : f32) outs(%48 : tensor<16x1x64xf32>) -> tensor<16x1x64xf32>
    %50 = linalg.batch_matmul ins(%expanded_21, %collapsed_23 : tensor<16x1x32xf32>, tensor<16x32x64xf32>) outs(%49 : tensor<16x1x64xf32>) -> tensor<16x1x64xf32>
    %expanded_24 = tensor.expand_shape %50 [[0, 1], [2], [3]] output_shape [8, 2, 1, 64] : tensor<16x1x64xf32> into tensor<8x2x1x64xf32>
    %transposed_25 = linalg.transpose ins(%expanded_24 : tensor<8x2x1x64xf32>) outs(%23 : tensor<8x2x64x1xf32>) permutation = [0, 1, 3, 2] 
    %collapsed_26 = tensor.collapse_shape %transposed_25 [[0], [1], [2, 3]] : tensor<8x2x64x1xf32> into tensor<8x2x64xf32>
    %expanded_27 = tensor.expand_shape %arg2 [[0], [1, 2]] output_shape [8, 2, 1] : tensor<8x2xf32> into tensor<8x2x1xf32>
    %51 = tensor.empty() : tensor<8x2x64xf32>
    %52 = linalg.generic {indexing_maps = [#map2, #map6, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_26, %expanded_27 : tensor<8x2x64xf32>, tensor<8x2x1xf32>) outs(%51 : tensor<8x2x64xf32>) {
    ^bb0(%in: f32, %in_28: f32, %out: f32):
      %55 = arith.mulf %in, %in_28 : f32
      linalg.yield %55 : f32
    } -> tensor<8x2x64xf32>
    %53 = linalg.fill ins(%cst : f32) outs(%0 : tensor<8x64xf32>) -> tensor<8x64xf32>
    %54 = linalg.generic {indexing_maps = [#map2, #map7], iterator_types = ["parallel", "reduction", "parallel"]} ins(%52 : tensor<8x2x64xf32>) outs(%53 : tensor<8x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %55 = arith.addf %in, %out : f32
      linalg.yield %55 : f32
    } -> tensor<8x64xf32>
    return %54 : tensor<8x64xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      torch_tensor_16_torch.float64_1: "0x080000000000000000000000000000000000E03F000000000000F03F000000000000F83F00000000000000400000000000000840000000000000104000000000000018400000000000000080000000000000E0BF000000000000F0BF000000000000F8BF00000000000000C000000000000008C000000000000010C000000000000018C0",
      torch_tensor_16_torch.float64: "0x080000000000000000000000000000000000E03F000000000000F03F000000000000F83F00000000000000400000000000000840000000000000104000000000000018400000000000000080000000000000E0BF000000000000F0BF000000000000F8BF00000000000000C000000000000008C000000000000010C000000000000018C0"
    }
  }
#-}
