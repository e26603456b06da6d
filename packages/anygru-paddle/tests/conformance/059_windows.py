"""Convolution, pooling, padding, resizing and normalization of images: draws, names, shapes, values and gradients."""
import numpy as np
from recorder import record, record_error

import paddle
import paddle.nn.functional as F
from paddle import nn

rng = np.random.RandomState(5)
arrays = {n: rng.uniform(-1, 1, (1, 4, 6, 5, 4)[: n + 2]).astype("float32") for n in (1, 2, 3)}


def run(name, layer, dims=2, last=False):
    array = np.moveaxis(arrays[dims], 1, -1) if last else arrays[dims]
    x = paddle.to_tensor(array, stop_gradient=False)
    out = layer(x)
    parts = out if isinstance(out, (tuple, list)) else [out]
    record(name, parts)
    if not parts[0].stop_gradient:
        (parts[0] * parts[0]).sum().backward()
        record(name + "_gradient", x.grad)
    if isinstance(layer, nn.Layer):
        record(name + "_repr", repr(layer))
        record(name + "_keys", list(layer.state_dict()))


paddle.seed(11)
run("conv1", nn.Conv1D(4, 6, 3, padding=1, stride=2), 1)
run("conv1_last", nn.Conv1D(4, 6, 3, padding="SAME", data_format="NLC"), 1, True)
run("conv1_causal", nn.Conv1D(4, 6, 3, padding=[2, 0]), 1)
run("conv1_valid", nn.Conv1D(4, 2, 3, padding="valid", bias_attr=False), 1)
run("conv1_circular", nn.Conv1D(4, 2, 3, padding=1, padding_mode="circular"), 1)
run("conv2", nn.Conv2D(4, 6, (3, 2), groups=2, dilation=2))
run("conv2_same", nn.Conv2D(4, 3, 3, stride=2, padding="SAME"))
run("conv2_pairs", nn.Conv2D(4, 3, 3, padding=[[0, 0], [0, 0], [1, 2], [0, 1]]))
run("conv2_four", nn.Conv2D(4, 3, 3, padding=[1, 0, 2, 1]))
run("conv2_reflect", nn.Conv2D(4, 3, 3, padding=1, padding_mode="reflect"))
run("conv2_last", nn.Conv2D(4, 3, 3, data_format="NHWC"), 2, True)
run("conv3", nn.Conv3D(4, 3, 2), 3)
run("transpose1", nn.Conv1DTranspose(4, 3, 3, stride=2, padding=1, output_padding=1), 1)
run("transpose2", nn.Conv2DTranspose(4, 6, 3, stride=2, padding=1, groups=2))
run("transpose2_uneven", nn.Conv2DTranspose(4, 2, 3, stride=2, padding=[0, 1, 1, 1]))
layer = nn.Conv2DTranspose(4, 2, 3, stride=2)
run("transpose2_size", lambda x: layer(x, output_size=[14, 11]))
run("transpose3", nn.Conv3DTranspose(4, 2, 2), 3)

run("max1", nn.MaxPool1D(3, 2, 1), 1)
run("max1_mask", nn.MaxPool1D(2, return_mask=True), 1)
run("max2", nn.MaxPool2D(2, ceil_mode=True))
run("max2_same", nn.MaxPool2D(3, 2, "SAME"))
run("max2_mask", nn.MaxPool2D(2, return_mask=True))
run("max2_last", nn.MaxPool2D(2, data_format="NHWC"), 2, True)
run("max3", nn.MaxPool3D(2), 3)
run("avg1", nn.AvgPool1D(3, 2, 1), 1)
run("avg1_all", nn.AvgPool1D(3, 2, 1, exclusive=False), 1)
run("avg2", nn.AvgPool2D(3, 2, 1))
run("avg2_all", nn.AvgPool2D(3, 2, 1, exclusive=False))
run("avg2_ceil", nn.AvgPool2D(3, 2, ceil_mode=True))
run("avg2_divisor", nn.AvgPool2D(2, divisor_override=3))
run("avg2_uneven", nn.AvgPool2D(3, 2, [1, 0, 0, 1]))
run("avg3", nn.AvgPool3D(2), 3)
run("adaptive_avg1", nn.AdaptiveAvgPool1D(3), 1)
run("adaptive_avg2", nn.AdaptiveAvgPool2D((3, None)))
run("adaptive_avg2_last", nn.AdaptiveAvgPool2D(2, data_format="NHWC"), 2, True)
run("adaptive_avg3", nn.AdaptiveAvgPool3D(2), 3)
run("adaptive_max1", nn.AdaptiveMaxPool1D(3), 1)
run("adaptive_max2", nn.AdaptiveMaxPool2D(3))
run("adaptive_max3", nn.AdaptiveMaxPool3D(2), 3)

run("pad1", nn.Pad1D([1, 2], mode="replicate"), 1)
run("pad1_number", nn.Pad1D(2, value=0.5), 1)
run("pad2", nn.Pad2D([1, 0, 2, 3], mode="reflect"))
run("pad2_last", nn.Pad2D(1, data_format="NHWC"), 2, True)
run("pad3", nn.Pad3D(1), 3)
run("zeropad2", nn.ZeroPad2D([1, 2, 0, 1]))
run("upsample", nn.Upsample(scale_factor=2))
run("upsample_size", nn.Upsample(size=[9, 4], mode="bilinear"))
run("upsample_corners", nn.Upsample(size=[9, 4], mode="bilinear", align_corners=True))
run("upsample_bicubic", nn.Upsample(scale_factor=1.5, mode="bicubic"))
run("upsample_linear", nn.Upsample(scale_factor=[2], mode="linear", data_format="NCW"), 1)
run("bilinear2", nn.UpsamplingBilinear2D(size=[5, 9]))
run("nearest2", nn.UpsamplingNearest2D(scale_factor=2))
run("pixel_shuffle", nn.PixelShuffle(2))
run("pixel_unshuffle", lambda x: F.pixel_unshuffle(x[:, :, :, :4], 2))
run("channel_shuffle", nn.ChannelShuffle(2))

for name, layer, dims in (
    ("batch2", nn.BatchNorm2D(4), 2), ("batch3", nn.BatchNorm3D(4), 3), ("group", nn.GroupNorm(2, 4), 2),
    ("instance1", nn.InstanceNorm1D(4), 1), ("instance2", nn.InstanceNorm2D(4), 2), ("instance3", nn.InstanceNorm3D(4), 3),
):
    run(name, layer, dims)

record_error("conv_padding", lambda: nn.Conv2D(4, 3, 3, padding="OTHER"))
record_error("conv_groups", lambda: nn.Conv2D(4, 3, 3, groups=3))
record_error("conv_mode", lambda: nn.Conv2D(4, 3, 3, padding_mode="other"))
record_error("conv_axes", lambda: nn.Conv2D(4, 3, 3)(paddle.ones([4, 5, 5])))
record_error("pool_mask_last", lambda: nn.MaxPool2D(2, return_mask=True, data_format="NHWC")(paddle.ones([1, 4, 4, 2])))
record_error("upsample_both", lambda: F.interpolate(paddle.ones([1, 1, 4, 4]), size=[2, 2], scale_factor=2))
