// RUN: nvfp4-opt %s -split-input-file -verify-diagnostics

// Constraints of one_launch; each case names the one of docs/Spec.md that it breaks.

// launch_c1: operations that have a kernel together
func.func @launch_c1(%e: memref<?x4xi32>, %n: memref<32xi32>, %t: memref<?xi32>, %r: memref<?x4xi32>) {
  // expected-error @below {{expected route and sort_tokens; or route, sort_tokens and permute; or permute and quantize; or two quantize, but got sort_tokens}}
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.sort_tokens(%e : memref<?x4xi32>) outs(%n, %t, %r : memref<32xi32>, memref<?xi32>, memref<?x4xi32>)
  }
  return
}

// -----

// launch_c1: some
func.func @launch_c1_none() {
  // expected-error @below {{or two quantize, but got nothing}}
  grouped_scaled_gemm.one_launch {
  }
  return
}

// -----

// launch_c2: storage form
func.func @launch_c2(%l: tensor<8x32xf32>, %w: tensor<8x4xf32>, %e: tensor<8x4xi32>, %n: tensor<32xi32>, %t: tensor<32xi32>) {
  grouped_scaled_gemm.one_launch attributes {most_tokens = 8 : i64} {
    // expected-error @below {{expected memrefs in storage form as operands in a launch, but got 'tensor<8x32xf32>'}}
    %a, %b = grouped_scaled_gemm.route topk_softmax (%l : tensor<8x32xf32>) outs(%w, %e : tensor<8x4xf32>, tensor<8x4xi32>)
        -> tensor<8x4xf32>, tensor<8x4xi32>
    %s:3 = grouped_scaled_gemm.sort_tokens(%b : tensor<8x4xi32>) outs(%n, %t, %e : tensor<32xi32>, tensor<32xi32>, tensor<8x4xi32>)
        -> tensor<32xi32>, tensor<32xi32>, tensor<8x4xi32>
  }
  return
}

// -----

// launch_c3: a bound of tokens beside route
func.func @launch_c3(%l: memref<?x32xf32>, %w: memref<?x4xf32>, %e: memref<?x4xi32>, %n: memref<32xi32>, %t: memref<?xi32>,
                     %r: memref<?x4xi32>) {
  // expected-error @below {{expected most_tokens from 1 to 128 beside route, but got 129}}
  grouped_scaled_gemm.one_launch attributes {most_tokens = 129 : i64} {
    grouped_scaled_gemm.route topk_softmax (%l : memref<?x32xf32>) outs(%w, %e : memref<?x4xf32>, memref<?x4xi32>)
    grouped_scaled_gemm.sort_tokens(%e : memref<?x4xi32>) outs(%n, %t, %r : memref<32xi32>, memref<?xi32>, memref<?x4xi32>)
  }
  return
}

// -----

// launch_c3: and none without it
func.func @launch_c3_none(%x: memref<?x64xbf16>, %t: memref<?xi32>, %p: memref<?x64xbf16>, %q: memref<?x32xi8>, %s: memref<?x4xf8E4M3FN>) {
  // expected-error @below {{expected no most_tokens without route, but got 8}}
  grouped_scaled_gemm.one_launch attributes {most_tokens = 8 : i64} {
    grouped_scaled_gemm.permute(%x : memref<?x64xbf16>) by(%t : memref<?xi32>) outs(%p : memref<?x64xbf16>)
    grouped_scaled_gemm.quantize <trtllm>(%p : memref<?x64xbf16>)
        outs(%q scaled_by %s : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<?x64, nvfp4>)
  }
  return
}

// -----

// launch_c4: what one writes the next one reads
func.func @launch_c4(%l: memref<?x32xf32>, %w: memref<?x4xf32>, %e: memref<?x4xi32>, %f: memref<?x4xi32>, %n: memref<32xi32>,
                     %t: memref<?xi32>, %r: memref<?x4xi32>) {
  grouped_scaled_gemm.one_launch attributes {most_tokens = 8 : i64} {
    grouped_scaled_gemm.route topk_softmax (%l : memref<?x32xf32>) outs(%w, %e : memref<?x4xf32>, memref<?x4xi32>)
    // expected-error @below {{expected to read the experts that 'grouped_scaled_gemm.route' of the launch writes}}
    grouped_scaled_gemm.sort_tokens(%f : memref<?x4xi32>) outs(%n, %t, %r : memref<32xi32>, memref<?xi32>, memref<?x4xi32>)
  }
  return
}

// -----

