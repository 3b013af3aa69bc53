/* Vectors, and products of small matrices. Rows are padded to a multiple of V columns, so that products have no remainder.
 *
 * Each number of a result is summed in the order of k, whatever the size of vectors and blocks. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef float vec __attribute__((vector_size(32), aligned(4), may_alias));
typedef int64_t index_t;

#if defined(__AVX512F__) && defined(__AVX512VL__)
typedef float wide __attribute__((vector_size(64), aligned(4), may_alias)); /* twice as many products at once */
enum { W = 16 };
#else
typedef vec wide;
enum { W = 8 };
#endif

enum { V = 8, MR = 4, TILE = 64, BLOCK = 24 };

#define MAYBE_UNUSED __attribute__((unused))

static inline int padded(int n) { return (n + V - 1) / V * V; }
static inline index_t smaller(index_t a, index_t b) { return a < b ? a : b; }

/* Load a vector once for several products; otherwise compilers load it again for each of them. */
#if defined(__x86_64__)
#define IN_REGISTER(v) __asm__("" : "+v"(v))
#else
#define IN_REGISTER(v)
#endif

/* C[i, j] (+)= sum_k rows[i][k] B[k, j] for MR rows and nw wide vectors of columns, then nv of V columns, held in registers. */
static inline __attribute__((always_inline)) void block_rows(const int nw, const int nv, const float *const *rows, int k,
                                                              const float *B, int ldb, float *C, int ldc, int add) {
  wide acc[MR][4];
  vec rest[MR];
  for (int i = 0; i < MR; i++) {
    for (int j = 0; j < nw; j++) acc[i][j] = add ? *(const wide *)(C + i * ldc + j * W) : (wide){0};
    if (nv) rest[i] = add ? *(const vec *)(C + i * ldc + nw * W) : (vec){0};
  }
  for (int p = 0; p < k; p++) {
    wide b[4];
    vec last;
    for (int j = 0; j < nw; j++) {
      b[j] = *(const wide *)(B + (index_t)p * ldb + j * W);
      IN_REGISTER(b[j]);
    }
    if (nv) {
      last = *(const vec *)(B + (index_t)p * ldb + nw * W);
      IN_REGISTER(last);
    }
    for (int i = 0; i < MR; i++) {
      const float x = rows[i][p];
      for (int j = 0; j < nw; j++) acc[i][j] += x * b[j];
      if (nv) rest[i] += x * last;
    }
  }
  for (int i = 0; i < MR; i++) {
    for (int j = 0; j < nw; j++) *(wide *)(C + i * ldc + j * W) = acc[i][j];
    if (nv) *(vec *)(C + i * ldc + nw * W) = rest[i];
  }
}

/* C[i, j] += sum_t A[t][first + i] B[t][j] for MR columns of A and as many columns of B. */
static inline __attribute__((always_inline)) void block_outer(const int nw, const int nv, const float *const *A, int first,
                                                               const float *B, int ldb, int t, float *C, int ldc) {
  wide acc[MR][4];
  vec rest[MR];
  for (int i = 0; i < MR; i++) {
    for (int j = 0; j < nw; j++) acc[i][j] = *(const wide *)(C + i * ldc + j * W);
    if (nv) rest[i] = *(const vec *)(C + i * ldc + nw * W);
  }
  for (int p = 0; p < t; p++) {
    const float *a = A[p] + first;
    wide b[4];
    vec last;
    for (int j = 0; j < nw; j++) {
      b[j] = *(const wide *)(B + (index_t)p * ldb + j * W);
      IN_REGISTER(b[j]);
    }
    if (nv) {
      last = *(const vec *)(B + (index_t)p * ldb + nw * W);
      IN_REGISTER(last);
    }
    for (int i = 0; i < MR; i++) {
      for (int j = 0; j < nw; j++) acc[i][j] += a[i] * b[j];
      if (nv) rest[i] += a[i] * last;
    }
  }
  for (int i = 0; i < MR; i++) {
    for (int j = 0; j < nw; j++) *(wide *)(C + i * ldc + j * W) = acc[i][j];
    if (nv) *(vec *)(C + i * ldc + nw * W) = rest[i];
  }
}

