# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that are known and not mended: programs that would only find them again are left out, and counted.

An entry is deleted with the fault.
"""

import collections

KNOWN = [
    (lambda c, target: target != "cpu" and ":" in c["out"] and c["out_axis"] == "rows",
     "GPU targets: advice for column-scaled results of products is the layout that they have"),
]


def find_known(choices, target):
    """Why the program is left out on the target, or None."""
    known = collections.defaultdict(str, choices)  # families have other axes
    return next((reason for matches, reason in KNOWN if matches(known, target)), None)


#: Values that a target gets in place of others, so that what else there is in a program is run.
INSTEAD = [
    ("sm_100a", "padding", "nan", "zero", "sm_100a: NaN in padding scales of blocked layouts spreads"),
]


def avoid(choices, target):
    """The choices without values that the target is known to get wrong, and why those are left out."""
    reasons = []
    for where, axis, value, other, reason in INSTEAD:
        if target == where and choices.get(axis) == value:
            choices = {**choices, axis: other}
            reasons.append(reason)
    return choices, reasons
