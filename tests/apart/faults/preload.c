/* Faults at the I/O calls of a process: loaded before its C library, it counts the calls on files
 * below one folder, and at a given one kills the process, lets the call fail or moves the clock. It
 * can also record every change in order, from which the states that a power cut may leave are made.
 *
 * FAULTS_FOLDER    the folder
 * FAULTS_CONTROL   a file with `struct control`, shared with who started the process
 * FAULTS_TRACE     where changes are recorded; none are without it
 *
 * For 64-bit Linux. Calls that do not go through the C library, such as those of rustix (fallocate,
 * flock, rename), pass unseen, and so does what is read through a mapping. That a file was renamed
 * so is seen when it is synced next: the record has the name it has then. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Kinds of calls, as bits. */
enum { WRITE = 1, SYNC = 2, NAME = 4, READ = 8, OPEN = 16 };
/* What happens at the chosen call. */
enum { NOTHING, KILL, TEAR, FAIL, CLOCK };

/* The first five are set before the process starts; see `Control` in `mod.rs`. */
struct control {
    uint64_t chosen; /* number of the call, from 1 on */
    uint32_t kinds;  /* that are counted */
    uint32_t action;
    uint32_t error; /* errno of FAIL; it stays until the end if the highest bit is set */
    uint32_t unused;
    int64_t seconds; /* by which CLOCK moves the clock */
    uint64_t calls;  /* so far */
    uint64_t of_kind[5]; /* so far, for each bit of their kinds */
    char name[PATH_MAX + 32]; /* of the chosen call, once it was made */
};

static struct control *control;
static const char *folder;
static size_t folder_length;
static int trace = -1;
/* Changes and their records are in one order. */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULTS_CONTROL"), *below = getenv("FAULTS_FOLDER");
    if (control || !path || !below)
        return;
    int file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    void *map = mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    syscall(SYS_close, file);
    if (map == MAP_FAILED)
        abort();
    folder = below;
    folder_length = strlen(below);
    if ((path = getenv("FAULTS_TRACE")))
        trace = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    control = map;
}

__attribute__((noreturn)) static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;)
        pause();
}

static int is_below(const char *path) {
    return control && !strncmp(path, folder, folder_length) &&
           (path[folder_length] == '/' || !path[folder_length]);
}

/* Finds the path of a name in an open folder; says whether it is below the folder. */
static int find(int at, const char *name, char *path) {
    if (!control)
        return 0;
    if (name && (name[0] == '/' || at == AT_FDCWD))
        return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && is_below(path);
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", at);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    if (name)
        snprintf(path + length, PATH_MAX - length, "/%s", name);
    return is_below(path);
}

/* Counts a call; says whether it fails. A write that is torn is told so. */
static int fails(int kind, const char *name, const char *path, int *is_torn) {
    if (!(control->kinds & kind))
        return 0;
    uint64_t number = __atomic_add_fetch(&control->calls, 1, __ATOMIC_SEQ_CST);
    for (int bit = 0; bit < 5; bit++)
        if (kind >> bit & 1)
            __atomic_add_fetch(&control->of_kind[bit], 1, __ATOMIC_SEQ_CST);
    int stays = control->error >> 31;
    if (!control->chosen || number < control->chosen || (number > control->chosen && !stays))
        return 0;
    if (number == control->chosen)
        snprintf(control->name, sizeof control->name, "%s %s", name, path + folder_length);
    switch (control->action) {
    case TEAR:
        if (is_torn) {
            *is_torn = 1;
            return 0;
        }
        /* fall through */
    case KILL:
        die();
    case FAIL:
        errno = control->error & 0x7fffffff;
        return 1;
    default:
        return 0;
    }
}

/* Records a change: operation, file, offset, length of data or new length, path, other path, data. */
static void record(char operation, uint64_t file, uint64_t offset, uint64_t length,
                   const char *path, const char *other, const void *data) {
    if (trace < 0)
        return;
    struct __attribute__((packed)) {
        char operation;
        uint64_t file, offset, length;
        uint16_t path, other;
        uint32_t data;
    } head = {operation, file, offset, length, strlen(path), other ? strlen(other) : 0,
              data ? length : 0};
    struct iovec parts[] = {{&head, sizeof head},
                            {(void *)path, head.path},
                            {(void *)other, head.other},
                            {(void *)data, head.data}};
    if (syscall(SYS_writev, trace, parts, 4) < 0)
        abort();
}

