/* The set MLP and the norm behind it: x = a + down(gelu(up(norm(a)))), z = norm(x). */
#include "steps.h"

/* stats receives the mean and the inverse deviation. */
static inline void norm(const float *x, int d, float eps, const float *w, const float *b, float *stats, float *out) {
  float sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
  for (int j = 0; j < d; j++) sum += x[j];
  const float mean = sum / d;
#pragma omp simd reduction(+ : square)
  for (int j = 0; j < d; j++) square += (x[j] - mean) * (x[j] - mean);
  const float scale = 1.0f / sqrtf(square / d + eps);
#pragma omp simd
  for (int j = 0; j < d; j++) out[j] = (x[j] - mean) * scale * w[j] + b[j];
  stats[0] = mean;
  stats[1] = scale;
}

/* into_x = base + the gradient of the norm at x, whose output has the gradient g; the weights' gradients are added to. */
static inline void norm_backward(const float *restrict x, int d, const float *stats, const float *w, const float *restrict g,
                                 const float *restrict base, float *restrict into_x, float *restrict into_w,
                                 float *restrict into_b) {
  const float mean = stats[0], scale = stats[1];
  float along = 0, level = 0;
#pragma omp simd reduction(+ : along, level)
  for (int j = 0; j < d; j++) {
    const float hat = (x[j] - mean) * scale, gw = g[j] * w[j];
    along += gw * hat;
    level += gw;
    into_w[j] += g[j] * hat;
    into_b[j] += g[j];
  }
  along /= d;
  level /= d;
#pragma omp simd
  for (int j = 0; j < d; j++) into_x[j] = base[j] + scale * (g[j] * w[j] - level - (x[j] - mean) * scale * along);
}

/* u [rows, padded m], x [rows, padded d] and stats [rows, 4] are kept for the backward pass. Without one u and stats are
 * NULL, and x [nodes, padded d] receives only the rows that `node` gives a place, which is not -1. */
void set_mlp_forward(int threads, index_t rows, int d, int m, int form, float eps, const float *a, const SetWeights *weights,
                     const index_t *node, float *u, float *x, float *stats, float *z) {
  const int p = padded(d), q = padded(m);
  float *up = scratch((size_t)d * q), *down = scratch((size_t)m * p);
  copy_padded(weights->up, m, d, 1, up);
  copy_padded(weights->down, d, m, 1, down);
#pragma omp parallel num_threads(threads)
  {
    float *ln = scratch((size_t)TILE * p), *g = scratch((size_t)TILE * q), *out = scratch((size_t)TILE * (p > q ? p : q));
    float *unread = scratch(p), no_stats[4];
    const float *row[TILE];
#pragma omp for schedule(dynamic)
    for (index_t begin = 0; begin < rows; begin += TILE) {
      const int count = (int)smaller(TILE, rows - begin);
      for (int i = 0; i < count; i++)
        norm(a + (begin + i) * d, d, eps, weights->norm_w, weights->norm_b, stats ? stats + (begin + i) * 4 : no_stats, ln + i * p);
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
      for (int i = 0; i < count; i++) {
        const index_t r = begin + i;
        const float *ai = a + r * d, *o = out + i * p;
        float *xi = u ? x + r * p : node[r] >= 0 ? x + node[r] * p : unread;
#pragma omp simd
        for (int j = 0; j < d; j++) xi[j] = ai[j] + o[j] + weights->down_b[j];
        norm(xi, d, eps, weights->last_w, weights->last_b, (stats ? stats + r * 4 : no_stats) + 2, z + r * d);
      }
    }
    free(ln), free(g), free(out), free(unread);
  }
  free(up), free(down);
}

/* `node` says which row of into_x0 (a gradient of x at some rows) belongs to a row, -1 for none. */
void set_mlp_backward(int threads, index_t rows, int d, int m, int form, const float *a, const SetWeights *weights,
                      const float *u, const float *x, const float *stats, const float *into_z, const float *into_x0, const index_t *node,
                      float *into_a, SetGradients *into) {
  const int p = padded(d), q = padded(m);
  float *up = scratch((size_t)m * p), *down = scratch((size_t)d * q);
  copy_padded(weights->up, m, d, 0, up);
  copy_padded(weights->down, d, m, 0, down);
  const size_t at_up = 0, at_down = (size_t)padded(m) * p, at_rest = at_down + (size_t)padded(d) * q;
  const size_t share = at_rest + 5 * p + q;
  float *shares = scratch(share * threads);
#pragma omp parallel num_threads(threads)
  {
    float *mine = shares + share * omp_get_thread_num(), *rest = mine + at_rest;
    float *dx = scratch((size_t)TILE * p), *ln = scratch((size_t)TILE * p), *dln = scratch((size_t)TILE * p);
    float *g = scratch((size_t)TILE * q), *slope = scratch((size_t)TILE * q), *du = scratch((size_t)TILE * q), *zero = scratch(p);
    const float *row[TILE];
#pragma omp for schedule(static)
    for (index_t begin = 0; begin < rows; begin += TILE) {
      const int count = (int)smaller(TILE, rows - begin);
      for (int i = 0; i < count; i++) {
        const index_t r = begin + i;
        const float *ai = a + r * d, mean = stats[r * 4], scale = stats[r * 4 + 1];
        float *dxi = dx + i * p, *lni = ln + i * p;
        const float *base = node[r] >= 0 ? into_x0 + node[r] * d : zero;
        norm_backward(x + r * p, d, stats + r * 4 + 2, weights->last_w, into_z + r * d, base, dxi, rest, rest + p);
        gelu(form, m, u + r * q, g + i * q, slope + i * q);
#pragma omp simd
        for (int j = 0; j < d; j++) {
          rest[2 * p + j] += dxi[j];
          lni[j] = (ai[j] - mean) * scale * weights->norm_w[j] + weights->norm_b[j];
        }
      }
      pointers(row, dx, count, p);
      outer_sum(row, d, g, q, q, count, mine + at_down, q);
      rows_times(row, count, d, down, q, q, du, q, 0);
      for (int i = 0; i < count; i++)
#pragma omp simd
        for (int j = 0; j < m; j++) {
          du[i * q + j] *= slope[i * q + j];
          rest[5 * p + j] += du[i * q + j];
        }
      pointers(row, du, count, q);
      outer_sum(row, m, ln, p, p, count, mine + at_up, p);
      rows_times(row, count, m, up, p, p, dln, p, 0);
      for (int i = 0; i < count; i++) {
        const index_t r = begin + i;
        norm_backward(a + r * d, d, stats + r * 4, weights->norm_w, dln + i * p, dx + i * p, into_a + r * d, rest + 3 * p,
                      rest + 4 * p);
      }
    }
    free(dx), free(ln), free(dln), free(g), free(slope), free(du), free(zero);
  }
  add_shares(into->up, shares + at_up, share, threads, m, d);
  add_shares(into->down, shares + at_down, share, threads, d, m);
  add_shares(into->last_w, shares + at_rest, share, threads, 1, d);
  add_shares(into->last_b, shares + at_rest + p, share, threads, 1, d);
  add_shares(into->down_b, shares + at_rest + 2 * p, share, threads, 1, d);
  add_shares(into->norm_w, shares + at_rest + 3 * p, share, threads, 1, d);
  add_shares(into->norm_b, shares + at_rest + 4 * p, share, threads, 1, d);
  add_shares(into->up_b, shares + at_rest + 5 * p, share, threads, 1, m);
  free(shares);
  free(up);
  free(down);
}

