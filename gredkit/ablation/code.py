"""Source code reduced to what it computes: without comments, layout, docstrings and error messages."""

import ast
import re

COMMENT = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|/\*.*?\*/|//[^\n]*""", re.DOTALL)
CHECKS = "ranges"  # the module whose functions only check values and raise errors


def python_code(source: str) -> str:
    """The syntax tree of a Python module as text; changes of prose do not change it."""
    return ast.dump(_WithoutProse().visit(ast.parse(source)))


def c_code(source: str) -> str:
    """A C file without comments and layout."""
    return " ".join(COMMENT.sub(lambda found: found[1] or " ", source).split())


class _WithoutProse(ast.NodeTransformer):
    """Removes docstrings, and empties the texts in `raise` statements and in checks of ranges."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        return _emptied(node) if _is_check(node.value) else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return _emptied(node)


class _Emptied(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return ast.Constant("")


def _emptied(node: ast.AST) -> ast.AST:
    return _Emptied().visit(node)


def _is_check(call: ast.expr) -> bool:
    """Whether this is `ranges.something(…)`."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    return isinstance(call.func.value, ast.Name) and call.func.value.id == CHECKS
