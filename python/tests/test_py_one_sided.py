# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The one-sided exchange: its kernels on several simulated devices, with faults, and its layer on virtual ranks."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch has no process groups", allow_module_level=True)

import distributed_work as cases  # noqa: E402
import nvfp4  # noqa: E402
import nvfp4.torch  # noqa: E402
import one_sided_ranks  # noqa: E402
from nvfp4 import _expert_programs, _torch_layer  # noqa: E402
from nvfp4 import _one_sided_text as kernels  # noqa: E402
from nvfp4._one_sided import SharedMemory, VirtualRank, finish  # noqa: E402
from nvfp4._placement import Placement  # noqa: E402
from nvfp4.distributed import MoE, VirtualRanks  # noqa: E402
from torch_sim import SimulatedDevice  # noqa: E402

IS_FULL = bool(os.environ.get("NVFP4_FULL_TESTS"))
HERE = pathlib.Path(__file__).parent


def run_ranks(ranks, *arguments, seed=1):
    """What `one_sided_ranks` prints and its status, on so many devices, with the checker."""
    folders = os.pathsep.join([str(HERE), *sys.path])
    environment = {**os.environ, "PYTHONPATH": folders, "NVFP4_SIM_OPTIONS": f"--check --devices {ranks} --seed {seed}"}
    done = subprocess.run([sys.executable, HERE / "one_sided_ranks.py", str(ranks), *arguments], env=environment,
                          capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("ranks, seed", [(ranks, seed) for ranks in (1, 2, 3, 4, 8) for seed in range(1, 17 if IS_FULL else 2)])
def test_kernels_of_several_devices(ranks, seed):
    status, output = run_ranks(ranks, seed=seed)
    assert status == 0 and output.strip() == "equal", output


def test_numbers_of_calls_pass_their_end():
    status, output = run_ranks(2, "wrap")
    assert status == 0 and output.strip() == "equal", output


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_rank_that_sends_no_results(ranks):
    """The others end the call, say of whom they have no results, and write nothing after it."""
    status, output = run_ranks(ranks, "mute")
    assert status == 0 and output.strip() == "equal", output


@pytest.mark.parametrize("seed", range(1, 17 if IS_FULL else 3))
def test_waits_that_fail_at_any_time(seed):
    """Short ones, of which some fail while others write: ranks end, and earlier rounds are right."""
    status, output = run_ranks(3, "late", seed=seed)
    assert status == 0 and output.strip() == "equal", output


def test_planted_faults():
    """Some of those that `one_sided_proof.py faults` plants; docs/Tests.md has the command for all."""
    for arguments in (("--kernels", "order", "--part", "0/1" if IS_FULL else "3/10"), ("--kernels", "push", "--part", "8/48")):
        done = subprocess.run([sys.executable, HERE / "one_sided_proof.py", "faults", *arguments], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}, timeout=3000)
        assert done.returncode == 0 and re.search(r"^[1-9]\d* of [1-9]\d* faults found", done.stdout, re.MULTILINE), done.stdout + done.stderr


@pytest.mark.parametrize("fault", list(one_sided_ranks.FAULTS) if IS_FULL else list(one_sided_ranks.FAULTS)[::4])
def test_faults_are_found(fault):
    # A wait that does not wait is harmless in a schedule in which everything has come.
    for seed in (2, 3, 4):
        status, output = run_ranks(2, fault, seed=seed)
        if status:
            break
    assert status != 0 and ("data-race" in output or fault == "no-tokens-no-cell" and "Mismatched elements" in output), output


