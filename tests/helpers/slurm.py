"""A SLURM of two nodes on this machine, in a folder, on loopback."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from helpers.mlflow_server import free_port

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "srun")
CONFIGURATION = """
ClusterName=gredkit
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0,sched_min_interval=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=2
SlurmdTimeout=10
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE OverTimeLimit=0 State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=8000 State=UNKNOWN"


def is_installed() -> bool:
    search = f"{os.environ.get('PATH', '')}:/usr/sbin"
    return all(shutil.which(program, path=search) for program in PROGRAMS)


class Cluster:
    """Starts slurmctld and one slurmd per node; `environment` tells programs where it is."""

    def __init__(self, folder: Path, nodes: tuple[str, ...] = ("n1", "n2")):
        import pwd

        self.folder = folder
        (folder / "state").mkdir(parents=True)
        host, user = socket.gethostname(), pwd.getpwuid(os.geteuid()).pw_name
        listed = "\n".join(NODE.format(name=name, host=host, port=free_port()) for name in nodes)
        (folder / "slurm.conf").write_text(
            CONFIGURATION.format(host=host, port=free_port(), user=user, folder=folder, nodes=listed)
        )
        self.environment = {"SLURM_CONF": str(folder / "slurm.conf")}
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._start("slurmctld", "-D", "-i")
        for name in nodes:
            self._start("slurmd", "-D", "-N", name, called=name)
        self._wait_until(lambda: self.run("sinfo", "--noheader", "--format=%D %t").strip() == f"{len(nodes)} idle")

    def run(self, *command: str) -> str:
        said = subprocess.run(command, env={**os.environ, **self.environment}, capture_output=True, text=True)
        return said.stdout

    def kill(self, name: str) -> None:
        """A node, or the controller, without a warning."""
        program = self._programs.pop(name)
        program.kill()
        program.wait()

    def stop(self) -> None:
        self.run("scancel", "--me")
        for program in self._programs.values():
            program.terminate()
        for program in self._programs.values():
            try:
                program.wait(10)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()

    def _start(self, program: str, *options: str, called: str | None = None) -> None:
        found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        assert found is not None
        with (self.folder / f"{called or program}.out").open("wb") as log:
            self._programs[called or program] = subprocess.Popen(
                [found, *options],
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_until(self, holds: Callable[[], bool], seconds: float = 60) -> None:
        until = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < until, f"SLURM did not start: {self.logs()}"
            time.sleep(0.1)

    def logs(self) -> str:
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log"))
