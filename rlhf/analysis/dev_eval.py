"""`python -m rlhf.analysis.dev_eval`: what a task folder runs as eval/dev_eval.py."""

import sys

from rlhf.evaluate import dev_main

if __name__ == "__main__":
    sys.exit(dev_main(sys.argv[1:]))
