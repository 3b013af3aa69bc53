/* Attention of each node over the hops of its sequence: out_v = sum_k softmax_k(q_v . key_{v,k}) value_{v,k}, per head.
 *
 * Rows hold e numbers of each of m heads, and the heads are the fastest index: number j of head i is at j m + i. So one
 * vector holds the same number of 8 heads, and m is a multiple of 8. q [nodes, e m] is scaled already; a row of kv [sets, 2 e m]
 * is a key followed by a value. */
#include "common.h"

typedef struct {
  index_t nodes, sets, cuts, heads, size; /* size: e */
} Shape;
typedef struct {
  const index_t *start, *set, *cut; /* the sequences, and the borders of parts that share no set except the last one */
} Sequences;

static inline vec load(const float *from) { return *(const vec *)from; }

/* sum_j a[j] b[j] for 8 heads; rows are `m` numbers apart */
static inline vec dot(int e, int m, const float *restrict a, const float *restrict b) {
  vec sum = load(a) * load(b);
  for (int j = 1; j < e; j++) sum += load(a + (size_t)j * m) * load(b + (size_t)j * m);
  return sum;
}

/* to[j] += weight a[j] for 8 heads */
static inline void add(int e, int m, vec weight, const float *restrict a, float *restrict to) {
  for (int j = 0; j < e; j++) *(vec *)(to + (size_t)j * m) += weight * load(a + (size_t)j * m);
}

/* The softmax over `length` hops of 8 heads, in place; p is [length, m]. */
static void softmax(int length, int m, float *p) {
  vec largest = load(p), sum = {0};
  for (int k = 1; k < length; k++) {
    const vec x = load(p + (size_t)k * m);
    for (int i = 0; i < V; i++) largest[i] = x[i] > largest[i] || x[i] != x[i] ? x[i] : largest[i]; /* NaN stays NaN */
  }
  for (int k = 0; k < length; k++) {
    float *x = p + (size_t)k * m;
#pragma omp simd
    for (int i = 0; i < V; i++) x[i] = exp_of_minus(largest[i] - x[i]);
    sum += load(x);
  }
  for (int k = 0; k < length; k++) *(vec *)(p + (size_t)k * m) /= sum;
}

/* -> p [rows, heads], the weights of the hops, and out [nodes, e heads] */
int attention_forward(int threads, const Shape *of, const Sequences *index, const float *q, const float *kv, float *p, float *out) {
  const int e = (int)of->size, m = (int)of->heads;
  const size_t d = (size_t)e * m;
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
  for (index_t v = 0; v < of->nodes; v++) {
    const index_t start = index->start[v], length = index->start[v + 1] - start;
    memset(out + v * d, 0, sizeof(float) * d);
    for (int i = 0; i < m; i += V) {
      float *weights = p + start * m + i;
      for (index_t k = 0; k < length; k++) *(vec *)(weights + k * m) = dot(e, m, q + v * d + i, kv + index->set[start + k] * 2 * d + i);
      softmax((int)length, m, weights);
      for (index_t k = 0; k < length; k++)
        add(e, m, load(weights + k * m), kv + index->set[start + k] * 2 * d + d + i, out + v * d + i);
    }
  }
  return DONE;
}

int attention_backward(int threads, const Shape *of, const Sequences *index, const float *q, const float *kv, const float *p,
                       const float *into_out, float *into_q, float *into_kv) {
  const int e = (int)of->size, m = (int)of->heads;
  const size_t d = (size_t)e * m;
  index_t longest = 0;
  for (index_t v = 0; v < of->nodes; v++)
    longest = index->start[v + 1] - index->start[v] > longest ? index->start[v + 1] - index->start[v] : longest;
  Memory shared = {0};
  float *empty = scratch(&shared, (size_t)of->cuts * 2 * d); /* each part's share of the empty set */
  if (shared.failed) return release(&shared);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *into = uncleared(&mine, longest * V);
#pragma omp for schedule(static)
    for (index_t r = 0; r < of->sets; r++) memset(into_kv + r * 2 * d, 0, sizeof(float) * 2 * d);
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < of->cuts; c++)
      for (index_t v = index->cut[c]; v < index->cut[c + 1] && !mine.failed; v++) {
        const index_t start = index->start[v], length = index->start[v + 1] - start;
        memset(into_q + v * d, 0, sizeof(float) * d);
        for (int i = 0; i < m; i += V) {
          const float *g = into_out + v * d + i;
          vec mean = {0};
          for (index_t k = 0; k < length; k++) {
            const vec slope = dot(e, m, g, kv + index->set[start + k] * 2 * d + d + i);
            *(vec *)(into + k * V) = slope;
            mean += slope * load(p + (start + k) * m + i);
          }
          for (index_t k = 0; k < length; k++) {
            const index_t set = index->set[start + k];
            const vec weight = load(p + (start + k) * m + i), score = weight * (load(into + k * V) - mean);
            float *to = (set == of->sets - 1 ? empty + c * 2 * d : into_kv + set * 2 * d) + i;
            add(e, m, score, kv + set * 2 * d + i, into_q + v * d + i);
            add(e, m, score, q + v * d + i, to);
            add(e, m, weight, g, to + d);
          }
        }
      }
    release_into(&mine, &shared);
  }
  for (index_t c = 0; c < of->cuts; c++)
    for (size_t j = 0; j < 2 * d; j++) into_kv[(of->sets - 1) * 2 * d + j] += empty[c * 2 * d + j];
  return release(&shared);
}
