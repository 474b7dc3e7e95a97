# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Workers for one target: starts them, feeds them, and says what became of each program, crashes and hangs included."""

import json
import os
import pathlib
import selectors
import signal
import subprocess
import sys
import tempfile

from nvfp4_module import PRELOAD

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGETS = ("cpu", "sm_90a", "sm_100a")
#: Seconds for one program, after which it hangs.
LIMIT = 600


def environment(target, seed):
    build = pathlib.Path(os.environ.get("NVFP4_BUILD_DIR", ROOT / "build"))
    folders = [str(HERE), str(ROOT / "test" / "python"), str(ROOT / "python")]
    variables = {**os.environ, **PRELOAD, "PYTHONPATH": os.pathsep.join(folders), "MALLOC_PERTURB_": "128",
                 "PYTHONDONTWRITEBYTECODE": "1"}
    variables.setdefault("NVFP4_LIBRARY_DIR", str(build / "lib"))
    if target != "cpu":
        delays = ("adversarial", "uniform")[seed % 2]
        variables["NVFP4_SIM_OPTIONS"] = f"--arch {target} --check --seed {seed} --delays {delays}"
        variables["NVFP4_MAX_BLOCKS"] = str(2 + seed % 3)
    variables["NVFP4_NUM_THREADS"] = "2"
    return variables


class Worker:
    """One process; `ask` may be repeated until it dies, and starts another then."""

    def __init__(self, target, seed=1):
        self.target, self.seed, self._process = target, seed, None

    def _start(self):
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), self.target], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._errors, text=True, env=environment(self.target, self.seed))
        self.seed += 1

    def ask(self, choices, seed):
        """(outcome, detail) of a program."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start()
        self._process.stdin.write(json.dumps({"choices": choices, "seed": seed}) + "\n")
        self._process.stdin.flush()
        selector = selectors.DefaultSelector()
        selector.register(self._process.stdout, selectors.EVENT_READ)
        if not selector.select(LIMIT):
            self._process.kill()
            self.close()
            return "hang", f"no answer for {LIMIT} s"
        line = self._process.stdout.readline()
        if line:
            answer = json.loads(line)
            if answer["outcome"] == "failed" and self.target != "cpu":
                self.close()  # a device that has failed is lost
            return answer["outcome"], answer["detail"]
        code = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read()[-2000:]
        self.close()
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        return "crash", f"{name}: {said}"

    def close(self):
        if self._process is None:
            return
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            try:
                stream.close()
            except OSError:
                pass
        self._process.wait()
        self._process = None
