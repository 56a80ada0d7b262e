#!/usr/bin/env python3
"""Self test of the reader, on small logs that it writes itself. `selftest.py --all` flips every bit of every file (minutes)."""

import os
import sys
import unittest

if __name__ == "__main__":
  here = os.path.dirname(os.path.abspath(__file__))
  arguments = [argument for argument in sys.argv[1:] if argument != "--all"]
  suite = ["discover", "-s", os.path.join(here, "selftests"), "-t", here] if not arguments else arguments
  unittest.main(module=None, argv=[sys.argv[0], *suite])
