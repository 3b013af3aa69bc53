/* A sparse matrix of zeros and ones, given by the columns of each row: its product with dense rows, and its transpose. */
#include "steps.h"

enum { CHUNK = 64, WIDEST = 12 }; /* rows that a thread takes at a time, since rows differ in length; vectors held in registers */

/* out = sum of the listed rows of x, for `nv` vectors of columns, held in registers. */
static inline __attribute__((always_inline)) void sum_vectors(const int nv, const float *x, int d, const index_t *column,
                                                               index_t count, float *out) {
  vec acc[WIDEST] = {{0}};
  for (index_t i = 0; i < count; i++) {
    const float *row = x + column[i] * d;
    for (int j = 0; j < nv; j++) acc[j] += *(const vec *)(row + j * V);
  }
  for (int j = 0; j < nv; j++) *(vec *)(out + j * V) = acc[j];
}

/* out_r = sum of x_c over the columns c of row r. start [rows + 1], column [...], x [..., d] -> out [rows, d] */
int set_sum(int threads, index_t rows, int d, const index_t *start, const index_t *column, const float *x, float *out) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, CHUNK)
  for (index_t r = 0; r < rows; r++) {
    const index_t *listed = column + start[r], count = start[r + 1] - start[r];
    int j = 0;
    while (j + V <= d) {
      const int left = (d - j) / V;
      const float *from = x + j;
      float *to = out + r * d + j;
      if (left >= 12) sum_vectors(12, from, d, listed, count, to), j += 12 * V;
      else if (left >= 9) sum_vectors(9, from, d, listed, count, to), j += 9 * V;
      else if (left >= 4) sum_vectors(4, from, d, listed, count, to), j += 4 * V;
      else if (left >= 2) sum_vectors(2, from, d, listed, count, to), j += 2 * V;
      else sum_vectors(1, from, d, listed, count, to), j += V;
    }
    for (; j < d; j++) {
      float sum = 0;
      for (index_t i = 0; i < count; i++) sum += x[listed[i] * d + j];
      out[r * d + j] = sum;
    }
  }
  return DONE;
}

/* Checks what the functions here rely on: the rows divide `column` in order, and all listed columns exist. */
int check_rows(int threads, index_t rows, index_t entries, index_t columns, const index_t *start, const index_t *column) {
  (void)threads; /* one is enough: memory is the bottleneck */
  uint64_t wrong = start[0] != 0 || start[rows] != entries;
  for (index_t r = 0; r < rows; r++) wrong |= start[r] > start[r + 1];
  for (index_t at = 0; at < entries; at++) wrong |= (uint64_t)column[at] >= (uint64_t)columns; /* negative ones are huge when unsigned */
  return wrong ? NOT_THERE : DONE;
}

/* The rows of each column, in ascending order. -> turned_start [columns + 1], turned_row [...] */
int transpose(int threads, index_t rows, index_t columns, const index_t *start, const index_t *column, index_t *turned_start,
              index_t *turned_row) {
  (void)threads;
  memset(turned_start, 0, (columns + 1) * sizeof(index_t));
  for (index_t at = 0; at < start[rows]; at++) turned_start[column[at] + 1]++;
  for (index_t c = 0; c < columns; c++) turned_start[c + 1] += turned_start[c];
  for (index_t r = 0; r < rows; r++)
    for (index_t at = start[r]; at < start[r + 1]; at++) turned_row[turned_start[column[at]]++] = r;
  memmove(turned_start + 1, turned_start, columns * sizeof(index_t)); /* each start has moved to that of the next column */
  turned_start[0] = 0;
  return DONE;
}
