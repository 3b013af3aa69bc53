/* Layers with sum aggregator: all steps of all layers in one call. */
#include "steps.h"

/* The weights of a layer are pointers: those of SetWeights, those of its encoder, those of GateWeights. */
enum { OF_MLP = sizeof(SetWeights) / sizeof(float *), OF_GATE = sizeof(GateWeights) / sizeof(float *) };

typedef struct {
  const index_t *start, *column; /* which rows are summed; NULL if the input of layer 0 already is the sums */
} Sums;
typedef struct {
  index_t layers, weights, m, form; /* weights: of the encoder of a layer */
  double eps, scale;
  Encoder encoder; /* of all layers; its sizes are also those of the layers */
} Shape;

/* What a layer keeps for the backward pass, in one block of memory; what is fast to recompute is not kept. */
typedef struct {
  float *h, *x, *stats, *encoder, *y, *u, *pre; /* h: the input, for all layers except the first */
} Kept;

/* The next `count` numbers of a block in which `used` are taken; each part begins at a cache line. */
static float *take(float *memory, size_t *used, size_t count) {
  float *here = memory ? memory + *used : NULL;
  *used += (count + 15) / 16 * 16;
  return here;
}

static Kept parts_of(const Shape *of, float *memory, size_t *used) {
  const Encoder *e = &of->encoder;
  const size_t p = padded((int)e->d), q = padded((int)of->m);
  Kept kept = {0};
  *used = 0;
  kept.h = take(memory, used, e->nodes * e->d);
  kept.x = take(memory, used, (e->keep ? e->sets : e->nodes) * p);
  kept.encoder = take(memory, used, encoder_kept(e));
  kept.y = take(memory, used, e->nodes * e->d);
  if (!e->keep) return kept;
  kept.stats = take(memory, used, e->sets * 4);
  kept.u = take(memory, used, e->sets * q);
  kept.pre = take(memory, used, e->nodes * 2 * p);
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
int layers_forward(int threads, const Shape *of, uint32_t limit, const uint32_t *seed, const Index *index, const Sums *sums,
                   const float *const *weights, const float *in, float *const *kept, float *h) {
  const Encoder *e = &of->encoder;
  const int d = (int)e->d, form = (int)of->form;
  Memory shared = {0};
  float *sum = sums->start ? uncleared(&shared, e->sets * d) : NULL, *z = uncleared(&shared, e->sets * d);
  if (shared.failed) return release(&shared);
  for (index_t l = 0; l < of->layers && !shared.failed; l++) {
    size_t used;
    const float *const *mlp = weights + l * (OF_MLP + of->weights + OF_GATE), *const *encoder = mlp + OF_MLP;
    const float *const *gate = encoder + of->weights;
    const Kept to = parts_of(of, kept[e->keep ? l : 0], &used);
    float *out = l + 1 == of->layers ? h : parts_of(of, kept[e->keep ? l + 1 : 0], &used).h;
    if (sum) set_sum(threads, e->sets, d, sums->start, sums->column, l ? to.h : in, sum);
    if (set_mlp_forward(threads, e->sets, d, (int)of->m, form, (float)of->eps, sum ? sum : in, (const SetWeights *)mlp,
                        index->node, to.u, to.x, to.stats, z) ||
        encoder_forward(threads, e, index, z, encoder, to.encoder, to.y) ||
        gate_forward(threads, e->nodes, d, form, limit, (float)of->scale, seed[l], to.y, to.x, e->keep ? index->target : NULL,
                     padded(d), (const GateWeights *)gate, to.pre, out))
      shared.failed = 1;
  }
  return release(&shared);
}

/* `back` is the transpose of `sums`: the sets of each node. */
int layers_backward(int threads, const Shape *of, uint32_t limit, const uint32_t *seed, const Index *index, const Sums *sums,
                    const Sums *back, const float *const *weights, const float *in, float *const *kept, const float *into_h,
                    float *into_in, float *const *into) {
  const Encoder *e = &of->encoder;
  const int d = (int)e->d, form = (int)of->form;
  const index_t nodes = e->nodes, sets = e->sets;
  Memory shared = {0};
  float *into_y = uncleared(&shared, nodes * d), *into_z = uncleared(&shared, sets * d), *z = uncleared(&shared, sets * d);
  float *sum = sums->start ? uncleared(&shared, sets * d) : NULL, *into_sum = sum ? uncleared(&shared, sets * d) : into_in;
  for (index_t l = of->layers - 1; l >= 0 && !shared.failed; l--) {
    size_t used;
    const index_t at_mlp = l * (OF_MLP + of->weights + OF_GATE), at_encoder = at_mlp + OF_MLP, at_gate = at_encoder + of->weights;
    const Kept from = parts_of(of, kept[l], &used);
    const SetWeights *mlp = (const SetWeights *)(weights + at_mlp);
    last_norm(threads, sets, d, mlp, from.x, from.stats, z);
    if (sum) set_sum(threads, sets, d, sums->start, sums->column, l ? from.h : in, sum);
    if (gate_backward(threads, nodes, d, form, limit, (float)of->scale, seed[l], from.y, (const GateWeights *)(weights + at_gate),
                      from.pre, into_h, into_y, (GateGradients *)(into + at_gate)) ||
        encoder_backward(threads, e, index, z, weights + at_encoder, from.encoder, into_y, into_z, into + at_encoder) ||
        set_mlp_backward(threads, sets, d, (int)of->m, form, sum ? sum : in, mlp, from.u, from.x, from.stats, into_z, into_h,
                         index->node, into_sum, (SetGradients *)(into + at_mlp)))
      shared.failed = 1;
    else if (sum) set_sum(threads, nodes, d, back->start, back->column, into_sum, into_in);
    into_h = into_in; /* the gradient for the previous layer */
  }
  return release(&shared);
}
