"""The ten claims: what the paper says, where, its numbers, and which of our studies judge it by which rule."""

from dataclasses import dataclass

from gredkit.reports.paper_claims.evidence import Need
from gredkit.reports.paper_claims.measured import Cheaper, Fits, Magnitudes
from gredkit.reports.paper_claims.rules import Better, Inside, Rises, Rule, Worse


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    where: in the paper. published: its numbers, as printed. differs: what is not as in the paper here
    """

    number: int
    sentence: str
    where: str
    published: str
    needs: tuple[Need, ...]
    rule: Rule
    differs: str = ""


FLAVOURS = 'figure "Performance of GRED using RNNs of different flavors"'
HOPS = 'figure "Effect of K on performance"'
NO_NUMBERS = "no printed numbers"
UNTUNED = "The paper tunes learning rate, weight decay and dropout for each flavour; here all have those of the LRU."
ZINC, CIFAR10, PEPTIDES = (
    Need(f"real_flavors_{study}", dataset)
    for study, dataset in (("zinc", "zinc"), ("cifar10", "cifar10"), ("peptides", "peptides_func"))
)
OTHERS = ("lstm", "rnn", "attention")

CLAIMS = (
    Claim(
        1, "The LRU is the best of four flavours on CIFAR10, ZINC and Peptides-func.", FLAVOURS, NO_NUMBERS,
        (ZINC, CIFAR10, PEPTIDES), Better("lru", OTHERS), UNTUNED,
    ),
    Claim(
        2, "Attention is the worst flavour on ZINC.", FLAVOURS, NO_NUMBERS,
        (ZINC,), Worse("attention", ("lru", "lstm", "rnn")), UNTUNED,
    ),
    Claim(
        3, "On Peptides-func the LSTM is far above the RNN.", FLAVOURS, NO_NUMBERS,
        (PEPTIDES,), Better("lstm", ("rnn",), is_far=True), UNTUNED,
    ),
    Claim(
        4, "On ZINC and CIFAR10 the best K lies strictly between 1 and the diameter.", HOPS, NO_NUMBERS,
        (Need("real_k_zinc", "zinc"), Need("real_k_cifar10", "cifar10")),
        Inside(("K=1", "K=2", "K=4", "K=8", "K=dataset")),
    ),
    Claim(
        5, "On Peptides-func scores rise with K up to 40.", HOPS, NO_NUMBERS,
        (Need("real_k_peptides", "peptides_func"),), Rises(("K=1", "K=5", "K=10", "K=20", "K=40")),
    ),
    Claim(
        6, "LapPE adds a little to GRED on Peptides-func.", "table 3",
        "AP 0.7085 ± 0.0027 without, 0.7133 ± 0.0011 with it",
        (Need("real_lap_pe", "peptides_func"),), Better("GRED+LapPE", ("GRED",)),
        "No code was published for LapPE.",
    ),
    Claim(
        7, "The first layer's eigenvalues are closer to 1 on Peptides-func than on CIFAR10.",
        'figure "Learned (complex) eigenvalues"', NO_NUMBERS,
        (PEPTIDES, CIFAR10), Magnitudes("lru"),
        "The published code starts them in a ring from 0.95 to 1 on Peptides-func, in the whole unit disc on CIFAR10.",
    ),
    Claim(
        8, "GRED fits trees of every depth from 2 to 8, where GIN fails from depth 4 on (over-squashing).", "table 6",
        "training accuracy of GRED 1.0 up to r = 7 and 0.95 at r = 8; of GIN 1.0, 1.0, 0.77, 0.29, 0.20 for r = 2 to 6",
        (Need("real_tree", "tree_match"),),
        Fits(
            (*((f"GRED, r={depth}", 0.995) for depth in range(2, 8)), ("GRED, r=8", 0.945)),
            "GRED, r=4", "GIN, r=4", "wide GIN, r=4",
        ),
        "6,000 graphs in place of 32,000. GIN must also fail at GRED's width, or the difference may be one of width.",
    ),
    Claim(
        9, "GRED is better than SPN and GIN on NCI1 and PROTEINS.", "table 7",
        "NCI1: GRED 82.6 ± 1.4, SPN 78.2 ± 1.2, GIN 80.0 ± 1.4 %; PROTEINS: GRED 75.0 ± 2.9, SPN 74.5 ± 3.2, "
        "GIN 73.3 ± 4.0 %",
        (Need("real_tu", "nci1"), Need("real_tu", "proteins")), Better("gred", ("spn", "gin")),
        "The paper quotes SPN and GIN; here they are trained like GRED.",
    ),
    Claim(
        10, "GRED is faster and leaner than GRIT and GPS.", "table 4, which has no GPS",
        "seconds per epoch and GPU memory: ZINC 3.7 s and 1.5 GB, GRIT 23.9 s and 1.9 GB; CIFAR10 27.8 s and 1.4 GB, "
        "GRIT 244.4 s and 4.6 GB; Peptides-func 158.9 s and 18.5 GB, GRIT 225.6 s and 22.5 GB",
        (
            Need("real_costs_zinc", "zinc"), Need("real_costs_cifar10", "cifar10"),
            Need("real_costs_peptides", "peptides_func"),
        ),
        Cheaper("GRED", ("GRIT", "GPS")),
        "Our machine in place of an RTX A5000; on CPUs GRED has kernels in C.",
    ),
)  # fmt: skip
STUDIES = tuple(dict.fromkeys(need.study for claim in CLAIMS for need in claim.needs))
