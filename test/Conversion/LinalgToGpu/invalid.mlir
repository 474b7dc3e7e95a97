// RUN: nvfp4-opt %s --convert-linalg-to-gpu --split-input-file --verify-diagnostics

!x = memref<64xf32, #gpu.address_space<global>>
func.func @library(%x: !x) {
  linalg.map { math.cos } ins(%x : !x) outs(%x : !x)
  // expected-error @-1 {{'math.cos' op expected an operation that kernels have: operations of arith other than remf}}
  return
}
