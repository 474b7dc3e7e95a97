//===- Inputs.cpp - Arguments from files ------------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads tensors, parses scalars and decides what may be read as what: files
// name types more coarsely than a module does.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Inputs.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/Support/Error.h"

#include <cstring>

using namespace nvfp4;
using namespace nvfp4::tools;
using tensorio::DType;
using tensorio::Error;
using tensorio::Expected;
using tensorio::Tensor;

/// The number format of a floating-point type, or null.
static const llvm::fltSemantics *getSemantics(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return &llvm::APFloat::IEEEhalf();
  case DType::BF16:
    return &llvm::APFloat::BFloat();
  case DType::F32:
    return &llvm::APFloat::IEEEsingle();
  case DType::F64:
    return &llvm::APFloat::IEEEdouble();
  default:
    return nullptr;
  }
}

/// A tensor of rank 0 with the number that `text` spells.
static Expected<Tensor> parseScalar(DType dtype, llvm::StringRef text) {
  unsigned bits = static_cast<unsigned>(tensorio::dtypeSize(dtype)) * 8;
  std::string name(tensorio::dtypeName(dtype));
  llvm::APInt encoded(bits, 0);
  if (const llvm::fltSemantics *semantics = getSemantics(dtype)) {
    llvm::APFloat number(*semantics);
    auto status =
        number.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return Error{"expected a number after '" + name + ":', but got '" +
                   text.str() + "'"};
    }
    encoded = number.bitcastToAPInt();
  } else {
    llvm::APInt number;
    llvm::StringRef digits = text;
    bool isNegative = digits.consume_front("-");
    if (!tensorio::isIntegral(dtype) || digits.getAsInteger(0, number))
      return Error{"expected an integer after '" + name + ":', but got '" +
                   text.str() + "'"};
    number = number.zext(number.getBitWidth() + 65);
    if (isNegative)
      number.negate();
    if (!number.isSignedIntN(bits) && !number.isIntN(bits))
      return Error{"expected an integer of " + std::to_string(bits) +
                   " bits after '" + name + ":', but got '" + text.str() + "'"};
    encoded = number.trunc(bits);
  }
  uint64_t word = encoded.getZExtValue();
  return Tensor::copyOf(dtype, {},
                        {reinterpret_cast<const std::byte *>(&word), bits / 8});
}

/// True if the bytes of `found` may be read as `expected`.
static bool isReadableAs(DType found, DType expected) {
  if (found == expected)
    return true;
  return tensorio::dtypeSize(found) == tensorio::dtypeSize(expected) &&
         tensorio::isIntegral(found) && !getSemantics(expected);
}

static bool matches(std::span<const int64_t> found,
                    const std::vector<int64_t> &expected) {
  if (found.size() != expected.size())
    return false;
  for (size_t i = 0; i < expected.size(); ++i)
    if (expected[i] >= 0 && expected[i] != found[i])
      return false;
  return true;
}

/// `expected` with its dynamic extent, of which there may be one, chosen so
/// that it has `count` elements; empty if there is none.
static std::vector<int64_t> fitShape(const std::vector<int64_t> &expected,
                                     int64_t count) {
  int64_t known = 1;
  size_t dynamic = expected.size();
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] >= 0) {
      if (llvm::MulOverflow(known, expected[i], known))
        return {};
    } else if (dynamic == expected.size()) {
      dynamic = i;
    } else {
      return {};
    }
  }
  std::vector<int64_t> shape = expected;
  if (dynamic == expected.size())
    return known == count ? shape : std::vector<int64_t>();
  if (known == 0 || count % known)
    return {};
  shape[dynamic] = count / known;
  return shape;
}

static Expected<Tensor> load(const std::string &spec, const ValueType &type,
                             tensorio::TensorLoader &loader) {
  if (type.isScalar) {
    auto [name, text] = llvm::StringRef(spec).split(':');
    std::optional<DType> dtype = tensorio::parseDType(name.str());
    if (name == "index")
      dtype = DType::I64;
    if (dtype && !text.empty())
      return parseScalar(*dtype, text);
  }
  return loader.load(spec);
}

/// How to read integers as the floating-point numbers of `expected` that their
/// bytes may be, or nothing: files of numpy have no name for most of those.
static std::string hintReading(const std::string &spec, const Tensor &found,
                               DType expected) {
  if (!tensorio::isIntegral(found.dtype()) ||
      tensorio::dtypeSize(found.dtype()) != tensorio::dtypeSize(expected) ||
      spec.find('@') != std::string::npos)
    return {};
  std::string name(tensorio::dtypeName(expected));
  return "; '" + spec + "@" + name + "' reads its bytes as " + name;
}

static Expected<Tensor> loadInput(const std::string &spec,
                                  const ValueType &type,
                                  tensorio::TensorLoader &loader,
                                  std::vector<std::string> &notes) {
  Expected<Tensor> tensor = load(spec, type, loader);
  if (!tensor)
    return tensor;
  if (!isReadableAs(tensor->dtype(), type.dtype))
    return Error{"expected " + type.describe() + ", but '" + spec + "' is " +
                 tensor->describe() + hintReading(spec, *tensor, type.dtype)};
  if (tensor->dtype() != type.dtype) {
    tensor = tensor->reinterpret(type.dtype);
    if (!tensor)
      return tensor;
  }
  if (!matches(tensor->shape(), type.shape)) {
    std::vector<int64_t> shape;
    bool mayReshape = false;
    if (type.isScalar) {
      mayReshape = tensor->numElements() == 1;
    } else if (type.role == NVFP4_ROLE_SCALES) {
      shape = fitShape(type.shape, tensor->numElements());
      mayReshape = !shape.empty();
    }
    if (!mayReshape)
      return Error{"expected " + type.describe() + ", but '" + spec + "' is " +
                   tensor->describe()};
    notes.push_back("'" + spec + "' of shape " +
                    tensorio::formatShape(tensor->shape()) + " read as " +
                    tensorio::formatShape(shape));
    tensor = tensor->reshape(shape);
    if (!tensor)
      return tensor;
  }
  return type.isMutable ? tensor->clone() : tensor->aligned();
}

Expected<std::vector<Tensor>>
tools::loadInputs(const Signature &signature,
                  const std::vector<std::string> &specs,
                  std::vector<std::string> &notes) {
  if (specs.size() != signature.arguments.size())
    return Error{"expected " + std::to_string(signature.arguments.size()) +
                 " inputs, but got " + std::to_string(specs.size()) + "\n" +
                 signature.describe()};
  tensorio::TensorLoader loader;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < specs.size(); ++i) {
    std::vector<std::string> newNotes;
    Expected<Tensor> tensor =
        loadInput(specs[i], signature.arguments[i], loader, newNotes);
    std::string where = "argument " + std::to_string(i) + ": ";
    if (!tensor)
      return Error{where + tensor.message()};
    for (const std::string &note : newNotes)
      notes.push_back(where + note);
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}
