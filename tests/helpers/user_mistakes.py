"""Mistakes that a user can make: a command, its arguments, and a word that the sentence about it must contain."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TINY = """
EPOCHS = 1
LAYERS = 1
DIM = 8
SEEDS = (0,)
datasets.ring_transfer.distance = 2
datasets.ring_transfer.graphs = 20
"""
OWN = """
import torch
from torch_geometric.data import Data
from gredkit.data.objectives import objective
from gredkit.data.task import GraphSpec, Task
from gredkit.registry import DATASETS

def graphs(**changed):
    made = [Data(x=torch.zeros(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([i % 2]))
            for i in range(10)]
    for key, value in changed.items():
        made[4][key] = value
    return made

def task(graphs, **changed):
    splits = {"train": range(6), "validation": range(6, 8), "test": range(8, 10)}
    spec = GraphSpec(nodes=1, outputs=2)
    return Task(**{**dict(name="own", spec=spec, graphs=graphs, splits=splits,
                          objective=objective("classification")), **changed})

float_edges = lambda: graphs(edge_index=torch.tensor([[0.0], [1.0]]))
one_row = lambda: graphs(edge_index=torch.tensor([0, 1]))
three_rows = lambda: graphs(edge_index=torch.tensor([[0], [1], [2]]))
list_edges = lambda: graphs(edge_index=[[0], [1]])
negative = lambda: graphs(edge_index=torch.tensor([[0], [-1]]))
beyond = lambda: graphs(edge_index=torch.tensor([[0], [3]]))
nan_x = lambda: graphs(x=torch.full((3, 1), float("nan")))
inf_x = lambda: graphs(x=torch.full((3, 1), float("inf")))
wide_x = lambda: graphs(x=torch.zeros(3, 2))
few_x = lambda: graphs(x=torch.zeros(2, 1))
scalar_x = lambda: graphs(x=torch.tensor(1.0))
list_x = lambda: graphs(x=[1, 2, 3])
nan_y = lambda: graphs(y=torch.tensor([float("nan")]))
negative_y = lambda: graphs(y=torch.tensor([-3]))
half_y = lambda: graphs(y=torch.tensor([0.5]))
two_y = lambda: graphs(y=torch.tensor([0, 1]))
no_y = lambda: graphs(y=None)
empty = lambda: []
nothing = lambda: None
number = lambda: 5
single = lambda: [Data(x=torch.zeros(3, 1), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0])) for _ in range(9)]
two = lambda: graphs()[:2]
raising = lambda: 1 / 0
leaving = lambda: exit(3)
task_nan = lambda: task(nan_x())
task_edges = lambda: task(float_edges())
task_beyond = lambda: task(beyond())
task_class = lambda: task(graphs(y=torch.tensor([7])))
task_split = lambda: task(graphs(), splits={"train": [0], "validation": [], "test": [1]})
task_far = lambda: task(graphs(), splits={"train": [0], "validation": [1], "test": [99]})
task_empty = lambda: task([])
good = graphs
"""
FILES = {
    "tiny.gin": TINY,
    "own.py": OWN,
    "text.txt": "This is no database.",
    "itself.gin": "include 'itself.gin'\n",
    "to_b.gin": "include 'to_c.gin'\n",
    "to_c.gin": "include './to_b.gin'\n",
    "lost.gin": "include 'nowhere.gin'\n",
    "of_folder.gin": "include 'folder'\n",
    "bracket.gin": "SEEDS = (0, 1\nDIM = 8\n",
    "quote.gin": "variant.encoder = 'lru\n",
    "brace.gin": "study.axes = {'K': [1, 2]\n",
    "prose.gin": "Dear gin, please train my model.\n",
    "needs.gin": "import no_such_module\n",
    "raises.gin": "import raises\n",
    "grid.gin": f"study.axes = {{'DIM': {list(range(1, 201))}, 'K': {list(range(1, 201))}}}\n",
    "raises.py": "x = 1 / 0\n",
    "needs.py": "import no_such_dependency\n",
    "needs_part.py": "from os import no_such_name\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "wrong.py": "def f(:\n",
    "twice.py": ("from gredkit.registry import ENCODERS\n\n@ENCODERS.register('lru')\nclass Mine:\n    'Mine.'\n"),
}


@dataclass(frozen=True)
class Mistake:
    """`python -m gredkit.COMMAND ARGUMENTS` must say `word`; exit code 1 where the world is at fault."""

    command: str
    arguments: tuple[str, ...]
    word: str
    code: int = 2

    def __str__(self) -> str:
        return " ".join((self.command, *(argument[:40] for argument in self.arguments)))


def write_files(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "folder").mkdir()
    (folder / "binary.gin").write_bytes(bytes(range(256)))
    (folder / "wide.gin").write_bytes("DIM = 8\n".encode("utf-16"))


RUN = ("--gin", "tiny.gin")
ADDRESSES = {
    "sqlite:///folder": "is a folder",
    "sqlite:///folder/": "is a folder",
    "sqlite:///": "does not name a file",
    "sqlite:///?timeout=3": "does not name a file",
    "sqlite://": "has no path",
    "sqlite:mlflow.db": "use sqlite:///PATH",
    "sqlite:///:memory:": "does not name a file",
    "sqlite:///text.txt": "is not an SQLite database",
    "sqlite:///text.txt/x.db": "is a file",
    "sqlite:////dev/null": "is not a regular file",
    "ftp://somewhere/runs": "'ftp'",
    "postgresql://me:secret@nowhere/runs": "psycopg",
    "mysql://nowhere/runs": "MySQLdb",
    "mssql+pymssql://nowhere/runs": "pymssql",
    "http://": "names no server",
    "http://nowhere:99999999": "not a valid address",
    "http://[::1": "not a valid address",
    "http://a b/": "space",
    "mlruns": "use sqlite:///PATH",
    "./mlruns": "use sqlite:///PATH",
    "file:///runs": "use sqlite:///PATH",
    " sqlite:///x.db": "use sqlite:///PATH",
    "databricks://": "profile",
}
GIN = {
    "nowhere.gin": "there is no gin file",
    "tinny.gin": "did you mean 'tiny.gin'",
    "": "gin file",
    "folder": "is a folder",
    "binary.gin": "is not a text file",
    "wide.gin": "is not a text file",
    "itself.gin": "includes itself",
    "to_b.gin": "includes itself",
    "lost.gin": "nowhere.gin",
    "of_folder.gin": "is a folder",
    "bracket.gin": "bracket.gin, line 2",
    "brace.gin": "not closed",
    "quote.gin": "quote",
    "prose.gin": "prose.gin",
    "needs.gin": "no_such_module",
    "raises.gin": "division by zero",
}
MODULES = {
    "./raises.py": "'raises'",
    "raises.py": "'raises'",
    "../raises": "name",
    "": "name",
    "a..b": "name",
    "1x": "name",
    "no_such": "there is no module 'no_such'",
    "raises": "ZeroDivisionError",
    "needs": "it needs 'no_such_dependency'",
    "needs_part": "no_such_name",
    "exits": "sys.exit",
    "wrong": "wrong.py, line 1",
    "twice": "already registered",
}
SETS = {
    # what gin cannot read
    "K": "parse", "=3": "gin", "K==3": "gin", "K=": "gin", "K=10**9": "gin", "K=lru": "quotes", "K=[1,": "not closed",
    "K='x": "parse", "nothing.here=1": "gin does not know 'nothing'", "EPOHCS=3": "did you mean 'EPOCHS'",
    "encoders.lru.colour=1": "no parameter 'colour'", "encoders.lsmt.stacked_layers=2": "did you mean 'encoders.lstm'",
    "fit.epohcs=3": "did you mean 'epochs'", "K=%NOPE": "%NOPE", "K=@nope": "nope",
    # sizes
    "K=-1": "K", "K=1000000000": "K counts hops", f"K={10**30}": "K counts hops", "K=2.5": "K", "K='two'": "K",
    "DIM=-1": "dim", "DIM=0": "dim", "DIM=1000000000": "dim", f"DIM={10**30}": "dim", "DIM=2.5": "dim",
    "DIM='x'": "dim", "DIM=16384;LAYERS=50": "memory",
    "LAYERS=0": "layers", "LAYERS=-1": "layers", "LAYERS=10000000": "layers", "LAYERS='x'": "layers",
    "STATE_DIM=0": "state_dim", "STATE_DIM=1000000000": "state_dim",
    # shares and rates
    "DROPOUT=-0.1": "dropout", "DROPOUT=1.0": "dropout", "DROPOUT=1e999": "dropout", "DROPOUT='x'": "dropout",
    "LEARNING_RATE=0.0": "learning_rate", "LEARNING_RATE=-1.0": "learning_rate",
    "LEARNING_RATE=1e999": "learning_rate", "LEARNING_RATE='x'": "learning_rate", "WEIGHT_DECAY=-1.0": "weight_decay",
    "WEIGHT_DECAY=1e999": "weight_decay", "WEIGHT_DECAY=None": "weight_decay", "EPOCHS=0": "epochs",
    "EPOCHS=-1": "epochs", "EPOCHS=2.5": "epochs", "EPOCHS='x'": "epochs", f"EPOCHS={10**30}": "epochs",
    "BATCH_SIZE=0": "batch_size", "BATCH_SIZE=-4": "batch_size", "BATCH_SIZE=None": "batch_size",
    "fit.warmup=2.0": "warmup", "fit.clip_norm=0.0": "clip_norm", "fit.patience=0": "patience",
    "fit.precision='half'": "precision", "fit.device='abacus'": "abacus", "fit.compile='yes'": "compile",
    "fit.checkpoint_seconds=-1.0": "checkpoint_seconds", "fit.recurrent_factor=-1.0": "recurrent_factor",
    # seeds
    "SEEDS=()": "at least one seed", "SEEDS=(0, 0)": "none twice", "SEEDS=(-1,)": "seed", "SEEDS=(4294967296,)": "seed",
    "SEEDS=('a',)": "seeds", "SEEDS=3": "a list of one value is written (3,)", "SEEDS=(1.5,)": "seeds",
    "SEEDS=None": "seeds",
    "SEEDS=(True,)": "seed", "SEEDS='until_decide'": "until_decided", "study.most_seeds=4": "most_seeds",
    # components
    "variant.encoder='lsmt'": "did you mean 'lstm'", "variant.aggregator='summ'": "did you mean 'sum'",
    "variant.positional='lap'": "lap_pe", "variant.features='dens'": "did you mean 'dense'",
    "variant.features='dense'": "categorical", "variant.model='grad'": "gred", "variant.encoder=5": "encoder",
    "variant.edge_features='categorical'": "edge_features",
    "encoders.lru.r_min=2.0": "r_min", "encoders.lru.r_min=-0.1": "r_min", "encoders.lru.r_max=-1.0": "r_max",
    "encoders.lru.r_max=1.5": "r_max", "encoders.lru.r_max=0.5": "r_min", "encoders.lru.max_phase=-1.0": "max_phase",
    "encoders.lru.max_phase=100.0": "max_phase", "encoders.lru.mode='fast'": "mode",
    "variant.encoder='attention';encoders.attention.heads=0": "heads",
    "variant.encoder='attention';encoders.attention.heads=-8": "heads",
    "variant.encoder='attention';encoders.attention.heads=1000000000": "heads",
    "variant.encoder='lstm';encoders.lstm.stacked_layers=0": "layers",
    "variant.encoder='gru';encoders.gru.state_dim=-1": "state_dim",
    "variant.encoder='weighted_sum';encoders.weighted_sum.hops=0": "hops",
    "variant.aggregator='attention';aggregators.attention.heads=0": "heads",
    "variant.aggregator='pna';aggregators.pna.mean_log_size=0.0": "mean_log_size",
    "variant.positional='lap_pe';positional.lap_pe.k=0": "k is", "variant.positional='lap_pe'": "leaves none",
    "variant.positional='rwse';positional.rwse.steps=-1": "steps",
    "variant.positional='degree';positional.degree.largest=0": "largest",
    "models.gred.glu='most'": "glu", "models.gred.gelu='relu'": "gelu", "models.gred.expand=0": "expand",
    "models.gred.head_layers=4": "head_layers", "models.gred.readout='median'": "readout",
    "models.gred.readout='sum'": "readout",
    "models.gred.empty_hops='skip'": "empty_hops",
    "SCATTER='cuda'": "backend is one of native, torch_scatter, auto", "SCATTER=5": "backend",
    # losses and metrics; the dataset is one of classes
    "trial.loss='huber'": "does not fit a task of classification", "trial.loss='hubert'": "did you mean 'huber'",
    "trial.metric='rmse'": "does not fit a task of classification", "trial.metric='acuracy'": "did you mean 'accuracy'",
    "trial.loss=5": "loss", "losses.huber.delta='x'": "delta", "losses.huber.detla=1": "did you mean 'delta'",
    "study.axes={'trial.metric': ['accuracy', 'macro_f1']}": "cannot be compared",
    # studies
    "study.combine='gird'": "combine", "study.axes=5": "axes", "study.axes={'K': 5}": "axes",
    "study.axes={'K': []}": "list of values", "study.axes={'K': 'lru'}": "K",
    "study.axes={'QQ': [1, 2]}": "QQ", "study.axes={'variant.encoder': ['lru', 'lsmt']}": "did you mean 'lstm'",
    "study.axes={'encoders.rnn.state_dim': [4, 8]}": "changes nothing", "study.match_params=-3": "match_params",
    f"study.match_params={10**30}": "match_params", "study.name='a/b'": "name", "study.name=''": "name",
    "DATASETS=('ring_trasfer',)": "did you mean 'ring_transfer'", "DATASETS='digits'": "write ('digits',)",
    "DATASETS=()": "at least one",
    "DATASETS=5": "datasets", "BUDGET='smok'": "did you mean 'gin/budgets/smoke.gin'", "BUDGET=5": "budget",
    "study.tune={'K': []}": "list of values", "study.tune_seeds=()": "at least one seed",
    "study.most_trials=0": "most_trials",
    "SEEDS=(0, 1, 2);study.most_trials=2": "3 trials in all",
    # data
    "trial.dataset='rign'": "ring_transfer", "datasets.ring_transfer.distance=0": "distance",
    "datasets.ring_transfer.distance=1000000000": "distance", "datasets.ring_transfer.graphs=0": "graphs",
    "datasets.ring_transfer.graphs=1": "split", "datasets.ring_transfer.graphs=1000000000": "graphs",
    "datasets.ring_transfer.symbols=1": "symbols", "datasets.ring_transfer.seed=-1": "seed",
    "trial.dataset='tree_match';datasets.tree_match.depth=40": "depth",
    "trial.dataset='digits';datasets.digits.train=0.9": "train",
    "trial.dataset='digits';datasets.digits.neighbours=5": "neighbours",
    "trial.dataset='cluster_sbm';datasets.cluster_sbm.train=-5": "train",
    "trial.dataset='pattern_sbm';datasets.pattern_sbm.patterns=0": "patterns",
    "trial.dataset='molecules';datasets.molecules.lines=-1": "lines",
    "trial.dataset='smiles_csv'": "datasets.smiles_csv.path",
    "trial.dataset='graph_folder';datasets.graph_folder.path='none'": "none",
    "trial.dataset='python_dataset'": "target", "trial.dataset='lrgb';datasets.lrgb.name='peptides'": "peptides-func",
}  # fmt: skip
GIVEN = {
    "own:float_edges": "edge_index", "own:one_row": "two rows", "own:three_rows": "two rows",
    "own:list_edges": "edge_index",
    "own:negative": "edge_index", "own:beyond": "edge_index", "own:nan_x": "NaN or inf", "own:inf_x": "NaN or infinity",
    "own:wide_x": "columns", "own:few_x": "x", "own:scalar_x": "x", "own:list_x": "x", "own:nan_y": "y of graph 4",
    "own:negative_y": "y of graph 4", "own:half_y": "y of graph 4", "own:two_y": "y of graph 4",
    "own:no_y": "y of graph 4",
    "own:empty": "no graphs", "own:nothing": "NoneType", "own:number": "int", "own:single": "two classes",
    "own:two": "cannot be split", "own:raising": "ZeroDivisionError", "own:leaving": "sys.exit",
    "own:task_nan": "NaN or infinity", "own:task_edges": "edge_index", "own:task_beyond": "edge_index",
    "own:task_class": "class",
    "own:task_split": "validation", "own:task_far": "test split", "own:task_empty": "no graphs",
    "own:nan_z": "did you mean 'nan_", "own": "target", "own:": "target", "raises:x": "ZeroDivisionError",
    "no_such:x": "no_such", "os:sep": "not a function", "os.path:join": "arguments",
}  # fmt: skip
OPTIONS = (
    ("run", (), "write --gin ablations/rnn_flavors.gin, for example"),
    ("run", ("tiny.gin",), "write --gin tiny.gin"),
    ("run", (*RUN, "--epochs", "3"), "write --set \"EPOCHS=20\""),
    ("run", (*RUN, "--batch_size=3"), "write --set \"BATCH_SIZE=32\""),
    ("run", ("--gin", "rnn_flavors"), "did you mean 'ablations/rnn_flavors.gin'?"),
    ("run", ("--gin", "rnn_flavors.gin"), "did you mean 'ablations/rnn_flavors.gin'?"),
    ("run", ("--gin", "ablation/rnn_flavors.gin"), "did you mean 'ablations/rnn_flavors.gin'?"),
    ("run", ("--gin", "studies/mine.gin"), "studies that come with gredkit are ablations/aggregators.gin"),
    ("run", (*RUN, "--jobs", "0"), "--jobs"), ("run", (*RUN, "--jobs", "x"), "--jobs"),
    ("run", (*RUN, "--jobs", "1000000000"), "--jobs"), ("run", (*RUN, "--jbos", "2"), "did you mean '--jobs'"),
    ("run", (*RUN, "--launcher", "lokal"), "did you mean 'local'"), ("run", (*RUN, "--launcher", ""), "launcher"),
    ("run", (*RUN, "--work", "text.txt"), "text.txt"),
    ("run", (*RUN, "--reports", "text.txt"), "text.txt"), ("run", (*RUN, "--data", "text.txt"), "text.txt"),
    ("run", ("--gin", "grid.gin"), "40,000 variants"), ("run", (*RUN, "stray"), "stray"),
    ("report", (), "--study"), ("report", ("--study", "none"), "mlflow.db"), ("report", ("--studdy", "x"), "--study"),
    ("predict", (), "--data"), ("predict", ("--data", "digits"), "--run"),
    ("predict", ("--model", "none", "--data", "x"), "none"),
    ("predict", ("--model", "", "--data", "x"), "--model"),
    ("predict", ("--model", "folder", "--data", "x"), "model.json"),
    ("predict", ("--run", "x", "--data", "y"), "mlflow.db"),
    ("predict", ("--run", "x", "--model", "y", "--data", "z"), "--model"),
    ("predict", ("--model", "folder", "--data", "x", "--batch-size", "0"), "--batch-size"),
    ("predict", ("--model", "folder", "--data", "x", "--out", "x.doc"), ".parquet"),
    ("predict", ("--model", "folder", "--data", "x", "--out", "no/x.csv"), "no"),
    ("predict", ("--model", "folder", "--data", "x", "--split", "tset"), "--split"),
    ("components", ("encodrs",), "did you mean 'encoders'"), ("components", ("--kind",), "--kind"),
    ("data", (), "list"), ("data", ("lst",), "list"), ("data", ("describe",), "NAME"),
    ("data", ("describe", "digts"), "digits"),
    ("data", ("describe", "ring_transfer", "-K", "-1"), "K counts hops"),
    ("data", ("describe", "ring_transfer", "-K", "x"), "-K"),
    ("data", ("describe", "ring_transfer", "-K", str(10**30)), "K counts hops"),
    ("data", ("draw", "ring_transfer", "--index", "-1"), "graphs 0 to"),
    ("data", ("draw", "ring_transfer", "--index", "1000000"), "graphs 0 to"),
    ("data", ("draw", "ring_transfer", "--node", "99"), "nodes 0 to"),
    ("data", ("draw", "ring_transfer", "--out", "no/x.png"), "no/x.png"),
    ("data", ("draw", "ring_transfer", "--out", "x.doc"), "x.doc"),
    ("data", ("prepare", "ring_transfer", "--positional", "lap"), "lap_pe"),
    ("bench", ("hop",), "did you mean 'hops'"), ("bench", ("--profile", "zink"), "did you mean 'zinc'"),
    ("bench", ("hops", "--json", "no/x.json"), "no folder"), ("bench", ("training", "--picture", "x.doc"), "PNG"),
    ("bench", ("hops", "--picture", "x.png"), "training"), ("bench", ("--fast",), "--fast"),
)  # fmt: skip


def mistakes() -> Iterator[Mistake]:
    for uri, word in ADDRESSES.items():
        told = ("--tracking-uri", uri)
        yield Mistake("run", (*RUN, *told), word)
        yield Mistake("report", ("--study", "tiny", *told), word)
        yield Mistake("predict", ("--run", "x", "--data", "digits", *told), word)
    for file, word in GIN.items():
        yield Mistake("run", ("--gin", file), word)
        yield Mistake("data", ("list", "--gin", file), word)
    for module, word in MODULES.items():
        told = ("--import", module)
        yield Mistake("run", (*RUN, *told), word)
        yield Mistake("components", ("encoders", *told), word)
        yield Mistake("report", ("--study", "tiny", *told), word)
        yield Mistake("data", ("list", *told), word)
    for i, (bindings, word) in enumerate(SETS.items()):
        sets = tuple(part for one in bindings.split(";") for part in ("--set", one))
        # A dry run plans as a run does, but starts no server that would import PyTorch for each of them.
        yield Mistake("run", (*RUN, *sets, *(["--dry-run"] if i % 10 else [])), word)
    for target, word in GIVEN.items():
        yield Mistake(
            "data", ("describe", "python_dataset", "--set", f"datasets.python_dataset.target={target!r}"), word
        )
    for command, arguments, word in OPTIONS:
        yield Mistake(command, arguments, word)
