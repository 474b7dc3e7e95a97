# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Changes to bytes and to JSON."""

import json

NUMBERS = [0, 1, -1, 2, 7, 8, 255, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -2**63, 1.5,
           1e308, 1e400, -0.0]
TEXTS = ["", "a", "../a", "/etc/passwd", "..", ".", "a/b", "\0", "\udc80", "é", "x" * 300, "%s%n", "f8E4M3FN", "__metadata__"]


def _values(rng):
    return rng.choice([lambda: rng.choice(NUMBERS), lambda: rng.choice(TEXTS), lambda: None, lambda: rng.random() < 0.5,
                       lambda: [], lambda: {}, lambda: [rng.choice(NUMBERS)] * rng.randint(1, 9),
                       lambda: {rng.choice(TEXTS): rng.choice(NUMBERS)}])()


def _places(value, path=()):
    """Paths of everything within a value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*path, key))


def change_json(rng, value, times=3):
    """A copy with a few values replaced, removed, added, doubled or exchanged."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, times)):
        path = rng.choice(list(_places(value)))
        if not path:
            value = value if rng.random() < 0.9 else _values(rng)
            continue
        owner = value
        for key in path[:-1]:
            owner = owner[key]
        old, how = owner[path[-1]], rng.randrange(6)
        if how == 0:
            del owner[path[-1]]
        elif how == 1 and isinstance(owner, dict):
            owner[rng.choice(TEXTS)] = owner.pop(path[-1])
        elif how == 2 and isinstance(old, int):
            owner[path[-1]] = old + rng.choice([-1, 1, 2, -old, 2**32, 2**62])
        elif how == 3 and isinstance(owner, list):
            owner.insert(rng.randint(0, len(owner)), old)
        elif how == 4:
            owner[path[-1]] = owner[rng.choice(list(owner) if isinstance(owner, dict) else range(len(owner)))]
        else:
            owner[path[-1]] = _values(rng)
    return value


def dump(rng, value):
    """The text of a value, sometimes with a key twice, deep nesting or bytes that are no UTF-8."""
    text = json.dumps(value, ensure_ascii=rng.random() < 0.8, separators=rng.choice([(",", ":"), (", ", ": ")]))
    data = text.encode("utf-8", "surrogatepass")
    how = rng.random()
    if how < 0.05 and isinstance(value, dict) and value:
        key, item = rng.choice(list(value.items()))
        data = data[:-1] + f",{json.dumps(key)}:{json.dumps(item)}}}".encode()
    elif how < 0.08:
        data = b"[" * rng.choice([100, 100000]) + data
    elif how < 0.25:
        data = change_bytes(rng, data)
    return data


def change_bytes(rng, data, times=4):
    data = bytearray(data)
    for _ in range(rng.randint(1, times)):
        at, how = rng.randint(0, len(data)), rng.randrange(5)
        if how == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
        elif how == 2:
            del data[at:at + rng.choice([1, 4, len(data)])]
        elif how == 3:
            data[at:at] = data[at:at + rng.randint(1, 40)]
        elif how == 4:
            data[at:at + 1] = rng.choice([b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"0", b"-", b"\0", b"1e999"])
    return bytes(data)
