//===- NpyTest.cpp - Reader and writer of .npy files ------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Round trips of every type, files put together by hand, and one damaged file
// for each diagnostic.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/Npy.h"
#include "TestFiles.h"

#include <gtest/gtest.h>

using namespace nvfp4::tensorio;
using namespace nvfp4::tensorio::test;

static Expected<Tensor> parse(std::string content,
                              std::optional<DType> dtype = std::nullopt) {
  auto owner = std::make_shared<std::string>(std::move(content));
  return parseNpy("f", asBytes(*owner), owner, {dtype});
}

static std::string dictionary(std::string_view descr, std::string_view shape,
                              bool fortran = false) {
  return "{'descr': " + std::string(descr) +
         ", 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + std::string(shape) + ", }\n";
}

class NpyRoundTrip : public testing::TestWithParam<DType> {};

TEST_P(NpyRoundTrip, KeepsTypeShapeAndBytes) {
  TemporaryDirectory directory;
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{}, {0}, {7}, {3, 0, 2}, {2, 3, 4}}) {
    Tensor tensor = counting(GetParam(), shape);
    std::string path = directory / "a.npy";
    ASSERT_EQ(writeNpy(path, tensor).message(), "");
    Expected<Tensor> back = readNpy(path);
    ASSERT_TRUE(back) << back.message();
    EXPECT_TRUE(sameTensor(tensor, *back)) << back->describe();
    EXPECT_TRUE(back->sizeInBytes() == 0 || back->isAligned(64));
  }
  EXPECT_EQ(directory.countFiles(), 1u);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, NpyRoundTrip,
                         testing::ValuesIn(allDTypes().begin(),
                                           allDTypes().end()),
                         [](const auto &info) {
                           return std::string(dtypeName(info.param));
                         });

TEST(NpyTest, HeaderIsAlignedForTheLargestRank) {
  for (size_t rank : {size_t(0), size_t(1), size_t(2), maxRank}) {
    std::string header =
        encodeNpyHeader(DType::F32, std::vector<int64_t>(rank, INT64_MAX));
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.back(), '\n');
    EXPECT_EQ(size_t(uint8_t(header[8])) + 256 * uint8_t(header[9]) + 10,
              header.size());
  }
}

TEST(NpyTest, ReadsVersions2And3) {
  std::string data = rawBytes<float>({1, 2});
  for (int major : {1, 2, 3})
    EXPECT_EQ(values(*parse(npyFile(dictionary("'<f4'", "(2,)"), data, major))),
              (std::vector<double>{1, 2}));
}

TEST(NpyTest, ReadsAnyKeyOrderQuotesAndPython2Integers) {
  std::string header = "{ \"shape\" :( 2L ,3L ),'fortran_order':False,"
                       "\"descr\":'|u1'}   ";
  Expected<Tensor> tensor = parse(npyFile(header, "abcdef"));
  ASSERT_TRUE(tensor) << tensor.message();
  EXPECT_EQ(tensor->describe(), "[2, 3] u8");
}

TEST(NpyTest, SwapsBigEndian) {
  std::string data("\x3f\x80\0\0\xc0\0\0\0", 8);
  EXPECT_EQ(values(*parse(npyFile(dictionary("'>f4'", "(2,)"), data))),
            (std::vector<double>{1, -2}));
}

TEST(NpyTest, ConvertsFortranOrder) {
  // Element (i, j, k) of shape [2, 3, 4] is i + 10 j + 100 k, stored with i
  // fastest.
  std::string data;
  for (uint16_t k = 0; k < 4; ++k)
    for (uint16_t j = 0; j < 3; ++j)
      for (uint16_t i = 0; i < 2; ++i)
        data += rawBytes<uint16_t>({uint16_t(i + 10 * j + 100 * k)});
  Tensor tensor = *parse(npyFile(dictionary("'<u2'", "(2, 3, 4)", true), data));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        EXPECT_EQ(tensor.at((i * 3 + j) * 4 + k), i + 10 * j + 100 * k);
}

