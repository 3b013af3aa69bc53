"""Every gin file that comes with gredkit: it is read, it builds its model, and its header tells the truth."""

import re
import shlex
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import gin
import pytest
import torch
from helpers.commands import ROOT

from gredkit import GraphSpec
from gredkit.config import bindings
from gredkit.config.configuration import Configuration
from gredkit.config.source import Source, as_text
from gredkit.data.subsets import read
from gredkit.nn.composition import Composition
from gredkit.nn.parameters import count_parameters
from gredkit.registry import DATASETS

FILES = sorted(
    path.relative_to(ROOT).as_posix() for top in ("gin", "ablations") for path in ROOT.glob(f"{top}/**/*.gin")
)
STUDIES = [  # those that ask the same question of any data; trees.gin is about its own
    file for file in FILES if Path(file).parent == Path("ablations") and file != "ablations/trees.gin"
]
PAPER_STUDIES = [file for file in FILES if file.startswith("ablations/paper/")]
REAL_STUDIES = [file for file in FILES if file.startswith("ablations/real/")]
MODELS = [Path(file).stem for file in FILES if Path(file).parent == Path("gin/models")]
PARTS = [path.stem for path in ROOT.glob("gin/subsets/*.json")]  # of datasets, which have a block each
BASELINES = [file for file in FILES if Path(file).parent.parent == Path("gin/models")]
BUDGETS = [Path(file).stem for file in FILES if file.startswith("gin/budgets/")]
NEED_A_NAME = {
    "graph_folder",
    "smiles_csv",
    "python_dataset",
    "tu",
    "lrgb",
    "subset",
}  # of a file, a function, or a dataset

# Of data that is downloaded. The paper's table, "Hyper-parameters for GRED", is below.
ATOM = (119, 5, 12, 12, 10, 6, 6, 2, 2)
DOWNLOADED = {
    "zinc": GraphSpec(nodes=(28,), edges=(4,), outputs=1),
    "mnist": GraphSpec(nodes=3, edges=1, outputs=10),
    "cifar10": GraphSpec(nodes=5, edges=1, outputs=10),
    "pattern": GraphSpec(nodes=(3,), outputs=2, level="node"),
    "cluster": GraphSpec(nodes=(7,), outputs=6, level="node"),
    "peptides_func": GraphSpec(nodes=ATOM, edges=(5, 6, 2), outputs=10),
    "peptides_struct": GraphSpec(nodes=ATOM, edges=(5, 6, 2), outputs=11),
    "nci1": GraphSpec(nodes=(37,), outputs=2),
    "proteins": GraphSpec(nodes=(3,), outputs=2),
}
SHORT = {"copies": 1, "least": 10, "most": 10}
SMALL = {  # embedded data that is made in no time
    "cluster_sbm": {"train": 2, "validation": 2, "test": 2},
    "digits": {},
    "echo_diameter": SHORT,
    "echo_eccentricity": SHORT,
    "echo_sssp": SHORT,
    "ising": {"graphs": 10, "size": 3, "sweeps": 1},
    "molecules": {"lines": 100},
    "pattern_sbm": {"train": 2, "validation": 2, "test": 2, "patterns": 2},
    "ring_transfer": {"graphs": 10},
    "tree_match": {"graphs": 10},
}
PAPER = """
                zinc   mnist  cifar10  pattern  cluster  peptides_func  peptides_struct
layers          11     4      8        10       16       8              4
K               4      2      4        -        -        40             4
dropout         0.2    0.15   0.15     0.2      0.2      0.2            0.2
d               72     128    96       64       64       88             128
d_s             72     96     64       64       64       88             96
learning_rate   0.001  0.001  0.001    0.001    0.001    0.001          0.001
weight_decay    0.1    0.1    0.1      0.1      0.2      0.2            0.2
epochs          2000   600    600      100      100      200            200
batch_size      32     16     16       32       32       32             32
"""


def paper_table() -> dict[str, dict[str, float | str]]:
    """The hyper-parameters of each dataset; a dash is the diameter, as the published code reads it."""
    names, *rows = (line.split() for line in PAPER.strip().splitlines())
    columns = zip(*(values for _, *values in rows), strict=True)
    return {
        name: {row[0]: "dataset" if value == "-" else float(value) for row, value in zip(rows, column, strict=True)}
        for name, column in zip(names, columns, strict=True)
    }


@pytest.fixture(autouse=True)
def no_bindings(monkeypatch):
    monkeypatch.chdir(ROOT)
    gin.clear_config()
    yield
    gin.clear_config()


