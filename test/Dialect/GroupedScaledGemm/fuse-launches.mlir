// Launches of several operations, by predicted times and by what memory allows.
//
// RUN: nvfp4-opt %s --gsg-fuse-launches -split-input-file | FileCheck %s
// RUN: nvfp4-opt %s --gsg-fuse-launches=explain -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN

!l = memref<?x32xf32>
!w = memref<?x4xf32>
!e = memref<?x4xi32>
!n = memref<32xi32>
!t = memref<?xi32>
!x = memref<?x2880xbf16>

// The host chooses when it runs.
// CHECK-LABEL: func.func @all(
// CHECK: %[[LIMIT:.*]] = arith.constant 71 : index
// CHECK: %[[TOKENS:.*]] = memref.dim %arg0
// CHECK: %[[FEW:.*]] = arith.cmpi ule, %[[TOKENS]], %[[LIMIT]]
// CHECK: scf.if %[[FEW]] {
// CHECK-NEXT: one_launch attributes {most_tokens = 71 : i64} {
// CHECK-NEXT: route
// CHECK-NEXT: sort_tokens
// CHECK-NEXT: permute
// CHECK: } else {
// CHECK-NEXT: route
// CHECK-NEXT: sort_tokens
// CHECK-NEXT: permute
// EXPLAIN: remark: launches beside products, in us by the model for 1, 64 and 1024 tokens:
// EXPLAIN-NEXT: route, sort_tokens and permute (one launch up to 71 tokens): 3.9, 6.8, 17.9
func.func @all(%l: !l, %x: !x, %tokens: index, %rows: index) -> !x {
  %w = memref.alloc(%tokens) : !w
  %e = memref.alloc(%tokens) : !e
  // EXPLAIN: remark: route, sort_tokens and permute: one launch up to 71 tokens, beyond which it is predicted to be slower; 1 token(s): 3.9 us instead of 6.3 us
  grouped_scaled_gemm.route topk_softmax (%l : !l) outs(%w, %e : !w, !e)
  %n = memref.alloc() : !n
  %t = memref.alloc(%rows) : !t
  %r = memref.alloc(%tokens) : !e
  grouped_scaled_gemm.sort_tokens(%e : !e) outs(%n, %t, %r : !n, !t, !e)
  %p = memref.alloc(%rows) : !x
  grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !x)
  return %p : !x
}

// -----

// So many experts are sorted faster by a kernel of their own.
// CHECK-LABEL: func.func @many_experts(
// CHECK-NOT: one_launch
// CHECK: return
func.func @many_experts(%l: memref<?x512xf32>, %tokens: index, %rows: index) {
  %w = memref.alloc(%tokens) : memref<?x8xf32>
  %e = memref.alloc(%tokens) : memref<?x8xi32>
  // EXPLAIN: remark: route and sort_tokens: separate launches; 1 token(s): 10.2 us instead of 7.9 us; without permute: no permute of its block reads the order
  grouped_scaled_gemm.route topk_softmax (%l : memref<?x512xf32>) outs(%w, %e : memref<?x8xf32>, memref<?x8xi32>)
  %n = memref.alloc() : memref<512xi32>
  %t = memref.alloc(%rows) : memref<?xi32>
  %r = memref.alloc(%tokens) : memref<?x8xi32>
  grouped_scaled_gemm.sort_tokens(%e : memref<?x8xi32>) outs(%n, %t, %r : memref<512xi32>, memref<?xi32>, memref<?x8xi32>)
  return
}

// -----

// A known number of tokens needs no branch, and more than that no launch.
// CHECK-LABEL: func.func @known(
// CHECK-NOT: scf.if
// CHECK: one_launch attributes {most_tokens = 16 : i64}
// CHECK: return
func.func @known(%l: memref<16x32xf32>) {
  %w = memref.alloc() : memref<16x4xf32>
  %e = memref.alloc() : memref<16x4xi32>
  // EXPLAIN: remark: route and sort_tokens: {{.*}}; 16 token(s): 4.0 us instead of 4.9 us
  grouped_scaled_gemm.route topk_softmax (%l : memref<16x32xf32>) outs(%w, %e : memref<16x4xf32>, memref<16x4xi32>)
  %n = memref.alloc() : memref<32xi32>
  %t = memref.alloc() : memref<64xi32>
  %r = memref.alloc() : memref<16x4xi32>
  grouped_scaled_gemm.sort_tokens(%e : memref<16x4xi32>) outs(%n, %t, %r : memref<32xi32>, memref<64xi32>, memref<16x4xi32>)
  return
}

// -----

