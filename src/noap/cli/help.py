"""Commands whose help shows a type only where a value is expected: a flag takes none."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group"]


def _without_types(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command of noap."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options and arguments; flags come without the type that typer would show."""
        return _without_types(super().get_params(ctx))


class Group(TyperGroup):
    """noap itself."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options and arguments; flags come without the type that typer would show."""
        return _without_types(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Ctrl-C that it did not answer is told apart from its own exit codes."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None
