"""`python -m anygru`."""

import sys

from anygru.cli import main

if __name__ == "__main__":  # worker processes import this file, too
    sys.exit(main())
