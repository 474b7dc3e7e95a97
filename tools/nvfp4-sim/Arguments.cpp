//===- Arguments.cpp - kernel arguments of nvfp4-sim ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small grammar: items separated by commas outside brackets; see usage().
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"

#include "nvfp4/TensorIO/Npy.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>

namespace nvfp4::simtool {
namespace {

using tensorio::DType;
using tensorio::Tensor;

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (char c : text) {
    depth += c == '(' || c == '[';
    depth -= c == ')' || c == ']';
    if (c == separator && depth == 0) {
      parts.push_back(part);
      part.clear();
    } else {
      part += c;
    }
  }
  parts.push_back(part);
  return parts;
}

template <typename T>
bool parseList(const std::string &text, T &values, size_t most, size_t &count) {
  count = 0;
  for (const std::string &part : split(text, 'x')) {
    if (count == most)
      return false;
    auto &value = values[count++];
    const char *end = part.data() + part.size();
    auto [stop, error] = std::from_chars(part.data(), end, value);
    if (error != std::errc() || stop != end)
      return false;
  }
  return count > 0;
}

/// file=dtype[2x3]
std::string parseShaped(const std::string &text, Array &array) {
  size_t equals = text.rfind('=');
  size_t open = text.find('[', equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos || open == std::string::npos ||
      text.back() != ']')
    return "expected FILE=TYPE[SHAPE], but got '" + text + "'";
  std::string typeName = text.substr(equals + 1, open - equals - 1);
  auto dtype = tensorio::parseDType(typeName);
  if (!dtype)
    return "expected an element type of " + tensorio::listDTypeNames() +
           ", but got '" + typeName + "' in '" + text + "'";
  std::array<int64_t, 8> shape{};
  size_t rank = 0;
  if (!parseList(text.substr(open + 1, text.size() - open - 2), shape, 8, rank))
    return "expected a shape of one to eight numbers such as 128x64 in '" +
           text + "'";
  auto tensor = Tensor::allocate(
      *dtype, std::vector<int64_t>(shape.begin(), shape.begin() + rank));
  if (!tensor)
    return tensor.message();
  array.contents = std::move(*tensor);
  array.outputFile = text.substr(0, equals);
  return {};
}

std::string parseArray(const std::string &text, Array &array) {
  auto after = [&](const char *prefix) -> std::optional<std::string> {
    size_t length = std::strlen(prefix);
    if (text.compare(0, length, prefix))
      return std::nullopt;
    return text.substr(length);
  };
  if (auto rest = after("out:")) {
    array.upload = false;
    return parseShaped(*rest, array);
  }
  if (auto rest = after("zero:"))
    return parseShaped(*rest, array);
  std::string file = text;
  if (auto rest = after("inout:")) {
    size_t arrow = rest->find('>');
    if (arrow == std::string::npos)
      return "expected inout:IN>OUT, but got '" + text + "'";
    file = rest->substr(0, arrow);
    array.outputFile = rest->substr(arrow + 1);
  }
  auto tensor = tensorio::readNpy(file);
  if (!tensor)
    return tensor.message();
  array.contents = std::move(*tensor);
  return {};
}

std::optional<sim::TensorType> defaultMapType(DType dtype) {
  using T = sim::TensorType;
  switch (dtype) {
  case DType::U16:
    return T::U16;
  case DType::U32:
    return T::U32;
  case DType::I32:
    return T::S32;
  case DType::U64:
    return T::U64;
  case DType::I64:
    return T::S64;
  case DType::F16:
    return T::F16;
  case DType::BF16:
    return T::BF16;
  case DType::F32:
    return T::F32;
  case DType::F64:
    return T::F64;
  default:
    return tensorio::dtypeSize(dtype) == 1 ? std::optional(T::U8)
                                           : std::nullopt;
  }
}

/// "a, b or c" of the keys.
template <typename T>
std::string listKeys(const std::map<std::string, T> &map) {
  std::string list;
  size_t left = map.size();
  for (const auto &[key, value] : map)
    list += key + (--left > 1 ? ", " : left == 1 ? " or " : "");
  return list;
}

std::string parseMap(const std::string &text, Argument &argument) {
  using T = sim::TensorType;
  using S = sim::TensorSwizzle;
  static const std::map<std::string, T> types = {{"u8", T::U8},
                                                 {"u16", T::U16},
                                                 {"u32", T::U32},
                                                 {"s32", T::S32},
                                                 {"u64", T::U64},
                                                 {"s64", T::S64},
                                                 {"f16", T::F16},
                                                 {"f32", T::F32},
                                                 {"f64", T::F64},
                                                 {"bf16", T::BF16},
                                                 {"tf32", T::TF32},
                                                 {"u4", T::U4Packed},
                                                 {"u4_align16", T::U4Padded},
                                                 {"u6_align16", T::U6Padded}};
  static const std::map<std::string, S> swizzles = {
      {"none", S::None},
      {"32B", S::B32},
      {"64B", S::B64},
      {"128B", S::B128},
      {"128B_atom32", S::B128Atom32},
      {"128B_atom32_flip8", S::B128Atom32Flip8},
      {"128B_atom64", S::B128Atom64}};
  std::vector<std::string> parts = split(text, ';');
  argument.kind = Argument::Kind::Map;
  argument.array.emplace();
  std::string error = parseArray(parts[0], *argument.array);
  if (!error.empty())
    return error;
  const Tensor &tensor = argument.array->contents;
  sim::TensorMapSpec &map = argument.map;
  auto type = defaultMapType(tensor.dtype());
  if (!type)
    return "no tensor-map type for " + tensor.describe();
  map.type = *type;
  // Row-major: the last dimension is the innermost.
  map.rank = static_cast<unsigned>(std::min<size_t>(tensor.rank(), 5));
  for (unsigned d = 0; d < map.rank; ++d)
    map.size[d] = static_cast<uint64_t>(tensor.shape()[tensor.rank() - 1 - d]);
  bool hasStrides = false;
  for (size_t i = 1; i < parts.size(); ++i) {
    size_t equals = parts[i].find('=');
    std::string name = parts[i].substr(0, equals);
    std::string value =
        equals == std::string::npos ? "" : parts[i].substr(equals + 1);
    size_t count = 0;
    bool ok = true;
    std::string expected = "one to five numbers such as 64x128";
    if (name == "box") {
      ok = parseList(value, map.box, 5, count);
    } else if (name == "dims") {
      ok = parseList(value, map.size, 5, count);
      map.rank = static_cast<unsigned>(count);
    } else if (name == "strides") {
      ok = parseList(value, map.stride, 4, count);
      hasStrides = true;
      expected = "one to four numbers of bytes such as 256x4096";
    } else if (name == "elementstrides") {
      ok = parseList(value, map.elementStride, 5, count);
    } else if (name == "swizzle") {
      ok = swizzles.count(value);
      if (ok)
        map.swizzle = swizzles.at(value);
      expected = listKeys(swizzles);
    } else if (name == "type") {
      ok = types.count(value);
      if (ok)
        map.type = types.at(value);
      expected = listKeys(types);
    } else if (name == "fill") {
      ok = value == "nan" || value == "zero";
      map.fillNan = value == "nan";
      expected = "nan or zero";
    } else {
      return "expected a tensor-map field of box, dims, strides, "
             "elementstrides, swizzle, type or fill, but got '" +
             name + "'";
    }
    if (!ok)
      return "expected " + expected + " for tensor-map field '" + name +
             "', but got '" + value + "'";
  }
  if (!hasStrides) {
    sim::TensorMap probe;
    probe.type = map.type;
    uint64_t bytes = map.size[0] * probe.globalBits() / 8;
    for (unsigned d = 0; d + 1 < map.rank; ++d) {
      map.stride[d] = bytes;
      bytes *= map.size[d + 1];
    }
  }
  return {};
}

template <typename T>
std::string parseScalar(const std::string &number, const std::string &item,
                        std::vector<uint8_t> &bytes) {
  T value{};
  const char *end = number.data() + number.size();
  auto [stop, error] = std::from_chars(number.data(), end, value);
  if (error != std::errc() || stop != end) {
    std::string expected = "a number such as 1.5";
    if constexpr (std::is_integral_v<T>)
      expected = "an integer from " +
                 std::to_string(std::numeric_limits<T>::min()) + " to " +
                 std::to_string(std::numeric_limits<T>::max());
    return "expected " + expected + " behind the colon, but got '" + item + "'";
  }
  bytes.resize(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return {};
}

/// Pairs of hexadecimal digits.
std::string parseBytes(const std::string &digits, std::vector<uint8_t> &bytes) {
  bool ok = !digits.empty() && digits.size() % 2 == 0;
  for (size_t i = 0; ok && i < digits.size(); i += 2) {
    uint8_t byte = 0;
    const char *end = digits.data() + i + 2;
    auto [stop, error] = std::from_chars(digits.data() + i, end, byte, 16);
    ok = error == std::errc() && stop == end;
    bytes.push_back(byte);
  }
  return ok ? std::string()
            : "expected pairs of hexadecimal digits behind 'bytes:', but got "
              "'" +
                  digits + "'";
}

/// ARRAY or ARRAY;COUNT
std::string parsePeers(const std::string &text, Argument &argument) {
  std::vector<std::string> parts = split(text, ';');
  std::array<uint64_t, 1> places{};
  size_t count = 0;
  bool ok = parts.size() == 1 ||
            (parts.size() == 2 && parseList(parts[1], places, 1, count) &&
             places[0] <= 1024);
  if (!ok)
    return "expected peers(ARRAY) or peers(ARRAY;COUNT) with a count of "
           "pointers up to 1024, but got 'peers(" +
           text + ")'";
  argument.kind = Argument::Kind::Peers;
  argument.peers.resize(places[0]);
  argument.array.emplace();
  return parseArray(parts[0], *argument.array);
}

std::string parseArgument(const std::string &text, Argument &argument);

/// The items of an argument list or of a structure.
std::string parseItems(const std::string &text, const char *where,
                       std::vector<Argument> &arguments) {
  for (const std::string &item : split(text, ',')) {
    if (item.empty())
      return std::string("expected an item before and behind each comma of ") +
             where + ", but got none at the " +
             (arguments.empty() ? "start" : "end or between two") + " of '" +
             text + "'";
    Argument argument;
    std::string error = parseArgument(item, argument);
    if (!error.empty())
      return error;
    arguments.push_back(std::move(argument));
  }
  return {};
}

std::string parseArgument(const std::string &text, Argument &argument) {
  size_t colon = text.find(':');
  std::string prefix = text.substr(0, colon);
  std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (prefix == "i8")
    return parseScalar<int8_t>(rest, text, argument.bytes);
  else if (prefix == "u8")
    return parseScalar<uint8_t>(rest, text, argument.bytes);
  else if (prefix == "i16")
    return parseScalar<int16_t>(rest, text, argument.bytes);
  else if (prefix == "u16")
    return parseScalar<uint16_t>(rest, text, argument.bytes);
  else if (prefix == "f64")
    return parseScalar<double>(rest, text, argument.bytes);
  else if (prefix == "bytes") {
    argument.kind = Argument::Kind::Bytes;
    return parseBytes(rest, argument.bytes);
  } else if (prefix == "i32")
    return parseScalar<int32_t>(rest, text, argument.bytes);
  else if (prefix == "u32")
    return parseScalar<uint32_t>(rest, text, argument.bytes);
  else if (prefix == "i64")
    return parseScalar<int64_t>(rest, text, argument.bytes);
  else if (prefix == "u64")
    return parseScalar<uint64_t>(rest, text, argument.bytes);
  else if (prefix == "f32")
    return parseScalar<float>(rest, text, argument.bytes);
  else if (text.rfind("tensormap(", 0) == 0 && text.back() == ')')
    return parseMap(text.substr(10, text.size() - 11), argument);
  else if (text.rfind("peers(", 0) == 0 && text.back() == ')')
    return parsePeers(text.substr(6, text.size() - 7), argument);
  else if (text.rfind("struct(", 0) == 0 && text.back() == ')') {
    argument.kind = Argument::Kind::Struct;
    return parseItems(text.substr(7, text.size() - 8), "a structure",
                      argument.members);
  } else {
    argument.kind = Argument::Kind::Pointer;
    argument.array.emplace();
    return parseArray(text, *argument.array);
  }
}

} // namespace

static void replaceAll(std::string &text, const std::string &what,
                       unsigned number) {
  std::string with = std::to_string(number);
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos;)
    text.replace(at, what.size(), with);
}

