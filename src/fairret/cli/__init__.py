"""The command `fairret`: thin, it parses, calls and prints."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from fairret.cli.app import app
    except ImportError as error:
        if error.name is None or error.name.startswith("fairret"):
            raise
        extra = "cli" if sys.argv[1:2] in ([], ["audit"]) else "experiment"
        sys.stderr.write(
            f"fairret: the command needs {error.name}, which is not installed. "
            f"Run `pip install 'fairret[{extra}]'`.\n"
        )
        sys.exit(2)  # 1 would say that an audit found a violation
    app()
