# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that are known and not mended: programs that would only find them again are left out, and counted.

An entry is deleted with the fault.
"""

import collections

KNOWN = [
]


def find_known(choices, target):
    """Why the program is left out on the target, or None."""
    known = collections.defaultdict(str, choices)  # families have other axes
    return next((reason for matches, reason in KNOWN if matches(known, target)), None)
