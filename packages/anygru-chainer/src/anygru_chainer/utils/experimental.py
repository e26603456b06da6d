"""The mark of experimental features."""

import sys
import warnings

_PACKAGE = __name__.removesuffix(".utils.experimental")


def experimental(api_name: str) -> None:
    """Warn (FutureWarning) that `api_name` may change, unless `chainer.disable_experimental_feature_warning`."""
    # Users set the flag on the package itself, which stands above this file and is loaded before it is called.
    if not sys.modules[_PACKAGE].disable_experimental_feature_warning:
        warnings.warn(f"{api_name} is experimental. The interface can change in the future.", FutureWarning)