static uint64_t number_of(int file) {
    struct stat status;
    return fstat(file, &status) ? 0 : status.st_ino;
}

static void enter(void) {
    if (trace >= 0)
        pthread_mutex_lock(&order);
}

static void leave(void) {
    int kept = errno;
    if (trace >= 0)
        pthread_mutex_unlock(&order);
    errno = kept;
}

/* Writes, at an offset or (-1) where the file stands. */
static ssize_t write_at(int file, const struct iovec *parts, int count, off_t offset,
                        const char *name) {
    char path[PATH_MAX];
    int is_ours = find(file, 0, path), is_torn = 0;
    if (is_ours && fails(WRITE, name, path, &is_torn))
        return -1;
    if (is_ours)
        enter();
    off_t from = offset;
    if (is_ours && from < 0 && trace >= 0) {
        int to_end = fcntl(file, F_GETFL) & O_APPEND;
        from = lseek(file, 0, to_end ? SEEK_END : SEEK_CUR);
    }
    struct iovec half = {parts[0].iov_base, parts[0].iov_len / 2};
    if (is_torn) {
        parts = &half;
        count = 1;
    }
    ssize_t written = offset < 0 ? syscall(SYS_writev, file, parts, count)
                                 : syscall(SYS_pwritev, file, parts, count, offset, 0);
    if (is_torn)
        die();
    if (is_ours) {
        ssize_t left = written;
        for (int part = 0; part < count && left > 0; part++) {
            ssize_t length = parts[part].iov_len;
            if (length > left)
                length = left;
            if (length)
                record('w', number_of(file), from, length, path, 0, parts[part].iov_base);
            from += length;
            left -= length;
        }
        leave();
    }
    return written;
}

ssize_t write(int file, const void *data, size_t length) {
    struct iovec part = {(void *)data, length};
    return write_at(file, &part, 1, -1, "write");
}

ssize_t writev(int file, const struct iovec *parts, int count) {
    return write_at(file, parts, count, -1, "writev");
}

ssize_t pwrite64(int file, const void *data, size_t length, off64_t offset) {
    struct iovec part = {(void *)data, length};
    return write_at(file, &part, 1, offset, "pwrite");
}

ssize_t pwrite(int file, const void *data, size_t length, off_t offset) {
    return pwrite64(file, data, length, offset);
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t offset) {
    return write_at(file, parts, count, offset, "pwritev");
}

/* Copies within the kernel are not to be had: who asks for one reads and writes instead. */
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t length, unsigned flags) {
    char path[PATH_MAX];
    if (find(out, 0, path)) {
        errno = ENOSYS;
        return -1;
    }
    return syscall(SYS_copy_file_range, in, from, out, to, length, flags);
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t count) {
    char path[PATH_MAX];
    if (find(out, 0, path)) {
        errno = ENOSYS;
        return -1;
    }
    return syscall(SYS_sendfile, out, in, offset, count);
}

static int sync_file(int file, long call, const char *name) {
    char path[PATH_MAX];
    if (!find(file, 0, path))
        return syscall(call, file);
    if (fails(SYNC, name, path, 0))
        return -1;
    enter();
    int result = syscall(call, file);
    struct stat status;
    if (!result && !fstat(file, &status))
        record(S_ISDIR(status.st_mode) ? 'D' : 's', status.st_ino, 0, 0, path, 0, 0);
    leave();
    return result;
}

int fsync(int file) { return sync_file(file, SYS_fsync, "fsync"); }

int fdatasync(int file) { return sync_file(file, SYS_fdatasync, "fdatasync"); }

/* Counted, but no promise: the length of the file may be lost. */
int sync_file_range(int file, off64_t offset, off64_t length, unsigned flags) {
    char path[PATH_MAX];
    if (find(file, 0, path) && fails(SYNC, "sync_file_range", path, 0))
        return -1;
    return syscall(SYS_sync_file_range, file, offset, length, flags);
}

