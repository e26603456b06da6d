"""`python -m grus`."""

import sys

from grus.cli import main

if __name__ == "__main__":  # worker processes import this file, too
    sys.exit(main())
