# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of a process while daemon threads are within calls: what they use is not freed under them."""

import os
import subprocess
import sys

import pytest

from nvfp4_module import PRELOAD

# Threads work until the interpreter ends; the main thread leaves once each has done its work once.
PROGRAM = """
import threading
import time
import numpy as np
import nvfp4

started = threading.Barrier(5)

def loop(work):
    work()
    started.wait()
    while True:
        work()

def run(work):
    for _ in range(4):
        threading.Thread(target=loop, args=(work,), daemon=True).start()
    started.wait()
    time.sleep(0.05)

rng = np.random.default_rng(0)
x, w = (nvfp4.quantize(rng.standard_normal(s).astype(np.float32)) for s in ((64, 256), (256, 256)))
"""
WORK = {
    "calls": "plan = nvfp4.plan_matmul(x, w)\nrun(plan.run)",
    "results": """
program = nvfp4.compile('''func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = math.exp %x : tensor<?xf32>
  return %y : tensor<?xf32>
}''')
run(lambda: program.run(np.zeros(1 << 20, np.float32)))""",
    "borrowed": """
class Borrowed:
    def __init__(self, array):
        self.array = nvfp4.to_dlpack(array)
    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)
    def __dlpack_device__(self):
        return 1, 0
z = Borrowed(rng.standard_normal((1024, 1024)).astype(np.float32))
array = nvfp4.asarray(z)
run(lambda: nvfp4.quantize(array))""",
    "compile": """
text = nvfp4.plan_matmul(x, w).text
run(lambda: nvfp4.compile(text, opt_level=0))""",
    "checkpoint": """
import os
from nvfp4 import checkpoint
path = os.environ["FOLDER"] + "/x.safetensors"
checkpoint.write_safetensors(path, {"x": np.zeros((1024, 1024), np.float32)})
array = checkpoint.Checkpoint(path)["x"]
run(lambda: nvfp4.quantize(array))""",
}


@pytest.mark.parametrize("work", WORK)
def test_daemon_threads_within_calls_do_not_end_the_process_badly(work, tmp_path):
    environment = {**os.environ, **PRELOAD, "FOLDER": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(3):
        done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", PROGRAM + WORK[work] + "\nprint('end')\n"],
                              env=environment, capture_output=True, text=True, check=False, timeout=300)
        assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
