"""What a command takes where a folder, or a file, is to be named."""

from pathlib import Path
from typing import Any

import click

__all__ = ["FILE", "FOLDER", "Named"]


class Named(click.Path):
    """A path, of what need not be there. No name is not the folder one is in, but a variable that was never set."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        if value == "":
            self.fail("there must be a name, got '': is a variable not set?", param, ctx)
        return super().convert(value, param, ctx)


FOLDER, FILE = Named(file_okay=False, path_type=Path), Named(dir_okay=False, path_type=Path)
