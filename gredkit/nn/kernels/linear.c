/* A linear layer over many rows: y = W x + b. */
#include "common.h"

enum { MOST_SHARES = 16, FEWEST_TILES = 4 };

/* x [rows, n], W [m, n], b [m] -> y [rows, m] */
int linear_forward(int threads, index_t rows, int n, int m, const float *x, const float *weight, const float *b, float *y) {
  const int ld = stride(m);
  Memory shared = {0};
  float *packed = uncleared(&shared, (size_t)n * padded(m));
  if (shared.failed) return release(&shared);
  pack(weight, n, m, 1, n, packed);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *out = uncleared(&mine, (size_t)TILE * ld);
    const float *row[TILE];
#pragma omp for schedule(dynamic)
    for (index_t begin = 0; begin < rows; begin += TILE) {
      if (mine.failed) continue;
      const int count = (int)smaller(TILE, rows - begin);
      pointers(row, x + begin * n, count, n);
      rows_times_packed(row, count, n, packed, m, out, ld, 0);
      for (int i = 0; i < count; i++) {
        float *restrict to = y + (begin + i) * m;
        const float *restrict from = out + (size_t)i * ld;
#pragma omp simd
        for (int j = 0; j < m; j++) to[j] = from[j] + b[j];
      }
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}

/* The rows that one share of the gradients of W and b sums. It depends on the number of rows alone, so that results have the
 * same bits with any number of threads. */
static index_t rows_of_share(index_t rows) {
  const index_t tiles = (rows + (index_t)TILE * MOST_SHARES - 1) / ((index_t)TILE * MOST_SHARES);
  return (tiles > FEWEST_TILES ? tiles : FEWEST_TILES) * TILE;
}

int linear_backward(int threads, index_t rows, int n, int m, const float *x, const float *weight, const float *into_y,
                    float *into_x, float *into_weight, float *into_b) {
  const int p = padded(n), ld = stride(m);
  const index_t step = rows_of_share(rows), count_of_shares = (rows + step - 1) / step;
  const size_t share = (size_t)(p + 1) * ld; /* the gradient of W, transposed, and that of b */
  Memory shared = {0};
  float *packed = uncleared(&shared, (size_t)m * p), *shares = uncleared(&shared, share * (count_of_shares + 1));
  if (shared.failed) return release(&shared);
  pack(weight, m, n, n, 1, packed);
  if (!count_of_shares) memset(shares, 0, sizeof(float) * share);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *in = scratch(&mine, (size_t)TILE * p), *g = scratch(&mine, (size_t)TILE * ld);
    float *out = uncleared(&mine, (size_t)TILE * p);
    const float *row[TILE];
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < count_of_shares; c++) {
      if (mine.failed) continue;
      float *sum = shares + c * share, *restrict of_b = sum + (size_t)p * ld;
      memset(sum, 0, sizeof(float) * share);
      for (index_t begin = c * step; begin < smaller(rows, (c + 1) * step); begin += TILE) {
        const int count = (int)smaller(TILE, rows - begin);
        for (int i = 0; i < count; i++) { /* copies, because products read whole vectors */
          const float *restrict from = into_y + (begin + i) * m;
          float *restrict to = g + (size_t)i * ld;
          memcpy(in + (size_t)i * p, x + (begin + i) * n, sizeof(float) * n);
#pragma omp simd
          for (int j = 0; j < m; j++) {
            to[j] = from[j];
            of_b[j] += from[j];
          }
        }
        pointers(row, in, count, p);
        outer_sum(row, n, g, ld, padded(m), count, sum, ld);
        pointers(row, g, count, ld);
        rows_times_packed(row, count, m, packed, n, out, p, 0);
        for (int i = 0; i < count; i++) memcpy(into_x + (begin + i) * n, out + (size_t)i * p, sizeof(float) * n);
      }
    }
#pragma omp for schedule(static)
    for (int i = 0; i <= n; i++) { /* in the order of the shares */
      float *restrict sum = shares + (size_t)(i < n ? i : p) * ld;
      for (index_t c = 1; c < count_of_shares; c++)
#pragma omp simd
        for (int j = 0; j < m; j++) sum[j] += sum[c * share + j];
      for (int j = 0; j < m; j++) *(i < n ? into_weight + (size_t)j * n + i : into_b + j) = sum[j];
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}
