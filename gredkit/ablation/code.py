"""Source code reduced to what it computes: without comments, layout, docstrings and messages."""

import ast
import builtins
import re

COMMENT = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|/\*.*?\*/|//[^\n]*""", re.DOTALL)
SAYING = {"ranges", "log", "_log", "logger", "logging", "warnings"}  # objects whose methods check, or tell the user
ERRORS = {name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)}
FOR_READERS = {"label", "range"}  # what only reports read of a line that registers a metric


def python_code(source: str) -> str:
    """The syntax tree of a Python module as text; changes of prose do not change it."""
    return ast.dump(_WithoutProse().visit(ast.parse(source)))


def c_code(source: str) -> str:
    """A C file without comments and layout."""
    return " ".join(COMMENT.sub(lambda found: found[1] or " ", source).split())


class _WithoutProse(ast.NodeTransformer):
    """Removes docstrings and the labels of metrics, and empties the texts of errors, checks and log lines."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        return _emptied(node) if _only_says(node.value) else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return _emptied(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return self.generic_visit(ast.Assert(node.test, None))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """An error may be made before it is raised. A class of another name may be a component, so its texts count."""
        if isinstance(node.func, ast.Name) and node.func.id in {"UserError", *ERRORS}:
            return _emptied(node)
        if _method_of(node, {"METRICS"}) == "register":
            node.keywords = [keyword for keyword in node.keywords if keyword.arg not in FOR_READERS]
        return self.generic_visit(node)


class _Emptied(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("")


def _emptied(node: ast.AST) -> ast.AST:
    return _Emptied().visit(node)


def _only_says(statement: ast.expr) -> bool:
    """Whether this is `ranges.something(…)`, `log.warning(…)` or the like."""
    return isinstance(statement, ast.Call) and _method_of(statement, SAYING) is not None


def _method_of(call: ast.Call, owners: set[str]) -> str | None:
    """The name of the method that is called, if it belongs to one of these objects."""
    method = call.func
    if not isinstance(method, ast.Attribute) or not isinstance(method.value, ast.Name):
        return None
    return method.attr if method.value.id in owners else None
