# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A sanitizer's runtime that was preloaded for the libraries of this process
stays out of the tools that tests start: those are linked with their own."""

import os

os.environ.pop("LD_PRELOAD", None)
