"""Attention and transformers. Source: Paddle 2.6, `paddle.nn.layer.transformer`, read and recorded."""

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import torch

from ...base.core import expected_place
from ...base.param_attr import ParamAttr
from ...framework.framework import default_torch_dtype
from ...tensor import manipulation
from ...tensor.linalg import matmul
from ...tensor.operation import plain, wrap
from ...tensor.tensor import Tensor
from ..functional import activation
from ..functional.common import dropout as drop
from ..initializer.initializer import Initializer
from .common import Dropout, Linear
from .container import LayerList
from .layers import Layer
from .norm import LayerNorm

__all__ = [
    "MultiHeadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip

Attr = ParamAttr | Initializer | str | bool | None
Attrs = Attr | Sequence[Attr]


class Cache(NamedTuple):
    """Keys and values [B, heads, T, features] of the steps before, to which each call adds its own."""

    k: Tensor
    v: Tensor


class StaticCache(NamedTuple):
    """Fixed keys and values [B, heads, T, features]."""

    k: Tensor
    v: Tensor


def _additive(mask: torch.Tensor | None, like: torch.Tensor) -> torch.Tensor | None:
    """A mask to add to scores: 0 for True or 1, -1e9 for False or 0; a floating-point mask is returned unchanged."""
    if mask is None or mask.dtype == like.dtype:
        return mask
    kind = torch.Tensor.dtype.__get__(like)  # type: ignore[attr-defined]
    own = plain(mask)
    # A row of False alone gives even weights by -1e9; by torch's -inf it would give nan.
    return wrap(own.to(kind) if own.is_floating_point() else (own.to(kind) - 1.0) * 1e9)


def _each(attr: Attrs, count: int) -> list[Attr]:
    """The attributes of `count` parts: one for all (names are numbered), or a list of them."""
    if isinstance(attr, (list, tuple)):
        if len(attr) != count:
            raise AssertionError(f"length of param_attr should be {count} when it is a list/tuple")
        return list(attr)
    if isinstance(attr, bool):
        return [None if attr else False] * count
    found = []
    for number in range(count):
        own = copy.deepcopy(ParamAttr._to_attr(attr))
        if own.name:
            own.name += f"_{number}"
        found.append(own)
    return found


def _need_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size <= 0:
            raise AssertionError(f"Expected {name} to be greater than 0, but received {size}")


class MultiHeadAttention(Layer):
    """softmax(q k' / sqrt(d)) v for `num_heads` parts of the projected query, key and value [B, T, embed_dim].

    Args:
        embed_dim: features of queries and outputs, divisible by `num_heads`.
        num_heads: parts.
        dropout: probability of dropping a weight in training.
        kdim, vdim: features of keys and values, `embed_dim` unless given.
        need_weights: also return the weights.
        weight_attr, bias_attr: attributes of the four projections.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Attr = None,
        bias_attr: Attr = None,
    ) -> None:
        super().__init__()
        _need_sizes(embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        self.dropout, self.need_weights = dropout, need_weights
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x: torch.Tensor) -> Tensor:
        """[B, T, embed_dim] as [B, heads, T, features]."""
        return wrap(plain(x).unflatten(2, (self.num_heads, self.head_dim)).transpose(1, 2))

    def compute_kv(self, key: torch.Tensor, value: torch.Tensor) -> tuple[Tensor, Tensor]:
        """The projected keys and values [B, heads, T, features]."""
        return self._heads(self.k_proj(key)), self._heads(self.v_proj(value))

    def gen_cache(
        self, key: torch.Tensor, value: torch.Tensor | None = None, type: type = Cache
    ) -> Cache | StaticCache:
        """The first cache: a `StaticCache` of projected keys and values, or a `Cache` of these tensors, empty without value."""
        if type is StaticCache:
            return StaticCache(*self.compute_kv(key, key if value is None else value))
        if value is not None:
            return Cache(wrap(key), wrap(value))
        empty = plain(key).new_zeros(key.shape[0], self.num_heads, 0, self.head_dim)
        return Cache(wrap(empty), wrap(empty.clone()))

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor | None = None,
        value: torch.Tensor | None = None,
        attn_mask: torch.Tensor | None = None,
        cache: Cache | StaticCache | None = None,
    ) -> Any:
        """The attention [B, T, embed_dim]; then the weights with `need_weights`, and the cache if one is given."""
        key, value = query if key is None else key, query if value is None else value
        q = self._heads(self.q_proj(query))
        k, v = (cache.k, cache.v) if isinstance(cache, StaticCache) else self.compute_kv(key, value)
        if isinstance(cache, Cache):
            k, v = manipulation.concat([cache.k, k], 2), manipulation.concat([cache.v, v], 2)
            cache = Cache(k, v)
        # The queries are scaled, not the scores: the last digits follow Paddle.
        scores = matmul(q * (self.head_dim**-0.5), k, transpose_y=True)
        mask = _additive(attn_mask, scores)
        weights = activation.softmax(scores if mask is None else scores + mask)
        if self.dropout:
            weights = drop(weights, self.dropout, training=self.training)
        out = self.out_proj(wrap(plain(matmul(weights, v)).transpose(1, 2).flatten(2)))
        outs = [out, *([weights] if self.need_weights else []), *([cache] if cache is not None else [])]
        return out if len(outs) == 1 else tuple(outs)


MultiHeadAttention.Cache = Cache  # type: ignore[attr-defined]
MultiHeadAttention.StaticCache = StaticCache  # type: ignore[attr-defined]


class _Block(Layer):
    """The base of encoder and decoder layers: attentions, a network of two linear layers, and a norm for each of them."""

    attentions: ClassVar[tuple[str, ...]]
    self_attn: MultiHeadAttention
    cross_attn: MultiHeadAttention
    activation: Any

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Attrs = None,
        bias_attr: Attrs = None,
    ) -> None:
        config = {key: value for key, value in locals().items() if key not in ("self", "__class__")}
        super().__init__()
        self._config = config
        _need_sizes(d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        self.normalize_before = normalize_before
        parts = len(self.attentions) + 1
        weights, biases = _each(weight_attr, parts), _each(bias_attr, parts)
        between = dropout if attn_dropout is None else attn_dropout
        for name, weight, bias in zip(self.attentions, weights, biases, strict=False):
            setattr(self, name, MultiHeadAttention(d_model, nhead, between, weight_attr=weight, bias_attr=bias))
        self.linear1 = Linear(d_model, dim_feedforward, weights[-1], biases[-1])
        self.dropout = Dropout(dropout if act_dropout is None else act_dropout)
        self.linear2 = Linear(dim_feedforward, d_model, weights[-1], biases[-1])
        for number in range(1, parts + 1):
            setattr(self, f"norm{number}", LayerNorm(d_model))
        for number in range(1, parts + 1):
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = getattr(_FUNCTIONS, activation)

    def _part(self, number: int, x: torch.Tensor, compute: Any) -> tuple[Tensor, Any]:
        """x plus the part's result, normalized before or after; and the part's other results."""
        norm, dropout = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        found = compute(norm(x) if self.normalize_before else x)
        out, more = found if isinstance(found, tuple) else (found, None)
        out = x + dropout(out)
        return (out if self.normalize_before else norm(out)), more

    def _feed(self, x: torch.Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


_FUNCTIONS = activation


class TransformerEncoderLayer(_Block):
    """Self-attention and a network of two linear layers, each with a residual and a norm.

    Args:
        d_model, nhead: as of `MultiHeadAttention`.
        dim_feedforward: features between the two linear layers.
        dropout: probability after each part.
        activation: the name of a function of `paddle.nn.functional`.
        attn_dropout, act_dropout: within attention and after the activation; `dropout` unless given.
        normalize_before: normalize before each part instead of after it.
        weight_attr, bias_attr: of all, or a list for attention and linear layers.
    """

    attentions = ("self_attn",)

    def forward(self, src: torch.Tensor, src_mask: torch.Tensor | None = None, cache: Any = None) -> Any:
        """The output [B, T, d_model], and the cache if one is given."""
        mask = _additive(src_mask, src)
        out, kept = self._part(1, src, lambda x: self.self_attn(x, x, x, mask, cache))
        out, _ = self._part(2, out, self._feed)
        return out if cache is None else (out, kept)

    def gen_cache(self, src: torch.Tensor) -> Any:
        """An empty cache."""
        return self.self_attn.gen_cache(src, type=Cache)


class TransformerDecoderLayer(_Block):
    """Self-attention, attention to the encoder's output, and a network of two linear layers; see `TransformerEncoderLayer`."""

    attentions = ("self_attn", "cross_attn")

    def forward(
        self,
        tgt: torch.Tensor,
        memory: torch.Tensor,
        tgt_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
        cache: Any = None,
    ) -> Any:
        """The output [B, T, d_model], and the caches if they are given."""
        own, across = _additive(tgt_mask, tgt), _additive(memory_mask, memory)
        first, second = (None, None) if cache is None else cache
        out, grown = self._part(1, tgt, lambda x: self.self_attn(x, x, x, own, first))
        out, static = self._part(2, out, lambda x: self.cross_attn(x, memory, memory, across, second))
        out, _ = self._part(3, out, self._feed)
        return out if cache is None else (out, (grown, static))

    def gen_cache(self, memory: torch.Tensor) -> Any:
        """An empty cache, and one of the encoder's output."""
        return self.self_attn.gen_cache(memory, type=Cache), self.cross_attn.gen_cache(memory, memory, type=StaticCache)


class _Stack(Layer):
    """A layer and further ones made with its arguments."""

    def __init__(self, layer: _Block, num_layers: int, norm: Layer | None) -> None:
        super().__init__()
        # New layers with newly drawn values (recorded, 2.6.2); torch's stacks copy the first layer with its values.
        self.layers = LayerList([layer, *(type(layer)(**layer._config) for _ in range(num_layers - 1))][:num_layers])
        self.num_layers, self.norm = num_layers, norm

    def _run(self, x: torch.Tensor, cache: Any, *arguments: Any) -> Any:
        caches = []
        for number, layer in enumerate(self.layers):
            if cache is None:
                x = layer(x, *arguments)
            else:
                x, own = layer(x, *arguments, cache[number])
                caches.append(own)
        x = x if self.norm is None else self.norm(x)
        return x if cache is None else (x, caches)


class TransformerEncoder(_Stack):
    """`num_layers` layers like `encoder_layer`, and a norm after them."""

    def __init__(self, encoder_layer: _Block, num_layers: int, norm: Layer | None = None) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(self, src: torch.Tensor, src_mask: torch.Tensor | None = None, cache: Any = None) -> Any:
        """The output [B, T, d_model], and the caches if they are given."""
        return self._run(src, cache, _additive(src_mask, src))

    def gen_cache(self, src: torch.Tensor) -> list[Any]:
        """An empty cache for every layer."""
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoder(_Stack):
    """`num_layers` layers like `decoder_layer`, and a norm after them."""

    def __init__(self, decoder_layer: _Block, num_layers: int, norm: Layer | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: torch.Tensor,
        memory: torch.Tensor,
        tgt_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
        cache: Any = None,
    ) -> Any:
        """The output [B, T, d_model], and the caches if they are given."""
        return self._run(tgt, cache, memory, _additive(tgt_mask, tgt), _additive(memory_mask, memory))

    def gen_cache(self, memory: torch.Tensor, do_zip: bool = False) -> list[Any]:
        """The caches of every layer; with `do_zip` a list for each kind."""
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches, strict=True)) if do_zip else caches