// CHECK-LABEL: func.func @known_many(
// CHECK-NOT: one_launch
// CHECK: return
func.func @known_many(%l: memref<256x32xf32>) {
  %w = memref.alloc() : memref<256x4xf32>
  %e = memref.alloc() : memref<256x4xi32>
  // EXPLAIN: remark: route and sort_tokens: one launch up to 39 tokens, beyond which it is predicted to be slower; 256 token(s)
  grouped_scaled_gemm.route topk_softmax (%l : memref<256x32xf32>) outs(%w, %e : memref<256x4xf32>, memref<256x4xi32>)
  %n = memref.alloc() : memref<32xi32>
  %t = memref.alloc() : memref<1024xi32>
  %r = memref.alloc() : memref<256x4xi32>
  grouped_scaled_gemm.sort_tokens(%e : memref<256x4xi32>) outs(%n, %t, %r : memref<32xi32>, memref<1024xi32>, memref<256x4xi32>)
  return
}

// -----

!l = memref<?x32xf32>
!w = memref<?x4xf32>
!e = memref<?x4xi32>
!n = memref<32xi32>
!t = memref<?xi32>
!x = memref<?x64xbf16>

// Something else happens before the rows move.
// CHECK-LABEL: func.func @barrier(
// CHECK: one_launch
// CHECK-NEXT: route
// CHECK-NEXT: sort_tokens
// CHECK-NEXT: }
// CHECK: memref.copy
// CHECK-NEXT: memref.alloc
// CHECK-NEXT: permute
// EXPLAIN: remark: launches beside products, in us by the model for 1, 64 and 1024 tokens:
// EXPLAIN-NEXT: route and sort_tokens (one launch up to 39 tokens): 3.7, 5.1, 7.8
// EXPLAIN-NEXT: permute: 1.9, 1.9, 2.1
func.func @barrier(%l: !l, %x: !x, %y: !x, %tokens: index, %rows: index) {
  %w = memref.alloc(%tokens) : !w
  %e = memref.alloc(%tokens) : !e
  // EXPLAIN: remark: route and sort_tokens: {{.*}}; without permute: 'memref.copy' stands before permute
  grouped_scaled_gemm.route topk_softmax (%l : !l) outs(%w, %e : !w, !e)
  %n = memref.alloc() : !n
  %t = memref.alloc(%rows) : !t
  %r = memref.alloc(%tokens) : !e
  grouped_scaled_gemm.sort_tokens(%e : !e) outs(%n, %t, %r : !n, !t, !e)
  memref.copy %y, %x : !x to !x
  %p = memref.alloc(%rows) : !x
  grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !x)
  return
}

// -----

!l = memref<?x32xf32>
!w = memref<?x4xf32>
!e = memref<?x4xi32>
!n = memref<32xi32>
!t = memref<?xi32>

// The caller may have put the order where the logits are.
// CHECK-LABEL: func.func @shared_memory(
// CHECK-NOT: one_launch
// CHECK: return
// EXPLAIN: remark: launches beside products
// EXPLAIN-NEXT: route: 2.1, 2.1, 2.4
// EXPLAIN-NEXT: sort_tokens: 3.2, 3.5, 5.8
func.func @shared_memory(%l: !l, %t: !t, %tokens: index) {
  %w = memref.alloc(%tokens) : !w
  %e = memref.alloc(%tokens) : !e
  // EXPLAIN: remark: a launch of its own: memory of sort_tokens may be that of another operation
  grouped_scaled_gemm.route topk_softmax (%l : !l) outs(%w, %e : !w, !e)
  %n = memref.alloc() : !n
  %r = memref.alloc(%tokens) : !e
  grouped_scaled_gemm.sort_tokens(%e : !e) outs(%n, %t, %r : !n, !t, !e)
  return
}

// -----

// CHECK-LABEL: func.func @alone(
// CHECK-NOT: one_launch
// CHECK: return
func.func @alone(%l: memref<?x32xf32>, %w: memref<?x4xf32>, %e: memref<?x4xi32>) {
  // EXPLAIN: remark: a launch of its own: no sort_tokens of its block reads its experts
  grouped_scaled_gemm.route topk_softmax (%l : memref<?x32xf32>) outs(%w, %e : memref<?x4xf32>, memref<?x4xi32>)
  return
}

// -----

!x = memref<?x1024xbf16>
!t = memref<?xi32>
!q = memref<?x512xi8>
!s = memref<?x64xf8E4M3FN>
!scaled = !grouped_scaled_gemm.scaled<?x1024, nvfp4>

