# Part of the NVFP4 project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of torch that train by compiled functions: gradients are those of the programs on arrays."""

import numpy as np
import pytest

import nvfp4
from nvfp4.training import LinearProgram, MoEProgram, MoEShape, Recipe

torch = pytest.importorskip("torch")


def drawn(seed):
    """The seed that a module draws after torch.manual_seed(seed)."""
    torch.manual_seed(seed)
    value = int(torch.randint(0, 2**62, ()))
    torch.manual_seed(seed)
    return value


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("recipe, bias", [(Recipe(), False), (Recipe("mxfp8_e4m3"), True)], ids=["nvfp4", "mxfp8"])
def test_moe(recipe, bias, dtype):
    from nvfp4.training import MoE
    module = MoE(4, 64, 32, 2, bias=bias, recipe=recipe, dtype=dtype)
    biases = [module.b13, module.b2] if bias else []
    for each in biases:
        torch.nn.init.normal_(each)
    x = torch.randn(2, 9, 64, dtype=dtype, requires_grad=True)
    experts = torch.stack([torch.randperm(4)[:2] for _ in range(18)]).reshape(2, 9, 2)
    scores = torch.rand(2, 9, 2, requires_grad=True)
    seed = drawn(3)
    out = module(x, experts, scores)
    gradient = torch.randn_like(out)
    out.backward(gradient)
    program = MoEProgram(MoEShape(4, 64, 32, 2, bias=bias), recipe)
    weights = module.w13.detach(), module.w2.detach(), *(each.detach().float() for each in biases)
    wanted, saved = program.forward(x.detach().reshape(18, 64), experts.reshape(18, 2), scores.detach().reshape(18, 2), *weights)
    found = program.backward(gradient.reshape(18, 64), saved, *weights, seed=seed)
    assert out.dtype == x.dtype and out.shape == x.shape
    got_all = out, x.grad, scores.grad, *(each.grad for each in (module.w13, module.w2, *biases))
    for got, expected in zip(got_all, (wanted, *found)):
        assert torch.equal(got.detach().float().flatten(), torch.from_numpy(expected).to(got.dtype).float().flatten())


def test_linear_and_accumulation():
    """Gradients of two calls add up; a bias is torch's own."""
    from nvfp4.training import Linear
    module = Linear(48, 32, recipe=Recipe(stochastic=False))
    x = torch.randn(3, 5, 48)
    for _ in range(2):
        module(x).sum().backward()
    found = LinearProgram(32, 48, Recipe(stochastic=False)).backward(torch.ones(15, 32), x.reshape(15, 48), module.weight.detach())
    assert torch.equal(module.weight.grad, 2 * torch.from_numpy(found.w)) and torch.all(module.bias.grad == 30)


def test_checkpointed_layers_have_the_same_gradients():
    """A forward pass that is computed again draws the same seed."""
    from torch.utils.checkpoint import checkpoint

    from nvfp4.training import Linear
    module, x = Linear(32, 32), torch.randn(16, 32, requires_grad=True)
    found = []
    for call in (module, lambda x: checkpoint(module, x, use_reentrant=False)):
        x.grad = None
        torch.manual_seed(5)
        (call(x)**2).sum().backward()
        found.append(x.grad)
    assert torch.equal(*found)


def test_other_places_are_refused():
    from nvfp4.training import Linear
    with pytest.raises(nvfp4.ArgumentError, match="expected weight on meta, where x is, but got it on cpu"):
        Linear(32, 32)(torch.empty(4, 32, device="meta"))
    with pytest.raises(nvfp4.ArgumentError, match="expected a tensor on cuda or cpu, but got one on meta"):
        Linear(32, 32).to("meta")(torch.empty(4, 32, device="meta"))
    with pytest.raises(nvfp4.ArgumentError, match="expected dtype torch.float32 or torch.bfloat16, but got torch.float16"):
        Linear(32, 32, dtype=torch.float16)


def test_an_optimiser_lowers_the_loss():
    from nvfp4.training import MoE
    torch.manual_seed(0)
    module = MoE(2, 32, 32, 1)
    x, wanted = torch.randn(64, 32), torch.randn(64, 32) / 4
    experts, scores = torch.arange(64).reshape(64, 1) % 2, torch.ones(64, 1)
    optimiser = torch.optim.Adam(module.parameters(), 1e-2)
    losses = []
    for _ in range(60):
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(module(x, experts, scores), wanted)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert np.mean(losses[-5:]) < 0.3 * losses[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_kernels_for_tensors_of_a_gpu(monkeypatch, dtype):
    """Both modules by kernels, at the place of which the simulator stands: results and gradients are near the CPU's."""
    from nvfp4.training import Linear, MoE, _torch
    from torch_sim import SimulatedDevice
    torch.manual_seed(1)
    moe = MoE(2, 64, 32, 1, activation=nvfp4.swiglu("gpt-oss"), bias=True, dtype=dtype)
    torch.nn.init.normal_(moe.b13)
    torch.nn.init.normal_(moe.b2)
    linear = Linear(64, 32, recipe=Recipe("mxfp8_e4m3"), dtype=dtype)
    x, experts, scores = torch.randn(7, 64), torch.tensor([[0], [1], [1], [2], [-1], [0], [1]]), torch.rand(7, 1)
    found = []
    for on_device in (False, True):
        device = SimulatedDevice()
        monkeypatch.setattr(_torch, "find_device", lambda tensor, device=device, on=on_device: device if on else None)
        rows, factors = x.clone().requires_grad_(), scores.clone().requires_grad_()
        moe.zero_grad()
        linear.zero_grad()
        torch.manual_seed(2)
        out = linear(moe(rows, experts, factors))
        (out**2).sum().backward()
        found.append([out.detach(), rows.grad, factors.grad, moe.w13.grad, moe.w2.grad, moe.b13.grad, moe.b2.grad,
                      linear.weight.grad])
        assert device.launches == 4 * on_device
    for wanted, got in zip(*found):
        assert (got - wanted).float().norm() <= 5e-3 * wanted.float().norm()
