"""`python -m bench.peers`: peers beside Skyband, their raw rows stored."""

import sys
from pathlib import Path
from typing import Any

import click

from bench.peers.contest import experiment, shown
from bench.peers.page import markdown
from bench.peers.peer import Peer, peers
from bench.peers.work import WORKS
from skyband.bench.row import Row
from skyband.bench.storage import store
from skyband.cli.output import Output, output_options


@click.command()
@click.option(
    "--work", "works", multiple=True, type=click.Choice(tuple(WORKS)), help="Only this work; may be repeated."
)
@click.option("--peer", "names", multiple=True, help="Only peers whose name holds this; may be repeated.")
@click.option(
    "--size",
    default="small",
    show_default=True,
    type=click.Choice(("toy", "small", "full")),
    help="How much to measure: seconds, minutes, or as much as patience allows.",
)
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1), help="How many threads peers may use.")
@click.option(
    "--out",
    default="build/bench",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for the raw rows, one Parquet file per work.",
)
@click.option("--list", "list_only", is_flag=True, help="List the peers and exit.")
@click.option(
    "--markdown", "page_only", is_flag=True, help="Print the newest stored rows of this size as a table and exit."
)
@output_options
def command(
    output: Output,
    works: tuple[str, ...],
    names: tuple[str, ...],
    size: str,
    threads: int,
    out: Path,
    list_only: bool,
    page_only: bool,
) -> None:
    """Run other systems beside Skyband on the same data, and store every raw row.

    Their packages are fetched into build/peers. One that cannot be had is skipped, and its row says why. Answers are
    compared before anything is timed; the exit status is 1 if one was wrong, or a peer failed.

    \b
    Example:
      python -m bench.peers --work window --size toy
    """
    chosen = [peer for peer in peers() if _is_asked(peer, works, names)]
    if not chosen:
        raise click.BadParameter(f"there is no such peer among {', '.join(sorted({p.name for p in peers()}))}.")
    if list_only:
        _list(output, chosen)
        return
    if page_only:
        output.say(markdown(out, chosen, size))
        return
    done = [_run(output, work, chosen, size, threads, out) for work in WORKS if any(p.work == work for p in chosen)]
    if output.as_json:
        output.document(done)
    if any(each["wrong"] for each in done):
        sys.exit(1)


def _is_asked(peer: type[Peer], works: tuple[str, ...], names: tuple[str, ...]) -> bool:
    named = not names or any(name.lower() in peer.name.lower() for name in names)
    return named and (not works or peer.work in works)


def _list(output: Output, chosen: list[type[Peer]]) -> None:
    if output.as_json:
        output.document([{"work": peer.work, "peer": peer.name, "lacks": peer.lacks} for peer in chosen])
    else:
        output.table(("work", "peer", "does not do"), [(peer.work, peer.name, peer.lacks) for peer in chosen])


def _run(output: Output, name: str, chosen: list[type[Peer]], size: Any, threads: int, out: Path) -> dict[str, Any]:
    contest = experiment(WORKS[name], chosen, threads)
    rows = contest.run(size, lambda text: print(text, file=sys.stderr, flush=True))
    file = store(rows, out)
    headers, cells = contest.table(shown(rows))
    if not output.as_json:
        output.table(headers, cells, title=f"{name}: {contest.summary}")
        output.say(f"{len(rows):,} raw rows are in {file}.")
    return {
        "work": name,
        "size": size,
        "file": file,
        "peers": [_plain(row) for row in shown(rows)],
        "wrong": _wrong(rows),
    }


def _plain(row: Row) -> dict[str, Any]:
    return {**row["parameters"], **row["measures"], "skipped": row["skipped"]}


def _wrong(rows: list[Row]) -> list[str]:
    return [row["skipped"] for row in rows if (row["skipped"] or "").startswith(("Wrong: ", "Failed: "))]


if __name__ == "__main__":
    command(prog_name="python -m bench.peers")
