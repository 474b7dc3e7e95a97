# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The documents of the tree and their links and headings, for check-links,
check-doc-examples and build-docs-site."""

import re

FENCE = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6}[ \t]+(.*?)[ \t]*#*$", re.MULTILINE)


def documents(root):
    """README.md and the other documents at the top, then those below docs/."""
    top = sorted(root.glob("*.md"), key=lambda path: (path.name != "README.md", path.name))
    return [*top, *sorted((root / "docs").rglob("*.md"))]


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def without_fences(text):
    """`text` with blanks in place of blocks of code."""
    return FENCE.sub(_blank, text)


def links(text):
    """(offset of the target, target) of each inline link outside code."""
    # Text of a link may hold code; code may hold what looks like a link.
    plain = CODE.sub(lambda m: re.sub(r"[\[\]()\n]", " ", m.group()), without_fences(text))
    for match in LINK.finditer(plain):
        yield match.start(2), match.group(2)


def is_external(target):
    return re.match(r"[a-z][a-z+.-]*:", target) is not None


def anchors(text):
    """The anchors that hosts of repositories give to headings."""
    found, seen = set(), {}
    for heading in HEADING.findall(without_fences(text)):
        heading = LINK.sub(lambda m: m.group(1)[1:-1], heading)
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found.add(f"{slug}-{count}" if count else slug)
    return found
