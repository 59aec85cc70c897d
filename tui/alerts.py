"""Alert rules in the filter language, and for which runs they hold. No Textual here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .fields import Run
from .filter import FilterError, Test, compile_filter


@dataclass
class Alerts:
    """The rules, in order, and the runs that each holds for at present."""

    rules: dict[str, Test] = field(default_factory=dict)
    holding: dict[tuple[str, str], str] = field(default_factory=dict)  # (rule, id): the run's name

    @classmethod
    def of(cls, rules: Iterable[str]) -> "Alerts":
        """From rules as kept; what is no filter (any more) is left out."""
        alerts = cls()
        for rule in rules:
            try:
                alerts.add(rule)
            except FilterError:
                continue
        return alerts

    def add(self, rule: str, instead_of: str | None = None) -> None:
        """Add a rule, at the place of another if given. Raises FilterError and changes nothing."""
        test = compile_filter(rule)
        rest = {text: kept for text, kept in self.rules.items() if text != rule}
        if instead_of in rest:
            self.rules = {
                (rule if text == instead_of else text): (test if text == instead_of else kept)
                for text, kept in rest.items()
            }
        else:
            self.rules = {**rest, rule: test}
        self._drop_gone()

    def remove(self, rule: str) -> None:
        """Forget a rule and what it held for."""
        self.rules.pop(rule, None)
        self._drop_gone()

    def _drop_gone(self) -> None:
        self.holding = {pair: name for pair, name in self.holding.items() if pair[0] in self.rules}

    def check(self, runs: Mapping[str, Run]) -> list[tuple[str, str]]:
        """Judge every run; (rule, the run's name) of what did not hold before."""
        before = self.holding
        self.holding = {
            (rule, key): run["name"]
            for rule, test in self.rules.items()
            for key, run in runs.items()
            if test(run)
        }
        return [(pair[0], name) for pair, name in self.holding.items() if pair not in before]
