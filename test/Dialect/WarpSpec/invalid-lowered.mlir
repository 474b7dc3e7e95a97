// What passes write, in the wrong place or with the wrong numbers.
// RUN: warpspec-opt %s -split-input-file -verify-diagnostics

func.func @f() {
  // expected-error @below {{expected a power of two in [32, 512] as columns, but got 48}}
  warpspec.reserve_tmem columns(48) to(0)
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected an offset that is a multiple of 8, and a depth and a count of at least 1}}
  warpspec.init_barriers at(4) depth(1) count(1)
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected to be inside a role}}
  warpspec.role_barrier
  return
}

// -----

func.func @f() {
  // expected-error @below {{expected to be inside a kernel, whose agents it orders}}
  warpspec.fence <proxy_async>
  return
}

// -----

func.func @f(%v: vector<32xf16>) {
  // expected-error @below {{expected vectors of 32-bit elements, as tmem_load gives, but got 'vector<32xf16>'}}
  %w = warpspec.tmem_wait %v : vector<32xf16>
  return
}

// -----

// expected-error @below {{expects parent op 'gpu.module'}}
warpspec.kernel_info @k shared_bytes(0)

// -----

gpu.module @m {
  // expected-error @below {{expected the name of a function of the module, but got @absent}}
  warpspec.kernel_info @absent shared_bytes(0)
}

// -----

gpu.module @m {
  // expected-error @below {{expected at most 232448 bytes of shared memory, but got 232449}}
  warpspec.kernel_info @k shared_bytes(232449)
  llvm.func @k() {
    llvm.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{expected one of a kernel, but got two of @k}}
  warpspec.kernel_info @k shared_bytes(0)
  warpspec.kernel_info @k shared_bytes(0) cooperative
  llvm.func @k() {
    llvm.return
  }
}