def test_order_and_scope_of_instructions():
    """What kernels synchronise with, and nothing whose order or scope a compiler has dropped."""
    layout, found = kernels.Layout(2, 3, 2, (64, 16), (64,)), {}
    texts = [kernels.push_text(layout, "i64", (4, 1)), *(kernels.await_text(layout, role) for role in (kernels.DISPATCH, kernels.RETURN)),
             kernels.number_text(layout, 4), kernels.fetch_text(layout, 4), kernels.give_back_text(layout)]
    for text in texts:
        ptx = nvfp4.compile(text, "sm_90a", memory="device").emit("ptx").decode()
        name = re.search(r"entry (\w+)_kernel", ptx)[1]
        found[name] = re.findall(r"^\s*((?:atom|red|fence|membar|bar|barrier|multimem|(?:ld|st)\.(?:acquire|relaxed|release|volatile))\S*)",
                                 ptx, re.MULTILINE)
    publish = ["barrier.sync", "atom.acq_rel.gpu.global.inc.u32", "fence.acq_rel.sys;", "st.relaxed.sys.global.b64"]
    wait = ["ld.acquire.sys.global.b64", "ld.relaxed.sys.global.u32", "atom.relaxed.gpu.global.cas.b32", "st.relaxed.sys.global.u32"]
    assert found == {"push": publish, "await_rows": wait, "await_results": wait, "number": ["ld.relaxed.sys.global.b64"] * 2,
                     "fetch": [], "give_back": publish}


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_rank_that_makes_no_call(ranks):
    """The others end, with the role, the rank, the epochs seen and expected, and who ended the exchange first."""
    status, output = run_ranks(ranks, "dead")
    assert status == 0, output
    found = [list(map(int, line.split())) for line in output.splitlines()]
    assert [line[0] for line in found] == list(range(ranks - 1))
    # Words of a failure: failed, role, rank waited for, seen, expected, and 1 + the rank that told of it.
    for rank, *words in found:
        assert words[:2] == [1, kernels.DISPATCH] and words[4] == 2 and words[5] - 1 != rank
        assert words[2:4] == [ranks - 1, 1] or words[5]
    assert any(words[-1] == 0 for words in found)


class SimulatedRanks(VirtualRanks):
    """Virtual ranks on the simulator, whose windows stay there."""

    def make_window(self, size):
        return nvfp4.DeviceArray.of(np.full(size, 0, np.uint8), "sim")

    def address(self, window):
        return window.address

    def bytes_of(self, window):
        return torch.from_numpy(window.numpy())


@pytest.fixture
def simulated(monkeypatch):
    device = SimulatedDevice()
    monkeypatch.setattr(_expert_programs, "find_device", lambda tensor: device)
    monkeypatch.setattr(_torch_layer, "_run", lambda *arguments: _torch_layer._on_device(device, *arguments))
    return device


def make_layers(ranks, form, group=None, **options):
    """A layer of each virtual rank."""
    weights, act = cases.FORMS[form]
    options = {"activation_format": act, "exchange": "one_sided", "max_tokens": cases.ALL, "top_k": cases.TOP_K, **options}
    group = group or SimulatedRanks(ranks, "cpu")
    layers = [MoE(cases.make_weights(weights, EXPERTS), group=group[rank], **options) for rank in range(ranks)]
    for layer in layers:
        layer.experts._repack(True)
        if layer.shared is not None:
            layer.shared._repack(True)
    return group, layers


def make_tokens(routing):
    x, ids, factors = cases.make_tokens(routing)
    # More experts than there, so that eight ranks have some.
    return x, torch.where((ids >= 0) & (ids < cases.EXPERTS), (3 * ids + torch.arange(cases.ALL)[:, None] % 2) % EXPERTS,
                          torch.where(ids < 0, ids, EXPERTS)), factors


def split(tokens, *tensors):
    """The tensors of each rank."""
    ends = np.cumsum((0, *tokens))
    return [tuple(each[a:b] for each in tensors) for a, b in zip(ends, ends[1:])]


#: The experts of the layers, and the tokens of each rank.
EXPERTS = 9
TOKENS = {1: [(23,)], 2: [(11, 12), (0, 23), (23, 0)], 4: [(0, 22, 0, 1), (6, 6, 6, 5)], 8: [(3, 0, 5, 1, 0, 0, 9, 5), (0,) * 7 + (23,)]}
#: Forms and options; those with another order or rounding are compared with one rank of the same.
OPTIONS = {"plain": {}, "shared": dict(shared=True), "table": dict(placement=True), "sent": dict(dispatch_format="mxfp8_e4m3"),
           "bf16": dict(return_format="bf16"), "back": dict(return_format="mxfp8_e4m3"), "f32": dict(dispatch_format="f32")}
CASES = [("w4a4", "plain", (1, 2, 4)), ("w4a16", "back", (1, 2))]
FULL = [*((form, "plain", (1, 2, 4, 8)) for form in cases.FORMS), ("w4a16", "sent", (1, 2, 4)), ("w4a4", "f32", (1, 2)),
        *((form, option, (1, 2)) for form in ("w4a16", "mxfp8") for option in ("shared", "table", "bf16", "back"))]