// With many more rows than tokens each token is quantised once.
// CHECK-LABEL: func.func @quantized(
// CHECK: %[[TOKENS:.*]] = memref.dim %arg0
// CHECK: %[[MORE:.*]] = arith.addi %[[TOKENS]], %c1860
// CHECK: %[[ROWS:.*]] = memref.dim %arg1
// CHECK: %[[MANY:.*]] = arith.cmpi ugt, %[[ROWS]], %[[MORE]]
// CHECK: scf.if %[[MANY]] {
// CHECK: %[[CODES:.*]] = memref.alloc({{.*}}) : memref<?x512xi8>
// CHECK: %[[SCALES:.*]] = memref.alloc({{.*}}) : memref<?x64xf8E4M3FN>
// CHECK: quantize <trtllm>(%arg0 : memref<?x1024xbf16>) outs(%[[CODES]] scaled_by %[[SCALES]] :
// CHECK-NEXT: one_launch quantized(%[[CODES]] scaled_by %[[SCALES]] :
// CHECK-NEXT: permute
// CHECK-NEXT: quantize
// CHECK-NEXT: }
// CHECK-NEXT: memref.dealloc %[[CODES]]
// CHECK-NEXT: memref.dealloc %[[SCALES]]
// CHECK-NEXT: } else {
// CHECK-NEXT: one_launch {
// CHECK-NEXT: permute
// CHECK-NEXT: quantize
// EXPLAIN: remark: launches beside products
// EXPLAIN-NEXT: permute and quantize (each token once from 620 tokens on): 1.9, 2.3, 6.9
func.func @quantized(%x: !x, %t: !t, %rows: index) -> (!q, !s) {
  %p = memref.alloc(%rows) : !x
  %q = memref.alloc(%rows) : !q
  %s = memref.alloc(%rows) : !s
  grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !x)
  // EXPLAIN: remark: permute and quantize: one launch, 1.9 us instead of 3.8 us for 1 token(s) of 4 rows; from 620 tokens on each is quantised once, 16.1 us instead of 27.3 us for 4096
  grouped_scaled_gemm.quantize <trtllm>(%p : !x) outs(%q scaled_by %s : !q, !s as !scaled)
  memref.dealloc %p : !x
  return %q, %s : !q, !s
}

// A scale of each group: the bytes of a row are not those of its token.
// CHECK-LABEL: func.func @by_groups(
// CHECK-NOT: scf.if
// CHECK: one_launch {
// CHECK: return
func.func @by_groups(%x: !x, %t: !t, %rows: index, %n: memref<4xi32>, %g: memref<4xf32>) -> (!q, !s) {
  %p = memref.alloc(%rows) : !x
  %q = memref.alloc(%rows) : !q
  %s = memref.alloc(%rows) : !s
  grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !x)
  // EXPLAIN: remark: permute and quantize: one launch, {{.*}}; the bytes of a row depend on more than its token
  grouped_scaled_gemm.quantize <trtllm>(%p : !x) groups(%n : memref<4xi32>) as <ragged_rows, ends>
      global_scale(%g : memref<4xf32>) outs(%q scaled_by %s : !q, !s as !scaled)
  memref.dealloc %p : !x
  return %q, %s : !q, !s
}

// A scale of each row, as well.
// CHECK-LABEL: func.func @by_rows(
// CHECK-NOT: scf.if
// CHECK: one_launch {
// CHECK: return
func.func @by_rows(%x: !x, %t: !t, %rows: index, %g: memref<?xf32>) -> (!q, !s) {
  %p = memref.alloc(%rows) : !x
  %q = memref.alloc(%rows) : !q
  %s = memref.alloc(%rows) : !s
  grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !x)
  // EXPLAIN: remark: permute and quantize: one launch, {{.*}}; the bytes of a row depend on more than its token
  grouped_scaled_gemm.quantize <trtllm>(%p : !x) global_scale(%g : memref<?xf32>)
      outs(%q scaled_by %s : !q, !s as !scaled) {per_row}
  memref.dealloc %p : !x
  return %q, %s : !q, !s
}

// CHECK-LABEL: func.func @read_again(
// CHECK-NOT: one_launch
// CHECK: return
func.func @read_again(%x: !x, %t: !t, %rows: index, %y: !x) -> (!q, !s) {
  %p = memref.alloc(%rows) : !x
  %q = memref.alloc(%rows) : !q
  %s = memref.alloc(%rows) : !s
  grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !x)
  // EXPLAIN: remark: a launch of its own after that of permute: 'memref.copy' has the memory of its rows, too
  grouped_scaled_gemm.quantize <trtllm>(%p : !x) outs(%q scaled_by %s : !q, !s as !scaled)
  memref.copy %p, %y : !x to !x
  memref.dealloc %p : !x
  return %q, %s : !q, !s
}

// -----

!x = memref<?x1024xbf16>
!t = memref<?xi32>
!q = memref<?x512xi8>
!s = memref<?x64xf8E4M3FN>
!scaled = !grouped_scaled_gemm.scaled<?x1024, nvfp4>

