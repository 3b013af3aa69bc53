import pytest
from helpers.commands import fails_with_a_sentence, run

from gredkit.registry import DATASETS

SMALL = ("--set", "datasets.ring_transfer.graphs=20")


def data(*arguments, cwd):
    return run("-m", "gredkit.data", *arguments, "--data", str(cwd), cwd=cwd)


def test_list_shows_every_dataset(tmp_path):
    result = data("list", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    words = result.stdout.split()
    assert all(name in words for name in DATASETS)


def test_prepare_then_describe(tmp_path):
    result = data("prepare", "ring_transfer", "-K", "3", "--positional", "lap_pe", *SMALL, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "ring_transfer: 20 graphs are ready, " in result.stdout
    result = data("describe", "ring_transfer", "-K", "3", *SMALL, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "ring_transfer, K = 3" in result.stdout
    assert "20 (train 12, validation 4, test 4)" in result.stdout


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_draw_writes_a_picture(tmp_path, suffix):
    out = tmp_path / f"picture.{suffix}"
    result = data(
        "draw", "ring_transfer", "--index", "3", "--node", "2", "-K", "2", "--out", str(out), *SMALL, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    start = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[suffix]
    assert out.read_bytes().startswith(start)


def test_draw_chooses_a_name(tmp_path):
    assert data("draw", "ring_transfer", *SMALL, cwd=tmp_path).returncode == 0
    assert (tmp_path / "ring_transfer-0-0.png").is_file()


def test_mistakes_end_in_one_sentence(tmp_path):
    for arguments, said in (
        (("describe", "ring_tranfer"), "did you mean 'ring_transfer'"),
        (("draw", "ring_transfer", "--index", "20", *SMALL), "ring_transfer has graphs 0 to 19, not 20"),
        (("draw", "ring_transfer", "--node", "10", *SMALL), "graph 0 has nodes 0 to 9, not 10"),
        (("draw", "ring_transfer", "--out", "picture.doc", *SMALL), "cannot write picture.doc"),
        (("prepare", "ring_transfer", "-K", "-1", *SMALL), "K counts hops and cannot be -1"),
        (("prepare", "ring_transfer", "--positional", "lap", *SMALL), "did you mean 'lap_pe'"),
        (("prepare", "ring_transfer", "--set", "datasets.ring_transfer.size=3"), "size"),
    ):
        assert said in fails_with_a_sentence(data(*arguments, cwd=tmp_path))
