//===- WarpSpecTypes.cpp - Types and memory spaces --------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Text and verification of the types; sizes of buffers.
//
//===----------------------------------------------------------------------===//

#include "Verifiers.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nvfp4::warpspec;

/// Slots of a pipeline: two barriers of 8 bytes for each.
static constexpr int64_t kMaxDepth = kSharedBytesLimit / 16;

static bool isSwizzle(unsigned swizzle) {
  return swizzle == 0 || swizzle == 32 || swizzle == 64 || swizzle == 128;
}

LogicalResult SmemAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               unsigned swizzle) {
  if (!isSwizzle(swizzle))
    return emitError()
           << "expected a swizzle of 0, 32, 64 or 128 bytes, but got "
           << swizzle;
  return success();
}

LogicalResult
DataCheckAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      DataKind kind, StringRef, StringRef,
                      ArrayRef<int64_t> numbers) {
  size_t expected = 0;
  if (kind == DataKind::Groups)
    expected = 2;
  else if (kind == DataKind::Factor || kind == DataKind::Weights)
    expected = 1;
  if (numbers.size() != expected)
    return emitError() << "expected " << expected << " numbers of "
                       << stringifyDataKind(kind) << ", but got "
                       << numbers.size();
  return success();
}

//===----------------------------------------------------------------------===//
// pipeline
//===----------------------------------------------------------------------===//

Type PipelineType::parse(AsmParser &parser) {
  int64_t depth = 0;
  SmallVector<Type> slots;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseInteger(depth) ||
      parser.parseKeyword("x") ||
      parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Paren,
          [&] { return parser.parseType(slots.emplace_back()); }) ||
      parser.parseComma())
    return {};
  FailureOr<Agent> producer = FieldParser<Agent>::parse(parser);
  if (failed(producer) || parser.parseKeyword("to"))
    return {};
  FailureOr<Agent> consumer = FieldParser<Agent>::parse(parser);
  if (failed(consumer) || parser.parseGreater())
    return {};
  return parser.getChecked<PipelineType>(loc, parser.getContext(), depth,
                                         ArrayRef<Type>(slots), *producer,
                                         *consumer);
}

void PipelineType::print(AsmPrinter &printer) const {
  printer << "<" << getDepth() << " x (";
  llvm::interleaveComma(getSlots(), printer);
  printer << "), " << stringifyAgent(getProducer()) << " to "
          << stringifyAgent(getConsumer()) << ">";
}

LogicalResult PipelineType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t depth, ArrayRef<Type> slots,
                                   Agent producer, Agent consumer) {
  if (depth < 1)
    return emitError() << "expected a depth of at least 1, but got " << depth;
  if (depth > kMaxDepth)
    return emitError() << "expected a depth of at most " << kMaxDepth
                       << ", whose barriers fill shared memory, but got "
                       << depth;
  std::optional<HandOver> handOver = getHandOver(producer, consumer);
  if (!handOver)
    return emitError() << "expected a pair of agents with a protocol, but got "
                       << stringifyAgent(producer) << " to "
                       << stringifyAgent(consumer);
  for (Type slot : slots) {
    if (!isSmem(slot) && !isTmem(slot))
      return emitError() << "expected buffers in #warpspec.smem or "
                            "#warpspec.tmem, but got "
                         << slot;
    if (isTmem(slot) && (producer == Agent::Tma || consumer == Agent::Tma))
      return emitError() << "expected tensor memory between tensor_core and "
                            "threads, but got "
                         << stringifyAgent(producer) << " to "
                         << stringifyAgent(consumer);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// tensor_map
//===----------------------------------------------------------------------===//

Type TensorMapType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape;
  Type element;
  unsigned swizzle = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseDimensionList(shape, /*allowDynamic=*/true) ||
      parser.parseType(element))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("swizzle") || parser.parseEqual() ||
       parser.parseInteger(swizzle)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<TensorMapType>(
      loc, parser.getContext(), ArrayRef<int64_t>(shape), element, swizzle);
}

void TensorMapType::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  printer << "x" << getElementType();
  if (getSwizzle())
    printer << ", swizzle = " << getSwizzle();
  printer << ">";
}

