//===- HloOp.cpp - Operations of dialects that are not there ----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attributes by their text, and the operations that all families build.
//
//===----------------------------------------------------------------------===//

#include "HloOp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace nvfp4::hlo;

Type nvfp4::hlo::getSignless(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(getSignless(tensor.getElementType()));
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  return type;
}

RankedTensorType HloOp::getOperandType(unsigned i) const {
  return cast<RankedTensorType>(operands[i].getType());
}

RankedTensorType HloOp::getType(unsigned i) const {
  return cast<RankedTensorType>(getSignless(op->getResult(i).getType()));
}

static bool hasNoSign(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isUnsignedInteger() || element.isInteger(1);
}

bool HloOp::isUnsigned(unsigned i) const {
  return hasNoSign(op->getOperand(i).getType());
}

bool HloOp::isResultUnsigned() const {
  return hasNoSign(op->getResult(0).getType());
}

/// `number`, an integer with or without a sign, or a float, as `type`; null if
/// it is not converted here.
static TypedAttr convertNumber(TypedAttr number, bool isUnsigned, Type type) {
  auto to = dyn_cast<FloatType>(type);
  if (!number || !to)
    return {};
  APFloat value(to.getFloatSemantics());
  if (auto integer = dyn_cast<IntegerAttr>(number)) {
    value.convertFromAPInt(integer.getValue(), !isUnsigned,
                           APFloat::rmNearestTiesToEven);
  } else {
    bool losesInfo;
    value = cast<FloatAttr>(number).getValue();
    value.convert(to.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  }
  return FloatAttr::get(type, value);
}

TypedAttr HloOp::getSplat(unsigned i) const {
  Operation *source = op->getOperand(i).getDefiningOp();
  while (source &&
         llvm::is_contained({"stablehlo.broadcast_in_dim", "stablehlo.reshape",
                             "stablehlo.slice", "stablehlo.transpose"},
                            source->getName().getStringRef()))
    source = source->getOperand(0).getDefiningOp();
  if (source && source->getName().getStringRef() == "stablehlo.convert")
    return convertNumber(HloOp(source, source->getOperands()).getSplat(0),
                         hasNoSign(source->getOperand(0).getType()),
                         getElementTypeOrSelf(source->getResult(0).getType()));
  if (!source || source->getName().getStringRef() != "stablehlo.constant")
    return {};
  auto value = source->getAttrOfType<DenseElementsAttr>("value");
  if (!value || !value.isSplat())
    return {};
  Type type = getSignless(value.getElementType());
  if (isa<FloatType>(type))
    return FloatAttr::get(type, value.getSplatValue<APFloat>());
  return IntegerAttr::get(type, value.getSplatValue<APInt>());
}

SmallVector<int64_t> nvfp4::hlo::readIntegers(Attribute value) {
  if (auto array = dyn_cast_or_null<DenseI64ArrayAttr>(value))
    return SmallVector<int64_t>(array.asArrayRef());
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(value))
    return llvm::map_to_vector(dense.getValues<APInt>(),
                               [](const APInt &i) { return i.getSExtValue(); });
  return {};
}

SmallVector<int64_t> HloOp::getIntegers(StringRef name) const {
  return readIntegers(op->getAttr(name));
}

int64_t HloOp::getInteger(StringRef name, int64_t otherwise) const {
  auto value = op->getAttrOfType<IntegerAttr>(name);
  return value ? value.getInt() : otherwise;
}

std::string HloOp::getText(StringRef name) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (Attribute value = op->getAttr(name))
    os << value;
  return text;
}

StringRef HloOp::getWord(StringRef name, std::string &text) const {
  text = getText(name);
  StringRef word = StringRef(text).rtrim('>');
  size_t start = word.find_last_of(" <.");
  return start == StringRef::npos ? word : word.drop_front(start + 1);
}

/// The text after `field =` in an attribute.
static StringRef findField(StringRef text, StringRef field) {
  for (size_t at = text.find(field); at != StringRef::npos;
       at = text.find(field, at + 1)) {
    StringRef rest = text.drop_front(at + field.size()).ltrim();
    if (at && StringRef("<, ").contains(text[at - 1]) &&
        rest.consume_front("="))
      return rest.ltrim();
  }
  return {};
}

SmallVector<int64_t> HloOp::getIntegers(StringRef name, StringRef field) const {
  std::string text = getText(name);
  StringRef rest = findField(text, field);
  SmallVector<int64_t> list;
  if (!rest.consume_front("["))
    return list;
  int64_t value;
  for (rest = rest.ltrim(" ,"); !rest.consumeInteger(10, value);
       rest = rest.ltrim(" ,"))
    list.push_back(value);
  return list;
}

int64_t HloOp::getInteger(StringRef name, StringRef field,
                          int64_t otherwise) const {
  std::string text = getText(name);
  StringRef rest = findField(text, field);
  int64_t value;
  return rest.consumeInteger(10, value) ? otherwise : value;
}

SmallVector<Value> nvfp4::hlo::makeElements(LocBuilder &b, ValueRange inputs,
                                            ArrayRef<AffineMap> maps,
                                            ArrayRef<RankedTensorType> types,
                                            ElementBody body) {
  int64_t rank = types.front().getRank();
  SmallVector<AffineMap> all(maps);
  SmallVector<Value> outs;
  SmallVector<Type> results;
  for (RankedTensorType type : types) {
    all.push_back(b.getMultiDimIdentityMap(rank));
    outs.push_back(
        tensor::EmptyOp::create(b, type.getShape(), type.getElementType()));
    results.push_back(type);
  }
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(
      b, results, inputs, outs, all, loops,
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        ImplicitLocOpBuilder inner(loc, nested);
        linalg::YieldOp::create(
            inner, body(inner, arguments.take_front(inputs.size())));
      });
  return SmallVector<Value>(op.getResults());
}

Value nvfp4::hlo::reshape(LocBuilder &b, Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  auto result = type.clone(shape);
  assert(type.getNumElements() == result.getNumElements() &&
         "expected another shape for the same elements");
  if (type == result)
    return value;
  // One of no elements may have no groups of dimensions in common with another.
  if (result.getNumElements() == 0)
    return tensor::EmptyOp::create(b, shape, type.getElementType());
  if (auto groups = getReassociationIndicesForReshape(type, result)) {
    if (type.getRank() > result.getRank())
      return tensor::CollapseShapeOp::create(b, result, value, *groups);
    return tensor::ExpandShapeOp::create(b, result, value, *groups);
  }
  return reshape(b, reshape(b, value, {type.getNumElements()}), shape);
}

Value nvfp4::hlo::fill(LocBuilder &b, RankedTensorType type, Value scalar) {
  Value empty =
      tensor::EmptyOp::create(b, type.getShape(), type.getElementType());
  return linalg::FillOp::create(b, scalar, empty).getResult(0);
}

Value nvfp4::hlo::getScalar(LocBuilder &b, Value value) {
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(b, constant.getSplatValue<TypedAttr>());
  return tensor::ExtractOp::create(b, value, ValueRange{});
}

Value nvfp4::hlo::castIndex(LocBuilder &b, Value value, Type type,
                            bool isUnsigned) {
  if (value.getType() == type)
    return value;
  if (isUnsigned)
    return arith::IndexCastUIOp::create(b, type, value);
  return arith::IndexCastOp::create(b, type, value);
}