@cache
def embedded_spec(dataset: str, settings: tuple[tuple[str, Any], ...]) -> GraphSpec:
    return DATASETS[dataset](**dict(settings)).spec


def spec_of(configuration: Configuration) -> GraphSpec:
    """Of the dataset as it is configured, but for its size."""
    dataset = configuration.trial.dataset
    if dataset == "subset":
        dataset = read(ROOT / configuration.settings(DATASETS, "subset")["file"])["dataset"]
    if dataset in DOWNLOADED:
        return DOWNLOADED[dataset]
    settings = {**configuration.settings(DATASETS, dataset), **SMALL[dataset]}
    return embedded_spec(dataset, tuple(settings.items()))


def built(configuration: Configuration) -> tuple[Composition, torch.nn.Module]:
    """The model of the trial that is configured, without its numbers."""
    spec = spec_of(configuration)
    composition = configuration.composition(spec)
    with torch.device("meta"):
        return composition, composition.build(spec)


def header(file: str) -> list[str]:
    """The comment that a file opens with, without its marks."""
    lines = []
    for line in Path(ROOT, file).read_text().splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").removeprefix(" "))
    return lines


def commands(file: str) -> list[list[str]]:
    """The commands in a file's header, word by word."""
    return [shlex.split(line) for line in map(str.strip, header(file)) if line.startswith("python ")]


def values_after(option: str, words: list[str]) -> tuple[str, ...]:
    return tuple(value for name, value in pairwise(words) if name == option)


def macros() -> set[str]:
    """All that are set, by a file, what it includes, or as a knob."""
    return {*bindings.KNOB_NAMES, *re.findall(r"^([A-Z_]+) = ", gin.config_str(), re.MULTILINE)}


@pytest.mark.parametrize("file", FILES)
def test_is_read_and_builds_its_model(file):
    configuration = bindings.load([file])
    assert configuration.study.seeds
    assert configuration.recipe.epochs
    built(configuration)


@pytest.mark.parametrize("file", FILES)
def test_header_names_the_file_and_what_can_be_overridden(file):
    said = header(file)
    assert said[0].startswith(f"{file}: ")
    bindings.load([file])
    overridden = [line.partition(": ")[2] for line in said if line.startswith("Commonly overridden: ")]
    assert len(overridden) == 1
    assert set(overridden[0].split(", ")) <= macros()
    assert max(map(len, Path(ROOT, file).read_text().splitlines())) <= 120


@pytest.mark.parametrize("file", FILES)
def test_commands_in_the_header_are_about_the_file_and_can_be_read(file):
    assert any(file in values_after("--gin", words) for words in commands(file))
    for words in commands(file):
        assert words[:3] == ["python", "-m", "gredkit.run"]
        source = Source(values_after("--gin", words), values_after("--set", words))
        study = source.load().study
        for entry in study.datasets or (None,):
            configuration = source.load(entry, study.budget)
            configuration.study.points()
            built(configuration)


@pytest.mark.parametrize("file", STUDIES)
@pytest.mark.parametrize("suite", ["embedded", "long_range", "paper"])
def test_every_variant_of_a_study_can_be_built_on_all_suites(file, suite):
    source = Source((file, f"gin/suites/{suite}.gin"))
    study = source.load().study
    assert study.axes or study.variants
    for entry in study.datasets:
        configuration = source.load(entry, study.budget)
        assert configuration.trial.dataset == entry
        points = configuration.study.points()
        assert len(points) > 1
        shown = []
        for point in points:
            configuration = source.load(entry, study.budget, as_text(point.bindings.items()))
            without_edges = point.bindings == {"variant.edge_features": None}
            if not without_edges or source.load(entry, study.budget).variant.edge_features:
                shown.append((configuration.trial, built(configuration)[0]))
        assert not any(one in shown[:i] for i, one in enumerate(shown)), "two variants are the same"


@pytest.mark.parametrize("file", [*PAPER_STUDIES, *REAL_STUDIES])
def test_every_variant_of_a_study_of_the_paper_can_be_built(file):
    source = Source((file,))
    study = source.load().study
    assert study.datasets
    for entry in study.datasets:
        shown = []
        for point in source.load(entry, study.budget).study.points():
            configuration = source.load(entry, study.budget, as_text(point.bindings.items()))
            of_dataset = configuration.settings(DATASETS, configuration.trial.dataset)
            shown.append((of_dataset, configuration.recipe, configuration.trial, built(configuration)[0]))
            assert configuration.trial.dataset == ("subset" if entry in PARTS else entry.partition("/")[0])
        assert not any(one in shown[:i] for i, one in enumerate(shown)), "two variants are the same"


