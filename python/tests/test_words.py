# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables by word have a row for every word of the dialect, in its order."""

from nvfp4 import _words
from nvfp4.options import QUANTIZERS
from nvfp4.tensors import CODED, FORMATS, LAYOUTS


def test_every_quantiser_has_a_row() -> None:
    assert tuple(QUANTIZERS) == _words.QUANTIZER_KIND


def test_every_format_has_a_row() -> None:
    assert tuple(FORMATS) == _words.BLOCK_FORMAT


def test_every_layout_is_one_of_scales_or_of_packed_weights() -> None:
    assert (*LAYOUTS, *CODED) == _words.SCALE_LAYOUT
