"""Places, names, parameters: the base of the rest of the dialect."""
