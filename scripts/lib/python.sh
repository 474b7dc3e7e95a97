# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The private Python environment of the tests and examples: .venv at the top of
# the tree, with the versions pinned in python/requirements-dev.txt.

NVFP4_VENV=$NVFP4_SOURCE_DIR/.venv
NVFP4_PYTHON=$NVFP4_VENV/bin/python

ensure_python() {
  local wanted=$NVFP4_SOURCE_DIR/python/requirements-dev.txt
  local stamp=$NVFP4_VENV/requirements-installed.txt
  if [ -x "$NVFP4_PYTHON" ] && "$NVFP4_PYTHON" -c '' 2>/dev/null &&
    cmp -s "$wanted" "$stamp"; then
    return 0
  fi
  say "making the Python environment .venv"
  if ! "$NVFP4_PYTHON" -c '' 2>/dev/null; then
    rm -rf "$NVFP4_VENV"
    quietly venv /usr/bin/python3 -m venv "$NVFP4_VENV" ||
      die "could not make $NVFP4_VENV"
  fi
  quietly pip "$NVFP4_PYTHON" -m pip install --disable-pip-version-check \
    -r "$wanted" || die "could not install $wanted"
  cp "$wanted" "$stamp"
}

# Adds the frameworks of python/requirements-frameworks.txt to the environment.
# torch for CPUs alone, where its makers' index can be reached, is a twentieth of
# the wheel on PyPI with the libraries of CUDA.
ensure_frameworks() {
  local wanted=$NVFP4_SOURCE_DIR/python/requirements-frameworks.txt
  local stamp=$NVFP4_VENV/frameworks-installed.txt
  local modules="import jax, torch, transformers, tvm_ffi"
  if cmp -s "$wanted" "$stamp" && "$NVFP4_PYTHON" -c "$modules" 2>/dev/null; then
    return 0
  fi
  say "installing frameworks into .venv"
  local install=("$NVFP4_PYTHON" -m pip install --disable-pip-version-check)
  local torch
  torch=$(grep '^torch==' "$wanted")
  "${install[@]}" --retries 0 --timeout 15 "$torch" \
    --index-url https://download.pytorch.org/whl/cpu >/dev/null 2>&1 ||
    say "  ... torch of PyPI, with the libraries of CUDA"
  quietly pip-frameworks "${install[@]}" -r "$wanted" \
    -r "$NVFP4_SOURCE_DIR/python/requirements-dev.txt" ||
    die "could not install $wanted"
  "$NVFP4_PYTHON" -c "$modules" || die "could not import what $wanted names"
  cp "$wanted" "$stamp"
}
