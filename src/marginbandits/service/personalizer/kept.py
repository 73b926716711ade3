"""What Personalizer keeps of a loop and the service has no place for: a fact of the journal, `personalizer/<loop>`."""

from typing import Any

import msgspec

from marginbandits.service.journal import Journal

__all__ = ["DEFAULT_POLICY", "Kept"]

DEFAULT_POLICY = "--cb_explore_adf --epsilon 0.2 --power_t 0 -l 0.001 --cb_type mtr -q ::"


class Kept(msgspec.Struct, frozen=True):
    """Fields of the service configuration that change nothing here, when it was set, and the policy as it was put."""

    fields: dict[str, Any] = {}
    edited: int | None = None
    policy_name: str | None = None
    arguments: str = DEFAULT_POLICY

    @classmethod
    def of(cls, journal: Journal, loop: str) -> "Kept":
        """That of a loop."""
        fact = journal.fact(f"personalizer/{loop}")
        return cls() if fact is None else msgspec.json.decode(fact, type=cls)

    def keep(self, journal: Journal, loop: str) -> None:
        """From now on."""
        journal.put(f"personalizer/{loop}", msgspec.json.encode(self))
