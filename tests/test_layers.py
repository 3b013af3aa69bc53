"""The order of the rooms: a module imports from its own room and from those before it, and never in a circle."""

import ast
from pathlib import Path

import pytest

import gredkit

HOME = Path(gredkit.__file__).parent
ORDER = (  # the rooms, from the ground up; those of one row are one room
    ("errors", "names", "ranges", "registry", "paths", "imports", "system", "__init__"),
    ("data",),
    ("nn",),
    ("training",),
    ("config",),
    ("trials",),
    ("tracking",),
    ("inference",),
    ("reports",),
    ("ablation",),
    ("cli", "components", "copying", "report", "predict", "explain", "run", "bench", "__main__"),
)
FLOOR = {room: floor for floor, rooms in enumerate(ORDER) for room in rooms}
MODULES = {".".join(path.relative_to(HOME.parent).with_suffix("").parts): path for path in HOME.rglob("*.py")}


def room(module: str) -> str:
    """The room of a module; the command of a package, its `__main__`, stands with the other commands."""
    parts = module.split(".")
    if len(parts) == 1:
        return "__init__"
    return "__main__" if parts[-1] == "__main__" else parts[1]


def imported(module: str, at_once: bool) -> set[str]:
    """The modules of gredkit that a module imports; `at_once`, only those that it imports when it is loaded itself."""
    tree = ast.parse(MODULES[module].read_text())
    found: set[str] = set()
    for node in _statements(tree, at_once):
        names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        for name in names:
            if name and name.split(".")[0] == "gredkit":
                below = [f"{name}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
                modules = [one for one in below if one in MODULES or f"{one}.__init__" in MODULES]
                found |= set(modules) if modules else {name}
    return {f"{one}.__init__" if one not in MODULES else one for one in found} - {module, "gredkit.__init__"}


def _statements(tree: ast.AST, at_once: bool):
    """Import statements; what stands below `if TYPE_CHECKING` is for type checkers alone."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        elif not (at_once and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)):
            yield from _statements(child, at_once)


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"gredkit.__init__"}))
def test_no_module_imports_from_a_room_above_its_own(module):
    upward = {one for one in imported(module, at_once=False) if FLOOR[room(one)] > FLOOR[room(module)]}
    assert not upward, f"{module} imports {', '.join(sorted(upward))}"


IN_CIRCLES = {  # packages inside a room that import each other or modules beside them, both ways; no others may
    "gredkit.nn.kernels": "the layer asks whether the kernels compute it, and they know the index that they read",
    "gredkit.reports.drawing": "a style asks the base of figures which section a figure stands in",
    "gredkit.reports.figures": "figures are drawn with the helpers in drawing",
    "gredkit.reports.page": "the other tables are laid out as those of the page",
}


def unit(module: str) -> str:
    """The package inside a room that a module belongs to, or the module itself."""
    return ".".join(module.split(".")[:3])


def test_no_packages_inside_a_room_import_each_other_in_a_circle():
    imports: dict[str, set[str]] = {}
    for module in MODULES:
        here = {unit(one) for one in imported(module, at_once=True) if room(one) == room(module)}
        imports.setdefault(unit(module), set()).update(here - {unit(module)})
    reach = {one: set(others) for one, others in imports.items()}
    for middle in reach:  # all that a unit imports, also through others
        for one in reach:
            reach[one] |= reach[middle] if middle in reach[one] else set()
    packages = {package for package in reach if f"{package}.__init__" in MODULES}
    assert {package for package in packages if package in reach[package]} == set(IN_CIRCLES)


def test_every_room_has_its_place():
    assert {room(module) for module in MODULES} <= set(FLOOR)


def test_no_modules_import_each_other_in_a_circle():
    """When modules are loaded; a function that imports another module when it is called makes no circle."""
    waiting = {module: imported(module, at_once=True) for module in MODULES if module != "gredkit.__init__"}
    while free := {module for module, needs in waiting.items() if not needs & waiting.keys()}:
        waiting = {module: needs for module, needs in waiting.items() if module not in free}
    assert not waiting, f"in circles, or importing some: {', '.join(sorted(waiting))}"
