// Launches, tensor maps, tables and results that are not what they say.
// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

func.func @sizes(%a: memref<8x64xi8, #gpu.address_space<global>>) {
  // expected-error @below {{expected 2 sizes and 1 strides, as the box has, but got 3 and 2}}
  %map = warpspec.encode_tensor_map %a sizes [8, 64, 1] strides [64, 64]
      : memref<8x64xi8, #gpu.address_space<global>> to !warpspec.tensor_map<8x64xi8>
  return
}

// -----

func.func @dimensions(%a: memref<8x64xi8, #gpu.address_space<global>>) {
  // expected-error @+2 {{expected 1 to 5 dimensions, but got 6}}
  %map = warpspec.encode_tensor_map %a sizes [1, 1, 1, 1, 1, 16] strides [16, 16, 16, 16, 16]
      : memref<8x64xi8, #gpu.address_space<global>> to !warpspec.tensor_map<1x1x1x1x1x16xi8>
  return
}

// -----

func.func @element(%a: memref<8x64xi8, #gpu.address_space<global>>) {
  // expected-error @below {{expected elements of 8 bits, i16, f16, bf16 or padded f4E2M1FN, but got 'f32'}}
  %map = warpspec.encode_tensor_map %a sizes [8, 64] strides [256]
      : memref<8x64xi8, #gpu.address_space<global>> to !warpspec.tensor_map<8x4xf32>
  return
}

// -----

func.func @stride(%a: memref<8x64xi8, #gpu.address_space<global>>) {
  // expected-error @below {{expected strides of a multiple of 16 bytes, but got 24}}
  %map = warpspec.encode_tensor_map %a sizes [8, 24] strides [24]
      : memref<8x64xi8, #gpu.address_space<global>> to !warpspec.tensor_map<8x16xi8>
  return
}

// -----

