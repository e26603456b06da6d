"""Keras reads its backend from the environment when it is first imported."""

import os

os.environ["KERAS_BACKEND"] = "torch"
