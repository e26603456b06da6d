"""Blocks, their parameters and graphs; `gluon.block` and `gluon.parameter` offer them under MXNet's paths."""
