"""Numbers of OneFlow's CPU generator: OneFlow 0.9.0 drew each value after `manual_seed(7)`."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import anygru_oneflow as flow
from anygru.dialects import NotCoveredError
from anygru_oneflow import nn
from anygru_oneflow.nn import functional as F
from anygru_oneflow.utils import data


class Numbers(data.Dataset):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, place: int) -> int:
        return place


# A draw, its first values, and the number that flow.rand(1) gives after it.
DRAWS: dict[str, tuple[Any, list[float], float]] = {
    "rand": (lambda: flow.rand(5), [0.07630829, 0.22733907, 0.77991879, 0.31897223, 0.43840924], 0.97822291),
    "rand of float64": (lambda: flow.rand(3, dtype=flow.float64), [0.22733907, 0.31897223, 0.9782229], 0.7234652),
    "randn": (
        lambda: flow.randn(2, 3),
        [-0.69152838, 1.06929338, 0.37795901, -0.04867768, -0.34565544, 1.73909295],
        0.97798949,
    ),
    "randn of float64": (
        lambda: flow.randn(3, dtype=flow.float64),
        [-0.72014441, -1.08466916, -0.03710023],
        0.97798949,
    ),
    "randn_like": (lambda: flow.randn_like(flow.ones(3)), [-0.69152838, 1.06929338, 0.37795901], 0.7234652),
    "normal": (lambda: flow.normal(1.5, 0.3, (3,)), [1.2925415, 1.82078803, 1.6133877], 0.7234652),
    "normal_ of float64": (
        lambda: flow.zeros(3, dtype=flow.float64).normal_(1.5, 0.3),
        [1.28395667, 1.17459924, 1.48886993],
        0.97798949,
    ),
    "uniform_": (
        lambda: flow.zeros(2, 2).uniform_(-2, 3),
        [-1.61845851, -0.86330462, 1.89959383, -0.40513885],
        0.43840924,
    ),
    "randint": (lambda: flow.randint(0, 10, (8,)), [0, 2, 7, 3, 4, 9, 7, 4], 0.97798949),
    "randint with rejections": (
        lambda: flow.randint(0, 3000000000, (4,)),
        [327741615, 976413892, 1369975286, 1882953283],
        0.97822291,
    ),
    "randint above 32 bits": (
        lambda: flow.randint(-5, 2**40, (4,)),
        [82580792511, 860363434481, 485237772494, 796525672034],
        0.97798949,
    ),
    "randint of 32 bits": (lambda: flow.randint(0, 2**32, (3,)), [327741615, 976413892, 3349725721], 0.31897223),
    "randint_like": (lambda: flow.randint_like(flow.ones(5), 3, 9), [3, 4, 7, 4, 5], 0.97822291),
    "randperm of an even number": (lambda: flow.randperm(12), [2, 7, 6, 8, 1, 5, 3, 0, 4, 11, 10, 9], 0.7234652),
    "randperm of an odd number": (lambda: flow.randperm(13), [3, 0, 7, 2, 10, 4, 5, 1, 6, 12, 9, 11, 8], 0.7234652),
    "randperm above 65,535": (lambda: flow.randperm(65536)[:6], [53001, 37819, 55518, 21721, 46481, 40530], 0.1220904),
    "bernoulli": (lambda: flow.bernoulli(flow.ones(8) * 0.4), [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0], 0.26843899),
    "bernoulli_": (lambda: flow.zeros(8).bernoulli_(0.4), [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0], 0.26843899),
    "exponential_": (
        lambda: flow.zeros(4).exponential_(2.0),
        [0.16382197, 0.15989171, 0.99058777, 0.53455848],
        0.07630829,
    ),
    "exponential_ of float64": (
        lambda: flow.zeros(4, dtype=flow.float64).exponential_(0.7),
        [0.46806276, 0.45683354, 2.8302507, 1.52730985],
        0.07630829,
    ),
    "multinomial": (
        lambda: flow.multinomial(flow.tensor([1.0, 2.0, 3.0, 4.0]), 8, True),
        [1, 1, 3, 3, 3, 3, 1, 2],
        0.07630829,
    ),
    "multinomial without replacement": (
        lambda: flow.multinomial(flow.tensor([[1.0, 2.0, 3.0, 4.0], [4.0, 1.0, 1.0, 2.0]]), 3),
        [1, 3, 0, 2, 3, 0],
        0.07630829,
    ),
    "gumbel_softmax": (
        lambda: F.gumbel_softmax(flow.tensor([[1.0, 2.0, 3.0, 4.0]])),
        [0.0078471, 0.03705036, 0.60019559, 0.35490692],
        0.43840924,
    ),
    "dropout": (
        lambda: F.dropout(flow.ones(8), 0.4),
        [0.0, 0.0, 1.66666663, 0.0, 1.66666663, 1.66666663, 1.66666663, 1.66666663],
        0.97798949,
    ),
    "Dropout": (
        lambda: nn.Dropout(0.4)(flow.ones(8)),
        [1.66666663, 0.0, 1.66666663, 1.66666663, 1.66666663, 1.66666663, 1.66666663, 0.0],
        0.07630829,
    ),
    "trunc_normal_": (
        lambda: nn.init.trunc_normal_(flow.zeros(4), 1.0, 2.0),
        [-0.38305676, 2.0, 1.75591803, 0.90264463],
        0.7234652,
    ),
    "xavier_normal_": (
        lambda: nn.init.xavier_normal_(flow.zeros(2, 3)),
        [-0.43736094, 0.6762805, 0.23904227, -0.03078647, -0.21861169, 1.09989893],
        0.97798949,
    ),
    "kaiming_uniform_": (
        lambda: nn.init.kaiming_uniform_(flow.zeros(2, 3)),
        [-1.19838107, -0.77120155, 0.79172981, -0.51202387, -0.17420495, 1.35261858],
        0.7234652,
    ),
    "Linear": (lambda: nn.Linear(3, 2).bias, [0.25803536, -0.0512861], 0.97798949),
    "GRU": (
        lambda: nn.GRU(2, 2).bias_hh_l0,
        [0.57925266, 0.27440208, -0.40533429, -0.21782717, -0.06770694, 0.60744458],
        0.93120605,
    ),
    "LSTMCell": (lambda: nn.LSTMCell(2, 1).bias_hh, [-0.46312201, -0.96817929, -0.00023502, 0.05552959], 0.67922997),
    "Conv1d": (lambda: nn.Conv1d(1, 2, 2).weight, [-0.59919053, -0.38560078, 0.3958649, -0.25601193], 0.7234652),
    "Embedding": (
        lambda: nn.Embedding(3, 2).weight,
        [-0.69152838, 1.06929338, 0.37795901, -0.04867768, -0.34565544, 1.73909295],
        0.97798949,
    ),
    "a GRU's dropout": (
        lambda: nn.GRU(2, 2, 2, dropout=0.5)(flow.ones(2, 1, 2))[0],
        [-0.08622233, 0.30212361, -0.06163812, 0.40498188],
        0.57262534,
    ),
    "an LSTM's dropout": (
        lambda: nn.LSTM(2, 2, 2, dropout=0.5, batch_first=True)(flow.ones(2, 2, 2))[0],
        [0.02773799, 0.12985289, 0.10819502, 0.23287101, 0.03182106, 0.12708753, 0.11032859, 0.23199555],
        0.63437986,
    ),
    "a generator of its own": (
        lambda: flow.rand(3, generator=flow.Generator()),
        [0.54791909, 0.26903331, 0.93490344],
        0.07630829,
    ),
    "a shuffled loader": (
        lambda: flow.cat(list(data.DataLoader(Numbers(), 4, shuffle=True, generator=flow.Generator().manual_seed(3)))),
        [4, 9, 0, 6, 7, 8, 5, 2, 3, 1],
        0.07630829,
    ),
    "random_split": (
        lambda: flow.tensor(data.random_split(Numbers(), [3, 7], flow.Generator().manual_seed(3))[0].indices),
        [3, 1, 8],
        0.07630829,
    ),
    "RandomSampler": (
        lambda: flow.tensor(list(data.RandomSampler(Numbers(), True, 6, flow.Generator().manual_seed(3)))),
        [5, 0, 7, 8, 2, 1],
        0.07630829,
    ),
    "SubsetRandomSampler": (
        lambda: flow.tensor(list(data.SubsetRandomSampler(range(5, 11)))),
        [7, 5, 8, 9, 6, 10],
        0.31897223,
    ),
}


@pytest.mark.parametrize(("draw", "expected", "following"), DRAWS.values(), ids=DRAWS.keys())
def test_numbers(draw: Any, expected: list[float], following: float) -> None:
    flow.manual_seed(7)
    found = draw()
    np.testing.assert_allclose(flow.rand(1).item(), following, atol=1e-8)
    np.testing.assert_allclose(found.detach().numpy().ravel(), expected, rtol=1e-6, atol=1e-7)


def losses() -> list[float]:
    """A language model on random tokens: initial weights, order of batches, dropout of layers and between them."""
    np.random.seed(3)
    flow.manual_seed(3)
    tokens = flow.randint(0, 11, (24, 6))
    embedding, rnn = nn.Embedding(11, 6), nn.LSTM(6, 8, 2, dropout=0.25)
    drop, head = nn.Dropout(0.3), nn.Linear(8, 11)
    parameters = [*embedding.parameters(), *rnn.parameters(), *head.parameters()]
    adam = flow.optim.Adam(parameters, lr=0.02)
    rows = data.TensorDataset(tokens)
    found = []
    for _ in range(3):
        sampler = data.RandomSampler(rows)
        for (batch,) in data.DataLoader(rows, 8, sampler=sampler, generator=flow.Generator("cpu")):
            hidden, _ = rnn(drop(embedding(batch.T)))
            loss = nn.functional.cross_entropy(head(hidden[:-1]).reshape(-1, 11), batch.T[1:].reshape(-1))
            adam.zero_grad()
            loss.backward()
            adam.step()
            found.append(loss.item())
    return found


def test_a_seeded_training_has_the_losses_of_the_original() -> None:
    recorded = [2.3782, 2.43547, 2.37807, 2.3742, 2.38411, 2.3022, 2.30103, 2.37429, 2.34413]
    np.testing.assert_allclose(losses(), recorded, atol=2e-5)


def test_seeds() -> None:
    for seed, first in ((0, 0.5488135), (2**33 + 5, 0.22199318), (-1, 0.09763203), (3.7, 0.5507979)):
        flow.manual_seed(seed)  # type: ignore[arg-type]
        np.testing.assert_allclose(flow.rand(1).item(), first, atol=1e-7)
    flow.manual_seed(-1)
    assert flow.initial_seed() == 2**64 - 1
    with pytest.raises(RuntimeError, match="64 bits"):
        flow.manual_seed(2**64)


def test_a_state_continues_behind_its_block_of_624_numbers() -> None:
    generator = flow.Generator("cpu").manual_seed(7)
    flow.rand(3, generator=generator)
    state = generator.get_state()
    assert (state.shape, state.dtype) == ((5000,), flow.uint8)
    generator.set_state(state)
    np.testing.assert_allclose(flow.rand(3, generator=generator).numpy(), [0.8690584, 0.10929333, 0.8719049], atol=1e-7)
    with pytest.raises(RuntimeError, match="12 bytes"):
        generator.set_state(flow.zeros(12, dtype=flow.uint8))


def test_the_state_of_a_generator_for_any_device() -> None:
    generator = flow.Generator()
    assert generator.get_state().numpy().view(np.uint64).tolist() == [67280421310721, 0, 0, 0]
    generator.manual_seed(7)
    flow.rand(2, generator=generator)
    state = generator.get_state().numpy()
    assert (state.shape, bytes(state[40:45])) == ((5045,), b"cpu:0")
    assert state[:40].view(np.uint64).tolist() == [7, 1, 5, 5000, 5000]


def test_copies_of_generators_draw_the_same_numbers(tmp_path: Path) -> None:
    layer = nn.Dropout(0.5)
    layer(flow.ones(3))
    flow.save(layer, tmp_path / "layer")
    twins = [copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), flow.load(tmp_path / "layer")]
    first, *others = [twin(flow.ones(50)).tolist() for twin in twins]
    assert others == [first, first]


def test_each_epoch_of_a_loader_has_another_order() -> None:
    """Recorded: the loader draws the workers' seed before each order."""
    loader = data.DataLoader(Numbers(), 10, shuffle=True, generator=flow.Generator("cpu").manual_seed(3))
    assert [batch.tolist() for _ in range(2) for batch in loader] == [
        [4, 9, 0, 6, 7, 8, 5, 2, 3, 1],
        [4, 6, 9, 7, 2, 3, 5, 0, 1, 8],
    ]