TEST(NpyTest, ConvertsFortranOrderBigEndian) {
  std::string data("\0\1\0\3\0\2\0\4", 8);
  EXPECT_EQ(values(*parse(npyFile(dictionary("'>i2'", "(2, 2)", true), data))),
            (std::vector<double>{1, 2, 3, 4}));
}

TEST(NpyTest, FortranOrderOfZeroElements) {
  EXPECT_EQ(parse(npyFile(dictionary("'<f4'", "(0, 5)", true), ""))->describe(),
            "[0, 5] f32");
}

TEST(NpyTest, ReadsTypesThatNumpyLacks) {
  EXPECT_EQ(parse(npyFile(dictionary("'<V2'", "()"), "ab"))->dtype(),
            DType::BF16);
  EXPECT_EQ(parse(npyFile(dictionary("'<f1'", "()"), "a"))->dtype(),
            DType::F8E5M2);
  EXPECT_EQ(
      parse(npyFile(dictionary("[('bfloat16', '<u2')]", "()"), "ab"))->dtype(),
      DType::BF16);
  EXPECT_EQ(
      parse(npyFile(dictionary("[('bfloat16', '<u2', (1,))]", "()"), "ab"))
          ->dtype(),
      DType::BF16);
  EXPECT_EQ(parse(npyFile(dictionary("[('float8_e8m0fnu', '|V1')]", "()"), "a"))
                ->dtype(),
            DType::F8E8M0FNU);
  EXPECT_EQ(parse(npyFile(dictionary("[('x', '<f4')]", "()"), "abcd"))->dtype(),
            DType::F32);
}

TEST(NpyTest, CallerNamesTheTypeOfRawAndIntegerData) {
  EXPECT_EQ(
      parse(npyFile(dictionary("'|V1'", "()"), "a"), DType::F8E4M3FN)->dtype(),
      DType::F8E4M3FN);
  EXPECT_EQ(
      parse(npyFile(dictionary("'<V2'", "()"), "ab"), DType::F16)->dtype(),
      DType::F16);
  EXPECT_EQ(
      parse(npyFile(dictionary("'|u1'", "()"), "a"), DType::F8E8M0FNU)->dtype(),
      DType::F8E8M0FNU);
  EXPECT_EQ(
      parse(npyFile(dictionary("'<f4'", "()"), "abcd"), DType::F32)->dtype(),
      DType::F32);
}

TEST(NpyTest, OverwritesAFileThatIsMapped) {
  TemporaryDirectory directory;
  std::string path = directory / "a.npy";
  ASSERT_TRUE(writeNpy(path, counting(DType::U8, {4096})));
  Tensor old = *readNpy(path);
  ASSERT_TRUE(writeNpy(path, counting(DType::U8, {1})));
  EXPECT_TRUE(sameTensor(old, counting(DType::U8, {4096})));
  EXPECT_EQ(readNpy(path)->numElements(), 1);
}

TEST(NpyTest, FollowsSymbolicLinksWhenWriting) {
  TemporaryDirectory directory;
  directory.write("target.npy", "old");
  std::filesystem::create_symlink("target.npy", directory / "link.npy");
  ASSERT_TRUE(writeNpy(directory / "link.npy", counting(DType::U8, {3})));
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link.npy"));
  EXPECT_EQ(readNpy(directory / "target.npy")->numElements(), 3);
}

TEST(NpyTest, NamesTheFileThatCannotBeOpened) {
  TemporaryDirectory directory;
  std::string path = directory / "none.npy";
  EXPECT_EQ(readNpy(path).message(),
            path + ": cannot open the file: No such file or directory");
  EXPECT_EQ(readNpy(directory / ".").message(),
            directory / "." + ": expected a regular file, but got a directory");
  EXPECT_EQ(writeNpy(directory / "a/b.npy", Tensor()).message(),
            directory / "a/b.npy" +
                ": cannot create the file: No such file or directory");
  EXPECT_EQ(writeNpy(directory / ".", Tensor()).message(),
            directory / "." +
                ": expected a file to write, but got a directory");
  EXPECT_EQ(writeNpy("/dev/full", Tensor()).message(),
            "/dev/full: cannot write the file: No space left on device");
}

struct BadNpy {
  const char *name;
  std::string content;
  std::string message;
  std::optional<DType> dtype = std::nullopt;
};