// launch_c4: rows of permute
func.func @launch_c4_rows(%x: memref<?x64xbf16>, %t: memref<?xi32>, %p: memref<?x64xbf16>, %q: memref<?x32xi8>, %s: memref<?x4xf8E4M3FN>) {
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.permute(%x : memref<?x64xbf16>) by(%t : memref<?xi32>) outs(%p : memref<?x64xbf16>)
    // expected-error @below {{expected to read the rows that 'grouped_scaled_gemm.permute' of the launch writes}}
    grouped_scaled_gemm.quantize <trtllm>(%x : memref<?x64xbf16>)
        outs(%q scaled_by %s : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<?x64, nvfp4>)
  }
  return
}

// -----

// launch_c4: the order of permute
func.func @launch_c4_order(%l: memref<?x32xf32>, %w: memref<?x4xf32>, %e: memref<?x4xi32>, %n: memref<32xi32>, %t: memref<?xi32>,
                           %u: memref<?xi32>, %r: memref<?x4xi32>, %x: memref<?x64xbf16>, %p: memref<?x64xbf16>) {
  grouped_scaled_gemm.one_launch attributes {most_tokens = 8 : i64} {
    grouped_scaled_gemm.route topk_softmax (%l : memref<?x32xf32>) outs(%w, %e : memref<?x4xf32>, memref<?x4xi32>)
    grouped_scaled_gemm.sort_tokens(%e : memref<?x4xi32>) outs(%n, %t, %r : memref<32xi32>, memref<?xi32>, memref<?x4xi32>)
    // expected-error @below {{expected to read the tokens of rows that 'grouped_scaled_gemm.sort_tokens' of the launch writes}}
    grouped_scaled_gemm.permute(%x : memref<?x64xbf16>) by(%u : memref<?xi32>) outs(%p : memref<?x64xbf16>)
  }
  return
}

// -----

// launch_c5: quantised tokens of another format
func.func @launch_c5(%x: memref<?x64xbf16>, %t: memref<?xi32>, %p: memref<?x64xbf16>, %q: memref<?x32xi8>, %s: memref<?x4xf8E4M3FN>,
                     %a: memref<?x2xf8E8M0FNU>) {
  // expected-error @below {{expected quantized rows of the format and length of '!grouped_scaled_gemm.scaled<?x64, nvfp4>' with linear scales, but got !grouped_scaled_gemm.scaled<?x64, mxfp4>}}
  grouped_scaled_gemm.one_launch quantized(%q scaled_by %a : memref<?x32xi8>, memref<?x2xf8E8M0FNU> as !grouped_scaled_gemm.scaled<?x64, mxfp4>) {
    grouped_scaled_gemm.permute(%x : memref<?x64xbf16>) by(%t : memref<?xi32>) outs(%p : memref<?x64xbf16>)
    grouped_scaled_gemm.quantize <trtllm>(%p : memref<?x64xbf16>)
        outs(%q scaled_by %s : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<?x64, nvfp4>)
  }
  return
}

// -----

// launch_c5: quantised tokens where nothing is quantised
func.func @launch_c5_none(%l: memref<?x32xf32>, %w: memref<?x4xf32>, %e: memref<?x4xi32>, %n: memref<32xi32>, %t: memref<?xi32>,
                          %r: memref<?x4xi32>, %q: memref<?x32xi8>, %s: memref<?x4xf8E4M3FN>) {
  // expected-error @below {{expected no quantized without quantize}}
  grouped_scaled_gemm.one_launch quantized(%q scaled_by %s : memref<?x32xi8>, memref<?x4xf8E4M3FN> as !grouped_scaled_gemm.scaled<?x64, nvfp4>)
      attributes {most_tokens = 8 : i64} {
    grouped_scaled_gemm.route topk_softmax (%l : memref<?x32xf32>) outs(%w, %e : memref<?x4xf32>, memref<?x4xi32>)
    grouped_scaled_gemm.sort_tokens(%e : memref<?x4xi32>) outs(%n, %t, %r : memref<32xi32>, memref<?xi32>, memref<?x4xi32>)
  }
  return
}

// -----

!x = memref<64x32xbf16>
!a = !grouped_scaled_gemm.scaled<64x32, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// launch_c6: the rows, and then the transposed matrix
func.func @launch_c6(%x: !x, %q: memref<64x16xi8>, %s: memref<64x2xf8E4M3FN>) {
  // expected-error @below {{expected rows, and then the transposed matrix}}
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.quantize <te>(%x : !x) outs(%q scaled_by %s : memref<64x16xi8>, memref<64x2xf8E4M3FN> as !a)
    grouped_scaled_gemm.quantize <te>(%x : !x) outs(%q scaled_by %s : memref<64x16xi8>, memref<64x2xf8E4M3FN> as !a)
  }
  return
}

