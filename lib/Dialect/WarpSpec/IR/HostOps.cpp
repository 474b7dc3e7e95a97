//===- HostOps.cpp - The host's side of kernels -----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers, effects and syntax of launches and of what they are given.
//
//===----------------------------------------------------------------------===//

#include "AssemblyFormat.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace nvfp4;
using namespace nvfp4::warpspec;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

ParseResult nvfp4::warpspec::parseAsyncTokens(OpAsmParser &parser,
                                              Type &tokenType,
                                              Operands &dependencies) {
  if (succeeded(parser.parseOptionalKeyword("async")))
    tokenType = gpu::AsyncTokenType::get(parser.getContext());
  return parser.parseOperandList(dependencies,
                                 OpAsmParser::Delimiter::OptionalSquare);
}

void nvfp4::warpspec::printAsyncTokens(OpAsmPrinter &printer, Operation *,
                                       Type tokenType,
                                       OperandRange dependencies) {
  if (tokenType)
    printer << "async";
  if (dependencies.empty())
    return;
  printer << (tokenType ? " [" : "[") << dependencies << "]";
}

ParseResult nvfp4::warpspec::parseParameters(OpAsmParser &parser,
                                             Operands &parameters, Types &types,
                                             DenseI32ArrayAttr &written) {
  SmallVector<int32_t> numbers;
  auto parseOne = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("writes")))
      numbers.push_back(static_cast<int32_t>(parameters.size()));
    return parser.parseOperand(parameters.emplace_back());
  };
  if (parser.parseLParen())
    return failure();
  if (failed(parser.parseOptionalRParen()) &&
      (parser.parseCommaSeparatedList(parseOne) ||
       parser.parseColonTypeList(types) || parser.parseRParen()))
    return failure();
  written = parser.getBuilder().getDenseI32ArrayAttr(numbers);
  return success();
}

void nvfp4::warpspec::printParameters(OpAsmPrinter &printer, Operation *,
                                      OperandRange parameters, TypeRange types,
                                      DenseI32ArrayAttr written) {
  printer << '(';
  ArrayRef<int32_t> numbers = written.asArrayRef();
  for (auto [number, parameter] : llvm::enumerate(parameters)) {
    printer << (number ? ", " : "");
    if (llvm::is_contained(numbers, static_cast<int32_t>(number)))
      printer << "writes ";
    printer << parameter;
  }
  if (!parameters.empty())
    printer << " : " << types;
  printer << ')';
}

//===----------------------------------------------------------------------===//
// encode_tensor_map
//===----------------------------------------------------------------------===//

void EncodeTensorMapOp::build(OpBuilder &builder, OperationState &state,
                              TensorMapType type, Value memory,
                              ArrayRef<OpFoldResult> sizes,
                              ArrayRef<OpFoldResult> strides, ValueRange box) {
  SmallVector<Value> dynamicSizes, dynamicStrides;
  SmallVector<int64_t> staticSizes, staticStrides;
  dispatchIndexOpFoldResults(sizes, dynamicSizes, staticSizes);
  dispatchIndexOpFoldResults(strides, dynamicStrides, staticStrides);
  build(builder, state, type, memory, dynamicSizes, dynamicStrides, box,
        staticSizes, staticStrides);
}

SmallVector<OpFoldResult> EncodeTensorMapOp::getMixedSizes() {
  return getMixedValues(getStaticSizes(), getSizes(), getContext());
}

SmallVector<OpFoldResult> EncodeTensorMapOp::getMixedStrides() {
  return getMixedValues(getStaticStrides(), getStrides(), getContext());
}

/// Whether TMA copies elements of this type.
static bool isMapElement(Type type) {
  return isa<Float4E2M1FNType, BFloat16Type, Float16Type>(type) ||
         type.isInteger(16) || type.getIntOrFloatBitWidth() == 8;
}

LogicalResult EncodeTensorMapOp::verify() {
  int64_t rank = getType().getRank();
  if (static_cast<int64_t>(getStaticSizes().size()) != rank ||
      static_cast<int64_t>(getStaticStrides().size()) != rank - 1)
    return emitOpError("expected ")
           << rank << " sizes and " << rank - 1
           << " strides, as the box has, but got " << getStaticSizes().size()
           << " and " << getStaticStrides().size();
  if (rank > 5)
    return emitOpError("expected at most 5 dimensions, but got ") << rank;
  auto open = llvm::count_if(getType().getShape(), ShapedType::isDynamic);
  if (static_cast<int64_t>(getBox().size()) != open)
    return emitOpError("expected the ")
           << open << " extents that the box leaves open, but got "
           << getBox().size();
  if (!isMapElement(getType().getElementType()))
    return emitOpError("expected elements of 8 bits, i16, f16, bf16 or "
                       "padded f4E2M1FN, but got ")
           << getType().getElementType();
  for (int64_t stride : getStaticStrides())
    if (!ShapedType::isDynamic(stride) && stride % 16 != 0)
      return emitOpError("expected strides of a multiple of 16 bytes, but got ")
             << stride;
  return success();
}

//===----------------------------------------------------------------------===//
// launch
//===----------------------------------------------------------------------===//

/// Whether `value` can be passed for a parameter of type `type`: bytes may hold
/// elements of any type.
static bool isPassedAs(Type value, Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return value == type || (value.isIndex() && type.isInteger(32));
  if (!isDeviceMemory(value))
    return false;
  unsigned bits = cast<MemRefType>(value).getElementTypeBitWidth();
  return bits == 8 || bits == memref.getElementTypeBitWidth();
}

