"""Metrics, one topic a file; `mx.metric` offers them under MXNet's path."""
