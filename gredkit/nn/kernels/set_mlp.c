/* The set MLP and the norm after it: x = a + down(gelu(up(norm(a)))), z = norm(x). */
#include "steps.h"

/* The norms of MR rows, computed together so that the sums of different rows run in parallel. stats receives the mean and
 * the inverse standard deviation. */
static inline void norm(const float *const *x, int d, float eps, const float *w, const float *b, float *const *stats,
                        float *const *out) {
  const int whole = d / V * V;
  vec sums[MR] = {{0}}, squares[MR] = {{0}};
  float mean[MR], scale[MR];
  for (int j = 0; j < whole; j += V)
    for (int i = 0; i < MR; i++) sums[i] += *(const vec *)(x[i] + j);
  for (int i = 0; i < MR; i++) {
    mean[i] = total(sums[i]);
    for (int j = whole; j < d; j++) mean[i] += x[i][j];
    mean[i] /= d;
  }
  for (int j = 0; j < whole; j += V)
    for (int i = 0; i < MR; i++) {
      const vec apart = *(const vec *)(x[i] + j) - mean[i];
      squares[i] += apart * apart;
    }
  for (int i = 0; i < MR; i++) {
    float square = total(squares[i]);
    for (int j = whole; j < d; j++) square += (x[i][j] - mean[i]) * (x[i][j] - mean[i]);
    scale[i] = 1.0f / sqrtf(square / d + eps);
    stats[i][0] = mean[i];
    stats[i][1] = scale[i];
  }
  for (int j = 0; j < whole; j += V) {
    const vec wj = *(const vec *)(w + j), bj = *(const vec *)(b + j);
    for (int i = 0; i < MR; i++) *(vec *)(out[i] + j) = (*(const vec *)(x[i] + j) - mean[i]) * scale[i] * wj + bj;
  }
  for (int j = whole; j < d; j++)
    for (int i = 0; i < MR; i++) out[i][j] = (x[i][j] - mean[i]) * scale[i] * w[j] + b[j];
}

/* For MR rows: into_x = base + the gradient of the norm at x, where g is the gradient of its output; adds to the gradients
 * of the weights. */
static inline void norm_backward(const float *const *x, int d, const float *const *stats, const float *w, const float *const *g,
                                 const float *const *base, float *const *into_x, float *into_w, float *into_b) {
  const int whole = d / V * V;
  vec alongs[MR] = {{0}}, levels[MR] = {{0}};
  float along[MR], level[MR];
  for (int j = 0; j < whole; j += V) {
    const vec wj = *(const vec *)(w + j);
    vec sum_w = *(vec *)(into_w + j), sum_b = *(vec *)(into_b + j);
    for (int i = 0; i < MR; i++) {
      const vec hat = (*(const vec *)(x[i] + j) - stats[i][0]) * stats[i][1], gj = *(const vec *)(g[i] + j);
      alongs[i] += gj * wj * hat;
      levels[i] += gj * wj;
      sum_w += gj * hat;
      sum_b += gj;
    }
    *(vec *)(into_w + j) = sum_w;
    *(vec *)(into_b + j) = sum_b;
  }
  for (int i = 0; i < MR; i++) {
    along[i] = total(alongs[i]);
    level[i] = total(levels[i]);
    for (int j = whole; j < d; j++) {
      const float hat = (x[i][j] - stats[i][0]) * stats[i][1];
      along[i] += g[i][j] * w[j] * hat;
      level[i] += g[i][j] * w[j];
      into_w[j] += g[i][j] * hat;
      into_b[j] += g[i][j];
    }
    along[i] *= stats[i][1] / d;
    level[i] /= d;
  }
  for (int j = 0; j < whole; j += V) {
    const vec wj = *(const vec *)(w + j);
    for (int i = 0; i < MR; i++)
      *(vec *)(into_x[i] + j) = *(const vec *)(base[i] + j) +
          stats[i][1] * (*(const vec *)(g[i] + j) * wj - level[i] - (*(const vec *)(x[i] + j) - stats[i][0]) * along[i]);
  }
  for (int j = whole; j < d; j++)
    for (int i = 0; i < MR; i++)
      into_x[i][j] = base[i][j] + stats[i][1] * (g[i][j] * w[j] - level[i] - (x[i][j] - stats[i][0]) * along[i]);
}

