// The parts of cuBLAS that matrix products need, in the same library: column-major, as there.
#include <set>

#include "driver.h"
#include "memory.h"

using namespace ptx;

namespace {

constexpr int success = 0, not_ready = 1, invalid = 7;

struct Handle {
  void* stream = nullptr;
};
std::set<void*> handles;

template <class T> struct Product {
  bool turn_a, turn_b;
  int m, n, k;
  T alpha, beta;
  const T *a, *b;
  T* c;
  long long lda, ldb, ldc, step_a, step_b, step_c;
  int batch;

  // held is whether all of a matrix is in one allocation.
  static bool held(const T* p, int rows, int cols, long long ld) {
    return rows == 0 || cols == 0 || inside((u64)p, ((cols - 1ll) * ld + rows) * sizeof(T));
  }

  int run() const {
    for (int g = 0; g < batch; g++) {
      const T *x = a + g * step_a, *y = b + g * step_b;
      T* z = c + g * step_c;
      if (!held(x, turn_a ? k : m, turn_a ? m : k, lda) || !held(y, turn_b ? n : k, turn_b ? k : n, ldb) ||
          !held(z, m, n, ldc)) {
        last_fault = "a product beyond its matrices";
        return illegal_address;
      }
      for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
          T sum = 0;
          for (int l = 0; l < k; l++)
            sum += x[turn_a ? l + i * lda : i + l * lda] * y[turn_b ? j + l * ldb : l + j * ldb];
          T& to = z[i + j * ldc];
          to = beta == 0 ? alpha * sum : alpha * sum + beta * to;
          mark_written((u64)&to, sizeof to);
        }
    }
    return ok;
  }
};

template <class T> int gemm(void* h, const Product<T>& p) {
  std::lock_guard<std::mutex> held(lock);
  if (!handles.count(h) || p.m < 0 || p.n < 0 || p.k < 0 || p.ldc < p.m) return invalid;
  if (p.lda < (p.turn_a ? p.k : p.m) || p.ldb < (p.turn_b ? p.n : p.k)) return invalid;
  if (state() != ok || !is_stream(((Handle*)h)->stream)) return not_ready;
  submit(((Handle*)h)->stream, [p] { return p.run(); });
  return success;
}

} // namespace

extern "C" {
int cublasCreate_v2(void** h) {
  std::lock_guard<std::mutex> held(lock);
  handles.insert(*h = new Handle);
  return context_is_current() ? success : not_ready;
}
int cublasDestroy_v2(void* h) {
  std::lock_guard<std::mutex> held(lock);
  if (!handles.erase(h)) return invalid;
  delete (Handle*)h;
  return success;
}
int cublasSetStream_v2(void* h, void* s) {
  std::lock_guard<std::mutex> held(lock);
  if (!handles.count(h) || !is_stream(s)) return invalid;
  ((Handle*)h)->stream = s;
  return success;
}
int cublasSetMathMode(void* h, int mode) {
  std::lock_guard<std::mutex> held(lock);
  return handles.count(h) && (mode == 0 || mode == 3) ? success : invalid;
}
int cublasSetWorkspace_v2(void* h, u64 p, size_t n) {
  std::lock_guard<std::mutex> held(lock);
  return handles.count(h) && inside(p, n) ? success : invalid;
}
int cublasGetVersion_v2(void* h, int* v) {
  std::lock_guard<std::mutex> held(lock);
  *v = 120000;
  return handles.count(h) ? success : invalid;
}
#define PRODUCTS(S, T)                                                                                                \
  int cublas##S##gemmStridedBatched(void* h, int ta, int tb, int m, int n, int k, const T* alpha, const T* a, int lda, \
      long long sa, const T* b, int ldb, long long sb, const T* beta, T* c, int ldc, long long sc, int batch) {       \
    return gemm<T>(h, {ta != 0, tb != 0, m, n, k, *alpha, *beta, a, b, c, lda, ldb, ldc, sa, sb, sc, batch});         \
  }                                                                                                                   \
  int cublas##S##gemm_v2(void* h, int ta, int tb, int m, int n, int k, const T* alpha, const T* a, int lda,           \
      const T* b, int ldb, const T* beta, T* c, int ldc) {                                                            \
    return gemm<T>(h, {ta != 0, tb != 0, m, n, k, *alpha, *beta, a, b, c, lda, ldb, ldc, 0, 0, 0, 1});                \
  }
PRODUCTS(S, float)
PRODUCTS(D, double)
}
