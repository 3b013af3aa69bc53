/* Layers with sum aggregator and one matrix per hop: all steps of all layers in one call. */
#include "steps.h"

typedef struct {
  SetWeights mlp;
  Recurrence recurrence;
  GateWeights gate;
} LayerWeights;
typedef struct {
  SetGradients mlp;
  RecurrenceGradients recurrence;
  GateGradients gate;
} LayerGradients;
typedef struct {
  const index_t *start, *set, *cut, *target, *node; /* the sequences; target: the set of a node; node: the node of a set */
} LayerIndex;
typedef struct {
  const index_t *start, *column; /* which rows are summed; NULL if the input of layer 0 already is the sums */
} Sums;
typedef struct {
  index_t layers, nodes, sets, cuts, d, m, n, width, form, keep;
  double eps, scale;
} Shape;

/* What a layer keeps for the backward pass, in one block of memory; what is fast to recompute is not kept. */
typedef struct {
  float *h, *x, *stats, *matrices, *y, *u, *pre; /* h: the input, for all layers except the first */
} Kept;

/* The next `count` numbers of a block in which `used` are taken; each part begins at a cache line. */
static float *take(float *memory, size_t *used, size_t count) {
  float *here = memory ? memory + *used : NULL;
  *used += (count + 15) / 16 * 16;
  return here;
}

static Kept parts_of(const Shape *of, float *memory, size_t *used) {
  const size_t p = padded((int)of->d), q = padded((int)of->m);
  Kept kept = {0};
  *used = 0;
  kept.h = take(memory, used, of->nodes * of->d);
  kept.x = take(memory, used, (of->keep ? of->sets : of->nodes) * p);
  kept.matrices = take(memory, used, of->width * of->d * of->d);
  kept.y = take(memory, used, of->nodes * of->d);
  if (!of->keep) return kept;
  kept.stats = take(memory, used, of->sets * 4);
  kept.u = take(memory, used, of->sets * q);
  kept.pre = take(memory, used, of->nodes * 2 * p);
  return kept;
}

/* The number of floats that a layer's `kept` must have room for. */
index_t layer_kept(const Shape *of) {
  size_t used;
  parts_of(of, NULL, &used);
  return (index_t)used;
}

/* in [nodes, d], or [sets, d] if it already is the sums of layer 0 -> h [nodes, d]; with `keep` each layer has its own
 * `kept`, otherwise all share one. */
int layers_forward(int threads, const Shape *of, uint32_t limit, const uint32_t *seed, const LayerIndex *index, const Sums *sums,
                   const LayerWeights *weights, const float *in, float *const *kept, float *h) {
  const int d = (int)of->d, width = (int)of->width, form = (int)of->form;
  Memory shared = {0};
  float *sum = sums->start ? uncleared(&shared, of->sets * d) : NULL, *z = uncleared(&shared, of->sets * d);
  if (shared.failed) return release(&shared);
  for (index_t l = 0; l < of->layers && !shared.failed; l++) {
    size_t used;
    const LayerWeights *w = weights + l;
    const Kept to = parts_of(of, kept[of->keep ? l : 0], &used);
    float *out = l + 1 == of->layers ? h : parts_of(of, kept[of->keep ? l + 1 : 0], &used).h;
    if (sum) set_sum(threads, of->sets, d, sums->start, sums->column, l ? to.h : in, sum);
    if (set_mlp_forward(threads, of->sets, d, (int)of->m, form, (float)of->eps, sum ? sum : in, &w->mlp, index->node, to.u, to.x,
                        to.stats, z) ||
        hop_matrices_forward(threads, (int)of->n, d, width, &w->recurrence, to.matrices) ||
        hop_filter_forward(threads, of->nodes, d, width, index->start, index->set, z, to.matrices, to.y) ||
        gate_forward(threads, of->nodes, d, form, limit, (float)of->scale, seed[l], to.y, to.x,
                     of->keep ? index->target : NULL, padded(d), &w->gate, to.pre, out))
      shared.failed = 1;
  }
  return release(&shared);
}

/* `back` is the transpose of `sums`: the sets of each node. */
int layers_backward(int threads, const Shape *of, uint32_t limit, const uint32_t *seed, const LayerIndex *index, const Sums *sums,
                    const Sums *back, const LayerWeights *weights, const float *in, float *const *kept, const float *into_h,
                    float *into_in, const LayerGradients *into) {
  const int d = (int)of->d, width = (int)of->width, form = (int)of->form;
  const index_t nodes = of->nodes, sets = of->sets;
  Memory shared = {0};
  float *into_y = uncleared(&shared, nodes * d), *into_z = uncleared(&shared, sets * d);
  float *into_matrices = uncleared(&shared, (size_t)width * d * d), *z = uncleared(&shared, sets * d);
  float *sum = sums->start ? uncleared(&shared, sets * d) : NULL, *into_sum = sum ? uncleared(&shared, sets * d) : into_in;
  for (index_t l = of->layers - 1; l >= 0 && !shared.failed; l--) {
    size_t used;
    const Kept from = parts_of(of, kept[l], &used);
    const LayerWeights *w = weights + l;
    LayerGradients to = into[l];
    last_norm(threads, sets, d, &w->mlp, from.x, from.stats, z);
    if (sum) set_sum(threads, sets, d, sums->start, sums->column, l ? from.h : in, sum);
    if (gate_backward(threads, nodes, d, form, limit, (float)of->scale, seed[l], from.y, &w->gate, from.pre, into_h, into_y,
                      &to.gate) ||
        hop_filter_backward(threads, nodes, d, width, sets, index->start, index->set, of->cuts, index->cut, z, from.matrices,
                            into_y, into_z, into_matrices) ||
        hop_matrices_backward(threads, (int)of->n, d, width, &w->recurrence, into_matrices, &to.recurrence) ||
        set_mlp_backward(threads, sets, d, (int)of->m, form, sum ? sum : in, &w->mlp, from.u, from.x, from.stats, into_z,
                         into_h, index->node, into_sum, &to.mlp))
      shared.failed = 1;
    else if (sum) set_sum(threads, nodes, d, back->start, back->column, into_sum, into_in);
    into_h = into_in; /* the gradient for the previous layer */
  }
  return release(&shared);
}
