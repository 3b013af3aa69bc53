"""Signals to the whole program as a real process: a hangup, a terminal that is closed, processes that are stopped."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from contextlib import suppress

import psutil
from helpers.once import assert_everything_once
from helpers.studies import LONG, TinyStudy, fork_servers


def test_a_hangup_is_one_interrupt_however_often_it_comes(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    process = study.start(*LONG, "--jobs", "2")
    study.wait_for_epochs(process, 4)
    for _ in range(3):
        os.killpg(process.pid, signal.SIGHUP)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err == ""
    assert "stopping after the running epochs" in out
    assert {"interrupted"} <= {known.state for known in study.trials().values()} <= {"interrupted", "finished"}
    assert "RUNNING" not in study.statuses()
    assert list(tmp_path.glob(".gredkit/tiny/*/checkpoint.safetensors"))
    result = study.run(*LONG)
    assert "continues from epoch" in result.stdout
    assert study.scores() == undisturbed.scores()


def test_a_closed_terminal_stops_after_the_running_epochs(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "gredkit.run", "--gin", "tiny.gin", "--no-report", *LONG]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    reader = threading.Thread(target=read_all, args=(ours,), daemon=True)
    reader.start()  # or the terminal would be full
    until = time.monotonic() + 300
    while sum('"epoch"' in line for line in study.events()) < 3:
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    os.close(ours)
    assert process.wait(timeout=120) == 130
    assert "interrupted" in {known.state for known in study.trials().values()}
    assert "RUNNING" not in study.statuses()
    result = study.run(*LONG)
    assert result.returncode == 0, result.stderr
    assert "continues from epoch" in result.stdout
    assert study.scores() == undisturbed.scores()


def read_all(terminal):
    with suppress(OSError):
        while os.read(terminal, 4096):
            pass


def test_processes_that_stand_still_for_a_while_go_on(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    process = study.start(*LONG)
    for epochs in (2, 4, 6):
        study.wait_for_epochs(process, epochs)
        everybody = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        chosen = {2: everybody[:1], 4: fork_servers(process), 6: everybody[1:]}[epochs]
        for pause in (psutil.Process.suspend, psutil.Process.resume):
            for one in chosen:
                with suppress(psutil.NoSuchProcess):  # it has ended in the meantime
                    pause(one)
            time.sleep(0.5)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, out + err
    assert study.scores() == undisturbed.scores()
    assert_everything_once(study, 40)
