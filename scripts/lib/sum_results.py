# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up what the gates and runners of scripts/test left in a folder.

Each check NAME leaves NAME.rc (its exit status). The runners also leave JUnit
XML: unit.xml (one case per test executable) with gtest/*.xml (the cases inside
each executable), lit.xml and one file of each pytest process. The last line printed is
"N passed, N failed"; the exit status is 0 only if nothing failed, and a check
whose exit status is not 0 counts as at least one failure.
"""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def cases(path):
    """Yields (name, passed) for each case that ran in a JUnit file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        states = {child.tag for child in case}
        if "skipped" in states or case.get("status") in ("notrun", "disabled"):
            continue
        failed = states & {"failure", "error"} or case.get("status") == "fail"
        yield case.get("name"), not failed


def count(path):
    """(passed, failed) of one JUnit file."""
    outcomes = [passed for _, passed in cases(path)]
    return outcomes.count(True), outcomes.count(False)


def count_unit(folder):
    """(passed, failed) of the unit tests, counting the cases inside each
    GoogleTest executable. An executable that failed without a failed case
    (a crash, a timeout) is one failure."""
    total_passed = total_failed = 0
    for name, executable_passed in cases(folder / "unit.xml"):
        inner = folder / "gtest" / f"{name}.xml"
        try:
            passed, failed = count(inner)
        except (OSError, ElementTree.ParseError):
            passed, failed = int(executable_passed), 0
        if not executable_passed and failed == 0:
            failed = 1
        total_passed += passed
        total_failed += failed
    return total_passed, total_failed


def main(folder):
    total_passed = total_failed = 0
    for status in sorted(folder.glob("*.rc")):
        name = status.stem
        succeeded = status.read_text().strip() == "0"
        try:
            if name == "unit" and (folder / "unit.xml").exists():
                passed, failed = count_unit(folder)
            elif (folder / f"{name}.xml").exists():
                passed, failed = count(folder / f"{name}.xml")
            else:
                passed, failed = int(succeeded), 0
        except ElementTree.ParseError as error:
            print(f"{name}: unreadable results: {error}")
            passed, failed, succeeded = 0, 0, False
        if not succeeded and failed == 0:
            failed = 1
        print(f"  {name}: {passed} passed, {failed} failed")
        total_passed += passed
        total_failed += failed
    if total_passed == 0 and total_failed == 0:
        print("  nothing was run")
        total_failed = 1
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
