"""The picture of a loss curve."""

import numpy as np
from matplotlib.image import imread

from anygru_lab.language_model import plot
from anygru_lab.language_model.session import History


def test_the_smooth_curve_is_the_mean_of_its_neighbours():
    values = np.random.default_rng(0).normal(size=200)
    width = 200 // 50
    expected = [values[max(0, i - width) : i + width + 1].mean() for i in range(200)]
    np.testing.assert_allclose(plot._smooth(values), expected)
    np.testing.assert_allclose(plot._smooth(values[:1]), values[:1])


def colours(path):
    pixels = np.round(imread(path)[..., :3].reshape(-1, 3) * 255).astype(int)
    return {tuple(map(int, pixel)) for pixel in np.unique(pixels, axis=0)}


def rgb(name):
    return tuple(int(name[i : i + 2], 16) for i in (1, 3, 5))


def test_both_curves_and_the_references_are_drawn(tmp_path):
    history = History([8 / (1 + i / 20) for i in range(100)], [(50, 3.0), (100, 2.0)])
    plot.draw(tmp_path / "all.png", history, {"xz": 2.5}, "title")
    assert {rgb(plot.BLUE), rgb(plot.ORANGE), rgb(plot.GRAY)} <= colours(tmp_path / "all.png")
    plot.draw(tmp_path / "some.png", History(history.training), {}, "title")
    found = colours(tmp_path / "some.png")
    assert rgb(plot.BLUE) in found
    assert rgb(plot.ORANGE) not in found


def test_one_step_is_enough(tmp_path):
    plot.draw(tmp_path / "one.png", History([5.0], [(1, 6.0)]), {}, "title")
    assert imread(tmp_path / "one.png").shape[1] > 1000
