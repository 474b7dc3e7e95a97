//===- OutputFileTest.cpp - Tests of files that are written -----*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The old file stays until the new one is whole, and nothing else remains.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/TensorIO/OutputFile.h"

#include "gtest/gtest.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;
using namespace nvfp4::tensorio;

namespace {
struct OutputFiles : testing::Test {
  OutputFiles() {
    std::string name =
        (fs::temp_directory_path() / "nvfp4-output-XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~OutputFiles() override { fs::remove_all(folder); }

  std::string path(const char *name = "file") const { return folder / name; }
  static void put(const std::string &file, const char *text) {
    std::ofstream(file) << text;
  }
  static std::string get(const std::string &file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }
  size_t countFiles() const {
    return std::distance(fs::directory_iterator(folder), {});
  }

  fs::path folder;
};

Status writeFile(const std::string &file, std::string_view text) {
  Expected<OutputFile> output = OutputFile::create(file);
  if (!output)
    return output.takeError();
  if (Status status = output->write(text); !status)
    return status;
  return output->commit();
}
} // namespace

TEST_F(OutputFiles, NothingChangesBeforeTheCommit) {
  put(path(), "old");
  {
    Expected<OutputFile> output = OutputFile::create(path());
    ASSERT_TRUE(output) << output.message();
    ASSERT_TRUE(output->write("new"));
    EXPECT_EQ(get(path()), "old");
  }
  EXPECT_EQ(get(path()), "old");
  EXPECT_EQ(countFiles(), 1u);
  ASSERT_TRUE(writeFile(path(), "new"));
  EXPECT_EQ(get(path()), "new");
  EXPECT_EQ(countFiles(), 1u);
}

TEST_F(OutputFiles, WhatIsKilledLeavesTheOldFile) {
  put(path(), "old");
  for (int signal : {SIGINT, SIGTERM, SIGKILL}) {
    pid_t child = ::fork();
    if (child == 0) {
      ::signal(signal, SIG_DFL);
      Expected<OutputFile> output = OutputFile::create(path());
      if (output && output->write("new"))
        ::raise(signal);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    EXPECT_EQ(get(path()), "old");
    EXPECT_EQ(countFiles(), 1u);
  }
}

TEST_F(OutputFiles, PermissionsAndLinksStay) {
  put(path(), "old");
  fs::create_symlink(path(), path("link"));
  for (mode_t mode : {0600u, 0755u, 0666u}) {
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    ASSERT_TRUE(writeFile(path("link"), "new"));
    struct stat status;
    ASSERT_EQ(::stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
    EXPECT_TRUE(fs::is_symlink(path("link")));
    EXPECT_EQ(get(path()), "new");
  }
}

TEST_F(OutputFiles, LinksLeadToFilesThatAreNotThereYet) {
  fs::create_symlink("second", path("first"));
  fs::create_symlink(path(), path("second"));
  ASSERT_TRUE(writeFile(path("first"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("first")));
  EXPECT_TRUE(fs::is_symlink(path("second")));
  EXPECT_EQ(get(path()), "new");
  fs::create_symlink("circle", path("circle"));
  EXPECT_FALSE(writeFile(path("circle"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("circle")));
}

TEST_F(OutputFiles, RefusesWhatIsNoFile) {
  EXPECT_EQ(writeFile("", "new").message(),
            "expected the name of a file to write, but got none");
  EXPECT_NE(writeFile(folder.string(), "new").message().find("got a directory"),
            std::string::npos);
  EXPECT_FALSE(writeFile(path("nowhere/file"), "new"));
  EXPECT_NE(writeFile("/dev/full", "new").message().find("No space left"),
            std::string::npos);
  EXPECT_EQ(countFiles(), 0u);
}

TEST_F(OutputFiles, WritersAtTheSameTimeEachWriteAWholeFile) {
  std::vector<std::thread> threads;
  for (char c : {'a', 'b', 'c', 'd'})
    threads.emplace_back([this, c] {
      for (int i = 0; i < 50; ++i)
        EXPECT_TRUE(writeFile(path(), std::string(5000, c)));
    });
  for (std::thread &thread : threads)
    thread.join();
  std::string text = get(path());
  ASSERT_EQ(text.size(), 5000u);
  EXPECT_EQ(text, std::string(5000, text[0]));
  EXPECT_EQ(countFiles(), 1u);
}
