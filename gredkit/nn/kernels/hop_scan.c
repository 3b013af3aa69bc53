/* The recurrence along each node's hops, read at the target: s_k = lambda s_{k+1} + u_{v,k}; the result is s_0. */
#include "common.h"

/* One step; a state is n real parts followed by n imaginary parts. */
static inline void advance(int n, const float *restrict re, const float *restrict im, const float *restrict before,
                           const float *restrict u, float *restrict after) {
#pragma omp simd
  for (int j = 0; j < n; j++) {
    const float a = before[j], b = before[n + j];
    after[j] = u[j] + re[j] * a - im[j] * b;
    after[n + j] = u[n + j] + re[j] * b + im[j] * a;
  }
}

/* u [sets, 2n], start [nodes + 1], set [...] nearest hop first, re and im [n] of lambda -> s [nodes, 2n] */
int hop_scan_forward(int threads, index_t nodes, int n, const index_t *start, const index_t *set, const float *u,
                     const float *re, const float *im, float *s) {
  Memory shared = {0};
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *state = scratch(&mine, (size_t)4 * n);
#pragma omp for schedule(dynamic, 16)
    for (index_t v = 0; v < nodes; v++) {
      if (mine.failed) continue;
      float *now = state, *next = state + 2 * n;
      memset(now, 0, sizeof(float) * 2 * n);
      for (index_t at = start[v + 1] - 1; at >= start[v]; at--) {
        advance(n, re, im, now, u + set[at] * 2 * n, next);
        float *swap = now;
        now = next, next = swap;
      }
      memcpy(s + v * 2 * n, now, sizeof(float) * 2 * n);
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}

/* `cut` is the same as in hop_filter.c. into_lambda [2n] are the gradients of re, then of im. */
int hop_scan_backward(int threads, index_t nodes, int n, index_t sets, const index_t *start, const index_t *set,
                      index_t cuts, const index_t *cut, const float *u, const float *re, const float *im,
                      const float *into_s, float *into_u, float *into_lambda) {
  int longest = 0;
  for (index_t v = 0; v < nodes; v++) longest = start[v + 1] - start[v] > longest ? (int)(start[v + 1] - start[v]) : longest;
  const size_t share = (size_t)4 * n; /* numbers per part: the gradients of lambda and of u of the empty set */
  Memory shared = {0};
  float *shares = scratch(&shared, share * cuts);
  if (shared.failed) return release(&shared);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *states = scratch(&mine, (size_t)(longest + 1) * 2 * n), *g = scratch(&mine, (size_t)2 * n);
#pragma omp for schedule(static)
    for (index_t r = 0; r < sets; r++) memset(into_u + r * 2 * n, 0, sizeof(float) * 2 * n);
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < cuts; c++) {
      float *lambda = shares + c * share, *empty = lambda + 2 * n;
      for (index_t v = cut[c]; v < cut[c + 1] && !mine.failed; v++) {
        const int length = (int)(start[v + 1] - start[v]);
        memset(states + (size_t)length * 2 * n, 0, sizeof(float) * 2 * n);
        for (int k = length - 1; k > 0; k--) /* s_0 itself is not needed */
          advance(n, re, im, states + (size_t)(k + 1) * 2 * n, u + set[start[v] + k] * 2 * n, states + (size_t)k * 2 * n);
        memcpy(g, into_s + v * 2 * n, sizeof(float) * 2 * n);
        for (int k = 0; k < length; k++) {
          const index_t at = set[start[v] + k];
          float *restrict to = at == sets - 1 ? empty : into_u + at * 2 * n;
          const float *restrict s = states + (size_t)(k + 1) * 2 * n;
#pragma omp simd
          for (int j = 0; j < n; j++) {
            const float a = g[j], b = g[n + j];
            to[j] += a;
            to[n + j] += b;
            lambda[j] += a * s[j] + b * s[n + j];
            lambda[n + j] += b * s[j] - a * s[n + j];
            g[j] = re[j] * a + im[j] * b; /* the gradient moves to the next hop with conj(lambda) */
            g[n + j] = re[j] * b - im[j] * a;
          }
        }
      }
    }
    release_into(&mine, &shared);
  }
  memset(into_lambda, 0, sizeof(float) * 2 * n);
  for (index_t c = 0; c < cuts; c++)
    for (int j = 0; j < 2 * n; j++) {
      into_lambda[j] += shares[c * share + j];
      into_u[(sets - 1) * 2 * n + j] += shares[c * share + 2 * n + j];
    }
  return release(&shared);
}
