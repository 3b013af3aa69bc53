/* Declarations of the steps of a layer, for layers.c and encoders.c; the file of each step describes it. */
#pragma once
#include "common.h"

enum { RNN = 0, LSTM = 1, GRU = 2, ATTENTION = 3, LRU = 4 };
typedef struct {
  index_t kind, nodes, sets, cuts, d, n; /* n: numbers in a state, or of all heads together */
  index_t states, heads, rows, width;   /* states of an RNN, LSTM or GRU; heads of attention, and all hops; matrices of an LRU */
  index_t keep, records;                /* whether there is a backward pass, and whether it finds the records of all states */
} Encoder;
typedef struct {
  const index_t *cut, *read, *parent, *last, *level, *first, *set, *begin; /* as `merge_states` describes them */
} States;
typedef struct {
  const index_t *start, *set, *cut, *target, *node; /* the sequences; target: the set of a node; node: the node of a set, or -1 */
  States states;                                    /* for an RNN, LSTM or GRU */
} Index;

typedef struct {
  const float *norm_w, *norm_b, *up, *up_b, *down, *down_b, *last_w, *last_b; /* up [m, d], down [d, m] */
} SetWeights;
typedef struct {
  float *norm_w, *norm_b, *up, *up_b, *down, *down_b, *last_w, *last_b;
} SetGradients;

typedef struct {
  const float *nu, *theta, *gamma, *in_re, *in_im, *out_re, *out_im; /* [n] three times, [n, d] twice, [d, n] twice */
} Recurrence;
typedef struct {
  float *nu, *theta, *gamma, *in_re, *in_im, *out_re, *out_im;
} RecurrenceGradients;

typedef struct {
  const float *value, *value_b, *gate, *gate_b; /* value NULL: the half form, value(t) = t */
} GateWeights;
typedef struct {
  float *value, *value_b, *gate, *gate_b;
} GateGradients;

int set_sum(int threads, index_t rows, int d, const index_t *start, const index_t *column, const float *x, float *out);
int set_mlp_forward(int threads, index_t rows, int d, int m, int form, float eps, const float *a, const SetWeights *weights,
                    const index_t *node, float *u, float *x, float *stats, float *z);
int set_mlp_backward(int threads, index_t rows, int d, int m, int form, const float *a, const SetWeights *weights, const float *u,
                     const float *x, const float *stats, const float *into_z, const float *into_x0, const index_t *node,
                     float *into_a, SetGradients *into);
void last_norm(int threads, index_t rows, int d, const SetWeights *weights, const float *x, const float *stats, float *z);
int hop_matrices_forward(int threads, int n, int d, int width, const Recurrence *of, float *matrices);
int hop_matrices_backward(int threads, int n, int d, int width, const Recurrence *of, const float *into_matrices,
                          RecurrenceGradients *into);
int hop_filter_forward(int threads, index_t n, int d, int width, const index_t *start, const index_t *set, const float *z,
                       const float *matrices, float *y);
int hop_filter_backward(int threads, index_t n, int d, int width, index_t sets, const index_t *start, const index_t *set,
                        index_t cuts, const index_t *cut, const float *z, const float *matrices, const float *into_y,
                        float *into_z, float *into_matrices);
int gate_forward(int threads, index_t n, int d, int form, uint32_t limit, float scale, uint32_t seed, const float *y,
                 const float *x0, const index_t *at, int ld, const GateWeights *weights, float *pre, float *h);
int gate_backward(int threads, index_t n, int d, int form, uint32_t limit, float scale, uint32_t seed, const float *y,
                  const GateWeights *weights, const float *pre, const float *into_h, float *into_y,
                  GateGradients *into);

/* For each kind of encoder: how many floats it keeps, y [nodes, d] from z [sets, d], and the gradients of z and the weights. */
index_t encoder_kept(const Encoder *of);
int encoder_forward(int threads, const Encoder *of, const Index *index, const float *z, const float *const *weights, float *kept,
                    float *y);
int encoder_backward(int threads, const Encoder *of, const Index *index, const float *z, const float *const *weights,
                     const float *kept, const float *into_y, float *into_z, float *const *into);
index_t recurrent_kept(const Encoder *of);
int recurrent_forward(int threads, const Encoder *of, const Index *index, const float *z, const float *const *weights, float *kept,
                      float *y);
int recurrent_backward(int threads, const Encoder *of, const Index *index, const float *z, const float *const *weights,
                       const float *kept, const float *into_y, float *into_z, float *const *into);
index_t attention_kept(const Encoder *of);
int attention_forward(int threads, const Encoder *of, const Index *index, const float *z, const float *const *weights, float *kept,
                      float *y);
int attention_backward(int threads, const Encoder *of, const Index *index, const float *z, const float *const *weights,
                       const float *kept, const float *into_y, float *into_z, float *const *into);
