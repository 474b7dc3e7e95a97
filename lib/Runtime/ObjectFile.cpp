//===- ObjectFile.cpp - Whether a shared object is whole --------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the ELF header and the program headers, and compares where segments and
// both tables of headers end with the size of the file.
//
//===----------------------------------------------------------------------===//

#include "ObjectFile.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>

using namespace nvfp4;

/// Saturates, so that wrong offsets are too large rather than small.
static uint64_t add(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

template <typename T>
static bool readAt(std::ifstream &stream, uint64_t offset, T &value) {
  return stream.seekg(static_cast<std::streamoff>(offset)) &&
         stream.read(reinterpret_cast<char *>(&value), sizeof value);
}

static std::string tooShort(uint64_t needed, uint64_t size) {
  return "expected " + (needed == UINT64_MAX ? "the" : std::to_string(needed)) +
         " bytes that its ELF headers speak of, but got " +
         std::to_string(size) + "; the file is truncated or damaged";
}

std::string runtime::problemOfObjectFile(const std::string &file) {
  struct stat status;
  if (stat(file.c_str(), &status))
    return {};
  if (!S_ISREG(status.st_mode))
    return "expected a shared object, but it is no regular file";
  auto size = static_cast<uint64_t>(status.st_size);
  if (size == 0)
    return "expected a shared object, but the file is empty";
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    return {};
  char magic[SELFMAG] = {};
  stream.read(magic, std::min<std::streamsize>(SELFMAG, status.st_size));
  if (std::memcmp(magic, ELFMAG, SELFMAG))
    return "expected a shared object, but the file does not start as an ELF "
           "file does";
  Elf64_Ehdr header;
  if (size < sizeof header || !readAt(stream, 0, header))
    return tooShort(sizeof header, size);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB)
    return {};
  if (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr))
    return "expected program headers of " + std::to_string(sizeof(Elf64_Phdr)) +
           " bytes, but got " + std::to_string(header.e_phentsize) +
           "; the file is damaged";
  uint64_t needed =
      add(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
  if (header.e_shoff)
    needed = std::max(needed, add(header.e_shoff, uint64_t{header.e_shnum} *
                                                      header.e_shentsize));
  if (needed > size)
    return tooShort(needed, size);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!readAt(stream, header.e_phoff + i * sizeof segment, segment))
      return tooShort(needed, size);
    if (segment.p_type == PT_LOAD)
      needed = std::max(needed, add(segment.p_offset, segment.p_filesz));
  }
  return needed > size ? tooShort(needed, size) : std::string();
}
