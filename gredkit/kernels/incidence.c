/* A sparse matrix of ones, the columns of each row listed: its product with dense rows, and its transpose. */
#include "steps.h"

enum { CHUNK = 64 }; /* rows that a thread takes at once: they differ in length */

/* out_r = sum of x_c over the columns c of row r. start [rows + 1], column [...], x [..., d] -> out [rows, d] */
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

/* The rows of each column, in their order. -> turned_start [columns + 1], turned_row [...]; 0 if a column is not there. */
int transpose(int threads, index_t rows, index_t columns, const index_t *start, const index_t *column, index_t *turned_start,
              index_t *turned_row) {
  (void)threads; /* it waits for memory only */
  memset(turned_start, 0, (columns + 1) * sizeof(index_t));
  for (index_t at = start[0]; at < start[rows]; at++) {
    if (column[at] < 0 || column[at] >= columns) return 0;
    turned_start[column[at] + 1]++;
  }
  for (index_t c = 0; c < columns; c++) turned_start[c + 1] += turned_start[c];
  for (index_t r = 0; r < rows; r++)
    for (index_t at = start[r]; at < start[r + 1]; at++) turned_row[turned_start[column[at]]++] = r;
  memmove(turned_start + 1, turned_start, columns * sizeof(index_t)); /* each has become the next one's */
  turned_start[0] = 0;
  return 1;
}
