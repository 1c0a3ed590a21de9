// A libcuda.so.1 whose device executes PTX. Work is done when something waits for it, as a stream does; contexts belong
// to threads, memory is counted, graphs are captured, failures can be asked for (options.h). All devices share one
// context and one memory: what belongs to one ordinal and is used on another is not found out.
#include "driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "memory.h"
#include "options.h"

namespace ptx {

std::mutex lock;

namespace {

int context_object;
thread_local void* current = nullptr;
int retained = 0, sticky = ok;
bool initialized = false;

std::vector<Work> queue; // of all streams
std::map<u64, u64> locked; // memory of the host that is page-locked, and its size

struct Stream {
  std::unique_ptr<std::vector<Work>> capture;
};
std::set<void*> streams;
Stream* stream_of(void* s) { return streams.count(s) ? (Stream*)s : nullptr; }

struct Graph {
  std::vector<Work> works;
};
struct Module {
  Kernels kernels;
};

int flush() {
  std::vector<Work> works;
  works.swap(queue);
  for (auto& w : works) {
    if (sticky != ok) break;
    sticky = w();
  }
  return sticky;
}

bool idle() { return env("PTXSIM_IDLE", 0); }
u64 memory_size() { return env("PTXSIM_MEMORY", 4ll << 30); }

int lost(const char* what) {
  last_fault = what;
  return illegal_address;
}

bool is_locked(const void* p, size_t n) {
  auto it = locked.upper_bound((u64)p);
  return it != locked.begin() && (u64)p + n <= (--it)->first + it->second;
}

// machine_code is a module of kernels that nothing can run here: their names, from those of an ELF file's sections.
Module* machine_code(const char* image) {
  auto at = [&](size_t offset, auto value) { return memcpy(&value, image + offset, sizeof value), value; };
  int chip = at(48, u32()) & 0xff; // of the flags in the head
  if (at(18, u16()) != 190 || chip != env("PTXSIM_CAPABILITY", 80) || env("PTXSIM_FAIL") == "cubin") return nullptr;
  size_t names = at(40, u64()) + at(62, u16()) * at(58, u16()); // head of the section of their names
  std::string all(image + at(names + 24, u64()), at(names + 32, u64()));
  Module* m = new Module;
  for (size_t k = 0; k < all.size(); k += strlen(&all[k]) + 1)
    if (!strncmp(&all[k], ".text.", 6)) {
      auto kernel = std::make_shared<Kernel>();
      kernel->name = &all[k + 6];
      kernel->runnable = false;
      m->kernels[kernel->name] = kernel;
    }
  return m;
}

} // namespace

bool context_is_current() { return current == &context_object; }
int state() { return !initialized ? not_initialized : context_is_current() ? sticky : invalid_context; }
bool is_stream(void* s) { return stream_of(s); }

void submit(void* s, Work work) {
  if (idle()) return;
  Stream* one = stream_of(s);
  (one->capture ? *one->capture : queue).push_back(std::move(work));
}

} // namespace ptx

using namespace ptx;

#define LOCK std::lock_guard<std::mutex> held(lock)
#define CONTEXT \
  LOCK;         \
  if (int r = state(); r != ok) return r
#define NOT_CAPTURING(s) \
  if (Stream* one = stream_of(s); one && one->capture) return capture_unsupported

