/* Non-linear recurrences over hop sequences: RNN, LSTM and GRU, on states that `merge_states` has listed.
 *
 * A part of the nodes is one piece of work: p = W z + bias, the inputs of its gates, once for each set that it reads, then its
 * levels one after the other, each as products of tiles. So p and its gradient stay in the cache. `records` hold what a state
 * computes, as cells.h describes it. */
#include "cells.h"

typedef struct {
  index_t kind, nodes, sets, cuts, states, n, d;
} Shape;
typedef struct {
  const index_t *cut, *read, *parent, *last, *level, *first, *set, *begin; /* as `merge_states` describes them */
} States;
typedef struct {
  const float *W, *bias, *U, *b; /* [gates n, d], [gates n], [gates n, n], [n], which only a GRU reads */
} Weights;
typedef struct {
  float *W, *bias, *U, *b;
} WeightGradients;

/* Sizes in numbers: of the gates of a state, of the rows of p, of a record. */
static int gates_of(const Shape *of) { return GATES[of->kind] * padded((int)of->n); }
static int row_of(const Shape *of) { return stride(gates_of(of)); }
static size_t record(const Shape *of) { return (size_t)SLOTS[of->kind] * padded((int)of->n); }

/* The records of a part begin here; MR rows behind them are scratch, because products write whole blocks of rows. */
static size_t place(const States *index, index_t part) { return index->level[index->first[part]] + part * MR; }

/* The largest number of states, and of sets, in a part. */
static void most(const Shape *of, const States *index, index_t *states, index_t *sets) {
  *states = *sets = 0;
  for (index_t c = 0; c < of->cuts; c++) {
    const index_t count = index->level[index->first[c + 1]] - index->level[index->first[c]];
    *states = count > *states ? count : *states;
    *sets = index->begin[c + 1] - index->begin[c] > *sets ? index->begin[c + 1] - index->begin[c] : *sets;
  }
}

/* The weights as the products take them; what nothing asks for is NULL. */
typedef struct {
  float *W, *U, *W_back, *U_back, *bias, *zero; /* zero: a record, for the state before the first */
} Packed;

/* A matrix [gates n, columns] with padding behind each gate: [gates q, columns] */
static void pad_gates(const Shape *of, const float *from, size_t columns, float *to) {
  const size_t n = of->n, q = padded((int)n);
  memset(to, 0, sizeof(float) * gates_of(of) * columns);
  for (int gate = 0; gate < GATES[of->kind]; gate++)
    memcpy(to + gate * q * columns, from + gate * n * columns, sizeof(float) * n * columns);
}

static Packed packed(const Shape *of, const Weights *weights, int forward, int backward, Memory *memory) {
  const int n = (int)of->n, d = (int)of->d, all = gates_of(of);
  float *some = uncleared(memory, (size_t)all * (n > d ? n : d));
  Packed to = {.bias = uncleared(memory, all), .zero = scratch(memory, record(of))};
  if (forward) {
    to.W = uncleared(memory, (size_t)all * d);
    to.U = uncleared(memory, (size_t)all * n);
  }
  if (backward) {
    to.W_back = uncleared(memory, (size_t)all * padded(d));
    to.U_back = uncleared(memory, (size_t)all * padded(n));
  }
  if (memory->failed) return to;
  pad_gates(of, weights->bias, 1, to.bias);
  pad_gates(of, weights->W, d, some);
  if (forward) pack(some, d, all, 1, d, to.W);
  if (backward) pack(some, all, d, d, 1, to.W_back);
  pad_gates(of, weights->U, n, some);
  if (forward) pack(some, n, all, 1, n, to.U);
  if (backward) pack(some, all, n, n, 1, to.U_back);
  return to;
}

/* ---- forward ---- */

