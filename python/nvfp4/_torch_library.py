# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library ``nvfp4`` of torch's dispatcher."""

import torch

__all__ = ["library"]

#: Operations are defined and implemented in it, which costs a call less than torch.library.custom_op.
library = torch.library.Library("nvfp4", "FRAGMENT")