@pytest.mark.parametrize("file", REAL_STUDIES)
def test_a_study_of_real_data_has_its_own_name_seeds_and_epochs(file):
    study = Source((file,)).load().study
    assert study.budget is None
    assert study.name is None  # so that it is called as its file
    assert study.seeds in ((0, 1, 2), (0,))
    for entry in study.datasets:
        epochs = Source((file,)).load(entry).recipe.epochs
        assert file.endswith("real_tree.gin") or f"EPOCHS = {epochs}\n" in Path(ROOT, file).read_text()
    assert Path(file).stem in header(file)[0]


@pytest.mark.parametrize("file", STUDIES)
def test_a_study_leaves_epochs_and_seeds_to_the_budget(file):
    seen = set()
    for budget in BUDGETS:
        configuration = Source((file,)).load("digits", budget)
        seen.add((configuration.recipe.epochs, configuration.study.seeds))
    assert len(seen) == len(BUDGETS)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_model_is_an_entry_of_datasets_under_every_budget(model, budget):
    configuration = Source().load(model, budget)
    assert configuration.trial.dataset == ("subset" if model in PARTS else model.removesuffix("_lap_pe"))
    composition, _ = built(configuration)
    assert (composition.parts["positional"].name == "lap_pe") == model.endswith("_lap_pe")


def test_every_dataset_that_can_be_used_by_its_name_has_its_blocks():
    ours = {name for name, dataset in DATASETS.items() if dataset.__module__.startswith("gredkit.")} - NEED_A_NAME
    assert ours == {*DOWNLOADED, *SMALL}
    assert ours == {Path(file).stem for file in FILES if file.startswith("gin/datasets/")}
    assert ours == {model.removesuffix("_lap_pe") for model in MODELS if model not in PARTS}


@pytest.mark.parametrize(("dataset", "row"), paper_table().items())
def test_hyperparameters_are_those_of_the_papers_table(dataset, row):
    configuration = Source().load(dataset, "paper")
    recipe, settings = configuration.recipe, built(configuration)[0].flat()
    assert row == {
        "layers": settings["models.gred.layers"],
        "K": configuration.trial.K,
        "dropout": settings["models.gred.dropout"],
        "d": settings["models.gred.dim"],
        "d_s": settings["encoders.lru.state_dim"],
        "learning_rate": recipe.learning_rate,
        "weight_decay": recipe.weight_decay,
        "epochs": recipe.epochs,
        "batch_size": recipe.batch_size,
    }
    assert recipe.warmup == 0.05
    assert configuration.study.seeds == (0, 1, 2, 3)


def test_the_papers_table_is_whole():
    table = paper_table()
    assert set(Source(("gin/suites/paper.gin",)).load().study.datasets) == set(table)
    assert sum(map(len, table.values())) == 7 * 9


@pytest.mark.parametrize(
    ("datasets", "features", "edge_features", "readout", "head_layers"),
    [
        (("zinc", "molecules"), "categorical", "categorical", "sum", 2),
        (("peptides_func", "peptides_struct"), "categorical", None, "sum", 2),
        (("mnist", "cifar10", "digits"), "dense", None, "mean", 1),
        (("pattern", "cluster", "pattern_sbm", "cluster_sbm"), "embedding", None, "node", 1),
    ],
)
def test_data_is_read_as_the_published_code_reads_it(datasets, features, edge_features, readout, head_layers):
    for dataset in datasets:
        settings = built(bindings.load([f"gin/datasets/{dataset}.gin"]))[0].flat()
        assert (settings["features"], settings["edge_features"]) == (features, edge_features)
        assert (settings["models.gred.readout"], settings["models.gred.head_layers"]) == (readout, head_layers)


