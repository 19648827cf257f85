"""`skyband overlay draw`: what each strategy sends, as pictures made from running brokers."""

from pathlib import Path

import click

from skyband.cli.output import Output, output_options


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@output_options
def command(output: Output, folder: Path) -> None:
    """Draw what each strategy sends among six brokers into FOLDER, a picture for each strategy.

    E subscribes, and then A publishes, as in figures 9 to 14 of the top-k/w paper. Arrows are numbered in their order,
    and are read from the trace of brokers that run for it.

    \b
    Example:
      skyband overlay draw pictures
    """
    from skyband.cli.overlay.network_svg import draw_scenes
    from skyband.overlay.simulate.example import scenes_of
    from skyband.overlay.strategy import STRATEGIES
    from skyband.table.write import replacing

    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"overlay-{strategy}.svg" for strategy in STRATEGIES]
    for strategy, file in zip(STRATEGIES, files, strict=True):
        with replacing(file) as temporary:
            temporary.write_text(draw_scenes(strategy, scenes_of(strategy)), encoding="utf-8")
    if output.as_json:
        output.document({"files": files})
    else:
        output.say(f"{len(files)} pictures are in {folder}.")
