"""`pipes`, gone since Python 3.13: the function that scripts used of it."""

from shlex import quote as quote
