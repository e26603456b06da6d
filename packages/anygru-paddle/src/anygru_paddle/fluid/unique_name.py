"""`paddle.fluid.unique_name`."""

from ..base.unique_name import generate as generate
from ..base.unique_name import guard as guard
from ..base.unique_name import switch as switch