@pytest.mark.parametrize("dataset", [*paper_table(), "peptides_func_lap_pe", "peptides_struct_lap_pe"])
def test_what_the_table_lacks_is_as_in_the_published_code(dataset):
    """Embeddings of standard deviation 0.01, the tanh gelu everywhere, and for Peptides a patience of 50 epochs."""
    configuration = Source().load(dataset, "paper")
    torch.manual_seed(0)
    composition, spec = built(configuration)[0], spec_of(configuration)
    model = composition.build(spec)
    embeddings = [module for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    assert bool(embeddings) == (dataset not in ("mnist", "cifar10"))
    for embedding in embeddings:
        assert embedding.weight.std().item() == pytest.approx(0.01, rel=0.2)
    gelus = [module.approximate for module in model.modules() if isinstance(module, torch.nn.GELU)]
    has_gelu = dataset not in ("pattern", "cluster")  # in front of the layers
    assert len(gelus) > 2 * len(model.layers) or not has_gelu
    assert set(gelus) == {"tanh"}
    assert configuration.recipe.patience == (50 if dataset.startswith("peptides") else None)


def test_what_the_paper_reports_of_tree_match_is_tracked():
    assert Source().load("tree_match", "cpu").recipe.train_score


@pytest.mark.parametrize("dataset", ["zinc", "peptides_func", "peptides_struct"])
def test_models_have_about_the_500_thousand_parameters_that_the_paper_allows(dataset):
    assert count_parameters(built(Source().load(dataset, "paper"))[1]) == pytest.approx(500_000, rel=0.08)


PARAMETERS = {"gin/models/zinc.gin": (483_049, ""), "gin/models/peptides_func.gin": (535_226, "")} | {
    file: (int(found[1].replace(",", "")), found[2])
    for file in BASELINES
    if (found := re.search(r"The published model has ([\d,]+) parameters(.*)\.", Path(ROOT, file).read_text()))
}


@pytest.mark.parametrize(("file", "published", "more"), [(file, *told) for file, told in PARAMETERS.items()])
def test_a_published_model_has_the_published_number_of_parameters(file, published, more):
    assert len(PARAMETERS) > 15
    assert more in ("", ", as here")
    assert count_parameters(built(Source((file,)).load())[1]) == pytest.approx(published, rel=0 if more else 0.02)


def test_pna_lacks_the_weights_that_the_published_code_never_used():
    file = "gin/models/zinc/pna.gin"
    said = " ".join(header(file))
    numbers = r"([\d,]+) parameters are published, .* give ([\d,]+) here: each of the (\d+) towers .* has (\d+) weights"
    published, here, towers, unused = (int(one.replace(",", "")) for one in re.search(numbers, said).groups())
    configuration = Source((file,)).load()
    settings = built(configuration)[0].flat()
    assert towers == settings["models.pna.layers"] * settings["models.pna.towers"]
    assert published - towers * unused == here == count_parameters(built(configuration)[1])


def test_rwse_is_that_of_graphgps_in_every_published_configuration():
    """A batch norm and one dense layer."""
    found = 0
    for file in BASELINES:
        gin.clear_config()
        positional = built(Source((file,)).load())[0].parts["positional"]
        if positional.name == "rwse":
            found += 1
            assert (positional.settings["batch_norm"], positional.settings["dense_layers"]) == (True, 1), file
    assert found >= 10


WARM_UP = {"zinc": 50, "cifar10": 5, "peptides_func": 10}  # epochs, of GNN+ and GRIT


@pytest.mark.parametrize("file", [file for file in BASELINES if file.endswith(("_plus.gin", "grit.gin"))])
def test_the_learning_rate_rises_for_as_many_epochs_as_published(file):
    recipe = Source((file, "gin/budgets/paper.gin")).load().recipe
    assert recipe.warmup * recipe.epochs == pytest.approx(WARM_UP[Path(file).parent.name], rel=1e-3)


@pytest.mark.parametrize("file", BASELINES)
def test_a_published_configuration_leaves_nothing_of_another_model(file):
    """It is complete: included after the block of GRED it is the same trial as alone."""
    dataset = Path(file).parent.name
    alone = Source((file, "gin/budgets/paper.gin")).load()
    assert alone.trial.dataset == dataset
    after = Source((file, "gin/budgets/paper.gin")).load(dataset)
    assert (after.recipe, built(after)[0]) == (alone.recipe, built(alone)[0])


@pytest.mark.parametrize("dataset", ["peptides_func_lap_pe", "peptides_struct_lap_pe"])
def test_lap_pe_is_as_the_paper_says(dataset):
    positional = built(Source().load(dataset, "paper"))[0].parts["positional"]
    assert (positional.settings["k"], positional.settings["width"]) == (10, 16)


@pytest.mark.parametrize("file", FILES)
def test_nothing_is_left_to_fill_in(file):
    assert not re.search(r"MEASURE|TIME_|TODO|TBD", Path(ROOT, file).read_text())
