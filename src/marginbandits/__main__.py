"""`python -m marginbandits` is the command."""

from marginbandits.cli import main

main()
