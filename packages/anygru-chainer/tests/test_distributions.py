"""Distributions against torch's."""

import numpy as np
import pytest
import torch

import anygru_chainer as chainer
import anygru_chainer.distributions as D

R = np.random.RandomState(0)
LOC, LOG_SCALE, X = (R.randn(3, 4).astype("f") for _ in range(3))
NORMAL = D.Normal(LOC, log_scale=LOG_SCALE)
TORCH_NORMAL = torch.distributions.Normal(torch.from_numpy(LOC), torch.from_numpy(LOG_SCALE).exp())
BITS = (X > 0).astype("f")
PLACES = np.array([3, 0, 2], "i")
CATEGORICAL = D.Categorical(logit=LOC)
TORCH_CATEGORICAL = torch.distributions.Categorical(logits=torch.from_numpy(LOC))
UNIFORM = D.Uniform(loc=LOC, scale=np.full((3, 4), 2, "f"))
TORCH_UNIFORM = torch.distributions.Uniform(*map(torch.from_numpy, (LOC, LOC + 2)), validate_args=False)
WIDER = np.where(X > 0, 0.5, -0.5).astype("f")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (NORMAL.log_prob(X), TORCH_NORMAL.log_prob(torch.from_numpy(X))),
        (NORMAL.prob(X), TORCH_NORMAL.log_prob(torch.from_numpy(X)).exp()),
        (NORMAL.cdf(X), TORCH_NORMAL.cdf(torch.from_numpy(X))),
        (NORMAL.entropy, TORCH_NORMAL.entropy()),
        (
            D.Bernoulli(logit=LOC).log_prob(BITS),
            torch.distributions.Bernoulli(logits=torch.from_numpy(LOC)).log_prob(torch.from_numpy(BITS)),
        ),
        (D.Bernoulli(logit=LOC).entropy, torch.distributions.Bernoulli(logits=torch.from_numpy(LOC)).entropy()),
        (D.Independent(NORMAL).log_prob(X), TORCH_NORMAL.log_prob(torch.from_numpy(X)).sum(1)),
        (
            chainer.kl_divergence(NORMAL, D.Normal(X, np.full((3, 4), 2, "f"))),
            torch.distributions.kl_divergence(TORCH_NORMAL, torch.distributions.Normal(torch.from_numpy(X), 2)),
        ),
        (CATEGORICAL.log_prob(PLACES), TORCH_CATEGORICAL.log_prob(torch.from_numpy(PLACES))),
        (D.Categorical(CATEGORICAL.p).log_prob(PLACES), TORCH_CATEGORICAL.log_prob(torch.from_numpy(PLACES))),
        (CATEGORICAL.entropy, TORCH_CATEGORICAL.entropy()),
        (
            chainer.kl_divergence(CATEGORICAL, D.Categorical(logit=X)),
            torch.distributions.kl_divergence(
                TORCH_CATEGORICAL, torch.distributions.Categorical(logits=torch.from_numpy(X))
            ),
        ),
        *[
            (getattr(UNIFORM, name)(X), getattr(TORCH_UNIFORM, name)(torch.from_numpy(X)))
            for name in ("log_prob", "cdf", "icdf")
        ],
        *[(getattr(UNIFORM, name), getattr(TORCH_UNIFORM, name)) for name in ("mean", "variance", "stddev")],
        (UNIFORM.entropy, TORCH_UNIFORM.entropy()),
        (
            chainer.kl_divergence(UNIFORM, D.Uniform(low=LOC - WIDER, high=LOC + 3)),
            torch.distributions.kl_divergence(
                TORCH_UNIFORM, torch.distributions.Uniform(torch.from_numpy(LOC - WIDER), torch.from_numpy(LOC + 3))
            ),
        ),
    ],
)
def test_distributions_are_torchs(ours, theirs):
    np.testing.assert_allclose(ours.array, theirs.numpy(), rtol=2e-5, atol=1e-6)


def test_samples_are_drawn_from_numpys_generator():
    np.random.seed(1)
    expected = LOC + np.exp(LOG_SCALE) * np.random.standard_normal((2, 3, 4)).astype("f")
    np.random.seed(1)
    np.testing.assert_allclose(NORMAL.sample((2,)).array, expected, rtol=1e-5)
    assert D.Independent(NORMAL).sample(5).shape == (5, 3, 4)
    np.random.seed(1)
    expected = [np.random.choice(4, size=6, p=row) for row in CATEGORICAL.p.array]
    np.random.seed(1)
    np.testing.assert_array_equal(CATEGORICAL.sample((2, 3)).array.reshape(6, 3), np.transpose(expected))
    np.random.seed(1)
    expected = LOC + 2 * np.random.uniform(0, 1, (5, 3, 4)).astype("f")
    np.random.seed(1)
    np.testing.assert_allclose(UNIFORM.sample(5).array, expected, rtol=1e-5)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"Either `scale` or `log_scale` \(not both\)"):
        D.Normal(LOC)
    with pytest.raises(ValueError, match=r"Either `low, high` or `loc, scale` \(not both\)"):
        D.Uniform(low=LOC)
    with pytest.raises(ValueError, match="Event shapes do not match"):
        chainer.kl_divergence(D.Independent(NORMAL), D.Independent(NORMAL, 2))
    with pytest.raises(NotImplementedError):
        chainer.Distribution().cdf(0)


def test_independent_axes_have_all_that_the_inner_distribution_has():
    outer, x = D.Independent(NORMAL), LOC + 1
    for name in ("cdf", "prob", "survival_function"):
        expected = getattr(NORMAL, name)(x).array.prod(-1)
        np.testing.assert_allclose(getattr(outer, name)(x).array, expected, rtol=1e-5)
    for name in ("log_cdf", "log_prob", "log_survival_function"):
        expected = getattr(NORMAL, name)(x).array.sum(-1)
        np.testing.assert_allclose(getattr(outer, name)(x).array, expected, rtol=1e-5)
    assert outer.xp is np
    with pytest.raises(NotImplementedError):
        outer.perplexity(x)


def test_bernoulli_where_an_outcome_is_sure_or_impossible():
    """The gradients were recorded in Chainer 7.8.1."""
    p = chainer.Variable(np.array([0, 1, 0.3], "f"))
    entropy = D.Bernoulli(p=p).entropy
    chainer.functions.sum(entropy).backward()
    np.testing.assert_allclose(entropy.array, [0, 0, 0.61086434], rtol=1e-6)
    np.testing.assert_allclose(p.grad, [1, -1, 0.8472979], rtol=1e-6)
    logit = chainer.Variable(np.array([np.inf, -np.inf, 0, 0], "f"))
    log_prob = D.Bernoulli(logit=logit, binary_check=True).log_prob(np.array([1, 1, 0.5, 1], "f"))
    chainer.functions.sum(log_prob).backward()
    np.testing.assert_allclose(log_prob.array, [0, -np.inf, -np.inf, -0.6931472], rtol=1e-6)
    np.testing.assert_allclose(logit.grad, [np.nan, np.nan, np.nan, 0.5])
