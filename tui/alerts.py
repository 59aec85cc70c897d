"""Alert rules: filters that are checked against every listing. A plain class: no Textual here."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .fields import Run
from .filter import FilterError, Test, compile_filter
from .filter_pass import passing
from .render import clean

MOST_RULES = 50


@dataclass
class Alerts:
    """Rules by their text, compiled once, and the (rule, run id) pairs that hold now."""

    holding: dict[tuple[str, str], str] = field(default_factory=dict)  # to the run's name
    _tests: dict[str, Test] = field(default_factory=dict)
    _judged: dict[str, tuple[Run, list[str]]] = field(default_factory=dict)  # by run id

    @property
    def rules(self) -> list[str]:
        """The rules as typed, oldest first."""
        return list(self._tests)

    def add(self, rule: str) -> None:
        """Add a rule. Raises FilterError, and then changes nothing."""
        rule = rule.strip()
        if not rule:
            raise FilterError("a rule needs a test, as in dune.kl>5")
        if len(self._tests) >= MOST_RULES and rule not in self._tests:
            raise FilterError(f"{MOST_RULES} rules are the most: remove one first")
        self._tests.setdefault(rule, compile_filter(rule))
        self._judged = {}

    def remove(self, rule: str) -> None:
        """Forget a rule and what it found."""
        self._tests.pop(rule, None)
        self._judged = {}
        self.holding = {pair: name for pair, name in self.holding.items() if pair[0] != rule}

    def replace(self, old: str, new: str) -> None:
        """Put `new` in the place of `old`. Raises FilterError, and then changes nothing."""
        if old.strip() != new.strip():
            self.add(new)
            self.remove(old)

    def restore(self, kept: Iterable[str]) -> None:
        """Take the kept rules; those that can no longer be read are left out."""
        for rule in kept:
            try:
                self.add(rule)
            except FilterError:
                continue

    def check(self, runs: Mapping[str, Run]) -> list[str]:
        """Renew what holds; a note for each pair that did not hold before, or rule that went.

        A run that is the very object of the last time is not judged again: thousands are settled.
        """
        before, known = self.holding, self._judged
        fresh = {k: run for k, run in runs.items() if k not in known or known[k][0] is not run}
        self._judged = {k: (run, [] if k in fresh else known[k][1]) for k, run in runs.items()}
        slow = [rule for rule in self.rules if not self._judge(rule, fresh)]
        pairs = [(rule, key) for key, (_, rules) in self._judged.items() for rule in rules]
        order = {rule: place for place, rule in enumerate(self._tests)}
        pairs = sorted((p for p in pairs if p[0] in order), key=lambda pair: order[pair[0]])
        self.holding = {(rule, key): clean(runs[key]["name"]) for rule, key in pairs}
        told = _told({pair: n for pair, n in self.holding.items() if pair not in before})
        return [*told, *(f"the rule {clean(rule)} is removed: it takes too long" for rule in slow)]

    def _judge(self, rule: str, runs: Mapping[str, Run]) -> bool:
        """Judge these runs by a rule; one that takes too long is forgotten."""
        try:
            for run in passing(self._tests[rule], runs.values()):
                self._judged[run["id"]][1].append(rule)
        except FilterError:
            del self._tests[rule]
        return rule in self._tests


def _told(fresh: Mapping[tuple[str, str], str]) -> list[str]:
    return [f"alert {clean(rule)}: {name}" for (rule, _), name in fresh.items()]


def alert_pairs(holding: Mapping[tuple[str, str], str]) -> Iterable[tuple[str, str]]:
    """(rule, run) of what holds, to be shown."""
    return [(clean(rule), name) for (rule, _), name in holding.items()]
