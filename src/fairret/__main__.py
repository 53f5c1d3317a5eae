"""`python -m fairret` is the command `fairret`."""

from fairret.cli import main

if __name__ == "__main__":
    main()
