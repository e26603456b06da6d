"""Attention, transformers with masks and caches, gather_tree, and beam search around a GRU."""
import numpy as np
from recorder import record, record_error

import paddle
import paddle.nn.functional as F
from paddle import nn

rng = np.random.RandomState(7)
x = paddle.to_tensor(rng.uniform(-1, 1, (2, 3, 4)).astype("float32"))
y = paddle.to_tensor(rng.uniform(-1, 1, (2, 5, 4)).astype("float32"))

paddle.seed(3)
attention = nn.MultiHeadAttention(4, 2, need_weights=True)
record("attention_keys", list(attention.state_dict()))
record("attention", list(attention(x, y, y)))
mask = paddle.to_tensor(rng.uniform(0, 1, (2, 2, 3, 3)) > 0.3)
record("attention_masked", list(attention(x, attn_mask=mask)))
plain = nn.MultiHeadAttention(4, 2, 0.5, kdim=4, vdim=4)
record("attention_dropped", plain(x))
plain.eval()
cache = plain.gen_cache(x)
steps = []
for step in range(3):
    out, cache = plain(x[:, step : step + 1], cache=cache)
    steps.append(out)
record("attention_cached", steps + [cache.k])
static = plain.gen_cache(y, y, type=nn.MultiHeadAttention.StaticCache)
record("attention_static", plain(x, y, y, cache=static)[0])

layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, activation="gelu", normalize_before=True)
encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4))
record("encoder_keys", list(encoder.state_dict()))
record("encoder", encoder(x))
out, caches = encoder(x, cache=encoder.gen_cache(x))
record("encoder_cached", out)
decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0), 2)
record("decoder_keys", list(decoder.state_dict()))
record("decoder", decoder(x, y, memory_mask=paddle.to_tensor(rng.uniform(0, 1, (2, 2, 3, 5)).astype("float32"))))
out, caches = decoder(x[:, :1], y, cache=decoder.gen_cache(y))
record("decoder_cached", [out, caches[1][0].k])
paddle.seed(4)
whole = nn.Transformer(4, 2, 1, 2, 8, dropout=0.3)
record("whole_names", [p.name for p in whole.parameters()])
result = whole(x, y, tgt_mask=whole.generate_square_subsequent_mask(5))
record("whole", result)
result.sum().backward()
record("whole_gradient", whole.encoder.layers[0].self_attn.q_proj.weight.grad)
record_error("heads", lambda: nn.MultiHeadAttention(4, 3))

ids = paddle.to_tensor([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]])
parents = paddle.to_tensor([[[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]])
record("gather_tree", F.gather_tree(ids, parents))

for kind in ("GRUCell", "LSTMCell"):
    paddle.seed(9)
    embedding, output = nn.Embedding(7, 4), nn.Linear(6, 7)
    cell = getattr(nn, kind)(4, 6)
    beams = nn.BeamSearchDecoder(cell, 0, 1, 3, embedding, output)
    start = cell.get_initial_states(x)
    for name, options in {"": {}, "_time_major": {"output_time_major": True}}.items():
        found, states, lengths = nn.dynamic_decode(beams, start, max_step_num=5, return_length=True, **options)
        record(kind + name + "_ids", found)
        record(kind + name + "_lengths", lengths)
        record(kind + name + "_log_probs", states.log_probs)
        record(kind + name + "_finished", states.finished)
record("tiled", nn.BeamSearchDecoder.tile_beam_merge_with_batch(x[:, 0], 2))

scores = paddle.to_tensor(rng.uniform(-1, 1, (3, 5, 4)).astype("float32"))
moves = paddle.to_tensor(rng.uniform(-1, 1, (4, 4)).astype("float32"))
for tags in (True, False):
    record("viterbi_%s" % tags, list(paddle.text.ViterbiDecoder(moves, tags)(scores, paddle.to_tensor([5, 2, 1]))))
