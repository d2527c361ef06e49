"""Measurements of flowc, as ratios against a yardstick measured in the same run. `python -m benchmarks [NAME]`."""
