"""Commands whose help shows a type only where a value is expected: a flag takes none."""

from typing import Any

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
