// A result or a workspace that cannot be allocated is an error of the call.

// RUN: not nvfp4-run %s --entry=zeros --inputs=i64:-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: 'zeros': out of memory: no room for -1 times 64 bytes
// RUN: not nvfp4-run %s --entry=zeros --inputs=i64:35184372088832 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: 'zeros': out of memory: no room for 35184372088832 times 64 bytes
// RUN: not nvfp4-run %s --entry=zeros --inputs=i64:4611686018427387904 2>&1 | FileCheck %s --check-prefix=WRAPS
// WRAPS: 'zeros': out of memory: no room for 4611686018427387904 times 64 bytes
// RUN: not nvfp4-run %s --entry=zeros --inputs=i64:4611686018427387904 --device=sim --target=sm_90a 2>&1 | FileCheck %s --check-prefix=WRAPS
// RUN: not nvfp4-run %s --entry=zeros --inputs=i64:4611686018427387904 --device=sim --target=sm_100a 2>&1 | FileCheck %s --check-prefix=WRAPS
func.func @zeros(%n: i64) -> tensor<?x16xf32> {
  %rows = arith.index_cast %n : i64 to index
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty(%rows) : tensor<?x16xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %0 : tensor<?x16xf32>
}