std::string parseArguments(std::string text, unsigned rank, unsigned devices,
                           std::vector<Argument> &arguments) {
  if (text.empty())
    return {};
  replaceAll(text, "{rank}", rank);
  replaceAll(text, "{devices}", devices);
  return parseItems(text, "--args", arguments);
}

namespace {

/// Places the arrays of an argument called `name`.
void place(Argument &argument, const std::string &name,
           sim::DeviceMemory &memory) {
  for (Argument &member : argument.members)
    place(member, name, memory);
  if (!argument.array)
    return;
  Array &array = *argument.array;
  size_t size = array.contents.sizeInBytes();
  array.address = memory.allocate(
      size,
      name + (array.outputFile.empty() ? "" : " (" + array.outputFile + ")"));
  if (array.upload)
    memory.write(array.address, array.contents.data(), size);
}

/// Tells the same argument of each device where the arrays of all are.
void connect(const std::vector<Argument *> &ofDevices) {
  Argument &first = *ofDevices.front();
  for (size_t i = 0; i < first.members.size(); ++i) {
    std::vector<Argument *> members;
    for (Argument *argument : ofDevices)
      members.push_back(&argument->members[i]);
    connect(members);
  }
  if (first.kind != Argument::Kind::Peers)
    return;
  for (Argument *argument : ofDevices) {
    argument->peers.resize(std::max(argument->peers.size(), ofDevices.size()));
    for (size_t rank = 0; rank < ofDevices.size(); ++rank)
      argument->peers[rank] = ofDevices[rank]->array->address;
  }
}

/// Appends the bytes of an argument whose arrays have been placed, at their
/// alignment, which raises `alignment`.
std::string layOut(Argument &argument, std::vector<uint8_t> &bytes,
                   size_t &alignment) {
  auto align = [&](size_t to) {
    alignment = std::max(alignment, to);
    bytes.resize((bytes.size() + to - 1) / to * to);
  };
  auto append = [&](const void *data, size_t size, size_t to) {
    align(to);
    const auto *begin = static_cast<const uint8_t *>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  };
  if (argument.kind == Argument::Kind::Struct) {
    std::vector<uint8_t> inner;
    size_t own = 1;
    for (Argument &member : argument.members)
      if (std::string error = layOut(member, inner, own); !error.empty())
        return error;
    inner.resize((inner.size() + own - 1) / own * own);
    append(inner.data(), inner.size(), own);
    return {};
  }
  if (!argument.array) {
    bool isScalar = argument.kind == Argument::Kind::Scalar;
    append(argument.bytes.data(), argument.bytes.size(),
           isScalar ? argument.bytes.size() : 1);
    return {};
  }
  if (argument.kind == Argument::Kind::Peers) {
    append(argument.peers.data(), argument.peers.size() * 8, 8);
    return {};
  }
  Array &array = *argument.array;
  if (argument.kind == Argument::Kind::Pointer) {
    append(&array.address, 8, 8);
    return {};
  }
  argument.map.address = array.address;
  sim::TensorMap map;
  std::string error = encodeTensorMap(argument.map, map);
  uint8_t image[128] = {};
  std::memcpy(image, &map, sizeof map);
  append(image, sizeof image, 64);
  return error;
}

void collectOutputs(const Argument &argument,
                    std::vector<const Array *> &outputs) {
  if (argument.array && !argument.array->outputFile.empty())
    outputs.push_back(&*argument.array);
  for (const Argument &member : argument.members)
    collectOutputs(member, outputs);
}

} // namespace

