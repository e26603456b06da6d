"""Commands for experiments: train and sample a language model, forecast time series, compare implementations."""
