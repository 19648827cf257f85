"""`skyband doctor`: what this machine has and lacks."""

import click

from skyband.cli.group import Failure
from skyband.cli.output import Output, output_options


@click.command()
@output_options
def command(output: Output) -> None:
    """Say what this machine has and lacks, and how to mend what is lacking.

    Each line is ok, a warning, or lacking. The command ends with 1 only if something is lacking that is required; the
    first time it compiles kernels, which takes some seconds.

    \b
    Example:
      skyband doctor
    """
    from skyband.cli.check import CHECKS

    findings = []
    with output.progress("checking") as progress:
        for done, check in enumerate(CHECKS):
            progress(done, len(CHECKS))
            findings += list(check())
    if output.as_json:
        output.document(findings)
    else:
        output.table(("what", "state", "found", "how to mend it"), findings)
    lacking = [finding.what for finding in findings if finding.state == "lacking"]
    if lacking:
        raise Failure(f"This machine lacks {', '.join(lacking)}.")
