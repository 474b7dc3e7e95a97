// Written by jax_layers.py with JAX 0.10.2.
"builtin.module"() <{sym_name = "jit_mixtral"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}], function_type = (tensor<8x64xbf16>, tensor<8x4xf32>, tensor<4x64x32xui8>, tensor<4x64x4xf8E4M3FN>, tensor<4x64x16xui8>, tensor<4x64x2xf8E4M3FN>) -> tensor<8x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg16: tensor<8x64xbf16>, %arg17: tensor<8x4xf32>, %arg18: tensor<4x64x32xui8>, %arg19: tensor<4x64x4xf8E4M3FN>, %arg20: tensor<4x64x16xui8>, %arg21: tensor<4x64x2xf8E4M3FN>):
    %37 = "stablehlo.bitcast_convert"(%arg18) : (tensor<4x64x32xui8>) -> tensor<4x64x32x2xf4E2M1FN>
    %38 = "stablehlo.reshape"(%37) : (tensor<4x64x32x2xf4E2M1FN>) -> tensor<4x64x64xf4E2M1FN>
    %39 = "stablehlo.convert"(%38) : (tensor<4x64x64xf4E2M1FN>) -> tensor<4x64x64xbf16>
    %40 = "stablehlo.convert"(%arg19) : (tensor<4x64x4xf8E4M3FN>) -> tensor<4x64x4xf32>
    %41 = "stablehlo.reshape"(%39) : (tensor<4x64x64xbf16>) -> tensor<4x64x4x16xbf16>
    %42 = "stablehlo.convert"(%41) : (tensor<4x64x4x16xbf16>) -> tensor<4x64x4x16xf32>
    %43 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x4xf32>) -> tensor<4x64x4x1xf32>
    %44 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x64x4x1xf32>) -> tensor<4x64x4x16xf32>
    %45 = "stablehlo.multiply"(%42, %44) : (tensor<4x64x4x16xf32>, tensor<4x64x4x16xf32>) -> tensor<4x64x4x16xf32>
    %46 = "stablehlo.reshape"(%45) : (tensor<4x64x4x16xf32>) -> tensor<4x64x64xf32>
    %47 = "stablehlo.bitcast_convert"(%arg20) : (tensor<4x64x16xui8>) -> tensor<4x64x16x2xf4E2M1FN>
    %48 = "stablehlo.reshape"(%47) : (tensor<4x64x16x2xf4E2M1FN>) -> tensor<4x64x32xf4E2M1FN>
    %49 = "stablehlo.convert"(%48) : (tensor<4x64x32xf4E2M1FN>) -> tensor<4x64x32xbf16>
    %50 = "stablehlo.convert"(%arg21) : (tensor<4x64x2xf8E4M3FN>) -> tensor<4x64x2xf32>
    %51 = "stablehlo.reshape"(%49) : (tensor<4x64x32xbf16>) -> tensor<4x64x2x16xbf16>
    %52 = "stablehlo.convert"(%51) : (tensor<4x64x2x16xbf16>) -> tensor<4x64x2x16xf32>
    %53 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x2xf32>) -> tensor<4x64x2x1xf32>
    %54 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x64x2x1xf32>) -> tensor<4x64x2x16xf32>
    %55 = "stablehlo.multiply"(%52, %54) : (tensor<4x64x2x16xf32>, tensor<4x64x2x16xf32>) -> tensor<4x64x2x16xf32>
    %56 = "stablehlo.reshape"(%55) : (tensor<4x64x2x16xf32>) -> tensor<4x64x32xf32>
    %57 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %58 = "stablehlo.reduce"(%arg17, %57) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg30: tensor<f32>, %arg31: tensor<f32>):
      %177 = "stablehlo.maximum"(%arg30, %arg31) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%177) : (tensor<f32>) -> ()
    }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %59 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %60 = "stablehlo.broadcast_in_dim"(%59) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %61 = "stablehlo.maximum"(%60, %58) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %62 = "stablehlo.broadcast_in_dim"(%61) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %63 = "stablehlo.broadcast_in_dim"(%62) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %64 = "stablehlo.subtract"(%arg17, %63) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %65 = "stablehlo.exponential"(%64) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %66 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %67 = "stablehlo.reduce"(%65, %66) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg28: tensor<f32>, %arg29: tensor<f32>):
      %176 = "stablehlo.add"(%arg28, %arg29) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%176) : (tensor<f32>) -> ()
    }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %68 = "stablehlo.broadcast_in_dim"(%67) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %69 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %70 = "stablehlo.divide"(%65, %69) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %71:2 = "chlo.top_k"(%70) <{k = 2 : i64}> : (tensor<8x4xf32>) -> (tensor<8x2xf32>, tensor<8x2xi32>)
    %72 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %73 = "stablehlo.reduce"(%71#0, %72) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg26: tensor<f32>, %arg27: tensor<f32>):
      %175 = "stablehlo.add"(%arg26, %arg27) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%175) : (tensor<f32>) -> ()
    }) : (tensor<8x2xf32>, tensor<f32>) -> tensor<8xf32>
    %74 = "stablehlo.broadcast_in_dim"(%73) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %75 = "stablehlo.broadcast_in_dim"(%74) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x2xf32>
    %76 = "stablehlo.divide"(%71#0, %75) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    %77 = "stablehlo.reshape"(%71#1) : (tensor<8x2xi32>) -> tensor<16xi32>
    %78 = "func.call"(%77) <{callee = @argsort}> : (tensor<16xi32>) -> tensor<16xi32>
    %79 = "stablehlo.reshape"(%71#1) : (tensor<8x2xi32>) -> tensor<16xi32>
    %80 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %81 = "stablehlo.broadcast_in_dim"(%80) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %82 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %83 = "func.call"(%79, %82) <{callee = @clip}> : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    %84 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %86 = "stablehlo.compare"(%83, %85) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %87 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %88 = "stablehlo.broadcast_in_dim"(%87) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %89 = "stablehlo.add"(%83, %88) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %90 = "stablehlo.select"(%86, %89, %83) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %91 = "stablehlo.broadcast_in_dim"(%90) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %92 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %93 = "stablehlo.broadcast_in_dim"(%92) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %94 = "stablehlo.scatter"(%81, %91, %93) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg24: tensor<i32>, %arg25: tensor<i32>):
      %174 = "stablehlo.add"(%arg24, %arg25) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%174) : (tensor<i32>) -> ()
    }) : (tensor<4xi32>, tensor<16x1xi32>, tensor<16xi32>) -> tensor<4xi32>
    %95 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %96 = "func.call"(%78, %95) <{callee = @floor_divide}> : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    %97 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %98 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %99 = "stablehlo.compare"(%96, %98) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %100 = "stablehlo.constant"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
    %101 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %102 = "stablehlo.add"(%96, %101) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %103 = "stablehlo.select"(%99, %102, %96) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %104 = "stablehlo.broadcast_in_dim"(%103) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %105 = "stablehlo.gather"(%arg16, %104) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<8x64xbf16>, tensor<16x1xi32>) -> tensor<16x64xbf16>
    %106 = "stablehlo.convert"(%105) : (tensor<16x64xbf16>) -> tensor<16x64xf32>
    %107 = "stablehlo.transpose"(%46) <{permutation = array<i64: 0, 2, 1>}> : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %108 = "stablehlo.broadcast_in_dim"(%106) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x64xf32>) -> tensor<4x16x64xf32>
    %109 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x16x64xi32>
    %110 = "func.call"(%94) <{callee = @cumsum}> : (tensor<4xi32>) -> tensor<4xi32>
    %111 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %112 = "stablehlo.broadcast_in_dim"(%111) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %113 = "stablehlo.slice"(%112) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %114 = "stablehlo.slice"(%110) <{limit_indices = array<i64: 3>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<3xi32>
    %115 = "stablehlo.concatenate"(%113, %114) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %116 = "stablehlo.broadcast_in_dim"(%110) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x16x64xi32>
    %117 = "stablehlo.broadcast_in_dim"(%115) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x16x64xi32>
    %118 = "stablehlo.compare"(%117, %109) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<4x16x64xi32>, tensor<4x16x64xi32>) -> tensor<4x16x64xi1>
    %119 = "stablehlo.compare"(%109, %116) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x16x64xi32>, tensor<4x16x64xi32>) -> tensor<4x16x64xi1>
    %120 = "stablehlo.and"(%118, %119) : (tensor<4x16x64xi1>, tensor<4x16x64xi1>) -> tensor<4x16x64xi1>
    %121 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %122 = "stablehlo.broadcast_in_dim"(%121) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16x64xf32>
    %123 = "stablehlo.select"(%120, %108, %122) : (tensor<4x16x64xi1>, tensor<4x16x64xf32>, tensor<4x16x64xf32>) -> tensor<4x16x64xf32>
    %124 = "stablehlo.dot_general"(%123, %107) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 0], rhs_contracting_dimensions = [1, 0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16x64xf32>, tensor<4x64x64xf32>) -> tensor<16x64xf32>
    %125 = "stablehlo.slice"(%124) <{limit_indices = array<i64: 16, 32>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<16x64xf32>) -> tensor<16x32xf32>
    %126 = "stablehlo.slice"(%124) <{limit_indices = array<i64: 16, 64>, start_indices = array<i64: 0, 32>, strides = array<i64: 1, 1>}> : (tensor<16x64xf32>) -> tensor<16x32xf32>
    %127 = "func.call"(%125) <{callee = @silu}> : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %128 = "stablehlo.multiply"(%127, %126) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %129 = "stablehlo.convert"(%128) : (tensor<16x32xf32>) -> tensor<16x32xbf16>
    %130 = "stablehlo.convert"(%129) : (tensor<16x32xbf16>) -> tensor<16x32xf32>
    %131 = "stablehlo.transpose"(%56) <{permutation = array<i64: 0, 2, 1>}> : (tensor<4x64x32xf32>) -> tensor<4x32x64xf32>
    %132 = "stablehlo.broadcast_in_dim"(%130) <{broadcast_dimensions = array<i64: 1, 2>}> : (tensor<16x32xf32>) -> tensor<4x16x32xf32>
    %133 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<4x16x32xi32>
    %134 = "func.call"(%94) <{callee = @cumsum}> : (tensor<4xi32>) -> tensor<4xi32>
    %135 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %136 = "stablehlo.broadcast_in_dim"(%135) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %137 = "stablehlo.slice"(%136) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %138 = "stablehlo.slice"(%134) <{limit_indices = array<i64: 3>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<3xi32>
    %139 = "stablehlo.concatenate"(%137, %138) <{dimension = 0 : i64}> : (tensor<1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %140 = "stablehlo.broadcast_in_dim"(%134) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x16x32xi32>
    %141 = "stablehlo.broadcast_in_dim"(%139) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xi32>) -> tensor<4x16x32xi32>
    %142 = "stablehlo.compare"(%141, %133) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<4x16x32xi32>, tensor<4x16x32xi32>) -> tensor<4x16x32xi1>
    %143 = "stablehlo.compare"(%133, %140) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x16x32xi32>, tensor<4x16x32xi32>) -> tensor<4x16x32xi1>
    %144 = "stablehlo.and"(%142, %143) : (tensor<4x16x32xi1>, tensor<4x16x32xi1>) -> tensor<4x16x32xi1>
    %145 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %146 = "stablehlo.broadcast_in_dim"(%145) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x16x32xf32>
    %147 = "stablehlo.select"(%144, %132, %146) : (tensor<4x16x32xi1>, tensor<4x16x32xf32>, tensor<4x16x32xf32>) -> tensor<4x16x32xf32>
    %148 = "stablehlo.dot_general"(%147, %131) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 0], rhs_contracting_dimensions = [1, 0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<4x16x32xf32>, tensor<4x32x64xf32>) -> tensor<16x64xf32>
    %149 = "stablehlo.reshape"(%76) : (tensor<8x2xf32>) -> tensor<16xf32>
    %150 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %151 = "stablehlo.broadcast_in_dim"(%150) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %152 = "stablehlo.compare"(%78, %151) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %153 = "stablehlo.constant"() <{value = dense<16> : tensor<i32>}> : () -> tensor<i32>
    %154 = "stablehlo.broadcast_in_dim"(%153) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %155 = "stablehlo.add"(%78, %154) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %156 = "stablehlo.select"(%152, %155, %78) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %157 = "stablehlo.broadcast_in_dim"(%156) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %158 = "stablehlo.gather"(%149, %157) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xf32>, tensor<16x1xi32>) -> tensor<16xf32>
    %159 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %160 = "stablehlo.broadcast_in_dim"(%159) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %161 = "stablehlo.multiply"(%148, %160) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %162 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %163 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x64xf32>
    %164 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %165 = "stablehlo.broadcast_in_dim"(%164) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %166 = "stablehlo.compare"(%96, %165) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %167 = "stablehlo.constant"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
    %168 = "stablehlo.broadcast_in_dim"(%167) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %169 = "stablehlo.add"(%96, %168) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %170 = "stablehlo.select"(%166, %169, %96) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %171 = "stablehlo.broadcast_in_dim"(%170) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %172 = "stablehlo.scatter"(%163, %171, %161) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg22: tensor<f32>, %arg23: tensor<f32>):
      %173 = "stablehlo.add"(%arg22, %arg23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%173) : (tensor<f32>) -> ()
    }) : (tensor<8x64xf32>, tensor<16x1xi32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    "func.return"(%172) : (tensor<8x64xf32>) -> ()
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
