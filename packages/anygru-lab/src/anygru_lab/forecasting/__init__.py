"""Probabilistic forecasts of time series, and their back-test; the job of `anygru forecast`."""
