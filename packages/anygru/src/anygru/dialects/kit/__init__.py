"""Code that several dialects share because it is the same by definition, not because it looks alike.

Nothing here depends on a dialect. A piece belongs here if at least two dialects' programs pass through it and it saves lines.
"""