class NpyDiagnostic : public testing::TestWithParam<BadNpy> {};

TEST_P(NpyDiagnostic, IsReported) {
  Expected<Tensor> tensor = parse(GetParam().content, GetParam().dtype);
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.message(), "f: " + GetParam().message);
}

static std::string withHeader(std::string_view header) {
  return npyFile(header, "");
}

static const BadNpy badFiles[] = {
    {"Empty", "",
     "expected a .npy file that starts with '\\x93NUMPY', but got ''"},
    {"Magic", "\x80NUMPY\1\0....",
     "expected a .npy file that starts with '\\x93NUMPY', but got "
     "'\\x80NUMPY'"},
    {"NoVersion", "\x93NUMPY\1",
     "expected a format version, but the file ends after 7 bytes"},
    {"Version", npyFile("", "", 4),
     "expected format version 1.0, 2.0 or 3.0, but got 4.0"},
    {"NoHeaderLength", npyFile("", "", 2).substr(0, 10),
     "expected a header length of 4 bytes, but the file ends after 10 bytes"},
    {"HugeHeader", std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12),
     "expected a header of at most 1048576 bytes, but got 4294967295"},
    {"ShortHeader", withHeader(dictionary("'<f4'", "()")).substr(0, 40),
     "expected a header of 56 bytes, but the file ends after 30 of them"},
    {"NoDictionary", withHeader("[1]"),
     "expected '{' in the header, but got '[1]'"},
    {"KeyIsNoString", withHeader("{1: 2}"),
     "expected a key in the header, but got '1: 2}'"},
    {"OpenString", withHeader("{'descr"),
     "expected a closing quote in the header after 'descr'"},
    {"Escape", withHeader("{'de\\x73cr': 1}"),
     "expected a plain string in the header, but got 'de\\x73cr' with an "
     "escape"},
    {"NoColon", withHeader("{'descr' '<f4'}"),
     "expected ':' after a key in the header, but got ''<f4'}'"},
    {"UnknownKey", withHeader("{'order': 1}"),
     "expected the key 'descr', 'fortran_order' or 'shape' in the header, but "
     "got 'order'"},
    {"DuplicateKey", withHeader("{'descr': '<f4', 'descr': '<f8'}"),
     "expected one key 'descr' in the header, but got two"},
    {"MissingDescr", withHeader("{'fortran_order': False, 'shape': ()}"),
     "expected the key 'descr' in the header, but got none"},
    {"MissingOrder", withHeader("{'descr': '<f4', 'shape': ()}"),
     "expected the key 'fortran_order' in the header, but got none"},
    {"MissingShape", withHeader("{'descr': '<f4', 'fortran_order': False}"),
     "expected the key 'shape' in the header, but got none"},
    {"NoComma", withHeader("{'shape': () 'descr'"),
     "expected ',' or '}' in the header, but got ''descr''"},
    {"TextAfter", withHeader(dictionary("'<f4'", "()") + "x"),
     "expected only blanks after '}' in the header, but got 'x'"},
    {"OpenDictionary", withHeader("{'shape': (),"),
     "expected a key in the header, but got the end of the header"},
    {"Order", withHeader("{'fortran_order': 1}"),
     "expected True or False for 'fortran_order' in the header, but got '1}'"},
    {"DescrKind", withHeader("{'descr': 4}"),
     "expected a type string or a list of one field in the header, but got "
     "'4}'"},
    {"FieldNoTuple", withHeader("{'descr': ['a']}"),
     "expected '(' before the field in the header, but got ''a']}'"},
    {"FieldNoName", withHeader("{'descr': [(1)]}"),
     "expected the name of the field in the header, but got '1)]}'"},
    {"FieldNoComma", withHeader("{'descr': [('a')]}"),
     "expected ',' after the name of the field in the header, but got ')]}'"},
    {"FieldNested", withHeader("{'descr': [('a', [])]}"),
     "expected the type of the field in the header, but got '[])]}'"},
    {"FieldRepeat", withHeader("{'descr': [('a', '<f4', (2,))]}"),
     "expected a field of one element, but got 2"},
    {"FieldRepeatNumber", withHeader("{'descr': [('a', '<f4', x)]}"),
     "expected a dimension in the header, but got 'x)]}'"},
    {"FieldRepeatOpen", withHeader("{'descr': [('a', '<f4', (1 x)]}"),
     "expected ')' after the shape of the field in the header, but got "
     "'x)]}'"},
    {"FieldOpen", withHeader("{'descr': [('a', '<f4' x]}"),
     "expected ')' after the field in the header, but got 'x]}'"},
    {"TwoFields", withHeader("{'descr': [('a', '<f4'), ('b', '<f4')]}"),
     "expected a structure of one field (']') in the header, but got "
     "'('b', '<f4')]}'"},
    {"ShapeKind", withHeader("{'shape': [1]}"),
     "expected '(' before the shape in the header, but got '[1]}'"},
    {"ShapeText", withHeader("{'shape': (a,)}"),
     "expected a dimension in the header, but got 'a,)}'"},
    {"ShapeSeparator", withHeader("{'shape': (1;)}"),
     "expected ',' or ')' in the shape in the header, but got ';)}'"},
    {"ShapeNegative", withHeader("{'shape': (-1,)}"),
     "expected dimensions of at least 0, but got -1"},
    {"ShapeHuge", withHeader("{'shape': (9223372036854775808,)}"),
     "expected a dimension below 2^63 in the header, but got "
     "'9223372036854775'"},
    {"Rank",
     withHeader("{'shape': (" +
                [] {
                  std::string ones;
                  for (int i = 0; i < 65; ++i)
                    ones += "1,";
                  return ones;
                }() +
                ")}"),
     "expected a rank of at most 64, but got more"},
    {"Overflow", withHeader(dictionary("'<f4'", "(4294967296, 4294967296)")),
     "expected fewer than 2^63 elements, but got shape "
     "[4294967296, 4294967296]"},
    {"ByteOverflow", withHeader(dictionary("'<f4'", "(4611686018427387904,)")),
     "expected fewer than 2^63 bytes, but got shape [4611686018427387904] of "
     "f32"},
    {"TypeString", withHeader(dictionary("'O'", "()")),
     "expected a boolean, integer, float or raw type, but got the type string "
     "'O'"},
    {"TypeOrder", withHeader(dictionary("'!f4'", "()")),
     "expected a boolean, integer, float or raw type, but got the type string "
     "'!f4'"},
    {"TypeComplex", withHeader(dictionary("'<c8'", "()")),
     "expected a boolean, integer, float or raw type, but got the type string "
     "'<c8'"},
    {"TypeRawOdd", withHeader(dictionary("'|V3'", "()")),
     "expected a boolean, integer, float or raw type, but got the type string "
     "'|V3'"},
    {"RawBytes", npyFile(dictionary("'<V1'", "()"), "a"),
     "expected a type, but got 1 raw bytes per element ('<V1'); name the type, "
     "as in '@f8_e4m3fn'"},
    {"RawHalves", npyFile(dictionary("'|V2'", "()"), "ab"),
     "expected a type, but got 2 raw bytes per element ('|V2'); name the type, "
     "as in '@bf16'"},
    {"OverrideSize", npyFile(dictionary("'|u1'", "()"), "a"),
     "expected bf16 of 2 bytes, but got '|u1' of 1", DType::BF16},
    {"OverrideFloat", npyFile(dictionary("'<f2'", "()"), "ab"),
     "expected raw or integer data to read as bf16, but got f16", DType::BF16},
    {"ShortData", npyFile(dictionary("'<f4'", "(2,)"), "1234567"),
     "expected 8 bytes of data for [2] f32, but got 7"},
    {"LongData", npyFile(dictionary("'<f4'", "(2,)"), "123456789"),
     "expected 8 bytes of data for [2] f32, but got 9"},
    {"HugeData", npyFile(dictionary("'|u1'", "(9223372036854775807,)"), "1"),
     "expected 9223372036854775807 bytes of data for [9223372036854775807] "
     "u8, but got 1"},
};

INSTANTIATE_TEST_SUITE_P(Table, NpyDiagnostic, testing::ValuesIn(badFiles),
                         [](const auto &info) { return info.param.name; });
