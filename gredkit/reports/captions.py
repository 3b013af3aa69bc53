"""What is seen in each figure, and how to read it."""

CAPTIONS = {
    "scores": ("Test scores", "No trial has a score yet, so there is nothing to compare."),
    "k_ablation": (
        "Test score against K, how many hops a node looks",
        "A panel a dataset: small dots are seeds, the line joins their means, the band is one standard deviation. A "
        "peak between the ends says that looking farther stops helping; a line that rises to the diameter says that "
        "the task needs the whole graph. At 'diam.' each graph is read up to its own diameter (K = None, drawn at the "
        "median), at 'dataset' every graph up to the largest distance in the training split (K = 'dataset'). Dashed "
        "lines are published values, with another budget.",
    ),
    "flavours": (
        "Test score of each variant",
        "A panel a dataset, the base on top: the marker is the mean over seeds, the bar one standard deviation, each "
        "small dot a seed. Bars that overlap do not mean that there is no difference: seeds are compared in pairs, "
        "as the table does.",
    ),
    "axes": (
        "Test score along the axes of the study",
        "A line follows one axis and its marks are means over seeds; in a heat map each cell is the mean of one "
        "combination. Look for the direction in which the score changes most.",
    ),
    "eigenvalues": (
        "Learned eigenvalues in the complex plane",
        "A panel a layer: hollow circles are the start, filled ones the end of training. The nearer to the unit "
        "circle, the farther a hop is still heard; the angle is how fast its sign turns from hop to hop.",
    ),
    "hop_filter": (
        "Weight of each hop, and decay of the state",
        "Weight of hop k: ‖M_k‖ / √d, the Frobenius norm of the matrix by which a layer multiplies what it reads at "
        "that hop, M_k = Re[W_out Λ^k e^γ W_in] for the LRU. For normalised rows that is the root mean square of what "  # noqa: RUF001
        "the hop adds to an output. The line is the mean over seeds, the band goes from the smallest to the largest. "
        "Decay of the state: the median of |λ|^k over a layer's eigenvalues, the band has 10 % to 90 % of them; it is "
        "not the weight, since W_in, W_out and the phases decide how much of a hop is heard. Dashed at the start, "
        "solid after training.",
    ),
    "learning_curves": (
        "Validation score, epoch by epoch",
        "The mean over seeds with a band of one standard deviation; a cross is where a trial diverged. Curves that "
        "still rise at the end say that the budget, not the variant, set the score.",
    ),
    "cost": (
        "Test score against time, memory and parameters",
        "A row a dataset, a point a variant, with one standard deviation as a thin cross. Best is the corner of a "
        "better score at a lower cost.",
    ),
}


def caption(figure: str) -> tuple[str, str]:
    """Title and text of a figure by its name; a figure that is not known has its name for a title."""
    return CAPTIONS.get(figure, (figure.replace("_", " "), ""))
