"""python -m gredkit.report --study NAME: read a study from MLflow and write its tables, figures and page."""

from pathlib import Path

from gredkit import paths
from gredkit.cli import Parser, add_import, console, import_all
from gredkit.errors import command


def main() -> None:
    parser = Parser(prog="python -m gredkit.report", description=__doc__)
    add = parser.add_argument
    add("--study", required=True, metavar="NAME", help="the name of an experiment in MLflow")
    add("--tracking-uri", metavar="URI", help="of MLflow; $MLFLOW_TRACKING_URI or mlflow.db here by default")
    add("--reports", type=Path, default=paths.REPORTS, metavar="FOLDER", help="for the reports")
    add_import(parser)
    arguments = parser.parse_args()
    import_all(arguments.modules)
    from gredkit.reports.reading import read_study
    from gredkit.reports.terminal import show
    from gredkit.reports.write import write_report
    from gredkit.system.printing import say_command
    from gredkit.tracking.runs import StudyRuns  # what takes long to import is imported when all options are read

    study = read_study(StudyRuns.existing(arguments.study, arguments.tracking_uri))
    written = write_report(study, arguments.reports / study.name)
    out = console()
    show(study, out)
    say_command(out, "report", str(written[-1]))


if __name__ == "__main__":
    command(main)
