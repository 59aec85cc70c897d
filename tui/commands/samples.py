"""`rlhf-tui samples` and `probe`: what a policy says, and what the reward model says to that."""

import click

from ..acting import Once, json_option, reward_model_option
from ..place import Place

count = click.IntRange(min=0, max=2000)


@click.command(short_help="Highest, lowest and random responses, and favoured tokens.")
@click.argument("run")
@click.option("--family", cls=Once, metavar="F", help="Only this family.")
@click.option("--top", default=5, show_default=True, type=count, help="Highest, a family.")
@click.option("--bottom", default=2, show_default=True, type=count, help="Lowest, a family.")
@click.option("--random", default=3, show_default=True, type=count, help="Random, a family.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--positions", is_flag=True, help="Also the favoured token of each position.")
@reward_model_option
@json_option
@click.pass_obj
def samples(
    place: Place,
    run: str,
    family: str | None,
    top: int,
    bottom: int,
    random: int,
    seed: int,
    positions: bool,
    scorer: str,
    as_json: bool,
) -> None:
    """RUN's responses: raw score, KL (k1, nats), xN; [tokens] are over-represented.

    [x]: its share is at least 1.5 times the reference's on the same prompts, and so much that
    the ratio's interval (95 % jointly for the tokens, over prompts) lies above 1.

    xN: sampled N times for its prompt, and shown once. The JSON has the positions always.
    A run without scores is sampled first, which takes some seconds, and kept.
    """
    from ..samples_report import report

    report(place, run, family, (top, bottom, random, seed), positions, scorer, as_json)


@click.command(short_help="Score a response, and what each token adds.")
@click.argument("prompt")
@click.argument("response")
@click.option(
    "--run", cls=Once, metavar="RUN", help="With the reward model that RUN was trained with."
)
@json_option
@click.pass_obj
def probe(place: Place, prompt: str, response: str, run: str | None, as_json: bool) -> None:
    """Score RESPONSE ("pa ka ...", 8 tokens) to PROMPT ("dune v0 v1 v2 v3").

    Without --run, or if its reward model is not there (that is said), with the task's.
    What a token adds: the score minus its mean over the 23 other tokens at that position.
    """
    from ..samples_report import probe_report

    probe_report(place, prompt, response, run, as_json)
