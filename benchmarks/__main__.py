"""Run the benchmarks, all or those named, and print a table for each."""

from __future__ import annotations

import sys

from benchmarks import compiling, notebooks, overhead, start_up, tables
from benchmarks.table import Row, shown

BENCHMARKS = {
    "start-up": start_up.measure,
    "compile": compiling.measure,
    "overhead": overhead.measure,
    "notebooks": notebooks.measure,
    "tables": tables.measure,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark '{unknown[0]}'; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        rows: list[Row] = BENCHMARKS[name]()
        print(f"\n{name}\n{shown(rows)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
