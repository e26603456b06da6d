"""Links with weights."""
