# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the input of mkdocs to the folder given: the documents, README.md
first, and as text the files of the tree that they link to."""

import html
import os
import pathlib
import re
import shutil
import sys
import urllib.parse

import markdown_links

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Sections in reading order; documents that are not named come last.
SECTIONS = {
    "Using it": ["GettingStarted", "Tour", "Python", "Embedding", "Runtime"],
    "Reference": ["Spec", "Dialects/GroupedScaledGemm", "Dialects/WarpSpec", "Passes"],
    "How it works": ["Architecture", "LifeOfAMatmul", "Cpu", "Hopper", "Blackwell", "Simulator"],
    "Why": ["Rationale/GroupedScaledGemm", "Rationale/Strategy", "Rationale/WarpSpec",
            "Rationale/Hopper", "Rationale/CpuMemory", "Rationale/CpuRows", "Rationale/CpuTiles"],
    "Working on it": ["CONTRIBUTING", "HowTo/README", "HowTo/op", "HowTo/activation", "HowTo/epilogue", "HowTo/grouping",
                      "HowTo/target", "Tests", "SECURITY", "CHANGELOG"],
}


STYLE = """\
/* Lines of code have up to 120 characters. */
@media (min-width: 1400px) { .container { max-width: 1360px; } }
pre code { font-size: 0.8rem; }
table { width: auto !important; margin: 0 0 1rem; }
th, td { padding: 0.3rem 0.8rem 0.3rem 0.3rem; vertical-align: top; border-bottom: 1px solid #ddd; }
td:first-child code { white-space: nowrap; }
"""


def page(path):
    """Where a file of the tree is in the site."""
    relative = path.relative_to(ROOT)
    if len(relative.parts) == 1 and path.suffix == ".md":
        return pathlib.PurePath("index.md" if path.name == "README.md" else path.name)
    if relative.parts[0] == "docs" and path.suffix == ".md":
        return pathlib.PurePath(*relative.parts[1:])
    return pathlib.PurePath("tree", *relative.parts[:-1], relative.name + ".txt")


def rewrite(path, text, linked):
    """`text` with links as they are in the site. Adds files to `linked`."""
    parts, end = [], 0
    for offset, target in markdown_links.links(text):
        if markdown_links.is_external(target) or target.startswith("#"):
            continue
        name, _, anchor = urllib.parse.unquote(target).partition("#")
        file = (path.parent / name).resolve()
        if file.is_dir():
            file = next((file / entry for entry in ("README.md", "CMakeLists.txt")
                         if (file / entry).exists()), sorted(file.iterdir())[0])
        place = page(file)
        if place.parts[0] == "tree":
            linked.add(file)
        new = os.path.relpath(place, page(path).parent) + (f"#{anchor}" if anchor else "")
        parts += [text[end:offset], new]
        end = offset + len(target)
    return "".join([*parts, text[end:]])


LIST = re.compile(r"\s*([-*]|\d+\.) ")
FENCE = re.compile(r"\s*(```|~~~)")
HEADING = re.compile(r"#+ ")
ESCAPED_BAR = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")


def adapt(path, text):
    """`text` for Python-Markdown, where it differs from what our documents are
    written in: a list begins behind an empty line, and code in a table keeps
    the backslash of an escaped bar. A page begins with its title."""
    lines, is_code, previous = [], False, ""
    has_title = any(line.startswith("# ") for line in text.splitlines())
    if not has_title:
        lines += [f"# {path.stem}", ""]
    # Headings of generated pages begin at the third level.
    top = min((line.index(" ") for line in text.splitlines() if HEADING.match(line)), default=2)
    for line in text.splitlines():
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code:
            if LIST.match(line) and previous.strip() and not LIST.match(previous) and not previous.startswith(" "):
                lines.append("")
            if not has_title and HEADING.match(line):
                line = line[top - 2:]
            if line.startswith("|"):
                line = ESCAPED_BAR.sub(
                    lambda match: f"<code>{html.escape(match[1].replace(chr(92) + '|', '|')).replace('|', '&#124;')}</code>",
                    line)
        lines.append(line)
        previous = line
    return "\n".join([*lines, ""])


def title(path):
    line = next((line for line in path.read_text().splitlines() if line.startswith("# ")), "")
    return line.strip("# ").replace('"', "'") or path.stem


def navigation(documents):
    left = {str(page(path).with_suffix("")): path for path in documents}
    left.pop("index")
    yield '  - "Overview": index.md'
    for section, names in SECTIONS.items():
        entries = [(name, left.pop(name)) for name in names if name in left]
        if section == "Working on it":
            entries += sorted(left.items())
        if entries:
            yield f'  - "{section}":'
        for name, path in entries:
            shown = title(path)
            if name.startswith("Dialects/"):
                shown = "Operations: " + path.stem
            elif name == "Passes":
                shown = "Passes"
            yield f'    - "{shown}": {name}.md'


def main(folder):
    documents = markdown_links.documents(ROOT)
    linked = set()
    for path in documents:
        target = folder / "docs" / page(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(adapt(path, rewrite(path, path.read_text(), linked)))
    for path in linked:
        target = folder / "docs" / page(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    (folder / "docs" / "site.css").write_text(STYLE)
    (folder / "mkdocs.yml").write_text("\n".join([
        "site_name: NVFP4", "docs_dir: docs", "use_directory_urls: false",
        "theme: {name: mkdocs, highlightjs: false}", "plugins: [search]", "extra_css: [site.css]",
        "markdown_extensions: [{toc: {toc_depth: 3}}]",
        "validation: {links: {not_found: warn, anchors: warn, unrecognized_links: warn}}",
        "nav:", *navigation(documents), ""]))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
