"""Datasets, samplers and batches."""
