/* Attention of each node over the hops of its sequence: y_v = W_o sum_k softmax_k(q_v . key_{v,k}) value_{v,k} + b_o, per head.
 *
 * Rows of queries, keys and values hold e numbers of each of m heads, and the heads are the fastest index: number j of head i is at
 * j m + i. So one vector holds the same number of V heads, and m is a multiple of V: heads that are added read nothing. */
#include "steps.h"

enum { MOST_SHARES = 16, FEWEST_TILES = 4 };

/* Weights as the module holds them, head by head: weight and bias of query, key and value [n, d], and of the output [d, n]. */
enum { QUERY, KEY = 2, VALUE = 4, OUT = 6, OUT_BIAS };

/* What is kept: q [nodes, D] is scaled already; a row of kv [sets, 2 D] is a key followed by a value; p [rows, m] are the weights
 * of the hops; read [nodes, D]. Products write whole blocks of rows, also behind the last one. */
typedef struct {
  float *q, *kv, *p, *read;
} Kept;

static int heads_of(const Encoder *of) { return padded((int)of->heads); }
static int size_of(const Encoder *of) { return (int)(of->n / of->heads); }
static int columns_of(const Encoder *of) { return size_of(of) * heads_of(of); } /* D */

static Kept parts_of(const Encoder *of, float *kept) {
  const size_t D = columns_of(of);
  Kept to = {.q = kept, .kv = kept + (of->nodes + MR) * D};
  to.read = to.kv + (of->sets + MR) * 2 * D;
  to.p = to.read + of->nodes * D;
  return to;
}

index_t attention_kept(const Encoder *of) {
  return (2 * of->nodes + MR + 2 * (of->sets + MR)) * columns_of(of) + of->rows * heads_of(of);
}

/* Where row r of a module's weights stands in the order of the heads here. */
static int place(const Encoder *of, int r) { return r % size_of(of) * heads_of(of) + r / size_of(of); }

/* The weights as the products take them, with q scaled; what nothing asks for is NULL. */
typedef struct {
  float *q, *kv, *out, *q_back, *kv_back, *out_back, *bias, scale; /* bias [3 D] */
} Packed;

static Packed packed(const Encoder *of, const float *const *weights, int backward, Memory *memory) {
  const int n = (int)of->n, d = (int)of->d, D = columns_of(of), w = padded(d);
  float *some = scratch(memory, (size_t)3 * D * d), *out = scratch(memory, (size_t)D * d);
  Packed to = {.bias = scratch(memory, 3 * D), .scale = 1.0f / sqrtf((float)size_of(of))};
  to.q = uncleared(memory, (size_t)D * (backward ? w : d));
  to.kv = uncleared(memory, (size_t)2 * D * (backward ? w : d));
  to.out = uncleared(memory, (size_t)D * (backward ? d : w));
  if (memory->failed) return to;
  for (int which = 0; which < 3; which++)
    for (int r = 0; r < n; r++) {
      const int at = which * D + place(of, r);
      const float scale = which ? 1.0f : to.scale, *from = weights[2 * which] + (size_t)r * d;
      for (int j = 0; j < d; j++) some[(size_t)at * d + j] = scale * from[j];
      to.bias[at] = scale * weights[2 * which + 1][r];
    }
  for (int r = 0; r < n; r++)
    for (int i = 0; i < d; i++) out[(size_t)i * D + place(of, r)] = weights[OUT][(size_t)i * n + r];
  if (backward) {
    pack(some, D, d, d, 1, to.q);
    pack(some + (size_t)D * d, 2 * D, d, d, 1, to.kv);
    pack(out, d, D, D, 1, to.out);
  } else {
    pack(some, d, D, 1, d, to.q);
    pack(some + (size_t)D * d, d, 2 * D, 1, d, to.kv);
    pack(out, D, d, 1, D, to.out);
  }
  return to;
}

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

/* What node v reads. */
static void read_hops(const Encoder *of, const Index *index, index_t v, const Kept *to) {
  const int e = size_of(of), m = heads_of(of);
  const size_t D = columns_of(of);
  const index_t start = index->start[v], length = index->start[v + 1] - start;
  memset(to->read + v * D, 0, sizeof(float) * D);
  for (int i = 0; i < m; i += V) {
    float *weights = to->p + start * m + i;
    for (index_t k = 0; k < length; k++)
      *(vec *)(weights + k * m) = dot(e, m, to->q + v * D + i, to->kv + index->set[start + k] * 2 * D + i);
    softmax((int)length, m, weights);
    for (index_t k = 0; k < length; k++)
      add(e, m, load(weights + k * m), to->kv + index->set[start + k] * 2 * D + D + i, to->read + v * D + i);
  }
}

