/* Non-linear recurrences over hop sequences: y = W_out s + b_out, where s is the last state of an RNN, LSTM or GRU.
 *
 * The states are those that `merge_states` has listed. A part of the nodes is one piece of work: p = W z, the inputs of its gates,
 * once for each set that it reads, then its levels one after the other, each as products of tiles, and what its nodes read. So p
 * and its gradient stay in the cache. `records` hold what a state computes, as cells.h describes it. */
#include "cells.h"

/* Weights as PyTorch holds them: [gates n, d], [gates n, n], [gates n] twice, [d, n], [d]. `inside` is added to the products with
 * U: for the last gate of a GRU, the reset gate multiplies it. */
enum { INTO, U, BIAS, INSIDE, OUT, OUT_BIAS };

/* Sizes in numbers: of the gates of a state, of the rows of p, of a record. */
static int gates_of(const Encoder *of) { return GATES[of->kind] * padded((int)of->n); }
static int row_of(const Encoder *of) { return stride(gates_of(of)); }
static size_t record(const Encoder *of) { return (size_t)SLOTS[of->kind] * padded((int)of->n); }

/* The records of a part begin here; MR rows behind them are scratch, because products write whole blocks of rows. */
static size_t place(const States *index, index_t part) { return index->level[index->first[part]] + part * MR; }

/* The largest number of states, and of sets, in a part. */
static void most(const Encoder *of, const States *index, index_t *states, index_t *sets) {
  *states = *sets = 0;
  for (index_t c = 0; c < of->cuts; c++) {
    const index_t count = index->level[index->first[c + 1]] - index->level[index->first[c]];
    *states = count > *states ? count : *states;
    *sets = index->begin[c + 1] - index->begin[c] > *sets ? index->begin[c + 1] - index->begin[c] : *sets;
  }
}

/* The weights as the products take them; what nothing asks for is NULL. */
typedef struct {
  float *into, *U, *out, *into_back, *U_back, *out_back, *bias, *zero; /* zero: a record, for the state before the first */
  const float *inside, *out_bias;                                      /* inside: of the last gate of a GRU */
} Packed;

/* A matrix [gates n, columns] with padding behind each gate: [gates q, columns] */
static void pad_gates(const Encoder *of, const float *from, size_t columns, float *to) {
  const size_t n = of->n, q = padded((int)n);
  memset(to, 0, sizeof(float) * gates_of(of) * columns);
  for (int gate = 0; gate < GATES[of->kind]; gate++)
    memcpy(to + gate * q * columns, from + gate * n * columns, sizeof(float) * n * columns);
}

static Packed packed(const Encoder *of, const float *const *weights, int forward, int backward, Memory *memory) {
  const int n = (int)of->n, d = (int)of->d, q = padded(n), w = padded(d), all = gates_of(of), gates = GATES[of->kind];
  float *some = uncleared(memory, (size_t)all * (n > d ? n : d));
  Packed to = {.bias = uncleared(memory, all), .zero = scratch(memory, record(of))};
  to.inside = weights[INSIDE] + (size_t)(gates - 1) * n;
  to.out_bias = weights[OUT_BIAS];
  if (forward) {
    to.into = uncleared(memory, (size_t)all * d);
    to.U = uncleared(memory, (size_t)all * n);
    to.out = uncleared(memory, (size_t)w * n);
  }
  if (backward) {
    to.into_back = uncleared(memory, (size_t)all * w);
    to.U_back = uncleared(memory, (size_t)all * q);
    to.out_back = uncleared(memory, (size_t)q * d);
  }
  if (memory->failed) return to;
  pad_gates(of, weights[BIAS], 1, to.bias);
  pad_gates(of, weights[INSIDE], 1, some);
  for (int j = 0; j < (of->kind == GRU ? all - q : all); j++) to.bias[j] += some[j];
  pad_gates(of, weights[INTO], d, some);
  if (forward) pack(some, d, all, 1, d, to.into);
  if (backward) pack(some, all, d, d, 1, to.into_back);
  pad_gates(of, weights[U], n, some);
  if (forward) pack(some, n, all, 1, n, to.U);
  if (backward) pack(some, all, n, n, 1, to.U_back);
  if (forward) pack(weights[OUT], n, d, 1, n, to.out);
  if (backward) pack(weights[OUT], d, n, n, 1, to.out_back);
  return to;
}

/* ---- forward ---- */