@pytest.mark.parametrize("form, option, ranks", FULL if IS_FULL else CASES)
def test_bits_of_one_rank(simulated, form, option, ranks):
    options, wanted = OPTIONS[option], {}
    for count in ranks:
        given = dict(options)
        if given.pop("shared", False):
            given["shared"] = cases.make_weights(cases.FORMS[form][0], 2, 11)
        if given.pop("placement", False):
            given["placement"] = [[0, count - 1] if expert == 4 and count > 1 else expert % count for expert in range(EXPERTS)]
        group, layers = make_layers(count, form, **given)
        for routing in cases.ROUTINGS:
            for tokens in TOKENS[count]:
                got = torch.cat(group(layers, split(tokens, *make_tokens(routing))))
                one = wanted.setdefault(routing, got)
                assert torch.equal(got.view(torch.int16), one.view(torch.int16)), (count, routing, tokens)
                assert torch.any(got != 0) == (routing != "empty" or option == "shared")
        for layer in layers:
            layer.check()
    if option != "plain":
        return
    # The same layer as one function.
    weights, act = cases.FORMS[form]
    whole = nvfp4.torch.MoELayer(cases.make_weights(weights, EXPERTS), activation_format=act, determinism="batch_invariant")
    whole._repack(True)
    x, ids, factors = make_tokens("uniform")
    assert torch.equal(whole(x, topk_ids=ids, topk_weights=factors), wanted["uniform"])


def add(total, factors, rows):
    """A fused multiply-add in float32."""
    return (factors[:, None].double() * rows.double() + total.double()).float()


def test_sums_by_rank(simulated):
    """rank_grouped: the slots of each rank first, then the ranks in their order."""
    x, ids, factors = make_tokens("uniform")
    x, ones = x.float(), torch.ones(cases.ALL, 1)
    group, layers = make_layers(1, "w4a4", top_k=1)
    rows = [group(layers, [(x, ids[:, slot:slot + 1].contiguous(), ones)])[0] for slot in range(cases.TOP_K)]
    placement = Placement(EXPERTS, 2)
    owner = torch.tensor([[one_sided_ranks.rank_of(placement, e, 0, 0) if 0 <= e < EXPERTS else -1 for e in line] for line in ids.tolist()])
    wanted, in_order = torch.zeros(cases.ALL, cases.HIDDEN), torch.zeros(cases.ALL, cases.HIDDEN)
    for rank in range(2):
        part = torch.zeros_like(wanted)
        for slot in range(cases.TOP_K):
            part = add(part, torch.where(owner[:, slot] == rank, factors[:, slot], 0.0), rows[slot])
        wanted = wanted + part
    for slot in range(cases.TOP_K):
        in_order = add(in_order, torch.where(owner[:, slot] >= 0, factors[:, slot], 0.0), rows[slot])
    group, layers = make_layers(2, "w4a4", order="rank_grouped")
    for tokens in TOKENS[2]:
        assert torch.equal(torch.cat(group(layers, split(tokens, x, ids, factors))), wanted)
    assert not torch.equal(wanted, in_order)


def test_errors_of_ranks(simulated):
    group, layers = make_layers(2, "w4a16", max_tokens=12, timeout=1e-4)
    parts = split((11, 12), *make_tokens("uniform"))
    wanted = group(layers, parts)
    for wrong, message, of_others in (
            (split((10, 13), *make_tokens("uniform"))[1], "expected at most 12 tokens \\(max_tokens\\) on every rank, but got 13 on rank 1", None),
            ((parts[1][0][:, 1:], *parts[1][1:]), r"expected x of shape \[T, 64\], but got \(12, 63\)",
             "expected arguments that go together on every rank, but rank 1 refused its own"),
            ((parts[1][0], parts[1][1][:, :2], parts[1][2][:, :2]), "expected topk_ids of 3 slots \\(top_k\\) with exchange one_sided, but got 2",
             "expected arguments that go together on every rank, but rank 1 refused its own")):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            group(layers, [parts[0], wrong])
        with pytest.raises(nvfp4.ArgumentError, match=of_others or message):
            layers[0].check()
        for got, one in zip(group(layers, parts), wanted):
            assert torch.equal(got, one)
        for layer in layers:
            layer.check()
    # Rank 1 makes no call: rank 0 ends, and rank 1 hears of it in its next one.
    calls = [layer.steps(*part) for layer, part in zip(layers, parts)]
    assert finish(calls[0]).shape == parts[0][0].shape
    message = (r"rank 0: expected the rows of rank 1 within 0.0001 s \(timeout\), but its cell \(byte 264 of the window\) has call 7 "
               "instead of 8; the layer has to be made anew")
    for _ in range(2):
        with pytest.raises(nvfp4.DeviceError, match=message):
            layers[0].check()
    finish(calls[1])
    with pytest.raises(nvfp4.DeviceError, match="rank 1: expected the rows of rank [01], but rank 0 has ended the exchange of call 8"):
        layers[1].check()


