//===- TensorRef.cpp - Tensors named on a command line ----------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing of specifications and loading through open checkpoints.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/TensorRef.h"
#include "Text.h"
#include "nvfp4/TensorIO/Npy.h"

#include <algorithm>

namespace nvfp4::tensorio {

Expected<TensorRef> TensorRef::parse(std::string_view spec) {
  TensorRef ref;
  std::string_view rest = spec;
  if (size_t mark = rest.rfind('@');
      mark != std::string_view::npos &&
      rest.find_first_of("./:", mark) == std::string_view::npos) {
    std::string_view type = rest.substr(mark + 1);
    ref.dtype = parseDType(type);
    if (!ref.dtype)
      return errorIn(spec, "expected a type after '@' (", listDTypeNames(),
                     "), but got ", inQuotes(type));
    rest = rest.substr(0, mark);
  }
  // The end of the path: the first place where one of the marks stands.
  size_t colon = std::string_view::npos;
  for (std::string_view mark : {".safetensors:", ".json:", "/:"})
    if (size_t position = rest.find(mark); position != std::string_view::npos)
      colon = std::min(colon, position + mark.size() - 1);
  if (colon != std::string_view::npos) {
    ref.kind = Kind::Safetensors;
    ref.path = rest.substr(0, colon);
    ref.tensor = rest.substr(colon + 1);
    if (ref.tensor.empty())
      return errorIn(spec, "expected the name of a tensor after ':', but got "
                           "nothing");
    return ref;
  }
  ref.path = rest;
  if (rest.ends_with(".npy"))
    return ref;
  if (rest.ends_with(".safetensors") || rest.ends_with(".json") ||
      rest.ends_with('/')) {
    ref.kind = Kind::Safetensors;
    return ref;
  }
  return errorIn(spec,
                 "expected 'file.npy', 'file.safetensors:tensor', "
                 "'index.json:tensor' or 'directory/:tensor', but got ",
                 inQuotes(rest));
}

std::string TensorRef::str() const {
  std::string out = path;
  if (!tensor.empty())
    out += ":" + tensor;
  if (dtype)
    out += concat("@", dtypeName(*dtype));
  return out;
}

Expected<Tensor> TensorLoader::load(const TensorRef &ref) {
  if (ref.kind == TensorRef::Kind::Npy)
    return readNpy(ref.path, {ref.dtype});
  std::shared_ptr<const Checkpoint> &checkpoint = open[ref.path];
  if (!checkpoint) {
    Expected<Checkpoint> opened = Checkpoint::open(ref.path);
    if (!opened)
      return opened.takeError();
    checkpoint = std::make_shared<const Checkpoint>(*std::move(opened));
  }
  if (!ref.tensor.empty())
    return checkpoint->tensor(ref.tensor, ref.dtype);
  std::vector<std::string> names = checkpoint->names();
  if (names.size() == 1)
    return checkpoint->tensor(names.front(), ref.dtype);
  std::string list;
  for (size_t i = 0; i < names.size() && i < 4; ++i)
    list += concat(i ? ", " : ": ", inQuotes(names[i]));
  if (names.size() > 4)
    list += ", ...";
  return errorIn(ref.path,
                 "expected ':' and the name of a tensor, but got "
                 "none, and the file has ",
                 names.size(), list);
}

Expected<Tensor> TensorLoader::load(std::string_view spec) {
  Expected<TensorRef> ref = TensorRef::parse(spec);
  if (!ref)
    return ref.takeError();
  return load(*ref);
}

} // namespace nvfp4::tensorio
