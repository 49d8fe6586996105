/*
 * Does what NVIDIA's program of this name does with the options that src/runtimes/cuda-checkpoint.ts gives it, by the library of the
 * driver (570 or newer): the tests need not the program itself.
 *
 *   cuda-checkpoint --help
 *   cuda-checkpoint --get-state --pid PID
 *   cuda-checkpoint --action lock|checkpoint|restore|unlock --pid PID [--timeout MS]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The structures of all actions have this size, and what is 0 in them has no effect. */
typedef struct { unsigned timeout_ms; unsigned reserved[15]; } Args;
typedef int (*Init)(unsigned);
typedef int (*Act)(int pid, Args *);
typedef int (*GetState)(int pid, int *);
typedef int (*Describe)(int, const char **);

static const char *STATES[] = {"running", "locked", "checkpointed", "failed"};
static const char *ACTIONS[][2] = {{"lock", "cuCheckpointProcessLock"},
                                   {"checkpoint", "cuCheckpointProcessCheckpoint"},
                                   {"restore", "cuCheckpointProcessRestore"},
                                   {"unlock", "cuCheckpointProcessUnlock"}};

static void *library;

static void *find(const char *name) {
  void *found = dlsym(library, name);
  if (!found) { fprintf(stderr, "the driver is too old: libcuda has no %s\n", name); exit(2); }
  return found;
}

static void check(const char *what, int result) {
  if (result == 0) return;
  const char *text = NULL;
  ((Describe)find("cuGetErrorString"))(result, &text);
  fprintf(stderr, "could not %s: %s\n", what, text ? text : "unknown error");
  exit(1);
}

static const char *option(int argc, char **argv, const char *name) {
  for (int i = 1; i + 1 < argc; i++) if (strcmp(argv[i], name) == 0) return argv[i + 1];
  return NULL;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--help") == 0) {
    printf("--get-state --pid PID\n--action lock|checkpoint|restore|unlock --pid PID [--timeout MS]\n");
    return 0;
  }
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) { fprintf(stderr, "no libcuda.so.1\n"); return 2; }
  check("start", ((Init)find("cuInit"))(0));
  const char *pid = option(argc, argv, "--pid"), *action = option(argc, argv, "--action");
  if (!pid) { fprintf(stderr, "--pid is missing\n"); return 2; }
  if (!action) {
    int state = -1;
    check("get the state", ((GetState)find("cuCheckpointProcessGetState"))(atoi(pid), &state));
    printf("%s\n", state >= 0 && state < 4 ? STATES[state] : "unknown");
    return 0;
  }
  Args args = {0};
  const char *timeout = option(argc, argv, "--timeout");
  if (timeout) args.timeout_ms = (unsigned)atoi(timeout);
  for (int i = 0; i < 4; i++) {
    if (strcmp(action, ACTIONS[i][0]) != 0) continue;
    check(action, ((Act)find(ACTIONS[i][1]))(atoi(pid), &args));
    return 0;
  }
  fprintf(stderr, "--action: '%s' is unknown\n", action);
  return 2;
}
