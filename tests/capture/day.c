/* A day within seconds, preloaded into the capture agent: a pcap file as the interface, and a clock
 * that jumps from event to event. The agent itself is the one that was built.
 *
 * Replaced are the clock (clock_gettime), waiting (poll), and libpcap's calls on a live capture;
 * packets and filters are libpcap's own work on a saved file. A removed file is moved to DAY_REMOVED
 * instead. DAY_LOG gets lines of "seconds descriptors resident_bytes disk_bytes": every minute
 * of the day, and whenever a file gets its name or goes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef void pcap_t;
struct packet_header {
    struct timeval time; /* the sub-second part in nanoseconds */
    unsigned captured, length;
};
typedef void handler_t(unsigned char *, const struct packet_header *, const unsigned char *);
pcap_t *pcap_open_offline_with_tstamp_precision(const char *, unsigned, char *);
int pcap_next_ex(pcap_t *, struct packet_header **, const unsigned char **);

#define SECOND 1000000000LL
#define BLOCK (SECOND / 50) /* when the kernel hands over a block that is not full */
#define CALL 50LL           /* what reading the clock takes */
#define SAMPLE (60 * SECOND)

static long long now, end, next_sample;
static char *removed;
static char folder[PATH_MAX];
static FILE *samples;

static pcap_t *interface;
static int interface_fd = -1;
static struct packet_header *header; /* of the first packet not yet handed over */
static const unsigned char *bytes;
static unsigned received;

static const char *setting(const char *name) {
    const char *value = getenv(name);
    if (value == NULL) {
        fprintf(stderr, "day.c: %s is not set\n", name);
        exit(2);
    }
    return value;
}

__attribute__((constructor)) static void begin(void) {
    now = atoll(setting("DAY_START")) * SECOND;
    end = now + 86400 * SECOND;
    removed = strdup(setting("DAY_REMOVED"));
    samples = fopen(setting("DAY_LOG"), "we");
}

static void sample(void) {
    long long disk = 0;
    long size = 0, resident = 0;
    int descriptors = 0;
    struct dirent *entry;
    DIR *files = opendir("/proc/self/fd");
    while ((entry = readdir(files)) != NULL)
        descriptors += entry->d_name[0] != '.';
    closedir(files);
    if ((files = opendir(folder)) != NULL) {
        struct stat status;
        while ((entry = readdir(files)) != NULL)
            if (strstr(entry->d_name, ".pcap") != NULL &&
                fstatat(dirfd(files), entry->d_name, &status, 0) == 0)
                disk += status.st_size;
        closedir(files);
    }
    FILE *memory = fopen("/proc/self/statm", "re");
    if (fscanf(memory, "%ld %ld", &size, &resident) != 2)
        abort();
    fclose(memory);
    fprintf(samples, "%lld %d %ld %lld\n", now / SECOND, descriptors - 1, resident * 4096, disk);
    next_sample = now + SAMPLE;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    (void)clock;
    now += CALL;
    time->tv_sec = now / SECOND;
    time->tv_nsec = now % SECOND;
    return 0;
}

/* When the first packet that waits can be read; the end of the day where there is none. */
static long long due(void) {
    if (header == NULL && pcap_next_ex(interface, &header, &bytes) != 1)
        header = NULL;
    return header ? header->time.tv_sec * SECOND + header->time.tv_usec + BLOCK : LLONG_MAX;
}

int poll(struct pollfd *entries, nfds_t count, int milliseconds) {
    static int (*real)(struct pollfd *, nfds_t, int);
    if (real == NULL)
        real = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    if (now >= next_sample)
        sample();
    if (now >= end)
        kill(getpid(), SIGTERM);
    int ready = real(entries, count, 0);
    long long until = now + (milliseconds > 0 ? milliseconds * (SECOND / 1000) : 1000 * CALL);
    if (ready == 0 && interface_fd >= 0)
        for (nfds_t place = 0; place < count; place++)
            if (entries[place].fd == interface_fd && due() <= until) {
                entries[place].revents = POLLIN;
                until = due() > now ? due() : now;
                ready = 1;
            }
    if (ready == 0 || until > now)
        now = until;
    return ready;
}

int unlink(const char *path) {
    char copy[PATH_MAX], target[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    snprintf(target, sizeof target, "%s/%s", removed, basename(copy));
    int result = renameat(AT_FDCWD, path, AT_FDCWD, target);
    sample();
    return result;
}

int rename(const char *from, const char *to) {
    int result = renameat(AT_FDCWD, from, AT_FDCWD, to);
    if (strstr(to, ".pcap") != NULL) {
        char copy[PATH_MAX];
        snprintf(copy, sizeof copy, "%s", to);
        snprintf(folder, sizeof folder, "%s", dirname(copy));
        sample();
    }
    return result;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t length) {
    static int (*real)(int, int, int, const void *, socklen_t);
    if (real == NULL)
        real = (int (*)(int, int, int, const void *, socklen_t))dlsym(RTLD_NEXT, "setsockopt");
    return fd == interface_fd ? 0 : real(fd, level, name, value, length);
}

pcap_t *pcap_create(const char *name, char *error) {
    interface = pcap_open_offline_with_tstamp_precision(name, 1, error);
    interface_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    return interface;
}

int pcap_activate(pcap_t *handle) { return handle == interface ? 0 : -1; }
int pcap_set_snaplen(pcap_t *handle, int value) { return handle && value > 0 ? 0 : -1; }
int pcap_set_promisc(pcap_t *handle, int value) { return handle && value >= 0 ? 0 : -1; }
int pcap_set_timeout(pcap_t *handle, int value) { return handle && value > 0 ? 0 : -1; }
int pcap_set_buffer_size(pcap_t *handle, int value) { return handle && value > 0 ? 0 : -1; }
int pcap_set_tstamp_precision(pcap_t *handle, int value) { return handle && value == 1 ? 0 : -1; }
int pcap_setnonblock(pcap_t *handle, int on, char *error) { return handle && on && error ? 0 : -1; }
int pcap_get_selectable_fd(pcap_t *handle) { return handle ? interface_fd : -1; }

int pcap_dispatch(pcap_t *handle, int limit, handler_t *handler, unsigned char *user) {
    int count = 0;
    while (handle == interface && count < limit && due() <= now) {
        handler(user, header, bytes);
        header = NULL;
        count++;
    }
    received += count;
    return count;
}

int pcap_stats(pcap_t *handle, unsigned *counters) {
    counters[0] = received;
    counters[1] = counters[2] = 0;
    return handle == interface ? 0 : -1;
}
