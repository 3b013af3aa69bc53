"""How much memory a trial will need, from one pass of its model over a few graphs."""

import copy
from collections.abc import Sequence

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch_geometric.data import Batch, Data

from gredkit.ablation.dataset import about_data
from gredkit.ablation.described import describe
from gredkit.data.hops.diameter import diameter
from gredkit.nn.kernels.usable import without_kernels
from gredkit.nn.models.base import needs_of
from gredkit.trials.trial import Trial

GRAPHS, NODES = 8, 2000  # the pass is over so many graphs, or fewer if they have so many nodes
PROCESS = 700_000_000  # bytes of a process that has imported everything, with a dataset of usual size
COPIES = 4  # of each weight: itself, its gradient, and the optimiser's two moments
PEAK = 1.2  # the most that a step needs, in multiples of what PyTorch keeps for the backward pass


def trial_bytes(trial: Trial) -> int:
    """The process, the weights and a step with a batch of average graphs; nothing is trained.

    A model that cannot be tried counts as a process: the trial itself will say what is wrong.
    """
    configuration = trial.configuration()
    about = about_data(configuration)
    described = describe(configuration, about.spec)
    try:
        model = described.composition.build(about.spec)
        graphs = _few(about.sample)
        K = described.settings.K
        for structure in needs_of(model, max(map(diameter, graphs)) if K == "dataset" else K):
            graphs = [structure.add_to(graph) for graph in graphs]
        weights = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in model.parameters()}
        kept: dict[int, int] = {}

        def count(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in weights:
                kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        with without_kernels(), saved_tensors_hooks(count, lambda tensor: tensor):
            outputs = model(Batch.from_data_list(graphs))
        del outputs  # it held all that was counted, so that no memory was counted twice
    except Exception:  # of a model or a structure that may be the user's own
        return PROCESS
    step = sum(kept.values()) * described.recipe.batch_size / len(graphs)
    return int(PROCESS + COPIES * sum(weights.values()) + PEAK * step)


def _few(sample: Sequence[Data]) -> list[Data]:
    """The first graphs, at least one."""
    few: list[Data] = []
    for graph in sample[:GRAPHS]:
        if few and sum(one.num_nodes for one in few) + graph.num_nodes > NODES:
            break
        few.append(copy.copy(graph))
    return few