/* p of the sets of a part: z [sets, d] -> p [sets of the part, row_of] */
static void part_inputs(const Shape *of, const States *index, index_t part, const float *z, const Packed *weights, float *p) {
  const int d = (int)of->d, all = gates_of(of), ld = row_of(of);
  const float *row[TILE];
  for (index_t begin = index->begin[part]; begin < index->begin[part + 1]; begin += TILE) {
    const int count = (int)smaller(TILE, index->begin[part + 1] - begin);
    float *to = p + (begin - index->begin[part]) * ld;
    for (int i = 0; i < TILE; i++) row[i] = z + index->set[begin + (i < count ? i : 0)] * d;
    for (int i = 0; i < count; i++) memcpy(to + (size_t)i * ld, weights->bias, sizeof(float) * all);
    rows_times_packed(row, count, d, weights->W, all, to, ld, 1);
  }
}

/* The records of all states of a part. */
static void part_forward(const Shape *of, const States *index, index_t part, const float *p, const float *b, const Packed *weights,
                         float *records) {
  const int n = (int)of->n, q = padded(n), all = gates_of(of), ld = row_of(of), added = of->kind == GRU ? 2 * q : all;
  const size_t size = record(of), last = size - q;
  const index_t begin = index->level[index->first[part]];
  const float *row[TILE];
  for (index_t l = index->first[part]; l < index->first[part + 1]; l++)
    for (index_t s = index->level[l]; s < index->level[l + 1]; s += TILE) {
      const int count = (int)smaller(TILE, index->level[l + 1] - s);
      const index_t *read = index->read + s, *parent = index->parent + s;
      float *to = records + (s - begin) * size;
      for (int i = 0; i < count; i++) {
        memcpy(to + i * size, p + (read[i] - index->begin[part]) * ld, sizeof(float) * added);
        memset(to + i * size + added, 0, sizeof(float) * (all - added));
      }
      if (parent[0] >= 0) { /* either all states of a level have one before them or none has */
        for (int i = 0; i < TILE; i++) row[i] = records + (parent[i < count ? i : 0] - begin) * size + last;
        rows_times_packed(row, count, n, weights->U, all, to, (int)size, 1);
      }
      for (int i = 0; i < count; i++)
        compute((int)of->kind, n, p + (read[i] - index->begin[part]) * ld + all - q, b,
                parent[i] < 0 ? weights->zero : records + (parent[i] - begin) * size, to + i * size);
    }
}

/* The number of floats for the records of all states. */
index_t records_room(const Shape *of) { return (index_t)((of->states + of->cuts * MR) * record(of)); }

/* z [sets, d] -> s [nodes, n]; `records` may be NULL */
int recurrent_forward(int threads, const Shape *of, const States *index, const float *z, const Weights *weights, float *records,
                      float *s) {
  const int n = (int)of->n, q = padded(n);
  const size_t size = record(of);
  index_t most_states, most_sets;
  most(of, index, &most_states, &most_sets);
  Memory shared = {0};
  const Packed from = packed(of, weights, 1, 0, &shared);
  if (shared.failed) return release(&shared);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *p = uncleared(&mine, (most_sets + MR) * row_of(of));
    float *own = records ? NULL : uncleared(&mine, (most_states + MR) * size);
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < of->cuts; c++) {
      if (mine.failed) continue;
      float *part = records ? records + place(index, c) * size : own;
      part_inputs(of, index, c, z, &from, p);
      part_forward(of, index, c, p, weights->b, &from, part);
      for (index_t v = index->cut[c]; v < index->cut[c + 1]; v++)
        memcpy(s + v * n, part + (index->last[v] - index->level[index->first[c]]) * size + size - q, n * sizeof(float));
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}

/* ---- backward ---- */

typedef struct {
  float *h, *c, *p;               /* of the states of a part [states, q] twice, of the inputs of its sets [sets, row_of] */
  float *gates, *product, *of_a; /* of a tile: [TILE, row_of], [TILE, q or padded d], [2 q] */
} Gradients;

/* What a part adds to the gradients: U and W transposed, [q, row_of] and [padded d, row_of]; bias and b; z of the empty set. */
typedef struct {
  float *U, *W, *bias, *b, *empty;
} Share;

