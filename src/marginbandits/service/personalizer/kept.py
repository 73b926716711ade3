"""What Personalizer keeps of a loop and the service has no place for: notes of the journal, written with settings."""

from typing import Any, ClassVar, Self

import msgspec

from marginbandits.service.journal import NOTE, Journal
from marginbandits.service.records import Note, decode

__all__ = ["Fields", "Text"]


class Kept(msgspec.Struct, frozen=True):
    """What was put with settings."""

    NAME: ClassVar[str]

    @classmethod
    def of(cls, journal: Journal, loop: str) -> Self:
        """The last of a loop."""
        own = (loop, NOTE, cls.NAME)
        bodies = [one.body for one in journal.changes() if (one.loop, one.kind, one.id) == own]
        return msgspec.convert(decode(Note, bodies[-1]).told, cls) if bodies and bodies[-1] is not None else cls()

    def note(self) -> Note:
        """As it is written."""
        return Note(self.NAME, msgspec.to_builtins(self))


class Fields(Kept, frozen=True):
    """Fields of the service configuration that change nothing here, and when it was set."""

    NAME = "Personalizer configuration"
    fields: dict[str, Any] = {}
    edited: int | None = None


class Text(Kept, frozen=True):
    """The policy as it was put."""

    NAME = "Personalizer policy"
    name: str | None = None
    arguments: str = "--cb_explore_adf --epsilon 0.2 --power_t 0 -l 0.001 --cb_type mtr -q ::"
