// An unknown instruction set is one line, and no pass has run before it.
// RUN: not nvfp4-opt %s --convert-gsg-to-cpu=isa=avx9 2>&1 | FileCheck %s --implicit-check-not='{{.}}'
// RUN: not nvfp4-opt %s --gsg-to-cpu=isa=avx9 2>&1 | FileCheck %s --implicit-check-not='{{.}}'
// RUN: not nvfp4-opt %s --pass-pipeline='builtin.module(gsg-to-cpu{isa=avx9})' 2>&1 | FileCheck %s --implicit-check-not='{{.}}'
// CHECK: {{^}}<unknown>:0: error: expected isa to be auto, generic, avx2, avx512vnni, avx512bf16 or amx, but got 'avx9'{{$}}
func.func @f() {
  return
}
