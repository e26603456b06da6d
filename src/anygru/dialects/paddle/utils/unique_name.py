"""`paddle.utils.unique_name`: where scripts import the names of `paddle.base.unique_name` from."""

from ..base.unique_name import generate as generate
from ..base.unique_name import generate_with_ignorable_key as generate_with_ignorable_key
from ..base.unique_name import guard as guard
from ..base.unique_name import switch as switch

__all__ = ["generate", "guard", "switch"]
