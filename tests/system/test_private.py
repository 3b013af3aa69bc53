import os
import traceback
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.errors import cause
from gredkit.system.private import portable, shown

SECRET = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1).map(lambda text: f"zq{text}qz")
ADDRESSES = (
    "http://me:{}@somewhere:5000/runs",
    "postgresql+psycopg2://me:{}@somewhere/runs",
    "https://me:{}@somewhere",
)
QUERIES = ("sqlite:////tmp/runs.db?password={}", "mysql://somewhere/runs?a=b&ssl_key={}&c=d")


@given(SECRET, st.sampled_from(ADDRESSES + QUERIES), st.sampled_from(("{}", "at '{}', it says", "--uri={} -x")))
def test_no_part_of_a_secret_is_shown(secret, address, sentence):
    for written in (secret, quote(secret), quote(secret, safe="")):
        said = shown(sentence.format(address.format(written)))
        assert "zq" not in said
        assert "qz" not in said
        assert said.startswith(sentence.partition("{}")[0] + address.partition("://")[0])


@given(SECRET)
def test_nor_of_a_token_that_stands_for_the_user(token):
    assert shown(f"http://{quote(token, safe='')}@somewhere/runs") == "http://somewhere/runs"


@given(SECRET)
def test_nor_in_what_another_library_says_of_the_address(secret):
    uri = f"http://me:{quote(secret, safe='')}@somewhere"
    assert secret not in shown(f"Failed to parse: me:{secret}", uri)
    assert quote(secret, safe="") not in cause(ValueError(f"cannot open {uri}"))


@pytest.mark.parametrize(
    "address",
    ["sqlite:////home/me@work/mlflow.db", "http://somewhere:5000/#/runs", "https://somewhere/users/me@work", "a: b@c"],
)
def test_an_address_without_credentials_stays_as_it_is(address):
    assert shown(f"at {address}, it says") == f"at {address}, it says"


def test_a_traceback_without_the_users_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "me"))
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("import json\n\ndef read(path):\n    return json.loads(open(path).read())\n")
    space: dict = {}
    exec(compile(Path("own.py").read_text(), str(tmp_path / "own.py"), "exec"), space)
    try:
        space["read"](tmp_path / "home" / "me" / "data.json")
    except FileNotFoundError:
        told = traceback.format_exc()
    assert str(tmp_path) in told
    said = portable(told)
    assert str(tmp_path) not in said
    assert 'File "./own.py", line 4, in read' in said
    assert "No such file or directory: '~/data.json'" in said


@pytest.mark.parametrize("path", ["/home/somebody/x.py", "/Users/somebody/x.py"])
def test_folders_of_other_users_too(path):
    assert portable(f'File "{path}", line 1') == 'File "~/x.py", line 1'


def test_what_is_installed_is_called_by_its_package():
    assert portable(f"{os.path.dirname(pytest.__file__)}/__init__.py") == "site-packages/pytest/__init__.py"
    assert portable("/somewhere/else.py and gredkit/private.py") == "/somewhere/else.py and gredkit/private.py"