def test_numpys_generator_draws_where_it_does_in_oneflow() -> None:
    np.random.seed(3)
    assert list(data.RandomSampler(Numbers(), True, 40))[:8] == [8, 3, 2, 9, 9, 4, 3, 7]
    expected = [[-0.5874044, 0.5847428, 0.5594926], [-0.469800, -0.8093017, 0.3525886]]
    np.testing.assert_allclose(nn.init.orthogonal_(flow.zeros(2, 3)).numpy(), expected, atol=1e-6)


def test_a_sampler_of_several_processes() -> None:
    sampler = data.DistributedSampler(Numbers(), 3, 1, True, 5)
    sampler.set_epoch(2)
    assert list(sampler) == [7, 1, 0, 2]


def test_torchs_generators_still_draw() -> None:
    first, second = (flow.randn(3, generator=torch.Generator().manual_seed(1)).tolist() for _ in range(2))
    assert first == second == torch.randn(3, generator=torch.Generator().manual_seed(1)).tolist()


def test_a_categorical_distribution_draws_the_numbers_of_0_9() -> None:
    weights = flow.tensor([[1.0, 2.0, 3.0], [3.0, 1.0, 0.0]])
    flow.manual_seed(3)
    policy = flow.distributions.Categorical(probs=weights)
    draws = [policy.sample(shape).tolist() for shape in ((), (4,), (2, 3))]
    assert draws == [[0, 0], [[2, 0], [1, 0], [2, 0], [2, 1]], [[[1, 0], [2, 0], [1, 1]], [[1, 0], [2, 0], [0, 0]]]]
    np.testing.assert_allclose(policy.probs.numpy(), [[1 / 6, 1 / 3, 1 / 2], [0.75, 0.25, 0]], rtol=1e-6)
    np.testing.assert_allclose(policy.logits()[1].numpy(), [-0.287682, -1.386294, -15.942385], rtol=1e-5)
    of_logits = flow.distributions.Categorical(logits=weights)
    np.testing.assert_allclose(of_logits.probs[0].numpy(), [0.09003057, 0.24472848, 0.66524094], rtol=1e-6)
    assert of_logits.logits is weights
    assert (policy.batch_shape, policy.sample((5,)).dtype) == (flow.Size([2]), flow.int64)
    for wrong in ({}, {"probs": weights, "logits": weights}, {"probs": weights[0, 0]}):
        with pytest.raises(ValueError, match="probs"):
            flow.distributions.Categorical(**wrong)
    with pytest.raises(NotCoveredError, match=r"torch\.distributions\.Categorical"):
        policy.log_prob(flow.tensor([0, 1]))
