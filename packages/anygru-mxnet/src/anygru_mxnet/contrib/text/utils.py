"""`mx.contrib.text.utils`: counts of words."""

import re
from collections import Counter


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter | None = None,
) -> Counter:
    """Count the occurrences of each token in a text.

    Args:
        source_str: the text.
        token_delim, seq_delim: regular expressions that end a token and a sequence.
        to_lower: whether to convert the text to lower case.
        counter_to_update: a counter to add to, which is returned.
    """
    tokens = re.split(f"{token_delim}|{seq_delim}", source_str)
    counter = Counter() if counter_to_update is None else counter_to_update
    counter.update(token.lower() if to_lower else token for token in tokens if token)
    return counter
