"""The command line. Each command's module is imported when the command is used, so that `--help` is quick."""

from flowc.cli.app import main

__all__ = ["main"]