extern "C" {

int cuInit(unsigned flags) {
  LOCK;
  if (flags) return invalid_value;
  if (env("PTXSIM_DEVICES", 1) == 0) return no_device;
  read_options();
  seed(options.seed);
  open_memory();
  initialized = true;
  return ok;
}
int cuDriverGetVersion(int* v) {
  *v = (int)env("PTXSIM_VERSION", 12040);
  return ok;
}
int cuDeviceGetCount(int* n) {
  *n = (int)env("PTXSIM_DEVICES", 1);
  return initialized ? ok : not_initialized;
}
int cuDeviceGet(int* d, int ordinal) {
  if (!initialized) return not_initialized;
  if (ordinal < 0 || ordinal >= env("PTXSIM_DEVICES", 1)) return invalid_device;
  *d = ordinal;
  return ok;
}
int cuDeviceGetName(char* s, int n, int) {
  snprintf(s, n, "Emulator of PTX");
  return ok;
}
int cuDeviceGetAttribute(int* v, int attribute, int) {
  int capability = (int)env("PTXSIM_CAPABILITY", 80);
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
    release_all();
    queue.clear();
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
  *total = memory_size();
  *free_bytes = *total > memory_used() ? *total - memory_used() : 0;
  return ok;
}

int cuModuleLoadDataEx(void** m, const void* image, unsigned n, int* options, void** values) {
  CONTEXT;
  if (!memcmp(image, "\177ELF", 4)) return (*m = machine_code((const char*)image)) ? ok : no_binary;
  try {
    *m = new Module{parse((const char*)image)};
    return ok;
  } catch (const Unreadable& e) {
    char* log = nullptr;
    size_t size = 0;
    for (unsigned k = 0; k < n; k++) {
      if (options[k] == 5) log = (char*)values[k];
      if (options[k] == 6) size = (size_t)values[k];
    }
    if (log) snprintf(log, size, "%s", e.why.c_str());
    return invalid_image;
  }
}
int cuModuleUnload(void* m) {
  CONTEXT;
  delete (Module*)m;
  return ok;
}
int cuModuleGetFunction(void** f, void* m, const char* name) {
  CONTEXT;
  auto& kernels = ((Module*)m)->kernels;
  auto it = kernels.find(name);
  if (it == kernels.end()) return not_found;
  *f = &it->second;
  return ok;
}

int cuMemAlloc_v2(u64* p, size_t n) {
  CONTEXT;
  if (n == 0) return invalid_value;
  if (memory_used() + n > memory_size()) return out_of_memory;
  *p = allocate(n, !idle());
  return *p ? ok : out_of_memory;
}
int cuMemFree_v2(u64 p) {
  CONTEXT;
  flush(); // as the real one waits
  return release(p) ? sticky : invalid_value;
}

// Page-locked memory, from which copies wait for their turn.
int cuMemAllocHost_v2(void** p, size_t n) {
  CONTEXT;
  if (n == 0 || !(*p = malloc(n))) return n ? out_of_memory : invalid_value;
  locked[(u64)*p] = n;
  return ok;
}
int cuMemFreeHost(void* p) {
  CONTEXT;
  flush();
  if (!locked.erase((u64)p)) return invalid_value;
  free(p);
  return sticky;
}

int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t n, void* stream) {
  CONTEXT;
  NOT_CAPTURING(stream);
  if (!is_stream(stream) || !inside(to, n)) return invalid_value;
  auto copy = [=] {
    if (!inside(to, n)) return lost("a copy to memory that was freed");
    memcpy((void*)to, from, n);
    mark_written(to, n);
    return ok;
  };
  if (is_locked(from, n)) return submit(stream, copy), ok;
  if (int r = flush(); r != ok) return r; // pageable memory is staged before the call returns
  return idle() ? ok : copy();
}
int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t n, void* stream) {
  CONTEXT;
  NOT_CAPTURING(stream);
  if (!is_stream(stream) || !inside(from, n)) return invalid_value;
  if (idle()) memset(to, 0, n);
  submit(stream, [=] {
    if (!inside(from, n)) return lost("a copy of memory that was freed");
    if (u64 at = first_unwritten(from, n)) {
      last_fault = "unset: a copy to the host of " + std::to_string(n) + " bytes, of which nothing wrote number " +
                   std::to_string(at - from);
      return launch_failed;
    }
    memcpy(to, (void*)from, n);
    return ok;
  });
  return ok;
}
int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t n, void* stream) {
  CONTEXT;
  if (!is_stream(stream) || !inside(to, n) || !inside(from, n)) return invalid_value;
  submit(stream, [=] {
    if (!inside(to, n) || !inside(from, n)) return lost("a copy of memory that was freed");
    if (n && from < to + n && to < from + n && from != to) return lost("a copy onto memory that it overlaps");
    memmove((void*)to, (void*)from, n);
    copy_marks(to, from, n);
    return ok;
  });
  return ok;
}
int cuMemsetD8Async(u64 to, unsigned char v, size_t n, void* stream) {
  CONTEXT;
  if (!is_stream(stream) || !inside(to, n)) return invalid_value;
  submit(stream, [=] {
    if (!inside(to, n)) return lost("memory that was freed is set");
    memset((void*)to, v, n);
    mark_written(to, n);
    return ok;
  });
  return ok;
}