int ftruncate64(int file, off64_t length) {
    char path[PATH_MAX];
    if (!find(file, 0, path))
        return syscall(SYS_ftruncate, file, length);
    if (fails(NAME, "ftruncate", path, 0))
        return -1;
    enter();
    int result = syscall(SYS_ftruncate, file, length);
    if (!result)
        record('t', number_of(file), 0, length, path, 0, 0);
    leave();
    return result;
}

int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

int rename(const char *from, const char *to) {
    if (!is_below(from) && !is_below(to))
        return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (fails(NAME, "rename", to, 0))
        return -1;
    enter();
    int result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (!result)
        record('r', 0, 0, 0, from, to, 0);
    leave();
    return result;
}

int unlinkat(int at, const char *name, int flags) {
    char path[PATH_MAX];
    if (!find(at, name, path))
        return syscall(SYS_unlinkat, at, name, flags);
    if (fails(NAME, flags & AT_REMOVEDIR ? "rmdir" : "unlink", path, 0))
        return -1;
    enter();
    int result = syscall(SYS_unlinkat, at, name, flags);
    if (!result)
        record('u', 0, 0, 0, path, 0, 0);
    leave();
    return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdir(const char *path, mode_t mode) {
    if (!is_below(path))
        return syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (fails(NAME, "mkdir", path, 0))
        return -1;
    enter();
    int result = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    if (!result)
        record('m', 0, 0, 0, path, 0, 0);
    leave();
    return result;
}

static int open_at(int at, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    struct stat status;
    if (!find(at, name, path))
        return syscall(SYS_openat, at, name, flags, mode);
    int is_new = flags & O_CREAT && stat(path, &status);
    int kind = is_new || flags & O_TRUNC ? NAME : 0;
    if (fails(kind | OPEN, is_new ? "create" : "open", path, 0))
        return -1;
    enter();
    int file = syscall(SYS_openat, at, name, flags, mode);
    if (file >= 0 && is_new)
        record('c', number_of(file), 0, 0, path, 0, 0);
    else if (file >= 0 && flags & O_TRUNC)
        record('t', number_of(file), 0, 0, path, 0, 0);
    leave();
    return file;
}

#define OPENS(called, parameters, at)                                                              \
    int called parameters {                                                                        \
        mode_t mode = 0;                                                                           \
        if (flags & (O_CREAT | __O_TMPFILE)) {                                                     \
            va_list more;                                                                          \
            va_start(more, flags);                                                                 \
            mode = va_arg(more, mode_t);                                                           \
            va_end(more);                                                                          \
        }                                                                                          \
        return open_at(at, name, flags, mode);                                                     \
    }
OPENS(open, (const char *name, int flags, ...), AT_FDCWD)
OPENS(open64, (const char *name, int flags, ...), AT_FDCWD)
OPENS(openat, (int at, const char *name, int flags, ...), at)
OPENS(openat64, (int at, const char *name, int flags, ...), at)

ssize_t read(int file, void *data, size_t length) {
    char path[PATH_MAX];
    if (control && control->kinds & READ && find(file, 0, path) && fails(READ, "read", path, 0))
        return -1;
    return syscall(SYS_read, file, data, length);
}

ssize_t pread64(int file, void *data, size_t length, off64_t offset) {
    char path[PATH_MAX];
    if (control && control->kinds & READ && find(file, 0, path) && fails(READ, "pread", path, 0))
        return -1;
    return syscall(SYS_pread64, file, data, length, offset);
}

ssize_t pread(int file, void *data, size_t length, off_t offset) {
    return pread64(file, data, length, offset);
}

static int64_t moved(void) {
    int is_due = control && control->action == CLOCK && control->calls >= control->chosen;
    return is_due ? control->seconds : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, clock, now);
    if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += moved();
    return result;
}

int gettimeofday(struct timeval *now, void *zone) {
    int result = syscall(SYS_gettimeofday, now, zone);
    if (!result)
        now->tv_sec += moved();
    return result;
}

time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into)
        *into = now.tv_sec;
    return now.tv_sec;
}
