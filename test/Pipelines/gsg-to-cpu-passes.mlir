// The order of our passes in gsg-to-cpu: what the target cannot execute is said
// before anything is rewritten.
// RUN: nvfp4-opt %s --gsg-to-cpu --dump-pass-pipeline 2>&1 >/dev/null | FileCheck %s

// CHECK:      builtin.module(
// CHECK-NEXT:   gsg-verify-extents
// CHECK-NEXT:   gsg-verify-target{target=cpu}
// CHECK-NEXT:   gsg-decompose-gradient{explain=false}
// CHECK-NEXT:   gsg-decompose-exchange
// CHECK-NEXT:   gsg-fuse-epilogue
// CHECK-NEXT:   gsg-decompose-scaled
// CHECK-NEXT:   nvfp4-declare-entry-points
// CHECK:        one-shot-bufferize
// CHECK:        gsg-expand-epilogue
// CHECK-NEXT:   convert-gsg-to-cpu
// CHECK:        convert-scf-to-openmp
// CHECK-NEXT:   nvfp4-share-call
// CHECK-NEXT:   nvfp4-inline-alloca-scopes
// CHECK:        convert-scf-to-cf
// CHECK:        nvfp4-emit-entry-points
// CHECK-NEXT:   nvfp4-export-functions
module {}
