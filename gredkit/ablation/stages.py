"""Train a plan: tuning trials, then the final ones, round by round."""

from collections import Counter
from collections.abc import Iterable

import pandas as pd
from rich.console import Console

from gredkit.ablation.launchers.base import Launcher
from gredkit.ablation.plan import Plan, after_tuning, repeats
from gredkit.ablation.progress import TrialProgress
from gredkit.ablation.rounds import Round, Variants, rounds, size, to_come
from gredkit.ablation.runner import Runner, sort_out
from gredkit.ablation.screen import Screen
from gredkit.ablation.standing import still_open, told
from gredkit.reports.reading import read_results
from gredkit.system import printing
from gredkit.tracking.forwarder import Forwarder
from gredkit.tracking.tracker import Tracker
from gredkit.trials.state import BROKEN, ENDED, UNDECIDED, TrialState
from gredkit.trials.trial import Trial

PATIENCE = 60.0  # seconds to wait for each next trial, until MLflow has all that the next stage depends on


class Stages:
    """The stages of a study, of which each begins when all trials of the one before have ended."""

    def __init__(self, launcher: Launcher, runner: Runner, tracker: Tracker, forwarder: Forwarder, console: Console):
        self._launcher, self._runner, self._tracker, self._forwarder = launcher, runner, tracker, forwarder
        self._console = console
        self.trials: list[TrialProgress] = []  # of all stages until now
        self.standing: list[str] = []  # what the latest round has decided

    def train(self, plan: Plan, retry: bool) -> None:
        """All stages, or as many as can be trained now."""
        is_complete = self._train(plan, retry)
        if plan.is_tuning and not is_complete:
            self._say("settings are chosen when all tuning trials have ended: run the same command again")
        elif plan.is_tuning:
            self._forwarder.flush(PATIENCE)
            scores = {one.trial.id: one.validation for one in self.trials if one.state == TrialState.FINISHED}
            self._train(after_tuning(plan, lambda trial: scores.get(trial.id)), retry)

    def _train(self, plan: Plan, retry: bool) -> bool:
        """All rounds of a plan; False if trials of a round have not ended, so that the next one cannot begin."""
        said: list[str] = []

        def going_on(trained: Round) -> Variants:
            results = self._results(trained)
            found = still_open(plan, results)
            self.standing = told(plan, trained, results, found)
            for sentence in self.standing if found else ():  # the last ones are in the summary
                self._say(sentence)
            said.extend(self.standing)
            self._tracker.tell_rounds(said)
            return found

        for stage in rounds(plan, going_on):
            self._tracker.add_plan(self._planned(plan, stage), plan.is_tuning)
            planned = self._train_round(plan, stage, retry)
            waits_for = ""
            if self._runner.is_ending or any(one.state in UNDECIDED for one in planned):
                waits_for = "all trials of this one have ended"
            elif stage.seeds and self._forwarder.flush(PATIENCE):
                waits_for = "MLflow has all trials of this one"
            if waits_for and stage.number < stage.most:
                self._say(f"the next round begins when {waits_for}: run the same command again")
            if waits_for:
                return False
        if stage.number < stage.most:
            self._tracker.add_plan(stage.due, plan.is_tuning)
        return True

    def _planned(self, plan: Plan, stage: Round) -> list[Trial]:
        """What is due, and what MLflow has of later rounds: a report would miss it if this invocation stopped here."""
        known = self._tracker.trials() if stage.number < stage.most else {}
        due = {trial.id for trial in stage.due}
        return [trial for trial in plan.trials if trial.id in due or trial.id in known]

    def _results(self, trained: Round) -> pd.DataFrame:
        """What MLflow has of the trials that are due; one that it does not accept has no score, and no round waits."""
        found = read_results(self._tracker, self._tracker.invocation)
        found = found[found["id"].isin([trial.id for trial in trained.due])]
        is_refused = found["id"].isin(self._forwarder.refused)
        return found.assign(state=found["state"].mask(is_refused, TrialState.FAILED.value))

    def _train_round(self, plan: Plan, stage: Round, retry: bool) -> list[TrialProgress]:
        done = {one.trial.id: one for one in self.trials}
        planned = sort_out(stage.trials, self._tracker, retry, done)
        self._say(_announcement(plan, stage, planned))
        if any(one.state == TrialState.WAITING for one in planned):
            self._launcher.prepare()
        with Screen(self._console, planned, self._launcher.jobs, str(stage)) as screen:
            self._runner.run(planned, screen)
        self.trials += planned
        return planned

    def _say(self, said: str) -> None:
        printing.say(self._console, said)


def _announcement(plan: Plan, stage: Round, trials: Iterable[TrialProgress]) -> str:
    counts = Counter(one.state for one in trials)
    kind = "tuning trials" if plan.is_tuning else "trials"
    said = [f"{plan.study}{f', {stage}' if str(stage) else ''}: {len(stage.trials)} {kind}"]
    said += [f"{counts[state]} {state} before" for state in ENDED if counts[state]]
    said += [f"{counts[TrialState.ELSEWHERE]} running elsewhere"] if counts[TrialState.ELSEWHERE] else []
    said += [repeats(plan)] if plan.repeated and stage.number == 1 else []
    said += [f"{size(to_come(plan))} to come with what is chosen"] if plan.is_tuning else []
    retry = " (--retry trains failed ones again)" if any(counts[state] for state in BROKEN) else ""
    return ", ".join(said) + retry
