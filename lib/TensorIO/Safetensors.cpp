//===- Safetensors.cpp - Reader of safetensors files ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks that the header describes the data section without holes or overlaps
// before any tensor is handed out.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Safetensors.h"
#include "SafetensorsDType.h"
#include "SafetensorsHeader.h"
#include "Text.h"
#include "nvfp4/TensorIO/MappedFile.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace nvfp4::tensorio {

/// Checks type, shape and size of `entry` and sets its dtype.
static Status checkEntry(const std::string &file, SafetensorsEntry &entry) {
  const SafetensorsDType *type = nullptr;
  for (const SafetensorsDType &candidate : safetensorsDTypes)
    if (candidate.name == entry.fileDType)
      type = &candidate;
  if (!type) {
    NearestName nearest(entry.fileDType);
    for (const SafetensorsDType &candidate : safetensorsDTypes)
      nearest.offer(candidate.name);
    return errorIn(file, "expected a dtype of the format for tensor ",
                   inQuotes(entry.name), ", but got ",
                   inQuotes(entry.fileDType), nearest.suggestion());
  }
  entry.dtype = type->dtype;

  Expected<int64_t> elements = countElements(entry.shape);
  if (!elements)
    return errorIn(file, "tensor ", inQuotes(entry.name), ": ",
                   elements.message());
  uint64_t bits;
  if (__builtin_mul_overflow(uint64_t(*elements), uint64_t(type->bits), &bits))
    return errorIn(file, "expected fewer than 2^64 bits for tensor ",
                   inQuotes(entry.name), ", but got shape ",
                   formatShape(entry.shape), " of ", entry.fileDType);
  if (bits % 8)
    return errorIn(file, "expected whole bytes for tensor ",
                   inQuotes(entry.name), ", but got ", bits, " bits (",
                   formatShape(entry.shape), " ", entry.fileDType, ")");
  if (entry.begin > entry.end)
    return errorIn(file, "expected data_offsets in rising order for tensor ",
                   inQuotes(entry.name), ", but got [", entry.begin, ", ",
                   entry.end, "]");
  if (entry.end - entry.begin != bits / 8)
    return errorIn(file, "expected ", bits / 8, " bytes for tensor ",
                   inQuotes(entry.name), " (", formatShape(entry.shape), " ",
                   entry.fileDType, "), but data_offsets [", entry.begin, ", ",
                   entry.end, "] span ", entry.end - entry.begin);
  return {};
}

/// Checks that the sorted `entries` cover `size` bytes exactly once.
static Status checkCover(const std::string &file,
                         std::span<const SafetensorsEntry> entries,
                         uint64_t size) {
  uint64_t covered = 0;
  const SafetensorsEntry *previous = nullptr;
  for (const SafetensorsEntry &entry : entries) {
    if (entry.end > size)
      return errorIn(file, "expected data_offsets within the ", size,
                     " bytes of data for tensor ", inQuotes(entry.name),
                     ", but got [", entry.begin, ", ", entry.end, "]");
    if (entry.begin < covered)
      return errorIn(file, "expected tensors that do not overlap, but ",
                     inQuotes(entry.name), " starts at ", entry.begin,
                     " before ", inQuotes(previous->name), " ends at ",
                     covered);
    if (entry.begin > covered)
      return errorIn(file, "expected tensor ", inQuotes(entry.name),
                     " to start at ", covered, " where the one before it ",
                     "ends, but got ", entry.begin);
    covered = entry.end;
    previous = &entry;
  }
  if (covered != size)
    return errorIn(file, "expected the tensors to fill the ", size,
                   " bytes of data, but they end at ", covered);
  return {};
}

