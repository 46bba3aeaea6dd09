/* Counts the calls that change files below one folder, over a process and its children, and lets one of them fail.

   Loaded by LD_PRELOAD; a process arms it by weft_arm. Modes: 0 count, 1 fail with an error, 2 kill before the call,
   3 kill after it, 4 write half of the bytes and kill. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static char prefix[4096];
static long wanted;
static int mode, code, armed;
static long *counter;

const char *weft_where(void) { return counter ? (const char *)(counter + 6) : ""; }
const char *weft_failed(void) { return counter ? (const char *)(counter + 1) : ""; }
long weft_count(void) { return counter ? *counter : 0; }

void weft_arm(const char *folder, long at, int how, int error) {
    if (!counter) counter = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(counter, 0, 256);
    strncpy(prefix, folder, sizeof prefix - 1);
    wanted = at; mode = how; code = error; armed = 1;
}

static __thread char held_path[64];

static int below(const char *path) { return armed && strncmp(path, prefix, strlen(prefix)) == 0; }

static int held(int fd) {
    char link[64], path[4096];
    if (!armed) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    if (!below(path) || strstr(path, "-shm")) return 0;
    const char *last = strrchr(path, '/');
    strncpy(held_path, last ? last : path, sizeof held_path - 1);
    return 1;
}

/* 1 if this is the call, which then has to fail; kills the process itself. */
static int is_folder(int fd) { struct stat found; return !fstat(fd, &found) && S_ISDIR(found.st_mode); }

static int turn(const char *name) {
    if (__sync_add_and_fetch(counter, 1) != wanted || mode == 0) return 0;
    strncpy((char *)(counter + 1), name, 31);
    strncpy((char *)(counter + 6), held_path, 63);
    if (mode == 2) { kill(getpid(), SIGKILL); pause(); }
    return 1;
}

static void leave(void) { kill(getpid(), SIGKILL); pause(); }

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define FAIL() do { if (mode == 1) { errno = code; return -1; } } while (0)
#define PLAIN(name, parameters, arguments, applies) \
    int name parameters { REAL(name); if (!(applies) || !turn(#name)) return real arguments; \
        FAIL(); real arguments; leave(); return -1; }
#define WRITES(name, parameters, whole, half) \
    ssize_t name parameters { REAL(name); if (!held(fd) || !turn(#name)) return real whole; \
        FAIL(); if (mode == 4) real half; else real whole; leave(); return -1; }

PLAIN(fsync, (int fd), (fd), held(fd))
int fdatasync(int fd) {
    REAL(fdatasync);
    if (!held(fd) || !turn(is_folder(fd) ? "fdatasync of a folder" : "fdatasync")) return real(fd);
    FAIL(); real(fd); leave(); return -1;
}
PLAIN(ftruncate, (int fd, off_t n), (fd, n), held(fd))
PLAIN(ftruncate64, (int fd, off64_t n), (fd, n), held(fd))
PLAIN(rename, (const char *from, const char *to), (from, to), below(to))
PLAIN(unlink, (const char *path), (path), below(path))
WRITES(write, (int fd, const void *data, size_t n), (fd, data, n), (fd, data, n / 2))
WRITES(pwrite, (int fd, const void *data, size_t n, off_t at), (fd, data, n, at), (fd, data, n / 2, at))
WRITES(pwrite64, (int fd, const void *data, size_t n, off64_t at), (fd, data, n, at), (fd, data, n / 2, at))
