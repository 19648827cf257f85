"""`python -m skyband.bench ROWS OUT`: the figures and tables of the newest stored runs, from their rows alone."""

import argparse
import sys
from pathlib import Path

from skyband.bench import NoMatplotlib, draw, tables


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m skyband.bench", description="Draw what was stored.")
    parser.add_argument("rows", type=Path, help="the folder that `skyband bench` stored raw rows in")
    parser.add_argument("out", type=Path, help="the folder to draw into; tables.md there holds the tables")
    given = parser.parse_args()
    try:
        drawn = draw(given.rows, given.out)
    except NoMatplotlib as error:
        print(error, file=sys.stderr)
        return 1
    if not drawn:
        print(f"There are no stored rows in {given.rows}.", file=sys.stderr)
        return 1
    page = given.out / "tables.md"
    page.write_text(tables(given.rows), encoding="utf-8")
    print(*drawn, page, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