/* p of the sets of a part: z [sets, d] -> p [sets of the part, row_of] */
static void part_inputs(const Encoder *of, const States *index, index_t part, const float *z, const Packed *weights, float *p) {
  const int d = (int)of->d, all = gates_of(of), ld = row_of(of);
  const float *row[TILE];
  for (index_t begin = index->begin[part]; begin < index->begin[part + 1]; begin += TILE) {
    const int count = (int)smaller(TILE, index->begin[part + 1] - begin);
    for (int i = 0; i < TILE; i++) row[i] = z + index->set[begin + (i < count ? i : 0)] * d;
    rows_times_packed(row, count, d, weights->into, all, p + (begin - index->begin[part]) * ld, ld, 0);
  }
}

/* The records of all states of a part. */
static void part_forward(const Encoder *of, const States *index, index_t part, const float *p, const Packed *weights,
                         float *records) {
  const int n = (int)of->n, q = padded(n), all = gates_of(of), ld = row_of(of);
  const size_t size = record(of), last = size - q;
  const index_t begin = index->level[index->first[part]];
  const float *row[TILE];
  for (index_t l = index->first[part]; l < index->first[part + 1]; l++)
    for (index_t s = index->level[l]; s < index->level[l + 1]; s += TILE) {
      const int count = (int)smaller(TILE, index->level[l + 1] - s);
      const index_t *read = index->read + s, *parent = index->parent + s;
      float *to = records + (s - begin) * size;
      if (parent[0] >= 0) { /* either all states of a level have one before them or none has */
        for (int i = 0; i < TILE; i++) row[i] = records + (parent[i < count ? i : 0] - begin) * size + last;
        rows_times_packed(row, count, n, weights->U, all, to, (int)size, 0);
      } else
        for (int i = 0; i < count; i++) memset(to + i * size, 0, sizeof(float) * all);
      for (int i = 0; i < count; i++)
        compute((int)of->kind, n, p + (read[i] - index->begin[part]) * ld, weights->bias, weights->inside,
                parent[i] < 0 ? weights->zero : records + (parent[i] - begin) * size, to + i * size);
    }
}

/* The states in which the sequences of `count` nodes end, as rows; the first again beyond them. */
static void last_states(const Encoder *of, const States *index, index_t part, const float *records, index_t node, int count,
                        const float **row) {
  const size_t size = record(of), at = size - padded((int)of->n);
  for (int i = 0; i < TILE; i++)
    row[i] = records + (index->last[node + (i < count ? i : 0)] - index->level[index->first[part]]) * size + at;
}

/* y of the nodes of a part; `product` [TILE, padded d] is scratch. */
static void part_outputs(const Encoder *of, const States *index, index_t part, const Packed *weights, const float *records,
                         float *product, float *y) {
  const int n = (int)of->n, d = (int)of->d, w = padded(d);
  const float *row[TILE];
  for (index_t begin = index->cut[part]; begin < index->cut[part + 1]; begin += TILE) {
    const int count = (int)smaller(TILE, index->cut[part + 1] - begin);
    last_states(of, index, part, records, begin, count, row);
    rows_times_packed(row, count, n, weights->out, d, product, w, 0);
    for (int i = 0; i < count; i++)
#pragma omp simd
      for (int j = 0; j < d; j++) y[(begin + i) * d + j] = product[i * w + j] + weights->out_bias[j];
  }
}

/* The number of floats for the records of all states. */
index_t records_room(const Encoder *of) { return (index_t)((of->states + of->cuts * MR) * record(of)); }

index_t recurrent_kept(const Encoder *of) { return of->records ? records_room(of) : 0; }

/* z [sets, d] -> y [nodes, d]; `kept` are the records */
int recurrent_forward(int threads, const Encoder *of, const Index *all, const float *z, const float *const *weights, float *kept,
                      float *y) {
  const States *index = &all->states;
  const size_t size = record(of);
  index_t most_states, most_sets;
  most(of, index, &most_states, &most_sets);
  Memory shared = {0};
  const Packed from = packed(of, weights, 1, 0, &shared);
  if (shared.failed) return release(&shared);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *p = uncleared(&mine, (most_sets + MR) * row_of(of)), *product = uncleared(&mine, (size_t)TILE * padded((int)of->d));
    float *own = of->records ? NULL : uncleared(&mine, (most_states + MR) * size);
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < of->cuts; c++) {
      if (mine.failed) continue;
      float *records = of->records ? kept + place(index, c) * size : own;
      part_inputs(of, index, c, z, &from, p);
      part_forward(of, index, c, p, &from, records);
      part_outputs(of, index, c, &from, records, product, y);
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}

