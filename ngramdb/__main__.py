"""`python -m ngramdb` is the command line."""

import sys

from ngramdb.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
