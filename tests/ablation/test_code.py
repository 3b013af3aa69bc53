"""What of the source code counts in a trial's id."""

import pytest

from gredkit.ablation.code import c_code, python_code

PYTHON = '''
"""A module."""
from gredkit import ranges
from gredkit.errors import UserError

@METRICS.register("hops", label="hops", larger_is_better=False, range=(0, 9))
class Encoder:
    """Reads hops."""

    def forward(self, x, share=0.5):
        """Half of it."""
        ranges.share("share", share)
        if share > 1:
            raise UserError(f"share is {share}: choose less")
        assert share, "share is zero"
        log.warning("%s is large", share)
        error = UserError("share is odd")
        words = ValueError(f"{share} is odd")
        part = HingeError("squared")
        mode = "scan"  # not the loop
        return x * share if mode == "scan" else x
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""A better sentence."""'),
        ('    """Reads hops."""\n', ""),
        ('"""Half of it."""', '"""One half."""'),
        ("  # not the loop", ""),
        ("share is {share}: choose less", "choose a share below {share}"),
        ('ranges.share("share", share)', 'ranges.share("the share", share)'),
        ("\n        mode", "\n\n        mode"),
        ('label="hops"', 'label="error in hops"'),
        (' label="hops",', ""),
        (", range=(0, 9)", ", range=(0, 10)"),
        ("%s is large", "the share %s is large"),
        ("share is odd", "share is not even"),
        ("{share} is odd", "{share} is not even"),
        (', "share is zero"', ', "share must not be zero"'),
        (', "share is zero"', ""),
    ],
)
def test_a_better_sentence_retrains_nothing(old, new):
    assert old in PYTHON
    assert python_code(PYTHON.replace(old, new)) == python_code(PYTHON)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("share=0.5", "share=0.25"),
        ('mode = "scan"', 'mode = "loop"'),
        ("x * share", "x + share"),
        ("if share > 1", "if share > 2"),
        ("raise UserError", "raise ValueError"),
        ('register("hops"', 'register("steps"'),
        ("larger_is_better=False", "larger_is_better=True"),
        ("METRICS.register", "FIGURES.register"),
        ('%s is large", share', '%s is large", 2 * share'),
        ('HingeError("squared")', 'HingeError("linear")'),  # a component may have such a name
        ("words = ValueError", "words = HingeError"),
    ],
)
def test_other_code_is_another_trial(old, new):
    assert old in PYTHON
    assert python_code(PYTHON.replace(old, new)) != python_code(PYTHON)


C = """
/* Sums of sets. */
#include <stdint.h>
static const char *name = "// no comment"; // but this is one
void sum(float *x, int64_t n) { for (int64_t i = 0; i < n; i++) x[i] += 1; }
"""


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("/* Sums of sets. */", "/* The sum of each set,\n * one row per set. */", True),
        (" // but this is one", "", True),
        ("{ for", "{\n    for", True),
        ("// no comment", "// another text", False),
        ("x[i] += 1", "x[i] += 2", False),
    ],
)
def test_comments_and_layout_of_c_do_not_count(old, new, same):
    assert old in C
    assert (c_code(C.replace(old, new)) == c_code(C)) == same
