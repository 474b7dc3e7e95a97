//===- IsaGeneric.cpp - kernels for any CPU ---------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The portable floor: always the f32 route, which for E2M1 operands is exact
// and so gives the same bits as integer dot products.
//
//===----------------------------------------------------------------------===//

#include "IsaEmitter.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace nvfp4::gsg::arithmetic;
using namespace nvfp4::gsg::cpu;

std::pair<Value, Value> IsaEmitter::decodeNibbles(KernelBuilder &,
                                                  Value) const {
  llvm_unreachable("the f32 route has no integer weights");
}

Value IsaEmitter::blockDot(KernelBuilder &, Value, ArrayRef<Value>,
                           ArrayRef<Value>) const {
  llvm_unreachable("the f32 route has no integer dot product");
}

llvm::SmallVector<Value> IsaEmitter::decodePairs(KernelBuilder &, Value) const {
  llvm_unreachable("the f32 route has no pairs");
}

Value IsaEmitter::pairDot(KernelBuilder &, Value, Value, Value) const {
  llvm_unreachable("the f32 route has no pairs");
}

std::unique_ptr<IsaEmitter> IsaEmitter::create(Isa isa) {
  switch (isa) {
  case Isa::Generic:
    return createGenericEmitter();
  case Isa::AVX2:
    return createAVX2Emitter();
  case Isa::AVX512VNNI:
    return createAVX512VNNIEmitter();
  case Isa::AVX512BF16:
    return createAVX512BF16Emitter();
  case Isa::AMX:
    return createAMXEmitter();
  }
  return nullptr;
}

namespace {
class GenericEmitter : public IsaEmitter {
public:
  StringRef targetFeatures() const override { return ""; }
  bool hasFma() const override { return false; }
};
} // namespace

std::unique_ptr<IsaEmitter> nvfp4::gsg::cpu::createGenericEmitter() {
  return std::make_unique<GenericEmitter>();
}
