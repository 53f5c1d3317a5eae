"""The command `fairret`: it parses options, calls the library and prints."""

import sys
import traceback

from fairret.errors import missing_extra


def main() -> None:
    """Run the command line."""
    try:
        from fairret.cli.app import app
    except ImportError as error:
        if error.name is None or error.name.startswith("fairret"):
            raise
        extra = "cli" if sys.argv[1:2] in ([], ["audit"]) else "experiment"
        reason = missing_extra("the command needs", error.name, extra)
        sys.stderr.write(f"fairret: {reason}\n")
        sys.exit(2)  # 1 means that the gate of an audit failed
    try:
        app()
    except Exception:
        traceback.print_exc()
        sys.exit(2)  # not 1, for the same reason
