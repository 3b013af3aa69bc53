/* What the kernels want to know of the sequences of nodes, besides the sequences. */
#include "common.h"

/* The set at hop 0 of each node, the node of each such set (else -1), and where nodes can be cut apart: no set is on both
 * sides but the last, the empty one, and a part has `apart` nodes or more. Returns the number of parts, or 0 if a
 * sequence is empty or lists a set that is not there. -> target [nodes], node [sets], cut [parts + 1] */
index_t arrange(int threads, index_t nodes, index_t sets, index_t apart, const index_t *start, const index_t *set, index_t *target,
                index_t *node, index_t *cut) {
  (void)threads; /* it waits for memory only */
  index_t *lowest = malloc((nodes + 1) * sizeof(index_t)), highest = -1, parts = 0; /* lowest: from a node on */
  if (!lowest) abort();
  memset(node, -1, sets * sizeof(index_t));
  lowest[nodes] = sets;
  cut[0] = 0;
  for (index_t v = nodes - 1; v >= 0; v--) {
    lowest[v] = lowest[v + 1];
    if (start[v] >= start[v + 1]) return free(lowest), 0;
    for (index_t at = start[v]; at < start[v + 1]; at++) {
      if (set[at] < 0 || set[at] >= sets) return free(lowest), 0;
      if (set[at] != sets - 1) lowest[v] = smaller(lowest[v], set[at]);
    }
  }
  for (index_t v = 0; v < nodes; v++) {
    if (v - cut[parts] >= apart && highest < lowest[v]) cut[++parts] = v;
    for (index_t at = start[v]; at < start[v + 1]; at++)
      if (set[at] != sets - 1 && set[at] > highest) highest = set[at];
    target[v] = set[start[v]];
    node[target[v]] = v;
  }
  free(lowest);
  cut[++parts] = nodes;
  return parts;
}
