// A libcuda.so.1 whose device is the host. It runs the same kernels, defers work as a stream does until something waits
// for it, keeps contexts by thread, counts memory, captures graphs, and can be told to fail:
//
//   FAKE_CUDA_DEVICES=n      number of devices (1)
//   FAKE_CUDA_VERSION=n      version of the driver (12040)
//   FAKE_CUDA_CAPABILITY=n   compute capability, major·10 + minor (80; machine code of another one is refused)
//   FAKE_CUDA_MEMORY=n       bytes of memory (4 GiB)
//   FAKE_CUDA_FAIL=kernel    the kernel faults when it runs; launch:kernel: its launch is refused; cubin: machine code is
//   FAKE_CUDA_IDLE=1         nothing is computed and what is copied to the host is 0: for counting what a step asks for
//   FAKE_CUDA_ORDER=n        threads of a block run in the reverse order (-1) or in one drawn from a seed (1, 2, …)
//
// All devices share one context and one memory: what belongs to one ordinal and is used on another is not found out.
#include "fibre.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace {

std::mutex lock;
int context_object;
thread_local void* current = nullptr;
int retained = 0;

constexpr int ok = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, no_device = 100, invalid_device = 101,
              invalid_image = 200, invalid_context = 201, no_binary = 209, invalid_handle = 400, not_found = 500, illegal_address = 700,
              launch_failed = 719, capture_unsupported = 900, capture_unmatched = 905;

constexpr size_t guard = 64;
constexpr unsigned char guard_byte = 0xa5, fresh_byte = 0xff; // fresh memory is NaN

std::map<uintptr_t, size_t> live, locked; // memory of the device, and of the host's that is page-locked
size_t used = 0;
int sticky = ok;
bool inited = false;
std::string last_fault;

using Op = std::function<int()>;
std::vector<Op> queue; // of all streams

struct Stream {
  std::vector<Op>* capture = nullptr;
};
std::set<void*> streams;

Stream* stream_of(void* s) { return streams.count(s) ? (Stream*)s : nullptr; }

struct Module {
  std::set<std::string> names;
};
struct Function {
  const fake::Entry* entry;
};
struct Graph {
  std::vector<Op> ops;
};

std::map<std::string, fake::Entry>& entries() {
  static std::map<std::string, fake::Entry> all;
  return all;
}

long long env(const char* name, long long otherwise) {
  const char* v = getenv(name);
  return v && *v ? atoll(v) : otherwise;
}

int check_context() { return !inited ? not_initialized : current == &context_object ? sticky : invalid_context; }

int flush() {
  std::vector<Op> work;
  work.swap(queue);
  for (auto& op : work) {
    if (sticky != ok) break;
    sticky = op();
  }
  return sticky;
}

// submit queues work, or adds it to the graph that is being captured from its stream.
int submit(void* s, Op op) {
  if (env("FAKE_CUDA_IDLE", 0)) return ok;
  (stream_of(s)->capture ? *stream_of(s)->capture : queue).push_back(std::move(op));
  return ok;
}

bool inside(uint64_t p, size_t n) {
  fake::Range r = fake::range_of(p);
  return n == 0 || (r.lo <= p && p + n <= r.hi);
}

// params reads the sizes of an entry's parameters from PTX.
std::vector<size_t> params(const std::string& text) {
  std::vector<size_t> sizes;
  for (size_t at = text.find(".param"); at != std::string::npos; at = text.find(".param", at + 1)) {
    std::string one = text.substr(at, text.find_first_of(",)", at) - at);
    size_t open = one.find('[');
    std::string type = one.substr(7, 4); // .u64
    if (open != std::string::npos) sizes.push_back(atoll(one.c_str() + open + 1));
    else sizes.push_back(type.substr(2) == "64" ? 8 : (type.substr(2) == "32" ? 4 : 0));
  }
  return sizes;
}

} // namespace

namespace fake {

void add(Entry e) { entries()[e.name] = e; }

Range range_of(uintptr_t p) {
  auto it = live.upper_bound(p);
  if (it == live.begin()) return {0, 0};
  --it;
  if (p > it->first + it->second) return {0, 0};
  return {it->first, it->first + it->second};
}

} // namespace fake

