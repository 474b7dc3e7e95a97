# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times what a user of numpy does with NVFP4 weights: dequantise them, then multiply.

  numpy_peer.py THREADS REPETITIONS [M ...]

Prints one JSON object a case: name, seconds of each repetition (processor time
with one thread, else wall time) and floating-point operations of the product.
"""

import json
import os
import sys
import time

THREADS, REPETITIONS = int(sys.argv[1]), int(sys.argv[2])
ROWS = [int(m) for m in sys.argv[3:]] or [1, 8, 64, 512]
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(THREADS)

import numpy as np  # noqa: E402  (reads the number of threads when it is loaded)

N = K = 4096
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], np.float32)
# Pairs of values by packed byte; UE4M3 by code.
PAIRS = np.stack([E2M1[np.arange(256) & 15], E2M1[np.arange(256) >> 4]], axis=1)
CODES = np.arange(128)
UE4M3 = np.where(CODES < 8, CODES * 2.0**-9, (8 + CODES % 8) * 2.0**(CODES // 8 - 10.0)).astype(np.float32)


def dequantize(packed, scales):
    values = PAIRS[packed].reshape(packed.shape[0], -1, 16)
    return (values * UE4M3[scales][:, :, None]).reshape(packed.shape[0], -1)


def main():
    random = np.random.default_rng(1)
    packed = random.integers(0, 256, (N, K // 2), np.uint8)
    scales = random.integers(0x30, 0x41, (N, K // 16), np.uint8)
    weights = dequantize(packed, scales)
    clock = time.process_time if THREADS == 1 else time.perf_counter
    for m in ROWS:
        x = random.standard_normal((m, K)).astype(np.float32)
        for case, product in (("numpy_dequantize", lambda: x @ dequantize(packed, scales).T),
                              ("numpy_f32", lambda: x @ weights.T)):
            seconds = []
            for _ in range(REPETITIONS):
                start = clock()
                product()
                seconds.append(clock() - start)
            print(json.dumps({"name": f"{case}_m{m}", "seconds": seconds, "flop": 2 * m * N * K}), flush=True)


if __name__ == "__main__":
    main()
