// Written by jax_layers.py with JAX 0.10.2.
"builtin.module"() <{sym_name = "jit_linear"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<8x64xbf16>, tensor<32x32xui8>, tensor<32x4xf8E4M3FN>) -> tensor<8x32xbf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg7: tensor<8x64xbf16>, %arg8: tensor<32x32xui8>, %arg9: tensor<32x4xf8E4M3FN>):
    %25 = "stablehlo.constant"() <{value = dense<[0.000000e+00, 5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 6.000000e+00, -0.000000e+00, -5.000000e-01, -1.000000e+00, -1.500000e+00, -2.000000e+00, -3.000000e+00, -4.000000e+00, -6.000000e+00]> : tensor<16xf32>}> : () -> tensor<16xf32>
    %26 = "stablehlo.constant"() <{value = dense<15> : tensor<ui8>}> : () -> tensor<ui8>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<32x32xui8>
    %28 = "stablehlo.and"(%arg8, %27) : (tensor<32x32xui8>, tensor<32x32xui8>) -> tensor<32x32xui8>
    %29 = "stablehlo.constant"() <{value = dense<4> : tensor<ui8>}> : () -> tensor<ui8>
    %30 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<32x32xui8>
    %31 = "stablehlo.shift_right_logical"(%arg8, %30) : (tensor<32x32xui8>, tensor<32x32xui8>) -> tensor<32x32xui8>
    %32 = "stablehlo.broadcast_in_dim"(%28) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<32x32xui8>) -> tensor<32x32x1xui8>
    %33 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<32x32xui8>) -> tensor<32x32x1xui8>
    %34 = "stablehlo.concatenate"(%32, %33) <{dimension = 2 : i64}> : (tensor<32x32x1xui8>, tensor<32x32x1xui8>) -> tensor<32x32x2xui8>
    %35 = "stablehlo.reshape"(%34) : (tensor<32x32x2xui8>) -> tensor<32x64xui8>
    %36 = "func.call"(%25, %35) <{callee = @_take}> : (tensor<16xf32>, tensor<32x64xui8>) -> tensor<32x64xf32>
    %37 = "stablehlo.convert"(%arg9) : (tensor<32x4xf8E4M3FN>) -> tensor<32x4xf32>
    %38 = "stablehlo.reshape"(%36) : (tensor<32x64xf32>) -> tensor<32x4x16xf32>
    %39 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<32x4xf32>) -> tensor<32x4x1xf32>
    %40 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<32x4x1xf32>) -> tensor<32x4x16xf32>
    %41 = "stablehlo.multiply"(%38, %40) : (tensor<32x4x16xf32>, tensor<32x4x16xf32>) -> tensor<32x4x16xf32>
    %42 = "stablehlo.reshape"(%41) : (tensor<32x4x16xf32>) -> tensor<32x64xf32>
    %43 = "stablehlo.convert"(%42) : (tensor<32x64xf32>) -> tensor<32x64xbf16>
    %44 = "stablehlo.transpose"(%43) <{permutation = array<i64: 1, 0>}> : (tensor<32x64xbf16>) -> tensor<64x32xbf16>
    %45 = "stablehlo.dot_general"(%arg7, %44) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<8x64xbf16>, tensor<64x32xbf16>) -> tensor<8x32xbf16>
    "func.return"(%45) : (tensor<8x32xbf16>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<16xf32>, tensor<32x64xui8>) -> tensor<32x64xf32>, res_attrs = [{}], sym_name = "_take", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<16xf32>, %arg4: tensor<32x64xui8>):
    %1 = "stablehlo.constant"() <{value = dense<0> : tensor<ui8>}> : () -> tensor<ui8>
    %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<32x64xui8>
    %3 = "stablehlo.compare"(%arg4, %2) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<32x64xui8>, tensor<32x64xui8>) -> tensor<32x64xi1>
    %4 = "stablehlo.constant"() <{value = dense<16> : tensor<ui8>}> : () -> tensor<ui8>
    %5 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<32x64xui8>
    %6 = "stablehlo.add"(%arg4, %5) : (tensor<32x64xui8>, tensor<32x64xui8>) -> tensor<32x64xui8>
    %7 = "func.call"(%3, %6, %arg4) <{callee = @_where}> : (tensor<32x64xi1>, tensor<32x64xui8>, tensor<32x64xui8>) -> tensor<32x64xui8>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<32x64xui8>) -> tensor<32x64x1xui8>
    %9 = "stablehlo.constant"() <{value = dense<15> : tensor<1xi32>}> : () -> tensor<1xi32>
    %10 = "stablehlo.convert"(%8) : (tensor<32x64x1xui8>) -> tensor<32x64x1xi32>
    %11 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<32x64x1xi32>
    %13 = "stablehlo.compare"(%10, %12) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<32x64x1xi32>, tensor<32x64x1xi32>) -> tensor<32x64x1xi1>
    %14 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 2>}> : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x1xi32>) -> tensor<32x64x1xi32>
    %16 = "stablehlo.compare"(%10, %15) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<32x64x1xi32>, tensor<32x64x1xi32>) -> tensor<32x64x1xi1>
    %17 = "stablehlo.and"(%13, %16) : (tensor<32x64x1xi1>, tensor<32x64x1xi1>) -> tensor<32x64x1xi1>
    %18 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %19 = "stablehlo.reduce"(%17, %18) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg5: tensor<i1>, %arg6: tensor<i1>):
      %24 = "stablehlo.and"(%arg5, %arg6) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%24) : (tensor<i1>) -> ()
    }) : (tensor<32x64x1xi1>, tensor<i1>) -> tensor<32x64xi1>
    %20 = "stablehlo.gather"(%arg3, %10) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xf32>, tensor<32x64x1xi32>) -> tensor<32x64xf32>
    %21 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %22 = "stablehlo.broadcast_in_dim"(%21) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<32x64xf32>
    %23 = "stablehlo.select"(%19, %20, %22) : (tensor<32x64xi1>, tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
    "func.return"(%23) : (tensor<32x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<32x64xi1>, tensor<32x64xui8>, tensor<32x64xui8>) -> tensor<32x64xui8>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<32x64xi1>, %arg1: tensor<32x64xui8>, %arg2: tensor<32x64xui8>):
    %0 = "stablehlo.select"(%arg0, %arg1, %arg2) : (tensor<32x64xi1>, tensor<32x64xui8>, tensor<32x64xui8>) -> tensor<32x64xui8>
    "func.return"(%0) : (tensor<32x64xui8>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
