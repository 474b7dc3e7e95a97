// Written by jax_layers.py with JAX 0.10.2.
"builtin.module"() <{sym_name = "jit_call"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}], function_type = (tensor<8x64xbf16>, tensor<8x4xf32>, tensor<4x64x32xui8>, tensor<4x64x4xf8E4M3FN>, tensor<4x64x16xui8>, tensor<4x64x2xf8E4M3FN>) -> tensor<8x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg40: tensor<8x64xbf16>, %arg41: tensor<8x4xf32>, %arg42: tensor<4x64x32xui8>, %arg43: tensor<4x64x4xf8E4M3FN>, %arg44: tensor<4x64x16xui8>, %arg45: tensor<4x64x2xf8E4M3FN>):
    %261 = "func.call"(%arg40, %arg41, %arg42, %arg43, %arg44, %arg45) <{callee = @call_exported_mixtral}> : (tensor<8x64xbf16>, tensor<8x4xf32>, tensor<4x64x32xui8>, tensor<4x64x4xf8E4M3FN>, tensor<4x64x16xui8>, tensor<4x64x2xf8E4M3FN>) -> tensor<8x64xf32>
    "func.return"(%261) : (tensor<8x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}], function_type = (tensor<8x64xbf16>, tensor<8x4xf32>, tensor<4x64x32xui8>, tensor<4x64x4xf8E4M3FN>, tensor<4x64x16xui8>, tensor<4x64x2xf8E4M3FN>) -> tensor<8x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "call_exported_mixtral", sym_visibility = "private"}> ({
  ^bb0(%arg24: tensor<8x64xbf16>, %arg25: tensor<8x4xf32>, %arg26: tensor<4x64x32xui8>, %arg27: tensor<4x64x4xf8E4M3FN>, %arg28: tensor<4x64x16xui8>, %arg29: tensor<4x64x2xf8E4M3FN>):
    %161 = "stablehlo.constant"() <{value = dense<16> : tensor<i32>}> : () -> tensor<i32>
    %162 = "stablehlo.constant"() <{value = dense<8> : tensor<i32>}> : () -> tensor<i32>
    %163 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
    %164 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %165 = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %166 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %167 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %168 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %169 = "stablehlo.bitcast_convert"(%arg26) : (tensor<4x64x32xui8>) -> tensor<4x64x32x2xf4E2M1FN>
    %170 = "stablehlo.reshape"(%169) : (tensor<4x64x32x2xf4E2M1FN>) -> tensor<4x64x64xf4E2M1FN>
    %171 = "stablehlo.convert"(%170) : (tensor<4x64x64xf4E2M1FN>) -> tensor<4x64x64xbf16>
    %172 = "stablehlo.convert"(%arg27) : (tensor<4x64x4xf8E4M3FN>) -> tensor<4x64x4xf32>
    %173 = "stablehlo.reshape"(%171) : (tensor<4x64x64xbf16>) -> tensor<4x64x4x16xbf16>
    %174 = "stablehlo.convert"(%173) : (tensor<4x64x4x16xbf16>) -> tensor<4x64x4x16xf32>
    %175 = "stablehlo.broadcast_in_dim"(%172) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x4xf32>) -> tensor<4x64x4x1xf32>
    %176 = "stablehlo.broadcast_in_dim"(%175) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x64x4x1xf32>) -> tensor<4x64x4x16xf32>
    %177 = "stablehlo.multiply"(%174, %176) : (tensor<4x64x4x16xf32>, tensor<4x64x4x16xf32>) -> tensor<4x64x4x16xf32>
    %178 = "stablehlo.reshape"(%177) : (tensor<4x64x4x16xf32>) -> tensor<4x64x64xf32>
    %179 = "stablehlo.bitcast_convert"(%arg28) : (tensor<4x64x16xui8>) -> tensor<4x64x16x2xf4E2M1FN>
    %180 = "stablehlo.reshape"(%179) : (tensor<4x64x16x2xf4E2M1FN>) -> tensor<4x64x32xf4E2M1FN>
    %181 = "stablehlo.convert"(%180) : (tensor<4x64x32xf4E2M1FN>) -> tensor<4x64x32xbf16>
    %182 = "stablehlo.convert"(%arg29) : (tensor<4x64x2xf8E4M3FN>) -> tensor<4x64x2xf32>
    %183 = "stablehlo.reshape"(%181) : (tensor<4x64x32xbf16>) -> tensor<4x64x2x16xbf16>
    %184 = "stablehlo.convert"(%183) : (tensor<4x64x2x16xbf16>) -> tensor<4x64x2x16xf32>
    %185 = "stablehlo.broadcast_in_dim"(%182) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<4x64x2xf32>) -> tensor<4x64x2x1xf32>
    %186 = "stablehlo.broadcast_in_dim"(%185) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<4x64x2x1xf32>) -> tensor<4x64x2x16xf32>
    %187 = "stablehlo.multiply"(%184, %186) : (tensor<4x64x2x16xf32>, tensor<4x64x2x16xf32>) -> tensor<4x64x2x16xf32>
    %188 = "stablehlo.reshape"(%187) : (tensor<4x64x2x16xf32>) -> tensor<4x64x32xf32>
    %189 = "stablehlo.reduce"(%arg25, %168) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg38: tensor<f32>, %arg39: tensor<f32>):
      %260 = "stablehlo.maximum"(%arg38, %arg39) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%260) : (tensor<f32>) -> ()
    }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %190 = "stablehlo.broadcast_in_dim"(%168) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8xf32>
    %191 = "stablehlo.maximum"(%190, %189) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %192 = "stablehlo.broadcast_in_dim"(%191) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %193 = "stablehlo.broadcast_in_dim"(%192) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %194 = "stablehlo.subtract"(%arg25, %193) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %195 = "stablehlo.exponential"(%194) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %196 = "stablehlo.reduce"(%195, %167) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg36: tensor<f32>, %arg37: tensor<f32>):
      %259 = "stablehlo.add"(%arg36, %arg37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%259) : (tensor<f32>) -> ()
    }) : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    %197 = "stablehlo.broadcast_in_dim"(%196) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %198 = "stablehlo.broadcast_in_dim"(%197) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x4xf32>
    %199 = "stablehlo.divide"(%195, %198) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    %200:2 = "stablehlo.composite"(%199) <{composite_attributes = {k = 2 : i64}, decomposition = @chlo.top_k.impl, name = "chlo.top_k", version = 1 : i32}> : (tensor<8x4xf32>) -> (tensor<8x2xf32>, tensor<8x2xi32>)
    %201 = "stablehlo.reduce"(%200#0, %167) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg34: tensor<f32>, %arg35: tensor<f32>):
      %258 = "stablehlo.add"(%arg34, %arg35) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%258) : (tensor<f32>) -> ()
    }) : (tensor<8x2xf32>, tensor<f32>) -> tensor<8xf32>
    %202 = "stablehlo.broadcast_in_dim"(%201) <{broadcast_dimensions = array<i64: 0>}> : (tensor<8xf32>) -> tensor<8x1xf32>
    %203 = "stablehlo.broadcast_in_dim"(%202) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<8x1xf32>) -> tensor<8x2xf32>
    %204 = "stablehlo.divide"(%200#0, %203) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    %205 = "stablehlo.reshape"(%200#1) : (tensor<8x2xi32>) -> tensor<16xi32>
    %206 = "func.call"(%205) <{callee = @argsort}> : (tensor<16xi32>) -> tensor<16xi32>
    %207 = "stablehlo.reshape"(%200#1) : (tensor<8x2xi32>) -> tensor<16xi32>
    %208 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<4xi32>
    %209 = "func.call"(%207, %166) <{callee = @clip}> : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    %210 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %211 = "stablehlo.compare"(%209, %210) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %212 = "stablehlo.broadcast_in_dim"(%165) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %213 = "stablehlo.add"(%209, %212) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %214 = "stablehlo.select"(%211, %213, %209) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %215 = "stablehlo.broadcast_in_dim"(%214) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %216 = "stablehlo.broadcast_in_dim"(%164) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %217 = "stablehlo.scatter"(%208, %215, %216) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg32: tensor<i32>, %arg33: tensor<i32>):
      %257 = "stablehlo.add"(%arg32, %arg33) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%257) : (tensor<i32>) -> ()
    }) : (tensor<4xi32>, tensor<16x1xi32>, tensor<16xi32>) -> tensor<4xi32>
    %218 = "func.call"(%206, %163) <{callee = @floor_divide}> : (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>
    %219 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %220 = "stablehlo.compare"(%218, %219) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %221 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %222 = "stablehlo.add"(%218, %221) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %223 = "stablehlo.select"(%220, %222, %218) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %224 = "stablehlo.broadcast_in_dim"(%223) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %225 = "stablehlo.gather"(%arg24, %224) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 64>}> : (tensor<8x64xbf16>, tensor<16x1xi32>) -> tensor<16x64xbf16>
    %226 = "stablehlo.convert"(%225) : (tensor<16x64xbf16>) -> tensor<16x64xf32>
    %227 = "stablehlo.transpose"(%178) <{permutation = array<i64: 0, 2, 1>}> : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
    %228 = "stablehlo.composite"(%226, %227, %217) <{composite_attributes = {precision_config = ["DEFAULT", "DEFAULT"], ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>, dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]}, decomposition = @chlo.ragged_dot.impl, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<16x64xf32>, tensor<4x64x64xf32>, tensor<4xi32>) -> tensor<16x64xf32>
    %229 = "stablehlo.slice"(%228) <{limit_indices = array<i64: 16, 32>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<16x64xf32>) -> tensor<16x32xf32>
    %230 = "stablehlo.slice"(%228) <{limit_indices = array<i64: 16, 64>, start_indices = array<i64: 0, 32>, strides = array<i64: 1, 1>}> : (tensor<16x64xf32>) -> tensor<16x32xf32>
    %231 = "func.call"(%229) <{callee = @silu}> : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %232 = "stablehlo.multiply"(%231, %230) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %233 = "stablehlo.convert"(%232) : (tensor<16x32xf32>) -> tensor<16x32xbf16>
    %234 = "stablehlo.convert"(%233) : (tensor<16x32xbf16>) -> tensor<16x32xf32>
    %235 = "stablehlo.transpose"(%188) <{permutation = array<i64: 0, 2, 1>}> : (tensor<4x64x32xf32>) -> tensor<4x32x64xf32>
    %236 = "stablehlo.composite"(%234, %235, %217) <{composite_attributes = {precision_config = ["DEFAULT", "DEFAULT"], ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>, dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]}, decomposition = @chlo.ragged_dot.impl_0, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<16x32xf32>, tensor<4x32x64xf32>, tensor<4xi32>) -> tensor<16x64xf32>
    %237 = "stablehlo.reshape"(%204) : (tensor<8x2xf32>) -> tensor<16xf32>
    %238 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %239 = "stablehlo.compare"(%206, %238) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %240 = "stablehlo.broadcast_in_dim"(%161) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %241 = "stablehlo.add"(%206, %240) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %242 = "stablehlo.select"(%239, %241, %206) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %243 = "stablehlo.broadcast_in_dim"(%242) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %244 = "stablehlo.gather"(%237, %243) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<16xf32>, tensor<16x1xi32>) -> tensor<16xf32>
    %245 = "stablehlo.broadcast_in_dim"(%244) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %246 = "stablehlo.broadcast_in_dim"(%245) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x64xf32>
    %247 = "stablehlo.multiply"(%236, %246) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %248 = "stablehlo.broadcast_in_dim"(%167) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<8x64xf32>
    %249 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %250 = "stablehlo.compare"(%218, %249) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %251 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %252 = "stablehlo.add"(%218, %251) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %253 = "stablehlo.select"(%250, %252, %218) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %254 = "stablehlo.broadcast_in_dim"(%253) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %255 = "stablehlo.scatter"(%248, %254, %247) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg30: tensor<f32>, %arg31: tensor<f32>):
      %256 = "stablehlo.add"(%arg30, %arg31) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%256) : (tensor<f32>) -> ()
    }) : (tensor<8x64xf32>, tensor<16x1xi32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    "func.return"(%255) : (tensor<8x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x32xf32>, tensor<4x32x64xf32>, tensor<4xi32>) -> tensor<16x64xf32>, sym_name = "chlo.ragged_dot.impl_0", sym_visibility = "private"}> ({
  ^bb0(%arg21: tensor<16x32xf32>, %arg22: tensor<4x32x64xf32>, %arg23: tensor<4xi32>):
    %99 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<16x32xf32>}> : () -> tensor<16x32xf32>
    %100 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %101 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16x1xi64>
    %102 = "stablehlo.slice"(%arg23) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %103 = "stablehlo.reshape"(%102) : (tensor<1xi32>) -> tensor<i32>
    %104 = "stablehlo.convert"(%103) : (tensor<i32>) -> tensor<i64>
    %105 = "stablehlo.add"(%100, %104) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %106 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x32xi64>
    %107 = "stablehlo.broadcast_in_dim"(%105) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x32xi64>
    %108 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xi64>) -> tensor<16x32xi64>
    %109 = "stablehlo.compare"(%108, %106) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x32xi64>, tensor<16x32xi64>) -> tensor<16x32xi1>
    %110 = "stablehlo.compare"(%108, %107) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16x32xi64>, tensor<16x32xi64>) -> tensor<16x32xi1>
    %111 = "stablehlo.and"(%109, %110) : (tensor<16x32xi1>, tensor<16x32xi1>) -> tensor<16x32xi1>
    %112 = "stablehlo.select"(%111, %arg21, %99) : (tensor<16x32xi1>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %113 = "stablehlo.slice"(%arg22) <{limit_indices = array<i64: 1, 32, 64>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x32x64xf32>) -> tensor<1x32x64xf32>
    %114 = "stablehlo.reshape"(%113) : (tensor<1x32x64xf32>) -> tensor<32x64xf32>
    %115 = "stablehlo.dot_general"(%112, %114) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
    %116 = "stablehlo.slice"(%arg23) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %117 = "stablehlo.reshape"(%116) : (tensor<1xi32>) -> tensor<i32>
    %118 = "stablehlo.convert"(%117) : (tensor<i32>) -> tensor<i64>
    %119 = "stablehlo.add"(%105, %118) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %120 = "stablehlo.broadcast_in_dim"(%105) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x32xi64>
    %121 = "stablehlo.broadcast_in_dim"(%119) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x32xi64>
    %122 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xi64>) -> tensor<16x32xi64>
    %123 = "stablehlo.compare"(%122, %120) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x32xi64>, tensor<16x32xi64>) -> tensor<16x32xi1>
    %124 = "stablehlo.compare"(%122, %121) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16x32xi64>, tensor<16x32xi64>) -> tensor<16x32xi1>
    %125 = "stablehlo.and"(%123, %124) : (tensor<16x32xi1>, tensor<16x32xi1>) -> tensor<16x32xi1>
    %126 = "stablehlo.select"(%125, %arg21, %99) : (tensor<16x32xi1>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %127 = "stablehlo.slice"(%arg22) <{limit_indices = array<i64: 2, 32, 64>, start_indices = array<i64: 1, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x32x64xf32>) -> tensor<1x32x64xf32>
    %128 = "stablehlo.reshape"(%127) : (tensor<1x32x64xf32>) -> tensor<32x64xf32>
    %129 = "stablehlo.dot_general"(%126, %128) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
    %130 = "stablehlo.add"(%115, %129) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %131 = "stablehlo.slice"(%arg23) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %132 = "stablehlo.reshape"(%131) : (tensor<1xi32>) -> tensor<i32>
    %133 = "stablehlo.convert"(%132) : (tensor<i32>) -> tensor<i64>
    %134 = "stablehlo.add"(%119, %133) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %135 = "stablehlo.broadcast_in_dim"(%119) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x32xi64>
    %136 = "stablehlo.broadcast_in_dim"(%134) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x32xi64>
    %137 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xi64>) -> tensor<16x32xi64>
    %138 = "stablehlo.compare"(%137, %135) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x32xi64>, tensor<16x32xi64>) -> tensor<16x32xi1>
    %139 = "stablehlo.compare"(%137, %136) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16x32xi64>, tensor<16x32xi64>) -> tensor<16x32xi1>
    %140 = "stablehlo.and"(%138, %139) : (tensor<16x32xi1>, tensor<16x32xi1>) -> tensor<16x32xi1>
    %141 = "stablehlo.select"(%140, %arg21, %99) : (tensor<16x32xi1>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %142 = "stablehlo.slice"(%arg22) <{limit_indices = array<i64: 3, 32, 64>, start_indices = array<i64: 2, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x32x64xf32>) -> tensor<1x32x64xf32>
    %143 = "stablehlo.reshape"(%142) : (tensor<1x32x64xf32>) -> tensor<32x64xf32>
    %144 = "stablehlo.dot_general"(%141, %143) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
    %145 = "stablehlo.add"(%130, %144) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %146 = "stablehlo.slice"(%arg23) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %147 = "stablehlo.reshape"(%146) : (tensor<1xi32>) -> tensor<i32>
    %148 = "stablehlo.convert"(%147) : (tensor<i32>) -> tensor<i64>
    %149 = "stablehlo.add"(%134, %148) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %150 = "stablehlo.broadcast_in_dim"(%134) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x32xi64>
    %151 = "stablehlo.broadcast_in_dim"(%149) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x32xi64>
    %152 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xi64>) -> tensor<16x32xi64>
    %153 = "stablehlo.compare"(%152, %150) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x32xi64>, tensor<16x32xi64>) -> tensor<16x32xi1>
    %154 = "stablehlo.compare"(%152, %151) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16x32xi64>, tensor<16x32xi64>) -> tensor<16x32xi1>
    %155 = "stablehlo.and"(%153, %154) : (tensor<16x32xi1>, tensor<16x32xi1>) -> tensor<16x32xi1>
    %156 = "stablehlo.select"(%155, %arg21, %99) : (tensor<16x32xi1>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %157 = "stablehlo.slice"(%arg22) <{limit_indices = array<i64: 4, 32, 64>, start_indices = array<i64: 3, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x32x64xf32>) -> tensor<1x32x64xf32>
    %158 = "stablehlo.reshape"(%157) : (tensor<1x32x64xf32>) -> tensor<32x64xf32>
    %159 = "stablehlo.dot_general"(%156, %158) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
    %160 = "stablehlo.add"(%145, %159) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    "func.return"(%160) : (tensor<16x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<16x64xf32>, tensor<4x64x64xf32>, tensor<4xi32>) -> tensor<16x64xf32>, sym_name = "chlo.ragged_dot.impl", sym_visibility = "private"}> ({
  ^bb0(%arg18: tensor<16x64xf32>, %arg19: tensor<4x64x64xf32>, %arg20: tensor<4xi32>):
    %37 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<16x64xf32>}> : () -> tensor<16x64xf32>
    %38 = "stablehlo.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %39 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16x1xi64>
    %40 = "stablehlo.slice"(%arg20) <{limit_indices = array<i64: 1>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %41 = "stablehlo.reshape"(%40) : (tensor<1xi32>) -> tensor<i32>
    %42 = "stablehlo.convert"(%41) : (tensor<i32>) -> tensor<i64>
    %43 = "stablehlo.add"(%38, %42) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %44 = "stablehlo.broadcast_in_dim"(%38) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x64xi64>
    %45 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x64xi64>
    %46 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xi64>) -> tensor<16x64xi64>
    %47 = "stablehlo.compare"(%46, %44) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x64xi64>, tensor<16x64xi64>) -> tensor<16x64xi1>
    %48 = "stablehlo.compare"(%46, %45) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16x64xi64>, tensor<16x64xi64>) -> tensor<16x64xi1>
    %49 = "stablehlo.and"(%47, %48) : (tensor<16x64xi1>, tensor<16x64xi1>) -> tensor<16x64xi1>
    %50 = "stablehlo.select"(%49, %arg18, %37) : (tensor<16x64xi1>, tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %51 = "stablehlo.slice"(%arg19) <{limit_indices = array<i64: 1, 64, 64>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x64x64xf32>) -> tensor<1x64x64xf32>
    %52 = "stablehlo.reshape"(%51) : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %53 = "stablehlo.dot_general"(%50, %52) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %54 = "stablehlo.slice"(%arg20) <{limit_indices = array<i64: 2>, start_indices = array<i64: 1>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %55 = "stablehlo.reshape"(%54) : (tensor<1xi32>) -> tensor<i32>
    %56 = "stablehlo.convert"(%55) : (tensor<i32>) -> tensor<i64>
    %57 = "stablehlo.add"(%43, %56) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %58 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x64xi64>
    %59 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x64xi64>
    %60 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xi64>) -> tensor<16x64xi64>
    %61 = "stablehlo.compare"(%60, %58) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x64xi64>, tensor<16x64xi64>) -> tensor<16x64xi1>
    %62 = "stablehlo.compare"(%60, %59) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16x64xi64>, tensor<16x64xi64>) -> tensor<16x64xi1>
    %63 = "stablehlo.and"(%61, %62) : (tensor<16x64xi1>, tensor<16x64xi1>) -> tensor<16x64xi1>
    %64 = "stablehlo.select"(%63, %arg18, %37) : (tensor<16x64xi1>, tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %65 = "stablehlo.slice"(%arg19) <{limit_indices = array<i64: 2, 64, 64>, start_indices = array<i64: 1, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x64x64xf32>) -> tensor<1x64x64xf32>
    %66 = "stablehlo.reshape"(%65) : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %67 = "stablehlo.dot_general"(%64, %66) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %68 = "stablehlo.add"(%53, %67) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %69 = "stablehlo.slice"(%arg20) <{limit_indices = array<i64: 3>, start_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %70 = "stablehlo.reshape"(%69) : (tensor<1xi32>) -> tensor<i32>
    %71 = "stablehlo.convert"(%70) : (tensor<i32>) -> tensor<i64>
    %72 = "stablehlo.add"(%57, %71) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %73 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x64xi64>
    %74 = "stablehlo.broadcast_in_dim"(%72) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x64xi64>
    %75 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xi64>) -> tensor<16x64xi64>
    %76 = "stablehlo.compare"(%75, %73) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x64xi64>, tensor<16x64xi64>) -> tensor<16x64xi1>
    %77 = "stablehlo.compare"(%75, %74) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16x64xi64>, tensor<16x64xi64>) -> tensor<16x64xi1>
    %78 = "stablehlo.and"(%76, %77) : (tensor<16x64xi1>, tensor<16x64xi1>) -> tensor<16x64xi1>
    %79 = "stablehlo.select"(%78, %arg18, %37) : (tensor<16x64xi1>, tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %80 = "stablehlo.slice"(%arg19) <{limit_indices = array<i64: 3, 64, 64>, start_indices = array<i64: 2, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x64x64xf32>) -> tensor<1x64x64xf32>
    %81 = "stablehlo.reshape"(%80) : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %82 = "stablehlo.dot_general"(%79, %81) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %83 = "stablehlo.add"(%68, %82) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %84 = "stablehlo.slice"(%arg20) <{limit_indices = array<i64: 4>, start_indices = array<i64: 3>, strides = array<i64: 1>}> : (tensor<4xi32>) -> tensor<1xi32>
    %85 = "stablehlo.reshape"(%84) : (tensor<1xi32>) -> tensor<i32>
    %86 = "stablehlo.convert"(%85) : (tensor<i32>) -> tensor<i64>
    %87 = "stablehlo.add"(%72, %86) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %88 = "stablehlo.broadcast_in_dim"(%72) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x64xi64>
    %89 = "stablehlo.broadcast_in_dim"(%87) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<16x64xi64>
    %90 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xi64>) -> tensor<16x64xi64>
    %91 = "stablehlo.compare"(%90, %88) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x64xi64>, tensor<16x64xi64>) -> tensor<16x64xi1>
    %92 = "stablehlo.compare"(%90, %89) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<16x64xi64>, tensor<16x64xi64>) -> tensor<16x64xi1>
    %93 = "stablehlo.and"(%91, %92) : (tensor<16x64xi1>, tensor<16x64xi1>) -> tensor<16x64xi1>
    %94 = "stablehlo.select"(%93, %arg18, %37) : (tensor<16x64xi1>, tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %95 = "stablehlo.slice"(%arg19) <{limit_indices = array<i64: 4, 64, 64>, start_indices = array<i64: 3, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<4x64x64xf32>) -> tensor<1x64x64xf32>
    %96 = "stablehlo.reshape"(%95) : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    %97 = "stablehlo.dot_general"(%94, %96) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %98 = "stablehlo.add"(%83, %97) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    "func.return"(%98) : (tensor<16x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8x4xf32>) -> (tensor<8x2xf32>, tensor<8x2xi32>), sym_name = "chlo.top_k.impl", sym_visibility = "private"}> ({
  ^bb0(%arg13: tensor<8x4xf32>):
    %32 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<8x4xi32>
    %33:2 = "stablehlo.sort"(%arg13, %32) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>, %arg16: tensor<i32>, %arg17: tensor<i32>):
      %36 = "stablehlo.compare"(%arg14, %arg15) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%36) : (tensor<i1>) -> ()
    }) : (tensor<8x4xf32>, tensor<8x4xi32>) -> (tensor<8x4xf32>, tensor<8x4xi32>)
    %34 = "stablehlo.slice"(%33#0) <{limit_indices = array<i64: 8, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<8x4xf32>) -> tensor<8x2xf32>
    %35 = "stablehlo.slice"(%33#1) <{limit_indices = array<i64: 8, 2>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<8x4xi32>) -> tensor<8x2xi32>
    "func.return"(%34, %35) : (tensor<8x2xf32>, tensor<8x2xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<16xi32>) -> tensor<16xi32>, res_attrs = [{}], sym_name = "argsort", sym_visibility = "private"}> ({
  ^bb0(%arg8: tensor<16xi32>):
    %29 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xi32>
    %30:2 = "stablehlo.sort"(%arg8, %29) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg9: tensor<i32>, %arg10: tensor<i32>, %arg11: tensor<i32>, %arg12: tensor<i32>):
      %31 = "stablehlo.compare"(%arg9, %arg10) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%31) : (tensor<i1>) -> ()
    }) : (tensor<16xi32>, tensor<16xi32>) -> (tensor<16xi32>, tensor<16xi32>)
    "func.return"(%30#1) : (tensor<16xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>, res_attrs = [{}], sym_name = "clip", sym_visibility = "private"}> ({
  ^bb0(%arg6: tensor<16xi32>, %arg7: tensor<i32>):
    %26 = "stablehlo.convert"(%arg7) : (tensor<i32>) -> tensor<i32>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %28 = "stablehlo.maximum"(%27, %arg6) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    "func.return"(%28) : (tensor<16xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<16xi32>, tensor<i32>) -> tensor<16xi32>, res_attrs = [{}], sym_name = "floor_divide", sym_visibility = "private"}> ({
  ^bb0(%arg4: tensor<16xi32>, %arg5: tensor<i32>):
    %9 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %10 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %11 = "stablehlo.convert"(%arg5) : (tensor<i32>) -> tensor<i32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %13 = "stablehlo.divide"(%arg4, %12) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %14 = "stablehlo.sign"(%arg4) : (tensor<16xi32>) -> tensor<16xi32>
    %15 = "stablehlo.sign"(%11) : (tensor<i32>) -> tensor<i32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %17 = "stablehlo.compare"(%14, %16) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %18 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %19 = "stablehlo.remainder"(%arg4, %18) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %20 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %21 = "stablehlo.compare"(%19, %20) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi1>
    %22 = "stablehlo.and"(%17, %21) : (tensor<16xi1>, tensor<16xi1>) -> tensor<16xi1>
    %23 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16xi32>
    %24 = "stablehlo.subtract"(%13, %23) : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    %25 = "func.call"(%22, %24, %13) <{callee = @_where}> : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    "func.return"(%25) : (tensor<16xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<16xi1>, %arg2: tensor<16xi32>, %arg3: tensor<16xi32>):
    %8 = "stablehlo.select"(%arg1, %arg2, %arg3) : (tensor<16xi1>, tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
    "func.return"(%8) : (tensor<16xi32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<16x32xf32>) -> tensor<16x32xf32>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x32xf32>):
    %0 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.negate"(%arg0) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %2 = "stablehlo.exponential"(%1) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    %3 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x32xf32>
    %4 = "stablehlo.add"(%3, %2) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %5 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x32xf32>
    %6 = "stablehlo.divide"(%5, %4) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    %7 = "stablehlo.multiply"(%arg0, %6) : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
    "func.return"(%7) : (tensor<16x32xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
