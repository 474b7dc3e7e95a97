// Written by jax_layers.py with JAX 0.10.2.
"builtin.module"() <{sym_name = "jit_qwen3"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<8x64xbf16>, tensor<8x4xf32>, tensor<4x64x32xui8>, tensor<4x64x4xf8E4M3FN>, tensor<4xf32>, tensor<4x64x16xui8>, tensor<4x64x2xf8E4M3FN>, tensor<4xf32>) -> tensor<8x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg16: tensor<8x64xbf16>, %arg17: tensor<8x4xf32>, %arg18: tensor<4x64x32xui8>, %arg19: tensor<4x64x4xf8E4M3FN>, %arg20: tensor<4xf32>, %arg21: tensor<4x64x16xui8>, %arg22: tensor<4x64x2xf8E4M3FN>, %arg23: tensor<4xf32>):
    %37 = "stablehlo.constant"() <{value = dense<[0.000000e+00, 5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 6.000000e+00, -0.000000e+00, -5.000000e-01, -1.000000e+00, -1.500000e+00, -2.000000e+00, -3.000000e+00, -4.000000e+00, -6.000000e+00]> : tensor<16xbf16>}> : () -> tensor<16xbf16>
    %38 = "stablehlo.constant"() <{value = dense<[0.000000e+00, 5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 6.000000e+00, -0.000000e+00, -5.000000e-01, -1.000000e+00, -1.500000e+00, -2.000000e+00, -3.000000e+00, -4.000000e+00, -6.000000e+00]> : tensor<16xbf16>}> : () -> tensor<16xbf16>
    %39 = "stablehlo.constant"() <{value = dense<15> : tensor<ui8>}> : () -> tensor<ui8>
    %40 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x32xui8>
    %41 = "stablehlo.and"(%arg18, %40) : (tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xui8>
    %42 = "stablehlo.convert"(%41) : (tensor<4x64x32xui8>) -> tensor<4x64x32xi32>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xi32>) -> tensor<4x64x32x1xi32>
    %44 = "stablehlo.gather"(%37, %43) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xbf16>, tensor<4x64x32x1xi32>) -> tensor<4x64x32xbf16>
    %45 = "stablehlo.constant"() <{value = dense<4> : tensor<ui8>}> : () -> tensor<ui8>
    %46 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x32xui8>
    %47 = "stablehlo.shift_right_logical"(%arg18, %46) : (tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xui8>
    %48 = "stablehlo.convert"(%47) : (tensor<4x64x32xui8>) -> tensor<4x64x32xi32>
    %49 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xi32>) -> tensor<4x64x32x1xi32>
    %50 = "stablehlo.gather"(%37, %49) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xbf16>, tensor<4x64x32x1xi32>) -> tensor<4x64x32xbf16>
    %51 = "stablehlo.broadcast_in_dim"(%44) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xbf16>) -> tensor<4x64x32x1xbf16>
    %52 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xbf16>) -> tensor<4x64x32x1xbf16>
    %53 = "stablehlo.concatenate"(%51, %52) <{dimension = 3 : i64}> : (tensor<4x64x32x1xbf16>, tensor<4x64x32x1xbf16>) -> tensor<4x64x32x2xbf16>
    %54 = "stablehlo.reshape"(%53) : (tensor<4x64x32x2xbf16>) -> tensor<4x64x64xbf16>
    %55 = "stablehlo.convert"(%arg19) : (tensor<4x64x4xf8E4M3FN>) -> tensor<4x64x4xf32>
    %56 = "stablehlo.reshape"(%54) : (tensor<4x64x64xbf16>) -> tensor<4x64x4x16xbf16>
    %57 = "stablehlo.convert"(%56) : (tensor<4x64x4x16xbf16>) -> tensor<4x64x4x16xf32>
    %58 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x4xf32>) -> tensor<4x64x4x1xf32>
    %59 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x64x4x1xf32>) -> tensor<4x64x4x16xf32>
    %60 = "stablehlo.multiply"(%57, %59) : (tensor<4x64x4x16xf32>, tensor<4x64x4x16xf32>) -> tensor<4x64x4x16xf32>
    %61 = "stablehlo.reshape"(%60) : (tensor<4x64x4x16xf32>) -> tensor<4x64x64xf32>
    %62 = "stablehlo.broadcast_in_dim"(%arg20) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %63 = "stablehlo.broadcast_in_dim"(%62) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x1x1xf32>) -> tensor<4x64x64xf32>
    %64 = "stablehlo.multiply"(%61, %63) : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %65 = "stablehlo.constant"() <{value = dense<15> : tensor<ui8>}> : () -> tensor<ui8>
    %66 = "stablehlo.broadcast_in_dim"(%65) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x16xui8>
    %67 = "stablehlo.and"(%arg21, %66) : (tensor<4x64x16xui8>, tensor<4x64x16xui8>) -> tensor<4x64x16xui8>
    %68 = "stablehlo.convert"(%67) : (tensor<4x64x16xui8>) -> tensor<4x64x16xi32>
    %69 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x16xi32>) -> tensor<4x64x16x1xi32>
    %70 = "stablehlo.gather"(%38, %69) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xbf16>, tensor<4x64x16x1xi32>) -> tensor<4x64x16xbf16>
    %71 = "stablehlo.constant"() <{value = dense<4> : tensor<ui8>}> : () -> tensor<ui8>
    %72 = "stablehlo.broadcast_in_dim"(%71) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x16xui8>
    %73 = "stablehlo.shift_right_logical"(%arg21, %72) : (tensor<4x64x16xui8>, tensor<4x64x16xui8>) -> tensor<4x64x16xui8>
    %74 = "stablehlo.convert"(%73) : (tensor<4x64x16xui8>) -> tensor<4x64x16xi32>
    %75 = "stablehlo.broadcast_in_dim"(%74) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x16xi32>) -> tensor<4x64x16x1xi32>
    %76 = "stablehlo.gather"(%38, %75) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xbf16>, tensor<4x64x16x1xi32>) -> tensor<4x64x16xbf16>
    %77 = "stablehlo.broadcast_in_dim"(%70) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x16xbf16>) -> tensor<4x64x16x1xbf16>
    %78 = "stablehlo.broadcast_in_dim"(%76) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x16xbf16>) -> tensor<4x64x16x1xbf16>
    %79 = "stablehlo.concatenate"(%77, %78) <{dimension = 3 : i64}> : (tensor<4x64x16x1xbf16>, tensor<4x64x16x1xbf16>) -> tensor<4x64x16x2xbf16>
    %80 = "stablehlo.reshape"(%79) : (tensor<4x64x16x2xbf16>) -> tensor<4x64x32xbf16>
    %81 = "stablehlo.convert"(%arg22) : (tensor<4x64x2xf8E4M3FN>) -> tensor<4x64x2xf32>
    %82 = "stablehlo.reshape"(%80) : (tensor<4x64x32xbf16>) -> tensor<4x64x2x16xbf16>
    %83 = "stablehlo.convert"(%82) : (tensor<4x64x2x16xbf16>) -> tensor<4x64x2x16xf32>
    %84 = "stablehlo.broadcast_in_dim"(%81) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x2xf32>) -> tensor<4x64x2x1xf32>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x64x2x1xf32>) -> tensor<4x64x2x16xf32>
    %86 = "stablehlo.multiply"(%83, %85) : (tensor<4x64x2x16xf32>, tensor<4x64x2x16xf32>) -> tensor<4x64x2x16xf32>
    %87 = "stablehlo.reshape"(%86) : (tensor<4x64x2x16xf32>) -> tensor<4x64x32xf32>
    %88 = "stablehlo.broadcast_in_dim"(%arg23) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x1x1xf32>
    %89 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x1x1xf32>) -> tensor<4x64x32xf32>
    %90 = "stablehlo.multiply"(%87, %89) : (tensor<4x64x32xf32>, tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
    %91 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %92 = "stablehlo.reduce"(%arg17, %91) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg32: tensor<f32>, %arg33: tensor<f32>):
      %211 = "stablehlo.maximum"(%arg32, %arg33) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%211) : (tensor<f32>) -> ()
    }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %93 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %94 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %95 = "stablehlo.maximum"(%94, %92) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %96 = "stablehlo.broadcast_in_dim"(%95) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %97 = "stablehlo.broadcast_in_dim"(%96) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %98 = "stablehlo.subtract"(%arg17, %97) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %99 = "stablehlo.exponential"(%98) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %100 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %101 = "stablehlo.reduce"(%99, %100) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg30: tensor<f32>, %arg31: tensor<f32>):
      %210 = "stablehlo.add"(%arg30, %arg31) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%210) : (tensor<f32>) -> ()
    }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %102 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %103 = "stablehlo.broadcast_in_dim"(%102) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %104 = "stablehlo.divide"(%99, %103) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %105:2 = "chlo.top_k"(%104) <{k = 2 : i64}> : (tensor<8x4xf32>) -> (tensor<8x2xf32>, tensor<8x2xi32>)
    %106 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %107 = "stablehlo.reduce"(%105#0, %106) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg28: tensor<f32>, %arg29: tensor<f32>):
      %209 = "stablehlo.add"(%arg28, %arg29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%209) : (tensor<f32>) -> ()
    }) : (tensor<8x2xf32>, tensor<f32>) -> tensor<8xf32>
    %108 = "stablehlo.broadcast_in_dim"(%107) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %109 = "stablehlo.broadcast_in_dim"(%108) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x2xf32>
    %110 = "stablehlo.divide"(%105#0, %109) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    %111 = "stablehlo.reshape"(%105#1) : (tensor<8x2xi32>) -> tensor<16xi32>
    %112 = "func.call"(%111) <{callee = @argsort}> : (tensor<16xi32>) -> tensor<16xi32>
    %113 = "stablehlo.reshape"(%105#1) : (tensor<8x2xi32>) -> tensor<16xi32>
    %114 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %115 = "stablehlo.broadcast_in_dim"(%114) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %116 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %117 = "func.call"(%113, %116) <{callee = @clip}> : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    %118 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %119 = "stablehlo.broadcast_in_dim"(%118) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %120 = "stablehlo.compare"(%117, %119) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %121 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %122 = "stablehlo.broadcast_in_dim"(%121) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %123 = "stablehlo.add"(%117, %122) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %124 = "stablehlo.select"(%120, %123, %117) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %125 = "stablehlo.broadcast_in_dim"(%124) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %126 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %127 = "stablehlo.broadcast_in_dim"(%126) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %128 = "stablehlo.scatter"(%115, %125, %127) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg26: tensor<i32>, %arg27: tensor<i32>):
      %208 = "stablehlo.add"(%arg26, %arg27) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%208) : (tensor<i32>) -> ()
    }) : (tensor<4xi32>, tensor<16x1xi32>, tensor<16xi32>) -> tensor<4xi32>
    %129 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %130 = "func.call"(%112, %129) <{callee = @floor_divide}> : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    %131 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %132 = "stablehlo.broadcast_in_dim"(%131) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %133 = "stablehlo.compare"(%130, %132) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %134 = "stablehlo.constant"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
    %135 = "stablehlo.broadcast_in_dim"(%134) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %136 = "stablehlo.add"(%130, %135) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %137 = "stablehlo.select"(%133, %136, %130) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %138 = "stablehlo.broadcast_in_dim"(%137) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %139 = "stablehlo.gather"(%arg16, %138) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<8x64xbf16>, tensor<16x1xi32>) -> tensor<16x64xbf16>
    %140 = "stablehlo.convert"(%139) : (tensor<16x64xbf16>) -> tensor<16x64xf32>
    %141 = "stablehlo.transpose"(%64) <{permutation = array<i64: 0, 2, 1>}> : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %142 = "stablehlo.broadcast_in_dim"(%140) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x64xf32>) -> tensor<4x16x64xf32>
    %143 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x16x64xi32>
    %144 = "func.call"(%128) <{callee = @cumsum}> : (tensor<4xi32>) -> tensor<4xi32>
    %145 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %146 = "stablehlo.broadcast_in_dim"(%145) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %147 = "stablehlo.slice"(%146) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %148 = "stablehlo.slice"(%144) <{limit_indices = array<i64: 3>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<3xi32>
    %149 = "stablehlo.concatenate"(%147, %148) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %150 = "stablehlo.broadcast_in_dim"(%144) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x16x64xi32>
    %151 = "stablehlo.broadcast_in_dim"(%149) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x16x64xi32>
    %152 = "stablehlo.compare"(%151, %143) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<4x16x64xi32>, tensor<4x16x64xi32>) -> tensor<4x16x64xi1>
    %153 = "stablehlo.compare"(%143, %150) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x16x64xi32>, tensor<4x16x64xi32>) -> tensor<4x16x64xi1>
    %154 = "stablehlo.and"(%152, %153) : (tensor<4x16x64xi1>, tensor<4x16x64xi1>) -> tensor<4x16x64xi1>
    %155 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %156 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16x64xf32>
    %157 = "stablehlo.select"(%154, %142, %156) : (tensor<4x16x64xi1>, tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
    %158 = "stablehlo.dot_general"(%157, %141) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 0], rhs_contracting_dimensions = [1, 0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16x64xf32>, tensor<4x64x64xf32>) -> tensor<16x64xf32>
    %159 = "stablehlo.slice"(%158) <{limit_indices = array<i64: 16, 32>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<16x64xf32>) -> tensor<16x32xf32>
    %160 = "stablehlo.slice"(%158) <{limit_indices = array<i64: 16, 64>, start_indices = array<i64: 0, 32>, strides = array<i64: 1, 1>}> : (tensor<16x64xf32>) -> tensor<16x32xf32>
    %161 = "func.call"(%159) <{callee = @silu}> : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %162 = "stablehlo.multiply"(%161, %160) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %163 = "stablehlo.convert"(%162) : (tensor<16x32xf32>) -> tensor<16x32xbf16>
    %164 = "stablehlo.convert"(%163) : (tensor<16x32xbf16>) -> tensor<16x32xf32>
    %165 = "stablehlo.transpose"(%90) <{permutation = array<i64: 0, 2, 1>}> : (tensor<4x64x32xf32>) -> tensor<4x32x64xf32>
    %166 = "stablehlo.broadcast_in_dim"(%164) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x32xf32>) -> tensor<4x16x32xf32>
    %167 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x16x32xi32>
    %168 = "func.call"(%128) <{callee = @cumsum}> : (tensor<4xi32>) -> tensor<4xi32>
    %169 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %170 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %171 = "stablehlo.slice"(%170) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %172 = "stablehlo.slice"(%168) <{limit_indices = array<i64: 3>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<3xi32>
    %173 = "stablehlo.concatenate"(%171, %172) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %174 = "stablehlo.broadcast_in_dim"(%168) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x16x32xi32>
    %175 = "stablehlo.broadcast_in_dim"(%173) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x16x32xi32>
    %176 = "stablehlo.compare"(%175, %167) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<4x16x32xi32>, tensor<4x16x32xi32>) -> tensor<4x16x32xi1>
    %177 = "stablehlo.compare"(%167, %174) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x16x32xi32>, tensor<4x16x32xi32>) -> tensor<4x16x32xi1>
    %178 = "stablehlo.and"(%176, %177) : (tensor<4x16x32xi1>, tensor<4x16x32xi1>) -> tensor<4x16x32xi1>
    %179 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %180 = "stablehlo.broadcast_in_dim"(%179) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16x32xf32>
    %181 = "stablehlo.select"(%178, %166, %180) : (tensor<4x16x32xi1>, tensor<4x16x32xf32>, tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
    %182 = "stablehlo.dot_general"(%181, %165) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 0], rhs_contracting_dimensions = [1, 0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16x32xf32>, tensor<4x32x64xf32>) -> tensor<16x64xf32>
    %183 = "stablehlo.reshape"(%110) : (tensor<8x2xf32>) -> tensor<16xf32>
    %184 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %185 = "stablehlo.broadcast_in_dim"(%184) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %186 = "stablehlo.compare"(%112, %185) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %187 = "stablehlo.constant"() <{value = dense<16> : tensor<i32>}> : () -> tensor<i32>
    %188 = "stablehlo.broadcast_in_dim"(%187) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %189 = "stablehlo.add"(%112, %188) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %190 = "stablehlo.select"(%186, %189, %112) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %191 = "stablehlo.broadcast_in_dim"(%190) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %192 = "stablehlo.gather"(%183, %191) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xf32>, tensor<16x1xi32>) -> tensor<16xf32>
    %193 = "stablehlo.broadcast_in_dim"(%192) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %194 = "stablehlo.broadcast_in_dim"(%193) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %195 = "stablehlo.multiply"(%182, %194) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %196 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %197 = "stablehlo.broadcast_in_dim"(%196) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x64xf32>
    %198 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %199 = "stablehlo.broadcast_in_dim"(%198) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %200 = "stablehlo.compare"(%130, %199) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %201 = "stablehlo.constant"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
    %202 = "stablehlo.broadcast_in_dim"(%201) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %203 = "stablehlo.add"(%130, %202) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %204 = "stablehlo.select"(%200, %203, %130) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %205 = "stablehlo.broadcast_in_dim"(%204) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %206 = "stablehlo.scatter"(%197, %205, %195) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg24: tensor<f32>, %arg25: tensor<f32>):
      %207 = "stablehlo.add"(%arg24, %arg25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%207) : (tensor<f32>) -> ()
    }) : (tensor<8x64xf32>, tensor<16x1xi32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    "func.return"(%206) : (tensor<8x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<16xi32>) -> tensor<16xi32>, res_attrs = [{}], sym_name = "argsort", sym_visibility = "private"}> ({
  ^bb0(%arg11: tensor<16xi32>):
    %34 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xi32>
    %35:2 = "stablehlo.sort"(%arg11, %34) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg12: tensor<i32>, %arg13: tensor<i32>, %arg14: tensor<i32>, %arg15: tensor<i32>):
      %36 = "stablehlo.compare"(%arg12, %arg13) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%36) : (tensor<i1>) -> ()
    }) : (tensor<16xi32>, tensor<16xi32>) -> (tensor<16xi32>, tensor<16xi32>)
    "func.return"(%35#1) : (tensor<16xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>, res_attrs = [{}], sym_name = "clip", sym_visibility = "private"}> ({
  ^bb0(%arg9: tensor<16xi32>, %arg10: tensor<i32>):
    %31 = "stablehlo.convert"(%arg10) : (tensor<i32>) -> tensor<i32>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %33 = "stablehlo.maximum"(%32, %arg9) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    "func.return"(%33) : (tensor<16xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>, res_attrs = [{}], sym_name = "floor_divide", sym_visibility = "private"}> ({
  ^bb0(%arg7: tensor<16xi32>, %arg8: tensor<i32>):
    %14 = "stablehlo.convert"(%arg8) : (tensor<i32>) -> tensor<i32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %16 = "stablehlo.divide"(%arg7, %15) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %17 = "stablehlo.sign"(%arg7) : (tensor<16xi32>) -> tensor<16xi32>
    %18 = "stablehlo.sign"(%14) : (tensor<i32>) -> tensor<i32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %20 = "stablehlo.compare"(%17, %19) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %21 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %22 = "stablehlo.remainder"(%arg7, %21) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %23 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %24 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %25 = "stablehlo.compare"(%22, %24) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %26 = "stablehlo.and"(%20, %25) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
    %27 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %29 = "stablehlo.subtract"(%16, %28) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %30 = "func.call"(%26, %29, %16) <{callee = @_where}> : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    "func.return"(%30) : (tensor<16xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg4: tensor<16xi1>, %arg5: tensor<16xi32>, %arg6: tensor<16xi32>):
    %13 = "stablehlo.select"(%arg4, %arg5, %arg6) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    "func.return"(%13) : (tensor<16xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xi32>) -> tensor<4xi32>, sym_name = "cumsum", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<4xi32>):
    %9 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<i32>
    %11 = "stablehlo.reduce_window"(%arg1, %10) <{base_dilations = array<i64: 1>, padding = dense<[[3, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 4>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>):
      %12 = "stablehlo.add"(%arg2, %arg3) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%12) : (tensor<i32>) -> ()
    }) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
    "func.return"(%11) : (tensor<4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<16x32xf32>) -> tensor<16x32xf32>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x32xf32>):
    %0 = "stablehlo.negate"(%arg0) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %1 = "stablehlo.exponential"(%0) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %2 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x32xf32>
    %4 = "stablehlo.add"(%3, %1) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %5 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x32xf32>
    %7 = "stablehlo.divide"(%6, %4) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %8 = "stablehlo.multiply"(%arg0, %7) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    "func.return"(%8) : (tensor<16x32xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
