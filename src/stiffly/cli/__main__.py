"""`python -m stiffly.cli`: the same as `stiffly`."""

import sys

from . import main

if __name__ == "__main__":
    sys.exit(main())
