"""The command `fairret`: it parses options, calls the library and prints."""

import sys
import traceback

from fairret.errors import missing_extra

INTERRUPTED = 130  # as shells count: 128, and 2 for the signal of Ctrl-C


def main() -> None:
    """Run the command line."""
    try:
        from fairret.cli.app import app
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)  # imports take seconds
    except ImportError as error:
        if error.name is None or error.name.startswith("fairret"):
            raise
        extra = "cli" if sys.argv[1:2] in ([], ["audit"]) else "experiment"
        reason = missing_extra("the command needs", error.name, extra)
        sys.stderr.write(f"fairret: {reason}\n")
        sys.exit(2)  # 1 means that the gate of an audit failed
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception:
        traceback.print_exc()
        sys.exit(2)  # not 1, for the same reason
