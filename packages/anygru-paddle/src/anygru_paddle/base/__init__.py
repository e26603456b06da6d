"""Places, names, parameters: what the rest of the dialect stands on."""