#define LOCK std::lock_guard<std::mutex> held(lock)
#define CONTEXT                                  \
  LOCK;                                          \
  if (int r = check_context(); r != ok) return r
#define NOT_CAPTURING(s)                         \
  if (Stream* one = stream_of(s); one && one->capture) return capture_unsupported

extern "C" {

int cuInit(unsigned flags) {
  LOCK;
  if (flags) return invalid_value;
  if (env("FAKE_CUDA_DEVICES", 1) == 0) return no_device;
  inited = true;
  return ok;
}
int cuDriverGetVersion(int* v) {
  *v = (int)env("FAKE_CUDA_VERSION", 12040);
  return ok;
}
int cuDeviceGetCount(int* n) {
  *n = (int)env("FAKE_CUDA_DEVICES", 1);
  return inited ? ok : not_initialized;
}
int cuDeviceGet(int* d, int ordinal) {
  if (!inited) return not_initialized;
  if (ordinal < 0 || ordinal >= env("FAKE_CUDA_DEVICES", 1)) return invalid_device;
  *d = ordinal;
  return ok;
}
int cuDeviceGetName(char* s, int n, int) {
  snprintf(s, n, "Fake (kernels on the host)");
  return ok;
}
int cuDeviceGetAttribute(int* v, int attribute, int) {
  int capability = (int)env("FAKE_CUDA_CAPABILITY", 80);
  switch (attribute) {
    case 75: *v = capability / 10; return ok;
    case 76: *v = capability % 10; return ok;
    case 16: *v = 4; return ok;
    case 13: *v = 1500000; return ok;
  }
  return invalid_value;
}
int cuDevicePrimaryCtxRetain(void** c, int) {
  LOCK;
  *c = &context_object;
  retained++;
  return ok;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  LOCK;
  if (retained == 0) return invalid_context;
  if (--retained == 0) { // the context goes, and what is in it
    for (auto& m : live) free((void*)(m.first - 256));
    live.clear();
    queue.clear();
    used = 0;
    sticky = ok;
    last_fault.clear();
  }
  return ok;
}
int cuCtxSetCurrent(void* c) {
  if (c && c != &context_object) return invalid_context;
  current = c;
  return ok;
}
int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  CONTEXT;
  *total = env("FAKE_CUDA_MEMORY", 4ll << 30);
  *free_bytes = *total > used ? *total - used : 0;
  return ok;
}

// load_machine takes a module's kernels from the names of its sections. The host's code runs in their place.
int load_machine(void** m, const char* image) {
  auto at = [&](size_t offset, auto value) { return memcpy(&value, image + offset, sizeof value), value; };
  const char* fail = getenv("FAKE_CUDA_FAIL");
  int chip = at(48, uint32_t()) & 0xff; // of the flags in the head of ELF
  if (at(18, uint16_t()) != 190 || chip != env("FAKE_CUDA_CAPABILITY", 80) || (fail && !strcmp(fail, "cubin"))) return no_binary;
  size_t names = at(40, uint64_t()) + at(62, uint16_t()) * at(58, uint16_t()); // head of the section of their names
  std::string all(image + at(names + 24, uint64_t()), at(names + 32, uint64_t()));
  Module* out = new Module;
  for (size_t k = 0; k < all.size(); k += strlen(&all[k]) + 1)
    if (!strncmp(&all[k], ".text.", 6) && entries().count(&all[k + 6])) out->names.insert(&all[k + 6]);
  *m = out;
  return ok;
}

