/* Non-linear recurrences over hop sequences: RNN, LSTM and GRU, on states that `merge_states` has listed.
 *
 * The inputs of the gates come from outside, one row per set. A part of the nodes is one piece of work: its levels are
 * computed one after the other, each as products of tiles. `records` hold what a state computes, q = padded(n) numbers each:
 *   RNN   h                        h = tanh(p + U h')
 *   LSTM  i f g o c h              c = f c' + i g, h = o tanh(c)
 *   GRU   r z m a h                m = U_a h' + b, a = tanh(p_a + r m), h = (1 - z) a + z h'
 * where h' and c' belong to the state before, and are 0 for the first. */
#include "common.h"

enum { RNN = 0, LSTM = 1, GRU = 2 };
static const int GATES[] = {1, 4, 3}, SLOTS[] = {1, 6, 5};

typedef struct {
  index_t kind, nodes, sets, cuts, states, n;
} Shape;
typedef struct {
  const index_t *cut, *set, *parent, *last, *level, *first; /* as `merge_states` describes them */
} States;

/* Sizes in numbers. */
static int columns_of(const Shape *of) { return GATES[of->kind] * padded((int)of->n); }
static size_t record(const Shape *of) { return (size_t)SLOTS[of->kind] * padded((int)of->n); }

/* The records of a part begin here; MR rows behind them are scratch, because products write whole blocks of rows. */
static size_t place(const States *index, index_t part) { return index->level[index->first[part]] + part * MR; }

/* U [gates n, n] with padding behind each gate: [gates q, n] */
static void pad_gates(const Shape *of, const float *U, float *to) {
  const size_t n = of->n, q = padded((int)n);
  memset(to, 0, sizeof(float) * GATES[of->kind] * q * n);
  for (int gate = 0; gate < GATES[of->kind]; gate++) memcpy(to + gate * q * n, U + gate * n * n, sizeof(float) * n * n);
}

/* ---- elementwise ---- */

static inline float tanh_of(float x) {
  const float size = fabsf(x), e = exp_of_minus(2.0f * size), s = x * x;
  float p = -5.70498872745e-3f;
  p = p * s + 2.06390887954e-2f;
  p = p * s - 5.37397155531e-2f;
  p = p * s + 1.33314422036e-1f;
  p = p * s - 3.33332819422e-1f;
  const float near = x + x * s * p, far = (1.0f - e) / (1.0f + e); /* `far` cancels near 0 */
  return size < 0.625f ? near : x < 0 ? -far : far;
}

/* One state from its gates: p has been added to the products already, except for the last gate of a GRU, whose input `p` is. */
static void compute(const Shape *of, const float *restrict p, const float *restrict b, const float *restrict before,
                    float *restrict at) {
  const int n = (int)of->n, q = padded(n);
  if (of->kind == RNN)
#pragma omp simd
    for (int j = 0; j < n; j++) at[j] = tanh_of(at[j]);
  else if (of->kind == LSTM)
#pragma omp simd
    for (int j = 0; j < n; j++) {
      const float i = sigmoid_of(at[j]), f = sigmoid_of(at[q + j]), g = tanh_of(at[2 * q + j]), o = sigmoid_of(at[3 * q + j]);
      const float c = f * before[4 * q + j] + i * g;
      at[j] = i, at[q + j] = f, at[2 * q + j] = g, at[3 * q + j] = o, at[4 * q + j] = c;
      at[5 * q + j] = o * tanh_of(c);
    }
  else
#pragma omp simd
    for (int j = 0; j < n; j++) {
      const float r = sigmoid_of(at[j]), z = sigmoid_of(at[q + j]), m = at[2 * q + j] + b[j], a = tanh_of(p[j] + r * m);
      at[j] = r, at[q + j] = z, at[2 * q + j] = m, at[3 * q + j] = a;
      at[4 * q + j] = (1.0f - z) * a + z * before[4 * q + j];
    }
}

