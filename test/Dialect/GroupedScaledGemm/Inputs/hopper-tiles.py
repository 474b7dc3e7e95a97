# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the tile that products on Hopper get: a line for each layer and format of
weights, with a tile for each number of tokens and, last, for no hint. Rows of bf16, of
f16 and with scales must get the same one; where they do not, the line says so.

usage: hopper-tiles.py NVFP4-OPT"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "benchmarks" / "h200"))
sys.dont_write_bytecode = True
import shapes  # noqa: E402

# Groups, choices of a token, N, K and numbers of tokens, None for no hint.
LAYERS = {name: (len(rows), 1, n, k, (sum(rows), None)) for name, (rows, n, k) in shapes.LISTS.items()}
for model, (experts, slots, products) in shapes.MODELS.items():
    for product, (columns, depth) in products.items():
        LAYERS[f"{model}_{product}"] = experts, slots, columns, depth, (*shapes.TOKENS, None)
WEIGHTS = ("nvfp4", "mxfp4", "mxfp8_e4m3")
TEXT = """func.func @f{number}(%x: {x}, %w: {w}, %ends: tensor<{groups}xi32>, %o: tensor<?x{n}xbf16>) -> tensor<?x{n}xbf16> {{
  %r = grouped_scaled_gemm.matmul <ragged_rows> groups(%ends : tensor<{groups}xi32>)
      lhs(%x : {x}) rhs(%w : {w}) outs(%o : tensor<?x{n}xbf16>) {hint} -> tensor<?x{n}xbf16>
  return %r : tensor<?x{n}xbf16>
}}
"""


def list_products():
    for layer, (groups, choices, n, k, counts) in LAYERS.items():
        for weights in WEIGHTS:
            for tokens in counts:
                for rows in ("bf16", "f16", weights):
                    x = f"tensor<?x{k}x{rows}>" if rows in ("bf16", "f16") else f"!grouped_scaled_gemm.scaled<?x{k}, {rows}>"
                    hint = f"{{expected_rows = {tokens * choices} : i64}}" if tokens else ""
                    yield (layer, weights), tokens, {
                        "x": x, "w": f"!grouped_scaled_gemm.scaled<{groups}x{n}x{k}, {weights}>", "n": n, "groups": groups,
                        "hint": hint}


def main():
    products = list(list_products())
    text = "".join(TEXT.format(number=i, **words) for i, (_, _, words) in enumerate(products))
    output = subprocess.run([sys.argv[1], "--gsg-select-strategy=target=sm_90a"], input=text, capture_output=True, text=True)
    if output.returncode:
        sys.exit(output.stderr[:2000])
    tiles = re.findall(r"strategy = #grouped_scaled_gemm.strategy<m = (\d+), n = (\d+), k = (\d+)>", output.stdout)
    tiles = ["x".join(tile) for tile in tiles]
    if len(tiles) != len(products):
        sys.exit(f"expected {len(products)} strategies, but got {len(tiles)}")
    found = {}
    for (line, tokens, _), tile in zip(products, tiles):
        found.setdefault(line, {}).setdefault(tokens, []).append(tile)
    for line, by_tokens in found.items():
        shown = [each[0] if len(set(each)) == 1 else "differ:" + ",".join(each) for each in by_tokens.values()]
        print(*line, *shown)


if __name__ == "__main__":
    main()
