"""How busy other programs keep the machine while a trial trains: a time that was measured beside them is too long."""

import os
import time
from contextlib import suppress

import psutil


class OtherLoad:
    """Measures from the moment it is made.

    Other programs are all processes but this one, its children and its ancestors, which are gredkit's own command.
    On a virtual machine, the time that its host took away counts as theirs.
    """

    def __init__(self) -> None:
        self._clock, self._seconds = time.monotonic(), seconds_of_others()

    def share(self) -> float:
        """The part of all processor time that other programs used, from 0 to 1."""
        passed = (time.monotonic() - self._clock) * (os.cpu_count() or 1)
        used = seconds_of_others() - self._seconds
        return min(max(used / passed, 0.0), 1.0) if passed > 0 else 0.0


def seconds_of_others() -> float:
    machine = psutil.cpu_times()._asdict()
    unused = ("idle", "iowait", "guest", "guest_nice")  # the time of guests is a part of `user`
    busy = sum(seconds for name, seconds in machine.items() if name not in unused)
    this = psutil.Process()
    own = sum(this.cpu_times()[:4])  # user and system, of this process and of its children that have ended
    for process in (*this.parents(), *this.children(recursive=True)):
        with suppress(psutil.Error):  # it belongs to somebody else, or has just ended
            own += sum(process.cpu_times()[:2])
    return busy - own
