// Each kind of output, and what cannot be written.
// RUN: nvfp4-compile %s --emit=mlir | FileCheck %s --check-prefix=MLIR
// RUN: nvfp4-compile %s --emit=llvm | FileCheck %s --check-prefix=LLVM
// RUN: nvfp4-compile %s --emit=asm --isa=generic | FileCheck %s --check-prefix=ASM
// RUN: rm -rf %t && mkdir %t
// RUN: nvfp4-compile %s --emit=obj -o %t/f.o && llvm-nm %t/f.o | FileCheck %s --check-prefix=OBJ
// RUN: nvfp4-compile %s -o %t/f.so && llvm-nm -D %t/f.so | FileCheck %s --check-prefix=OBJ
// RUN: llvm-readelf -d %t/f.so | FileCheck %s --check-prefix=NEEDED --implicit-check-not=MLIR --implicit-check-not=LLVM

// MLIR: llvm.func @nvfp4_entry_f
// LLVM: @nvfp4_metadata = {{.*}}constant
// LLVM: define void @nvfp4_entry_f(ptr
// ASM: nvfp4_entry_f:
// OBJ-DAG: nvfp4_entry_f
// OBJ-DAG: nvfp4_metadata
// NEEDED: NEEDED

// RUN: not nvfp4-compile %s --emit=obj -o - 2>&1 | FileCheck %s --check-prefix=BINARY
// BINARY: error: expected a file for binary output: -o FILE
// RUN: not nvfp4-compile %s --emit=exe 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: expected --emit=mlir, llvm, asm, obj, so, ptx or cubin, but got 'exe'
// RUN: not nvfp4-compile %s --emit=ptx 2>&1 | FileCheck %s --check-prefix=PTXCPU
// PTXCPU: error: expected --target=sm_90a, sm_100a, sm_103a or sm_100f for --emit=ptx, but got cpu
// RUN: not nvfp4-compile %s --emit=ptx --target=sm_100a 2>&1 | FileCheck %s --check-prefix=NOKERNEL
// NOKERNEL: error: expected a product to compile for sm_100a, but there is none
// RUN: not nvfp4-compile %s --target=sm_75 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: expected target cpu, sm_90a, sm_100a, sm_103a or sm_100f, but got 'sm_75'
// RUN: not nvfp4-compile %s -o %t/no/such/f.so 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: could not write '{{.*}}/no/such/f.so': there is no folder '{{.*}}/no/such'
// RUN: not env NVFP4_LINKER=no-such-linker nvfp4-compile %s -o %t/g.so 2>&1 | FileCheck %s --check-prefix=LINKER
// LINKER: error: no linker 'no-such-linker', which NVFP4_LINKER names
// RUN: not nvfp4-compile %s -o %t 2>&1 | FileCheck %s --check-prefix=ISFOLDER
// ISFOLDER: error: could not write '{{.*}}': it is a folder
// RUN: not nvfp4-compile %s --emit=llvm -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not nvfp4-compile %s --emit=obj -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// RUN: not nvfp4-compile %s --emit=mlir -o /dev/full 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: {{^}}error: /dev/full: cannot write the file: No space left on device
// RUN: not nvfp4-compile %s --isa=avx9 2>&1 | FileCheck %s --check-prefix=ISA
// ISA: {{^}}error: expected --isa of generic, avx2, avx512vnni, avx512bf16 or amx, of several of them, native or all, but got 'avx9'
// RUN: not nvfp4-compile %s -O9 2>&1 | FileCheck %s --check-prefix=LEVEL
// LEVEL: error: expected -O0 to -O3, but got -O9
// RUN: nvfp4-compile %s -o %t/h.so | FileCheck %s --check-prefix=WROTE
// WROTE: {{^}}wrote {{.*}}/h.so{{$}}
// RUN: echo 'module {}' > %t/empty.mlir
// RUN: not nvfp4-compile %t/empty.mlir -o %t/empty.so 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: expected a public function with a body to compile, but '{{.*}}empty.mlir' has none
// RUN: test ! -e %t/empty.so
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.addf %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}
