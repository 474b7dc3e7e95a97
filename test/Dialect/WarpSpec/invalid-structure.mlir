// Kernels, roles, pipelines and hand-over that are refused.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{expected parameters that are tensor maps, i1, i8, i16, i32, i64, f16, bf16, f32, f64 or contiguous memrefs in global memory (1) of which at most the first size is dynamic, but got 'memref<?x?xf32, 1>'}}
warpspec.kernel @k(%p: memref<?x?xf32, 1>) {
}

// -----

// expected-error @below {{expected an even cluster for pairs, but got 1}}
warpspec.kernel @k() {
} pair

// -----

warpspec.kernel @k() {
  warpspec.roles
  role @a warps(1) {
  }
  // expected-error @below {{expected one roles operation in a kernel}}
  warpspec.roles
  role @a warps(1) {
  }
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected at least one role}}
  warpspec.roles
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected distinct names, but got role @a twice}}
  warpspec.roles
  role @a warps(1) {
  }
  role @a warps(1) {
  }
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected at least one warp for role @a, but got 0}}
  warpspec.roles
  role @a warps(0) {
  }
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected a multiple of 8 in [24, 256] as registers of role @a, but got 45; the nearest is 48}}
  warpspec.roles
  role @a warps(1) registers(45) {
  }
}

// -----

// Values of one role do not exist in another.
warpspec.kernel @k() {
  warpspec.roles
  role @a warps(1) {
    %x = arith.constant 1 : i32
  }
  role @b warps(1) {
    // expected-error @below {{use of undeclared SSA value name}}
    %y = arith.addi %x, %x : i32
  }
}

// -----

func.func @f() {
  // expected-error @below {{expected to be inside a role}}
  %i = warpspec.thread_index : i32
  return
}

// -----

// expected-error @below {{expected a depth of at least 1, but got 0}}
func.func private @f(!warpspec.pipeline<0 x (), threads to threads>)

// -----

// expected-error @below {{expected a pair of agents with a protocol, but got tma to tma}}
func.func private @f(!warpspec.pipeline<1 x (), tma to tma>)

// -----

// expected-error @below {{expected buffers in #warpspec.smem or #warpspec.tmem, but got 'memref<4xi8>'}}
func.func private @f(!warpspec.pipeline<1 x (memref<4xi8>), tma to threads>)

// -----

// expected-error @below {{expected tensor memory between tensor_core and threads, but got tma to tensor_core}}
func.func private @f(!warpspec.pipeline<1 x (memref<128x4xi32, #warpspec.tmem>), tma to tensor_core>)

// -----

warpspec.kernel @k() {
  %a = warpspec.smem_alloc : memref<4x128xi8, #warpspec.smem>
  %b = warpspec.smem_alloc : memref<3x128xi8, #warpspec.smem>
  // expected-error @below {{expected buffers of 4 slots in their leading dimension, but got 'memref<3x128xi8, #warpspec.smem>'}}
  %p = warpspec.pipeline(%a, %b) tma to threads : memref<4x128xi8, #warpspec.smem>, memref<3x128xi8, #warpspec.smem>
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected buffers with a leading dimension, or a depth of at least 1}}
  %p = warpspec.pipeline() threads to threads
}

// -----

!p = !warpspec.pipeline<1 x (), threads to threads>
warpspec.kernel @k() {
  %p = warpspec.pipeline() depth 1 threads to threads
  warpspec.roles
  role @a warps(1) {
    // expected-note @below {{prior use here}}
    %fill = warpspec.acquire %p : !p
    // expected-error @below {{use of value '%fill' expects different type than prior uses: '!warpspec.drain' vs '!warpspec.fill'}}
    warpspec.release %fill
  }
}

// -----

!p = !warpspec.pipeline<1 x (), threads to threads>
func.func @f(%p: !p) {
  // expected-error @below {{expected a pipeline of the kernel, not one that is passed on}}
  %fill = warpspec.acquire %p : !p
  return
}

// -----

func.func @f(%fill: !warpspec.fill) {
  // expected-error @below {{expected a token that acquire made}}
  warpspec.commit %fill
  return
}

// -----

func.func @f(%drain: !warpspec.drain) {
  // expected-error @below {{expected a token that wait made}}
  warpspec.release %drain
  return
}

// -----

// expected-error @below {{of which at most the first size is dynamic, but got 'f8E4M3FN'}}
warpspec.kernel @k(%x: f8E4M3FN) {
}

// -----

// expected-error @below {{of which at most the first size is dynamic, but got 'i7'}}
warpspec.kernel @k(%x: i7) {
}

// -----

// expected-error @below {{expected a cluster of 1 to 16 blocks, but got 32; the nearest is 16}}
warpspec.kernel @k() {
} cluster(32)

// -----

