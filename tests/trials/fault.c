/* Loaded before the C library (LD_PRELOAD), counts the calls that change files below one folder, in all processes
   together, and disturbs one of them.

   `struct control` is a file that the harness and all processes map; TRIALS_CONTROL is its path. A write that is
   killed, or that fills the disk, is half done: so a torn one looks. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* As in control.py. FULL fails what needs room, from its call on; the others disturb one call. */
enum kind { COUNT, KILL, KILL_GROUP, NO_SPACE, IO_ERROR, FULL };

/* Calls whose names and paths are kept. */
#define MOST_CALLS 65536

struct control {
    uint64_t count;
    uint64_t at;
    uint32_t kind;
    uint32_t is_hit;
    char folder[1024];
    char call[1024];
    /* Of each counted call: a digest of its name and path, or of the hidden folder or file above it alone. */
    uint32_t digests[MOST_CALLS];
};

static struct control *control;

/* What a wrapper does: the call itself, half of its write and no more, or nothing but to fail. */
enum verdict { GO_ON, WRITE_HALF, FAIL };

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TRIALS_CONTROL");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        control = mapped;
}

static int is_below(const char *path) {
    size_t length = strlen(control->folder);
    return length && !strncmp(path, control->folder, length) && (!path[length] || path[length] == '/');
}

static void find_path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
}

static void find_path(int folder, const char *name, char *path) {
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return;
    }
    char base[PATH_MAX];
    if (folder != AT_FDCWD)
        find_path_of(folder, base);
    else if (!getcwd(base, sizeof base))
        base[0] = 0;
    path[0] = 0;
    if (strlen(base) + strlen(name) + 2 < PATH_MAX)
        strcat(strcat(strcpy(path, base), "/"), name);
}

static _Noreturn void end_now(void) {
    kill(control->kind == KILL_GROUP ? 0 : getpid(), SIGKILL);
    /* The first process of a namespace cannot kill itself. */
    _exit(128 + SIGKILL);
}

/* FNV-1a. */
static uint32_t add_to_digest(uint32_t digest, const char *text, size_t length) {
    for (size_t at = 0; at < length; at++)
        digest = (digest ^ (unsigned char)text[at]) * 16777619u;
    return digest;
}

static uint32_t digest_call(const char *name, const char *path) {
    const char *hidden = strstr(path + strlen(control->folder), "/.");
    if (hidden)
        return add_to_digest(2166136261u, path, hidden + 1 - path + strcspn(hidden + 1, "/"));
    return add_to_digest(add_to_digest(2166136261u, name, strlen(name)), path, strlen(path));
}

static enum verdict judge(const char *name, const char *path, int needs_room, int writes) {
    if (!is_below(path))
        return GO_ON;
    uint64_t number = __atomic_add_fetch(&control->count, 1, __ATOMIC_SEQ_CST);
    if (control->kind == COUNT && number <= MOST_CALLS)
        control->digests[number - 1] = digest_call(name, path);
    if (control->kind == COUNT || number < control->at)
        return GO_ON;
    if (control->kind == FULL ? !needs_room : number > control->at)
        return GO_ON;
    int is_first = !__atomic_exchange_n(&control->is_hit, 1, __ATOMIC_SEQ_CST);
    if (is_first)
        snprintf(control->call, sizeof control->call, "%s %.900s", name, path);
    int is_kill = control->kind == KILL || control->kind == KILL_GROUP;
    if (writes && (is_kill || (control->kind == FULL && is_first)))
        return WRITE_HALF;
    if (is_kill)
        end_now();
    errno = control->kind == IO_ERROR ? EIO : ENOSPC;
    return FAIL;
}

static enum verdict judge_file(const char *name, int file, int needs_room, int writes) {
    if (!control)
        return GO_ON;
    int before = errno;
    char path[PATH_MAX];
    find_path_of(file, path);
    errno = before;
    return judge(name, path, needs_room, writes);
}

static enum verdict judge_path(const char *name, int folder, const char *given, int needs_room) {
    if (!control)
        return GO_ON;
    int before = errno;
    char path[PATH_MAX];
    find_path(folder, given, path);
    errno = before;
    return judge(name, path, needs_room, 0);
}

/* What half a write returns: a process that is to be killed does not get that far. */
static ssize_t after_half(ssize_t written) {
    if (control->kind != FULL)
        end_now();
    return written;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) \
    real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

