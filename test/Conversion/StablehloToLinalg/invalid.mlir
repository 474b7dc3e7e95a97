// RUN: nvfp4-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --convert-stablehlo-to-linalg

// All unknown operations are named at once.

func.func @unknown(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{expected an operation that convert-stablehlo-to-linalg converts, but got stablehlo.custom_call}}
  %0 = "stablehlo.custom_call"(%x) <{call_target_name = "f"}> : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{but got stablehlo.fft}}
  %1 = "stablehlo.fft"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{expected tensors of static shape with integer or floating point elements, but got 'tensor<?xf32>'}}
  %0 = "stablehlo.abs"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

func.func @types(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @below {{expected operands that stablehlo.exponential is converted for, but got tensor<4xi32>}}
  // expected-error @below {{failed to legalize}}
  %0 = "stablehlo.exponential"(%x) : (tensor<4xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @body(%x: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{expected elementwise operations in the body, but got stablehlo.reshape}}
  // expected-error @below {{failed to legalize}}
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "stablehlo.reshape"(%a) : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @interior(%x: tensor<4xf32>, %z: tensor<f32>) -> tensor<7xf32> {
  // expected-error @below {{expected padding of at least 0 at the edges and none between elements}}
  // expected-error @below {{failed to legalize}}
  %0 = "stablehlo.pad"(%x, %z) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 1>}>
      : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

func.func @ragged_depth(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>, %sizes: tensor<3xi32>) -> tensor<3x8x4xf32> {
  // expected-error @below {{expected groups of rows, [M, K] times [G, K, N] or [G, N, K] with sizes [G], G at least 1, but got tensor<8x16xf32> and tensor<16x4xf32> with tensor<3xi32>}}
  // expected-error @below {{failed to legalize}}
  %0 = "chlo.ragged_dot"(%x, %w, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>}>
      : (tensor<8x16xf32>, tensor<16x4xf32>, tensor<3xi32>) -> tensor<3x8x4xf32>
  return %0 : tensor<3x8x4xf32>
}

// -----

func.func @no_groups(%x: tensor<8x16xf32>, %w: tensor<0x16x4xf32>, %sizes: tensor<0xi32>) -> tensor<8x4xf32> {
  // expected-error @below {{with sizes [G], G at least 1, but got tensor<8x16xf32> and tensor<0x16x4xf32> with tensor<0xi32>}}
  // expected-error @below {{failed to legalize}}
  %0 = "chlo.ragged_dot"(%x, %w, %sizes) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}>
      : (tensor<8x16xf32>, tensor<0x16x4xf32>, tensor<0xi32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @unsigned(%x: tensor<8x16xui8>, %w: tensor<16x4xui8>) -> tensor<8x4xi32> {
  // expected-error @below {{expected a product of signed integers or floats that fit into the type of the result, but got ui8 and ui8 for i32}}
  // expected-error @below {{failed to legalize}}
  %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [0]>}> : (tensor<8x16xui8>, tensor<16x4xui8>) -> tensor<8x4xi32>
  return %0 : tensor<8x4xi32>
}

// -----

// Nothing has verified these.

func.func @forms(%x: tensor<4x8xf32>, %i: tensor<2x1xi32>, %s: tensor<f32>) {
  // expected-error @below {{expected operands, results and attributes as the specification of StableHLO has them for stablehlo.add}}
  %0 = "stablehlo.add"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{has them for stablehlo.transpose}}
  %1 = "stablehlo.transpose"(%x) <{permutation = array<i64: 0, 0>}> : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // expected-error @below {{has them for stablehlo.slice}}
  %2 = "stablehlo.slice"(%x) : (tensor<4x8xf32>) -> tensor<2x8xf32>
  // expected-error @below {{has them for stablehlo.gather}}
  %3 = "stablehlo.gather"(%x, %i) <{slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
  // expected-error @below {{has them for stablehlo.dot_general}}
  %4 = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [0]>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{has them for stablehlo.reduce}}
  %5 = "stablehlo.reduce"(%x, %s) <{dimensions = array<i64: 1>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // expected-error @below {{has them for stablehlo.reshape}}
  %6 = "stablehlo.reshape"(%x) : (tensor<4x8xf32>) -> tensor<4x4xf32>
  // expected-error @below {{has them for chlo.top_k}}
  %7:2 = "chlo.top_k"(%s) : (tensor<f32>) -> (tensor<2xf32>, tensor<2xi32>)
  // expected-error @below {{has them for stablehlo.reduce}}
  %8 = "stablehlo.reduce"(%x, %s) <{dimensions = array<i64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  // expected-error @below {{has them for stablehlo.dot_general}}
  %9 = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [-1]>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  // expected-error @below {{has them for stablehlo.dot_general}}
  %10 = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1],
      rhs_contracting_dimensions = [1]>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
  // expected-error @below {{has them for stablehlo.bitcast_convert}}
  %11 = "stablehlo.bitcast_convert"(%x) : (tensor<4x8xf32>) -> tensor<4x8x5xi8>
  // expected-error @below {{has them for stablehlo.constant}}
  %12 = "stablehlo.constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<f32>
  // expected-error @below {{has them for stablehlo.gather}}
  %13 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}>
      : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x9xf32>
  // expected-error @below {{has them for stablehlo.composite}}
  "stablehlo.composite"(%x) <{decomposition = @forms, name = "f"}> : (tensor<4x8xf32>) -> ()
  // expected-error @below {{has them for stablehlo.composite}}
  %14 = "stablehlo.composite"(%x) <{decomposition = @forms, name = "chlo.ragged_dot"}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @not_in_a_region(%x: tensor<4xf32>) {
  // expected-error @below {{converts, but got stablehlo.return}}
  "stablehlo.return"(%x) : (tensor<4xf32>) -> ()
}

// -----

func.func @returns_nothing(%x: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{expected a body that returns 1 values, but got 0}}
  // expected-error @below {{failed to legalize}}
  %0 = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"() : () -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