int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
    unsigned shared, void* stream, void** arguments, void** extra) {
  CONTEXT;
  if (!is_stream(stream) || extra || shared || !f) return invalid_handle;
  Launch l{*(std::shared_ptr<Kernel>*)f, 0, {gx, gy, gz}, bx, {}, {}};
  const Kernel& k = *l.kernel;
  bool fits = gx - 1 < 0x7fffffffu && gy - 1 < 65535 && gz - 1 < 65535 && bx - 1 < k.threads && by == 1 && bz == 1;
  if (!fits) return invalid_value;
  if (k.shared_size > 48 << 10 || k.params_size > 4096) return out_of_resources;
  if (env("PTXSIM_FAIL") == "launch:" + k.name) return launch_failed;
  l.params.resize(k.params_size + 8);
  for (size_t n = 0; n < k.params.size(); n++) memcpy(&l.params[k.params[n].offset], arguments[n], k.params[n].size);
  submit(stream, [l] {
    if (env("PTXSIM_FAIL") == l.kernel->name) {
      last_fault = l.kernel->name + " was told to fail";
      return launch_failed;
    }
    Launch once = l;
    return run_launch(once);
  });
  return ok;
}

int cuStreamCreate(void** s, unsigned flags) {
  CONTEXT;
  if (flags != 1) return invalid_value;
  streams.insert(*s = new Stream);
  return ok;
}
int cuStreamDestroy_v2(void* s) {
  CONTEXT;
  if (!is_stream(s)) return invalid_handle;
  int r = flush();
  streams.erase(s);
  delete (Stream*)s;
  return r;
}
int cuStreamSynchronize(void* s) {
  CONTEXT;
  NOT_CAPTURING(s);
  return is_stream(s) ? flush() : invalid_handle;
}

int cuStreamBeginCapture_v2(void* s, int mode) {
  CONTEXT;
  NOT_CAPTURING(s);
  if (!is_stream(s) || mode != 2) return invalid_value;
  stream_of(s)->capture = std::make_unique<std::vector<Work>>();
  return ok;
}
int cuStreamEndCapture(void* s, void** graph) {
  CONTEXT;
  Stream* one = stream_of(s);
  if (!one || !one->capture) return capture_unmatched;
  *graph = new Graph{std::move(*one->capture)};
  one->capture.reset();
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
  if (!is_stream(s)) return invalid_handle;
  for (auto& w : ((Graph*)exec)->works) submit(s, w);
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
  static const std::map<int, const char*> names = {{ok, "CUDA_SUCCESS"}, {invalid_value, "CUDA_ERROR_INVALID_VALUE"},
      {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY"}, {not_initialized, "CUDA_ERROR_NOT_INITIALIZED"},
      {no_device, "CUDA_ERROR_NO_DEVICE"}, {invalid_device, "CUDA_ERROR_INVALID_DEVICE"},
      {invalid_image, "CUDA_ERROR_INVALID_IMAGE"}, {invalid_context, "CUDA_ERROR_INVALID_CONTEXT"},
      {invalid_handle, "CUDA_ERROR_INVALID_HANDLE"}, {not_found, "CUDA_ERROR_NOT_FOUND"},
      {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {out_of_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {misaligned_address, "CUDA_ERROR_MISALIGNED_ADDRESS"}, {launch_failed, "CUDA_ERROR_LAUNCH_FAILED"},
      {capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}};
  auto it = names.find(r);
  *s = it == names.end() ? nullptr : it->second;
  return it == names.end() ? invalid_value : ok;
}
int cuGetErrorString(int r, const char** s) {
  static std::string text;
  text = r >= 700 && r < 720 && !last_fault.empty() ? last_fault : "as the emulator has it";
  *s = text.c_str();
  return ok;
}

} // extern "C"
