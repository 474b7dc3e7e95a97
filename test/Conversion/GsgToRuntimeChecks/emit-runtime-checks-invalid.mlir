// RUN: nvfp4-opt %s --gsg-emit-runtime-checks --verify-diagnostics

func.func @tensors(%x: tensor<?x32xf32>, %y: tensor<?x32xf32>) -> tensor<?x32xf32> {
  // expected-error @+1 {{expected memrefs in storage form; run gsg-decompose-scaled and one-shot-bufferize first}}
  %0 = grouped_scaled_gemm.hadamard %x outs(%y)
      : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
