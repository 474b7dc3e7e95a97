# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""nvfp4.distributed by processes with gloo: the bits of one rank, for every number of ranks and grouping of tokens."""

import itertools
import os
import types

import numpy as np
import pytest

import nvfp4

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch has no process groups", allow_module_level=True)

import distributed_work as cases  # noqa: E402
import nvfp4.torch  # noqa: E402
from nvfp4 import _expert_programs, _torch_layer  # noqa: E402
from nvfp4._exchange import StaticExchange  # noqa: E402
from nvfp4._placement import Placement  # noqa: E402
from nvfp4.distributed import MoE, balanced_placement, experts_of  # noqa: E402
from torch_sim import SimulatedDevice  # noqa: E402

IS_FULL = bool(os.environ.get("NVFP4_FULL_TESTS"))
STATIC = (("max_tokens", cases.ALL), ("static", True), ("top_k", cases.TOP_K))
#: Cases that differ from one rank in nothing: a form, a routing and options.
PLAIN = [("w4a16", "uniform", ()), ("w4a4", "skewed", ()), ("mxfp4", "uniform", ()), ("w4a8", "empty", ()), ("mxfp8", "skewed", ()),
         ("w4a4", "uniform", (("table", True), ("shared", True))), ("w4a4", "uniform", (("dispatch_format", "bf16"),)),
         ("w4a16", "uniform", (("dispatch_format", "mxfp8_e4m3"), ("return_format", "bf16"))),
         ("mxfp8", "uniform", (("return_format", "mxfp8_e4m3"), ("table", True))),
         ("mxfp8", "uniform", (("nan", True),)), ("w4a4", "uniform", STATIC), ("w4a16", "skewed", (("table", True), ("shared", True), *STATIC))]
OPTIONS = [(), (("table", True),), (("shared", True),), STATIC, (("table", True), ("shared", True), *STATIC),
           (("return_format", "nvfp4"), *STATIC), (("dispatch_format", "f32"),)]
CASES = list(itertools.product(cases.FORMS, cases.ROUTINGS, OPTIONS)) + PLAIN if IS_FULL else PLAIN
#: The number of ranks, and every how many cases it computes.
RANKS = {2: 1, 3: 1, 4: 1} if IS_FULL else {2: 1, 4: 3}


