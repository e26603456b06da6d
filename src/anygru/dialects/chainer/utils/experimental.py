"""The mark of experimental features."""

from __future__ import annotations

import warnings


def experimental(api_name: str) -> None:
    """Warn (FutureWarning) that `api_name` may change, unless `chainer.disable_experimental_feature_warning`."""
    from ... import chainer

    if not chainer.disable_experimental_feature_warning:
        warnings.warn(f"{api_name} is experimental. The interface can change in the future.", FutureWarning)
