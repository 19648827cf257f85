"""`skyband completion`: the script that lets a shell complete commands and options."""

import click
from click.shell_completion import get_completion_class

from skyband.cli.output import Output, output_options

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@output_options
@click.pass_context
def command(ctx: click.Context, output: Output, shell: str) -> None:
    """Print the script that completes skyband's commands and options in SHELL.

    To install it, have your shell read the output when it starts: add eval "$(skyband completion bash)" to ~/.bashrc,
    the same with zsh to ~/.zshrc, or write the output of skyband completion fish to
    ~/.config/fish/completions/skyband.fish.

    \b
    Example:
      eval "$(skyband completion bash)"
    """
    completion = get_completion_class(shell)
    assert completion is not None
    script = completion(ctx.find_root().command, {}, "skyband", "_SKYBAND_COMPLETE").source()
    if output.as_json:
        output.document({"shell": shell, "script": script})
    else:
        output.say(script)
