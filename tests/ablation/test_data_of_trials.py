"""What a plan knows of a dataset, and of a trial on it, before anything is trained."""

import pytest

from gredkit.ablation import dataset
from gredkit.ablation.dataset import SAMPLE, about_data, load_task
from gredkit.ablation.described import describe, reads_hops
from gredkit.config.source import Source
from gredkit.errors import UserError
from gredkit.registry import DATASETS

TINY = "LAYERS = 1\nDIM = 8\ndatasets.ring_transfer.distance = 2\ndatasets.ring_transfer.graphs = 40\n"


@pytest.fixture
def loaded(tmp_path):
    def load(*bindings):
        (tmp_path / "tiny.gin").write_text(TINY)
        return Source((str(tmp_path / "tiny.gin"),), bindings).load()

    return load


def test_a_dataset_is_told_without_its_graphs(loaded):
    configuration = loaded()
    about, task = about_data(configuration), load_task(configuration)
    assert about.spec == task.spec
    assert sum(about.sizes.values()) == 40
    assert about.sizes == {split: len(task.splits[split]) for split in ("train", "validation", "test")}
    assert len(about.sample) == min(about.sizes["train"], SAMPLE)
    assert about.diameters == (2, 2)  # rings of four nodes: the far side is two hops away


def test_a_dataset_is_loaded_once_for_each_of_its_settings(loaded, monkeypatch):
    made = []
    own = DATASETS["ring_transfer"]

    def counted(**settings):
        made.append(settings["graphs"])
        return own(**settings)

    monkeypatch.setattr(dataset, "_known", {})
    monkeypatch.setattr(dataset, "_load", lambda c: counted(**c.settings(DATASETS, "ring_transfer")))
    for bindings in ((), ("EPOCHS=3",), ("datasets.ring_transfer.graphs=50",), ()):
        about_data(loaded(*bindings))
    assert made == [40, 50]


def test_the_hash_is_of_the_graphs_and_of_what_is_asked_about_them(loaded):
    base = about_data(loaded()).hash
    assert about_data(loaded("EPOCHS=3", "DIM=16")).hash == base
    other_graphs = about_data(loaded("datasets.ring_transfer.seed=1")).hash
    other_metric = about_data(loaded("trial.metric='macro_f1'")).hash
    assert len({base, other_graphs, other_metric}) == 3


def test_an_empty_split_is_a_sentence(loaded):
    with pytest.raises(UserError, match=r"ring_transfer has no graphs in its (validation|test) split"):
        about_data(loaded("datasets.ring_transfer.graphs=1"))


def test_every_setting_has_the_name_that_it_has_in_gin(loaded):
    configuration = loaded("encoders.lru.state_dim=4", "K=3", "LEARNING_RATE=0.5")
    described = describe(configuration, about_data(configuration).spec)
    flat = described.flat(seed=7)
    expected = {
        "dataset": "ring_transfer",
        "seed": 7,
        "K": 3,
        "model": "gred",
        "encoder": "lru",
        "models.gred.dim": 8,
        "encoders.lru.state_dim": 4,
        "datasets.ring_transfer.graphs": 40,
        "fit.learning_rate": 0.5,
    }
    assert {name: flat[name] for name in expected} == expected


@pytest.mark.parametrize(("model", "reads"), [("gred", True), ("gin", False)])
def test_only_some_models_look_at_hops(loaded, model, reads):
    configuration = loaded(f"variant.model='{model}'")
    described = describe(configuration, spec := about_data(configuration).spec)
    assert reads_hops(described.composition.build(spec)) == reads
