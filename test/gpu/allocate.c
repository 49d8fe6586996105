/*
 * Allocates GPU memory by the driver's library and says on which device. Needs no CUDA toolkit: only libcuda.so.1, which
 * comes with the driver.
 *
 *   allocate MIB [PAUSE_MS]    prints a line of JSON, then writes to the memory every 100 ms, or so often, until it is killed
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int (*Init)(unsigned);
typedef int (*Count)(int *);
typedef int (*Get)(int *, int);
typedef int (*Uuid)(unsigned char *, int);
typedef int (*Retain)(void **, int);
typedef int (*Use)(void *);
typedef int (*Allocate)(unsigned long long *, size_t);
typedef int (*Fill)(unsigned long long, unsigned char, size_t);
typedef int (*Sync)(void);

static void *library;

static void *find(const char *name) {
  void *found = dlsym(library, name);
  if (!found) { printf("{\"error\": \"libcuda has no %s\"}\n", name); exit(2); }
  return found;
}

static void check(const char *what, int result) {
  if (result == 0) return;
  printf("{\"error\": \"%s failed with CUDA error %d\"}\n", what, result);
  exit(3);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  size_t bytes = (size_t)atoi(argc > 1 ? argv[1] : "256") << 20;
  useconds_t pause = 1000 * atoi(argc > 2 ? argv[2] : "100");
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) { printf("{\"error\": \"no libcuda.so.1\"}\n"); return 1; }
  check("cuInit", ((Init)find("cuInit"))(0));
  int devices = 0, device = 0;
  check("cuDeviceGetCount", ((Count)find("cuDeviceGetCount"))(&devices));
  if (devices == 0) { printf("{\"devices\": 0}\n"); return 0; }
  check("cuDeviceGet", ((Get)find("cuDeviceGet"))(&device, 0));
  unsigned char uuid[16];
  void *by_slice = dlsym(library, "cuDeviceGetUuid_v2"); /* of the slice, where the device is one */
  check("cuDeviceGetUuid", ((Uuid)(by_slice ? by_slice : find("cuDeviceGetUuid")))(uuid, device));
  void *context;
  check("cuDevicePrimaryCtxRetain", ((Retain)find("cuDevicePrimaryCtxRetain"))(&context, device));
  check("cuCtxSetCurrent", ((Use)find("cuCtxSetCurrent"))(context));
  unsigned long long memory = 0;
  check("cuMemAlloc", ((Allocate)find("cuMemAlloc_v2"))(&memory, bytes));
  Fill fill = (Fill)find("cuMemsetD8_v2");
  Sync sync = (Sync)find("cuCtxSynchronize");
  check("cuMemsetD8", fill(memory, 1, bytes));
  check("cuCtxSynchronize", sync());
  printf("{\"devices\": %d, \"pid\": %d, \"mib\": %zu, \"uuid\": \"", devices, getpid(), bytes >> 20);
  for (int i = 0; i < 16; i++) printf(i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", uuid[i]);
  printf("\"}\n");
  for (unsigned char value = 2;; value++) {
    usleep(pause);
    check("cuMemsetD8", fill(memory, value, bytes));
    check("cuCtxSynchronize", sync());
    if (value % 10 == 0 && pause > 0) printf("{\"wrote\": %d}\n", value);
  }
}
