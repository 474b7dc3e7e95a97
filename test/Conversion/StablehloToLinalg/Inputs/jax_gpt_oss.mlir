// Written by jax_layers.py with JAX 0.10.2.
"builtin.module"() <{sym_name = "jit_gpt_oss"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<8x64xbf16>, tensor<8x4xf32>, tensor<4x64x32xui8>, tensor<4x64x2xui8>, tensor<4x64xf32>, tensor<4x64x16xui8>, tensor<4x64x1xui8>, tensor<4x64xf32>) -> tensor<8x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg17: tensor<8x64xbf16>, %arg18: tensor<8x4xf32>, %arg19: tensor<4x64x32xui8>, %arg20: tensor<4x64x2xui8>, %arg21: tensor<4x64xf32>, %arg22: tensor<4x64x16xui8>, %arg23: tensor<4x64x1xui8>, %arg24: tensor<4x64xf32>):
    %56 = "stablehlo.constant"() <{value = dense<[0.000000e+00, 5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 6.000000e+00, -0.000000e+00, -5.000000e-01, -1.000000e+00, -1.500000e+00, -2.000000e+00, -3.000000e+00, -4.000000e+00, -6.000000e+00]> : tensor<16xf32>}> : () -> tensor<16xf32>
    %57 = "stablehlo.constant"() <{value = dense<[0.000000e+00, 5.000000e-01, 1.000000e+00, 1.500000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00, 6.000000e+00, -0.000000e+00, -5.000000e-01, -1.000000e+00, -1.500000e+00, -2.000000e+00, -3.000000e+00, -4.000000e+00, -6.000000e+00]> : tensor<16xf32>}> : () -> tensor<16xf32>
    %58:2 = "chlo.top_k"(%arg18) <{k = 2 : i64}> : (tensor<8x4xf32>) -> (tensor<8x2xf32>, tensor<8x2xi32>)
    %59 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %60 = "stablehlo.reduce"(%58#0, %59) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg27: tensor<f32>, %arg28: tensor<f32>):
      %190 = "stablehlo.maximum"(%arg27, %arg28) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%190) : (tensor<f32>) -> ()
    }) : (tensor<8x2xf32>, tensor<f32>) -> tensor<8xf32>
    %61 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %62 = "stablehlo.broadcast_in_dim"(%61) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %63 = "stablehlo.maximum"(%62, %60) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %64 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %65 = "stablehlo.broadcast_in_dim"(%64) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x2xf32>
    %66 = "stablehlo.subtract"(%58#0, %65) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    %67 = "stablehlo.exponential"(%66) : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %68 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %69 = "stablehlo.reduce"(%67, %68) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg25: tensor<f32>, %arg26: tensor<f32>):
      %189 = "stablehlo.add"(%arg25, %arg26) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%189) : (tensor<f32>) -> ()
    }) : (tensor<8x2xf32>, tensor<f32>) -> tensor<8xf32>
    %70 = "stablehlo.broadcast_in_dim"(%69) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %71 = "stablehlo.broadcast_in_dim"(%70) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x2xf32>
    %72 = "stablehlo.divide"(%67, %71) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    %73 = "stablehlo.constant"() <{value = dense<15> : tensor<ui8>}> : () -> tensor<ui8>
    %74 = "stablehlo.broadcast_in_dim"(%73) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x32xui8>
    %75 = "stablehlo.and"(%arg19, %74) : (tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xui8>
    %76 = "stablehlo.constant"() <{value = dense<4> : tensor<ui8>}> : () -> tensor<ui8>
    %77 = "stablehlo.broadcast_in_dim"(%76) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x32xui8>
    %78 = "stablehlo.shift_right_logical"(%arg19, %77) : (tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xui8>
    %79 = "stablehlo.broadcast_in_dim"(%75) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xui8>) -> tensor<4x64x32x1xui8>
    %80 = "stablehlo.broadcast_in_dim"(%78) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xui8>) -> tensor<4x64x32x1xui8>
    %81 = "stablehlo.concatenate"(%79, %80) <{dimension = 3 : i64}> : (tensor<4x64x32x1xui8>, tensor<4x64x32x1xui8>) -> tensor<4x64x32x2xui8>
    %82 = "stablehlo.reshape"(%81) : (tensor<4x64x32x2xui8>) -> tensor<4x64x64xui8>
    %83 = "func.call"(%56, %82) <{callee = @_take}> : (tensor<16xf32>, tensor<4x64x64xui8>) -> tensor<4x64x64xf32>
    %84 = "stablehlo.convert"(%arg20) : (tensor<4x64x2xui8>) -> tensor<4x64x2xf32>
    %85 = "stablehlo.constant"() <{value = dense<1.270000e+02> : tensor<f32>}> : () -> tensor<f32>
    %86 = "stablehlo.broadcast_in_dim"(%85) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x64x2xf32>
    %87 = "stablehlo.subtract"(%84, %86) : (tensor<4x64x2xf32>, tensor<4x64x2xf32>) -> tensor<4x64x2xf32>
    %88 = "stablehlo.constant"() <{value = dense<0.693147182> : tensor<f32>}> : () -> tensor<f32>
    %89 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x64x2xf32>
    %90 = "stablehlo.multiply"(%89, %87) : (tensor<4x64x2xf32>, tensor<4x64x2xf32>) -> tensor<4x64x2xf32>
    %91 = "stablehlo.exponential"(%90) : (tensor<4x64x2xf32>) -> tensor<4x64x2xf32>
    %92 = "stablehlo.reshape"(%83) : (tensor<4x64x64xf32>) -> tensor<4x64x2x32xf32>
    %93 = "stablehlo.broadcast_in_dim"(%91) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x2xf32>) -> tensor<4x64x2x1xf32>
    %94 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x64x2x1xf32>) -> tensor<4x64x2x32xf32>
    %95 = "stablehlo.multiply"(%92, %94) : (tensor<4x64x2x32xf32>, tensor<4x64x2x32xf32>) -> tensor<4x64x2x32xf32>
    %96 = "stablehlo.reshape"(%95) : (tensor<4x64x2x32xf32>) -> tensor<4x64x64xf32>
    %97 = "stablehlo.constant"() <{value = dense<15> : tensor<ui8>}> : () -> tensor<ui8>
    %98 = "stablehlo.broadcast_in_dim"(%97) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x16xui8>
    %99 = "stablehlo.and"(%arg22, %98) : (tensor<4x64x16xui8>, tensor<4x64x16xui8>) -> tensor<4x64x16xui8>
    %100 = "stablehlo.constant"() <{value = dense<4> : tensor<ui8>}> : () -> tensor<ui8>
    %101 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x16xui8>
    %102 = "stablehlo.shift_right_logical"(%arg22, %101) : (tensor<4x64x16xui8>, tensor<4x64x16xui8>) -> tensor<4x64x16xui8>
    %103 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x16xui8>) -> tensor<4x64x16x1xui8>
    %104 = "stablehlo.broadcast_in_dim"(%102) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x16xui8>) -> tensor<4x64x16x1xui8>
    %105 = "stablehlo.concatenate"(%103, %104) <{dimension = 3 : i64}> : (tensor<4x64x16x1xui8>, tensor<4x64x16x1xui8>) -> tensor<4x64x16x2xui8>
    %106 = "stablehlo.reshape"(%105) : (tensor<4x64x16x2xui8>) -> tensor<4x64x32xui8>
    %107 = "func.call"(%57, %106) <{callee = @_take_0}> : (tensor<16xf32>, tensor<4x64x32xui8>) -> tensor<4x64x32xf32>
    %108 = "stablehlo.convert"(%arg23) : (tensor<4x64x1xui8>) -> tensor<4x64x1xf32>
    %109 = "stablehlo.constant"() <{value = dense<1.270000e+02> : tensor<f32>}> : () -> tensor<f32>
    %110 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x64x1xf32>
    %111 = "stablehlo.subtract"(%108, %110) : (tensor<4x64x1xf32>, tensor<4x64x1xf32>) -> tensor<4x64x1xf32>
    %112 = "stablehlo.constant"() <{value = dense<0.693147182> : tensor<f32>}> : () -> tensor<f32>
    %113 = "stablehlo.broadcast_in_dim"(%112) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x64x1xf32>
    %114 = "stablehlo.multiply"(%113, %111) : (tensor<4x64x1xf32>, tensor<4x64x1xf32>) -> tensor<4x64x1xf32>
    %115 = "stablehlo.exponential"(%114) : (tensor<4x64x1xf32>) -> tensor<4x64x1xf32>
    %116 = "stablehlo.reshape"(%107) : (tensor<4x64x32xf32>) -> tensor<4x64x1x32xf32>
    %117 = "stablehlo.broadcast_in_dim"(%115) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x1xf32>) -> tensor<4x64x1x1xf32>
    %118 = "stablehlo.broadcast_in_dim"(%117) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x64x1x1xf32>) -> tensor<4x64x1x32xf32>
    %119 = "stablehlo.multiply"(%116, %118) : (tensor<4x64x1x32xf32>, tensor<4x64x1x32xf32>) -> tensor<4x64x1x32xf32>
    %120 = "stablehlo.reshape"(%119) : (tensor<4x64x1x32xf32>) -> tensor<4x64x32xf32>
    %121 = "stablehlo.convert"(%arg17) : (tensor<8x64xbf16>) -> tensor<8x64xf32>
    %122 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %123 = "stablehlo.broadcast_in_dim"(%122) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<8x2xi32>
    %124 = "stablehlo.compare"(%58#1, %123) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi1>
    %125 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %126 = "stablehlo.broadcast_in_dim"(%125) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<8x2xi32>
    %127 = "stablehlo.add"(%58#1, %126) : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    %128 = "stablehlo.select"(%124, %127, %58#1) : (tensor<8x2xi1>, tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    %129 = "stablehlo.broadcast_in_dim"(%128) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x2xi32>) -> tensor<8x2x1xi32>
    %130 = "stablehlo.gather"(%96, %129) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64, 64>}> : (tensor<4x64x64xf32>, tensor<8x2x1xi32>) -> tensor<8x2x64x64xf32>
    %131 = "stablehlo.dot_general"(%121, %130) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<8x64xf32>, tensor<8x2x64x64xf32>) -> tensor<8x2x64xf32>
    %132 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %133 = "stablehlo.broadcast_in_dim"(%132) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<8x2xi32>
    %134 = "stablehlo.compare"(%58#1, %133) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi1>
    %135 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %136 = "stablehlo.broadcast_in_dim"(%135) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<8x2xi32>
    %137 = "stablehlo.add"(%58#1, %136) : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    %138 = "stablehlo.select"(%134, %137, %58#1) : (tensor<8x2xi1>, tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    %139 = "stablehlo.broadcast_in_dim"(%138) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x2xi32>) -> tensor<8x2x1xi32>
    %140 = "stablehlo.gather"(%arg21, %139) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<4x64xf32>, tensor<8x2x1xi32>) -> tensor<8x2x64xf32>
    %141 = "stablehlo.add"(%131, %140) : (tensor<8x2x64xf32>, tensor<8x2x64xf32>) -> tensor<8x2x64xf32>
    %142 = "stablehlo.slice"(%141) <{limit_indices = array<i64: 8, 2, 64>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 2>}> : (tensor<8x2x64xf32>) -> tensor<8x2x32xf32>
    %143 = "stablehlo.slice"(%141) <{limit_indices = array<i64: 8, 2, 64>, start_indices = array<i64: 0, 0, 1>, strides = array<i64: 1, 1, 2>}> : (tensor<8x2x64xf32>) -> tensor<8x2x32xf32>
    %144 = "stablehlo.constant"() <{value = dense<7.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %145 = "stablehlo.broadcast_in_dim"(%144) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x2x32xf32>
    %146 = "stablehlo.minimum"(%142, %145) : (tensor<8x2x32xf32>, tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    %147 = "stablehlo.constant"() <{value = dense<-7> : tensor<i32>}> : () -> tensor<i32>
    %148 = "stablehlo.constant"() <{value = dense<7> : tensor<i32>}> : () -> tensor<i32>
    %149 = "func.call"(%143, %147, %148) <{callee = @clip}> : (tensor<8x2x32xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2x32xf32>
    %150 = "stablehlo.constant"() <{value = dense<1.702000e+00> : tensor<f32>}> : () -> tensor<f32>
    %151 = "stablehlo.broadcast_in_dim"(%150) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x2x32xf32>
    %152 = "stablehlo.multiply"(%151, %146) : (tensor<8x2x32xf32>, tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    %153 = "stablehlo.negate"(%152) : (tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    %154 = "stablehlo.exponential"(%153) : (tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    %155 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %156 = "stablehlo.broadcast_in_dim"(%155) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x2x32xf32>
    %157 = "stablehlo.add"(%156, %154) : (tensor<8x2x32xf32>, tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    %158 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %159 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x2x32xf32>
    %160 = "stablehlo.divide"(%159, %157) : (tensor<8x2x32xf32>, tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    %161 = "stablehlo.multiply"(%146, %160) : (tensor<8x2x32xf32>, tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    %162 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %163 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x2x32xf32>
    %164 = "stablehlo.add"(%149, %163) : (tensor<8x2x32xf32>, tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    %165 = "stablehlo.multiply"(%161, %164) : (tensor<8x2x32xf32>, tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    %166 = "stablehlo.convert"(%165) : (tensor<8x2x32xf32>) -> tensor<8x2x32xbf16>
    %167 = "stablehlo.convert"(%166) : (tensor<8x2x32xbf16>) -> tensor<8x2x32xf32>
    %168 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %169 = "stablehlo.broadcast_in_dim"(%168) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<8x2xi32>
    %170 = "stablehlo.compare"(%58#1, %169) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi1>
    %171 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %172 = "stablehlo.broadcast_in_dim"(%171) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<8x2xi32>
    %173 = "stablehlo.add"(%58#1, %172) : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    %174 = "stablehlo.select"(%170, %173, %58#1) : (tensor<8x2xi1>, tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    %175 = "stablehlo.broadcast_in_dim"(%174) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x2xi32>) -> tensor<8x2x1xi32>
    %176 = "stablehlo.gather"(%120, %175) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 3], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64, 32>}> : (tensor<4x64x32xf32>, tensor<8x2x1xi32>) -> tensor<8x2x64x32xf32>
    %177 = "stablehlo.dot_general"(%167, %176) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<8x2x32xf32>, tensor<8x2x64x32xf32>) -> tensor<8x2x64xf32>
    %178 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %179 = "stablehlo.broadcast_in_dim"(%178) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<8x2xi32>
    %180 = "stablehlo.compare"(%58#1, %179) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi1>
    %181 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %182 = "stablehlo.broadcast_in_dim"(%181) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<8x2xi32>
    %183 = "stablehlo.add"(%58#1, %182) : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    %184 = "stablehlo.select"(%180, %183, %58#1) : (tensor<8x2xi1>, tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x2xi32>
    %185 = "stablehlo.broadcast_in_dim"(%184) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x2xi32>) -> tensor<8x2x1xi32>
    %186 = "stablehlo.gather"(%arg24, %185) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<4x64xf32>, tensor<8x2x1xi32>) -> tensor<8x2x64xf32>
    %187 = "stablehlo.add"(%177, %186) : (tensor<8x2x64xf32>, tensor<8x2x64xf32>) -> tensor<8x2x64xf32>
    %188 = "stablehlo.dot_general"(%187, %72) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<8x2x64xf32>, tensor<8x2xf32>) -> tensor<8x64xf32>
    "func.return"(%188) : (tensor<8x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<16xf32>, tensor<4x64x64xui8>) -> tensor<4x64x64xf32>, res_attrs = [{}], sym_name = "_take", sym_visibility = "private"}> ({
  ^bb0(%arg13: tensor<16xf32>, %arg14: tensor<4x64x64xui8>):
    %32 = "stablehlo.constant"() <{value = dense<0> : tensor<ui8>}> : () -> tensor<ui8>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x64xui8>
    %34 = "stablehlo.compare"(%arg14, %33) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x64x64xui8>, tensor<4x64x64xui8>) -> tensor<4x64x64xi1>
    %35 = "stablehlo.constant"() <{value = dense<16> : tensor<ui8>}> : () -> tensor<ui8>
    %36 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x64xui8>
    %37 = "stablehlo.add"(%arg14, %36) : (tensor<4x64x64xui8>, tensor<4x64x64xui8>) -> tensor<4x64x64xui8>
    %38 = "func.call"(%34, %37, %arg14) <{callee = @_where}> : (tensor<4x64x64xi1>, tensor<4x64x64xui8>, tensor<4x64x64xui8>) -> tensor<4x64x64xui8>
    %39 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x64xui8>) -> tensor<4x64x64x1xui8>
    %40 = "stablehlo.constant"() <{value = dense<15> : tensor<1xi32>}> : () -> tensor<1xi32>
    %41 = "stablehlo.convert"(%39) : (tensor<4x64x64x1xui8>) -> tensor<4x64x64x1xi32>
    %42 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x64x64x1xi32>
    %44 = "stablehlo.compare"(%41, %43) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4x64x64x1xi32>, tensor<4x64x64x1xi32>) -> tensor<4x64x64x1xi1>
    %45 = "stablehlo.broadcast_in_dim"(%40) <{broadcast_dimensions = array<i64: 3>}> : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %46 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x1x1xi32>) -> tensor<4x64x64x1xi32>
    %47 = "stablehlo.compare"(%41, %46) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<4x64x64x1xi32>, tensor<4x64x64x1xi32>) -> tensor<4x64x64x1xi1>
    %48 = "stablehlo.and"(%44, %47) : (tensor<4x64x64x1xi1>, tensor<4x64x64x1xi1>) -> tensor<4x64x64x1xi1>
    %49 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %50 = "stablehlo.reduce"(%48, %49) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg15: tensor<i1>, %arg16: tensor<i1>):
      %55 = "stablehlo.and"(%arg15, %arg16) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%55) : (tensor<i1>) -> ()
    }) : (tensor<4x64x64x1xi1>, tensor<i1>) -> tensor<4x64x64xi1>
    %51 = "stablehlo.gather"(%arg13, %41) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xf32>, tensor<4x64x64x1xi32>) -> tensor<4x64x64xf32>
    %52 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x64x64xf32>
    %54 = "stablehlo.select"(%50, %51, %53) : (tensor<4x64x64xi1>, tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    "func.return"(%54) : (tensor<4x64x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x64x64xi1>, tensor<4x64x64xui8>, tensor<4x64x64xui8>) -> tensor<4x64x64xui8>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg10: tensor<4x64x64xi1>, %arg11: tensor<4x64x64xui8>, %arg12: tensor<4x64x64xui8>):
    %31 = "stablehlo.select"(%arg10, %arg11, %arg12) : (tensor<4x64x64xi1>, tensor<4x64x64xui8>, tensor<4x64x64xui8>) -> tensor<4x64x64xui8>
    "func.return"(%31) : (tensor<4x64x64xui8>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<16xf32>, tensor<4x64x32xui8>) -> tensor<4x64x32xf32>, res_attrs = [{}], sym_name = "_take_0", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<16xf32>, %arg7: tensor<4x64x32xui8>):
    %7 = "stablehlo.constant"() <{value = dense<0> : tensor<ui8>}> : () -> tensor<ui8>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x32xui8>
    %9 = "stablehlo.compare"(%arg7, %8) <{compare_type = #stablehlo<comparison_type UNSIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xi1>
    %10 = "stablehlo.constant"() <{value = dense<16> : tensor<ui8>}> : () -> tensor<ui8>
    %11 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<ui8>) -> tensor<4x64x32xui8>
    %12 = "stablehlo.add"(%arg7, %11) : (tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xui8>
    %13 = "func.call"(%9, %12, %arg7) <{callee = @_where_1}> : (tensor<4x64x32xi1>, tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xui8>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x32xui8>) -> tensor<4x64x32x1xui8>
    %15 = "stablehlo.constant"() <{value = dense<15> : tensor<1xi32>}> : () -> tensor<1xi32>
    %16 = "stablehlo.convert"(%14) : (tensor<4x64x32x1xui8>) -> tensor<4x64x32x1xi32>
    %17 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4x64x32x1xi32>
    %19 = "stablehlo.compare"(%16, %18) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<4x64x32x1xi32>, tensor<4x64x32x1xi32>) -> tensor<4x64x32x1xi1>
    %20 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 3>}> : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %21 = "stablehlo.broadcast_in_dim"(%20) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x1x1xi32>) -> tensor<4x64x32x1xi32>
    %22 = "stablehlo.compare"(%16, %21) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<4x64x32x1xi32>, tensor<4x64x32x1xi32>) -> tensor<4x64x32x1xi1>
    %23 = "stablehlo.and"(%19, %22) : (tensor<4x64x32x1xi1>, tensor<4x64x32x1xi1>) -> tensor<4x64x32x1xi1>
    %24 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %25 = "stablehlo.reduce"(%23, %24) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg8: tensor<i1>, %arg9: tensor<i1>):
      %30 = "stablehlo.and"(%arg8, %arg9) : (tensor<i1>, tensor<i1>) -> tensor<i1>
      "stablehlo.return"(%30) : (tensor<i1>) -> ()
    }) : (tensor<4x64x32x1xi1>, tensor<i1>) -> tensor<4x64x32xi1>
    %26 = "stablehlo.gather"(%arg6, %16) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<16xf32>, tensor<4x64x32x1xi32>) -> tensor<4x64x32xf32>
    %27 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x64x32xf32>
    %29 = "stablehlo.select"(%25, %26, %28) : (tensor<4x64x32xi1>, tensor<4x64x32xf32>, tensor<4x64x32xf32>) -> tensor<4x64x32xf32>
    "func.return"(%29) : (tensor<4x64x32xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<4x64x32xi1>, tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xui8>, res_attrs = [{}], sym_name = "_where_1", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<4x64x32xi1>, %arg4: tensor<4x64x32xui8>, %arg5: tensor<4x64x32xui8>):
    %6 = "stablehlo.select"(%arg3, %arg4, %arg5) : (tensor<4x64x32xi1>, tensor<4x64x32xui8>, tensor<4x64x32xui8>) -> tensor<4x64x32xui8>
    "func.return"(%6) : (tensor<4x64x32xui8>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<8x2x32xf32>, tensor<i32>, tensor<i32>) -> tensor<8x2x32xf32>, res_attrs = [{}], sym_name = "clip", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<8x2x32xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>):
    %0 = "stablehlo.convert"(%arg1) : (tensor<i32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x2x32xf32>
    %2 = "stablehlo.maximum"(%1, %arg0) : (tensor<8x2x32xf32>, tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    %3 = "stablehlo.convert"(%arg2) : (tensor<i32>) -> tensor<f32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x2x32xf32>
    %5 = "stablehlo.minimum"(%4, %2) : (tensor<8x2x32xf32>, tensor<8x2x32xf32>) -> tensor<8x2x32xf32>
    "func.return"(%5) : (tensor<8x2x32xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
