//===- ProgressTest.cpp - Tests of signs of life ----------------*- C++ -*-===//
//
// Part of the NVFP4 project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Messages come while a step runs, and none for a short one.
//
//===----------------------------------------------------------------------===//

#include "nvfp4/Tools/Progress.h"

#include "gtest/gtest.h"

#include <future>
#include <vector>

using nvfp4::tools::Progress;
using Seconds = Progress::Seconds;

TEST(Progress, ShortStepsAreSilent) {
  std::vector<std::string> messages;
  nvfp4::tools::Report report = [&](const std::string &message) {
    messages.push_back(message);
  };
  {
    Progress progress(report, "reading", Seconds(3600));
  }
  EXPECT_TRUE(messages.empty());
}

TEST(Progress, LongStepsSpeakWhileTheyRun) {
  std::vector<std::string> messages;
  std::promise<void> second;
  nvfp4::tools::Report report = [&](const std::string &message) {
    messages.push_back(message);
    if (messages.size() == 2)
      second.set_value();
  };
  {
    Progress progress(report, "checking", Seconds(0.001), Seconds(0.001));
    // The step ends after its second message only.
    second.get_future().wait();
  }
  ASSERT_GE(messages.size(), 3u);
  EXPECT_EQ(messages[0].rfind("checking ... 0.", 0), 0u) << messages[0];
  EXPECT_EQ(messages[1].rfind("checking ... 0.", 0), 0u) << messages[1];
  EXPECT_EQ(messages.back().rfind("checking: took ", 0), 0u) << messages.back();
}
