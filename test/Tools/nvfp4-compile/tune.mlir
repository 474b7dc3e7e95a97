// Strategies are measured on a device, kept in a file, and used from there: here
// on the simulator, whose times are those of this machine.
// REQUIRES: x86
// UNSUPPORTED: asan
// DEFINE: %{sim} = env NVFP4_DEVICE=sim NVFP4_SIM_OPTIONS="--arch sm_90a"
// RUN: rm -rf %t && mkdir %t
// RUN: %{sim} nvfp4-compile %s --target=sm_90a --tune=2 --strategies=%t/tiles --emit=ptx -o %t/tuned.ptx 2> %t/notes
// RUN: FileCheck %s --check-prefix=NOTES < %t/notes
// NOTES: tuned 'activated' on {{.*}}: <m = {{[0-9]+}}, n = {{[0-9]+}}, k = {{[0-9]+}}>, {{[0-9.]+}} us, the best of 2 for ragged_rows nvfp4 x nvfp4, 2 groups, n 128, k 128, 16 rows, 2.25 bits, paired
// NOTES: tuned 'plain' on {{.*}}, the best of 2 for ragged_rows nvfp4 x nvfp4, 2 groups, n 256, k 128, 16 rows, 16.00 bits
// NOTES-NOT: tuned
// RUN: FileCheck %s --check-prefix=FILE < %t/tiles
// FILE: # Strategies of products
// FILE-COUNT-2: (sm_90a) sm_90a ragged_rows nvfp4 x nvfp4, 2 groups

// What is known is not measured again; no device is needed to use it.
// RUN: %{sim} nvfp4-compile %s --target=sm_90a --tune --strategies=%t/tiles --emit=ptx -o %t/again.ptx 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN-NOT: tuned
// RUN: nvfp4-compile %s --target=sm_90a --strategies=%t/tiles --emit=ptx -o %t/used.ptx
// RUN: cmp %t/tuned.ptx %t/used.ptx

// The last line counts.
// RUN: printf 'H\tsm_90a\tragged_rows nvfp4 x nvfp4, 2 groups, n 256, k 128, 16 rows, 16.00 bits\t<m = 160, n = 128, k = 128>\t1\n' >> %t/tiles
// RUN: nvfp4-compile %s --target=sm_90a --strategies=%t/tiles --explain 2>&1 | FileCheck %s --check-prefix=LAST
// LAST: keeps its strategy <m = {{.*}}>, predicted {{[0-9.]+}} us; without it:
// RUN: nvfp4-compile %s --target=sm_90a --strategies=%t/tiles --emit=ptx | FileCheck %s --check-prefix=WIDE
// A map for each width up to 160.
// WIDE: nvfp4_gemm_1_param_19[128]
// WIDE-NOT: nvfp4_gemm_1_param_20[128]

// RUN: printf 'H\tsm_90a\tone\n' > %t/broken
// RUN: not nvfp4-compile %s --target=sm_90a --strategies=%t/broken 2>&1 | FileCheck %s --check-prefix=BROKEN
// BROKEN: error: {{.*}}broken:1: expected device, target, shapes, strategy and microseconds apart by tabs, but got 3 fields
// RUN: printf 'H\tsm_90a\tragged_rows nvfp4 x nvfp4, 2 groups, n 256, k 128, 16 rows, 16.00 bits\t<m = x>\t1\n' > %t/nonsense
// RUN: not nvfp4-compile %s --target=sm_90a --strategies=%t/nonsense 2>&1 | FileCheck %s --check-prefix=NONSENSE
// NONSENSE: expected a strategy of the shapes 'ragged_rows nvfp4 x nvfp4, 2 groups, n 256, k 128, 16 rows, 16.00 bits', but got '<m = x>'
// RUN: not nvfp4-compile %s --target=sm_90a --strategies=%t/missing 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: could not read '{{.*}}missing': No such file or directory
// RUN: not nvfp4-compile %s --target=sm_90a --tune 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: error: expected --strategies with a file for what --tune measures
// RUN: not nvfp4-compile %s --target=sm_90a --tune=0 --strategies=%t/tiles 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: expected a number of strategies from 1 on after --tune=, but got '0'
// RUN: not nvfp4-compile %s --strategies=%t/tiles 2>&1 | FileCheck %s --check-prefix=CPU
// CPU: error: expected --target=sm_90a, sm_100a, sm_103a or sm_100f for strategies, but got cpu
// RUN: not env NVFP4_DEVICE=cuda:77 nvfp4-compile %s --target=sm_90a --tune --strategies=%t/new 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: {{.+}}

!a = !grouped_scaled_gemm.scaled<?x128, nvfp4>
!b = !grouped_scaled_gemm.scaled<2x128x128, nvfp4>
!h = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!c = !grouped_scaled_gemm.scaled<2x256x128, nvfp4>
func.func @activated(%a: !a, %ends: tensor<2xi32>, %b: !b, %scale: tensor<1xf32>) -> !h {
  %c0 = arith.constant 0 : index
  %s = tensor.extract %scale[%c0] : tensor<1xf32>
  %h = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<2xi32>) lhs(%a : !a) rhs(%b : !b)
      activation = <swiglu, gate = <halves, gate_first>> quantizer = <trtllm> global_scale(%s : f32)
      {expected_rows = 12 : i64, math = #grouped_scaled_gemm<math fast>} -> !h
  return %h : !h
}
func.func @plain(%a: !a, %rows: index, %ends: tensor<2xi32>, %b: !c, %alpha: tensor<2xf32>) -> tensor<?x256xbf16> {
  %init = tensor.empty(%rows) : tensor<?x256xbf16>
  %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<2xi32>) lhs(%a : !a) rhs(%b : !c)
      alpha(%alpha : tensor<2xf32>) outs(%init : tensor<?x256xbf16>) {expected_rows = 9 : i64} -> tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
