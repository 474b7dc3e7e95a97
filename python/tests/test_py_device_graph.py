# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products on memory of the device, captured in graphs and on several streams, have the bits of those on the host."""

import ml_dtypes
import numpy as np
import pytest

import nvfp4
from device_products import FORMS, get_bias, make_text, pack
from nvfp4_formats import random_scaled
from sim_driver import Driver, SimMemory

SWIGLU = "alpha(%a : f32) bias(%b : {}) activation = <swiglu, gate = <1, gate_first>>"


class Product:
    """A product for one target, with the bias and the activation of SWIGLU: the function for each memory."""

    def __init__(self, rng, target, form):
        self.rng, self.form, self.is_hopper = rng, form, target == "sm_90a"
        _, self.has_groups, self.x_shape, w_shape, y_shape = FORMS[form]
        element, layout, packed = ("bf16", "", ", wgmma") if self.is_hopper else (None, ", blocked", ", blocked")
        text = make_text(form, element, "nvfp4", layout, packed, SWIGLU.format(get_bias(form)[0]), columns=w_shape[-2] // 2)
        self.on_host, on_device = (nvfp4.compile(text, f"{target}+sim", memory=memory, versions=2)
                                   for memory in ("host", "device"))
        self.on_device, self.memory = nvfp4.on_device(on_device, "sim"), SimMemory()
        weights = random_scaled(rng, w_shape, "nvfp4", lattice=False)
        packed = pack(weights, "nvfp4", "wgmma") if self.is_hopper else None
        self.weights = [packed.values, packed.scales] if self.is_hopper else list(weights.store("blocked"))
        self.y_shape = (*y_shape[:-1], w_shape[-2] // 2)

    def arguments(self, groups=None):
        """New arguments of the host, in order."""
        if self.is_hopper:
            rows = [self.rng.standard_normal(self.x_shape).astype(ml_dtypes.bfloat16)]
        else:
            rows = list(random_scaled(self.rng, self.x_shape, "nvfp4", lattice=False).store("blocked"))
        bias = self.rng.standard_normal(get_bias(self.form)[1]).astype(np.float32)
        y = np.full(self.y_shape, np.nan, np.float32)
        return [*rows, *self.weights, *([np.array(groups, np.int32)] if self.has_groups else []), bias, np.float32(0.75), y]

    def bind(self, arguments):
        """The call, its result, and its arguments on the device."""
        placed = [each if np.ndim(each) == 0 else self.memory.put(each) for each in arguments]
        out = self.memory.put(np.full(self.y_shape, 7, np.float32))
        # Memory that was used before.
        room = self.memory.put(np.full(max(self.on_device.workspace(*placed), 1), 127, np.uint8))
        return self.on_device.bind(placed, [out], room), out, placed

    def change(self, placed, arguments):
        for target, source in zip(placed, arguments):
            if isinstance(target, nvfp4.DeviceTensor):
                self.memory.copy(target.address, source.ctypes.data, source.nbytes)

    def expect(self, out, arguments):
        # Rows outside of groups keep what was there.
        assert self.memory.get(out).tobytes() == self.on_host.run(*arguments).tobytes()


TARGETS = [("sm_90a", "dense"), ("sm_90a", "masked"), ("sm_90a", "ragged_rows"), ("sm_100a", "dense"),
           ("sm_100a", "batched"), ("sm_100a", "masked")]
GROUPS = {"masked": [[40, 0, 7], [1, 40, 39], [0, 0, 0]], "ragged_rows": [[20, 20, 65], [0, 70, 70], [0, 0, 0]]}


@pytest.mark.parametrize("target, form", TARGETS)
def test_graphs_repeat_products_on_other_data_and_groups(rng, target, form):
    product = Product(rng, target, form)
    choices = GROUPS.get(form, [None, None])
    call, out, placed = product.bind(product.arguments(choices[0]))
    replay = Driver().capture(call.launch)
    assert (product.memory.get(out) == 7).all()
    for groups in choices:
        arguments = product.arguments(groups)
        product.change(placed, arguments)
        replay()
        product.expect(out, arguments)


@pytest.mark.parametrize("target, form", [("sm_90a", "ragged_rows"), ("sm_100a", "dense")])
def test_two_streams_run_one_function(rng, target, form):
    product, driver = Product(rng, target, form), Driver()
    calls = []
    for groups in ([20, 20, 65], [7, 60, 70]):
        arguments = product.arguments(groups)
        call, out, placed = product.bind(arguments)
        calls.append((call, out, arguments, driver.stream()))
    for call, _, _, stream in calls:
        call.launch(stream)
    for _, out, arguments, _ in calls:
        product.expect(out, arguments)


BAD = [(target, "masked", groups) for target in ("sm_90a", "sm_100a") for groups in ([-1, 41, 3], [2**31 - 1, -2**31, 40])] + \
      [("sm_90a", "ragged_rows", groups) for groups in
       ([-5, 1000, 3], [2**31 - 1, -2**31, -1], [70, 20, 10], [71, 71, 71])]


@pytest.mark.parametrize("target, form, groups", BAD)
def test_bad_groups_stay_within_memory(rng, target, form, groups):
    """The simulator ends a kernel that accesses memory of nobody. The host cannot check what it does not see.

    No two groups share rows: two blocks that store one row are a data race, which `--check` reports.
    """
    product = Product(rng, target, form)
    call, out, placed = product.bind(product.arguments(groups))
    call.launch()
    arguments = product.arguments(GROUPS[form][0])
    product.change(placed, arguments)
    call.launch()
    product.expect(out, arguments)
