"""`python -m stiffly`: the same as `stiffly`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