int cuModuleLoadDataEx(void** m, const void* image, unsigned n, int* options, void** values) {
  CONTEXT;
  if (!memcmp(image, "\177ELF", 4)) return load_machine(m, (const char*)image);
  std::string ptx((const char*)image);
  std::string wrong = ptx.find(".target sm_") == std::string::npos ? "no .target" : "";
  Module* out = new Module;
  for (size_t at = ptx.find(".entry "); at != std::string::npos; at = ptx.find(".entry ", at + 1)) {
    size_t open = ptx.find('(', at), close = ptx.find("\n)", open);
    std::string name = ptx.substr(at + 7, open - at - 7);
    auto e = entries().find(name);
    if (e == entries().end()) wrong = name + ": the host has no such kernel";
    else if (params(ptx.substr(open, close + 2 - open)) != e->second.sizes) wrong = name + ": parameters differ from the host's";
    out->names.insert(name);
  }
  if (!wrong.empty()) {
    char* log = nullptr;
    size_t size = 0;
    for (unsigned k = 0; k < n; k++) {
      if (options[k] == 5) log = (char*)values[k];
      if (options[k] == 6) size = (size_t)values[k];
    }
    if (log) snprintf(log, size, "%s", wrong.c_str());
    delete out;
    return invalid_image;
  }
  *m = out;
  return ok;
}
int cuModuleUnload(void* m) {
  CONTEXT;
  delete (Module*)m;
  return ok;
}
int cuModuleGetFunction(void** f, void* m, const char* name) {
  CONTEXT;
  if (!((Module*)m)->names.count(name)) return not_found;
  *f = &entries().at(name);
  return ok;
}

int cuMemAlloc_v2(uint64_t* p, size_t n) {
  CONTEXT;
  if (n == 0) return invalid_value;
  if (used + n > (size_t)env("FAKE_CUDA_MEMORY", 4ll << 30)) return out_of_memory;
  char* raw = (char*)aligned_alloc(256, (n + 2 * guard + 256 + 255) / 256 * 256);
  if (!raw) return out_of_memory;
  raw += 256 - guard; // so that the block is aligned to 256
  char* block = raw + guard;
  memset(raw, guard_byte, guard);
  memset(block, fresh_byte, n);
  memset(block + n, guard_byte, guard);
  live[(uintptr_t)block] = n;
  used += n;
  *p = (uint64_t)(uintptr_t)block;
  return ok;
}
int cuMemFree_v2(uint64_t p) {
  CONTEXT;
  auto it = live.find(p);
  if (it == live.end()) return invalid_value;
  flush(); // as the real one waits
  const unsigned char* b = (const unsigned char*)p;
  for (size_t k = 0; k < guard; k++)
    if (b[-1 - (ptrdiff_t)k] != guard_byte || b[it->second + k] != guard_byte) {
      last_fault = "a block was written beyond its ends";
      sticky = illegal_address;
    }
  used -= it->second;
  memset((void*)p, fresh_byte, it->second);
  free((void*)(p - 256));
  live.erase(it);
  return sticky;
}

// Page-locked memory, from which copies wait for their turn.
int cuMemAllocHost_v2(void** p, size_t n) {
  CONTEXT;
  if (n == 0 || !(*p = malloc(n))) return n ? out_of_memory : invalid_value;
  locked[(uintptr_t)*p] = n;
  return ok;
}
int cuMemFreeHost(void* p) {
  CONTEXT;
  flush();
  if (!locked.erase((uintptr_t)p)) return invalid_value;
  free(p);
  return sticky;
}

int cuMemcpyHtoDAsync_v2(uint64_t dst, const void* src, size_t n, void* stream) {
  CONTEXT;
  NOT_CAPTURING(stream);
  if (!stream_of(stream) || !inside(dst, n)) return invalid_value;
  auto it = locked.upper_bound((uintptr_t)src);
  if (it != locked.begin() && (uintptr_t)src + n <= (--it)->first + it->second)
    return submit(stream, [=] {
      if (!inside(dst, n)) return illegal_address;
      memcpy((void*)dst, src, n);
      return ok;
    });
  if (int r = flush(); r != ok) return r; // pageable memory is staged before the call returns
  memcpy((void*)dst, src, n);
  return ok;
}
int cuMemcpyDtoHAsync_v2(void* dst, uint64_t src, size_t n, void* stream) {
  CONTEXT;
  NOT_CAPTURING(stream);
  if (!stream_of(stream) || !inside(src, n)) return invalid_value;
  if (env("FAKE_CUDA_IDLE", 0)) memset(dst, 0, n);
  return submit(stream, [=] { memcpy(dst, (void*)src, n); return ok; });
}
int cuMemcpyDtoDAsync_v2(uint64_t dst, uint64_t src, size_t n, void* stream) {
  CONTEXT;
  if (!stream_of(stream) || !inside(dst, n) || !inside(src, n)) return invalid_value;
  return submit(stream, [=] {
    if (!inside(dst, n) || !inside(src, n)) return illegal_address;
    memmove((void*)dst, (void*)src, n);
    return ok;
  });
}
int cuMemsetD8Async(uint64_t dst, unsigned char v, size_t n, void* stream) {
  CONTEXT;
  if (!stream_of(stream) || !inside(dst, n)) return invalid_value;
  return submit(stream, [=] {
    if (!inside(dst, n)) return illegal_address;
    memset((void*)dst, v, n);
    return ok;
  });
}