/* ---- backward ---- */

typedef struct {
  float *h, *c, *p;                   /* of the states of a part [states, q] twice, of the inputs of its sets [sets, row_of] */
  float *gates, *in, *product, *of_a; /* of a tile: [TILE, row_of], [TILE, padded d], [TILE, q or padded d], [2 q] */
} Gradients;

/* What a part adds to the gradients: U, W_in and W_out transposed, [q, row_of], [padded d, row_of] and [q, padded d]; the biases of
 * the gates and, for a GRU, inside the last one; b_out; z of the empty set. */
typedef struct {
  float *U, *into, *out, *bias, *inside, *out_bias, *empty;
} Share;

static size_t share_size(const Encoder *of) {
  const size_t q = padded((int)of->n), w = padded((int)of->d);
  return (q + w + 1) * row_of(of) + (q + 2) * w + q;
}

static Share share_of(const Encoder *of, float *memory) {
  const size_t q = padded((int)of->n), w = padded((int)of->d), ld = row_of(of);
  Share to = {.U = memory, .into = memory + q * ld, .bias = memory + (q + w) * ld};
  to.out = to.bias + ld;
  to.inside = to.out + q * w;
  to.out_bias = to.inside + q;
  to.empty = to.out_bias + w;
  return to;
}

/* From the gradients of y those of the last states, W_out and b_out. */
static void part_outputs_backward(const Encoder *of, const States *index, index_t part, const Packed *weights, const float *records,
                                  const float *into_y, const Gradients *g, const Share *to) {
  const int n = (int)of->n, d = (int)of->d, q = padded(n), w = padded(d);
  const index_t begin = index->level[index->first[part]];
  const float *row[TILE];
  for (index_t v = index->cut[part]; v < index->cut[part + 1]; v += TILE) {
    const int count = (int)smaller(TILE, index->cut[part + 1] - v);
    for (int i = 0; i < count; i++) { /* a copy, because products read whole vectors */
      const float *restrict from = into_y + (v + i) * d;
      memcpy(g->in + (size_t)i * w, from, sizeof(float) * d);
#pragma omp simd
      for (int j = 0; j < d; j++) to->out_bias[j] += from[j];
    }
    last_states(of, index, part, records, v, count, row);
    outer_sum(row, n, g->in, w, w, count, to->out, w);
    pointers(row, g->in, count, w);
    rows_times_packed(row, count, d, weights->out_back, n, g->product, q, 0);
    for (int i = 0; i < count; i++) memcpy(g->h + (index->last[v + i] - begin) * q, g->product + (size_t)i * q, sizeof(float) * q);
  }
}