def _spread(attr: Attrs) -> tuple[Attrs, Attrs]:
    """Attributes for the parts of the encoder (two) and of the decoder (three)."""
    if not isinstance(attr, (list, tuple)):
        return attr, attr
    if len(attr) not in (1, 2, 3):
        raise AssertionError("length of weight_attr and bias_attr should be 1 or 2 or 3 when it is a list/tuple")
    return [attr[0], attr[-1]], list(attr) if len(attr) == 3 else [attr[0], attr[0], attr[-1]]


class Transformer(Layer):
    """An encoder and a decoder (A. Vaswani and others, 2017). Arguments as of their layers, or the two themselves."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Attrs = None,
        bias_attr: Attrs = None,
        custom_encoder: Layer | None = None,
        custom_decoder: Layer | None = None,
    ) -> None:
        super().__init__()
        _need_sizes(d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        weights, biases = _spread(weight_attr), _spread(bias_attr)
        common = (d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout, normalize_before)
        if custom_encoder is None:
            first = TransformerEncoderLayer(*common, weights[0], biases[0])
            custom_encoder = TransformerEncoder(first, num_encoder_layers, LayerNorm(d_model))
        self.encoder = custom_encoder
        if custom_decoder is None:
            last = TransformerDecoderLayer(*common, weights[1], biases[1])
            custom_decoder = TransformerDecoder(last, num_decoder_layers, LayerNorm(d_model))
        self.decoder = custom_decoder
        self.d_model, self.nhead = d_model, nhead

    def forward(
        self,
        src: torch.Tensor,
        tgt: torch.Tensor,
        src_mask: torch.Tensor | None = None,
        tgt_mask: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> Tensor:
        """The decoder's output [B, T, d_model]."""
        memory = self.encoder(src, src_mask=_additive(src_mask, src))
        masks = {"tgt_mask": _additive(tgt_mask, tgt), "memory_mask": _additive(memory_mask, memory)}
        return self.decoder(tgt, memory, **masks)

    def generate_square_subsequent_mask(self, length: int) -> Tensor:
        """[length, length], -inf above the diagonal and 0 elsewhere."""
        place = expected_place().device
        return wrap(torch.full([length, length], -torch.inf, dtype=default_torch_dtype(), device=place).triu(1))
