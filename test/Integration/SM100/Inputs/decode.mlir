// Every code with every scale: thread t has scale t, and decodes all runs of codes
// with it. CODE, TYPE, BYTES, WORDS and RUNS are put in by the test.
gpu.module @kernels [#nvvm.target<chip = "sm_100a", features = "+ptx88", O = 3>] {
  warpspec.kernel @decode(%codes: memref<?xi8, 1>, %scales: memref<?xi8, 1>,
                          %out: memref<?xi32, 1>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %runs = arith.constant RUNS : index
    %bytes = arith.constant BYTES : index
    %words = arith.constant WORDS : index
    warpspec.roles
    role @decode warps(8) {
      %thread = warpspec.thread_index : i32
      %t = arith.index_cast %thread : i32 to index
      %scale = vector.load %scales[%t] : memref<?xi8, 1>, vector<1xi8>
      %first = arith.muli %t, %runs : index
      scf.for %i = %zero to %runs step %one {
        %from = arith.muli %i, %bytes : index
        %run = vector.load %codes[%from] : memref<?xi8, 1>, vector<BYTESxi8>
        %decoded = warpspec.decode_codes %run scaled_by %scale of CODE to TYPE
            : vector<BYTESxi8>, vector<1xi8> -> vector<WORDSxi32>
        %number = arith.addi %first, %i : index
        %to = arith.muli %number, %words : index
        vector.store %decoded, %out[%to] : memref<?xi32, 1>, vector<WORDSxi32>
      }
    }
  }
}
