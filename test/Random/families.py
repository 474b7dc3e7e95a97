# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which builder and which oracle a family of programs has."""

from clauses import Function
from lists import List, ListOracle
from oracle import Oracle
from tensors import Single, SingleOracle

BUILDERS = {"matmul": Function, "list": List, "single": Single}
ORACLES = {"matmul": Oracle, "list": ListOracle, "single": SingleOracle}


def build(choices, seed):
    """The program of a choice; Inexpressible where there is no text for it."""
    return BUILDERS[choices["family"]](choices, seed).build()


def oracle(program, target):
    """The oracle of a program on a target."""
    return ORACLES[program.choices["family"]](program, target)
