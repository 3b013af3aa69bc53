import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.data.hops.stored_arrays import StoredArrays, write
from gredkit.system.sealed import Damaged

lengths = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=6)


def made(sizes):
    rng = np.random.default_rng(0)
    return [{"a": rng.integers(0, 9, n, np.int32), "b": rng.standard_normal((m, 2))} for n, m in sizes]


@given(lengths)
def test_what_was_written_is_read(tmp_path_factory, sizes):
    folder = tmp_path_factory.mktemp("columns")
    graphs = made(sizes)
    write(folder, iter(graphs), K=3)
    columns = StoredArrays(folder)
    assert len(columns) == len(graphs)
    assert columns.about == {"K": 3}
    for read, graph in zip(columns, graphs, strict=True):
        assert read.keys() == graph.keys()
        for name in graph:
            np.testing.assert_array_equal(read[name], graph[name])
            assert read[name].dtype == graph[name].dtype
    with pytest.raises(IndexError):
        columns[len(graphs)]


@given(st.data())
def test_a_changed_byte_is_noticed_wherever_it_is(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("columns")
    write(folder, made([(3, 2), (4, 1)]))
    path = data.draw(st.sampled_from(sorted(folder.iterdir())))
    content = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    with pytest.raises(Damaged):
        StoredArrays(folder)


@pytest.mark.parametrize("name", ["a", "b", "a.start", "meta"])
@pytest.mark.parametrize("change", ["cut", "removed"])
def test_a_cut_or_missing_file_is_noticed(tmp_path, name, change):
    write(tmp_path, made([(3, 2), (4, 1)]))
    if change == "removed":
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-1])
    with pytest.raises(Damaged):
        StoredArrays(tmp_path)


def test_a_column_keeps_its_kind(tmp_path):
    with pytest.raises(ValueError, match="column 'a' changes"):
        write(tmp_path, [{"a": np.zeros(2, np.int32)}, {"a": np.zeros(2)}])


def test_the_file_is_not_changed_through_a_view(tmp_path):
    write(tmp_path, made([(3, 2)]))
    before = (tmp_path / "a").read_bytes()
    StoredArrays(tmp_path)[0]["a"][:] = 7
    assert (tmp_path / "a").read_bytes() == before
