"""Texts that others will read: addresses without credentials, paths without the user's folders."""

import os
import re
import site
import sys
import sysconfig
from pathlib import Path
from urllib.parse import parse_qsl, unquote

ADDRESS = re.compile(r"\b([a-z][a-z0-9+.-]*)://(\S*)", re.IGNORECASE)
MARKS = "\"'),.;:]"  # after an address they belong to the sentence
HOMES = re.compile(r"(?<![\w.~-])(?:/home|/Users|[A-Z]:\\Users)[/\\][^/\\\s:;,'\"()<>]+")
HIDDEN = "…"


def shown(text: str, uri: str = "") -> str:
    """A text in which no address has a user, a password or a query; nor is there a part of those of `uri`."""
    text = ADDRESS.sub(_without, text)
    for secret in _secrets(uri):
        text = text.replace(secret, HIDDEN)
    return text


def _without(found: re.Match[str]) -> str:
    """The address without user and query; rather too little than a part of a password."""
    rest = found[2].rstrip(MARKS)
    before, _, query = rest.partition("?")
    authority = before.partition("/")[0]  # of a file's address it is empty
    if "@" in authority or ("@" in rest and ":" in authority):  # a password may hold / and ?, though it should not
        before = HIDDEN if "@" in query else before.rpartition("@")[2]
    return f"{found[1]}://{before}{found[2][len(rest) :]}"


def _secrets(uri: str) -> list[str]:
    """The password and the values of the query of an address, as they are and as they were written."""
    found = ADDRESS.match(uri)
    rest = found[2] if found else ""
    user = rest.rpartition("@")[0] if not rest.startswith("/") else ""
    written = [user, user.partition(":")[2], *(value for _, value in parse_qsl(rest.partition("?")[2]))]
    every = {*written, *map(unquote, written)}
    return sorted((secret for secret in every if len(secret) > 3), key=len, reverse=True)


def portable(text: str) -> str:
    """A text, as of a traceback, without credentials and without the folders of this user and machine."""
    text = shown(text)
    for folder, name in sorted(_folders().items(), key=lambda item: -len(item[0])):
        text = re.sub(rf"(?<![\w.~-]){re.escape(folder)}(?![\w.-])", name, text)
    return HOMES.sub("~", text)


def _folders() -> dict[str, str]:
    """What the folders of this user and machine are called where others read of them."""
    named = {str(Path(__file__).parents[1]): "gredkit", os.getcwd(): ".", str(Path.home()): "~"}
    for packages in (*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("platlib")):
        named[packages] = "site-packages"
    named |= {sysconfig.get_path("stdlib"): "python", sys.prefix: "python", sys.base_prefix: "python"}
    return {folder: name for folder, name in named.items() if len(Path(folder).parts) > 1}