LogicalResult LaunchOp::verify() {
  for (int32_t number : getWritten())
    if (number < 0 || number >= static_cast<int64_t>(getParameters().size()) ||
        !isDeviceMemory(getParameters()[number].getType()))
      return emitOpError("expected a parameter that is device memory where one "
                         "is written, but got number ")
             << number;
  for (Type type : getParameters().getTypes())
    if (isa<BaseMemRefType>(type) && !isDeviceMemory(type))
      return emitOpError("expected parameters in device memory, but got ")
             << type;
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *found = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!found)
    return emitOpError("expected a kernel, but there is no ")
           << getKernelAttr();
  // Kernels are lowered before their launches.
  auto kernel = dyn_cast<KernelOp>(found);
  if (!kernel)
    return success();
  auto types = kernel.getBody().front().getArgumentTypes();
  if (types.size() != getParameters().size())
    return emitOpError("expected ")
           << types.size() << " parameters of " << getKernelAttr()
           << ", but got " << getParameters().size();
  for (auto [number, type] : llvm::enumerate(types))
    if (Type given = getParameters()[number].getType();
        !isPassedAs(given, type))
      return emitOpError("expected parameter ")
             << number << " of " << getKernelAttr() << " to be " << type
             << ", but got " << given;
  return success();
}

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void LaunchOp::getEffects(Effects &effects) {
  for (OpOperand &operand : getParametersMutable()) {
    if (!isDeviceMemory(operand.get().getType()))
      continue;
    effects.emplace_back(MemoryEffects::Read::get(), &operand);
    auto number = static_cast<int32_t>(
        operand.getOperandNumber() -
        getParametersMutable().begin()->getOperandNumber());
    if (llvm::is_contained(getWritten(), number))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
  // Tensor maps name memory that only their definitions know, and the order of
  // launches counts.
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}

//===----------------------------------------------------------------------===//
// write_table
//===----------------------------------------------------------------------===//

OperandRange WriteTableOp::getRow(int64_t row) {
  auto width = static_cast<int64_t>(getValues().size()) / getRows();
  return getValues().slice(row * width, width);
}

int64_t WriteTableOp::getRowEntries() {
  return 1 + llvm::count_if(getRow(0).getTypes(), llvm::IsaPred<TensorMapType>);
}

LogicalResult WriteTableOp::verify() {
  auto type = cast<MemRefType>(getTable().getType());
  if (type.getRank() != 2 || type.getDimSize(1) != 128 ||
      !type.getElementType().isInteger(8))
    return emitOpError("expected a table memref<?x128xi8, "
                       "#gpu.address_space<global>>, but got ")
           << type;
  if (getValues().size() % static_cast<size_t>(getRows()) != 0)
    return emitOpError("expected rows of equal length, but got ")
           << getValues().size() << " values in " << getRows() << " rows";
  int64_t bytes = 0;
  for (Type value : getRow(0).getTypes()) {
    if (isa<TensorMapType>(value))
      continue;
    if (!value.isIndex() && !isDeviceMemory(value))
      return emitOpError("expected indices, device memory and tensor maps, but "
                         "got ")
             << value;
    int64_t size = value.isIndex() ? 4 : 8;
    bytes = llvm::alignTo(bytes, size) + size;
  }
  if (bytes > 128)
    return emitOpError("expected at most 128 bytes of numbers and addresses in "
                       "a row, but got ")
           << bytes;
  for (int64_t row = 1; row < getRows(); ++row)
    for (auto [first, other] :
         llvm::zip_equal(getRow(0).getTypes(), getRow(row).getTypes()))
      if (first != other && !(isDeviceMemory(first) && isDeviceMemory(other)))
        return emitOpError("expected row ")
               << row << " to have the types of the first, but got " << other
               << " for " << first;
  if (int64_t entries = getRowEntries() * getRows();
      !type.isDynamicDim(0) && type.getDimSize(0) < entries)
    return emitOpError("expected a table of at least ")
           << entries << " entries, but got " << type.getDimSize(0);
  return success();
}

void WriteTableOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getTableMutable());
}

//===----------------------------------------------------------------------===//
// result
//===----------------------------------------------------------------------===//

LogicalResult ResultOp::verify() {
  auto type = cast<MemRefType>(getMemref().getType());
  if (!type.getLayout().isIdentity())
    return emitOpError("expected rows that follow each other, but got ")
           << type;
  if (static_cast<size_t>(type.getNumDynamicDims()) != getDynamicSizes().size())
    return emitOpError("expected ")
           << type.getNumDynamicDims() << " dynamic extents, but got "
           << getDynamicSizes().size();
  return success();
}

//===----------------------------------------------------------------------===//
// data_record and data_checks
//===----------------------------------------------------------------------===//

/// Its result is an address of the host's constants or records.
static LogicalResult verifyOnHost(Operation *op) {
  if (op->getParentOfType<gpu::GPUModuleOp>())
    return op->emitOpError("expected to be on the host; pass its result to the "
                           "kernel as a parameter");
  return success();
}

LogicalResult DataRecordOp::verify() { return verifyOnHost(*this); }

LogicalResult DataChecksOp::verify() {
  if (failed(verifyOnHost(*this)))
    return failure();
  if (getChecks().empty())
    return emitOpError("expected at least one check");
  return success();
}
