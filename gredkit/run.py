"""python -m gredkit.run --gin FILE [--set BINDING=VALUE]: train every trial of a study, print its table."""

import argparse

import gin
import pandas as pd

from gredkit import config
from gredkit.cli import add_options, apply_options
from gredkit.errors import command
from gredkit.registry import LAUNCHERS, REPORTS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gredkit.run", description=__doc__)
    add_options(parser, gin_required=True)
    arguments = parser.parse_args()
    apply_options(arguments)
    trials = gin.get_configurable("gredkit.study")()

    def run(trial):  # type: ignore[no-untyped-def]
        gin.clear_config()
        config.load(arguments.gin, [*arguments.set, *trial.bindings])
        result = gin.get_configurable("gredkit.run_trial")(trial.seed)
        print(f"{trial.variant}, seed {trial.seed}: test {result.test:.3f} (epoch {result.epoch})", flush=True)
        return {"variant": trial.variant, "seed": trial.seed, **vars(result)}

    results = pd.DataFrame(LAUNCHERS["local"](trials, run))
    print(f"\n{REPORTS['table'](results)}")


if __name__ == "__main__":
    command(main)
