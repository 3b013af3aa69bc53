"""Decide who trains what when several invocations of a study share a store, from several folders or machines.

MLflow accepts a parameter of a run only once and refuses another value for it, with every kind of database. So if
two invocations try to set the same parameter, exactly one succeeds. Each study has a run of the kind 'claims', whose
parameters say who has claimed what.
"""

import uuid
from collections.abc import Callable, Mapping

from gredkit.tracking.runs import StudyRuns
from gredkit.tracking.store import StoreError

KIND = "claims"
TRIES = 20  # attempts, if others claim the same thing at the same moment


class Claims:
    """The claims of a study. If something is claimed again because its owner is gone, it gets the next number."""

    def __init__(self, runs: StudyRuns):
        self._runs = runs
        self._run = self._agreed()
        self._read: Mapping[str, str] = {}

    def take(self, what: str, mine: str, holds: Callable[[str], bool]) -> str:
        """The owner: `mine`, or another one whose claim is still valid.

        Usually nobody has claimed it, so the first attempt does not ask. MLflow accepts the same value once more, so
        each claim has a value of its own: else an owner who had lost a claim would take it to be still valid.
        """
        owners = self._owners(what)
        if owners and owners[-1] != mine and holds(owners[-1]):
            return owners[-1]
        value = f"{mine} {uuid.uuid4().hex}"
        for _ in range(TRIES):
            try:
                self._runs.client.log_param(self._run, f"{what}.{len(owners)}", value)
                return mine
            except StoreError as error:
                if not error.refused:
                    raise
                refused = error  # somebody else was faster
            self._read = self._runs.client.get_run(self._run).data.params
            owners = self._owners(what)
            if owners and (owners[-1] == mine or holds(owners[-1])):
                return owners[-1]
        raise refused

    def _owners(self, what: str) -> list[str]:
        """All owners, in order, when the claims were last read. MLflow gives all claims of a study or none.

        Claims are added and never change, so there may be more of them by now, but no others.
        """
        owners: list[str] = []
        while (name := f"{what}.{len(owners)}") in self._read:
            owners.append(self._read[name].partition(" ")[0])
        return owners

    def _agreed(self) -> str:
        """The run that holds the claims; several may have been created at the same moment, so all agree on one.

        Runs are only added, so everyone sees at least the runs that the first one saw. Everyone goes through the
        runs in the same order, votes in each for the choice so far, and continues with the first vote of that run.
        After the last run that the first one saw, all have made the same choice.
        """
        query = f"tags.kind = '{KIND}'"
        found = sorted(run.info.run_id for run in self._runs.search(query))
        if not found:
            self._make()
            found = sorted(run.info.run_id for run in self._runs.search(query))
        chosen = found[0]
        for run in found:
            chosen = self._vote(run, chosen)
        return chosen

    def _vote(self, run: str, chosen: str) -> str:
        """Vote in a run; returns the first vote of that run."""
        try:
            self._runs.client.log_param(run, "chosen", chosen)
            return chosen
        except StoreError as error:
            voted = self._runs.client.get_run(run).data.params.get("chosen") if error.refused else None
            if voted is None:
                raise
            return voted

    def _make(self) -> None:
        made = self._runs.client.create_run(
            self._runs.experiment, tags={"kind": KIND, "study": self._runs.study}, run_name="who trains what"
        )
        self._runs.client.set_terminated(made.info.run_id, "FINISHED")
