"""Keras reads its backend from the environment when it is first imported."""

import importlib.util
import os

os.environ["KERAS_BACKEND"] = "torch"
# This folder has the name of the package, and would be taken for it.
collect_ignore_glob = [] if getattr(importlib.util.find_spec("keras"), "origin", None) else ["test_*.py"]