int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void* stream, void** arguments, void** extra) {
  CONTEXT;
  const fake::Entry* e = (const fake::Entry*)f;
  if (!stream_of(stream) || extra || shared || !e) return invalid_handle;
  if (gx - 1 > 0x7ffffffeu || gy - 1 > 65534 || gz - 1 > 65534 || bx - 1 > 1023 || by != 1 || bz != 1) return invalid_value;
  const char* fail = getenv("FAKE_CUDA_FAIL");
  if (fail && fail == std::string("launch:") + e->name) return launch_failed;
  std::vector<std::vector<char>> raw;
  for (size_t k = 0; k < e->sizes.size(); k++)
    raw.emplace_back((char*)arguments[k], (char*)arguments[k] + e->sizes[k]);
  return submit(stream, [=] {
    const char* fail = getenv("FAKE_CUDA_FAIL");
    if (fail && !strcmp(fail, e->name)) {
      last_fault = std::string(e->name) + " was told to fail";
      return launch_failed;
    }
    void* bound = e->bind(raw);
    last_fault = fake::run_grid(*e, bound, fake::Here{0, 0, 0, 0, bx, gx, gy, gz}, env("FAKE_CUDA_ORDER", 0));
    e->release(bound);
    return last_fault.empty() ? ok : illegal_address;
  });
}

int cuStreamCreate(void** s, unsigned flags) {
  CONTEXT;
  if (flags != 1) return invalid_value;
  streams.insert(*s = new Stream);
  return ok;
}
int cuStreamDestroy_v2(void* s) {
  CONTEXT;
  if (!stream_of(s)) return invalid_handle;
  int r = flush();
  streams.erase(s);
  delete (Stream*)s;
  return r;
}
int cuStreamSynchronize(void* s) {
  CONTEXT;
  NOT_CAPTURING(s);
  return stream_of(s) ? flush() : invalid_handle;
}

int cuStreamBeginCapture_v2(void* s, int mode) {
  CONTEXT;
  NOT_CAPTURING(s);
  if (!stream_of(s) || mode != 2) return invalid_value;
  stream_of(s)->capture = new std::vector<Op>;
  return ok;
}
int cuStreamEndCapture(void* s, void** graph) {
  CONTEXT;
  Stream* one = stream_of(s);
  if (!one || !one->capture) return capture_unmatched;
  *graph = new Graph{std::move(*one->capture)};
  delete one->capture;
  one->capture = nullptr;
  return ok;
}
int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long flags) {
  CONTEXT;
  if (flags) return invalid_value;
  *exec = new Graph(*(Graph*)graph);
  return ok;
}
int cuGraphLaunch(void* exec, void* s) {
  CONTEXT;
  if (!stream_of(s)) return invalid_handle;
  for (auto& op : ((Graph*)exec)->ops) submit(s, op);
  return ok;
}
int cuGraphExecDestroy(void* exec) {
  CONTEXT;
  flush();
  delete (Graph*)exec;
  return ok;
}
int cuGraphDestroy(void* graph) {
  CONTEXT;
  delete (Graph*)graph;
  return ok;
}

