"""The Run pane over logs of others, whose prompt families are not the task's."""

import pytest
from piloting import app_over, curves_of, ready, screen_text, type_keys
from synthetic import Console, write_run
from test_tui_hostile import nth, write_log

from rlhf.vocab import FAMILIES

OTHERS = ["beta", "[/b]", "\x1b]0;owned\x07\x1b[31mred", "漢字" * 9, "a\nb", "", "overall"]


@pytest.mark.parametrize("names", [OTHERS, [f"family-{n}" for n in range(60)], []])
async def test_families_that_others_have_are_among_the_run_s(
    console: Console, names: list[str]
) -> None:
    figures = {"n": 8, "proxy_reward": 0.25, "kl": 1.5}
    folder = write_run(console.workspace / "runs" / "theirs")
    write_log(folder, *({**nth(1.0, n), "families": dict.fromkeys(names, figures)} for n in (1, 2)))
    app = app_over(console)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(app, pilot)
        app.pane.table.go_to("theirs")  # type: ignore[attr-defined]
        await type_keys(app, "enter")
        await curves_of(app, pilot, "theirs")
        seen = {}
        for _ in range(len(names) + 8):
            await type_keys(app, "v")
            seen[app.state.scope] = screen_text(app)
        theirs = [name for name in seen if name in names and name != "overall"]
        assert theirs == sorted(name for name in names if name not in ("", "overall"))
        assert all("0.25" in seen[name] for name in theirs)
        assert {"overall", *FAMILIES, "each family"} <= set(seen)
        for key in ("V", "K", "v", "v", "K", "w", "escape", "1"):
            await type_keys(app, key)
