// RUN: not nvfp4-opt %s --convert-gsg-to-cpu=isa=avx9 2>&1 | FileCheck %s
// CHECK: error: expected isa to be auto, generic, avx2 or avx512vnni, but got 'avx9'
func.func @f() {
  return
}
