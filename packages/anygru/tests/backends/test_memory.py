"""Memory of large training steps is used again, and never while something still needs it."""

import threading

import pytest
import torch

import anygru
from anygru.backends import memory
from anygru.backends.native_module import native

pytestmark = pytest.mark.skipif(native is None, reason="no native kernels")

LARGE = (memory.LEAST_BYTES // 4,)


@pytest.fixture(autouse=True)
def _own_pool(monkeypatch):
    monkeypatch.setattr(memory, "_free", {})


def test_the_last_tensor_gives_memory_back():
    first = memory.empty(torch.empty(0), 2, LARGE[0])
    assert first.shape == (2, *LARGE)
    assert first.dtype == torch.float32
    part, address = first[1:], first.data_ptr()
    del first
    assert not memory._free  # a view still needs it
    del part
    assert list(memory._free) == [address]
    # Of another shape and dtype, in the same memory.
    again = memory.empty(torch.empty(0, dtype=torch.float64), *LARGE)
    assert again.data_ptr() == address
    assert not memory._free


def test_memory_of_another_size_waits():
    large = memory.empty(torch.empty(0), 4 * LARGE[0])
    address = large.data_ptr()
    del large
    assert memory.empty(torch.empty(0), *LARGE).data_ptr() != address  # a quarter of it would waste the rest
    assert address in memory._free


def test_what_waits_is_limited(monkeypatch):
    monkeypatch.setattr(memory, "KEPT_BYTES", 2 * memory.LEAST_BYTES)
    kept = [memory.empty(torch.empty(0), *LARGE) for _ in range(4)]
    addresses = [one.data_ptr() for one in kept]
    for _ in addresses:
        del kept[0]
    assert list(memory._free) == addresses[2:]


def test_small_memory_and_subclasses_are_left_to_torch():
    class Own(torch.Tensor):
        pass

    for like in (torch.empty(0), torch.empty(0).as_subclass(Own), torch.empty(0, device="meta")):
        size = 5 if type(like) is torch.Tensor and like.is_cpu else LARGE[0]
        made = memory.empty(like, size)
        assert (type(made), made.device) == (type(like), like.device)
        del made
    assert not memory._free


@pytest.mark.parametrize("lengths", [None, [40] * 15 + [3]])
def test_steps_of_training_share_memory_and_graphs_do_not(lengths):
    torch.manual_seed(0)
    layer, theirs = anygru.GRU(8, 512), torch.nn.GRU(8, 512)
    theirs.load_state_dict(layer.state_dict())
    inputs = [torch.randn(40, 16, 8) for _ in range(2)]
    sums = [layer(input, lengths=lengths)[0].square().mean() for input in inputs]  # two graphs at the same time
    assert not memory._free
    for input, own in zip(inputs, sums, strict=True):
        expected = torch.autograd.grad(reference(theirs, input, lengths), list(theirs.parameters()))
        found = torch.autograd.grad(own, list(layer.parameters()), retain_graph=True)
        again = torch.autograd.grad(own, list(layer.parameters()))
        for one, two, three in zip(found, again, expected, strict=True):
            assert torch.equal(one, two)
            torch.testing.assert_close(one, three, rtol=1e-3, atol=1e-6)
    del sums, own
    waiting = set(memory._free)
    assert waiting
    for _ in range(2):
        layer(inputs[0], lengths=lengths)[0].square().mean().backward()
        assert set(memory._free) == waiting


def reference(layer, input, lengths):
    if lengths is None:
        return layer(input)[0].square().mean()
    packed = torch.nn.utils.rnn.pack_padded_sequence(input, lengths)
    output = torch.nn.utils.rnn.pad_packed_sequence(layer(packed)[0])[0]
    return output.square().mean()


def test_threads_take_and_give_back():
    def work(value, failed):
        for _ in range(50):
            own = memory.empty(torch.empty(0), *LARGE)
            own[::4096] = value
            if not bool((own[::4096] == value).all()):
                failed.append(value)

    failed: list[int] = []
    threads = [threading.Thread(target=work, args=(value, failed)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
