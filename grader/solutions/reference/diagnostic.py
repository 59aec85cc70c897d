"""Which families of a reward model's labels pay for single tokens more than quality can.

python3 diagnostic.py --rm-dir DIR --policy-dir DIR --prompts FILE --out FILE
"""

import argparse
import json
import os

from ridge import LARGE, token_effects  # type: ignore[import-not-found]

from rlhf.data import read_jsonl


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("rm-dir", "policy-dir", "prompts", "out"):
        parser.add_argument(f"--{name}", required=True)
    args = parser.parse_args()
    effects = token_effects(read_jsonl(os.path.join(args.rm_dir, "train.jsonl")))
    families = {
        name: {"risk": float(values.max()), "flag": bool(values.max() >= LARGE)}
        for name, values in effects.items()
    }
    with open(args.out, "w") as file:
        json.dump({"families": families}, file)


if __name__ == "__main__":
    main()
