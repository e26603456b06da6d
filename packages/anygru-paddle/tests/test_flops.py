"""`paddle.flops`, and the profiler's files."""

import os
import re

import pytest

import anygru_paddle as paddle
from anygru_paddle import nn
from anygru_paddle.utils import unique_name


class _Counted(nn.Layer):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 3, padding=1),
            nn.BatchNorm2D(6),
            nn.LeakyReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5, groups=2, bias_attr=False),
            nn.AdaptiveAvgPool2D(5),
        )
        self.unused = nn.Linear(3, 3)
        self.head = nn.Linear(400, 10)

    def forward(self, x):
        return self.head(paddle.flatten(self.features(x), 1))


def test_flops_count_and_print_as_paddle(capsys):
    """Every number as Paddle 2.6.2 gives it (recorded)."""
    with unique_name.guard():
        net = _Counted()
    assert paddle.flops(net, [1, 1, 28, 28], print_detail=True) == 187152
    printed = capsys.readouterr().out
    assert "nn.layer.pooling.MaxPool2D'>. Treat it as zero FLOPs." in printed
    assert "|        conv2d_1       |  [1, 6, 14, 14] | [1, 16, 10, 10] |  1200  | 120000 |\n" in printed
    assert printed.endswith("Total Flops: 187152     Total Params: 5294\n")
    assert net.training
    assert not any("total" in name for name, _ in net.named_buffers())


def test_flops_of_a_class_are_counted_by_a_function_of_the_users():
    def count(layer, inputs, output):
        layer.total_ops += 3 * int(inputs[0].numel())

    plain = paddle.flops(_Counted(), [2, 1, 28, 28])
    assert paddle.flops(_Counted(), [2, 1, 28, 28], {nn.LeakyReLU: count}) == plain + 2 * 2 * 6 * 28 * 28
    with pytest.warns(UserWarning, match="must be an instance"):
        assert paddle.flops(lambda x: x, [2]) == -1


def test_a_trace_is_named_after_its_process(tmp_path):
    with paddle.profiler.Profiler(on_trace_ready=paddle.profiler.export_chrome_tracing(str(tmp_path))):
        paddle.ones([2])
    (file,) = tmp_path.iterdir()
    assert re.fullmatch(rf"host_.*pid_{os.getpid()}_time_[\d_]+\.paddle_trace\.json", file.name)
