// Written by jax_layers.py with JAX 0.10.2.
"builtin.module"() <{sym_name = "jit_all_experts"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<8x64xbf16>, tensor<8x4xf32>, tensor<4x64x32xui8>, tensor<4x64x4xf8E4M3FN>, tensor<4xf32>, tensor<4x64x16xui8>, tensor<4x64x2xf8E4M3FN>, tensor<4xf32>) -> tensor<8x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg2: tensor<8x64xbf16>, %arg3: tensor<8x4xf32>, %arg4: tensor<4x64x32xui8>, %arg5: tensor<4x64x4xf8E4M3FN>, %arg6: tensor<4xf32>, %arg7: tensor<4x64x16xui8>, %arg8: tensor<4x64x2xf8E4M3FN>, %arg9: tensor<4xf32>):
    %15 = "stablehlo.constant"() <{value = dense<[0.000000e+00, 5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 6.000000e+00, -0.000000e+00, -5.000000e-01, -1.000000e+00, -1.500000e+00, -2.000000e+00, -3.000000e+00, -4.000000e+00, -6.000000e+00]> : tensor<16xbf16>}> : () -> tensor<16xbf16>
    %16 = "stablehlo.constant"() <{value = dense<[0.000000e+00, 5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 6.000000e+00, -0.000000e+00, -5.000000e-01, -1.000000e+00, -1.500000e+00, -2.000000e+00, -3.000000e+00, -4.000000e+00, -6.000000e+00]> : tensor<16xbf16>}> : () -> tensor<16xbf16>
    %17 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %18 = "stablehlo.reduce"(%arg3, %17) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg16: tensor<f32>, %arg17: tensor<f32>):
      %109 = "stablehlo.maximum"(%arg16, %arg17) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%109) : (tensor<f32>) -> ()
    }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %19 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %21 = "stablehlo.maximum"(%20, %18) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %24 = "stablehlo.subtract"(%arg3, %23) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %25 = "stablehlo.exponential"(%24) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %26 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %27 = "stablehlo.reduce"(%25, %26) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %108 = "stablehlo.add"(%arg14, %arg15) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%108) : (tensor<f32>) -> ()
    }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %29 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %30 = "stablehlo.divide"(%25, %29) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %31:2 = "chlo.top_k"(%30) <{k = 2 : i64}> : (tensor<8x4xf32>) -> (tensor<8x2xf32>, tensor<8x2xi32>)
    %32 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %33 = "stablehlo.reduce"(%31#0, %32) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg12: tensor<f32>, %arg13: tensor<f32>):
      %107 = "stablehlo.add"(%arg12, %arg13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%107) : (tensor<f32>) -> ()
    }) : (tensor<8x2xf32>, tensor<f32>) -> tensor<8xf32>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %35 = "stablehlo.broadcast_in_dim"(%34) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x2xf32>
    %36 = "stablehlo.divide"(%31#0, %35) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    %37 = "stablehlo.constant"() <{value = dense<15> : tensor<ui8>}> : () -> tensor<ui8>
    %38 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x32xui8>
    %39 = "stablehlo.and"(%arg4, %38) : (tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xui8>
    %40 = "stablehlo.convert"(%39) : (tensor<4x64x32xui8>) -> tensor<4x64x32xi32>
    %41 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xi32>) -> tensor<4x64x32x1xi32>
    %42 = "stablehlo.gather"(%15, %41) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xbf16>, tensor<4x64x32x1xi32>) -> tensor<4x64x32xbf16>
    %43 = "stablehlo.constant"() <{value = dense<4> : tensor<ui8>}> : () -> tensor<ui8>
    %44 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x32xui8>
    %45 = "stablehlo.shift_right_logical"(%arg4, %44) : (tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xui8>
    %46 = "stablehlo.convert"(%45) : (tensor<4x64x32xui8>) -> tensor<4x64x32xi32>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xi32>) -> tensor<4x64x32x1xi32>
    %48 = "stablehlo.gather"(%15, %47) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xbf16>, tensor<4x64x32x1xi32>) -> tensor<4x64x32xbf16>
    %49 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xbf16>) -> tensor<4x64x32x1xbf16>
    %50 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xbf16>) -> tensor<4x64x32x1xbf16>
    %51 = "stablehlo.concatenate"(%49, %50) <{dimension = 3 : i64}> : (tensor<4x64x32x1xbf16>, tensor<4x64x32x1xbf16>) -> tensor<4x64x32x2xbf16>
    %52 = "stablehlo.reshape"(%51) : (tensor<4x64x32x2xbf16>) -> tensor<4x64x64xbf16>
    %53 = "stablehlo.convert"(%arg5) : (tensor<4x64x4xf8E4M3FN>) -> tensor<4x64x4xf32>
    %54 = "stablehlo.reshape"(%52) : (tensor<4x64x64xbf16>) -> tensor<4x64x4x16xbf16>
    %55 = "stablehlo.convert"(%54) : (tensor<4x64x4x16xbf16>) -> tensor<4x64x4x16xf32>
    %56 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x4xf32>) -> tensor<4x64x4x1xf32>
    %57 = "stablehlo.broadcast_in_dim"(%56) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x64x4x1xf32>) -> tensor<4x64x4x16xf32>
    %58 = "stablehlo.multiply"(%55, %57) : (tensor<4x64x4x16xf32>, tensor<4x64x4x16xf32>) -> tensor<4x64x4x16xf32>
    %59 = "stablehlo.reshape"(%58) : (tensor<4x64x4x16xf32>) -> tensor<4x64x64xf32>
    %60 = "stablehlo.broadcast_in_dim"(%arg6) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %61 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x1x1xf32>) -> tensor<4x64x64xf32>
    %62 = "stablehlo.multiply"(%59, %61) : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %63 = "stablehlo.constant"() <{value = dense<15> : tensor<ui8>}> : () -> tensor<ui8>
    %64 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x16xui8>
    %65 = "stablehlo.and"(%arg7, %64) : (tensor<4x64x16xui8>, tensor<4x64x16xui8>) -> tensor<4x64x16xui8>
    %66 = "stablehlo.convert"(%65) : (tensor<4x64x16xui8>) -> tensor<4x64x16xi32>
    %67 = "stablehlo.broadcast_in_dim"(%66) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x16xi32>) -> tensor<4x64x16x1xi32>
    %68 = "stablehlo.gather"(%16, %67) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xbf16>, tensor<4x64x16x1xi32>) -> tensor<4x64x16xbf16>
    %69 = "stablehlo.constant"() <{value = dense<4> : tensor<ui8>}> : () -> tensor<ui8>
    %70 = "stablehlo.broadcast_in_dim"(%69) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x16xui8>
    %71 = "stablehlo.shift_right_logical"(%arg7, %70) : (tensor<4x64x16xui8>, tensor<4x64x16xui8>) -> tensor<4x64x16xui8>
    %72 = "stablehlo.convert"(%71) : (tensor<4x64x16xui8>) -> tensor<4x64x16xi32>
    %73 = "stablehlo.broadcast_in_dim"(%72) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x16xi32>) -> tensor<4x64x16x1xi32>
    %74 = "stablehlo.gather"(%16, %73) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xbf16>, tensor<4x64x16x1xi32>) -> tensor<4x64x16xbf16>
    %75 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x16xbf16>) -> tensor<4x64x16x1xbf16>
    %76 = "stablehlo.broadcast_in_dim"(%74) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x16xbf16>) -> tensor<4x64x16x1xbf16>
    %77 = "stablehlo.concatenate"(%75, %76) <{dimension = 3 : i64}> : (tensor<4x64x16x1xbf16>, tensor<4x64x16x1xbf16>) -> tensor<4x64x16x2xbf16>
    %78 = "stablehlo.reshape"(%77) : (tensor<4x64x16x2xbf16>) -> tensor<4x64x32xbf16>
    %79 = "stablehlo.convert"(%arg8) : (tensor<4x64x2xf8E4M3FN>) -> tensor<4x64x2xf32>
    %80 = "stablehlo.reshape"(%78) : (tensor<4x64x32xbf16>) -> tensor<4x64x2x16xbf16>
    %81 = "stablehlo.convert"(%80) : (tensor<4x64x2x16xbf16>) -> tensor<4x64x2x16xf32>
    %82 = "stablehlo.broadcast_in_dim"(%79) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x2xf32>) -> tensor<4x64x2x1xf32>
    %83 = "stablehlo.broadcast_in_dim"(%82) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x64x2x1xf32>) -> tensor<4x64x2x16xf32>
    %84 = "stablehlo.multiply"(%81, %83) : (tensor<4x64x2x16xf32>, tensor<4x64x2x16xf32>) -> tensor<4x64x2x16xf32>
    %85 = "stablehlo.reshape"(%84) : (tensor<4x64x2x16xf32>) -> tensor<4x64x32xf32>
    %86 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %87 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x1x1xf32>) -> tensor<4x64x32xf32>
    %88 = "stablehlo.multiply"(%85, %87) : (tensor<4x64x32xf32>, tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
    %89 = "stablehlo.convert"(%arg2) : (tensor<8x64xbf16>) -> tensor<8x64xf32>
    %90 = "stablehlo.dot_general"(%62, %89) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x64x64xf32>, tensor<8x64xf32>) -> tensor<4x64x8xf32>
    %91 = "stablehlo.transpose"(%90) <{permutation = array<i64: 0, 2, 1>}> : (tensor<4x64x8xf32>) -> tensor<4x8x64xf32>
    %92 = "stablehlo.slice"(%91) <{limit_indices = array<i64: 4, 8, 32>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x8x64xf32>) -> tensor<4x8x32xf32>
    %93 = "func.call"(%92) <{callee = @silu}> : (tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    %94 = "stablehlo.slice"(%91) <{limit_indices = array<i64: 4, 8, 64>, start_indices = array<i64: 0, 0, 32>, strides = array<i64: 1, 1, 1>}> : (tensor<4x8x64xf32>) -> tensor<4x8x32xf32>
    %95 = "stablehlo.multiply"(%93, %94) : (tensor<4x8x32xf32>, tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    %96 = "stablehlo.convert"(%95) : (tensor<4x8x32xf32>) -> tensor<4x8x32xbf16>
    %97 = "stablehlo.convert"(%96) : (tensor<4x8x32xbf16>) -> tensor<4x8x32xf32>
    %98 = "stablehlo.dot_general"(%97, %88) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x8x32xf32>, tensor<4x64x32xf32>) -> tensor<4x8x64xf32>
    %99 = "func.call"(%31#1) <{callee = @_one_hot}> : (tensor<8x2xi32>) -> tensor<8x2x4xf32>
    %100 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x2xf32>) -> tensor<8x2x1xf32>
    %101 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x2x1xf32>) -> tensor<8x2x4xf32>
    %102 = "stablehlo.multiply"(%99, %101) : (tensor<8x2x4xf32>, tensor<8x2x4xf32>) -> tensor<8x2x4xf32>
    %103 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %104 = "stablehlo.reduce"(%102, %103) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg10: tensor<f32>, %arg11: tensor<f32>):
      %106 = "stablehlo.add"(%arg10, %arg11) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%106) : (tensor<f32>) -> ()
    }) : (tensor<8x2x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %105 = "stablehlo.dot_general"(%104, %98) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<8x4xf32>, tensor<4x8x64xf32>) -> tensor<8x64xf32>
    "func.return"(%105) : (tensor<8x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<4x8x32xf32>) -> tensor<4x8x32xf32>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<4x8x32xf32>):
    %6 = "stablehlo.negate"(%arg1) : (tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    %7 = "stablehlo.exponential"(%6) : (tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    %8 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8x32xf32>
    %10 = "stablehlo.add"(%9, %7) : (tensor<4x8x32xf32>, tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    %11 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8x32xf32>
    %13 = "stablehlo.divide"(%12, %10) : (tensor<4x8x32xf32>, tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    %14 = "stablehlo.multiply"(%arg1, %13) : (tensor<4x8x32xf32>, tensor<4x8x32xf32>) -> tensor<4x8x32xf32>
    "func.return"(%14) : (tensor<4x8x32xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<8x2xi32>) -> tensor<8x2x4xf32>, res_attrs = [{}], sym_name = "_one_hot", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<8x2xi32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x2xi32>) -> tensor<8x2x1xi32>
    %1 = "stablehlo.iota"() <{iota_dimension = 2 : i64}> : () -> tensor<1x1x4xi32>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<8x2x1xi32>) -> tensor<8x2x4xi32>
    %3 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x4xi32>) -> tensor<8x2x4xi32>
    %4 = "stablehlo.compare"(%2, %3) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<8x2x4xi32>, tensor<8x2x4xi32>) -> tensor<8x2x4xi1>
    %5 = "stablehlo.convert"(%4) : (tensor<8x2x4xi1>) -> tensor<8x2x4xf32>
    "func.return"(%5) : (tensor<8x2x4xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