def test_a_refusal_hides_no_other(simulated):
    """Of another rank, in a call that nobody has checked."""
    group = SimulatedRanks(3, "cpu")
    layer = [MoE(cases.make_weights("nvfp4"), group=group[rank], exchange="one_sided", max_tokens=4, top_k=2) for rank in range(3)][1]
    layer._exchange.heard.copy_(torch.tensor([[3, 0], [9, 1], [6, 1]]))
    with pytest.raises(nvfp4.ArgumentError, match="own"):
        layer._exchange.settle(nvfp4.ArgumentError("own"))
    with pytest.raises(nvfp4.ArgumentError, match="expected at most 4 tokens .* but got 6 on rank 2"):
        layer.check()
    layer.check()


def test_options(simulated):
    weights, group = cases.make_weights("nvfp4"), SimulatedRanks(2, "cpu")
    options = dict(exchange="one_sided", max_tokens=4, top_k=2)
    for more, message in ((dict(max_tokens=None), "expected max_tokens= and top_k= with exchange one_sided"),
                          (dict(static=True), "expected static or exchange one_sided, whose buffers have one size too, but got both"),
                          (dict(exchange="two_sided"), "expected exchange collectives, one_sided"),
                          (dict(exchange="collectives"), "expected exchange one_sided with VirtualRanks, but got collectives"),
                          (dict(memory="nvshmem"), "expected memory symmetric, ipc, but got 'nvshmem'"),
                          (dict(memory="ipc"), "expected memory= only with a process group, but got memory='ipc' with VirtualRanks"),
                          *((dict(timeout=wrong), f"expected a timeout of more than 0 and at most 9e9 seconds, but got {wrong!r}$")
                            for wrong in (0, -1.0, float("inf"), float("nan"), 9.1e9, "5"))):
        with pytest.raises(nvfp4.ArgumentError, match=message):
            MoE(weights, group=group[0], **{**options, **more})
    assert MoE(weights, group=SimulatedRanks(1, "cpu")[0], timeout=9e9, **options)._exchange.limit == 9 * 10**18 < 2**63
    first = MoE(weights, group=group[0], **options)
    assert first._exchange.limit == 60 * 10**9
    x, ids, factors = (each[:4] for each in cases.make_tokens("uniform"))
    with pytest.raises(nvfp4.ArgumentError, match="expected a layer of every virtual rank before a call, but got none of rank 1"):
        first(x, ids[:, :2], factors[:, :2])
    with pytest.raises(nvfp4.ArgumentError, match="expected one max_tokens on every rank, but got 4 on rank 0 and 5 on rank 1"):
        MoE(weights, group=group[1], **{**options, "max_tokens": 5})
    # A refused layer is no reference, and ranks have their numbers.
    three = SimulatedRanks(3, "cpu")
    MoE(weights, group=three[1], **options)
    for rank, ranks in ((2, "4 on rank 1 and 5 on rank 2"), (0, "5 on rank 0 and 4 on rank 1")):
        with pytest.raises(nvfp4.ArgumentError, match=f"expected one max_tokens on every rank, but got {ranks}"):
            MoE(weights, group=three[rank], **{**options, "max_tokens": 5})
    for rank in (2, 0):
        MoE(weights, group=three[rank], **options)
    with pytest.raises(nvfp4.ArgumentError, match="expected from 1 to 32 ranks, but got 33"):
        VirtualRanks(33, "cpu")
    with pytest.raises(nvfp4.ArgumentError, match="expected a layer and arguments of each of 2 ranks, but got 1 and 0"):
        group([first], [])


def test_layers_of_one_group_have_windows_of_their_own(simulated):
    """Two layers of different sizes, used in turn."""
    group, large = make_layers(1, "w4a16", max_tokens=5, top_k=1)
    _, small = make_layers(1, "w4a16", group, max_tokens=2, top_k=1)
    assert not group.layers
    x, ids, factors = (each[:5] for each in make_tokens("uniform"))
    tokens = x, torch.arange(5)[:, None] % EXPERTS, factors[:, :1].contiguous()
    wanted, = group(large, [tokens])
    assert torch.all(torch.any(wanted != 0, 1))
    for _ in range(2):
        assert torch.equal(group(small, [tuple(each[3:] for each in tokens)])[0], wanted[3:])
        assert torch.equal(group(large, [tokens])[0], wanted)
    for layer in (*large, *small):
        layer.check()