static Share share_of(const Shape *of, float *memory, size_t *size) {
  const size_t q = padded((int)of->n), d = padded((int)of->d), ld = row_of(of);
  *size = (q + d + 1) * ld + q + d;
  return (Share){memory, memory + q * ld, memory + (q + d) * ld, memory + (q + d + 1) * ld, memory + (q + d + 1) * ld + q};
}

/* The gradients of p and U. */
static void part_backward(const Shape *of, const States *index, index_t part, const Packed *weights, const float *records,
                          const Gradients *g, const Share *to) {
  const int n = (int)of->n, q = padded(n), all = gates_of(of), ld = row_of(of);
  const size_t size = record(of), last = size - q;
  const index_t begin = index->level[index->first[part]];
  float *through = g->of_a + q;
  const float *row[TILE], *before[TILE];
  for (index_t l = index->first[part + 1] - 1; l >= index->first[part]; l--)
    for (index_t s = index->level[l]; s < index->level[l + 1]; s += TILE) {
      const int count = (int)smaller(TILE, index->level[l + 1] - s), has_parents = index->parent[s] >= 0;
      for (int i = 0; i < count; i++) {
        const index_t here = s + i - begin, parent = index->parent[s + i];
        float *into_u = g->gates + (size_t)i * ld, *restrict p = g->p + (index->read[s + i] - index->begin[part]) * ld;
        before[i] = has_parents ? records + (parent - begin) * size : weights->zero;
        differentiate((int)of->kind, n, before[i], records + here * size, g->h + here * q, g->c ? g->c + here * q : NULL, into_u,
                      g->of_a, through);
        const float *restrict first = into_u, *restrict into_last = of->kind == GRU ? g->of_a : into_u + all - q;
#pragma omp simd
        for (int j = 0; j < all - q; j++) p[j] += first[j];
#pragma omp simd
        for (int j = 0; j < n; j++) p[all - q + j] += into_last[j];
        if (of->kind == GRU)
#pragma omp simd
          for (int j = 0; j < n; j++) to->b[j] += first[2 * q + j];
        if (of->kind != RNN && has_parents) {
          float *restrict on = (of->kind == LSTM ? g->c : g->h) + (parent - begin) * q;
#pragma omp simd
          for (int j = 0; j < n; j++) on[j] += through[j];
        }
      }
      if (!has_parents) continue;
      for (int i = 0; i < count; i++) before[i] += last;
      outer_sum(before, q, g->gates, ld, all, count, to->U, ld);
      pointers(row, g->gates, count, ld);
      rows_times_packed(row, count, all, weights->U_back, n, g->product, q, 0);
      for (int i = 0; i < count; i++) {
        float *restrict on = g->h + (index->parent[s + i] - begin) * q;
        const float *restrict from = g->product + (size_t)i * q;
#pragma omp simd
        for (int j = 0; j < n; j++) on[j] += from[j];
      }
    }
}

/* From the gradients of p those of W, bias and z; `in` [TILE, padded d] is scratch. */
static void part_inputs_backward(const Shape *of, const States *index, index_t part, const float *z, const Packed *weights,
                                 const Gradients *g, float *in, const Share *to, float *into_z) {
  const int d = (int)of->d, w = padded(d), all = gates_of(of), ld = row_of(of);
  const float *row[TILE];
  for (index_t begin = index->begin[part]; begin < index->begin[part + 1]; begin += TILE) {
    const int count = (int)smaller(TILE, index->begin[part + 1] - begin);
    const float *p = g->p + (begin - index->begin[part]) * ld;
    for (int i = 0; i < count; i++) {
      const float *restrict from = p + (size_t)i * ld;
      memcpy(in + (size_t)i * w, z + index->set[begin + i] * d, sizeof(float) * d); /* products read whole vectors */
#pragma omp simd
      for (int j = 0; j < all; j++) to->bias[j] += from[j];
    }
    pointers(row, in, count, w);
    outer_sum(row, d, p, ld, all, count, to->W, ld);
    pointers(row, p, count, ld);
    rows_times_packed(row, count, all, weights->W_back, d, g->product, w, 0);
    for (int i = 0; i < count; i++) {
      const index_t set = index->set[begin + i];
      memcpy(set == of->sets - 1 ? to->empty : into_z + set * d, g->product + (size_t)i * w, sizeof(float) * d);
    }
  }
}

