#!/usr/bin/env python3
# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command with a terminal as its standard input, at whose end it is: on-terminal.py COMMAND..."""

import os
import pty
import subprocess
import sys

leader, follower = pty.openpty()
os.write(leader, b"module {}\n\x04\x04")
result = subprocess.run(sys.argv[1:], stdin=follower, capture_output=True, text=True, timeout=60)
sys.stdout.write(result.stderr)