Expected<SafetensorsFile>
SafetensorsFile::parse(const std::string &name,
                       std::span<const std::byte> bytes,
                       std::shared_ptr<const void> owner) {
  uint64_t headerLength;
  if (bytes.size() < sizeof(headerLength))
    return errorIn(name,
                   "expected a header length of 8 bytes, but the file "
                   "ends after ",
                   bytes.size());
  std::memcpy(&headerLength, bytes.data(), sizeof(headerLength));
  bytes = bytes.subspan(sizeof(headerLength));
  if (headerLength > maxSafetensorsHeader)
    return errorIn(name, "expected a header of at most ", maxSafetensorsHeader,
                   " bytes, but got ", headerLength);
  if (headerLength > bytes.size())
    return errorIn(name, "expected a header of ", headerLength,
                   " bytes, but the file ends after ", bytes.size(),
                   " of them");
  std::string_view text(reinterpret_cast<const char *>(bytes.data()),
                        headerLength);
  if (!text.starts_with('{'))
    return errorIn(name, "expected a header that starts with '{', but got ",
                   inQuotes(text.substr(0, 8)));

  Expected<SafetensorsHeader> header = parseSafetensorsHeader(name, text);
  if (!header)
    return header.takeError();

  SafetensorsFile file;
  file.name = name;
  file.tensors = std::move(header->entries);
  file.attributes = std::move(header->metadata);
  file.data = bytes.subspan(headerLength);
  file.owner = std::move(owner);
  for (SafetensorsEntry &entry : file.tensors)
    if (Status status = checkEntry(name, entry); !status)
      return status.takeError();
  // Empty tensors come before the one that starts at the same place.
  std::ranges::sort(file.tensors, {}, [](const SafetensorsEntry &entry) {
    return std::tuple(entry.begin, entry.end, std::string_view(entry.name));
  });
  if (Status status = checkCover(name, file.tensors, file.data.size()); !status)
    return status.takeError();
  for (size_t i = 0; i < file.tensors.size(); ++i)
    file.index.emplace(file.tensors[i].name, i);
  return file;
}

Expected<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  Expected<std::shared_ptr<const MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  return parse(path, (*file)->bytes(), *file);
}

const SafetensorsEntry *
SafetensorsFile::find(std::string_view tensorName) const {
  auto position = index.find(tensorName);
  return position == index.end() ? nullptr : &tensors[position->second];
}

Expected<Tensor> SafetensorsFile::tensor(std::string_view tensorName,
                                         std::optional<DType> dtype) const {
  const SafetensorsEntry *entry = find(tensorName);
  if (!entry) {
    NearestName nearest(tensorName);
    for (const SafetensorsEntry &candidate : tensors)
      nearest.offer(candidate.name);
    return errorIn(name, "expected a tensor ", inQuotes(tensorName),
                   ", but the file has none of that name",
                   nearest.suggestion());
  }
  if (!entry->dtype)
    return errorIn(name, "expected a supported dtype for tensor ",
                   inQuotes(entry->name), ", but got ", entry->fileDType);
  std::vector<int64_t> shape = entry->shape;
  if (entry->fileDType == "F4") {
    if (shape.empty() || shape.back() % 2)
      return errorIn(name, "expected an even last dimension for the packed F4 ",
                     "tensor ", inQuotes(entry->name), ", but got ",
                     formatShape(shape));
    shape.back() /= 2;
  }
  DType chosen = dtype.value_or(*entry->dtype);
  if (chosen != *entry->dtype) {
    if (dtypeSize(chosen) != dtypeSize(*entry->dtype))
      return errorIn(name, "expected ", dtypeName(chosen), " of ",
                     dtypeSize(chosen), " bytes for tensor ",
                     inQuotes(entry->name), ", but got ", entry->fileDType,
                     " of ", dtypeSize(*entry->dtype));
    if (!isIntegral(*entry->dtype) || entry->fileDType == "F4")
      return errorIn(name, "expected integer data to read as ",
                     dtypeName(chosen), " for tensor ", inQuotes(entry->name),
                     ", but got ", entry->fileDType);
  }
  return Tensor::view(chosen, std::move(shape),
                      data.subspan(entry->begin, entry->end - entry->begin),
                      owner);
}

} // namespace nvfp4::tensorio
