/* The steps after the encoder: h = drop(value(t) * sigmoid(gate(t))) + x0 with t = drop(gelu(y)). */
#include "steps.h"

/* Node v uses row at[v] of x0, or row v if `at` is NULL; rows are `ld` numbers apart.
 * pre [n, 2 padded d] (value, gate) is kept for the backward pass; NULL if there is no backward pass. */
int gate_forward(int threads, index_t n, int d, int form, uint32_t limit, float scale, uint32_t seed, const float *y, const float *x0,
                 const index_t *at, int ld, const GateWeights *weights, float *pre, float *h) {
  const int p = padded(d), full = weights->value != NULL;
  Memory shared = {0};
  float *W = scratch(&shared, (size_t)d * 2 * p);
  if (shared.failed) return release(&shared);
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++) {
      if (full) W[(size_t)j * 2 * p + i] = weights->value[(size_t)i * d + j];
      W[(size_t)j * 2 * p + p + i] = weights->gate[(size_t)i * d + j];
    }
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *out = scratch(&mine, (size_t)TILE * 2 * p), *gated = scratch(&mine, p), *some = scratch(&mine, (size_t)TILE * p);
    const float *row[TILE];
#pragma omp for schedule(dynamic)
    for (index_t begin = 0; begin < n; begin += TILE) {
      if (mine.failed) continue;
      const int count = (int)smaller(TILE, n - begin);
      for (int i = 0; i < count; i++) {
        gelu(form, d, y + (begin + i) * d, some + i * p, NULL);
        drop(d, seed, begin + i, limit, scale, some + i * p);
      }
      pointers(row, some, count, p);
      if (full) rows_times(row, count, d, W, 2 * p, 2 * p, out, 2 * p, 0);
      else rows_times(row, count, d, W + p, 2 * p, p, out + p, 2 * p, 0);
      for (int i = 0; i < count; i++) {
        const index_t r = begin + i;
        float *o = out + i * 2 * p, *value = pre ? pre + r * 2 * p : o, *gate = value + p;
        const float *x = x0 + (at ? at[r] : r) * ld;
        if (full)
#pragma omp simd
          for (int j = 0; j < d; j++) value[j] = o[j] + weights->value_b[j];
        else memcpy(value, some + i * p, d * sizeof(float));
#pragma omp simd
        for (int j = 0; j < d; j++) {
          gate[j] = o[p + j] + weights->gate_b[j];
          gated[j] = value[j] * sigmoid_of(gate[j]);
        }
        drop(d, ~seed, r, limit, scale, gated);
#pragma omp simd
        for (int j = 0; j < d; j++) h[r * d + j] = x[j] + gated[j];
      }
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}

int gate_backward(int threads, index_t n, int d, int form, uint32_t limit, float scale, uint32_t seed, const float *y,
                  const GateWeights *weights, const float *pre, const float *into_h, float *into_y,
                  GateGradients *into) {
  const int p = padded(d), full = weights->value != NULL;
  const size_t share = (size_t)2 * p * p + 2 * p;
  Memory shared = {0};
  float *W = scratch(&shared, (size_t)2 * p * p), *shares = scratch(&shared, share * threads);
  if (shared.failed) return release(&shared);
  if (full) copy_padded(weights->value, d, d, 0, W);
  copy_padded(weights->gate, d, d, 0, W + (size_t)p * p);
#pragma omp parallel num_threads(threads)
  {
    float *sums = shares + share * omp_get_thread_num(), *bias = sums + (size_t)2 * p * p;
    Memory mine = {0};
    float *g = scratch(&mine, (size_t)TILE * 2 * p), *dt = scratch(&mine, (size_t)TILE * p), *in = scratch(&mine, p);
    float *t = scratch(&mine, (size_t)TILE * p), *slope = scratch(&mine, (size_t)TILE * p);
    const float *row[TILE];
#pragma omp for schedule(static)
    for (index_t begin = 0; begin < n; begin += TILE) {
      if (mine.failed) continue;
      const int count = (int)smaller(TILE, n - begin);
      for (int i = 0; i < count; i++) {
        const index_t r = begin + i;
        const float *value = pre + r * 2 * p, *gate = value + p;
        float *dv = g + i * 2 * p, *dg = dv + p;
        gelu(form, d, y + r * d, t + i * p, slope + i * p);
        drop(d, seed, r, limit, scale, t + i * p);
        drop(d, seed, r, limit, scale, slope + i * p);
        memcpy(in, into_h + r * d, d * sizeof(float));
        drop(d, ~seed, r, limit, scale, in);
#pragma omp simd
        for (int j = 0; j < d; j++) {
          const float s = sigmoid_of(gate[j]);
          dv[j] = in[j] * s;
          dg[j] = in[j] * value[j] * s * (1.0f - s);
          bias[j] += dv[j];
          bias[p + j] += dg[j];
        }
      }
      if (full) {
        pointers(row, g, count, 2 * p);
        outer_sum(row, d, t, p, p, count, sums, p);
        rows_times(row, count, d, W, p, p, dt, p, 0);
      } else
        for (int i = 0; i < count; i++) memcpy(dt + i * p, g + i * 2 * p, p * sizeof(float));
      pointers(row, g + p, count, 2 * p);
      outer_sum(row, d, t, p, p, count, sums + (size_t)p * p, p);
      rows_times(row, count, d, W + (size_t)p * p, p, p, dt, p, 1);
      for (int i = 0; i < count; i++)
#pragma omp simd
        for (int j = 0; j < d; j++) into_y[(begin + i) * d + j] = dt[i * p + j] * slope[i * p + j];
    }
    release_into(&mine, &shared);
  }
  if (full) {
    add_shares(into->value, shares, share, threads, d, d);
    add_shares(into->value_b, shares + (size_t)2 * p * p, share, threads, 1, d);
  }
  add_shares(into->gate, shares + (size_t)p * p, share, threads, d, d);
  add_shares(into->gate_b, shares + (size_t)2 * p * p + p, share, threads, 1, d);
  return release(&shared);
}
