import pytest

from gredkit.data.own.tables import read_csv
from gredkit.errors import UserError


def lines_of(path, text, encoding="utf-8"):
    """The line of every row, with its cells; `-` where there is none."""
    path.write_bytes(text.encode(encoding))
    rows = read_csv(path).rows
    return {line: [*row.fillna("-")] for line, row in rows.iterrows()}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "some.csv"


def test_lines_are_those_of_an_editor(file):
    assert lines_of(file, "a,b\n1,2\n3,4") == {2: ["1", "2"], 3: ["3", "4"]}
    assert lines_of(file, "a,b\n\n1,2\n,\n\n3,4\n\n") == {3: ["1", "2"], 6: ["3", "4"]}
    assert lines_of(file, 'a,b\n"x\ny",2\n"1\n\n1",2\n3,4\n') == {2: ["x\ny", "2"], 4: ["1\n\n1", "2"], 7: ["3", "4"]}
    assert lines_of(file, "a,b\r\n1,2\r\n3,4\r\n") == {2: ["1", "2"], 3: ["3", "4"]}


def test_cells_are_text_and_may_be_missing(file):
    assert lines_of(file, " a , b\n01, 1.50\nNaN,x\n2\n") == {2: ["01", "1.50"], 3: ["-", "x"], 4: ["2", "-"]}
    assert list(read_csv(file).rows) == ["a", "b"]
    assert lines_of(file, "a,b\né,2\n", encoding="utf-8-sig") == {2: ["é", "2"]}
    assert list(read_csv(file).rows) == ["a", "b"]


def test_cells_beyond_the_header_are_told(file):
    for text in ("a,b\n1,2\n3,4,5\n6,7\n", "a,b\n1,2,3\n3,4,5\n"):
        lines_of(file, text)
        table = read_csv(file)
        assert table.torn == {n: 3 for n, line in enumerate(text.splitlines(), 1) if line.count(",") > 1}
        wrong, sentence = table.too_long()
        assert table.rows.index[wrong].tolist() == list(table.torn)
        assert sentence(table.rows.iloc[1]).startswith("3 cells, but the header has 2: ")
        assert table.rows.loc[3].tolist() == ["3", "4"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "some.csv, line 1: the file is empty: its first line must name the columns"),
        (b"a,b\n1,2\n\xff,3\n", "some.csv, line 3: this is not UTF-8 text: save the file as 'CSV UTF-8'"),
        (
            b'a,b\n1,2\n"3,4\n5,6\n',
            "some.csv, line 3: this is not CSV (unexpected end of data): look for an unclosed quote",
        ),
    ],
)
def test_a_file_that_is_no_table_is_a_mistake(file, content, sentence):
    file.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_csv(file)
    assert sentence in str(caught.value)


def test_a_file_that_is_not_there_is_a_mistake(tmp_path):
    with pytest.raises(UserError, match=r"there is no file '.*none.csv' in "):
        read_csv(tmp_path / "none.csv")
    with pytest.raises(UserError, match=r"cannot read .*: is a directory"):
        read_csv(tmp_path)
