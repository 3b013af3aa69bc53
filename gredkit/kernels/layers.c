/* Layers that read sequences with a matrix a hop, and add up their sets: all steps of all layers in one call. */
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
  const index_t *start, *set, *cut, *target, *node; /* of the sequences; the set of a node, and the node of a set */
} LayerIndex;
typedef struct {
  const index_t *start, *column; /* which rows are added up; NULL if layer 0 is given its sums */
} Sums;
typedef struct {
  index_t layers, nodes, sets, cuts, d, m, n, width, form, keep;
  double eps, scale;
} Shape;

/* What is kept for the backward pass, one part behind the other; without one there is less of it. */
typedef struct {
  float *a, *x, *stats, *z, *matrices, *y, *u, *t, *pre;
} Kept;

/* The next `count` numbers of a memory of which `used` are taken, from the beginning of a line of the cache. */
static float *take(float *memory, size_t *used, size_t count) {
  float *here = memory ? memory + *used : NULL;
  *used += (count + 15) / 16 * 16;
  return here;
}

static Kept parts_of(const Shape *of, float *memory, size_t *used) {
  const size_t p = padded((int)of->d), q = padded((int)of->m);
  Kept kept = {0};
  *used = 0;
  kept.a = take(memory, used, of->sets * of->d);
  kept.x = take(memory, used, (of->keep ? of->sets : of->nodes) * p);
  kept.z = take(memory, used, of->sets * of->d);
  kept.matrices = take(memory, used, of->width * of->d * of->d);
  kept.y = take(memory, used, of->nodes * of->d);
  if (!of->keep) return kept;
  kept.stats = take(memory, used, of->sets * 4);
  kept.u = take(memory, used, of->sets * q);
  kept.t = take(memory, used, of->nodes * p);
  kept.pre = take(memory, used, of->nodes * 2 * p);
  return kept;
}

/* How many numbers a layer's `kept` must have room for. */
index_t layer_kept(const Shape *of) {
  size_t used;
  parts_of(of, NULL, &used);
  return (index_t)used;
}

/* What a layer does with the sums of its sets. a [sets, d] -> h [nodes, d] */
static void layer_forward(int threads, const Shape *of, uint32_t limit, uint32_t seed, const LayerIndex *index,
                          const LayerWeights *weights, const float *a, const Kept *to, float *h) {
  const int d = (int)of->d, p = padded(d), width = (int)of->width, form = (int)of->form;
  if (of->keep && p != d) memset(to->t, 0, sizeof(float) * of->nodes * p);
  set_mlp_forward(threads, of->sets, d, (int)of->m, form, (float)of->eps, a, &weights->mlp, index->node, to->u, to->x,
                  to->stats, to->z);
  hop_matrices_forward(threads, (int)of->n, d, width, &weights->recurrence, to->matrices);
  hop_filter_forward(threads, of->nodes, d, width, index->start, index->set, to->z, to->matrices, to->y);
  gate_forward(threads, of->nodes, d, form, limit, (float)of->scale, seed, to->y, to->x, of->keep ? index->target : NULL, p,
               &weights->gate, to->t, to->pre, h);
}

/* in [nodes, d], or [sets, d] if layer 0 is given its sums -> h [nodes, d]; each layer has its own `kept`, or all one. */
void layers_forward(int threads, const Shape *of, uint32_t limit, const uint32_t *seed, const LayerIndex *index, const Sums *sums,
                    const LayerWeights *weights, const float *in, float *const *kept, float *h) {
  const int d = (int)of->d;
  for (index_t l = 0; l < of->layers; l++) {
    size_t used;
    const Kept to = parts_of(of, kept[of->keep ? l : 0], &used);
    const float *a = in;
    if (sums->start) {
      set_sum(threads, of->sets, d, sums->start, sums->column, l ? h : in, to.a);
      a = to.a;
    }
    layer_forward(threads, of, limit, seed[l], index, weights + l, a, &to, h);
  }
}

/* `sums` are those of the transposed matrix: the sets of a node. into_h is overwritten but for the first layer's. */
void layers_backward(int threads, const Shape *of, uint32_t limit, const uint32_t *seed, const LayerIndex *index, const Sums *sums,
                     const LayerWeights *weights, const float *in, float *const *kept, const float *into_h, float *into_in,
                     const LayerGradients *into) {
  const int d = (int)of->d, width = (int)of->width, form = (int)of->form;
  const index_t nodes = of->nodes, sets = of->sets;
  float *into_y = uncleared(nodes * d), *into_z = uncleared(sets * d), *into_matrices = uncleared((size_t)width * d * d);
  float *into_a = sums->start ? uncleared(sets * d) : into_in;
  for (index_t l = of->layers - 1; l >= 0; l--) {
    size_t used;
    const Kept from = parts_of(of, kept[l], &used);
    const LayerWeights *w = weights + l;
    LayerGradients to = into[l];
    gate_backward(threads, nodes, d, form, limit, (float)of->scale, seed[l], from.y, &w->gate, from.t, from.pre, into_h, into_y,
                  &to.gate);
    hop_filter_backward(threads, nodes, d, width, sets, index->start, index->set, of->cuts, index->cut, from.z, from.matrices,
                        into_y, into_z, into_matrices);
    hop_matrices_backward(threads, (int)of->n, d, width, &w->recurrence, into_matrices, &to.recurrence);
    set_mlp_backward(threads, sets, d, (int)of->m, form, sums->start ? from.a : in, &w->mlp, from.u, from.x, from.stats, into_z,
                     into_h, index->node, into_a, &to.mlp);
    if (sums->start) set_sum(threads, nodes, d, sums->start, sums->column, into_a, into_in);
    into_h = into_in; /* of the layer before */
  }
  if (into_a != into_in) free(into_a);
  free(into_y), free(into_z), free(into_matrices);
}
