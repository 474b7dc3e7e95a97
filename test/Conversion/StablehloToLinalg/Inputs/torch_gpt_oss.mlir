// Written by torch_layers.py with torch 2.11.0 and torch-mlir 20261001.
#map = affine_map<(d0, d1, d2) -> (d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map2 = affine_map<(d0) -> (d0)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>
#map5 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
module {
  func.func @main(%arg0: tensor<8x64xbf16>, %arg1: tensor<8x4xf32>, %arg2: tensor<4x64x32xi8>, %arg3: tensor<4x64x2xi8>, %arg4: tensor<4x64xf32>, %arg5: tensor<4x64x16xi8>, %arg6: tensor<4x64x1xi8>, %arg7: tensor<4x64xf32>) -> tensor<8x64xf32> {
    %c0_i64 = arith.constant 0 : i64
    %c16_i64 = arith.constant 16 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %cst_1 = arith.constant dense_resource<torch_tensor_16_torch.float64_1> : tensor<16xf64>
    %cst_2 = arith.constant 1.702000e+00 : f64
    %cst_3 = arith.constant dense_resource<torch_tensor_16_torch.float64> : tensor<16xf64>
    %c15_i8 = arith.constant 15 : i8
    %c4_i8 = arith.constant 4 : i8
    %c127_i32 = arith.constant 127 : i32
    %cst_4 = arith.constant 2.000000e+00 : bf16
    %cst_5 = arith.constant 7.000000e+00 : f32
    %cst_6 = arith.constant -7.000000e+00 : f32
    %0 = tensor.empty() : tensor<4x8x64xbf16>
    %1 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<8x64xbf16>) outs(%0 : tensor<4x8x64xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      linalg.yield %in : bf16
    } -> tensor<4x8x64xbf16>
    %2 = tensor.empty() : tensor<4x8x64xf32>
    %3 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1 : tensor<4x8x64xbf16>) outs(%2 : tensor<4x8x64xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %69 = arith.extf %in : bf16 to f32
      linalg.yield %69 : f32
    } -> tensor<4x8x64xf32>
    %4 = tensor.empty() : tensor<16xbf16>
    %5 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%cst_3 : tensor<16xf64>) outs(%4 : tensor<16xbf16>) {
    ^bb0(%in: f64, %out: bf16):
      %69 = arith.truncf %in : f64 to bf16
      linalg.yield %69 : bf16
    } -> tensor<16xbf16>
    %6 = tensor.empty() : tensor<4x64x32xi8>
    %7 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg2 : tensor<4x64x32xi8>) outs(%6 : tensor<4x64x32xi8>) {
    ^bb0(%in: i8, %out: i8):
      %69 = arith.andi %in, %c15_i8 : i8
      linalg.yield %69 : i8
    } -> tensor<4x64x32xi8>
    %8 = tensor.empty() : tensor<4x64x32xi64>
    %9 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%7 : tensor<4x64x32xi8>) outs(%8 : tensor<4x64x32xi64>) {
    ^bb0(%in: i8, %out: i64):
      %69 = arith.extui %in : i8 to i64
      linalg.yield %69 : i64
    } -> tensor<4x64x32xi64>
    %10 = tensor.empty() : tensor<4x64x32xbf16>
    %11 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9 : tensor<4x64x32xi64>) outs(%10 : tensor<4x64x32xbf16>) {
    ^bb0(%in: i64, %out: bf16):
      %69 = arith.cmpi slt, %in, %c0_i64 : i64
      %70 = arith.addi %in, %c16_i64 : i64
      %71 = arith.select %69, %70, %in : i64
      %72 = arith.index_cast %71 : i64 to index
      %extracted = tensor.extract %5[%72] : tensor<16xbf16>
      linalg.yield %extracted : bf16
    } -> tensor<4x64x32xbf16>
    %12 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg2 : tensor<4x64x32xi8>) outs(%6 : tensor<4x64x32xi8>) {
    ^bb0(%in: i8, %out: i8):
      %69 = arith.shrui %in, %c4_i8 : i8
      linalg.yield %69 : i8
    } -> tensor<4x64x32xi8>
    %13 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%12 : tensor<4x64x32xi8>) outs(%8 : tensor<4x64x32xi64>) {
    ^bb0(%in: i8, %out: i64):
      %69 = arith.extui %in : i8 to i64
      linalg.yield %69 : i64
    } -> tensor<4x64x32xi64>
    %14 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%13 : tensor<4x64x32xi64>) outs(%10 : tensor<4x64x32xbf16>) {
    ^bb0(%in: i64, %out: bf16):
      %69 = arith.cmpi slt, %in, %c0_i64 : i64
      %70 = arith.addi %in, %c16_i64 : i64
      %71 = arith.select %69, %70, %in : i64
      %72 = arith.index_cast %71 : i64 to index
      %extracted = tensor.extract %5[%72] : tensor<16xbf16>
      linalg.yield %extracted : bf16
    } -> tensor<4x64x32xbf16>
    %expanded = tensor.expand_shape %11 [[0], [1], [2, 3]] output_shape [4, 64, 32, 1] : tensor<4x64x32xbf16> into tensor<4x64x32x1xbf16>
    %expanded_7 = tensor.expand_shape %14 [[0], [1], [2, 3]] output_shape [4, 64, 32, 1] : tensor<4x64x32xbf16> into tensor<4x64x32x1xbf16>
    %concat = tensor.concat dim(3) %expanded, %expanded_7 : (tensor<4x64x32x1xbf16>, tensor<4x64x32x1xbf16>) -> tensor<4x64x32x2xbf16>
    %collapsed = tensor.collapse_shape %concat [[0], [1], [2, 3]] : tensor<4x64x32x2xbf16> into tensor<4x64x64xbf16>
    %expanded_8 = tensor.expand_shape %collapsed [[0], [1], [2, 3]] output_shape [4, 64, 2, 32] : tensor<4x64x64xbf16> into tensor<4x64x2x32xbf16>
    %15 = tensor.empty() : tensor<4x64x2xi32>
    %16 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg3 : tensor<4x64x2xi8>) outs(%15 : tensor<4x64x2xi32>) {
    ^bb0(%in: i8, %out: i32):
      %69 = arith.extui %in : i8 to i32
      linalg.yield %69 : i32
    } -> tensor<4x64x2xi32>
    %expanded_9 = tensor.expand_shape %16 [[0], [1], [2, 3]] output_shape [4, 64, 2, 1] : tensor<4x64x2xi32> into tensor<4x64x2x1xi32>
    %17 = tensor.empty() : tensor<4x64x2x1xi32>
    %18 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_9 : tensor<4x64x2x1xi32>) outs(%17 : tensor<4x64x2x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      %69 = arith.subi %in, %c127_i32 : i32
      linalg.yield %69 : i32
    } -> tensor<4x64x2x1xi32>
    %19 = tensor.empty() : tensor<4x64x2x1xbf16>
    %20 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<4x64x2x1xi32>) outs(%19 : tensor<4x64x2x1xbf16>) {
    ^bb0(%in: i32, %out: bf16):
      %69 = arith.sitofp %in : i32 to bf16
      linalg.yield %69 : bf16
    } -> tensor<4x64x2x1xbf16>
    %21 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<4x64x2x1xbf16>) outs(%19 : tensor<4x64x2x1xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %69 = math.powf %cst_4, %in : bf16
      linalg.yield %69 : bf16
    } -> tensor<4x64x2x1xbf16>
    %22 = tensor.empty() : tensor<4x64x2x32xbf16>
    %23 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_8, %21 : tensor<4x64x2x32xbf16>, tensor<4x64x2x1xbf16>) outs(%22 : tensor<4x64x2x32xbf16>) {
    ^bb0(%in: bf16, %in_24: bf16, %out: bf16):
      %69 = arith.mulf %in, %in_24 : bf16
      linalg.yield %69 : bf16
    } -> tensor<4x64x2x32xbf16>
    %collapsed_10 = tensor.collapse_shape %23 [[0], [1], [2, 3]] : tensor<4x64x2x32xbf16> into tensor<4x64x64xbf16>
    %24 = tensor.empty() : tensor<4x64x64xf32>
    %25 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_10 : tensor<4x64x64xbf16>) outs(%24 : tensor<4x64x64xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %69 = arith.extf %in : bf16 to f32
      linalg.yield %69 : f32
    } -> tensor<4x64x64xf32>
    %transposed = linalg.transpose ins(%25 : tensor<4x64x64xf32>) outs(%24 : tensor<4x64x64xf32>) permutation = [0, 2, 1] 
    %26 = linalg.fill ins(%cst : f32) outs(%2 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
    %27 = linalg.batch_matmul ins(%3, %transposed : tensor<4x8x64xf32>, tensor<4x64x64xf32>) outs(%26 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
    %expanded_11 = tensor.expand_shape %arg4 [[0], [1, 2]] output_shape [4, 1, 64] : tensor<4x64xf32> into tensor<4x1x64xf32>
    %28 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%27, %expanded_11 : tensor<4x8x64xf32>, tensor<4x1x64xf32>) outs(%2 : tensor<4x8x64xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %69 = arith.addf %in, %in_24 : f32
      linalg.yield %69 : f32
    } -> tensor<4x8x64xf32>
    %extracted_slice = tensor.extract_slice %28[0, 0, 0] [4, 8, 32] [1, 1, 2] : tensor<4x8x64xf32> to tensor<4x8x32xf32>
    %29 = tensor.empty() : tensor<4x8x32xf32>
    %30 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%extracted_slice : tensor<4x8x32xf32>) outs(%29 : tensor<4x8x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %69 = arith.cmpf ugt, %in, %cst_5 : f32
      %70 = arith.select %69, %cst_5, %in : f32
      linalg.yield %70 : f32
    } -> tensor<4x8x32xf32>
    %extracted_slice_12 = tensor.extract_slice %28[0, 0, 1] [4, 8, 32] [1, 1, 2] : tensor<4x8x64xf32> to tensor<4x8x32xf32>
    %31 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%extracted_slice_12 : tensor<4x8x32xf32>) outs(%29 : tensor<4x8x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %69 = arith.cmpf ult, %in, %cst_6 : f32
      %70 = arith.select %69, %cst_6, %in : f32
      %71 = arith.cmpf ugt, %70, %cst_5 : f32
      %72 = arith.select %71, %cst_5, %70 : f32
      linalg.yield %72 : f32
    } -> tensor<4x8x32xf32>
    %32 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%31 : tensor<4x8x32xf32>) outs(%29 : tensor<4x8x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %69 = arith.addf %in, %cst_0 : f32
      linalg.yield %69 : f32
    } -> tensor<4x8x32xf32>
    %33 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30 : tensor<4x8x32xf32>) outs(%29 : tensor<4x8x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %69 = arith.truncf %cst_2 : f64 to f32
      %70 = arith.mulf %in, %69 : f32
      linalg.yield %70 : f32
    } -> tensor<4x8x32xf32>
    %34 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%33 : tensor<4x8x32xf32>) outs(%29 : tensor<4x8x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %69 = arith.negf %in : f32
      %70 = math.exp %69 : f32
      %71 = arith.addf %70, %cst_0 : f32
      %72 = arith.divf %cst_0, %71 : f32
      linalg.yield %72 : f32
    } -> tensor<4x8x32xf32>
    %35 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30, %34 : tensor<4x8x32xf32>, tensor<4x8x32xf32>) outs(%29 : tensor<4x8x32xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %69 = arith.mulf %in, %in_24 : f32
      linalg.yield %69 : f32
    } -> tensor<4x8x32xf32>
    %36 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%32, %35 : tensor<4x8x32xf32>, tensor<4x8x32xf32>) outs(%29 : tensor<4x8x32xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %69 = arith.mulf %in, %in_24 : f32
      linalg.yield %69 : f32
    } -> tensor<4x8x32xf32>
    %37 = tensor.empty() : tensor<4x8x32xbf16>
    %38 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%36 : tensor<4x8x32xf32>) outs(%37 : tensor<4x8x32xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %69 = arith.truncf %in : f32 to bf16
      linalg.yield %69 : bf16
    } -> tensor<4x8x32xbf16>
    %39 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%38 : tensor<4x8x32xbf16>) outs(%29 : tensor<4x8x32xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %69 = arith.extf %in : bf16 to f32
      linalg.yield %69 : f32
    } -> tensor<4x8x32xf32>
    %40 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel"]} ins(%cst_1 : tensor<16xf64>) outs(%4 : tensor<16xbf16>) {
    ^bb0(%in: f64, %out: bf16):
      %69 = arith.truncf %in : f64 to bf16
      linalg.yield %69 : bf16
    } -> tensor<16xbf16>
    %41 = tensor.empty() : tensor<4x64x16xi8>
    %42 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg5 : tensor<4x64x16xi8>) outs(%41 : tensor<4x64x16xi8>) {
    ^bb0(%in: i8, %out: i8):
      %69 = arith.andi %in, %c15_i8 : i8
      linalg.yield %69 : i8
    } -> tensor<4x64x16xi8>
    %43 = tensor.empty() : tensor<4x64x16xi64>
    %44 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%42 : tensor<4x64x16xi8>) outs(%43 : tensor<4x64x16xi64>) {
    ^bb0(%in: i8, %out: i64):
      %69 = arith.extui %in : i8 to i64
      linalg.yield %69 : i64
    } -> tensor<4x64x16xi64>
    %45 = tensor.empty() : tensor<4x64x16xbf16>
    %46 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%44 : tensor<4x64x16xi64>) outs(%45 : tensor<4x64x16xbf16>) {
    ^bb0(%in: i64, %out: bf16):
      %69 = arith.cmpi slt, %in, %c0_i64 : i64
      %70 = arith.addi %in, %c16_i64 : i64
      %71 = arith.select %69, %70, %in : i64
      %72 = arith.index_cast %71 : i64 to index
      %extracted = tensor.extract %40[%72] : tensor<16xbf16>
      linalg.yield %extracted : bf16
    } -> tensor<4x64x16xbf16>
    %47 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg5 : tensor<4x64x16xi8>) outs(%41 : tensor<4x64x16xi8>) {
    ^bb0(%in: i8, %out: i8):
      %69 = arith.shrui %in, %c4_i8 : i8
      linalg.yield %69 : i8
    } -> tensor<4x64x16xi8>
    %48 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%47 : tensor<4x64x16xi8>) outs(%43 : tensor<4x64x16xi64>) {
    ^bb0(%in: i8, %out: i64):
      %69 = arith.extui %in : i8 to i64
      linalg.yield %69 : i64
    } -> tensor<4x64x16xi64>
    %49 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%48 : tensor<4x64x16xi64>) outs(%45 : tensor<4x64x16xbf16>) {
    ^bb0(%in: i64, %out: bf16):
      %69 = arith.cmpi slt, %in, %c0_i64 : i64
      %70 = arith.addi %in, %c16_i64 : i64
      %71 = arith.select %69, %70, %in : i64
      %72 = arith.index_cast %71 : i64 to index
      %extracted = tensor.extract %40[%72] : tensor<16xbf16>
      linalg.yield %extracted : bf16
    } -> tensor<4x64x16xbf16>
    %expanded_13 = tensor.expand_shape %46 [[0], [1], [2, 3]] output_shape [4, 64, 16, 1] : tensor<4x64x16xbf16> into tensor<4x64x16x1xbf16>
    %expanded_14 = tensor.expand_shape %49 [[0], [1], [2, 3]] output_shape [4, 64, 16, 1] : tensor<4x64x16xbf16> into tensor<4x64x16x1xbf16>
    %concat_15 = tensor.concat dim(3) %expanded_13, %expanded_14 : (tensor<4x64x16x1xbf16>, tensor<4x64x16x1xbf16>) -> tensor<4x64x16x2xbf16>
    %collapsed_16 = tensor.collapse_shape %concat_15 [[0], [1], [2, 3]] : tensor<4x64x16x2xbf16> into tensor<4x64x32xbf16>
    %expanded_17 = tensor.expand_shape %collapsed_16 [[0], [1], [2, 3]] output_shape [4, 64, 1, 32] : tensor<4x64x32xbf16> into tensor<4x64x1x32xbf16>
    %50 = tensor.empty() : tensor<4x64x1xi32>
    %51 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg6 : tensor<4x64x1xi8>) outs(%50 : tensor<4x64x1xi32>) {
    ^bb0(%in: i8, %out: i32):
      %69 = arith.extui %in : i8 to i32
      linalg.yield %69 : i32
    } -> tensor<4x64x1xi32>
    %expanded_18 = tensor.expand_shape %51 [[0], [1], [2, 3]] output_shape [4, 64, 1, 1] : tensor<4x64x1xi32> into tensor<4x64x1x1xi32>
    %52 = tensor.empty() : tensor<4x64x1x1xi32>
    %53 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_18 : tensor<4x64x1x1xi32>) outs(%52 : tensor<4x64x1x1xi32>) {
    ^bb0(%in: i32, %out: i32):
      %69 = arith.subi %in, %c127_i32 : i32
      linalg.yield %69 : i32
    } -> tensor<4x64x1x1xi32>
    %54 = tensor.empty() : tensor<4x64x1x1xbf16>
    %55 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%53 : tensor<4x64x1x1xi32>) outs(%54 : tensor<4x64x1x1xbf16>) {
    ^bb0(%in: i32, %out: bf16):
      %69 = arith.sitofp %in : i32 to bf16
      linalg.yield %69 : bf16
    } -> tensor<4x64x1x1xbf16>
    %56 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%55 : tensor<4x64x1x1xbf16>) outs(%54 : tensor<4x64x1x1xbf16>) {
    ^bb0(%in: bf16, %out: bf16):
      %69 = math.powf %cst_4, %in : bf16
      linalg.yield %69 : bf16
    } -> tensor<4x64x1x1xbf16>
    %57 = tensor.empty() : tensor<4x64x1x32xbf16>
    %58 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%expanded_17, %56 : tensor<4x64x1x32xbf16>, tensor<4x64x1x1xbf16>) outs(%57 : tensor<4x64x1x32xbf16>) {
    ^bb0(%in: bf16, %in_24: bf16, %out: bf16):
      %69 = arith.mulf %in, %in_24 : bf16
      linalg.yield %69 : bf16
    } -> tensor<4x64x1x32xbf16>
    %collapsed_19 = tensor.collapse_shape %58 [[0], [1], [2, 3]] : tensor<4x64x1x32xbf16> into tensor<4x64x32xbf16>
    %59 = tensor.empty() : tensor<4x64x32xf32>
    %60 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed_19 : tensor<4x64x32xbf16>) outs(%59 : tensor<4x64x32xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %69 = arith.extf %in : bf16 to f32
      linalg.yield %69 : f32
    } -> tensor<4x64x32xf32>
    %61 = tensor.empty() : tensor<4x32x64xf32>
    %transposed_20 = linalg.transpose ins(%60 : tensor<4x64x32xf32>) outs(%61 : tensor<4x32x64xf32>) permutation = [0, 2, 1] 
    %62 = linalg.batch_matmul ins(%39, %transposed_20 : tensor<4x8x32xf32>, tensor<4x32x64xf32>) outs(%26 : tensor<4x8x64xf32>) -> tensor<4x8x64xf32>
    %expanded_21 = tensor.expand_shape %arg7 [[0], [1, 2]] output_shape [4, 1, 64] : tensor<4x64xf32> into tensor<4x1x64xf32>
    %63 = linalg.generic {indexing_maps = [#map1, #map5, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%62, %expanded_21 : tensor<4x8x64xf32>, tensor<4x1x64xf32>) outs(%2 : tensor<4x8x64xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %69 = arith.addf %in, %in_24 : f32
      linalg.yield %69 : f32
    } -> tensor<4x8x64xf32>
    %64 = tensor.empty() : tensor<4x8xf32>
    %transposed_22 = linalg.transpose ins(%arg1 : tensor<8x4xf32>) outs(%64 : tensor<4x8xf32>) permutation = [1, 0] 
    %expanded_23 = tensor.expand_shape %transposed_22 [[0], [1, 2]] output_shape [4, 8, 1] : tensor<4x8xf32> into tensor<4x8x1xf32>
    %65 = linalg.generic {indexing_maps = [#map1, #map6, #map1], iterator_types = ["parallel", "parallel", "parallel"]} ins(%63, %expanded_23 : tensor<4x8x64xf32>, tensor<4x8x1xf32>) outs(%2 : tensor<4x8x64xf32>) {
    ^bb0(%in: f32, %in_24: f32, %out: f32):
      %69 = arith.mulf %in, %in_24 : f32
      linalg.yield %69 : f32
    } -> tensor<4x8x64xf32>
    %66 = tensor.empty() : tensor<8x64xf32>
    %67 = linalg.fill ins(%cst : f32) outs(%66 : tensor<8x64xf32>) -> tensor<8x64xf32>
    %68 = linalg.generic {indexing_maps = [#map1, #map], iterator_types = ["reduction", "parallel", "parallel"]} ins(%65 : tensor<4x8x64xf32>) outs(%67 : tensor<8x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %69 = arith.addf %in, %out : f32
      linalg.yield %69 : f32
    } -> tensor<8x64xf32>
    return %68 : tensor<8x64xf32>
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
