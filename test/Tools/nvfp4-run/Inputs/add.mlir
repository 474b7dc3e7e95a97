func.func @add(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>, %s: f32)
    -> (tensor<?x8xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %d = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%d) : tensor<?x8xf32>
  %r = scf.for %i = %c0 to %d step %c1 iter_args(%o = %e) -> tensor<?x8xf32> {
    %q = scf.for %j = %c0 to %c8 step %c1 iter_args(%p = %o) -> tensor<?x8xf32> {
      %a = tensor.extract %x[%i, %j] : tensor<?x8xf32>
      %b = tensor.extract %y[%i, %j] : tensor<?x8xf32>
      %m = arith.mulf %b, %s : f32
      %z = arith.addf %a, %m : f32
      %t = tensor.insert %z into %p[%i, %j] : tensor<?x8xf32>
      scf.yield %t : tensor<?x8xf32>
    }
    scf.yield %q : tensor<?x8xf32>
  }
  return %r, %s : tensor<?x8xf32>, f32
}
