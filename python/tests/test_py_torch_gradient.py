# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of torch.ops.nvfp4.grouped_matmul against autograd of the same function in float64, whose weights are decoded
by the tables of test/python. Rows of no group, and what comes back for them, are NaN. Skipped where torch is missing."""

import numpy as np
import pytest

import nvfp4
from nvfp4_cases import GROUPINGS, gate_rows, make_product, ragged

torch = pytest.importorskip("torch")

N, K = 16, 64
ACTIVATIONS = {"identity": lambda z: z, "relu": torch.relu, "relu2": lambda z: torch.relu(z) ** 2,
               "silu": lambda z: z * torch.sigmoid(z), "swiglu": lambda g, u: g * torch.sigmoid(g) * u,
               "geglu_tanh": lambda g, u: u * 0.5 * g * (1 + torch.tanh(0.7978845608028654 * (g + 0.044715 * g**3))),
               "reglu": lambda g, u: torch.relu(g) * u}
ACTIVATIONS["gelu_tanh"] = lambda z: ACTIVATIONS["geglu_tanh"](z, 1.0)
PAIRS = ("swiglu", "geglu_tanh", "reglu")


@pytest.fixture(scope="module")
def ops():
    import nvfp4.torch  # noqa: F401
    return torch.ops.nvfp4


class Case:
    """A product of plain rows, its arguments, and where the rows of each group lie."""

    def __init__(self, rng, groups, fmt="nvfp4", dtype=torch.bfloat16, layout="linear"):
        along_k = groups.kind == "ragged_k"
        self.groups, self.along_k = groups, along_k
        self.product = make_product(rng, groups, N, None if along_k else K, fmt, lattice=False,
                                    **({"m": 5} if along_k else {}))
        _, (_, rhs) = self.product.arguments(rhs_layout=layout)
        self.rhs = [torch.from_numpy(np.ascontiguousarray(t)) for t in rhs]
        shape = (5, groups.extent) if along_k else self.product.lhs.shape
        self.rows = torch.full(shape, float("nan"), dtype=dtype)
        for rows, _, _ in self.places():
            self.rows[rows] = torch.from_numpy(rng.integers(-8, 9, self.rows[rows].shape) / 8).to(dtype)
        self.ends = None if groups.operand is None else torch.from_numpy(groups.operand)
        self.options = dict(format=fmt, layout=layout, grouping=groups.kind, offsets=groups.offsets, align=groups.align)

    def places(self):
        """(rows of lhs, results, weights in float64) of each group."""
        for (results, _, rhs), begin, count in zip(self.product.problems(), self.groups.begins, self.groups.counts):
            rows = (slice(None), slice(begin, begin + count)) if self.along_k else results
            yield rows, results, torch.from_numpy(rhs.values())

    def per_row(self, rng):
        shape = self.rows.shape[:1] if self.along_k else self.rows.shape[:-1]
        return torch.from_numpy(rng.uniform(0.25, 1, shape).astype(np.float32))

    def gradient_like(self, rng, y):
        """NaN where no group has results."""
        grad = torch.full_like(y, float("nan"))
        for _, results, _ in self.places():
            grad[results] = torch.from_numpy(rng.integers(-8, 9, grad[results].shape) / 8).to(grad.dtype)
        return grad

    def reference(self, grad, rows, alpha, bias, prob, activation, gate):
        """Gradients of the arguments, which are leaves of float64."""
        total = torch.zeros((), dtype=torch.float64)
        for g, (place, results, weights) in enumerate(self.places()):
            z = rows[place] @ weights.T
            if alpha is not None and alpha.ndim == 2:
                columns = torch.empty(N, dtype=torch.long)
                for half, index in enumerate(gate):
                    columns[index] = half
                z = z * alpha[g][columns]
            elif alpha is not None:
                z = z * (alpha if alpha.ndim == 0 else alpha[g])
            if bias is not None:
                z = z + (bias if bias.ndim == 1 else bias[g])
            y = ACTIVATIONS[activation](*(z[..., index] for index in gate)) if gate else ACTIVATIONS[activation](z)
            if prob is not None:
                y = y * (prob if self.along_k else prob[results])[..., None]
            total = total + (y * grad[results].double()).sum()
        total.backward()


def compare(case, rng, ops, leaves, activation="identity", granularity=0, gate_first=True, dtype=torch.float32):
    """`leaves` holds alpha, bias and prob, or None; rows are always one."""
    rows = case.rows.clone().requires_grad_()
    given = {name: value if value is None else value.clone().requires_grad_() for name, value in leaves.items()}
    y = ops.grouped_matmul(rows, None, *case.rhs, case.ends, activation=activation, granularity=granularity,
                           gate_first=gate_first, dtype=dtype, **given, **case.options)
    grad = case.gradient_like(rng, y)
    y.backward(grad)
    gate = None
    if activation in PAIRS:
        gate = [torch.from_numpy(index) for index in gate_rows(granularity, not gate_first, N // 2)]
    exact = {name: value if value is None else value.double().requires_grad_() for name, value in leaves.items()}
    exact_rows = case.rows.double().requires_grad_()
    case.reference(grad, exact_rows, *(exact.get(name) for name in ("alpha", "bias", "prob")), activation, gate)
    pairs = [("rows", rows, exact_rows), *((n, given[n], exact[n]) for n in given if given[n] is not None)]
    for name, got, expected in pairs:
        assert got.grad.dtype == got.dtype, name
        got, expected = got.grad.double(), expected.grad.double()
        unit = 2.0**-8 if name == "rows" else 2.0**-18
        bound = unit * expected.abs() + 2.0**-18 * expected.abs().max()
        assert ((got - expected).abs() <= bound).all(), (name, (got - expected).abs().max())


@pytest.mark.parametrize("groups", GROUPINGS, ids=lambda g: f"{g.kind}-{g.offsets}")
@pytest.mark.parametrize("fmt,layout", [("nvfp4", "linear"), ("mxfp4", "blocked")])
def test_every_grouping(rng, ops, groups, fmt, layout):
    if groups.kind == "ragged_k":
        layout = "linear"
    case = Case(rng, groups, fmt, layout=layout)
    leaves = dict(alpha=torch.from_numpy(rng.uniform(0.25, 1, len(groups)).astype(np.float32)),
                  bias=torch.from_numpy(rng.standard_normal((len(groups), N)).astype(np.float32)), prob=case.per_row(rng))
    compare(case, rng, ops, leaves)


@pytest.mark.parametrize("activation", sorted(set(ACTIVATIONS) - {"identity"}))
@pytest.mark.parametrize("granularity,gate_first", [(0, True), (4, False)])
def test_activations(rng, ops, activation, granularity, gate_first):
    pairs = activation in PAIRS
    case = Case(rng, ragged([3, 0, 5], extra=2), dtype=torch.float16)
    alpha = rng.uniform(0.125, 0.5, (3, 2) if pairs else 3).astype(np.float32)
    leaves = dict(alpha=torch.from_numpy(alpha), bias=torch.from_numpy(rng.standard_normal(N).astype(np.float32)),
                  prob=case.per_row(rng))
    # Others have no gate layout.
    compare(case, rng, ops, leaves, activation, *((granularity, gate_first) if pairs else ()))


@pytest.mark.parametrize("leaves", [dict(), dict(alpha=torch.tensor(0.5)), dict(bias=torch.ones(N, dtype=torch.bfloat16))],
                         ids=["rows", "number", "bf16-bias"])
def test_arguments_that_are_left_out(rng, ops, leaves):
    compare(Case(rng, ragged([3, 0, 5])), rng, ops, leaves)


def test_quantised_rows_have_gradients_of_the_rest(rng, ops):
    case = Case(rng, ragged([3, 0, 5], extra=2))
    _, (lhs, _) = case.product.arguments()
    rows = torch.zeros(case.rows.shape, dtype=torch.float64)
    for (place, _, _), (_, part, _) in zip(case.places(), case.product.problems()):
        rows[place] = torch.from_numpy(part.values())
    alpha = torch.tensor([0.5, 1, 2], requires_grad=True)
    y = ops.grouped_matmul(*map(torch.from_numpy, lhs), *case.rhs, case.ends, alpha=alpha, dtype=torch.float32,
                           **case.options)
    grad = case.gradient_like(rng, y)
    y.backward(grad)
    exact = alpha.detach().double().requires_grad_()
    case.reference(grad, rows, exact, None, None, "identity", None)
    np.testing.assert_allclose(alpha.grad.numpy(), exact.grad.numpy(), rtol=1e-5, atol=1e-5 * exact.grad.abs().max())


@pytest.mark.parametrize("name", ["lhs", "rhs_scales"])
def test_gradients_of_quantised_operands_are_refused(rng, ops, name):
    product = make_product(rng, ragged([3, 5]), N, K, "mxfp8_e4m3")
    _, (lhs, rhs) = product.arguments()
    operands = dict(zip(("lhs", "lhs_scales", "rhs", "rhs_scales"), map(torch.from_numpy, map(np.ascontiguousarray, (
        lhs[0].view(np.uint8), lhs[1].view(np.uint8), rhs[0].view(np.uint8), rhs[1].view(np.uint8))))))
    operands[name] = operands[name].view(torch.float8_e4m3fn if name == "lhs" else torch.float8_e8m0fnu).requires_grad_()
    y = ops.grouped_matmul(**operands, ends=torch.from_numpy(product.groups.operand), format="mxfp8_e4m3")
    with pytest.raises(nvfp4.ArgumentError, match=f"no gradient of {name}, .*lhs, alpha, bias, prob have one"):
        y.sum().backward()


def test_the_operation_is_checked_and_compiled(rng, ops):
    case = Case(rng, ragged([3, 0, 5]))
    rows, bias = case.rows.clone().requires_grad_(), torch.ones(N, requires_grad=True)
    alpha = torch.tensor([[0.5, 1], [1, 2], [2, 1]], requires_grad=True)
    torch.library.opcheck(ops.grouped_matmul.default, (rows, None, *case.rhs, case.ends, alpha, bias), dict(
        activation="swiglu", granularity=2, dtype=torch.float32, prob=case.per_row(rng).requires_grad_()))

    def loss(rows, alpha):
        return ops.grouped_matmul(rows, None, *case.rhs, case.ends, alpha, activation="swiglu", dtype=torch.float32).sum()

    found = torch.autograd.grad(loss(rows, alpha), (rows, alpha))
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    for got, expected in zip(torch.autograd.grad(compiled(rows, alpha), (rows, alpha)), found):
        assert torch.equal(got, expected)
