from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from typing import Any

from gredkit.data.subsets import checked, in_words, place_of, read
from gredkit.data.task import SPLITS, Task
from gredkit.errors import UserError
from gredkit.registry import DATASETS


@DATASETS.register("subset")
def subset(file: str = "", arguments: Mapping[str, Any] | None = None) -> Task:
    """A fixed part of another dataset, for a study that the whole would take too long for.

    `python -m gredkit.data subset NAME --train 1000 --validation 500 --test 500` draws it and writes its file.

    file: a JSON file with the numbers of the graphs; one of that name in the working folder wins over gredkit's own
    arguments: of the dataset itself
    """
    if not file:
        raise UserError("set datasets.subset.file to the file of a subset: python -m gredkit.data subset --help")
    path = place_of(file)
    found = read(path)
    task: Task = DATASETS[found["dataset"]](**dict(arguments or {}))
    parts = checked(found, task, path)
    ends = list(accumulate(len(parts[split]) for split in SPLITS))
    return replace(
        task,
        name=f"{task.name}_subset",
        graphs=[task.graphs[i] for split in SPLITS for i in parts[split]],
        splits={split: range(end - len(parts[split]), end) for split, end in zip(SPLITS, ends, strict=True)},
        notes={**task.notes, "subset": in_words(found)},
    )