/* Gradients of one state: from into_h and, for an LSTM, into_c, those of the gates' inputs (`into_p`), of the products with U
 * (`into_u`, the same except for a GRU), and what reaches the state before directly (`through`: of c' or h'). */
static void differentiate(const Shape *of, const float *restrict before, const float *restrict at, const float *restrict into_h,
                          const float *restrict into_c, float *restrict into_p, float *restrict into_u, float *restrict through) {
  const int n = (int)of->n, q = padded(n);
  if (of->kind == RNN)
#pragma omp simd
    for (int j = 0; j < n; j++) into_u[j] = into_p[j] = into_h[j] * (1.0f - at[j] * at[j]);
  else if (of->kind == LSTM)
#pragma omp simd
    for (int j = 0; j < n; j++) {
      const float i = at[j], f = at[q + j], g = at[2 * q + j], o = at[3 * q + j], t = tanh_of(at[4 * q + j]);
      const float into = into_c[j] + into_h[j] * o * (1.0f - t * t);
      into_u[j] = into_p[j] = into * g * i * (1.0f - i);
      into_u[q + j] = into_p[n + j] = into * before[4 * q + j] * f * (1.0f - f);
      into_u[2 * q + j] = into_p[2 * n + j] = into * i * (1.0f - g * g);
      into_u[3 * q + j] = into_p[3 * n + j] = into_h[j] * t * o * (1.0f - o);
      through[j] = into * f;
    }
  else
#pragma omp simd
    for (int j = 0; j < n; j++) {
      const float r = at[j], z = at[q + j], m = at[2 * q + j], a = at[3 * q + j];
      const float into_a = into_h[j] * (1.0f - z) * (1.0f - a * a);
      into_u[j] = into_p[j] = into_a * m * r * (1.0f - r);
      into_u[q + j] = into_p[n + j] = into_h[j] * (before[4 * q + j] - a) * z * (1.0f - z);
      into_p[2 * n + j] = into_a;
      into_u[2 * q + j] = into_a * r;
      through[j] = into_h[j] * z;
    }
}

/* ---- forward ---- */

/* The records of all states of a part; `zero` is a record of zeros, for the state before the first. */
static void part_forward(const Shape *of, const States *index, index_t part, const float *p, const float *b, const float *panels,
                         const float *zero, float *records) {
  const int n = (int)of->n, q = padded(n), gates = GATES[of->kind], products = columns_of(of);
  const size_t size = record(of), last = size - q;
  const index_t begin = index->level[index->first[part]];
  const float *row[TILE];
  for (index_t l = index->first[part]; l < index->first[part + 1]; l++)
    for (index_t s = index->level[l]; s < index->level[l + 1]; s += TILE) {
      const int count = (int)smaller(TILE, index->level[l + 1] - s), read = of->kind == GRU ? 2 : gates;
      float *to = records + (s - begin) * size;
      for (int i = 0; i < count; i++) {
        const float *from = p + index->set[s + i] * gates * n;
        float *at = to + i * size;
        for (int gate = 0; gate < read; gate++) {
          memcpy(at + gate * q, from + gate * n, n * sizeof(float));
          memset(at + gate * q + n, 0, (q - n) * sizeof(float));
        }
        if (read < gates) memset(at + read * q, 0, q * sizeof(float));
      }
      if (index->parent[s] >= 0) { /* either all states of a level have one before them or none has */
        for (int i = 0; i < TILE; i++) row[i] = records + (index->parent[s + (i < count ? i : 0)] - begin) * size + last;
        rows_times_packed(row, count, n, panels, products, to, (int)size, 1);
      }
      for (int i = 0; i < count; i++) {
        const index_t before = index->parent[s + i];
        compute(of, p + (index->set[s + i] * gates + gates - 1) * n, b, before < 0 ? zero : records + (before - begin) * size,
                to + i * size);
      }
    }
}

