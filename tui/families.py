"""Choosing one family of a document by name, for the commands."""

from collections.abc import Mapping
from typing import Any

from .exits import CommandError, Exit
from .render import clean


def only(families: Mapping[str, Any], wanted: str | None) -> dict[str, Any]:
    """The families, or the one that is wanted. Raises CommandError if it is not there."""
    if wanted is None:
        return dict(families)
    if wanted not in families:
        known = clean(", ".join(families))
        raise CommandError(Exit.USAGE, f"no family {wanted!r:.40}: there are {known}")
    return {wanted: families[wanted]}
