//===- FatBinary.cpp - PTX inside fat binaries ------------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Zstandard frames are decoded by the system's libzstd, which is opened when
// the first one is met.
//
//===----------------------------------------------------------------------===//

#include "FatBinary.h"

#include <cstring>
#include <dlfcn.h>

using namespace nvfp4::simcuda;

namespace {

constexpr uint32_t wrapperMagic = 0x466243b1;
constexpr uint32_t fatMagic = 0xba55ed50;
constexpr uint16_t kindPtx = 1;
constexpr uint64_t flagLz4 = 0x2000;
constexpr uint64_t flagZstd = 0x8000;
/// Far above any real module; a header that says more is broken.
constexpr uint64_t maximumText = uint64_t{1} << 30;

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const void *data;
  void *unused;
};

struct FatHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t headerSize;
  uint64_t size;
};
static_assert(sizeof(FatHeader) == 16);

struct EntryHeader {
  uint16_t kind;
  uint16_t version;
  uint32_t headerSize;
  uint64_t size;
  /// Bytes of the compressed part; the payload is padded to 8 bytes.
  uint32_t compressedSize;
  uint32_t unknown;
  uint16_t minor;
  uint16_t major;
  uint32_t architecture;
  uint32_t unknown2[2];
  uint64_t flags;
  uint64_t zero;
  uint64_t decodedSize;
};
static_assert(sizeof(EntryHeader) == 64);

/// Decodes with libzstd; returns what is wrong, or an empty string.
std::string decodeZstd(const uint8_t *data, size_t size, size_t decodedSize,
                       std::string &result) {
  using Decompress = size_t (*)(void *, size_t, const void *, size_t);
  static const auto decompress = [] {
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Decompress>(
        library ? dlsym(library, "ZSTD_decompress") : nullptr);
  }();
  if (!decompress)
    return "the PTX is compressed with Zstandard and libzstd.so.1 is not "
           "installed: build with nvcc --compress-mode=none";
  result.assign(decodedSize, '\0');
  if (decompress(result.data(), decodedSize, data, size) != decodedSize)
    return "the compressed PTX is damaged";
  return {};
}

std::string readEntry(const EntryHeader &entry, const uint8_t *payload,
                      FatBinary &result) {
  FatBinary::Ptx ptx;
  ptx.architecture = entry.architecture;
  if (entry.flags & (flagLz4 | flagZstd)) {
    if (entry.compressedSize > entry.size || entry.decodedSize > maximumText)
      return "the sizes of a compressed entry are out of range";
    if (entry.flags & flagZstd) {
      std::string error = decodeZstd(payload, entry.compressedSize,
                                     entry.decodedSize, ptx.text);
      if (!error.empty())
        return error;
    } else if (!decodeLz4(payload, entry.compressedSize, entry.decodedSize,
                          ptx.text)) {
      return "the compressed PTX is damaged";
    }
  } else {
    ptx.text.assign(reinterpret_cast<const char *>(payload), entry.size);
  }
  // Text is padded with zeros.
  ptx.text.resize(std::strlen(ptx.text.c_str()));
  result.ptx.push_back(std::move(ptx));
  return {};
}

} // namespace

/// The image may be a text shorter than the number.
static bool startsWith(const void *image, uint32_t magic) {
  auto *bytes = static_cast<const uint8_t *>(image);
  for (unsigned i = 0; i < 4; ++i)
    if (bytes[i] != (magic >> 8 * i & 255))
      return false;
  return true;
}

bool nvfp4::simcuda::isFatBinary(const void *image) {
  return startsWith(image, wrapperMagic) || startsWith(image, fatMagic);
}

std::string nvfp4::simcuda::readFatBinary(const void *image,
                                          FatBinary &result) {
  auto *data = static_cast<const uint8_t *>(image);
  if (startsWith(data, wrapperMagic)) {
    Wrapper wrapper;
    std::memcpy(&wrapper, data, sizeof wrapper);
    data = static_cast<const uint8_t *>(wrapper.data);
  }
  if (!data)
    return "the wrapper holds no fat binary";
  // Several fat binaries may follow each other: one for each object file.
  for (bool first = true;; first = false) {
    FatHeader header;
    std::memcpy(&header, data, sizeof header);
    if (header.magic != fatMagic || header.version != 1 ||
        header.headerSize < sizeof header) {
      if (!first)
        return {};
      return "the data are no fat binary of a known version";
    }
    uint64_t offset = 0;
    data += header.headerSize;
    while (offset + sizeof(EntryHeader) <= header.size) {
      EntryHeader entry;
      std::memcpy(&entry, data + offset, sizeof entry);
      if (entry.headerSize < sizeof entry ||
          entry.headerSize > header.size - offset ||
          entry.size > header.size - offset - entry.headerSize)
        return "an entry reaches past the end of the fat binary";
      if (entry.kind == kindPtx) {
        std::string error =
            readEntry(entry, data + offset + entry.headerSize, result);
        if (!error.empty())
          return error;
      } else {
        ++result.machineCode;
      }
      offset += entry.headerSize + entry.size;
    }
    // An empty header stands before the one with the contents.
    if (header.size != 0)
      return {};
    data += header.size;
  }
}

bool nvfp4::simcuda::decodeLz4(const uint8_t *data, size_t size,
                               size_t decodedSize, std::string &result) {
  result.clear();
  result.reserve(decodedSize);
  size_t at = 0;
  // A length of 15 goes on in bytes that are added until one is not 255.
  auto readLength = [&](size_t length) {
    if (length == 15)
      for (uint8_t more = 255; more == 255 && at < size; length += more)
        more = data[at++];
    return length;
  };
  while (at < size) {
    uint8_t token = data[at++];
    size_t literals = readLength(token >> 4);
    if (literals > size - at || literals > decodedSize - result.size())
      return false;
    result.append(reinterpret_cast<const char *>(data + at), literals);
    at += literals;
    if (at == size)
      break; // the last sequence has no match
    if (size - at < 2)
      return false;
    size_t distance = data[at] | data[at + 1] << 8;
    at += 2;
    size_t length = readLength(token & 15) + 4;
    if (distance == 0 || distance > result.size() ||
        length > decodedSize - result.size())
      return false;
    for (size_t i = 0; i < length; ++i)
      result.push_back(result[result.size() - distance]);
  }
  return result.size() == decodedSize;
}