/* W x + b for the rows of a tile; B is W as `rows_times_packed` takes it, and `to` has rows of `columns` numbers. */
static void project(const float *const *row, int count, int k, const float *B, const float *b, int columns, float *to) {
  for (int i = 0; i < count; i++) memcpy(to + (size_t)i * columns, b, sizeof(float) * columns);
  rows_times_packed(row, count, k, B, columns, to, columns, 1);
}

int attention_forward(int threads, const Encoder *of, const Index *index, const float *z, const float *const *weights, float *kept,
                      float *y) {
  const int d = (int)of->d, w = padded(d), D = columns_of(of);
  const Kept to = parts_of(of, kept);
  Memory shared = {0};
  const Packed from = packed(of, weights, 0, &shared);
  if (shared.failed) return release(&shared);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    float *product = uncleared(&mine, (size_t)TILE * w);
    const float *row[TILE];
#pragma omp for schedule(dynamic)
    for (index_t begin = 0; begin < of->sets; begin += TILE) {
      const int count = (int)smaller(TILE, of->sets - begin);
      pointers(row, z + begin * d, count, d);
      project(row, count, d, from.kv, from.bias + D, 2 * D, to.kv + begin * 2 * D);
    }
#pragma omp for schedule(dynamic)
    for (index_t begin = 0; begin < of->nodes; begin += TILE) {
      if (mine.failed) continue;
      const int count = (int)smaller(TILE, of->nodes - begin);
      for (int i = 0; i < TILE; i++) row[i] = z + index->target[begin + (i < count ? i : 0)] * d;
      project(row, count, d, from.q, from.bias, D, to.q + begin * D);
      for (int i = 0; i < count; i++) read_hops(of, index, begin + i, &to);
      pointers(row, to.read + begin * D, count, D);
      rows_times_packed(row, count, D, from.out, d, product, w, 0);
      for (int i = 0; i < count; i++)
#pragma omp simd
        for (int j = 0; j < d; j++) y[(begin + i) * d + j] = product[i * w + j] + weights[OUT_BIAS][j];
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}

/* ---- backward ---- */

/* From g [D], the gradient of what node v reads, those of its query and of the keys and values of its hops. `slopes` has room for
 * the longest sequence; `empty` receives what belongs to the empty set, which all parts read. */
static void read_hops_backward(const Encoder *of, const Index *index, index_t v, const Kept *from, const float *g, float *slopes,
                               float *into_q, float *into_kv, float *empty) {
  const int e = size_of(of), m = heads_of(of);
  const size_t D = columns_of(of);
  const index_t start = index->start[v], length = index->start[v + 1] - start;
  memset(into_q, 0, sizeof(float) * D);
  for (int i = 0; i < m; i += V) {
    const float *p = from->p + start * m + i;
    vec mean = {0};
    for (index_t k = 0; k < length; k++) {
      const vec slope = dot(e, m, g + i, from->kv + index->set[start + k] * 2 * D + D + i);
      *(vec *)(slopes + k * V) = slope;
      mean += slope * load(p + k * m);
    }
    for (index_t k = 0; k < length; k++) {
      const index_t set = index->set[start + k];
      const vec weight = load(p + k * m), score = weight * (load(slopes + k * V) - mean);
      float *to = (set == of->sets - 1 ? empty : into_kv + set * 2 * D) + i;
      add(e, m, score, from->kv + set * 2 * D + i, into_q + i);
      add(e, m, score, from->q + v * D + i, to);
      add(e, m, weight, g + i, to + D);
    }
  }
}

/* The sets that one share of the gradients of weights sums. It depends on the number of sets alone, so that results have the same
 * bits with any number of threads. */
static index_t sets_of_share(index_t sets) {
  const index_t tiles = (sets + (index_t)TILE * MOST_SHARES - 1) / ((index_t)TILE * MOST_SHARES);
  return (tiles > FEWEST_TILES ? tiles : FEWEST_TILES) * TILE;
}

/* What is added to the gradients of a layer's weights: W_o transposed [D, w] and b_o, by the nodes of a part; those of query, key and
 * value transposed [padded d, 3 D] and their biases [3 D], by some sets. */
static size_t of_nodes(const Encoder *of) { return (size_t)(columns_of(of) + 1) * padded((int)of->d) + 2 * columns_of(of); }
static size_t of_sets(const Encoder *of) { return (size_t)(padded((int)of->d) + 1) * 3 * columns_of(of); }

/* The room of a thread for a tile: rows of y or z, of products [TILE, w] and of gradients of queries or reads [TILE, D]. */
typedef struct {
  float *in, *product, *more, *g, *slopes;
} Tile;

/* The nodes of a part: from the gradients of y those of queries, keys and values, and its share of those of W_o and b_o; the last
 * 2 D numbers of the share are those of the empty set's key and value. */
static void nodes_backward(const Encoder *of, const Index *index, index_t part, const Kept *from, const Packed *weights,
                           const float *into_y, const Tile *tile, float *into_q, float *into_kv, float *share) {
  const int d = (int)of->d, w = padded(d), D = columns_of(of);
  float *restrict bias = share + (size_t)D * w;
  const float *row[TILE];
  for (index_t begin = index->cut[part]; begin < index->cut[part + 1]; begin += TILE) {
    const int count = (int)smaller(TILE, index->cut[part + 1] - begin);
    for (int i = 0; i < count; i++) { /* a copy, because products read whole vectors */
      const float *restrict from_y = into_y + (begin + i) * d;
      memcpy(tile->in + (size_t)i * w, from_y, sizeof(float) * d);
#pragma omp simd
      for (int j = 0; j < d; j++) bias[j] += from_y[j];
    }
    pointers(row, from->read + begin * D, count, D);
    outer_sum(row, D, tile->in, w, w, count, share, w);
    pointers(row, tile->in, count, w);
    rows_times_packed(row, count, d, weights->out, D, tile->g, D, 0);
    for (int i = 0; i < count; i++)
      read_hops_backward(of, index, begin + i, from, tile->g + (size_t)i * D, tile->slopes, into_q + (begin + i) * D, into_kv, bias + w);
  }
}

/* A tile of sets: from the gradients of queries, keys and values those of z, and of the weights, which are added to `share`. */
static void sets_backward(const Encoder *of, const Index *index, index_t begin, int count, const float *z, const Packed *weights,
                          const Tile *tile, const float *into_q, const float *into_kv, float *into_z, float *share) {
  const int d = (int)of->d, w = padded(d), D = columns_of(of);
  float *of_kv = share + D, *restrict bias = share + (size_t)w * 3 * D;
  const float *row[TILE], *rows = z + begin * d;
  int targets = 0, own[TILE], ld = d;
  if (d % MR) { /* a copy, because blocks of MR columns would read beyond the end of z */
    for (int i = 0; i < count; i++) memcpy(tile->in + (size_t)i * w, rows + (size_t)i * d, sizeof(float) * d);
    rows = tile->in, ld = w;
  }
  for (int i = 0; i < count; i++) {
    const float *restrict g = into_kv + (begin + i) * 2 * D;
#pragma omp simd
    for (int j = 0; j < 2 * D; j++) bias[D + j] += g[j];
    if (index->node[begin + i] < 0) continue;
    const float *restrict g_q = into_q + index->node[begin + i] * D;
    memcpy(tile->g + (size_t)targets * D, g_q, sizeof(float) * D);
#pragma omp simd
    for (int j = 0; j < D; j++) bias[j] += g_q[j];
    own[targets++] = i;
  }
  pointers(row, rows, count, ld);
  outer_sum(row, d, into_kv + begin * 2 * D, 2 * D, 2 * D, count, of_kv, 3 * D);
  pointers(row, into_kv + begin * 2 * D, count, 2 * D);
  rows_times_packed(row, count, 2 * D, weights->kv, d, tile->product, w, 0);
  for (int i = 0; i < targets; i++) row[i] = rows + (size_t)own[i] * ld;
  outer_sum(row, d, tile->g, D, D, targets, share, 3 * D);
  pointers(row, tile->g, targets, D);
  rows_times_packed(row, targets, D, weights->q, d, tile->more, w, 0);
  for (int i = 0; i < targets; i++) {
    float *restrict to = tile->product + (size_t)own[i] * w;
    const float *restrict more = tile->more + (size_t)i * w;
#pragma omp simd
    for (int j = 0; j < w; j++) to[j] += more[j];
  }
  for (int i = 0; i < count; i++) memcpy(into_z + (begin + i) * d, tile->product + (size_t)i * w, sizeof(float) * d);
}

int attention_backward(int threads, const Encoder *of, const Index *index, const float *z, const float *const *weights,
                       const float *kept, const float *into_y, float *into_z, float *const *into) {
  const int n = (int)of->n, d = (int)of->d, w = padded(d), D = columns_of(of);
  const Kept from = parts_of(of, (float *)kept);
  const size_t node_share = of_nodes(of), set_share = of_sets(of);
  const index_t step = sets_of_share(of->sets), set_shares = (of->sets + step - 1) / step;
  index_t longest = 0;
  for (index_t v = 0; v < of->nodes; v++)
    longest = index->start[v + 1] - index->start[v] > longest ? index->start[v + 1] - index->start[v] : longest;
  Memory shared = {0};
  const Packed back = packed(of, weights, 1, &shared);
  float *by_part = uncleared(&shared, node_share * of->cuts), *by_sets = uncleared(&shared, set_share * set_shares);
  float *into_q = uncleared(&shared, of->nodes * D), *into_kv = uncleared(&shared, of->sets * 2 * D);
  if (shared.failed) return release(&shared);
#pragma omp parallel num_threads(threads)
  {
    Memory mine = {0};
    Tile tile = {.in = scratch(&mine, (size_t)TILE * w), .product = uncleared(&mine, (size_t)TILE * w)};
    tile.more = uncleared(&mine, (size_t)TILE * w);
    tile.g = uncleared(&mine, (size_t)TILE * D);
    tile.slopes = uncleared(&mine, longest * V);
#pragma omp for schedule(static)
    for (index_t r = 0; r < of->sets; r++) memset(into_kv + r * 2 * D, 0, sizeof(float) * 2 * D);
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < of->cuts; c++)
      if (!mine.failed)
        nodes_backward(of, index, c, &from, &back, into_y, &tile, into_q, into_kv,
                       memset(by_part + c * node_share, 0, sizeof(float) * node_share));
#pragma omp single
    {
      float *restrict empty = by_part + node_share - 2 * D, *restrict to = into_kv + (of->sets - 1) * 2 * D;
      add_up(empty, 2 * D, of->cuts, node_share);
      for (int j = 0; j < 2 * D; j++) to[j] += empty[j];
    }
#pragma omp for schedule(dynamic)
    for (index_t c = 0; c < set_shares; c++) {
      if (mine.failed) continue;
      float *share = memset(by_sets + c * set_share, 0, sizeof(float) * set_share);
      for (index_t begin = c * step; begin < smaller(of->sets, (c + 1) * step); begin += TILE)
        sets_backward(of, index, begin, (int)smaller(TILE, smaller(of->sets, (c + 1) * step) - begin), z, &back, &tile, into_q,
                      into_kv, into_z, share);
    }
#pragma omp for schedule(static)
    for (int i = 0; i <= d; i++) { /* column i of the weights of query, key and value; at last the biases */
      float *sum = by_sets + (size_t)(i < d ? i : w) * 3 * D;
      add_up(sum, 3 * D, set_shares, set_share);
      for (int r = 0; r < 3 * n; r++) {
        const float found = (r < n ? back.scale : 1.0f) * sum[r / n * D + place(of, r % n)];
        if (i < d) into[r / n * 2][(size_t)(r % n) * d + i] = found;
        else into[r / n * 2 + 1][r % n] = found;
      }
    }
#pragma omp for schedule(static)
    for (int r = 0; r <= n; r++) { /* column r of W_o; at last b_o */
      float *sum = by_part + (size_t)(r < n ? place(of, r) : D) * w;
      add_up(sum, d, of->cuts, node_share);
      for (int j = 0; j < d; j++) *(r < n ? into[OUT] + (size_t)j * n + r : into[OUT_BIAS] + j) = sum[j];
    }
    release_into(&mine, &shared);
  }
  return release(&shared);
}