std::vector<const Array *> outputsOf(const std::vector<Argument> &arguments) {
  std::vector<const Array *> outputs;
  for (const Argument &argument : arguments)
    collectOutputs(argument, outputs);
  return outputs;
}

static std::string fill(std::vector<Argument> &arguments,
                        const sim::Kernel &kernel,
                        std::vector<uint8_t> &parameters) {
  const sim::Function &function = *kernel.function;
  if (arguments.size() != function.parameters.size())
    return "expected " + std::to_string(function.parameters.size()) +
           " arguments for kernel '" + kernel.name + "', but got " +
           std::to_string(arguments.size());
  parameters.assign(function.parameterBytes, 0);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const sim::Symbol &symbol = kernel.module->symbols[function.parameters[i]];
    std::vector<uint8_t> bytes;
    size_t alignment = 1;
    if (std::string error = layOut(arguments[i], bytes, alignment);
        !error.empty())
      return "argument " + std::to_string(i) + ": " + error;
    if (bytes.size() != symbol.size)
      return "expected " + std::to_string(symbol.size) +
             " bytes for parameter " + std::to_string(i) + " '" + symbol.name +
             "', but got " + std::to_string(bytes.size());
    std::memcpy(&parameters[symbol.offset], bytes.data(), bytes.size());
  }
  return {};
}

std::string placeArguments(std::vector<DeviceArguments> &devices,
                           const sim::Kernel &kernel) {
  const std::vector<int32_t> &names = kernel.function->parameters;
  size_t count = std::min(devices.front().arguments.size(), names.size());
  for (size_t i = 0; i < count; ++i) {
    std::vector<Argument *> same;
    for (DeviceArguments &device : devices) {
      same.push_back(&device.arguments[i]);
      place(*same.back(), kernel.module->symbols[names[i]].name,
            *device.memory);
    }
    connect(same);
  }
  for (DeviceArguments &device : devices)
    if (std::string error = fill(device.arguments, kernel, device.parameters);
        !error.empty())
      return error;
  return {};
}

} // namespace nvfp4::simtool
