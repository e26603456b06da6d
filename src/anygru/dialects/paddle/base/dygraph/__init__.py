"""Dynamic graphs: gradients on and off, operators of tensors."""
