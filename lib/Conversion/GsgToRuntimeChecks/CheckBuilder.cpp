//===- CheckBuilder.cpp - Emits calls of the runtime's checks ---*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares a function of the runtime where it is first called, passes it plain
// numbers and pointers, and leaves the decision to it.
//
//===----------------------------------------------------------------------===//

#include "CheckBuilder.h"

#include "nvfp4/Dialect/DeviceLoad.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::gsg;
using namespace nvfp4::gsg::checks;

CheckBuilder::CheckBuilder(CheckModule &module, Operation *op, bool readsData)
    : readsData(readsData), module(module), builder(op), loc(op->getLoc()),
      where(describePlace(op)) {}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

Value CheckBuilder::i64(Extent extent) {
  if (!extent.known)
    return extent.value;
  return arith::ConstantIntOp::create(builder, loc, *extent.known, 64);
}

Value CheckBuilder::i64(Value index) {
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
}

Extent CheckBuilder::dim(Value memref, int64_t index) {
  auto type = cast<MemRefType>(memref.getType());
  if (!type.isDynamicDim(index))
    return {type.getDimSize(index), {}};
  Value &extent = dims[{memref, index}];
  if (!extent) {
    extent = i64(Value(memref::DimOp::create(builder, loc, memref, index)));
  }
  return {std::nullopt, extent};
}

Extent CheckBuilder::add(Extent a, int64_t b) {
  return b == 0 ? a : add(a, constant(b));
}

Extent CheckBuilder::add(Extent a, Extent b) {
  int64_t sum;
  if (a.known && b.known && !llvm::AddOverflow(*a.known, *b.known, sum))
    return {sum, {}};
  return {std::nullopt, arith::AddIOp::create(builder, loc, i64(a), i64(b))};
}

Extent CheckBuilder::mul(Extent a, int64_t b) {
  return b == 1 ? a : mul(a, constant(b));
}

Extent CheckBuilder::mul(Extent a, Extent b) {
  int64_t product;
  if (a.known && b.known && !llvm::MulOverflow(*a.known, *b.known, product))
    return {product, {}};
  return {std::nullopt, arith::MulIOp::create(builder, loc, i64(a), i64(b))};
}

Extent CheckBuilder::div(Extent a, int64_t b) {
  if (a.known)
    return {*a.known / b, {}};
  if (b == 1)
    return a;
  return {std::nullopt, arith::DivSIOp::create(builder, loc, i64(a), i64(b))};
}

Extent CheckBuilder::ceilDiv(Extent a, int64_t b) {
  return b == 1 ? a : div(add(a, b - 1), b);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void CheckBuilder::check(StringRef name, StringRef label, const Twine &what,
                         ArrayRef<Value> arguments) {
  SmallVector<Value> all{module.text(builder, loc, where)};
  std::string subject = what.str();
  for (StringRef text : {label, StringRef(subject)})
    if (!text.empty())
      all.push_back(module.text(builder, loc, text));
  llvm::append_range(all, arguments);
  auto call =
      LLVM::CallOp::create(builder, loc, module.function(name, all), all);
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Value passed = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                       call.getResult(), zero);
  holds = holds ? arith::AndIOp::create(builder, loc, holds, passed) : passed;
}

void CheckBuilder::equal(StringRef label, const Twine &what, Extent seen,
                         Extent expected) {
  if (seen.known && expected.known && *seen.known == *expected.known)
    return;
  if (seen.value && seen.value == expected.value)
    return;
  check("nvfp4_check_equal", label, what, {i64(seen), i64(expected)});
}

void CheckBuilder::atLeast(StringRef label, const Twine &what, Extent seen,
                           Extent low) {
  if (seen.known && low.known && *seen.known >= *low.known)
    return;
  check("nvfp4_check_range", label, what,
        {i64(seen), i64(low), i64(std::numeric_limits<int64_t>::max())});
}

void CheckBuilder::inRange(StringRef label, const Twine &what, Extent seen,
                           int64_t low, Extent high) {
  if (seen.known && high.known && *seen.known >= low &&
      *seen.known <= *high.known)
    return;
  check("nvfp4_check_range", label, what, {i64(seen), i64(low), i64(high)});
}

void CheckBuilder::multiple(StringRef label, const Twine &what, Extent seen,
                            int64_t factor) {
  if (factor == 1 || (seen.known && *seen.known % factor == 0))
    return;
  check("nvfp4_check_multiple", label, what, {i64(seen), i64(factor)});
}

void CheckBuilder::shape(StringRef label, StringRef name, Value memref,
                         ArrayRef<NamedExtent> expected) {
  auto type = memref ? dyn_cast<MemRefType>(memref.getType()) : MemRefType();
  if (!type || type.getRank() != static_cast<int64_t>(expected.size()))
    return;
  for (auto [d, extent] : llvm::enumerate(expected))
    equal(label, extent.first + Twine(" of ") + name, dim(memref, d),
          extent.second);
}

void CheckBuilder::globalScale(Value value, ArrayRef<Extent> shape) {
  auto type = value ? dyn_cast<MemRefType>(value.getType()) : MemRefType();
  if (!value ||
      (type && (!type.hasStaticShape() || type.getNumElements() != 1)))
    return;
  if (!readsData && (type || dependsOnLoad(value)))
    return;
  if (type) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    value = memref::LoadOp::create(builder, loc, value,
                                   SmallVector<Value>(type.getRank(), zero));
  }
  Extent users = shape.front();
  for (Extent extent : shape.drop_front())
    users = mul(users, extent);
  check("nvfp4_check_positive", "quantizer_c8", "global_scale",
        {value, i64(users)});
}

void CheckBuilder::perGroup(StringRef label, StringRef name, Value value,
                            Extent groups, int64_t width) {
  auto type = value ? dyn_cast<MemRefType>(value.getType()) : MemRefType();
  // A vector of static length 1 stands for a scalar.
  if (!type || type.getRank() == 0 ||
      (type.getRank() == 1 && type.getDimSize(0) == 1))
    return;
  equal(label, Twine("G of ") + name, dim(value, 0), groups);
  if (type.getRank() == 2)
    equal(label, Twine("entries of ") + name + " a group", dim(value, 1),
          constant(width));
}
