"""Make texts safe to share: remove credentials from addresses and the user's folders from paths."""

import os
import re
import site
import sys
import sysconfig
from pathlib import Path
from urllib.parse import parse_qsl, unquote

ADDRESS = re.compile(r"\b([a-z][a-z0-9+.-]*)://(\S*)", re.IGNORECASE)
MARKS = "\"'),.;:]"  # at the end of an address, these belong to the sentence around it
HOMES = re.compile(r"(?<![\w.~-])(?:/home|/Users|[A-Z]:\\Users)[/\\][^/\\\s:;,'\"()<>]+")
HIDDEN = "…"


def shown(text: str, uri: str = "") -> str:
    """The text without users, passwords and queries in addresses, and without the secrets in `uri`."""
    text = ADDRESS.sub(_without, text)
    for secret in _secrets(uri):
        text = text.replace(secret, HIDDEN)
    return text


def _without(found: re.Match[str]) -> str:
    """The address without user and query; in doubt it removes too much rather than show part of a password."""
    rest = found[2].rstrip(MARKS)
    before, _, query = rest.partition("?")
    authority = before.partition("/")[0]  # empty in the address of a file
    if "@" in authority or ("@" in rest and ":" in authority):  # a password may contain / and ?, although it should not
        before = HIDDEN if "@" in query else before.rpartition("@")[2]
    return f"{found[1]}://{before}{found[2][len(rest) :]}"


def _secrets(uri: str) -> list[str]:
    """The password and the query values of an address, both as written and percent-decoded."""
    found = ADDRESS.match(uri)
    rest = found[2] if found else ""
    user = rest.rpartition("@")[0] if not rest.startswith("/") else ""
    written = [user, user.partition(":")[2], *(value for _, value in parse_qsl(rest.partition("?")[2]))]
    every = {*written, *map(unquote, written)}
    return sorted((secret for secret in every if len(secret) > 3), key=len, reverse=True)


def portable(text: str) -> str:
    """A text (for example a traceback) without credentials and without this machine's folder names."""
    text = shown(text)
    for folder, name in sorted(_folders().items(), key=lambda item: -len(item[0])):
        text = re.sub(rf"(?<![\w.~-]){re.escape(folder)}(?![\w.-])", name, text)
    return HOMES.sub("~", text)


def _folders() -> dict[str, str]:
    """The neutral name that replaces each folder of this user and machine."""
    named = {str(Path(__file__).parents[1]): "gredkit", os.getcwd(): ".", str(Path.home()): "~"}
    for packages in (*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("platlib")):
        named[packages] = "site-packages"
    named |= {sysconfig.get_path("stdlib"): "python", sys.prefix: "python", sys.base_prefix: "python"}
    return {folder: name for folder, name in named.items() if len(Path(folder).parts) > 1}