static index_t most_states(const Shape *of, const States *index) {
  index_t most = 0;
  for (index_t c = 0; c < of->cuts; c++) {
    const index_t count = index->level[index->first[c + 1]] - index->level[index->first[c]];
    most = count > most ? count : most;
  }
  return most;
}

/* The number of floats for the records of all states. */
index_t records_room(const Shape *of) { return (index_t)((of->states + of->cuts * MR) * record(of)); }

/* p [sets, gates n], U [gates n, n], b [n], which only a GRU reads -> s [nodes, n]; `records` may be NULL */
int recurrent_forward(int threads, const Shape *of, const States *index, const float *p, const float *U, const float *b,
                      float *records, float *s) {
  const int n = (int)of->n, q = padded(n);
  const size_t size = record(of);
  const index_t most = records ? 0 : most_states(of, index) + MR;
  Memory shared = {0};
  float *padded_U = uncleared(&shared, (size_t)n * columns_of(of)), *panels = uncleared(&shared, (size_t)n * columns_of(of));
  float *zero = scratch(&shared, size);
  if (shared.failed) return release(&shared);
  pad_gates(of, U, padded_U);
  pack(padded_U, n, columns_of(of), 1, n, panels);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *own = records ? NULL : uncleared(&mine, most * size);
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < of->cuts; c++) {
      if (mine.failed) continue;
      float *part = records ? records + place(index, c) * size : own;
      part_forward(of, index, c, p, b, panels, zero, part);
      for (index_t v = index->cut[c]; v < index->cut[c + 1]; v++)
        memcpy(s + v * n, part + (index->last[v] - index->level[index->first[c]]) * size + size - q, n * sizeof(float));
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}

/* ---- backward ---- */

typedef struct {
  float *h, *c, *gates, *product, *of_p; /* [states, q], the same, [TILE, stride], [TILE, q], [gates n] */
} Gradients;

/* The gradients of a part. `sum` [q, stride] is that of U, transposed, `of_b` [q] that of b, `empty` [gates n] that of p of
 * the empty set, which parts share. */
static void part_backward(const Shape *of, const States *index, index_t part, const float *panels, const float *zero,
                          const float *records, const Gradients *g, float *into_p, float *sum, float *of_b, float *empty) {
  const int n = (int)of->n, q = padded(n), gates = GATES[of->kind], products = columns_of(of), ld = stride(products);
  const size_t size = record(of), last = size - q;
  const index_t begin = index->level[index->first[part]];
  float *through = g->of_p + (size_t)gates * n;
  const float *row[TILE], *before[TILE];
  for (index_t l = index->first[part + 1] - 1; l >= index->first[part]; l--)
    for (index_t s = index->level[l]; s < index->level[l + 1]; s += TILE) {
      const int count = (int)smaller(TILE, index->level[l + 1] - s), has_parents = index->parent[s] >= 0;
      for (int i = 0; i < count; i++) {
        const index_t here = s + i - begin, parent = index->parent[s + i], set = index->set[s + i];
        float *into_u = g->gates + (size_t)i * ld, *restrict to = set == of->sets - 1 ? empty : into_p + set * gates * n;
        before[i] = has_parents ? records + (parent - begin) * size : zero;
        differentiate(of, before[i], records + here * size, g->h + here * q, g->c ? g->c + here * q : NULL, g->of_p, into_u,
                      through);
#pragma omp simd
        for (int j = 0; j < gates * n; j++) to[j] += g->of_p[j];
        if (of->kind == GRU)
#pragma omp simd
          for (int j = 0; j < n; j++) of_b[j] += into_u[2 * q + j];
        if (of->kind != RNN && has_parents) {
          float *restrict on = (of->kind == LSTM ? g->c : g->h) + (parent - begin) * q;
#pragma omp simd
          for (int j = 0; j < n; j++) on[j] += through[j];
        }
      }
      if (!has_parents) continue;
      for (int i = 0; i < count; i++) before[i] += last;
      outer_sum(before, q, g->gates, ld, products, count, sum, ld);
      pointers(row, g->gates, count, ld);
      rows_times_packed(row, count, products, panels, q, g->product, q, 0);
      for (int i = 0; i < count; i++) {
        float *restrict on = g->h + (index->parent[s + i] - begin) * q;
        const float *restrict from = g->product + (size_t)i * q;
#pragma omp simd
        for (int j = 0; j < n; j++) on[j] += from[j];
      }
    }
}

