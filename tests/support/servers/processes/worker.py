"""A worker of xdist, in a process that is forked by a server: it does what `python -c` does in a worker that is not,
and runs what it reads from stdin (execnet's bootstrap).
"""

import sys
import warnings

if __name__ == "__main__":
    warnings.resetwarnings()  # the server raises them; pytest decides for tests
    exec(eval(sys.stdin.readline()))