// -----

!x = memref<64x32xbf16>
!a = !grouped_scaled_gemm.scaled<64x32, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// launch_c6: one matrix
func.func @launch_c6_matrix(%x: !x, %y: !x, %q: memref<64x16xi8>, %s: memref<64x2xf8E4M3FN>, %r: memref<32x32xi8>,
                            %t: memref<32x4xf8E4M3FN>) {
  // expected-error @below {{expected both quantize to read one matrix}}
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.quantize <te>(%x : !x) outs(%q scaled_by %s : memref<64x16xi8>, memref<64x2xf8E4M3FN> as !a)
    grouped_scaled_gemm.quantize <te>(%y : !x) outs(%r scaled_by %t : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b) {transposed}
  }
  return
}

// -----

!x = memref<64x40xbf16>
!a = !grouped_scaled_gemm.scaled<64x40, nvfp4>
!b = !grouped_scaled_gemm.scaled<40x64, nvfp4>

// launch_c6: whole blocks of a row
func.func @launch_c6_columns(%x: !x, %q: memref<64x20xi8>, %s: memref<64x3xf8E4M3FN>, %r: memref<40x32xi8>,
                             %t: memref<40x4xf8E4M3FN>) {
  // expected-error @below {{expected rows of a known multiple of 16 columns, but got 40}}
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.quantize <te>(%x : !x) outs(%q scaled_by %s : memref<64x20xi8>, memref<64x3xf8E4M3FN> as !a)
    grouped_scaled_gemm.quantize <te>(%x : !x) outs(%r scaled_by %t : memref<40x32xi8>, memref<40x4xf8E4M3FN> as !b) {transposed}
  }
  return
}

// -----

!x = memref<64x32xbf16>
!a = !grouped_scaled_gemm.scaled<64x32, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, mxfp4>

// launch_c6: blocks of one size
func.func @launch_c6_blocks(%x: !x, %q: memref<64x16xi8>, %s: memref<64x2xf8E4M3FN>, %r: memref<32x32xi8>,
                            %t: memref<32x2xf8E8M0FNU>) {
  // expected-error @below {{expected blocks of one size, but got 16 and 32}}
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.quantize <te>(%x : !x) outs(%q scaled_by %s : memref<64x16xi8>, memref<64x2xf8E4M3FN> as !a)
    grouped_scaled_gemm.quantize <ocp>(%x : !x) outs(%r scaled_by %t : memref<32x32xi8>, memref<32x2xf8E8M0FNU> as !b) {transposed}
  }
  return
}

// -----

!x = memref<64x32xbf16>
!a = !grouped_scaled_gemm.scaled<64x32, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4>

// launch_c6: no squares
func.func @launch_c6_squares(%x: !x, %q: memref<64x16xi8>, %s: memref<64x2xf8E4M3FN>, %r: memref<32x32xi8>,
                             %t: memref<32x4xf8E4M3FN>) {
  // expected-error @below {{expected blocks of one line, but got squares (two_d)}}
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.quantize <te, two_d>(%x : !x) outs(%q scaled_by %s : memref<64x16xi8>, memref<64x2xf8E4M3FN> as !a)
    grouped_scaled_gemm.quantize <te>(%x : !x) outs(%r scaled_by %t : memref<32x32xi8>, memref<32x4xf8E4M3FN> as !b) {transposed}
  }
  return
}

// -----

!x = memref<64x32xbf16>
!a = !grouped_scaled_gemm.scaled<64x32, nvfp4>
!b = !grouped_scaled_gemm.scaled<32x64, nvfp4, starts = compact>

// launch_c6: no byte of two groups
func.func @launch_c6_bytes(%x: !x, %n: memref<2xi32>, %q: memref<64x16xi8>, %s: memref<64x2xf8E4M3FN>, %r: memref<32x32xi8>,
                           %t: memref<32x6xf8E4M3FN>) {
  // expected-error @below {{expected groups that begin at even rows, since a byte has two values}}
  grouped_scaled_gemm.one_launch {
    grouped_scaled_gemm.quantize <te>(%x : !x) outs(%q scaled_by %s : memref<64x16xi8>, memref<64x2xf8E4M3FN> as !a)
    grouped_scaled_gemm.quantize <te>(%x : !x) groups(%n : memref<2xi32>) as <ragged_k, ends>
        outs(%r scaled_by %t : memref<32x32xi8>, memref<32x6xf8E4M3FN> as !b) {transposed}
  }
  return
}
