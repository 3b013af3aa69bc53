"""What is looked at in a model, and what was found, as plain data that a store can keep. Nothing here needs PyTorch."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field

FORMAT = 1  # of the stored numbers; another one is measured again
FEATURES, SETS = "features", "sets"  # what is hidden


@dataclass(frozen=True)
class Sample:
    """How much is looked at; a larger sample takes longer.

    graphs: of the validation split. nodes: of each graph, of which h_v is differentiated. pairs: nodes v of mixed
    second derivatives, each with all u of its graph. directions: see `mixed_norms`. hops: how many hops are hidden,
    one after the other. rows: nodes of all copies of graphs in which a hop is hidden, which limits the graphs of a task
    that is on graphs. seed: another one draws others
    """

    graphs: int = 32
    nodes: int = 2
    pairs: int = 8
    directions: int = 8
    hops: int = 12
    rows: int = 10_000
    seed: int = 0


USUAL = Sample()


@dataclass(frozen=True)
class Measured:
    """At which distance one model hears.

    influence: mean over the nodes v of Σ ‖∂h_v/∂x_u‖₁ over the nodes u at hop 0, 1, …. pairs: how many u there were.
    range_hops, range_resistance: the mean distance of u from v, weighted by ‖∂h_v/∂x_u‖₁. mixed: mean over v of the
    sum of |∂²y/∂x_u∂x_v| by hop, empty for tasks on nodes. knock_out: for what is hidden and each hop, the score;
    the hop is None where nothing is hidden. graphs, nodes: how many were looked at. notes: what could not be measured.
    scored: for what is hidden, how many graphs and answers the scores are of; empty in records of older versions
    """

    influence: list[float]
    pairs: list[int]
    range_hops: float | None
    range_resistance: float | None
    mixed: list[float] = field(default_factory=list)
    knock_out: list[tuple[str, int | None, float | None]] = field(default_factory=list)
    graphs: int = 0
    nodes: int = 0
    notes: list[str] = field(default_factory=list)
    scored: dict[str, list[int]] = field(default_factory=dict)

    @property
    def knock_out_rows(self) -> list[tuple[str, int | None, float | None, int | None, int | None]]:
        """What is hidden, the hop, the score, and how many graphs and answers the score is of."""
        sizes: dict[str, list[int | None]] = {what: list(size) for what, size in self.scored.items()}
        rows = []
        for what, hop, score in self.knock_out:
            graphs, answers = sizes.get(what, [None, None])
            rows.append((what, hop, score, graphs, answers))
        return rows

    def to_json(self, sample: Sample) -> str:
        return json.dumps({"format": FORMAT, "sample": asdict(sample), **asdict(self)})

    @classmethod
    def from_json(cls, text: str, sample: Sample) -> Measured | None:
        """What was stored; None if it is of another sample or format, or no such thing."""
        try:
            told = json.loads(text)
            if told.pop("format") != FORMAT or told.pop("sample") != asdict(sample):
                return None
            told["knock_out"] = [(str(what), hop, score) for what, hop, score in told["knock_out"]]
            told["scored"] = {str(what): [int(a), int(b)] for what, (a, b) in told.get("scored", {}).items()}
            found = cls(**told)
            return found if all(map(math.isfinite, [*found.influence, *found.mixed])) else None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