/// Bits of one element in shared memory; padded FP4 takes a byte. 0 for what
/// has no fixed width.
static unsigned getSharedBits(Type element) {
  if (!element.isIntOrFloat())
    return 0;
  return isa<Float4E2M1FNType>(element) ? 8 : element.getIntOrFloatBitWidth();
}

int64_t TensorMapType::getSharedBytes() const {
  return ShapedType::getNumElements(getShape()) *
         getSharedBits(getElementType()) / 8;
}

int64_t TensorMapType::getTransactionBytes() const {
  int64_t elements = 1;
  for (int64_t size : getShape())
    elements *= ShapedType::isDynamic(size) ? 1 : size;
  return elements * getElementType().getIntOrFloatBitWidth() / 8;
}

LogicalResult
TensorMapType::verify(function_ref<InFlightDiagnostic()> emitError,
                      ArrayRef<int64_t> shape, Type elementType,
                      unsigned swizzle) {
  if (shape.empty() || shape.size() > 5)
    return emitError() << "expected 1 to 5 dimensions, but got "
                       << shape.size();
  if (ShapedType::isDynamic(shape.back()))
    return emitError() << "expected a known innermost box dimension";
  for (int64_t size : shape)
    if (!ShapedType::isDynamic(size) && (size < 1 || size > 256))
      return emitError() << "expected box dimensions in [1, 256], but got "
                         << size;
  if (!isSwizzle(swizzle))
    return emitError()
           << "expected a swizzle of 0, 32, 64 or 128 bytes, but got "
           << swizzle;
  bool padded = isa<Float4E2M1FNType>(elementType);
  unsigned bits =
      elementType.isIntOrFloat() ? elementType.getIntOrFloatBitWidth() : 0;
  if (!padded && bits != 8 && bits != 16 && bits != 32 && bits != 64)
    return emitError() << "expected elements of 8, 16, 32 or 64 bits or "
                          "f4E2M1FN, but got "
                       << elementType;
  if (padded && (shape.back() != 128 || (swizzle != 0 && swizzle != 128)))
    return emitError() << "expected a row of 128 padded FP4 values with a "
                          "swizzle of 0 or 128, but got "
                       << shape.back() << " and " << swizzle;
  int64_t rowBytes = shape.back() * getSharedBits(elementType) / 8;
  if (rowBytes % 16 != 0)
    return emitError() << "expected rows of a multiple of 16 bytes, but got "
                       << rowBytes;
  if (swizzle != 0 && rowBytes > swizzle)
    return emitError() << "expected rows of at most " << swizzle
                       << " bytes, the span of the swizzle, but got "
                       << rowBytes;
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

bool nvfp4::warpspec::isSmem(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && isa_and_nonnull<SmemAttr>(memref.getMemorySpace());
}

bool nvfp4::warpspec::isTmem(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref && isa_and_nonnull<TmemAttr>(memref.getMemorySpace());
}

unsigned nvfp4::warpspec::getSwizzle(MemRefType type) {
  return cast<SmemAttr>(type.getMemorySpace()).getSwizzle();
}

int64_t nvfp4::warpspec::countElements(MemRefType type) {
  int64_t count = 1;
  bool isPastEnd = false;
  for (int64_t size : type.getShape()) {
    if (size == 0)
      return 0;
    isPastEnd |=
        llvm::MulOverflow(count, size, count) || count > kMaxElementCount;
  }
  return isPastEnd ? kMaxElementCount : count;
}

int64_t nvfp4::warpspec::getSharedBytes(MemRefType type) {
  return countElements(type) * getSharedBits(type.getElementType()) / 8;
}

int64_t nvfp4::warpspec::getSharedAlignment(MemRefType type) {
  return std::max<int64_t>(128, 8 * getSwizzle(type));
}

int64_t nvfp4::warpspec::getTmemColumns(MemRefType type) {
  return countElements(type) / kTmemLanes;
}

MemRefType nvfp4::warpspec::getSlotType(MemRefType type) {
  return MemRefType::get(type.getShape().drop_front(), type.getElementType(),
                         MemRefLayoutAttrInterface(), type.getMemorySpace());
}