/* `records` NULL: they are computed again. into->b is written for a GRU only. */
int recurrent_backward(int threads, const Shape *of, const States *index, const float *z, const Weights *weights,
                       const float *records, const float *into_s, float *into_z, const WeightGradients *into) {
  const int n = (int)of->n, d = (int)of->d, q = padded(n), w = padded(d), all = gates_of(of), ld = row_of(of);
  const size_t size = record(of);
  size_t share;
  share_of(of, NULL, &share);
  index_t most_states, most_sets;
  most(of, index, &most_states, &most_sets);
  Memory shared = {0};
  const Packed from = packed(of, weights, !records, 1, &shared);
  float *shares = uncleared(&shared, share * of->cuts);
  if (shared.failed) return release(&shared);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *own = records ? NULL : uncleared(&mine, (most_states + MR) * size);
    Gradients g = {.h = uncleared(&mine, most_states * q), .c = of->kind == LSTM ? uncleared(&mine, most_states * q) : NULL};
    g.p = uncleared(&mine, (most_sets + MR) * ld);
    g.gates = scratch(&mine, (size_t)TILE * ld); /* the padding of its rows stays 0 */
    g.product = uncleared(&mine, (size_t)TILE * (q > w ? q : w));
    g.of_a = uncleared(&mine, 2 * q);
    float *in = scratch(&mine, (size_t)TILE * w);
#pragma omp for schedule(static)
    for (index_t r = 0; r < of->sets; r++) memset(into_z + r * d, 0, sizeof(float) * d);
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < of->cuts; c++) {
      if (mine.failed) continue;
      const index_t begin = index->level[index->first[c]], count = index->level[index->first[c + 1]] - begin;
      const float *part = records ? records + place(index, c) * size : own;
      const Share to = share_of(of, memset(shares + c * share, 0, sizeof(float) * share), &(size_t){0});
      if (!records) {
        part_inputs(of, index, c, z, &from, g.p);
        part_forward(of, index, c, g.p, weights->b, &from, own);
      }
      memset(g.p, 0, sizeof(float) * (index->begin[c + 1] - index->begin[c]) * ld);
      memset(g.h, 0, sizeof(float) * count * q);
      if (g.c) memset(g.c, 0, sizeof(float) * count * q);
      for (index_t v = index->cut[c]; v < index->cut[c + 1]; v++)
        for (int j = 0; j < n; j++) g.h[(index->last[v] - begin) * q + j] += into_s[v * n + j];
      part_backward(of, index, c, &from, part, &g, &to);
      part_inputs_backward(of, index, c, z, &from, &g, in, &to, into_z);
    }
#pragma omp for schedule(static)
    for (int j = 0; j <= n + d; j++) { /* in the order of the parts: a row of U, or of W, or the bias */
      float *restrict sum = shares + (size_t)(j < n ? j : q - n + j + (j == n + d ? w - d : 0)) * ld;
      float *const to = j < n ? into->U + j : j < n + d ? into->W + j - n : into->bias;
      const int apart = j < n ? n : j < n + d ? d : 1;
      for (index_t c = 1; c < of->cuts; c++)
#pragma omp simd
        for (int i = 0; i < all; i++) sum[i] += sum[c * share + i];
      for (int gate = 0; gate < GATES[of->kind]; gate++)
        for (int i = 0; i < n; i++) to[((size_t)gate * n + i) * apart] = sum[gate * q + i];
    }
    release_into(&mine, &shared);
  }
  if (shared.failed) return release(&shared);
  for (index_t c = 0; c < of->cuts; c++) {
    const Share part = share_of(of, shares + c * share, &share);
    if (of->kind == GRU)
      for (int j = 0; j < n; j++) into->b[j] = c ? into->b[j] + part.b[j] : part.b[j];
    for (int j = 0; j < d; j++) into_z[(of->sets - 1) * d + j] += part.empty[j];
  }
  return release(&shared);
}
