"""python -m gredkit.report --study NAME: read a study from MLflow and write its tables, figures and page.

With --from instead: the report in a folder again, from the files that it keeps, without MLflow.
With --compare instead: several studies in one report, on the datasets that they have in common.
With --paper instead: ten claims of the paper with their verdicts, and what of its tables has been run here.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gredkit import paths
from gredkit.cli import Parser, add_import, console, import_all
from gredkit.errors import UserError, command

if TYPE_CHECKING:
    from gredkit.reports.page.html import Html
    from gredkit.reports.study import StudyData


def main() -> None:
    parser = Parser(prog="python -m gredkit.report", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--study", metavar="NAME", help="the name of an experiment in MLflow")
    what.add_argument("--from", dest="kept", type=Path, metavar="FOLDER", help="a report that is written again")
    what.add_argument("--compare", nargs="+", metavar="NAME", help="several studies of the store, in one report")
    what.add_argument("--paper", action="store_true", help="what of the paper has been run here, and what is missing")
    add = parser.add_argument
    add("--tracking-uri", metavar="URI", help="of MLflow; $MLFLOW_TRACKING_URI or mlflow.db here by default")
    add("--reports", type=Path, default=paths.REPORTS, metavar="FOLDER", help="for the reports")
    add("--no-distance", action="store_true", help="do not look at stored models for the distances they hear")
    add_import(parser)
    arguments = parser.parse_args()
    import_all(arguments.modules)
    ways = {_paper: arguments.paper, _compared: arguments.compare, _again: arguments.kept}
    next((way for way, is_asked in ways.items() if is_asked), _study)(arguments)


def _study(arguments: Any) -> None:
    from gredkit.reports.reading import read_study
    from gredkit.tracking.runs import StudyRuns  # what takes long to import is imported when all options are read

    study = read_study(StudyRuns.existing(arguments.study, arguments.tracking_uri), not arguments.no_distance)
    _write(study, arguments, {})


def _again(arguments: Any) -> None:
    from gredkit.reports.kept import read_kept

    _write(read_kept(arguments.kept), arguments, {})


def _compared(arguments: Any) -> None:
    names = list(dict.fromkeys(arguments.compare))
    if len(names) < 2:
        raise UserError(f"--compare needs at least two studies: name another one beside {names[0]!r}")
    from gredkit.reports.compare import combined
    from gredkit.reports.page.compared import compared
    from gredkit.reports.reading import read_study
    from gredkit.tracking.runs import StudyRuns

    studies = [read_study(StudyRuns.existing(name, arguments.tracking_uri)) for name in names]
    _write(combined(studies), arguments, compared(studies))


def _write(study: "StudyData", arguments: Any, more: "Mapping[str, Html]") -> None:
    from gredkit.reports.terminal import show
    from gredkit.reports.write import write_report
    from gredkit.system.printing import say_command

    written = write_report(study, arguments.reports / study.name, more)
    out = console()
    show(study, out)
    say_command(out, "report", str(written[-1]))


def _paper(arguments: Any) -> None:
    from gredkit.reports.paper_claims.claims import STUDIES
    from gredkit.reports.paper_claims.evidence import studies
    from gredkit.reports.paper_claims.files import write_claims
    from gredkit.reports.paper_claims.judge import judged
    from gredkit.reports.terminal import show_claims, show_paper
    from gredkit.system.printing import say_command
    from gredkit.tracking.runs import all_trials

    found, out = studies(STUDIES, arguments.reports, arguments.tracking_uri), console()
    claims = judged(found)
    written = write_claims(claims, found, arguments.reports / "paper")
    show_claims(claims, [name for name in STUDIES if name not in found], out)
    show_paper(all_trials(arguments.tracking_uri), out)
    say_command(out, "report", str(written[-1]))


if __name__ == "__main__":
    command(main)
