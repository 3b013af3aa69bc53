"""What is asked of SLURM and understood of its answers; `squeue` and `scontrol` are programs of one line."""

import stat

import pytest

from gredkit.ablation.launchers.cluster import queue
from gredkit.ablation.launchers.cluster.queue import GONE, LOOK_AGAIN, Queue, cancel, listed, requeue


@pytest.fixture
def slurm_says(tmp_path, monkeypatch):
    """Make a program of SLURM answer so, and end with a code."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(queue, "EVERY", 0.0)  # each question is asked at once

    def write(answer="", code=0, name="squeue"):
        program = tmp_path / name
        program.write_text(
            f"#!/bin/sh\necho \"$@\" >> {tmp_path}/{name}.asked\ncat <<'END'\n{answer}\nEND\nexit {code}\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return tmp_path / f"{name}.asked"

    return write


def test_states_are_read_line_by_line(slurm_says):
    asked = slurm_says("12 RUNNING\n13_4 PENDING\n\nslurm_load_jobs warning: much to do\n14")
    assert listed() == {"12": "RUNNING", "13_4": "PENDING"}
    assert "--me" in asked.read_text()


def test_no_answer_is_not_an_empty_list(slurm_says, monkeypatch):
    slurm_says("")
    assert listed() == {}
    slurm_says("12 RUNNING", code=1)
    assert listed() is None
    monkeypatch.setenv("PATH", "")
    assert listed() is None


def test_a_program_that_does_not_end_is_no_answer(tmp_path, slurm_says, monkeypatch):
    slurm_says("")
    (tmp_path / "squeue").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(queue, "PATIENCE", 0.2)
    assert listed() is None


def test_a_job_that_is_not_listed_is_gone_only_after_some_answers(slurm_says):
    slurm_says("12 RUNNING")
    jobs = Queue()
    jobs.watch("7")
    states = [jobs.state("7") for _ in range(LOOK_AGAIN + 1)]
    assert states == [*["PENDING"] * (LOOK_AGAIN - 1), GONE, GONE]
    assert not jobs.is_active("7")
    slurm_says("7 RUNNING")
    assert jobs.state("7") == "RUNNING"
    slurm_says("12 RUNNING")
    assert jobs.state("7") == "PENDING"  # counted from the beginning


def test_while_slurm_does_not_answer_jobs_keep_their_states(slurm_says):
    slurm_says("7 RUNNING\n8 COMPLETED")
    jobs = Queue()
    jobs.watch("9")
    assert jobs.state("7") == "RUNNING"
    slurm_says("slurmctld is away", code=1)
    for _ in range(2 * LOOK_AGAIN):
        assert [jobs.state(job) for job in "789"] == ["RUNNING", "COMPLETED", "PENDING"]
    assert jobs.is_active("7")
    assert not jobs.is_active("8")


def test_only_a_job_that_is_listed_as_active_is_known(slurm_says):
    slurm_says("7 RUNNING\n8 TIMEOUT")
    jobs = Queue()
    assert [jobs.is_known(job) for job in "789"] == [True, False, False]


def test_one_question_is_about_all_jobs_and_not_asked_again_at_once(slurm_says, monkeypatch):
    asked = slurm_says("7 RUNNING")
    monkeypatch.setattr(queue, "EVERY", 1000.0)
    jobs = Queue()
    for _ in range(3):
        assert jobs.state("7") == "RUNNING"
        assert jobs.state("8") == "PENDING"
    assert len(asked.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("ask", "program", "said"), [(requeue, "scontrol", "requeue 12_3\n"), (cancel, "scancel", "12_3\n")]
)
def test_what_slurm_refuses_or_cannot_hear_is_no_error(slurm_says, monkeypatch, ask, program, said):
    asked = slurm_says(name=program)
    ask("12_3")
    assert asked.read_text() == said
    slurm_says("Requested operation is presently disabled", 1, program)
    ask("12_3")
    assert asked.read_text() == 2 * said
    monkeypatch.setenv("PATH", "")
    ask("12_3")
