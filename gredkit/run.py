"""python -m gredkit.run --gin FILE [--set BINDING=VALUE]: train every trial of a study, track it, report."""

import atexit
import gc
import shlex
import sys
from pathlib import Path

from gredkit import paths
from gredkit.ablation.launchers.forking import server
from gredkit.cli import Parser, add_options, console, prepare_process
from gredkit.config import gin_files
from gredkit.errors import UserError, command
from gredkit.ranges import whole
from gredkit.system.private import shown
from gredkit.system.streams import outlive_the_terminal
from gredkit.tracking.addresses import check_answers
from gredkit.tracking.store import tracking_uri


def main() -> None:
    parser = Parser(prog="python -m gredkit.run", description=__doc__)
    add_options(parser, gin_required=True)
    add = parser.add_argument
    add(
        "--dry-run",
        action="store_true",
        help="show the trials, their parameters and the time of training them, as estimated on one batch",
    )
    add(
        "--jobs",
        type=int,
        metavar="N",
        help="trials side by side; one for each core or GPU by default, if memory allows",
    )
    add("--retry", action="store_true", help="train failed and diverged trials again")
    add(
        "--tracking-uri",
        metavar="URI",
        help="store of MLflow; $MLFLOW_TRACKING_URI or mlflow.db in this folder by default",
    )
    add("--work", type=Path, default=paths.WORK, metavar="FOLDER", help="folder for trials that have not finished")
    add("--reports", type=Path, default=paths.REPORTS, metavar="FOLDER", help="folder for the reports")
    add("--no-report", action="store_true", help="train and track only; python -m gredkit.report writes it later")
    add("--no-distance", action="store_true", help="a report that does not look at models for the distances they hear")
    add("--launcher", default="local", metavar="NAME", help="see python -m gredkit.components launchers")
    add(
        "--address",
        metavar="ADDRESS",
        help="a Ray for --launcher ray (auto, HOST:PORT or ray://HOST:PORT); one is started here by default",
    )
    arguments = parser.parse_args()
    if arguments.jobs is not None:
        whole("--jobs", arguments.jobs, 1, 10_000)
    if arguments.address is not None:
        if arguments.launcher != "ray":
            raise UserError("--address is the address of Ray: add --launcher ray")
        arguments.set = [*arguments.set, f"launchers.ray.address = {arguments.address!r}"]
    outlive_the_terminal()
    prepare_process(arguments)
    for option, folder in (("--work", arguments.work), ("--reports", arguments.reports)):
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{option} {folder} is a file: name a folder")
    gin_files.texts(arguments.gin)
    if not arguments.dry_run:
        check_answers(tracking_uri(arguments.tracking_uri))
    if arguments.launcher == "local" and not arguments.dry_run:
        server.start()  # it imports PyTorch while this process does
        atexit.register(server.stop)
    if arguments.dry_run:
        gc.disable()  # searching for garbage takes a sixth of the time of so short a command
    from gredkit.config.source import Source  # what needs PyTorch is imported when all options are read

    source = Source(tuple(arguments.gin), tuple(arguments.set), tuple(arguments.modules))
    if arguments.dry_run:
        from gredkit.ablation.dry_run import dry_run

        dry_run(source, arguments.launcher, arguments.jobs, console())
        return
    from gredkit.ablation.invocation import Options, run_study
    from gredkit.ablation.summary import summarise

    said = shlex.join(["python", "-m", "gredkit.run", *map(shown, sys.argv[1:])])
    reports = None if arguments.no_report else arguments.reports
    options = Options(
        command=said,
        jobs=arguments.jobs,
        tracking_uri=arguments.tracking_uri,
        work=arguments.work,
        retry=arguments.retry,
        launcher=arguments.launcher,
        reports=reports,
        own_data=bool(arguments.data),
        distance=not arguments.no_distance,
    )
    ended = run_study(source, options, console())
    is_written = summarise(ended, options, console())
    sys.exit(ended.exit_code if is_written else ended.exit_code or 1)


if __name__ == "__main__":
    command(main)
