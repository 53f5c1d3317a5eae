"""All subcommands, and the options they share."""

import typer

from fairret import __version__
from fairret.cli import audit, fit, predict
from fairret.lab.commands import estimators, experiment, figure, tolerance

app = typer.Typer(
    help="Fairness as a loss term, and as something to measure.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("audit")(audit.command)
app.command("fit")(fit.command)
app.command("predict")(predict.command)
app.command("run")(experiment.run)
app.command("results")(experiment.results)
app.command("figure")(figure.command)
app.command("tolerance")(tolerance.command)
app.command("estimators")(estimators.command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairret {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Show the version and exit.",
    ),
) -> None:
    """Fairness as a loss term, and as something to measure."""
