//===- ProductCase.cpp - a product, its IR and its expected result --------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs a case under one set of options, or on every instruction set of this
// machine, which must agree to the bit.
//
//===----------------------------------------------------------------------===//

#include "ProductCase.h"

#include "ProductRunner.h"

#include "gtest/gtest.h"

namespace nvfp4::gsg::cpu {

std::vector<uint8_t> ProductRunner::run() {
  makeOperands();
  std::string module = makeModule();
  auto engine = compile(module, options);
  if (!engine) {
    ADD_FAILURE() << p.describe() << ": does not compile\n" << module;
    return {};
  }
  if (!cpu::run(*engine, args, options)) {
    ADD_FAILURE() << p.describe() << ": does not run";
    return {};
  }
  compare();
  std::vector<uint8_t> bytes;
  for (Buffer *buffer : {out, preact, amax, quantized.data, quantized.scales})
    if (buffer)
      bytes.insert(bytes.end(), buffer->bytes(),
                   buffer->bytes() + buffer->byteCount());
  return bytes;
}

std::string ProductCase::describe() const {
  std::string text = stringifyGroupingKind(kind).str() + " " +
                     std::string(format::stringify(format)) + " sizes";
  for (int64_t size : sizes)
    text += " " + std::to_string(size);
  text += " rows " + std::to_string(rows) + " N " + std::to_string(columns) +
          " K " + std::to_string(depth) + " " + activation;
  return text;
}

std::vector<uint8_t> checkCase(const ProductCase &product,
                               const RunOptions &options) {
  return ProductRunner(product, options).run();
}

void checkEverywhere(const ProductCase &product) {
  std::vector<uint8_t> first = checkCase(product, {"generic", 0});
  for (Isa isa : {Isa::AVX2, Isa::AVX512VNNI, Isa::AMX}) {
    if (static_cast<int>(isa) > static_cast<int>(detectHostIsa()))
      continue;
    EXPECT_EQ(first, checkCase(product, {stringify(isa).str(), 0}))
        << product.describe() << ": " << stringify(isa).str();
  }
}

} // namespace nvfp4::gsg::cpu
