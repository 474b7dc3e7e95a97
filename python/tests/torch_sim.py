# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of torch on the simulator: each is copied there and back, at the place of the GPU in the package."""

import ctypes

import numpy as np
import torch

import nvfp4


class SimulatedDevice:
    """As nvfp4._torch_device.Device, with tensors of the CPU."""

    name, target, torch_device = "sim", "sm_90a", torch.device("cpu")

    def __init__(self):
        self.placed, self.launches, self.capturing = {}, 0, False

    def check_not_capturing(self):
        if self.capturing:
            raise RuntimeError("capturing")

    @staticmethod
    def bytes_of(tensor):
        size = tensor.numel() * tensor.element_size()
        memory = (ctypes.c_uint8 * size).from_address(tensor.data_ptr()) if size else bytearray()
        return np.frombuffer(memory, np.uint8)

    def address(self, tensor):
        # A tensor that is kept has its address for good.
        if id(tensor) not in self.placed:
            size = tensor.numel() * tensor.element_size()
            self.placed[id(tensor)] = tensor, nvfp4.DeviceArray((size,), np.uint8, "sim")
        array = self.placed[id(tensor)][1]
        array.copy_from(self.bytes_of(tensor))
        return array.address

    def launch(self, launcher, size):
        room = nvfp4.DeviceArray.of(np.full(size + 1, 127, np.uint8), "sim")
        launcher.launch(room.address, size, 0)
        self.launches += 1
        # Only tensors of the launch: the host may have changed others.
        used = {operand.tensor.data for operand in (*launcher.arguments, *launcher.results)}
        for tensor, array in self.placed.values():
            if array.address in used:
                self.bytes_of(tensor)[...] = array.numpy()