func.func @host(%a: memref<8x64xi8>) {
  // expected-error @below {{operand #0 must be memref in memory of the device, #gpu.address_space<global>, but got 'memref<8x64xi8>'}}
  %map = "warpspec.encode_tensor_map"(%a) <{static_sizes = array<i64: 8, 64>, static_strides = array<i64: 64>, operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
      : (memref<8x64xi8>) -> !warpspec.tensor_map<8x64xi8>
  return
}

// -----

func.func @no_kernel(%n: index) {
  // expected-error @below {{expected a kernel, but there is no @kernels::@f}}
  warpspec.launch @kernels::@f tiles(%n)()
  return
}

// -----

gpu.module @kernels {
  warpspec.kernel @f(%n: i32) {
  }
}
func.func @count(%n: index) {
  // expected-error @below {{expected 1 parameters of @kernels::@f, but got 0}}
  warpspec.launch @kernels::@f tiles(%n)()
  return
}

// -----

gpu.module @kernels {
  warpspec.kernel @f(%n: i32) {
  }
}
func.func @parameter(%n: index, %x: f32) {
  // expected-error @below {{expected parameter 0 of @kernels::@f to be 'i32', but got 'f32'}}
  warpspec.launch @kernels::@f tiles(%n)(%x : f32)
  return
}

// -----

gpu.module @kernels {
  warpspec.kernel @f(%x: memref<?xf32, 1>) {
  }
}
func.func @width(%n: index, %x: memref<?xf16, #gpu.address_space<global>>) {
  // expected-error @below {{expected parameter 0 of @kernels::@f to be 'memref<?xf32, 1>', but got 'memref<?xf16, #gpu.address_space<global>>'}}
  warpspec.launch @kernels::@f tiles(%n)(%x : memref<?xf16, #gpu.address_space<global>>)
  return
}

// -----

gpu.module @kernels {
  warpspec.kernel @f(%n: i32) {
  }
}
func.func @host_parameter(%n: index, %x: memref<?xf32>) {
  // expected-error @below {{expected parameters in device memory, but got 'memref<?xf32>'}}
  warpspec.launch @kernels::@f tiles(%n)(%x : memref<?xf32>)
  return
}

// -----

gpu.module @kernels {
  warpspec.kernel @f(%n: i32) {
  }
}
func.func @written(%n: index) {
  // expected-error @below {{expected a parameter that is device memory where one is written, but got number 0}}
  warpspec.launch @kernels::@f tiles(%n)(writes %n : index)
  return
}

// -----

func.func @table(%t: memref<4x64xi8, #gpu.address_space<global>>, %n: index) {
  // expected-error @below {{expected a table memref<?x128xi8, #gpu.address_space<global>>, but got 'memref<4x64xi8, #gpu.address_space<global>>'}}
  warpspec.write_table %t rows(1) (%n : index) : memref<4x64xi8, #gpu.address_space<global>>
  return
}

// -----

func.func @ragged(%t: memref<4x128xi8, #gpu.address_space<global>>, %n: index) {
  // expected-error @below {{expected rows of equal length, but got 3 values in 2 rows}}
  warpspec.write_table %t rows(2) (%n, %n, %n : index, index, index) : memref<4x128xi8, #gpu.address_space<global>>
  return
}

// -----

func.func @value(%t: memref<4x128xi8, #gpu.address_space<global>>, %n: f32) {
  // expected-error @below {{expected indices, device memory and tensor maps, but got 'f32'}}
  warpspec.write_table %t rows(1) (%n : f32) : memref<4x128xi8, #gpu.address_space<global>>
  return
}

// -----

!p = memref<?xf32, #gpu.address_space<global>>
func.func @room(%t: memref<4x128xi8, #gpu.address_space<global>>, %p: !p) {
  // expected-error @below {{expected at most 128 bytes of numbers and addresses in a row, but got 136}}
  warpspec.write_table %t rows(1) (%p, %p, %p, %p, %p, %p, %p, %p, %p, %p, %p, %p, %p, %p, %p, %p, %p
      : !p, !p, !p, !p, !p, !p, !p, !p, !p, !p, !p, !p, !p, !p, !p, !p, !p) : memref<4x128xi8, #gpu.address_space<global>>
  return
}

// -----

func.func @types(%t: memref<4x128xi8, #gpu.address_space<global>>, %n: index, %p: memref<?xf32, #gpu.address_space<global>>) {
  // expected-error @below {{expected row 1 to have the types of the first, but got 'memref<?xf32, #gpu.address_space<global>>' for 'index'}}
  warpspec.write_table %t rows(2) (%n, %p : index, memref<?xf32, #gpu.address_space<global>>) : memref<4x128xi8, #gpu.address_space<global>>
  return
}

// -----

func.func @entries(%t: memref<1x128xi8, #gpu.address_space<global>>, %n: index) {
  // expected-error @below {{expected a table of at least 2 entries, but got 1}}
  warpspec.write_table %t rows(2) (%n, %n : index, index) : memref<1x128xi8, #gpu.address_space<global>>
  return
}

// -----

func.func @extents() {
  // expected-error @below {{expected 1 dynamic extents, but got 0}}
  %y = warpspec.result 0() : memref<?xf32, #gpu.address_space<global>>
  return
}

// -----

func.func @layout() {
  // expected-error @below {{expected rows that follow each other, but got 'memref<4x4xf32, strided<[8, 1]>, #gpu.address_space<global>>'}}
  %y = warpspec.result 0() : memref<4x4xf32, strided<[8, 1]>, #gpu.address_space<global>>
  return
}

// -----

func.func @box(%a: memref<8x64xi8, #gpu.address_space<global>>, %n: index) {
  %map = warpspec.encode_tensor_map %a sizes [8, 64] strides [64] box(%n)
      : memref<8x64xi8, #gpu.address_space<global>> to !warpspec.tensor_map<?x64xi8>
  // expected-error @below {{expected the 1 extents that the box leaves open, but got 0}}
  %other = warpspec.encode_tensor_map %a sizes [8, 64] strides [64]
      : memref<8x64xi8, #gpu.address_space<global>> to !warpspec.tensor_map<?x64xi8>
  return
}

// -----

func.func @nothing_to_check() {
  // expected-error @below {{expected at least one check}}
  %checks = warpspec.data_checks "f.mlir:1:2: op" []
  return
}

// -----

// expected-error @below {{expected 2 numbers of groups, but got 1}}
func.func private @numbers() attributes {check = #warpspec.data_check<groups, "", "", [0]>}

// -----

// expected-error @below {{expected 0 numbers of index, but got 2}}
func.func private @no_numbers() attributes {check = #warpspec.data_check<index, "a_c1", "a", [0, 8]>}

// -----

gpu.module @kernels {
  warpspec.kernel @product() {
    warpspec.roles
    role @work warps(4) {
      // expected-error @below {{expected to be on the host; pass its result to the kernel as a parameter}}
      %record = warpspec.data_record
    }
  }
}

// -----

gpu.module @kernels {
  warpspec.kernel @product() {
    warpspec.roles
    role @work warps(4) {
      // expected-error @below {{expected to be on the host; pass its result to the kernel as a parameter}}
      %checks = warpspec.data_checks "f.mlir:1:2: op" [#warpspec.data_check<index, "a_c1", "a">]
    }
  }
}
