"""Names of the entries that record a layer's formula and form in a state_dict or a file.

Nothing here needs torch: the readers of checkpoints use it before torch is imported.
"""

from typing import Literal, TypeAlias

ActivationName: TypeAlias = Literal[
    "sigmoid", "tanh", "relu", "identity", "hardsigmoid", "hardtanh", "softsign", "softplus", "elu", "gelu", "silu"
]

FORMULA_MARK = "anygru.formula"
"""The key of the formula in the metadata of a state_dict or a file, if it is not torch's."""
FORMULA_ENTRY = "reset_before"
"""A state_dict entry that records reset="before" and survives a plain copy of the tensors. Its value is unused."""
HALF_ENTRY = "frozen_bfloat16"
"""A state_dict entry that distinguishes a frozen bfloat16 layer without biases from a GRU in bfloat16. Its value is
unused."""
SCALE = "_scale"
"""The suffix of a scale's name after the name of its int8 matrix."""
