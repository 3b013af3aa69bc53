"""A launcher whose trials are functions of a test, in its own process."""

from gredkit.ablation.launchers.base import Job, Launcher
from gredkit.trials.folder import TrialFolder


class Done(Job):
    def __init__(self, end):
        self._end = end

    def ended(self):
        return self._end

    def stop(self):
        pass

    def kill(self):
        pass


class Here(Launcher):
    """Each trial does in this process what a test wants of it."""

    def __init__(self, does, jobs=1):
        super().__init__(jobs)
        self.does, self.started = does, []

    def start(self, folder):
        self.started.append(folder.name)
        return Done(self.does[folder.name](TrialFolder(folder)))

    def wait(self, seconds):
        pass
