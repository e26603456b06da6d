"""What a refused name says."""

import pytest

import anygru.dialects.paddle as paddle


def test_a_refusal_names_the_torch_way():
    with pytest.raises(NotImplementedError, match=r"paddle\.optimizer\.LBFGS is not covered.*torch\.optim\.LBFGS"):
        paddle.optimizer.LBFGS()


def test_torchs_own_meaning_of_a_paddle_method_is_refused():
    with pytest.raises(AttributeError, match="not covered"):
        _ = paddle.ones([2, 2]).stft
