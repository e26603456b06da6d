"""`paddle.utils.unique_name`: where scripts import the names of `paddle.base.unique_name` from."""

from ..base.unique_name import *  # noqa: F403
