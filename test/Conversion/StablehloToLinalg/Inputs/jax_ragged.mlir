// Written by jax_layers.py with JAX 0.10.2.
"builtin.module"() <{sym_name = "jit_ragged"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}], function_type = (tensor<8x64xbf16>, tensor<4x32x32xui8>, tensor<4x32x4xf8E4M3FN>, tensor<4xi32>) -> tensor<8x32xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<8x64xbf16>, %arg1: tensor<4x32x32xui8>, %arg2: tensor<4x32x4xf8E4M3FN>, %arg3: tensor<4xi32>):
    %0 = "stablehlo.bitcast_convert"(%arg1) : (tensor<4x32x32xui8>) -> tensor<4x32x32x2xf4E2M1FN>
    %1 = "stablehlo.reshape"(%0) : (tensor<4x32x32x2xf4E2M1FN>) -> tensor<4x32x64xf4E2M1FN>
    %2 = "stablehlo.convert"(%1) : (tensor<4x32x64xf4E2M1FN>) -> tensor<4x32x64xbf16>
    %3 = "stablehlo.convert"(%arg2) : (tensor<4x32x4xf8E4M3FN>) -> tensor<4x32x4xf32>
    %4 = "stablehlo.reshape"(%2) : (tensor<4x32x64xbf16>) -> tensor<4x32x4x16xbf16>
    %5 = "stablehlo.convert"(%4) : (tensor<4x32x4x16xbf16>) -> tensor<4x32x4x16xf32>
    %6 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x32x4xf32>) -> tensor<4x32x4x1xf32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x32x4x1xf32>) -> tensor<4x32x4x16xf32>
    %8 = "stablehlo.multiply"(%5, %7) : (tensor<4x32x4x16xf32>, tensor<4x32x4x16xf32>) -> tensor<4x32x4x16xf32>
    %9 = "stablehlo.reshape"(%8) : (tensor<4x32x4x16xf32>) -> tensor<4x32x64xf32>
    %10 = "stablehlo.convert"(%9) : (tensor<4x32x64xf32>) -> tensor<4x32x64xbf16>
    %11 = "stablehlo.transpose"(%10) <{permutation = array<i64: 0, 2, 1>}> : (tensor<4x32x64xbf16>) -> tensor<4x64x32xbf16>
    %12 = "chlo.ragged_dot"(%arg0, %11, %arg3) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x64xbf16>, tensor<4x64x32xbf16>, tensor<4xi32>) -> tensor<8x32xf32>
    "func.return"(%12) : (tensor<8x32xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