/* u [rows, padded m], x [rows, padded d] and stats [rows, 4] are kept for the backward pass. If there is no backward pass,
 * u and stats are NULL, and x [nodes, padded d] receives only the rows whose `node` is not -1. */
int set_mlp_forward(int threads, index_t rows, int d, int m, int form, float eps, const float *a, const SetWeights *weights,
                    const index_t *node, float *u, float *x, float *stats, float *z) {
  const int p = padded(d), q = padded(m);
  Memory shared = {0};
  float *up = scratch(&shared, (size_t)d * q), *down = scratch(&shared, (size_t)m * p);
  if (shared.failed) return release(&shared);
  copy_padded(weights->up, m, d, 1, up);
  copy_padded(weights->down, d, m, 1, down);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *ln = scratch(&mine, (size_t)TILE * p), *g = scratch(&mine, (size_t)TILE * q);
    float *out = scratch(&mine, (size_t)TILE * (p > q ? p : q)), *unread = scratch(&mine, (size_t)MR * p);
    float no_stats[4], *stat[MR], *to[MR];
    const float *row[TILE], *from[MR];
#pragma omp for schedule(dynamic)
    for (index_t begin = 0; begin < rows; begin += TILE) {
      if (mine.failed) continue;
      const int count = (int)smaller(TILE, rows - begin);
      for (int i = 0; i < count; i += MR) {
        for (int k = 0; k < MR; k++) { /* beyond the end, repeat the last row */
          const index_t at = smaller(i + k, count - 1);
          from[k] = a + (begin + at) * d;
          stat[k] = stats ? stats + (begin + at) * 4 : no_stats;
          to[k] = ln + at * p;
        }
        norm(from, d, eps, weights->norm_w, weights->norm_b, stat, to);
      }
      pointers(row, ln, count, p);
      rows_times(row, count, d, up, q, q, out, q, 0);
      for (int i = 0; i < count; i++) {
        float *ui = u ? u + (begin + i) * q : out + i * q;
        const float *o = out + i * q;
#pragma omp simd
        for (int j = 0; j < m; j++) ui[j] = o[j] + weights->up_b[j];
        gelu(form, m, ui, g + i * q, NULL);
      }
      pointers(row, g, count, q);
      rows_times(row, count, m, down, p, p, out, p, 0);
      for (int i = 0; i < count; i += MR) {
        for (int k = 0; k < MR; k++) {
          const index_t at = smaller(i + k, count - 1), r = begin + at;
          const float *ai = a + r * d, *o = out + at * p;
          float *xi = u ? x + r * p : node[r] >= 0 ? x + node[r] * p : unread + k * p;
#pragma omp simd
          for (int j = 0; j < d; j++) xi[j] = ai[j] + o[j] + weights->down_b[j];
          from[k] = xi;
          stat[k] = (stats ? stats + r * 4 : no_stats) + 2;
          to[k] = z + r * d;
        }
        norm(from, d, eps, weights->last_w, weights->last_b, stat, to);
      }
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}

/* Recomputes z from what was kept. */
void last_norm(int threads, index_t rows, int d, const SetWeights *weights, const float *x, const float *stats, float *z) {
  const int p = padded(d);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (index_t r = 0; r < rows; r++) {
    const float mean = stats[r * 4 + 2], scale = stats[r * 4 + 3];
#pragma omp simd
    for (int j = 0; j < d; j++) z[r * d + j] = (x[r * p + j] - mean) * scale * weights->last_w[j] + weights->last_b[j];
  }
}

/* `node` gives for each row its row in into_x0 (the gradient of x at some rows), or -1. */
int set_mlp_backward(int threads, index_t rows, int d, int m, int form, const float *a, const SetWeights *weights,
                     const float *u, const float *x, const float *stats, const float *into_z, const float *into_x0, const index_t *node,
                     float *into_a, SetGradients *into) {
  const int p = padded(d), q = padded(m);
  const size_t at_up = 0, at_down = (size_t)padded(m) * p, at_rest = at_down + (size_t)padded(d) * q;
  const size_t share = at_rest + 5 * p + q;
  Memory shared = {0};
  float *up = scratch(&shared, (size_t)m * p), *down = scratch(&shared, (size_t)d * q), *shares = scratch(&shared, share * threads);
  if (shared.failed) return release(&shared);
  copy_padded(weights->up, m, d, 0, up);
  copy_padded(weights->down, d, m, 0, down);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *sums = shares + share * omp_get_thread_num(), *rest = sums + at_rest;
    float *dx = scratch(&mine, (size_t)TILE * p), *ln = scratch(&mine, (size_t)TILE * p), *dln = scratch(&mine, (size_t)TILE * p);
    float *g = scratch(&mine, (size_t)TILE * q), *slope = scratch(&mine, (size_t)TILE * q), *du = scratch(&mine, (size_t)TILE * q);
    float *zero = scratch(&mine, p), *unread = scratch(&mine, p), *to[MR];
    const float *row[TILE], *from[MR], *stat[MR], *into_out[MR], *base[MR];
#pragma omp for schedule(static)
    for (index_t begin = 0; begin < rows; begin += TILE) {
      if (mine.failed) continue;
      const int count = (int)smaller(TILE, rows - begin);
      for (int i = 0; i < count; i += MR) {
        for (int k = 0; k < MR; k++) { /* beyond the end, use a row with zero gradient */
          const int is_there = i + k < count;
          const index_t r = begin + (is_there ? i + k : 0);
          from[k] = x + r * p;
          stat[k] = stats + r * 4 + 2;
          into_out[k] = is_there ? into_z + r * d : zero;
          base[k] = is_there && node[r] >= 0 ? into_x0 + node[r] * d : zero;
          to[k] = is_there ? dx + (i + k) * p : unread;
        }
        norm_backward(from, d, stat, weights->last_w, into_out, base, to, rest, rest + p);
      }
      gelu(form, count * q, u + begin * q, g, slope);
      for (int i = 0; i < count; i++) {
        const index_t r = begin + i;
        const float *ai = a + r * d, mean = stats[r * 4], scale = stats[r * 4 + 1], *dxi = dx + i * p;
        float *lni = ln + i * p;
#pragma omp simd
        for (int j = 0; j < d; j++) {
          rest[2 * p + j] += dxi[j];
          lni[j] = (ai[j] - mean) * scale * weights->norm_w[j] + weights->norm_b[j];
        }
      }
      pointers(row, dx, count, p);
      outer_sum(row, d, g, q, q, count, sums + at_down, q);
      rows_times(row, count, d, down, q, q, du, q, 0);
      for (int i = 0; i < count; i++)
#pragma omp simd
        for (int j = 0; j < m; j++) {
          du[i * q + j] *= slope[i * q + j];
          rest[5 * p + j] += du[i * q + j];
        }
      pointers(row, du, count, q);
      outer_sum(row, m, ln, p, p, count, sums + at_up, p);
      rows_times(row, count, m, up, p, p, dln, p, 0);
      for (int i = 0; i < count; i += MR) {
        for (int k = 0; k < MR; k++) {
          const int is_there = i + k < count;
          const index_t r = begin + (is_there ? i + k : 0);
          from[k] = a + r * d;
          stat[k] = stats + r * 4;
          into_out[k] = is_there ? dln + (i + k) * p : zero;
          base[k] = is_there ? dx + (i + k) * p : zero;
          to[k] = is_there ? into_a + r * d : unread;
        }
        norm_backward(from, d, stat, weights->norm_w, into_out, base, to, rest + 3 * p, rest + 4 * p);
      }
    }
    release_into(&mine, &shared);
  }
  add_shares(into->up, shares + at_up, share, threads, m, d);
  add_shares(into->down, shares + at_down, share, threads, d, m);
  add_shares(into->last_w, shares + at_rest, share, threads, 1, d);
  add_shares(into->last_b, shares + at_rest + p, share, threads, 1, d);
  add_shares(into->down_b, shares + at_rest + 2 * p, share, threads, 1, d);
  add_shares(into->norm_w, shares + at_rest + 3 * p, share, threads, 1, d);
  add_shares(into->norm_b, shares + at_rest + 4 * p, share, threads, 1, d);
  add_shares(into->up_b, shares + at_rest + 5 * p, share, threads, 1, m);
  return release(&shared);
}

