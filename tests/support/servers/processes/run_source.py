"""Runs the Python source in its first argument, as `python -c` does, for `forked`."""

import sys

if __name__ == "__main__":
    exec(sys.argv.pop(1))
