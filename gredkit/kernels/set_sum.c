/* Sums of listed rows: out_r = sum of x_c over the columns c of row r. */
#include "common.h"

enum { CHUNK = 64 }; /* rows that a thread takes at once: they differ in length */

/* start [rows + 1], column [...], x [..., d] -> out [rows, d] */
void set_sum(int threads, index_t rows, int d, const index_t *start, const index_t *column, const float *x, float *out) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, CHUNK)
  for (index_t r = 0; r < rows; r++) {
    float *restrict to = out + r * d;
    if (start[r] == start[r + 1]) {
      memset(to, 0, d * sizeof(float));
      continue;
    }
    memcpy(to, x + column[start[r]] * d, d * sizeof(float));
    for (index_t at = start[r] + 1; at < start[r + 1]; at++) {
      const float *restrict from = x + column[at] * d;
#pragma omp simd
      for (int j = 0; j < d; j++) to[j] += from[j];
    }
  }
}
