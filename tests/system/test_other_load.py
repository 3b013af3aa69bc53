"""What other programs use of the machine is counted, and what gredkit itself uses is not."""

import subprocess
import sys
import time

import psutil

from gredkit.system.other_load import OtherLoad, seconds_of_others

BURN = "import time\nwhile time.process_time() < 1.0: pass\nprint('done', flush=True)"


def busy() -> float:
    times = psutil.cpu_times()
    return times.user + times.system + getattr(times, "nice", 0.0)


def test_a_program_that_gredkit_did_not_start_counts():
    before = seconds_of_others()
    orphan = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BURN!r}])"  # its parent ends at once
    with subprocess.Popen([sys.executable, "-c", orphan], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.read() == "done\n"
    assert seconds_of_others() - before > 0.8


def test_own_work_and_that_of_children_does_not_count():
    machine, others = busy(), seconds_of_others()
    begin = time.process_time()
    while time.process_time() - begin < 1.0:
        pass
    subprocess.run([sys.executable, "-c", BURN], check=True, capture_output=True)
    others = seconds_of_others() - others
    assert busy() - machine - others > 1.6


def test_the_share_lies_between_nothing_and_everything():
    load = OtherLoad()
    time.sleep(0.1)
    assert 0.0 <= load.share() <= 1.0
