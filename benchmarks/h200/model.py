# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How well the model of tiles does: its error, predicted against measured times of all
tiles, and its regret, the time of the chosen tile against that of the best one."""

import json
import pathlib
import statistics
import sys

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results" / "h200.jsonl"


def percent(x):
    return f"{100 * x:.1f} %"


def describe(kind, found):
    """`found`: pairs of a ratio and where it was seen."""
    worst = max(found)
    return (f"{kind} of {len(found)}: median {percent(statistics.median(x for x, _ in found))}, mean "
            f"{percent(statistics.fmean(x for x, _ in found))}, worst {percent(worst[0])} ({worst[1]})")


def report(lines):
    """Text for each subject that has best times, from lines as benchmarks/h200/run writes them."""
    text = []
    times = {(line["case"], line["subject"], line["metric"]): line for line in lines}
    for subject in sorted({line["subject"] for line in lines if line["metric"] == "best_us"}):
        errors, regrets = [], {"": [], ", no hint": []}
        for case, best in ((line["case"], line) for line in lines
                           if line["subject"] == subject and line["metric"] == "best_us"):
            errors += [(abs(best["predicted"][tile] / us - 1), f"{case} {tile}")
                       for tile, us in best["tiles"].items() if best["predicted"].get(tile)]
            for mode, found in regrets.items():
                if chosen := times.get((case, subject + mode, "us")):
                    found.append((max(chosen["value"] / best["value"] - 1, 0), f"{case} {chosen['tile']}"))
        if errors:
            text.append(describe(f"{subject}: error of the model's times", errors))
        text += [describe(f"{subject}{mode}: regret of the chosen tile", found) for mode, found in regrets.items() if found]
    return text


def main():
    print("\n".join(report([json.loads(line) for line in RESULTS.read_text().splitlines()])))


if __name__ == "__main__":
    sys.exit(main())