/* `records` NULL: they are computed again. into_b [n] is written for a GRU only. */
int recurrent_backward(int threads, const Shape *of, const States *index, const float *p, const float *U, const float *b,
                       const float *records, const float *into_s, float *into_p, float *into_U, float *into_b) {
  const int n = (int)of->n, q = padded(n), gates = GATES[of->kind], ld = stride(columns_of(of));
  const size_t size = record(of), share = (size_t)q * ld + q + (size_t)gates * n; /* per part: of U, of b, of the empty set */
  const index_t most = most_states(of, index);
  Memory shared = {0};
  float *padded_U = uncleared(&shared, (size_t)n * columns_of(of)), *again = uncleared(&shared, (size_t)n * columns_of(of));
  float *panels = uncleared(&shared, (size_t)q * columns_of(of));
  float *zero = scratch(&shared, size), *shares = uncleared(&shared, share * of->cuts);
  if (shared.failed) return release(&shared);
  pad_gates(of, U, padded_U);
  pack(padded_U, columns_of(of), n, n, 1, panels);
  if (!records) pack(padded_U, n, columns_of(of), 1, n, again);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *own = records ? NULL : uncleared(&mine, (most + MR) * size);
    Gradients g = {.h = uncleared(&mine, most * q), .c = of->kind == LSTM ? uncleared(&mine, most * q) : NULL};
    g.gates = scratch(&mine, (size_t)(TILE + MR) * ld); /* the padding of its rows stays 0 */
    g.product = uncleared(&mine, (size_t)(TILE + MR) * q);
    g.of_p = uncleared(&mine, (size_t)(gates + 1) * n);
#pragma omp for schedule(static)
    for (index_t r = 0; r < of->sets; r++) memset(into_p + r * gates * n, 0, sizeof(float) * gates * n);
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < of->cuts; c++) {
      if (mine.failed) continue;
      const index_t begin = index->level[index->first[c]], count = index->level[index->first[c + 1]] - begin;
      float *sum = shares + c * share;
      memset(sum, 0, sizeof(float) * share);
      memset(g.h, 0, sizeof(float) * count * q);
      if (g.c) memset(g.c, 0, sizeof(float) * count * q);
      for (index_t v = index->cut[c]; v < index->cut[c + 1]; v++)
        for (int j = 0; j < n; j++) g.h[(index->last[v] - begin) * q + j] += into_s[v * n + j];
      if (!records) part_forward(of, index, c, p, b, again, zero, own);
      part_backward(of, index, c, panels, zero, records ? records + place(index, c) * size : own, &g, into_p, sum,
                    sum + (size_t)q * ld, sum + (size_t)q * ld + q);
    }
    release_into(&mine, &shared);
  }
  if (shared.failed) return release(&shared);
  for (index_t c = 1; c < of->cuts; c++) /* in the order of the parts */
#pragma omp simd
    for (size_t j = 0; j < share; j++) shares[j] += shares[c * share + j];
  for (int gate = 0; gate < gates; gate++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) into_U[((size_t)gate * n + i) * n + j] = shares[(size_t)j * ld + gate * q + i];
  if (of->kind == GRU) memcpy(into_b, shares + (size_t)q * ld, n * sizeof(float));
  for (int j = 0; j < gates * n; j++) into_p[(of->sets - 1) * gates * n + j] += shares[(size_t)q * ld + q + j];
  return release(&shared);
}
