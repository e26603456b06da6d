"""Global tensors: pieces on several processes, their gradients, and a GRU on them. OneFlow has no folder of this name."""
