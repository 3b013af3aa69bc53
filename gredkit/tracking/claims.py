"""Who does what, when several invocations of a study share a store, in several folders or on several machines.

MLflow takes a parameter of a run once, and refuses another value for it; so does its server, whatever database is
behind it. That makes it the one thing in a store that two may try and one gets. Each study has a run of the kind
'claims', whose parameters say who has claimed what.
"""

from collections.abc import Callable

from gredkit.tracking.runs import StudyRuns
from gredkit.tracking.store import StoreError

KIND = "claims"
TRIES = 20  # claims of the same thing at the same moment


class Claims:
    """The claims of a study. What is claimed again, since its owner is gone, gets the next number."""

    def __init__(self, runs: StudyRuns):
        self._runs = runs
        self._run = self._agreed()

    def take(self, what: str, mine: str, holds: Callable[[str], bool]) -> str:
        """Who has it: `mine`, or another one whose claim still holds."""
        for _ in range(TRIES):
            owners = self._owners(what)
            if owners and (owners[-1] == mine or holds(owners[-1])):
                return owners[-1]
            try:
                self._runs.client.log_param(self._run, f"{what}.{len(owners)}", mine)
                return mine
            except StoreError as error:
                if not error.refused:
                    raise
                refused = error  # somebody else was faster
        raise refused

    def _owners(self, what: str) -> list[str]:
        """All so far, one after another."""
        params = self._runs.client.get_run(self._run).data.params
        owners: list[str] = []
        while (name := f"{what}.{len(owners)}") in params:
            owners.append(params[name])
        return owners

    def _agreed(self) -> str:
        """The run that has the claims, of which several may be made at the same moment.

        Runs are only added, so whoever looks sees at least what the first one saw. Everybody walks through what they
        see in the same order, votes with what the run before said, and goes on with what was voted there first. From
        the last run that the first one saw, all go on with the same.
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
        """What was voted first in this run."""
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
