"""Probabilistic forecasts of time series, and their back-test; the job of `anygru forecast`.

`tables` reads a table into series; `problem` says what to forecast; `pipeline` trains the network and tests it beside
`rivals` and `statistical`; `results` writes what is found. `command` and `api` are the entrances.
"""