/* Calls with an open file: type, name, parameters, arguments, whether it needs room. */
#define OF_FILE(type, name, parameters, arguments, needs_room, failed) \
    type name parameters { \
        REAL(name); \
        return judge_file(#name, file, needs_room, 0) == FAIL ? failed : real arguments; \
    }

#define WRITING(name, parameters, arguments, halved) \
    ssize_t name parameters { \
        REAL(name); \
        switch (judge_file(#name, file, 1, count > 1)) { \
        case FAIL: return -1; \
        case WRITE_HALF: return after_half(real halved); \
        default: return real arguments; \
        } \
    }

#define OF_PATH(name, parameters, arguments, folder, path, needs_room) \
    int name parameters { \
        REAL(name); \
        return judge_path(#name, folder, path, needs_room) == FAIL ? -1 : real arguments; \
    }

WRITING(write, (int file, const void *data, size_t count), (file, data, count), (file, data, count / 2))
WRITING(pwrite, (int file, const void *data, size_t count, off_t at), (file, data, count, at), (file, data, count / 2, at))
WRITING(pwrite64, (int file, const void *data, size_t count, off64_t at), (file, data, count, at), (file, data, count / 2, at))
WRITING(writev, (int file, const struct iovec *parts, int count), (file, parts, count), (file, parts, count / 2))
WRITING(pwritev, (int file, const struct iovec *parts, int count, off_t at), (file, parts, count, at), (file, parts, count / 2, at))
WRITING(pwritev64, (int file, const struct iovec *parts, int count, off64_t at), (file, parts, count, at), (file, parts, count / 2, at))
WRITING(sendfile, (int file, int in, off_t *at, size_t count), (file, in, at, count), (file, in, at, count / 2))
WRITING(sendfile64, (int file, int in, off64_t *at, size_t count), (file, in, at, count), (file, in, at, count / 2))
WRITING(copy_file_range, (int in, off64_t *from, int file, off64_t *to, size_t count, unsigned flags),
        (in, from, file, to, count, flags), (in, from, file, to, count / 2, flags))

OF_FILE(int, ftruncate, (int file, off_t size), (file, size), 0, -1)
OF_FILE(int, ftruncate64, (int file, off64_t size), (file, size), 0, -1)
OF_FILE(int, fsync, (int file), (file), 0, -1)
OF_FILE(int, fdatasync, (int file), (file), 0, -1)
OF_FILE(int, fallocate, (int file, int mode, off_t at, off_t size), (file, mode, at, size), 1, -1)
OF_FILE(int, fallocate64, (int file, int mode, off64_t at, off64_t size), (file, mode, at, size), 1, -1)
OF_FILE(int, posix_fallocate, (int file, off_t at, off_t size), (file, at, size), 1, errno)
OF_FILE(int, posix_fallocate64, (int file, off64_t at, off64_t size), (file, at, size), 1, errno)

OF_PATH(mkdir, (const char *path, mode_t mode), (path, mode), AT_FDCWD, path, 1)
OF_PATH(mkdirat, (int folder, const char *path, mode_t mode), (folder, path, mode), folder, path, 1)
OF_PATH(rmdir, (const char *path), (path), AT_FDCWD, path, 0)
OF_PATH(unlink, (const char *path), (path), AT_FDCWD, path, 0)
OF_PATH(unlinkat, (int folder, const char *path, int flags), (folder, path, flags), folder, path, 0)
OF_PATH(remove, (const char *path), (path), AT_FDCWD, path, 0)
OF_PATH(rename, (const char *from, const char *to), (from, to), AT_FDCWD, to, 0)
OF_PATH(renameat, (int above, const char *from, int folder, const char *to), (above, from, folder, to), folder, to, 0)
OF_PATH(renameat2, (int above, const char *from, int folder, const char *to, unsigned flags),
        (above, from, folder, to, flags), folder, to, 0)
OF_PATH(link, (const char *from, const char *to), (from, to), AT_FDCWD, to, 1)
OF_PATH(linkat, (int above, const char *from, int folder, const char *to, int flags),
        (above, from, folder, to, flags), folder, to, 1)
OF_PATH(symlink, (const char *from, const char *to), (from, to), AT_FDCWD, to, 1)

/* Of these only those count that make a file, or empty one. */
#define OPENING(name, parameters, folder, ...) \
    int name parameters { \
        REAL(name); \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list more; \
            va_start(more, flags); \
            mode = va_arg(more, mode_t); \
            va_end(more); \
        } \
        int makes = (flags & (O_CREAT | O_TRUNC)) || (flags & O_TMPFILE) == O_TMPFILE; \
        return makes && judge_path(#name, folder, path, 1) == FAIL ? -1 : real(__VA_ARGS__, flags, mode); \
    }

OPENING(open, (const char *path, int flags, ...), AT_FDCWD, path)
OPENING(open64, (const char *path, int flags, ...), AT_FDCWD, path)
OPENING(openat, (int folder, const char *path, int flags, ...), folder, folder, path)
OPENING(openat64, (int folder, const char *path, int flags, ...), folder, folder, path)
