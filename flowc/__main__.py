"""`python -m flowc`: the command line, where the console script is not on the path."""

from flowc.cli import main

main()