@pytest.fixture
def alone(tmp_path):
    """A group of one rank."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/alone", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def two_ranks(tmp_path_factory):
    """The results of both of two ranks."""
    grouped = ("order", "rank_grouped"), ("table", True)
    return cases.run(2, tmp_path_factory.mktemp("two") / "group", [
        ("w4a16", "uniform", grouped), ("w4a16", "uniform", (*grouped, *STATIC)), "misuse", "replicate",
        *(("w4a4", "uniform", (("exact", True), ("table", True), ("order", order))) for order in ("slot", "rank_grouped"))])


@pytest.mark.parametrize("ranks", RANKS)
def test_bits_of_one_rank(tmp_path, alone, ranks):
    chosen = CASES[::RANKS[ranks]]
    for case, results in zip(chosen, cases.run(ranks, tmp_path / "group", chosen)):
        one, = cases.compute(case, 0, 1)
        assert torch.any(one != 0) == (case[1] != "empty" or ("shared", True) in case[2])
        # NaN stays in its token.
        rows = torch.isnan(one).any(1).nonzero().flatten().tolist()
        assert rows == ([7, 8, 10, 11] if ("nan", True) in case[2] else [])
        for i, of_ranks in enumerate(zip(*results)):
            got = torch.cat(of_ranks)
            assert torch.equal(got.view(torch.int16), one.view(torch.int16)), (case, cases.TOKENS[ranks][i])


def oracle(case, rows_of, weights):
    """Sums of dequantised products would have other bits: those of the whole layer, one slot at a time, summed in float64
    where the rounding of each fused multiply-add in float32 is."""
    total = torch.zeros(weights.shape[0], cases.HIDDEN)
    for slot in range(weights.shape[1]):
        total = (weights[:, slot, None].double() * rows_of(slot).double() + total.double()).float()
    return total


@pytest.mark.parametrize("form", cases.FORMS)
def test_slots_in_their_order(alone, form):
    """One rank beside the compiled layer: of each slot alone, and of all of them at once."""
    name, act = cases.FORMS[form]
    weights, (x, ids, factors) = cases.make_weights(name), cases.make_tokens("uniform")
    options = dict(activation_format=act, dtype=np.float32)
    ones = torch.ones(cases.ALL, 1)
    wanted = oracle(form, lambda slot: nvfp4.moe_layer(x, weights, topk_ids=ids[:, slot:slot + 1].contiguous(), topk_weights=ones, **options),
                    factors)
    got = MoE(weights, activation_format=act)(x, ids, factors)
    assert torch.equal(got, wanted.to(torch.bfloat16)) and not torch.any(got[2])
    assert torch.equal(got, nvfp4.moe_layer(x, weights, topk_ids=ids, topk_weights=factors, activation_format=act))


def test_shared_experts_come_last(alone):
    weights, shared, (x, ids, factors) = cases.make_weights("nvfp4"), cases.make_weights("nvfp4", 2, 11), cases.make_tokens("skewed")
    ones, each = torch.ones(cases.ALL, 1), dict(activation_format="bf16", dtype=np.float32)

    def row(slot):
        source, number = (weights, ids[:, slot:slot + 1].contiguous()) if slot < cases.TOP_K else (shared, torch.full((cases.ALL, 1), slot - cases.TOP_K))
        return nvfp4.moe_layer(x, source, topk_ids=number, topk_weights=ones, **each)

    given = torch.linspace(-1, 1, 2 * cases.ALL).reshape(cases.ALL, 2)
    module = MoE(weights, activation_format="bf16", shared=shared)
    for of_shared, arguments in ((torch.ones(cases.ALL, 2), ()), (given, (given,))):
        wanted = oracle("w4a16", row, torch.cat([factors, of_shared], 1))
        assert torch.equal(module(x, ids, factors, *arguments), wanted.to(torch.bfloat16))


@pytest.mark.parametrize("sent, returned", [("mxfp8_e4m3", None), ("nvfp4", None), (None, "bf16"), (None, "mxfp8_e4m3")])
def test_roundings_of_wires(alone, sent, returned):
    """A row is rounded once on its way there, and once on its way back."""
    weights, (x, ids, factors) = cases.make_weights("nvfp4"), cases.make_tokens("uniform")

    def through(rows, form):
        if form in (None, "bf16"):
            return rows if form is None else rows.bfloat16().float()
        return torch.from_numpy(nvfp4.dequantize(nvfp4.quantize(rows, form))).to(rows.dtype)

    ones, options = torch.ones(cases.ALL, 1), dict(activation_format="bf16", dtype=np.float32)
    wanted = oracle("w4a16", lambda slot: through(nvfp4.moe_layer(through(x, sent), weights, topk_ids=ids[:, slot:slot + 1].contiguous(),
                                                                  topk_weights=ones, **options), returned), factors)
    got = MoE(weights, activation_format="bf16", dispatch_format=sent, return_format=returned)(x, ids, factors)
    assert torch.equal(got, wanted.to(torch.bfloat16))
    assert not torch.equal(got, MoE(weights, activation_format="bf16")(x, ids, factors))


def test_sums_by_rank(two_ranks):
    """rank_grouped: the slots of each rank first, then the ranks in their order."""
    results, static = two_ranks[:2]
    weights, (x, ids, factors) = cases.make_weights("nvfp4"), cases.make_tokens("uniform")
    ones, table, differs = torch.ones(cases.ALL, 1), cases.TABLES[2], False
    rows = [nvfp4.moe_layer(x, weights, topk_ids=ids[:, slot:slot + 1].contiguous(), topk_weights=ones, activation_format="bf16", dtype=np.float32)
            for slot in range(cases.TOP_K)]
    for i, tokens in enumerate(cases.TOKENS[2]):
        home = torch.tensor([rank for rank, count in enumerate(tokens) for _ in range(count)])
        wanted = torch.zeros(cases.ALL, cases.HIDDEN)
        for rank in range(2):
            at = torch.tensor([[e in range(cases.EXPERTS) and (int(home[t]) if isinstance(table[e], list) else table[e]) == rank
                                for e in ids[t].tolist()] for t in range(cases.ALL)])
            part = oracle("w4a16", rows.__getitem__, torch.where(at, factors, 0.0))
            wanted = wanted + part
        got = torch.cat([of_rank[i] for of_rank in results])
        assert torch.equal(got, wanted.to(torch.bfloat16)) and torch.equal(got, torch.cat([of_rank[i] for of_rank in static]))
        slot_order = nvfp4.moe_layer(x, weights, topk_ids=ids, topk_weights=factors, activation_format="bf16", dtype=np.float32)
        differs |= not torch.equal(wanted, slot_order)
    assert differs


LAYER = """
!act = !grouped_scaled_gemm.scaled<?x64, nvfp4>
!glu = !grouped_scaled_gemm.scaled<?x32, nvfp4>
!w13 = !grouped_scaled_gemm.scaled<5x64x64, nvfp4>
!w2 = !grouped_scaled_gemm.scaled<5x64x32, nvfp4>
func.func @layer(%x: tensor<?x64xf32>, %e: tensor<?x3xi32>, %w: tensor<?x3xf32>, %t: tensor<2xi32>, %w13: !w13, %w2: !w2)
    -> tensor<?x64xf32> {
  %o = grouped_scaled_gemm.expert_parallel(%x : tensor<?x64xf32>) to(%e : tensor<?x3xi32>) weights(%w : tensor<?x3xf32>)
      tokens(%t : tensor<2xi32>) attributes {ATTRIBUTES} {
  ^bb0(%rows: tensor<?x64xf32>, %ends: tensor<5xi32>):
    %c0 = arith.constant 0 : index
    %n = tensor.dim %rows, %c0 : tensor<?x64xf32>
    %q = grouped_scaled_gemm.quantize <trtllm>(%rows : tensor<?x64xf32>) -> !act
    %h = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<5xi32>) lhs(%q : !act) rhs(%w13 : !w13)
        activation = <reglu, gate = <halves, gate_first>> quantizer = <trtllm> -> !glu
    %i = tensor.empty(%n) : tensor<?x64xf32>
    %y = grouped_scaled_gemm.matmul <ragged_rows, ends> groups(%ends : tensor<5xi32>) lhs(%h : !glu) rhs(%w2 : !w2)
        outs(%i : tensor<?x64xf32>) -> tensor<?x64xf32>
    grouped_scaled_gemm.yield_rows %y : tensor<?x64xf32>
  } -> tensor<?x64xf32>
  return %o : tensor<?x64xf32>
}
"""


def test_virtual_ranks(two_ranks):
    """Processes beside the interpreter and the program of one rank: the same copies of experts are chosen, and the same sums
    made, in both orders."""
    weights, x = cases.make_exact()
    _, ids, factors = cases.make_tokens("uniform")
    ids = torch.where(ids == cases.EXPERTS, -1, ids).int()
    found = []
    for order, results in zip(("", "rank_grouped, "), two_ranks[4:]):
        program = nvfp4.Program(LAYER.replace("ATTRIBUTES", f"{order}table = [[1], [0], [1], [0, 1], [0]]"))
        for i, tokens in enumerate(cases.TOKENS[2]):
            arguments = x, ids, factors, np.cumsum(tokens).astype(np.int32), weights.w13, weights.w2
            wanted = program.reference(*arguments)
            got = torch.cat([of_rank[i] for of_rank in results]).numpy()
            assert got.any() and (got == wanted).all(), (order, tokens)
            assert (program.run(*arguments) == wanted).all()
            found.append(got)
    assert (found[0] != found[3]).any()
    # Neighbours on ranks: the program of one rank divides instead of looking up.
    program = nvfp4.Program(LAYER.replace("ATTRIBUTES", "rank_grouped"))
    assert (program.run(*arguments) == program.reference(*arguments)).all()


def test_tokens_that_all_ranks_have(alone, two_ranks):
    whole = MoE(cases.make_weights("nvfp4"))
    tokens = cases.make_tokens("uniform")
    for i, count in enumerate((cases.ALL, 1, 0)):
        wanted = whole(*(each[:count] for each in tokens))
        for results in two_ranks[3]:
            assert torch.equal(results[2 * i], wanted)
        first, last = (results[2 * i + 1] for results in two_ranks[3])
        assert torch.equal(first + last, wanted) and not torch.any((first != 0) & (last != 0))


def test_slots_as_transformers_leaves_them():
    """The expert-parallel router of Transformers beside the stand-in of these tests."""
    parallel = pytest.importorskip("transformers.distributed.tensor_parallel")
    ids, factors = torch.randint(6, (23, 3)), torch.rand(23, 3)
    for rank in range(2):
        mesh = types.SimpleNamespace(get_local_rank=lambda: rank, size=lambda: 2)
        with torch.no_grad():
            _, scores, indices = parallel.EpRouterParallel().transform_output_post_forward(
                types.SimpleNamespace(num_experts=6), (None, factors, ids), mesh)
        wanted = cases.as_router_leaves(ids, factors, experts_of(rank, 2, 6))
        assert torch.equal(indices, wanted[0]) and torch.equal(scores, wanted[1])


def test_an_error_of_one_rank_is_one_of_all(two_ranks):
    first, last = two_ranks[2]
    for static in (False, True):
        many = "expected at most 8 tokens (max_tokens) on every rank, but got 9 on rank 1"
        assert last["many", static] == many and last["shape", static].startswith("expected x of shape [T, 64], but got (2, 63)")
        assert last["types", static] == "expected x of bfloat16 for activations of bf16, but got float16"
        assert first["many", static] == many
        assert last["none", static] == "expected x as a tensor of torch, but got NoneType"
        for name in ("shape", "types", "none"):
            assert first[name, static] == "expected arguments that go together on every rank, but rank 1 refused its own"
        for name in ("many", "shape", "types", "none"):
            for each in (first, last):
                assert torch.equal(each[name, static, "after"], first["many", False, "after"])
    for name, what in (("options", "order on every rank, but got slot on rank 0 and rank_grouped"), ("wire", "return_format")):
        assert what in first[name] and first[name] == last[name]


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_refusal_hides_no_other_of_earlier_calls(is_seen):
    """``is_seen``: calls raise the errors of other ranks, as on the CPU; else check() does, as on a GPU."""
    exchange = StaticExchange(None, Placement(3, 3), 1, torch.device("cpu"), 4, 2)
    assert exchange.is_seen
    exchange.is_seen = is_seen
    exchange.seen.copy_(torch.tensor([[3, 0], [9, 1], [6, 1]]))
    with pytest.raises(nvfp4.ArgumentError, match="own"):
        exchange.settle(nvfp4.ArgumentError("own"))
    if not is_seen:
        exchange.settle(None)
        with pytest.raises(nvfp4.ArgumentError, match="expected at most 4 tokens .* but got 6 on rank 2"):
            exchange.raise_refusals()
    exchange.settle(None)
    exchange.raise_refusals()


@pytest.mark.skipif(not IS_FULL, reason="starts processes of its own")
def test_a_rank_that_ends_is_an_error_of_the_others(tmp_path):
    torch.multiprocessing.spawn(cases.die, (3, str(tmp_path)), nprocs=3)
    assert all(torch.load(f"{tmp_path}/{rank}") for rank in range(2))


@pytest.mark.parametrize("experts, ranks, sizes", [(8, 2, [4, 4]), (5, 3, [2, 2, 1]), (3, 3, [1, 1, 1]), (7, 1, [7])])
def test_experts_of_ranks(experts, ranks, sizes):
    places = [experts_of(rank, ranks, experts) for rank in range(ranks)]
    assert [len(place) for place in places] == sizes and [e for place in places for e in place] == list(range(experts))
    assert Placement(experts, ranks).local == [list(place) for place in places]


@pytest.mark.parametrize("table, message", [
    ([0, 1], "expected a placement of 3 entries, one for each expert, but got 2"),
    ([0, 1, []], r"expected one rank or more, each once, for expert 2, but got \(\)"),
    ([0, 1, [1, 1]], r"expected one rank or more, each once, for expert 2, but got \(1, 1\)"),
    ([0, 1, 2], "expected rank of expert 2 as a whole number from 0 to 1, the last rank, but got 2"),
    ([0, 0, [0]], "expected a placement with an expert on each of 2 ranks, but got none on rank 1")])
def test_wrong_placements(table, message):
    with pytest.raises(nvfp4.ArgumentError, match=message):
        Placement(3, 2, table)


def test_balanced_placement():
    rng = np.random.default_rng(2)
    for _ in range(300):
        experts = int(rng.integers(1, 40))
        ranks = int(rng.integers(1, min(experts, 9) + 1))
        copies = int(rng.integers(0, min(experts * (ranks - 1), 20) + 1))
        table = balanced_placement(rng.choice([0, 1, 50], experts) * rng.random(experts), ranks, copies)
        counts = [len(local) for local in Placement(experts, ranks, table).local]
        assert sum(counts) == experts + copies and max(counts) - min(counts) <= 1
    # One expert with half of the load is on every rank, the other copies are of the next ones.
    loads = [8, 2, 1, 1, 1, 1, 1, 1]
    table = balanced_placement(loads, 4, 4)
    assert table[0] == [0, 1, 2, 3] and [len(entry) for entry in table[1:]] == [2, 1, 1, 1, 1, 1, 1]
    of_ranks = [sum(load / len(entry) for load, entry in zip(loads, table) if rank in entry) for rank in range(4)]
    assert max(of_ranks) <= 1.25 * sum(loads) / 4 and table == balanced_placement(loads, 4, 4)
    for arguments, message in ((([1, -1], 2), "expected a finite load of 0 or more for each expert, but got -1.0 for expert 1"),
                               (([1, 1], 3), "expected ranks as a whole number from 1 to 2, the number of experts, but got 3"),
                               (([1, 1], 2, 3), "expected copies as a whole number from 0 to 2, one of each expert on each other")):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            balanced_placement(*arguments)


def test_wrong_calls(alone):
    with pytest.raises(nvfp4.ArgumentError, match="expected from 1 to 3 ranks, the number of experts, but got 4"):
        experts_of(0, 4, 3)
    weights, (x, ids, factors) = cases.make_weights("nvfp4"), cases.make_tokens("uniform")
    for options, message in ((dict(static=True), "expected max_tokens= and top_k= with static"),
                             (dict(memory="ipc"), "expected memory= and timeout= only with exchange one_sided, but got memory='ipc'$"),
                             (dict(memory="symmetric", timeout=60.0), "with exchange one_sided, but got memory='symmetric', timeout=60.0$"),
                             (dict(order="any"), "expected order slot, rank_grouped, but got 'any'"),
                             (dict(dispatch_format="mxfp4"), "expected dispatch_format nvfp4, that of the activations, or one of"),
                             (dict(return_format="e3m4"), "expected return_format f32, bf16, f16, nvfp4"),
                             (dict(shared=7), r"expected shared as MoEWeights\(w13, w2, ...\), but got int")):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            MoE(weights, **options)
    module = MoE(weights, activation_format="bf16")
    for arguments, message in (((x[:, 1:], ids, factors), r"expected x of shape \[T, 64\], but got \(23, 63\)"),
                               ((x, ids[1:], factors), r"expected topk_ids and topk_weights of shape \[23, top_k\]"),
                               ((x, ids.float(), factors), "expected topk_ids of int32 or int64, but got torch.float32"),
                               ((x, ids, factors, factors), r"expected shared_weights of shape \(23, 0\), but got \(23, 3\)"),
                               ((x, ids, factors.to("meta")), "expected topk_weights on cpu, where the weights are")):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            module(*arguments)


def test_without_a_group():
    with pytest.raises(nvfp4.ArgumentError, match="expected a process group, which .* makes, but got none"):
        MoE(cases.make_weights("nvfp4"))


def test_device_mesh(alone):
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1, 1), mesh_dim_names=("dp", "ep"))
    weights, (x, ids, factors) = cases.make_weights("nvfp4"), cases.make_tokens("uniform")
    with pytest.raises(nvfp4.ArgumentError, match="expected a mesh of one dimension, such as mesh\\['dp'\\], but got one of 2"):
        MoE(weights, mesh=mesh)
    with pytest.raises(nvfp4.ArgumentError, match="expected either group= or mesh=, but got both"):
        MoE(weights, mesh=mesh["ep"], group=torch.distributed.group.WORLD)
    assert torch.equal(MoE(weights, mesh=mesh["ep"])(x, ids, factors), MoE(weights)(x, ids, factors))


KERNELS = {"w4a4": (None, dict(return_format="mxfp8_e4m3")), "w4a16": ("bf16", {}),
           "static": ("bf16", dict(dispatch_format="mxfp8_e4m3", max_tokens=9, static=True, top_k=cases.TOP_K))}


@pytest.mark.parametrize("act, options", [each for each in KERNELS.values()][:3 if IS_FULL else 1], ids=list(KERNELS)[:3 if IS_FULL else 1])
def test_kernels(alone, monkeypatch, act, options):
    """On the simulator: the bits of the layer as one function of kernels, where nothing is rounded on its way."""
    device = SimulatedDevice()
    monkeypatch.setattr(_expert_programs, "find_device", lambda tensor: device)
    monkeypatch.setattr(_torch_layer, "_run", lambda *arguments: _torch_layer._on_device(device, *arguments))
    weights, (x, ids, factors) = cases.make_weights("nvfp4"), cases.make_tokens("uniform")
    x, ids, factors = x[:9], ids[:9], factors[:9]
    module = MoE(weights, activation_format=act, **options)
    module.experts._repack(True)
    got = module(x, ids, factors)
    whole = nvfp4.torch.MoELayer(weights, activation_format=act, determinism="batch_invariant")
    whole._repack(True)
    if "dispatch_format" in options:
        x = torch.from_numpy(nvfp4.dequantize(nvfp4.quantize(x, "mxfp8_e4m3"))).bfloat16()
    if "return_format" not in options:
        assert torch.equal(got, whole(x, topk_ids=ids, topk_weights=factors))
        return
    whole.dtype, ones, total = torch.float32, torch.ones(9, 1), torch.zeros(9, cases.HIDDEN)
    for slot in range(cases.TOP_K):
        row = whole(x, topk_ids=ids[:, slot:slot + 1].contiguous(), topk_weights=ones)
        row = torch.from_numpy(nvfp4.dequantize(nvfp4.quantize(row, "mxfp8_e4m3")))
        total = (factors[:, slot, None].double() * row.double() + total.double()).float()
    assert torch.equal(got, total.bfloat16())
