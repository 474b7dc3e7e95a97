//===- TensorTest.cpp - Shapes, storage and statistics of tensors ---------===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sizes are checked for overflow, storage is shared or private as documented.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Tensor.h"
#include "TestFiles.h"
#include "nvfp4/TensorIO/Statistics.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace nvfp4::tensorio;
using namespace nvfp4::tensorio::test;

TEST(TensorTest, DefaultIsEmpty) {
  Tensor tensor;
  EXPECT_EQ(tensor.describe(), "[0] u8");
  EXPECT_EQ(tensor.numElements(), 0);
}

TEST(TensorTest, ScalarHasOneElement) {
  Tensor tensor = *Tensor::allocate(DType::F32, {});
  EXPECT_EQ(tensor.describe(), "[] f32");
  EXPECT_EQ(tensor.numElements(), 1);
  EXPECT_EQ(tensor.at(0), 0.0);
}

TEST(TensorTest, RefusesImpossibleShapes) {
  EXPECT_EQ(Tensor::allocate(DType::F32, {2, -1}).message(),
            "expected dimensions of at least 0, but got shape [2, -1]");
  EXPECT_EQ(Tensor::allocate(DType::U8, {1ll << 32, 1ll << 31}).message(),
            "expected fewer than 2^63 elements, but got shape "
            "[4294967296, 2147483648]");
  EXPECT_EQ(Tensor::allocate(DType::F64, {1ll << 60}).message(),
            "expected fewer than 2^63 bytes, but got shape "
            "[1152921504606846976] of f64");
  EXPECT_EQ(Tensor::allocate(DType::U8, std::vector<int64_t>(65, 1)).message(),
            "expected a rank of at most 64, but got 65");
}

TEST(TensorTest, ZeroDoesNotHideOverflow) {
  EXPECT_EQ(
      countElements(std::vector<int64_t>{0, 1ll << 40, 1ll << 40}).message(),
      "expected fewer than 2^63 elements, but got shape "
      "[0, 1099511627776, 1099511627776]");
}

/// AddressSanitizer's allocator ends the process on a request it cannot meet,
/// unless told to fail as the system's does.
extern "C" const char *__asan_default_options() {
  return "allocator_may_return_null=1";
}

TEST(TensorTest, RefusesMemoryThatIsNotThere) {
  EXPECT_EQ(Tensor::allocate(DType::U8, {1ll << 62}).message(),
            "cannot allocate 4611686018427387904 bytes for "
            "[4611686018427387904] u8");
}

TEST(TensorTest, ViewChecksItsSize) {
  std::string data(7, '\0');
  EXPECT_EQ(Tensor::view(DType::F32, {2}, asBytes(data), nullptr).message(),
            "expected 8 bytes for [2] f32, but got 7");
}

TEST(TensorTest, ViewKeepsItsOwner) {
  auto owner = std::make_shared<std::string>("abcd");
  std::weak_ptr<std::string> watch = owner;
  Tensor tensor = *Tensor::view(DType::U8, {4}, asBytes(*owner), owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_FALSE(tensor.isWritable());
  EXPECT_EQ(tensor.at(3), 'd');
  tensor = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(TensorTest, CopiesShareAndClonesDoNot) {
  Tensor tensor = counting(DType::U8, {4});
  Tensor shared = tensor;
  Tensor copy = *tensor.clone();
  tensor.mutableBytes()[0] = std::byte{99};
  EXPECT_EQ(shared.at(0), 99);
  EXPECT_EQ(copy.at(0), 1);
}

TEST(TensorTest, ReadsUnalignedViews) {
  std::string data = "x";
  data += rawBytes<float>({1.5f, -2.0f});
  Tensor tensor =
      *Tensor::view(DType::F32, {2}, asBytes(data).subspan(1), nullptr);
  EXPECT_EQ(values(tensor), (std::vector<double>{1.5, -2.0}));
  Tensor aligned = *tensor.aligned();
  EXPECT_TRUE(aligned.isAligned(ownedAlignment));
  EXPECT_TRUE(sameTensor(tensor, aligned));
}

TEST(TensorTest, ReinterpretAndReshapeCheckSizes) {
  Tensor tensor = counting(DType::U8, {2, 3});
  EXPECT_EQ(tensor.reinterpret(DType::F8E4M3FN)->describe(),
            "[2, 3] f8_e4m3fn");
  EXPECT_EQ(tensor.reinterpret(DType::F16).message(),
            "expected a type of 1 bytes to read u8 as, but got f16 of 2");
  EXPECT_EQ(tensor.reshape({3, 2})->describe(), "[3, 2] u8");
  EXPECT_EQ(tensor.reshape({4}).message(),
            "expected a shape of 6 elements, but got [4] of 4");
}

TEST(TensorTest, StatisticsOfEveryWidth) {
  float nan = std::nanf(""), inf = HUGE_VALF;
  Tensor wide = *Tensor::copyOf(
      DType::F32, {5}, asBytes(rawBytes<float>({1, nan, -inf, 7, nan})));
  Statistics result = computeStatistics(wide);
  EXPECT_EQ(result.elements, 5);
  EXPECT_EQ(result.nans, 2);
  EXPECT_EQ(result.infinities, 1);
  EXPECT_EQ(result.min, -HUGE_VAL);
  EXPECT_EQ(result.max, 7);

  result = computeStatistics(counting(DType::F8E4M3FN, {256}, 0));
  EXPECT_EQ(result.elements, 256);
  EXPECT_EQ(result.nans, 2);
  EXPECT_EQ(result.min, -448);
  EXPECT_EQ(result.max, 448);

  result = computeStatistics(*Tensor::copyOf(
      DType::BF16, {3}, asBytes(rawBytes<uint16_t>({0x3f80, 0xc000, 0x3f80}))));
  EXPECT_EQ(result.elements, 3);
  EXPECT_EQ(result.min, -2);
  EXPECT_EQ(result.max, 1);

  EXPECT_FALSE(computeStatistics(Tensor()).hasRange());
}
