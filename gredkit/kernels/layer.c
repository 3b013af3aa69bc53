/* What a layer does behind its aggregator, with a matrix a hop for its encoder: all steps in one call. */
#include "steps.h"

typedef struct {
  SetWeights mlp;
  Recurrence recurrence;
  GateWeights gate;
} LayerWeights;
typedef struct {
  const index_t *start, *set, *cut, *target, *node; /* of the sequences; the set of a node, and the node of a set */
} LayerIndex;

/* What is kept for the backward pass, one part behind the other; without one there is less of it. */
typedef struct {
  float *x, *stats, *z, *matrices, *y, *u, *t, *pre;
} Kept;

/* The next `count` numbers of a memory of which `used` are taken, from the beginning of a line of the cache. */
static float *take(float *memory, size_t *used, size_t count) {
  float *here = memory ? memory + *used : NULL;
  *used += (count + 15) / 16 * 16;
  return here;
}

static Kept parts_of(float *memory, index_t nodes, index_t sets, int d, int m, int width, int keep, size_t *used) {
  const size_t p = padded(d), q = padded(m);
  Kept kept = {0};
  *used = 0;
  kept.x = take(memory, used, (keep ? sets : nodes) * p);
  kept.z = take(memory, used, (size_t)sets * d);
  kept.matrices = take(memory, used, (size_t)width * d * d);
  kept.y = take(memory, used, (size_t)nodes * d);
  if (!keep) return kept;
  kept.stats = take(memory, used, sets * 4);
  kept.u = take(memory, used, sets * q);
  kept.t = take(memory, used, nodes * p);
  kept.pre = take(memory, used, nodes * 2 * p);
  return kept;
}

/* How many numbers `kept` must have room for. */
index_t layer_kept(index_t nodes, index_t sets, int d, int m, int width, int keep) {
  size_t used;
  parts_of(NULL, nodes, sets, d, m, width, keep, &used);
  return (index_t)used;
}

/* a [sets, d] -> h [nodes, d] */
void layer_forward(int threads, index_t nodes, index_t sets, int d, int m, int n, int width, int form, float eps, uint32_t limit,
                   float scale, uint32_t seed, int keep, const LayerIndex *index, const LayerWeights *weights, const float *a,
                   float *kept, float *h) {
  const int p = padded(d);
  size_t used;
  const Kept to = parts_of(kept, nodes, sets, d, m, width, keep, &used);
  if (keep && p != d) memset(to.t, 0, sizeof(float) * nodes * p);
  set_mlp_forward(threads, sets, d, m, form, eps, a, &weights->mlp, index->node, to.u, to.x, to.stats, to.z);
  hop_matrices_forward(threads, n, d, width, &weights->recurrence, to.matrices);
  hop_filter_forward(threads, nodes, d, width, index->start, index->set, to.z, to.matrices, to.y);
  gate_forward(threads, nodes, d, form, limit, scale, seed, to.y, to.x, keep ? index->target : NULL, p, &weights->gate, to.t,
               to.pre, h);
}

/* into_weights: the gradients of all weights, one behind the other in the order of LayerWeights. */
void layer_backward(int threads, index_t nodes, index_t sets, int d, int m, int n, int width, int form, uint32_t limit,
                    float scale, uint32_t seed, const LayerIndex *index, index_t cuts, const LayerWeights *weights,
                    const float *a, float *kept, const float *into_h, float *into_a, float *into_weights) {
  size_t used;
  const Kept from = parts_of(kept, nodes, sets, d, m, width, 1, &used);
  float *to = into_weights;
  const size_t square = (size_t)d * d;
  SetGradients mlp;
  mlp.norm_w = to, mlp.norm_b = to + d, mlp.up = to + 2 * d, mlp.up_b = mlp.up + (size_t)m * d, mlp.down = mlp.up_b + m;
  mlp.down_b = mlp.down + (size_t)m * d, mlp.last_w = mlp.down_b + d, mlp.last_b = mlp.last_w + d, to = mlp.last_b + d;
  RecurrenceGradients recurrence;
  recurrence.nu = to, recurrence.theta = to + n, recurrence.gamma = to + 2 * n, recurrence.in_re = to + 3 * n;
  recurrence.in_im = recurrence.in_re + (size_t)n * d, recurrence.out_re = recurrence.in_im + (size_t)n * d;
  recurrence.out_im = recurrence.out_re + (size_t)n * d, to = recurrence.out_im + (size_t)n * d;
  GateGradients gate = {NULL, NULL, to, to + square};
  if (weights->gate.value) gate = (GateGradients){to, to + square, to + square + d, to + 2 * square + d};

  float *into_y = scratch((size_t)nodes * d), *into_z = scratch((size_t)sets * d), *into_matrices = scratch(width * square);
  gate_backward(threads, nodes, d, form, limit, scale, seed, from.y, &weights->gate, from.t, from.pre, into_h, into_y, &gate);
  hop_filter_backward(threads, nodes, d, width, sets, index->start, index->set, cuts, index->cut, from.z, from.matrices, into_y,
                      into_z, into_matrices);
  hop_matrices_backward(threads, n, d, width, &weights->recurrence, into_matrices, &recurrence);
  set_mlp_backward(threads, sets, d, m, form, a, &weights->mlp, from.u, from.x, from.stats, into_z, into_h, index->node, into_a,
                   &mlp);
  free(into_y), free(into_z), free(into_matrices);
}
