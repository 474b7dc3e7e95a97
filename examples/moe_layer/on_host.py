# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of a compiled layer in this process, on memory of the host."""

import statistics
import time


class OnHost:
    """Calls stages with arrays by their names; block-scaled tensors are two, values and scales."""

    def __init__(self, program, package, arrays, repeats):
        self.program, self.package, self.arrays, self.repeats = program, package, arrays, repeats

    def __call__(self, entry, inputs, outputs):
        arguments = [name if isinstance(name, int) else self.arrays[name] for name in inputs]
        times = []
        # The first call loads kernels, so it is timed only where it is all there is.
        for _ in range(self.repeats + (self.repeats > 1)):
            start = time.perf_counter()
            results = self.program.run(*arguments, entry=entry)
            times.append((time.perf_counter() - start) * 1e3)
        flat = []
        for result in results if isinstance(results, tuple) else (results,):
            flat += [result.values, result.scales] if isinstance(result, self.package.ScaledTensor) else [result]
        self.arrays.update(zip(outputs, flat))
        return flat, statistics.median(times[1:] or times), None
