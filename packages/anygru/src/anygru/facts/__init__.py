"""Values without arithmetic: weights, gates, formulas, options, and the facts of a call."""
