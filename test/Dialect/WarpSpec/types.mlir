// Types and memory spaces round-trip; defaults are not printed.
// RUN: warpspec-opt %s --verify-roundtrip | FileCheck %s

// CHECK: !pipeline = !warpspec.pipeline<4 x (memref<128x128xi8, #warpspec.smem<128>>, memref<4x512xi8, #warpspec.smem>), tma to tensor_core>
// CHECK: !pipeline1 = !warpspec.pipeline<2 x (), threads to threads>
// CHECK-LABEL: func private @pipelines(!pipeline, !pipeline1)
func.func private @pipelines(
    !warpspec.pipeline<4 x (memref<128x128xi8, #warpspec.smem<128>>, memref<4x512xi8, #warpspec.smem>), tma to tensor_core>,
    !warpspec.pipeline<2 x (), threads to threads>)

// CHECK-LABEL: func private @tokens(!warpspec.fill, !warpspec.drain)
func.func private @tokens(!warpspec.fill, !warpspec.drain)

// CHECK-LABEL: func private @maps(
// CHECK-SAME: !warpspec.tensor_map<128x128xi8, swizzle = 128>, !warpspec.tensor_map<1x4x256xi16>, !warpspec.tensor_map<64x128xf4E2M1FN, swizzle = 128>
func.func private @maps(!warpspec.tensor_map<128x128xi8, swizzle = 128>,
                        !warpspec.tensor_map<1x4x256xi16, swizzle = 0>,
                        !warpspec.tensor_map<64x128xf4E2M1FN, swizzle = 128>)
