"""Signals to the whole program as a real process: a hangup, a terminal that is closed, processes that are stopped."""

import os
import signal
import time
from contextlib import suppress

import psutil
from helpers.once import assert_everything_once
from helpers.studies import LONG_HALF, TRIALS, TinyStudy, assert_same_scores, fork_servers
from helpers.terminals import Terminal


def test_a_hangup_is_one_interrupt_however_often_it_comes(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    process = study.start(*LONG_HALF, "--jobs", "2")
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
    result = study.run(*LONG_HALF)
    assert "continues from epoch" in result.stdout
    assert_same_scores(study, undisturbed, TRIALS // 2)


def test_a_closed_terminal_stops_after_the_running_epochs(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    terminal = Terminal("-m", "gredkit.run", "--gin", "tiny.gin", "--no-report", *LONG_HALF, cwd=tmp_path)
    while sum('"epoch"' in line for line in study.events()) < 3:
        assert terminal.command.returncode is None
        terminal.read()  # or it would be full
    terminal.close()
    terminal.command.communicate(timeout=120)
    assert terminal.command.returncode == 130
    assert "interrupted" in {known.state for known in study.trials().values()}
    assert "RUNNING" not in study.statuses()
    result = study.run(*LONG_HALF)
    assert result.returncode == 0, result.stderr
    assert "continues from epoch" in result.stdout
    assert_same_scores(study, undisturbed, TRIALS // 2)


def test_processes_that_stand_still_for_a_while_go_on(undisturbed, tmp_path):
    study = TinyStudy(tmp_path)
    process = study.start(*LONG_HALF)
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
    assert_same_scores(study, undisturbed, TRIALS // 2)
    assert_everything_once(study, 40, TRIALS // 2)