/* The gradients of p and U. */
static void part_backward(const Encoder *of, const States *index, index_t part, const Packed *weights, const float *records,
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
          for (int j = 0; j < n; j++) to->inside[j] += first[2 * q + j];
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

/* From the gradients of p those of W_in, bias and z. */
static void part_inputs_backward(const Encoder *of, const States *index, index_t part, const float *z, const Packed *weights,
                                 const Gradients *g, const Share *to, float *into_z) {
  const int d = (int)of->d, w = padded(d), all = gates_of(of), ld = row_of(of);
  const float *row[TILE];
  for (index_t begin = index->begin[part]; begin < index->begin[part + 1]; begin += TILE) {
    const int count = (int)smaller(TILE, index->begin[part + 1] - begin);
    const float *p = g->p + (begin - index->begin[part]) * ld;
    for (int i = 0; i < count; i++) {
      const float *restrict from = p + (size_t)i * ld;
      row[i] = z + index->set[begin + i] * d;
      if (d % MR) row[i] = memcpy(g->in + (size_t)i * w, row[i], sizeof(float) * d); /* products read blocks of MR columns */
#pragma omp simd
      for (int j = 0; j < all; j++) to->bias[j] += from[j];
    }
    outer_sum(row, d, p, ld, all, count, to->into, ld);
    pointers(row, p, count, ld);
    rows_times_packed(row, count, all, weights->into_back, d, g->product, w, 0);
    for (int i = 0; i < count; i++) {
      const index_t set = index->set[begin + i];
      memcpy(set == of->sets - 1 ? to->empty : into_z + set * d, g->product + (size_t)i * w, sizeof(float) * d);
    }
  }
}

/* A column of a matrix [gates n, columns], to which the parts have added in a row of their shares; `sum` is that of part 0. */
static void add_column(const Encoder *of, float *sum, size_t share, float *to, size_t columns) {
  const size_t n = of->n, q = padded((int)n);
  add_up(sum, gates_of(of), of->cuts, share);
  for (int gate = 0; gate < GATES[of->kind]; gate++)
    for (size_t i = 0; i < n; i++) to[(gate * n + i) * columns] = sum[gate * q + i];
}

/* What one thread adds up: the biases, and z of the empty set. */
static void add_rows(const Encoder *of, const Share *sums, size_t share, float *into_empty, float *const *into) {
  const int n = (int)of->n, d = (int)of->d, gates = GATES[of->kind];
  add_column(of, sums->bias, share, into[BIAS], 1);
  memcpy(into[INSIDE], into[BIAS], sizeof(float) * gates * n);
  add_up(sums->inside, n, of->cuts, share);
  if (of->kind == GRU) memcpy(into[INSIDE] + 2 * n, sums->inside, sizeof(float) * n);
  add_up(sums->out_bias, d, of->cuts, share);
  memcpy(into[OUT_BIAS], sums->out_bias, sizeof(float) * d);
  add_up(sums->empty, d, of->cuts, share);
  for (int j = 0; j < d; j++) into_empty[j] += sums->empty[j];
}

/* Without `records` they are computed again. */
int recurrent_backward(int threads, const Encoder *of, const Index *whole, const float *z, const float *const *weights,
                       const float *kept, const float *into_y, float *into_z, float *const *into) {
  const States *index = &whole->states;
  const int n = (int)of->n, d = (int)of->d, q = padded(n), w = padded(d), ld = row_of(of);
  const size_t size = record(of), share = share_size(of);
  index_t most_states, most_sets;
  most(of, index, &most_states, &most_sets);
  Memory shared = {0};
  const Packed from = packed(of, weights, !of->records, 1, &shared);
  float *shares = uncleared(&shared, share * of->cuts);
  if (shared.failed) return release(&shared);
  const Share sums = share_of(of, shares);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *own = of->records ? NULL : uncleared(&mine, (most_states + MR) * size);
    Gradients g = {.h = uncleared(&mine, most_states * q), .c = of->kind == LSTM ? uncleared(&mine, most_states * q) : NULL};
    g.p = uncleared(&mine, (most_sets + MR) * ld);
    g.gates = scratch(&mine, (size_t)TILE * ld); /* the padding of its rows stays 0 */
    g.in = scratch(&mine, (size_t)TILE * w);
    g.product = uncleared(&mine, (size_t)TILE * (q > w ? q : w));
    g.of_a = uncleared(&mine, 2 * q);
#pragma omp for schedule(static)
    for (index_t r = 0; r < of->sets; r++) memset(into_z + r * d, 0, sizeof(float) * d);
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < of->cuts; c++) {
      if (mine.failed) continue;
      const index_t count = index->level[index->first[c + 1]] - index->level[index->first[c]];
      const float *records = of->records ? kept + place(index, c) * size : own;
      const Share to = share_of(of, memset(shares + c * share, 0, sizeof(float) * share));
      if (!of->records) {
        part_inputs(of, index, c, z, &from, g.p);
        part_forward(of, index, c, g.p, &from, own);
      }
      memset(g.p, 0, sizeof(float) * (index->begin[c + 1] - index->begin[c]) * ld);
      memset(g.h, 0, sizeof(float) * count * q);
      if (g.c) memset(g.c, 0, sizeof(float) * count * q);
      part_outputs_backward(of, index, c, &from, records, into_y, &g, &to);
      part_backward(of, index, c, &from, records, &g, &to);
      part_inputs_backward(of, index, c, z, &from, &g, &to, into_z);
    }
#pragma omp for schedule(static) nowait
    for (int i = 0; i < n; i++) add_column(of, sums.U + (size_t)i * ld, share, into[U] + i, n);
#pragma omp for schedule(static) nowait
    for (int i = 0; i < d; i++) add_column(of, sums.into + (size_t)i * ld, share, into[INTO] + i, d);
#pragma omp for schedule(static) nowait
    for (int i = 0; i < n; i++) {
      float *sum = sums.out + (size_t)i * w;
      add_up(sum, d, of->cuts, share);
      for (int j = 0; j < d; j++) into[OUT][(size_t)j * n + i] = sum[j];
    }
#pragma omp single
    add_rows(of, &sums, share, into_z + (of->sets - 1) * d, into);
    release_into(&mine, &shared);
  }
  return release(&shared);
}