/* How many of the columns that are left (a multiple of V) a panel has: those of three wide vectors, or of two where one would
 * be left alone, because 12 or 8 sums in registers keep the arithmetic units busy; or all of four and a half, for the same reason. */
static inline int panel(int left) {
  const int vectors = left / W, nw = vectors == 4 ? (left % W ? 4 : 2) : vectors > 3 ? 3 : vectors;
  return nw * W + (left - nw * W == V ? V : 0);
}

/* Calls a block for a panel of w columns with constants that make its loops straight code. */
#define OF_WIDTH(w, block, ...)                                \
  switch ((w) / W * 2 + ((w) % W != 0)) {                      \
    case 1: block(0, 1, __VA_ARGS__); break;                   \
    case 2: block(1, 0, __VA_ARGS__); break;                   \
    case 3: block(1, 1, __VA_ARGS__); break;                   \
    case 4: block(2, 0, __VA_ARGS__); break;                   \
    case 5: block(2, 1, __VA_ARGS__); break;                   \
    case 6: block(3, 0, __VA_ARGS__); break;                   \
    case 7: block(3, 1, __VA_ARGS__); break;                   \
    default: block(4, 1, __VA_ARGS__);                         \
  }

/* C[m, n] (+)= rows @ B. Rows beyond m up to a multiple of MR must exist in `rows` and C. */
MAYBE_UNUSED static void rows_times(const float *const *rows, int m, int k, const float *B, int ldb, int n, float *C, int ldc, int add) {
  for (int j = 0, w; j < n; j += w) {
    w = panel(n - j);
    for (int i = 0; i < m; i += MR) OF_WIDTH(w, block_rows, rows + i, k, B + j, ldb, C + (index_t)i * ldc + j, ldc, add)
  }
}

/* C[m, n] += A^T @ B over t rows. Columns of A beyond m up to a multiple of MR must exist, and rows of C. */
MAYBE_UNUSED static void outer_sum(const float *const *A, int m, const float *B, int ldb, int n, int t, float *C, int ldc) {
  for (int j = 0, w; j < n; j += w) {
    w = panel(n - j);
    for (int i = 0; i < m; i += MR) OF_WIDTH(w, block_outer, A, i, B + j, ldb, t, C + (index_t)i * ldc + j, ldc)
  }
}

/* A stride for rows: an odd number of cache lines, so that rows do not share their places in the cache. */
static inline int stride(int columns) { return ((columns + 15) / 16 | 1) * 16; }

/* The rows of a matrix B [k, padded columns] panel by panel: the rows of a panel are consecutive, so that it stays in the
 * cache. Number (i, j) of B is from[i * down + j * across], and 0 beyond `columns`. */
MAYBE_UNUSED static void pack(const float *from, int k, int columns, size_t down, size_t across, float *to) {
  for (int first = 0, w; first < padded(columns); first += w) {
    w = panel(padded(columns) - first);
    for (int i = 0; i < k; i++)
      for (int j = first; j < first + w; j++) *to++ = j < columns ? from[i * down + j * across] : 0.0f;
  }
}

/* The same as `rows_times` for a packed B; C has padded columns. */
MAYBE_UNUSED static void rows_times_packed(const float *const *rows, int m, int k, const float *B, int columns, float *C, int ldc,
                                           int add) {
  for (int j = 0, w; j < padded(columns); j += w) {
    w = panel(padded(columns) - j);
    rows_times(rows, m, k, B + (size_t)j * k, w, w, C + j, ldc, add);
  }
}

MAYBE_UNUSED static void pointers(const float *rows[], const float *base, int count, int ld) {
  for (int i = 0; i < TILE; i++) rows[i] = base + (size_t)(i < count ? i : 0) * ld;
}
