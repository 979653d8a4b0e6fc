"""`python -m fabricdoc`: the same program as the installed `fabricdoc` command."""

import sys

from fabricdoc.cli import main

if __name__ == "__main__":
    sys.exit(main())
