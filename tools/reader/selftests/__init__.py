"""Self tests of the reader; run `selftest.py`."""