int cuGetErrorName(int r, const char** s) {
  static const std::map<int, const char*> names = {{0, "CUDA_SUCCESS"}, {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {3, "CUDA_ERROR_NOT_INITIALIZED"}, {100, "CUDA_ERROR_NO_DEVICE"},
      {101, "CUDA_ERROR_INVALID_DEVICE"}, {200, "CUDA_ERROR_INVALID_IMAGE"}, {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {400, "CUDA_ERROR_INVALID_HANDLE"}, {500, "CUDA_ERROR_NOT_FOUND"}, {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"}, {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}};
  auto it = names.find(r);
  *s = it == names.end() ? nullptr : it->second;
  return it == names.end() ? invalid_value : ok;
}
int cuGetErrorString(int r, const char** s) {
  static std::string text;
  text = (r == illegal_address || r == launch_failed) && !last_fault.empty() ? last_fault : "as the fake driver has it";
  *s = text.c_str();
  return ok;
}

} // extern "C"

// The parts of cuBLAS that matrix products need, in the same library: column-major, as there.

namespace {
struct Blas {
  void* stream = nullptr;
};
std::set<void*> handles;

template <class T>
int gemm(void* h, int ta, int tb, int m, int n, int k, const T* alpha, const T* a, int lda, long long sa, const T* b,
    int ldb, long long sb, const T* beta, T* c, int ldc, long long sc, int batch) {
  std::lock_guard<std::mutex> held(lock);
  if (!handles.count(h) || m < 0 || n < 0 || k < 0 || lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) return 7;
  if (check_context() != ok || !stream_of(((Blas*)h)->stream)) return 1;
  T al = *alpha, be = *beta;
  auto matrix = [](const T* p, int rows, int cols, int ld) { // is it all inside
    return rows == 0 || cols == 0 || inside((uint64_t)p, (((size_t)cols - 1) * ld + rows) * sizeof(T));
  };
  submit(((Blas*)h)->stream, [=] {
    for (int g = 0; g < batch; g++) {
      const T *x = a + g * sa, *y = b + g * sb;
      T* z = c + g * sc;
      if (!matrix(x, ta ? k : m, ta ? m : k, lda) || !matrix(y, tb ? n : k, tb ? k : n, ldb) || !matrix(z, m, n, ldc))
        return illegal_address;
      for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
          T s = 0;
          for (int l = 0; l < k; l++)
            s += (ta ? x[l + (long long)i * lda] : x[i + (long long)l * lda]) *
                 (tb ? y[j + (long long)l * ldb] : y[l + (long long)j * ldb]);
          T* to = z + i + (long long)j * ldc;
          *to = be == 0 ? al * s : al * s + be * *to;
        }
    }
    return ok;
  });
  return 0;
}
} // namespace

extern "C" {
int cublasCreate_v2(void** h) {
  LOCK;
  handles.insert(*h = new Blas);
  return current == &context_object ? 0 : 1;
}
int cublasDestroy_v2(void* h) {
  LOCK;
  if (!handles.erase(h)) return 7;
  delete (Blas*)h;
  return 0;
}
int cublasSetStream_v2(void* h, void* s) {
  LOCK;
  if (!handles.count(h) || !stream_of(s)) return 7;
  ((Blas*)h)->stream = s;
  return 0;
}
int cublasSetMathMode(void* h, int mode) {
  LOCK;
  return handles.count(h) && (mode == 0 || mode == 3) ? 0 : 7;
}
int cublasSetWorkspace_v2(void* h, uint64_t p, size_t n) {
  LOCK;
  return handles.count(h) && inside(p, n) ? 0 : 7;
}
int cublasGetVersion_v2(void* h, int* v) {
  LOCK;
  *v = 120000;
  return handles.count(h) ? 0 : 7;
}
int cublasSgemmStridedBatched(void* h, int ta, int tb, int m, int n, int k, const float* alpha, const float* a, int lda,
    long long sa, const float* b, int ldb, long long sb, const float* beta, float* c, int ldc, long long sc, int batch) {
  return gemm(h, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch);
}
int cublasDgemmStridedBatched(void* h, int ta, int tb, int m, int n, int k, const double* alpha, const double* a,
    int lda, long long sa, const double* b, int ldb, long long sb, const double* beta, double* c, int ldc, long long sc,
    int batch) {
  return gemm(h, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch);
}
int cublasSgemm_v2(void* h, int ta, int tb, int m, int n, int k, const float* alpha, const float* a, int lda,
    const float* b, int ldb, const float* beta, float* c, int ldc) {
  return gemm(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
int cublasDgemm_v2(void* h, int ta, int tb, int m, int n, int k, const double* alpha, const double* a, int lda,
    const double* b, int ldb, const double* beta, double* c, int ldc) {
  return gemm(h, ta, tb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, 1);
}
}