warpspec.kernel @k() {
  %b = warpspec.smem_alloc : memref<2x4x64xi16, #warpspec.smem<128>>
  // expected-error @below {{expected slots of a multiple of 1024 bytes, the alignment of 'memref<2x4x64xi16, #warpspec.smem<128>>', but got 512; the nearest is 1024}}
  %p = warpspec.pipeline(%b) tma to threads : memref<2x4x64xi16, #warpspec.smem<128>>
}

// -----

warpspec.kernel @k() {
  %b = warpspec.smem_alloc : memref<2x336xi8, #warpspec.smem>
  // expected-error @below {{expected slots of a multiple of 128 bytes, the alignment of 'memref<2x336xi8, #warpspec.smem>', but got 336; the nearest is 384}}
  %p = warpspec.pipeline(%b) threads to tma : memref<2x336xi8, #warpspec.smem>
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected barriers at a multiple of 8, at least 0, but got 4; the next is 8}}
  %p = warpspec.pipeline() depth 1 threads to threads barriers(4)
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected barriers at a multiple of 8, at least 0, but got -8; the next is 0}}
  %p = warpspec.pipeline() depth 1 threads to threads barriers(-8)
}

// -----

// A hand-over beside the roles: whose stage it would be nobody knows.
!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @k() {
  %p = warpspec.pipeline() depth 2 threads to threads
  // expected-error @below {{expected to be inside a role, but got an operation of the kernel beside its roles}}
  %f = warpspec.acquire %p : !p
  warpspec.commit %f
  warpspec.roles
  role @a warps(1) {
    %d = warpspec.wait %p : !p
    warpspec.release %d
  }
}

// -----

!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @k() {
  %p = warpspec.pipeline() depth 2 threads to threads
  // expected-error @below {{expected to be inside a role, or, after warpspec-lower-roles, to have a stage and a phase}}
  %now = warpspec.try_wait %p : !p
} threads(32)

// -----

!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @k() {
  %p = warpspec.pipeline() depth 2 threads to threads
  // expected-error @below {{expected to be inside a role, or, after warpspec-lower-roles, to have a stage and a phase}}
  warpspec.drain_all %p : !p
} threads(32)

// -----

// Columns of two buffers: they may lie anywhere.
warpspec.kernel @k(%c: i32) {
  %a = warpspec.tmem_alloc : memref<128x64xf32, #warpspec.tmem>
  %b = warpspec.tmem_alloc : memref<128x64xf32, #warpspec.tmem>
  %j = warpspec.tmem_join %a, %b : memref<128x64xf32, #warpspec.tmem>, memref<128x64xf32, #warpspec.tmem> to memref<128x128xf32, #warpspec.tmem>
  %s = warpspec.tmem_slice %j[%c] : memref<128x128xf32, #warpspec.tmem> to memref<2x128x32xf32, #warpspec.tmem>
  // expected-error @below {{expected slices of one tmem_alloc, but got those of warpspec.tmem_join; cover its parts instead}}
  %p = warpspec.pipeline(%s) tensor_core to threads : memref<2x128x32xf32, #warpspec.tmem>
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected a depth of at most 14528, whose barriers fill shared memory, but got 1152921504606846976}}
  %p = warpspec.pipeline() depth 1152921504606846976 threads to threads
}

// -----

warpspec.kernel @k() {
  %a = warpspec.tmem_alloc : memref<128x64xf32, #warpspec.tmem>
  %b = warpspec.tmem_alloc : memref<128x64xf32, #warpspec.tmem>
  %j = warpspec.tmem_join %a, %b : memref<128x64xf32, #warpspec.tmem>, memref<128x64xf32, #warpspec.tmem> to memref<128x128xf32, #warpspec.tmem>
  // expected-error @below {{expected buffers of smem_alloc, tmem_alloc or tmem_slice, but got one of warpspec.tmem_join}}
  %p = warpspec.pipeline(%j) tensor_core to threads : memref<128x128xf32, #warpspec.tmem>
}

// -----

// Its lanes are no slots.
warpspec.kernel @k() {
  %a = warpspec.tmem_alloc : memref<128x64xf32, #warpspec.tmem>
  // expected-error @below {{expected a static shape of 128 lanes by columns, with elements of 32 bits, but got 'memref<64xf32, #warpspec.tmem>'}}
  %p = warpspec.pipeline(%a) tensor_core to threads : memref<128x64xf32, #warpspec.tmem>
}

// -----

!p = !warpspec.pipeline<2 x (), threads to threads>
warpspec.kernel @k(%stage: i32) {
  %p = warpspec.pipeline() depth 2 threads to threads
  // expected-error @below {{expected stage and phase together, but got only the stage}}
  %now = "warpspec.try_wait"(%p, %stage) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!p, i32) -> i1
}

// -----

warpspec.kernel @k() {
  // expected-error @below {{expected one name, number of warps and number of registers for each of the 1 roles}}
  "warpspec.roles"() <{names = ["a", "b"], warps = array<i32: 1>, registers = array<i32: 0>}> ({
    "warpspec.end"() : () -> ()
  }) : () -> ()
}
