"""Eigenvectors of the normalised Laplacian of a graph, I - D^-1/2 A D^-1/2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gredkit.nn.positional.graph import normalised

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LARGEST_DENSE = 400  # nodes of a component; for larger ones the sparse solver is faster
SAME_VALUE = 1e-9  # eigenvalues of different components that are this close count as equal
SAME_SIZE = 1e-6  # entries of an eigenvector that are this close, relative to the largest, count as equal


def eigenvectors(A: csr_array, k: int) -> np.ndarray:
    """The k eigenvectors with the smallest non-zero eigenvalues of I - D^-1/2 A D^-1/2.

    Each connected component has one eigenvector with eigenvalue 0, so components are solved separately: an
    eigenvector is non-zero on one component only. Equal eigenvalues are ordered by component, the one with
    the lowest node first. If there are fewer than k eigenvectors, the remaining columns are zero.
    Shape: [nodes, nodes] -> [nodes, k]
    """
    from scipy.sparse import eye_array
    from scipy.sparse.csgraph import connected_components

    L = eye_array(A.shape[0], format="csr") - normalised(A)
    component = connected_components(A, directed=False)[1]
    sizes = np.bincount(component)
    members = np.split(np.argsort(component, kind="stable"), sizes.cumsum()[:-1])
    values, found = [], []
    for nodes in members:
        if len(nodes) > 1:
            of_component, vectors = eigenpairs(L[nodes][:, nodes], k)
            values += of_component.tolist()
            found += [(nodes, vector) for vector in vectors.T]
    result = np.zeros((A.shape[0], k))
    for column, i in enumerate(ascending(np.array(values))[:k]):
        nodes, vector = found[i]
        result[nodes, column] = with_sign(vector)
    return result


def eigenpairs(L: csr_array, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest eigenpairs of a connected graph, without the first one (eigenvalue 0).

    Shape: -> [k], [nodes, k]
    """
    solve = eigenpairs_dense if L.shape[0] <= max(LARGEST_DENSE, 2 * k + 2) else eigenpairs_sparse
    values, vectors = solve(L, k + 1)
    return values[1:], vectors[:, 1:]


def eigenpairs_dense(L: csr_array, k: int) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(L.toarray())
    return values[:k], vectors[:, :k]


def eigenpairs_sparse(L: csr_array, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Lanczos iteration on (L + shift I)^-1; the matrix is positive definite, so no pivoting is needed."""
    from scipy.sparse import eye_array
    from scipy.sparse.linalg import LinearOperator, eigsh, splu

    nodes, shift = L.shape[0], 1e-6
    shifted = (L + shift * eye_array(nodes)).tocsc()
    factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    inverse = LinearOperator(L.shape, factors.solve, dtype=L.dtype)
    start = np.random.default_rng(0).standard_normal(nodes)  # ARPACK's own start vector differs between calls
    values, vectors = eigsh(L, k, sigma=-shift, OPinv=inverse, v0=start)
    order = values.argsort()
    return values[order], vectors[:, order]


def ascending(values: np.ndarray) -> np.ndarray:
    """Positions sorted by value; values that differ only by rounding keep their order. Shape: [n] -> [n]"""
    order = values.argsort(kind="stable")
    group = np.cumsum(np.diff(values[order], prepend=values[order[:1]]) > SAME_VALUE)
    return order[np.lexsort((order, group))]


def with_sign(vector: np.ndarray) -> np.ndarray:
    """The vector with the sign that makes its largest entry positive.

    If several entries are equally large up to rounding, that of the lowest node decides.
    """
    size = np.abs(vector)
    largest = np.argmax(size >= (1 - SAME_SIZE) * size.max())
    return vector if vector[largest] > 0 else -vector