def test_windows_of_virtual_ranks():
    """Whose layers are made in any order; a layer that is refused leaves nothing."""
    group = SimulatedRanks(3, "cpu")
    said = group[1].compare({"size": 512})
    first = group[1].allocate(512)
    assert said == {1: {"size": 512}} == group[1].compare({"size": 512})
    # The second layer of rank 1, the first of the others.
    group[1].compare({"size": 256})
    second = group[1].allocate(256)
    assert group[0].compare({"size": 7}) == {0: {"size": 7}, 1: {"size": 512}} and len(group.layers) == 2
    assert group[2].compare({"size": 512}) == {1: {"size": 512}, 2: {"size": 512}}
    for rank in (2, 0):
        with pytest.raises(nvfp4.ArgumentError, match="expected a layer of every virtual rank before a call, but got none of rank 0"):
            first.peers  # noqa: B018
        group[rank].compare({"size": 512})
        windows = group[rank].allocate(512)
    assert torch.equal(first.peers, windows.peers) and len(set(first.peers.tolist())) == 3 and len(group.layers) == 1
    for rank in (0, 2):
        group[rank].compare({"size": 256})
        windows = group[rank].allocate(256)
    assert torch.equal(second.peers, windows.peers) and not set(first.peers.tolist()) & set(second.peers.tolist())
    assert not group.layers and first.view(256, 4, 64).shape == (4, 64)


class ThreadMemory(SharedMemory):
    """Windows of ranks that are threads, of which one may fail."""

    def __init__(self, rank, gate, of_ranks, faults):
        self.rank, self.ranks, self.device = rank, len(of_ranks), torch.device("cpu")
        self.gate, self.of_ranks, self.faults = gate, of_ranks, faults

    def make(self, size):
        if self.faults.get("make") == self.rank:
            raise RuntimeError("out of memory")
        own = torch.full((size,), 7, dtype=torch.uint8)
        return own, own

    def open(self, own, made):
        if self.faults.get("open") == self.rank:
            raise RuntimeError("no access")
        every = list(made)
        if self.faults.get("swap") == self.rank:
            every[0], every[1] = every[1], every[0]
        if self.faults.get("alias") == self.rank:
            every[self.rank] = every[self.rank].clone()
        return every, "handle"

    def meet(self, said):
        self.of_ranks[self.rank] = said
        self.gate.wait()
        heard = list(self.of_ranks)
        self.gate.wait()
        return heard


def allocate(faults):
    """What each of three ranks gets, none of which waits for ever."""
    gate, said = threading.Barrier(3, timeout=60), [None] * 3

    def of_rank(rank):
        try:
            return ThreadMemory(rank, gate, said, faults).allocate(512)
        except nvfp4.DeviceError as error:
            return str(error)

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return list(pool.map(of_rank, range(3)))


def test_windows_of_processes():
    windows = allocate({})
    assert [each.own.data_ptr() for each in windows] == windows[0].peers.tolist()
    for rank, each in enumerate(windows):
        assert torch.equal(each.peers, windows[0].peers) and each.handle == "handle"
        assert each.own[64] == rank + 1 and each.own.count_nonzero() == 1
        assert torch.equal(each.view(64, 2, 8), each.own[64:80].view(2, 8))


@pytest.mark.parametrize("fault, rank, message", [
    ("make", 1, "rank 1: out of memory"), ("open", 2, "rank 2: no access"),
    ("swap", 2, r"rank 2: expected windows of ranks 1 to 3, the own one at 0x\w+, but got \[2, 1, 3\] at .*"),
    ("alias", 0, r"rank 0: expected windows of ranks 1 to 3, the own one at 0x\w+, but got \[\d+, 2, 3\] at .*")])
def test_a_rank_without_windows_is_an_error_of_all(fault, rank, message):
    errors = allocate({fault: rank})
    assert re.fullmatch(message, errors[0]) and errors == errors[:1] * 3


def test_ranks_of_different_devices(simulated, monkeypatch):
    """Before any rank makes windows: one without a GPU would leave the others waiting."""
    monkeypatch.setattr(VirtualRank, "compare", lambda rank, own: {0: {**own, "kind of device": "cuda"}, 1: own})
    with pytest.raises(nvfp4.ArgumentError, match="expected one kind of device on every rank, but got cuda on rank 0 and cpu on rank 1"):
        MoE(cases.make_weights("nvfp4"), group=SimulatedRanks(2, "cpu")[1], exchange="one_sided", max_tokens=4, top_k=2)


def test_windows_need_a_gpu():
    with pytest.raises(nvfp4.ArgumentError, match="expected device cuda with exchange one_sided, but got cpu"):
        MoE(cases.make_weights("nvfp4"), group=VirtualRanks(1, "cpu")[0], exchange="one_sided", max_tokens=4, top_k=2)