// The rows of an earlier permute, and extents that only the launch knows.
// CHECK-LABEL: func.func @rows_of_before(
// CHECK-NOT: one_launch
// CHECK: return
// EXPLAIN: remark: launches beside products
// EXPLAIN-NEXT: quantize: 1.9, 2.0, 3.5
// EXPLAIN-NEXT: permute: 1.9, 2.1, 5.0
// EXPLAIN-NEXT: combine: 2.3, 2.4, 3.5
func.func @rows_of_before(%x: !x, %t: !t, %rows: index, %slots: index, %y: !x, %o: !x) -> (!q, !s) {
  %p = memref.alloc(%rows) : !x
  %q = memref.alloc(%rows) : !q
  %s = memref.alloc(%rows) : !s
  %r = memref.alloc(%rows, %slots) : memref<?x?xi32>
  %w = memref.alloc(%rows, %slots) : memref<?x?xf32>
  // EXPLAIN: remark: a launch of its own after that of permute: quantize stands before permute
  grouped_scaled_gemm.quantize <trtllm>(%p : !x) outs(%q scaled_by %s : !q, !s as !scaled)
  grouped_scaled_gemm.permute(%x : !x) by(%t : !t) outs(%p : !x)
  grouped_scaled_gemm.combine(%y : !x) by(%r : memref<?x?xi32>) weights(%w : memref<?x?xf32>) outs(%o : !x)
  memref.dealloc %p : !x
  return %q, %s : !q, !s
}

// -----

!x = memref<?x1024xbf16>
!q = memref<?x512xi8>
!s = memref<?x64xf8E4M3FN>
!r = memref<1024x?xi8>
!t = memref<1024x?xf8E4M3FN>
!rows = !grouped_scaled_gemm.scaled<?x1024, nvfp4>
!columns = !grouped_scaled_gemm.scaled<1024x?, nvfp4>

// One read of a matrix, where the later of the two stands.
// CHECK-LABEL: func.func @both_directions(
// CHECK: linalg.fill
// CHECK-NEXT: one_launch {
// CHECK-NEXT: quantize <te>({{.*}}memref<?x512xi8>
// CHECK-NEXT: quantize <te>({{.*}}memref<1024x?xi8>{{.*}} {transposed}
// CHECK-NEXT: }
// CHECK-NEXT: return
// EXPLAIN: remark: launches beside products
// EXPLAIN-NEXT: quantize of rows and columns: 1.9, 2.1, 5.1
func.func @both_directions(%x: !x, %half: index, %blocks: index, %rows: index, %zero: i8) -> (!q, !s, !r, !t) {
  %q = memref.alloc(%rows) : !q
  %s = memref.alloc(%rows) : !s
  grouped_scaled_gemm.quantize <te>(%x : !x) outs(%q scaled_by %s : !q, !s as !rows)
  %r = memref.alloc(%half) : !r
  %t = memref.alloc(%blocks) : !t
  linalg.fill ins(%zero : i8) outs(%r : !r)
  // EXPLAIN: remark: quantize of rows and columns: one launch, 14.6 us instead of 16.5 us for 4096 rows
  grouped_scaled_gemm.quantize <te>(%x : !x) outs(%r scaled_by %t : !r, !t as !columns) {transposed}
  return %q, %s, %r, %t : !q, !s, !r, !t
}

// A copy needs the rows before the transposed matrix is quantised.
// CHECK-LABEL: func.func @read_between(
// CHECK-NOT: one_launch
// CHECK: return
func.func @read_between(%x: !x, %y: !q, %half: index, %blocks: index, %rows: index) -> (!r, !t) {
  %q = memref.alloc(%rows) : !q
  %s = memref.alloc(%rows) : !s
  %r = memref.alloc(%half) : !r
  %t = memref.alloc(%blocks) : !t
  grouped_scaled_gemm.quantize <te>(%x : !x) outs(%q scaled_by %s : !q, !s as !rows)
  memref.copy %q, %y : !q to !q
  // EXPLAIN: remark: a launch of its own after that of rows: 'memref.copy' stands before quantize
  grouped_scaled_gemm.quantize <te>(%x : !x) outs(%r scaled_by %t : !r, !t as !columns) {transposed}
  return %r, %t : !r, !t
}

// CHECK-LABEL: func.func @squares(
// CHECK-NOT: one_launch
// CHECK: return
func.func @squares(%x: !x, %half: index, %blocks: index, %rows: index) -> (!r, !t, !q, !s) {
  %q = memref.alloc(%rows) : !q
  %s = memref.alloc(%rows) : !s
  %r = memref.alloc(%half) : !r
  %t = memref.alloc(%blocks) : !t
  // EXPLAIN: remark: a launch of its own after that of rows: expected blocks of one line, but got squares (two_d)
  grouped_scaled_gemm.quantize <te, two_d>(%x : !x) outs(%r scaled_by %t : !r, !t as !columns) {transposed}
  grouped_scaled_gemm.quantize <te, two_d>(%x : !x) outs(%q scaled_by %s : !q, !s as !rows)
  return %r, %t, %q, %s : !r, !t, !q, !s
}
