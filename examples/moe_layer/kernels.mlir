// What the layer does beside its two products, as kernels: with these nothing
// of it is left to the host. A memref is seven or five words of a parameter
// list: its pointer twice, an offset, its extents, its strides.
//
// Every kernel waits for the one before it, so it may be launched before that
// has ended (programmatic dependent launches).

gpu.module @layer_kernels {
  // Scores: a warp has four experts of one token; blocks of four warps, one a
  // token.
  gpu.func @router(%x: memref<?x1024xbf16>, %w: memref<16x1024xf32>, %logits: memref<?x16xf32>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    nvvm.griddepcontrol wait
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %w32 = arith.constant 32 : i32
    %zeros = arith.constant dense<0.0> : vector<8xf32>
    %token = gpu.block_id x
    %thread = gpu.thread_id x
    %lane = arith.remui %thread, %c32 : index
    %warp = arith.divui %thread, %c32 : index
    %first = arith.muli %warp, %c4 : index
    scf.for %i = %c0 to %c4 step %c1 {
      %e = arith.addi %first, %i : index
      %sums = scf.for %j = %c0 to %c4 step %c1 iter_args(%acc = %zeros) -> (vector<8xf32>) {
        %piece = arith.muli %j, %c32 : index
        %own = arith.addi %piece, %lane : index
        %k = arith.muli %own, %c8 : index
        %a = vector.load %x[%token, %k] {alignment = 16 : i64} : memref<?x1024xbf16>, vector<8xbf16>
        %b = vector.load %w[%e, %k] {alignment = 16 : i64} : memref<16x1024xf32>, vector<8xf32>
        %f = arith.extf %a : vector<8xbf16> to vector<8xf32>
        %next = llvm.intr.fma(%f, %b, %acc) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
        scf.yield %next : vector<8xf32>
      }
      %s0 = vector.reduction <add>, %sums : vector<8xf32> into f32
      %d16 = arith.constant 16 : i32
      %d8 = arith.constant 8 : i32
      %d4 = arith.constant 4 : i32
      %d2 = arith.constant 2 : i32
      %d1 = arith.constant 1 : i32
      %o16, %p16 = gpu.shuffle xor %s0, %d16, %w32 : f32
      %s1 = arith.addf %s0, %o16 : f32
      %o8, %p8 = gpu.shuffle xor %s1, %d8, %w32 : f32
      %s2 = arith.addf %s1, %o8 : f32
      %o4, %p4 = gpu.shuffle xor %s2, %d4, %w32 : f32
      %s3 = arith.addf %s2, %o4 : f32
      %o2, %p2 = gpu.shuffle xor %s3, %d2, %w32 : f32
      %s4 = arith.addf %s3, %o2 : f32
      %o1, %p1 = gpu.shuffle xor %s4, %d1, %w32 : f32
      %s5 = arith.addf %s4, %o1 : f32
      %isFirst = arith.cmpi eq, %lane, %c0 : index
      scf.if %isFirst {
        memref.store %s5, %logits[%token, %e] : memref<?x16xf32>
      }
    }
    gpu.return
  }

  // The four best experts of a token and the softmax of their scores: a thread
  // a token. Of equal scores the lower expert comes first.
  gpu.func @route(%logits: memref<?x16xf32>, %weights: memref<?x4xf32>, %experts: memref<?x4xi32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    nvvm.griddepcontrol wait
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %none = arith.constant -1 : i32
    %c0i = arith.constant 0 : i32
    %infinity = arith.constant 0x7F800000 : f32
    %zero = arith.constant 0.0 : f32
    %log2e = arith.constant 1.44269504 : f32
    %block = gpu.block_id x
    %thread = gpu.thread_id x
    %begin = arith.muli %block, %c64 : index
    %token = arith.addi %begin, %thread : index
    %tokens = memref.dim %logits, %c0 : memref<?x16xf32>
    %isToken = arith.cmpi ult, %token, %tokens : index
    scf.if %isToken {
      %all:4 = scf.for %s = %c0 to %c4 step %c1 iter_args(%last = %infinity, %lastExpert = %none, %most = %zero, %sum = %zero)
          -> (f32, i32, f32, f32) {
        %best:2 = scf.for %e = %c0 to %c16 step %c1 iter_args(%score = %zero, %expert = %none) -> (f32, i32) {
          %v = memref.load %logits[%token, %e] : memref<?x16xf32>
          %e32 = arith.index_cast %e : index to i32
          %less = arith.cmpf olt, %v, %last : f32
          %same = arith.cmpf oeq, %v, %last : f32
          %later = arith.cmpi sgt, %e32, %lastExpert : i32
          %tied = arith.andi %same, %later : i1
          %isLeft = arith.ori %less, %tied : i1
          %larger = arith.cmpf ogt, %v, %score : f32
          %isFirst = arith.cmpi slt, %expert, %c0i : i32
          %wins = arith.ori %larger, %isFirst : i1
          %taken = arith.andi %isLeft, %wins : i1
          %nextScore = arith.select %taken, %v, %score : f32
          %nextExpert = arith.select %taken, %e32, %expert : i32
          scf.yield %nextScore, %nextExpert : f32, i32
        }
        %isTop = arith.cmpi eq, %s, %c0 : index
        %top = arith.select %isTop, %best#0, %most : f32
        %distance = arith.subf %best#0, %top : f32
        %exponent = arith.mulf %distance, %log2e : f32
        %power = llvm.call_intrinsic "llvm.nvvm.ex2.approx"(%exponent) : (f32) -> f32
        %total = arith.addf %sum, %power : f32
        memref.store %best#1, %experts[%token, %s] : memref<?x4xi32>
        memref.store %power, %weights[%token, %s] : memref<?x4xf32>
        scf.yield %best#0, %best#1, %top, %total : f32, i32, f32, f32
      }
      scf.for %s = %c0 to %c4 step %c1 {
        %power = memref.load %weights[%token, %s] : memref<?x4xf32>
        %weight = arith.divf %power, %all#3 : f32
        memref.store %weight, %weights[%token, %s] : memref<?x4xf32>
      }
    }
    gpu.return
  }

  // A stable counting sort by one block: a thread counts and places the slots
  // of its own piece of the tokens, in order.
  gpu.func @sort(%experts: memref<?x4xi32>, %ends: memref<16xi32>, %tokenOfRow: memref<?xi32>, %rowOfSlot: memref<?x4xi32>)
      workgroup(%counts: memref<8192xi32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64},
                %totals: memref<512xi32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}) kernel
      attributes {known_block_size = array<i32: 512, 1, 1>} {
    nvvm.griddepcontrol wait
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c9 = arith.constant 9 : index
    %c15 = arith.constant 15 : index
    %c16 = arith.constant 16 : index
    %c511 = arith.constant 511 : index
    %c512 = arith.constant 512 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %thread = gpu.thread_id x
    %tokens = memref.dim %experts, %c0 : memref<?x4xi32>
    %padded = arith.addi %tokens, %c511 : index
    %piece = arith.divui %padded, %c512 : index
    %begin = arith.muli %thread, %piece : index
    %behind = arith.addi %begin, %piece : index
    %end = arith.minui %behind, %tokens : index
    scf.for %e = %c0 to %c16 step %c1 {
      %row = arith.muli %e, %c512 : index
      %at = arith.addi %row, %thread : index
      memref.store %zero, %counts[%at] : memref<8192xi32, #gpu.address_space<workgroup>>
    }
    scf.for %t = %begin to %end step %c1 {
      %four = vector.load %experts[%t, %c0] {alignment = 16 : i64} : memref<?x4xi32>, vector<4xi32>
      scf.for %s = %c0 to %c4 step %c1 {
        %expert = vector.extract %four[%s] : i32 from vector<4xi32>
        %e = arith.index_cast %expert : i32 to index
        %row = arith.muli %e, %c512 : index
        %at = arith.addi %row, %thread : index
        %count = memref.load %counts[%at] : memref<8192xi32, #gpu.address_space<workgroup>>
        %next = arith.addi %count, %one : i32
        memref.store %next, %counts[%at] : memref<8192xi32, #gpu.address_space<workgroup>>
      }
    }
    gpu.barrier
    // Counts to what is before them: first of 16 a thread, then of threads.
    %own = arith.muli %thread, %c16 : index
    %mine = scf.for %j = %c0 to %c16 step %c1 iter_args(%sum = %zero) -> (i32) {
      %at = arith.addi %own, %j : index
      %count = memref.load %counts[%at] : memref<8192xi32, #gpu.address_space<workgroup>>
      %next = arith.addi %sum, %count : i32
      scf.yield %next : i32
    }
    memref.store %mine, %totals[%thread] : memref<512xi32, #gpu.address_space<workgroup>>
    gpu.barrier
    scf.for %step = %c0 to %c9 step %c1 {
      %distance = arith.shli %c1, %step : index
      %has = arith.cmpi uge, %thread, %distance : index
      %before = scf.if %has -> (i32) {
        %from = arith.subi %thread, %distance : index
        %value = memref.load %totals[%from] : memref<512xi32, #gpu.address_space<workgroup>>
        scf.yield %value : i32
      } else {
        scf.yield %zero : i32
      }
      gpu.barrier
      %now = memref.load %totals[%thread] : memref<512xi32, #gpu.address_space<workgroup>>
      %sum = arith.addi %now, %before : i32
      memref.store %sum, %totals[%thread] : memref<512xi32, #gpu.address_space<workgroup>>
      gpu.barrier
    }
    %through = memref.load %totals[%thread] : memref<512xi32, #gpu.address_space<workgroup>>
    %start = arith.subi %through, %mine : i32
    %rest = scf.for %j = %c0 to %c16 step %c1 iter_args(%sum = %start) -> (i32) {
      %at = arith.addi %own, %j : index
      %count = memref.load %counts[%at] : memref<8192xi32, #gpu.address_space<workgroup>>
      memref.store %sum, %counts[%at] : memref<8192xi32, #gpu.address_space<workgroup>>
      %next = arith.addi %sum, %count : i32
      scf.yield %next : i32
    }
    gpu.barrier
    // An expert ends where the next one begins.
    %isExpert = arith.cmpi ult, %thread, %c16 : index
    scf.if %isExpert {
      %isLast = arith.cmpi eq, %thread, %c15 : index
      %where = scf.if %isLast -> (i32) {
        %pairs = arith.muli %tokens, %c4 : index
        %all = arith.index_cast %pairs : index to i32
        scf.yield %all : i32
      } else {
        %next = arith.addi %thread, %c1 : index
        %at = arith.muli %next, %c512 : index
        %value = memref.load %counts[%at] : memref<8192xi32, #gpu.address_space<workgroup>>
        scf.yield %value : i32
      }
      memref.store %where, %ends[%thread] : memref<16xi32>
    }
    gpu.barrier
    scf.for %t = %begin to %end step %c1 {
      %t32 = arith.index_cast %t : index to i32
      %four = vector.load %experts[%t, %c0] {alignment = 16 : i64} : memref<?x4xi32>, vector<4xi32>
      scf.for %s = %c0 to %c4 step %c1 {
        %expert = vector.extract %four[%s] : i32 from vector<4xi32>
        %e = arith.index_cast %expert : i32 to index
        %row = arith.muli %e, %c512 : index
        %at = arith.addi %row, %thread : index
        %place = memref.load %counts[%at] : memref<8192xi32, #gpu.address_space<workgroup>>
        %next = arith.addi %place, %one : i32
        memref.store %next, %counts[%at] : memref<8192xi32, #gpu.address_space<workgroup>>
        %r = arith.index_cast %place : i32 to index
        memref.store %t32, %tokenOfRow[%r] : memref<?xi32>
        memref.store %place, %rowOfSlot[%t, %s] : memref<?x4xi32>
      }
    }
    gpu.return
  }

  // Rows of experts: the quantiser <trtllm> for each block of 16 of the row's
  // token, a thread a block. What the product multiplies, elements times
  // scales, is exact in bf16 and written beside them.
  gpu.func @quantize(%x: memref<?x1024xbf16>, %tokenOfRow: memref<?xi32>, %encode: f32, %values: memref<?x512xi8>,
                     %scales: memref<?x64xi8>, %rows: memref<?x1024xbf16>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    nvvm.griddepcontrol wait
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %sixth = arith.constant 0x3E2AAAAB : f32
    %largest = arith.constant 448.0 : f32
    %smallest = arith.constant 0.015625 : f32
    %blockId = gpu.block_id x
    %thread = gpu.thread_id x
    %firstOfBlock = arith.muli %blockId, %c128 : index
    %number = arith.addi %firstOfBlock, %thread : index
    %row = arith.divui %number, %c64 : index
    %b = arith.remui %number, %c64 : index
    %count = memref.dim %tokenOfRow, %c0 : memref<?xi32>
    %isRow = arith.cmpi ult, %row, %count : index
    scf.if %isRow {
      %token32 = memref.load %tokenOfRow[%row] : memref<?xi32>
      %token = arith.index_cast %token32 : i32 to index
      %column = arith.muli %b, %c16 : index
      %v = vector.load %x[%token, %column] {alignment = 32 : i64} : memref<?x1024xbf16>, vector<16xbf16>
      %f = arith.extf %v : vector<16xbf16> to vector<16xf32>
      %unsigned = arith.constant dense<0x7FFFFFFF> : vector<16xi32>
      %fBits = arith.bitcast %f : vector<16xf32> to vector<16xi32>
      %aBits = arith.andi %fBits, %unsigned : vector<16xi32>
      %a = arith.bitcast %aBits : vector<16xi32> to vector<16xf32>
      %amax = vector.reduction <maxnumf>, %a : vector<16xf32> into f32

      // E4M3, nearest even, saturating: below 2^-6 in steps of 2^-9.
      %sixthOf = arith.mulf %amax, %sixth : f32
      %wanted = arith.mulf %encode, %sixthOf : f32
      %isLarge = arith.cmpf ogt, %wanted, %largest : f32
      %capped = arith.select %isLarge, %largest, %wanted : f32
      %steps = arith.constant 512.0 : f32
      %magic = arith.constant 8388608.0 : f32
      %step = arith.constant 0.001953125 : f32
      %scaled = arith.mulf %capped, %steps : f32
      %shifted = arith.addf %scaled, %magic : f32
      %stepsBits = arith.bitcast %shifted : f32 to i32
      %low = arith.constant 255 : i32
      %lowCode = arith.andi %stepsBits, %low : i32
      %wholeSteps = arith.subf %shifted, %magic : f32
      %lowScale = arith.mulf %wholeSteps, %step : f32
      %bits = arith.bitcast %capped : f32 to i32
      %n20 = arith.constant 20 : i32
      %bit = arith.constant 1 : i32
      %half = arith.constant 0x7FFFF : i32
      %mask = arith.constant 0xFFF00000 : i32
      %bias = arith.constant 960 : i32
      %cut = arith.shrui %bits, %n20 : i32
      %odd = arith.andi %cut, %bit : i32
      %up0 = arith.addi %bits, %half : i32
      %up = arith.addi %up0, %odd : i32
      %highBits = arith.andi %up, %mask : i32
      %highScale = arith.bitcast %highBits : i32 to f32
      %high = arith.shrui %up, %n20 : i32
      %highCode = arith.subi %high, %bias : i32
      %isLow = arith.cmpf olt, %capped, %smallest : f32
      %scale = arith.select %isLow, %lowScale, %highScale : f32
      %code32 = arith.select %isLow, %lowCode, %highCode : i32
      %code = arith.trunci %code32 : i32 to i8
      memref.store %code, %scales[%row, %b] : memref<?x64xi8>

      %decode = arith.divf %one, %encode : f32
      %size = arith.mulf %scale, %decode : f32
      %inverse = arith.divf %one, %size : f32
      %isZero = arith.cmpf oeq, %scale, %zero : f32
      %factor = arith.select %isZero, %zero, %inverse : f32
      %factors = vector.broadcast %factor : f32 to vector<16xf32>
      %q = arith.mulf %f, %factors : vector<16xf32>
      %qBits = arith.bitcast %q : vector<16xf32> to vector<16xi32>
      %mBits = arith.andi %qBits, %unsigned : vector<16xi32>
      %m = arith.bitcast %mBits : vector<16xi32> to vector<16xf32>

      // E2M1 counts the limits below; a tie goes to the even code.
      %l1 = arith.constant dense<0.25> : vector<16xf32>
      %l2 = arith.constant dense<0.75> : vector<16xf32>
      %l3 = arith.constant dense<1.25> : vector<16xf32>
      %l4 = arith.constant dense<1.75> : vector<16xf32>
      %l5 = arith.constant dense<2.5> : vector<16xf32>
      %l6 = arith.constant dense<3.5> : vector<16xf32>
      %l7 = arith.constant dense<5.0> : vector<16xf32>
      %b1 = arith.cmpf ogt, %m, %l1 : vector<16xf32>
      %b2 = arith.cmpf oge, %m, %l2 : vector<16xf32>
      %b3 = arith.cmpf ogt, %m, %l3 : vector<16xf32>
      %b4 = arith.cmpf oge, %m, %l4 : vector<16xf32>
      %b5 = arith.cmpf ogt, %m, %l5 : vector<16xf32>
      %b6 = arith.cmpf oge, %m, %l6 : vector<16xf32>
      %b7 = arith.cmpf ogt, %m, %l7 : vector<16xf32>
      %k1 = arith.extui %b1 : vector<16xi1> to vector<16xi32>
      %k2 = arith.extui %b2 : vector<16xi1> to vector<16xi32>
      %k3 = arith.extui %b3 : vector<16xi1> to vector<16xi32>
      %k4 = arith.extui %b4 : vector<16xi1> to vector<16xi32>
      %k5 = arith.extui %b5 : vector<16xi1> to vector<16xi32>
      %k6 = arith.extui %b6 : vector<16xi1> to vector<16xi32>
      %k7 = arith.extui %b7 : vector<16xi1> to vector<16xi32>
      %t1 = arith.addi %k1, %k2 : vector<16xi32>
      %t2 = arith.addi %k3, %k4 : vector<16xi32>
      %t3 = arith.addi %k5, %k6 : vector<16xi32>
      %t4 = arith.addi %t1, %t2 : vector<16xi32>
      %t5 = arith.addi %t3, %k7 : vector<16xi32>
      %magnitude = arith.addi %t4, %t5 : vector<16xi32>
      %n31 = arith.constant dense<31> : vector<16xi32>
      %n3 = arith.constant dense<3> : vector<16xi32>
      %sign = arith.shrui %qBits, %n31 : vector<16xi32>
      %signBit = arith.shli %sign, %n3 : vector<16xi32>
      %codes = arith.ori %magnitude, %signBit : vector<16xi32>
      %evens, %odds = vector.deinterleave %codes : vector<16xi32> -> vector<8xi32>
      %n4 = arith.constant dense<4> : vector<8xi32>
      %upper = arith.shli %odds, %n4 : vector<8xi32>
      %pairs = arith.ori %evens, %upper : vector<8xi32>
      %packed = arith.trunci %pairs : vector<8xi32> to vector<8xi8>
      %byte = arith.muli %b, %c8 : index
      vector.store %packed, %values[%row, %byte] {alignment = 8 : i64} : memref<?x512xi8>, vector<8xi8>

      // Twice the magnitude is a whole number.
      %n2 = arith.constant dense<2> : vector<16xi32>
      %more = arith.addi %t3, %k7 : vector<16xi32>
      %most = arith.addi %more, %k7 : vector<16xi32>
      %doubled = arith.muli %most, %n2 : vector<16xi32>
      %twice = arith.addi %t4, %doubled : vector<16xi32>
      %twiceF = arith.sitofp %twice : vector<16xi32> to vector<16xf32>
      %halfScale = arith.constant 0.5 : f32
      %unit = arith.mulf %scale, %halfScale : f32
      %units = vector.broadcast %unit : f32 to vector<16xf32>
      %product = arith.mulf %twiceF, %units : vector<16xf32>
      %productBits = arith.bitcast %product : vector<16xf32> to vector<16xi32>
      %signOf = arith.shli %sign, %n31 : vector<16xi32>
      %signedBits = arith.ori %productBits, %signOf : vector<16xi32>
      %signed = arith.bitcast %signedBits : vector<16xi32> to vector<16xf32>
      %exact = arith.truncf %signed : vector<16xf32> to vector<16xbf16>
      vector.store %exact, %rows[%row, %column] {alignment = 32 : i64} : memref<?x1024xbf16>, vector<16xbf16>
    }
    gpu.return
  }

  // Rows of bf16 from elements and scales, for the second product: a thread a
  // block of 16.
  gpu.func @decode(%values: memref<?x384xi8>, %scales: memref<?x48xi8>, %rows: memref<?x768xbf16>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    nvvm.griddepcontrol wait
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c48 = arith.constant 48 : index
    %c128 = arith.constant 128 : index
    %blockId = gpu.block_id x
    %thread = gpu.thread_id x
    %firstOfBlock = arith.muli %blockId, %c128 : index
    %number = arith.addi %firstOfBlock, %thread : index
    %row = arith.divui %number, %c48 : index
    %b = arith.remui %number, %c48 : index
    %count = memref.dim %values, %c0 : memref<?x384xi8>
    %isRow = arith.cmpi ult, %row, %count : index
    scf.if %isRow {
      // E4M3: what has no exponent counts steps of 2^-9.
      %code8 = memref.load %scales[%row, %b] : memref<?x48xi8>
      %code = arith.extui %code8 : i8 to i32
      %eight = arith.constant 8 : i32
      %bias = arith.constant 960 : i32
      %n20 = arith.constant 20 : i32
      %step = arith.constant 0.001953125 : f32
      %count32 = arith.sitofp %code : i32 to f32
      %lowScale = arith.mulf %count32, %step : f32
      %biased = arith.addi %code, %bias : i32
      %highBits = arith.shli %biased, %n20 : i32
      %highScale = arith.bitcast %highBits : i32 to f32
      %isLow = arith.cmpi ult, %code, %eight : i32
      %scale = arith.select %isLow, %lowScale, %highScale : f32
      %halfOf = arith.constant 0.5 : f32
      %unit = arith.mulf %scale, %halfOf : f32
      %units = vector.broadcast %unit : f32 to vector<16xf32>

      %byte = arith.muli %b, %c8 : index
      %bytes = vector.load %values[%row, %byte] {alignment = 8 : i64} : memref<?x384xi8>, vector<8xi8>
      %wide = arith.extui %bytes : vector<8xi8> to vector<8xi32>
      %fifteen = arith.constant dense<15> : vector<8xi32>
      %four = arith.constant dense<4> : vector<8xi32>
      %evens = arith.andi %wide, %fifteen : vector<8xi32>
      %odds = arith.shrui %wide, %four : vector<8xi32>
      %codes = vector.interleave %evens, %odds : vector<8xi32> -> vector<16xi32>

      // Twice the magnitude: 0, 1, 2, 3, 4, 6, 8, 12.
      %n0 = arith.constant dense<0> : vector<16xi32>
      %n3 = arith.constant dense<3> : vector<16xi32>
      %n4 = arith.constant dense<4> : vector<16xi32>
      %n6 = arith.constant dense<6> : vector<16xi32>
      %n7 = arith.constant dense<7> : vector<16xi32>
      %n31 = arith.constant dense<31> : vector<16xi32>
      %m = arith.andi %codes, %n7 : vector<16xi32>
      %over4 = arith.subi %m, %n4 : vector<16xi32>
      %add4 = arith.maxsi %over4, %n0 : vector<16xi32>
      %over6 = arith.subi %m, %n6 : vector<16xi32>
      %add6 = arith.maxsi %over6, %n0 : vector<16xi32>
      %sum4 = arith.addi %m, %add4 : vector<16xi32>
      %sum6 = arith.addi %add6, %add6 : vector<16xi32>
      %twice = arith.addi %sum4, %sum6 : vector<16xi32>
      %twiceF = arith.sitofp %twice : vector<16xi32> to vector<16xf32>
      %product = arith.mulf %twiceF, %units : vector<16xf32>
      %productBits = arith.bitcast %product : vector<16xf32> to vector<16xi32>
      %sign = arith.shrui %codes, %n3 : vector<16xi32>
      %signOf = arith.shli %sign, %n31 : vector<16xi32>
      %signedBits = arith.ori %productBits, %signOf : vector<16xi32>
      %signed = arith.bitcast %signedBits : vector<16xi32> to vector<16xf32>
      %exact = arith.truncf %signed : vector<16xf32> to vector<16xbf16>
      %column = arith.muli %b, %c16 : index
      vector.store %exact, %rows[%row, %column] {alignment = 32 : i64} : memref<?x768xbf16>, vector<16xbf16>
    }
    gpu.return
  }

  // Rows times weights, summed slot by slot: a block a token.
  gpu.func @combine(%y: memref<?x1024xbf16>, %rowOfSlot: memref<?x4xi32>, %weights: memref<?x4xf32>,
                    %out: memref<?x1024xbf16>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    nvvm.griddepcontrol wait
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %zeros = arith.constant dense<0.0> : vector<8xf32>
    %token = gpu.block_id x
    %thread = gpu.thread_id x
    %column = arith.muli %thread, %c8 : index
    %sums = scf.for %s = %c0 to %c4 step %c1 iter_args(%acc = %zeros) -> (vector<8xf32>) {
      %row32 = memref.load %rowOfSlot[%token, %s] : memref<?x4xi32>
      %row = arith.index_cast %row32 : i32 to index
      %v = vector.load %y[%row, %column] {alignment = 16 : i64} : memref<?x1024xbf16>, vector<8xbf16>
      %f = arith.extf %v : vector<8xbf16> to vector<8xf32>
      %weight = memref.load %weights[%token, %s] : memref<?x4xf32>
      %weightV = vector.broadcast %weight : f32 to vector<8xf32>
      %next = llvm.intr.fma(%weightV, %f, %acc) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      scf.yield %next : vector<8xf32>
    }
    %b = arith.truncf %sums : vector<8xf32> to vector<8xbf16>
    vector.store %b, %out[%token, %column] {alignment = 16 : i64} : memref<?x1024xbf16>, vector<8xbf16>
    gpu.return
  }
}
