/* One matrix per hop: y_v = sum_k z_{v,k} M_k. */
#include "steps.h"

/* start [n + 1], set [...]: the sequence of each node, nearest hop first; matrices [width, d, d], input by output. */
int hop_filter_forward(int threads, index_t n, int d, int width, const index_t *start, const index_t *set, const float *z,
                       const float *matrices, float *y) {
  const int p = padded(d);
  Memory shared = {0};
  float *copy = p != d ? scratch(&shared, (size_t)width * d * p) : NULL;
  if (shared.failed) return release(&shared);
  if (copy) copy_padded(matrices, (index_t)width * d, d, 0, copy);
  const float *M = copy ? copy : matrices;
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *out = scratch(&mine, (size_t)(TILE + MR) * p), *zero = scratch(&mine, p);
    const float *row[TILE];
#pragma omp for schedule(dynamic)
    for (index_t begin = 0; begin < n; begin += TILE) {
      if (mine.failed) continue;
      const int count = (int)smaller(TILE, n - begin);
      memset(out, 0, sizeof(float) * TILE * p);
      for (int k = 0; k < width; k++) {
        for (int i = 0; i < TILE; i++) {
          const index_t v = begin + i;
          row[i] = i < count && start[v] + k < start[v + 1] ? z + set[start[v] + k] * d : zero;
        }
        rows_times(row, count, d, M + (size_t)k * d * p, p, p, out, p, 1);
      }
      for (int i = 0; i < count; i++) memcpy(y + (begin + i) * d, out + i * p, d * sizeof(float));
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}

/* `cut` [cuts + 1] are the borders of parts of the nodes; parts share no set except the last one, the empty set. */
int hop_filter_backward(int threads, index_t n, int d, int width, index_t sets, const index_t *start, const index_t *set,
                        index_t cuts, const index_t *cut, const float *z, const float *matrices, const float *into_y,
                        float *into_z, float *into_matrices) {
  const int p = padded(d), blocks = (d + BLOCK - 1) / BLOCK;
  Memory shared = {0};
  float *turned = scratch(&shared, (size_t)width * d * p), *empty = scratch(&shared, (size_t)cuts * p);
  float *wide = d % MR ? scratch(&shared, (size_t)sets * p) : NULL; /* because blocks of MR columns would read beyond the end of z */
  float *copy = p != d ? scratch(&shared, (size_t)n * p) : NULL;
  if (shared.failed) return release(&shared);
  if (wide) copy_padded(z, sets, d, 0, wide);
  if (copy) copy_padded(into_y, n, d, 0, copy);
  const float *rows_of_z = wide ? wide : z, *g = copy ? copy : into_y;
  const int ld = wide ? p : d;
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *out = scratch(&mine, (size_t)TILE * p), *zero = scratch(&mine, p), *sum = scratch(&mine, (size_t)BLOCK * p);
    const float *row[TILE];
#pragma omp for schedule(dynamic)
    for (int k = 0; k < width; k++) copy_padded(matrices + (size_t)k * d * d, d, d, 1, turned + (size_t)k * d * p);
#pragma omp for schedule(static)
    for (index_t r = 0; r < sets; r++) memset(into_z + r * d, 0, d * sizeof(float));
#pragma omp for schedule(dynamic) nowait
    for (index_t c = 0; c < cuts; c++)
      for (index_t begin = cut[c]; begin < cut[c + 1] && !mine.failed; begin += TILE) {
        const int count = (int)smaller(TILE, cut[c + 1] - begin);
        pointers(row, g + begin * p, count, p);
        for (int k = 0; k < width; k++) {
          rows_times(row, count, d, turned + (size_t)k * d * p, p, p, out, p, 0);
          for (int i = 0; i < count; i++) {
            const index_t at = start[begin + i] + k;
            if (at >= start[begin + i + 1]) continue;
            float *to = set[at] == sets - 1 ? empty + c * p : into_z + set[at] * d;
#pragma omp simd
            for (int j = 0; j < d; j++) to[j] += out[i * p + j];
          }
        }
      }
#pragma omp for schedule(dynamic) collapse(2)
    for (int k = 0; k < width; k++)
      for (int b = 0; b < blocks; b++) {
        if (mine.failed) continue;
        const int first = b * BLOCK, high = (int)smaller(BLOCK, d - first);
        memset(sum, 0, sizeof(float) * BLOCK * p);
        for (index_t begin = 0; begin < n; begin += TILE) {
          const int count = (int)smaller(TILE, n - begin);
          for (int i = 0; i < count; i++) {
            const index_t at = start[begin + i] + k;
            row[i] = at < start[begin + i + 1] ? rows_of_z + set[at] * ld + first : zero;
          }
          outer_sum(row, high, g + begin * p, p, p, count, sum, p);
        }
        for (int i = 0; i < high; i++)
          memcpy(into_matrices + ((size_t)k * d + first + i) * d, sum + (size_t)i * p, d * sizeof(float));
      }
    release_into(&mine, &shared);
  }
  for (index_t c = 0; c < cuts; c++)
    for (int j = 0; j < d; j++) into_z[(sets - 1) * d + j] += empty[c * p + j];
  return release(&shared);
}

