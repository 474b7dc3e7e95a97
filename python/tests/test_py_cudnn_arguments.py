# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every argument of cuDNN's frontend is there, and the table in docs/CuDNN.md says of each what the code does with it."""

import ast
import importlib.util
import inspect
import pathlib
import re

import pytest

import nvfp4
from nvfp4 import cudnn
from nvfp4.cudnn import handling
from nvfp4.cudnn.signatures import TEXTS, signature

PACKAGE = pathlib.Path(cudnn.__file__).parent
DOCUMENT = PACKAGE.parents[2] / "docs" / "CuDNN.md"


def ours(name):
    """The callable of a key of TEXTS."""
    owner, _, method = name.partition(".")
    return getattr(getattr(cudnn, owner), method) if method else getattr(cudnn, owner)


@pytest.mark.parametrize("name", list(TEXTS))
def test_arguments_are_those_of_cudnn(name):
    parameters = dict(inspect.signature(ours(name)).parameters)
    parameters.pop("self", None)
    wanted = list(signature(name).parameters.values())
    assert [(p.name, p.kind) for p in parameters.values()][:len(wanted)] == [(p.name, p.kind) for p in wanted]
    for p in wanted:
        assert parameters[p.name].default == p.default, p.name
    # Arguments of this package alone come last, by keyword.
    assert set(parameters) - {p.name for p in wanted} <= {"compat"}


def test_classes_have_the_flow_of_cudnn():
    classes = [name for name in TEXTS if name[0].isupper() and "." not in name]
    assert len(classes) == 17
    for name in classes:
        assert f"{name}.execute" in TEXTS
        assert all(callable(getattr(ours(name), method)) for method in ("check_support", "compile", "execute"))


def test_the_document_has_a_row_for_each_argument():
    text = DOCUMENT.read_text()
    assert handling.table() in text, "print nvfp4.cudnn.handling.table() into docs/CuDNN.md"
    for name in TEXTS:
        if "." not in name:
            assert f"`{name}`" in text, name


@pytest.mark.parametrize("name", list(TEXTS))
def test_values_that_are_not_accepted_are_refused_by_name(name):
    given = {p.name: None for p in signature(name).parameters.values() if p.default is inspect.Parameter.empty}
    for argument, p in signature(name).parameters.items():
        values = handling.ONLY.get(argument)
        if values is None:
            continue
        assert p.default in values, argument
        for value in ("another", 3, True):
            if argument == "acc_dtype":
                value = "float16"
            with pytest.raises((nvfp4.ArgumentError, nvfp4.UnsupportedError), match=f"expected {argument} .*, but got {value}"):
                handling.bind(name, (), (), {**given, argument: value})
        for value in values:
            handling.bind(name, (), (), {**given, argument: value})


def test_each_argument_with_an_effect_is_read():
    """An argument that is neither read nor refused would be ignored in silence."""
    sources = "".join(path.read_text() for path in PACKAGE.glob("*.py") if path.stem not in ("signatures", "handling"))
    strings = set(re.findall(r'"(\w+)"', sources)) | set(re.findall(r"\b(\w+)=", sources))
    for argument in {name for each in TEXTS for name in signature(each).parameters}:
        if argument in handling.ONLY or argument in handling.NO_EFFECT:
            continue
        # Names of results and their types are put together from those of tensors.
        short = argument.removeprefix("sample_").removesuffix("_tensor")
        short = short.removesuffix("_dtype") if f"{short}" not in strings else short
        assert short in strings or re.search(rf"\b{argument}: ", sources), argument
    assert not set(handling.ONLY) & handling.NO_EFFECT
    known = {name for each in TEXTS for name in signature(each).parameters}
    assert set(handling.ONLY) | handling.NO_EFFECT | set(handling.NOTES) <= known


def test_unknown_and_missing_arguments_name_the_function():
    with pytest.raises(TypeError, match="gemm_amax_wrapper_sm100: .*colour"):
        cudnn.gemm_amax_wrapper_sm100(1, 2, 3, 4, colour=1)
    with pytest.raises(TypeError, match="GroupedGemmGluSm100: missing"):
        cudnn.GroupedGemmGluSm100()


# Constants of cuDNN, and their words in TEXTS.
CONSTANTS = {"cutlass.Float32": "float32", "cutlass.BFloat16": "bfloat16", "cutlass.Float16": "float16",
             "WGradInputOrder.Tensor2D": "tensor2d"}


def described(function):
    """(name, default) of the arguments of a function in a syntax tree."""
    arguments = function.args
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    pairs = [*zip(arguments.args, defaults), *zip(arguments.kwonlyargs, arguments.kw_defaults)]

    def value(node):
        if node is None:
            return inspect.Parameter.empty
        text = ast.unparse(node)
        return CONSTANTS[text] if text in CONSTANTS else ast.literal_eval(node)

    return [(argument.arg, value(default)) for argument, default in pairs if argument.arg != "self"]


def test_the_data_agrees_with_the_package_where_it_is_installed():
    spec = importlib.util.find_spec("cudnn")
    if spec is None or not (pathlib.Path(spec.origin).parent / "gemm").is_dir():
        pytest.skip("nvidia-cudnn-frontend 1.32 is not installed")
    root, found = pathlib.Path(spec.origin).parent, {}
    for path in [*root.glob("gemm/cutedsl/**/api.py"), *root.glob("rmsnorm_rht_amax/api.py"), root / "gemm/ops/moe_grouped_matmul.py"]:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                found[node.name] = described(node)
            elif isinstance(node, ast.ClassDef):
                # Declarations for type checkers come first.
                methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
                for method, key in (("__init__", node.name), ("execute", f"{node.name}.execute")):
                    if method in methods and key in TEXTS:
                        found[key] = described(methods[method])
    for name in TEXTS:
        assert found[name] == [(p.name, p.default) for p in signature(name).parameters.values()], name
