"""Sizes of the outputs of convolutions."""


def get_conv_outsize(size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1) -> int:
    """The size that a convolution gives of `size`, with a window of k, a stride of s, a padding of p, a dilation of d."""
    rest = size + 2 * p - (d * (k - 1) + 1)
    return (rest + s - 1 if cover_all else rest) // s + 1


def get_deconv_outsize(size: int, k: int, s: int, p: int, cover_all: bool = False, d: int = 1) -> int:
    """The size that a transposed convolution gives of `size`; see `get_conv_outsize`."""
    whole = s * (size - 1) + d * (k - 1) + 1 - 2 * p
    return whole - s + 1 if cover_all else whole
