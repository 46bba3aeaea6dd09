/* mt-ogd on a clique, logistic loss, constant rate: the loop that weft compiles, written by hand in C over the same
   arrays. own is (tasks, features), shared is (features); rows are CSR. */
#include <math.h>
#include <stdint.h>

void learn(int64_t events, int64_t features, const int64_t *task, const double *label, const int64_t *indptr,
           const int64_t *indices, const double *values, double own_rate, double shared_rate, double *own,
           double *shared, double *scores) {
    for (int64_t i = 0; i < events; i++) {
        double *z = own + task[i] * features;
        double score = 0.0, y = label[i];
        for (int64_t e = indptr[i]; e < indptr[i + 1]; e++)
            score += (z[indices[e]] + shared[indices[e]]) * values[e];
        scores[i] = score;
        double g = -y / (1.0 + exp(y * score));
        double own_step = -own_rate * g, shared_step = -shared_rate * g;
        for (int64_t e = indptr[i]; e < indptr[i + 1]; e++) {
            z[indices[e]] += own_step * values[e];
            shared[indices[e]] += shared_step * values[e];
        }
    }
}
