/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A file system in memory.  Nodes are found by their whole path in a hash
 * table.  Contents are mappings that grow; what was never written, or is not
 * kept, is zeros.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "truthfs/store.h"

#define BUCKETS    4096
#define GROW_BYTES (INT64_C(1) << 20)
#define HEAD_BYTES (INT64_C(1) << 16) /* kept in any case */

struct node {
    struct node *next;
    char *path;
    struct stat st;
    int users;     /* open files */
    bool linked;   /* still has a name */
    uint8_t *data; /* 'room' bytes; NULL without contents */
    int64_t room;
    pthread_rwlock_t lock; /* of data and st */
};

struct memory {
    struct store store;
    bool data;
    pthread_mutex_t lock; /* of the table, and of users and linked */
    struct node *bucket[BUCKETS];
    ino_t last_inode;
};

static struct memory *memory_of(struct store *s)
{
    return (struct memory *)s;
}

static struct node *node_of(struct store_file *file)
{
    return (struct node *)file;
}

static unsigned bucket_of(const char *path)
{
    unsigned h = 2166136261u;

    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * 16777619u;
    return h % BUCKETS;
}

static struct node *find(struct memory *m, const char *path)
{
    struct node *n = m->bucket[bucket_of(path)];

    while (n && strcmp(n->path, path) != 0)
        n = n->next;
    return n;
}

static void attach(struct memory *m, struct node *n)
{
    struct node **at = &m->bucket[bucket_of(n->path)];

    n->next = *at;
    *at = n;
}

static void detach(struct memory *m, struct node *n)
{
    struct node **at = &m->bucket[bucket_of(n->path)];

    while (*at != n)
        at = &(*at)->next;
    *at = n->next;
}

/* Whether 'path' lies in the folder; 'direct': and no deeper. */
static bool is_below(const char *path, const char *folder, bool direct)
{
    size_t n = strlen(folder);

    if (!path[0] || strncmp(path, folder, n) != 0)
        return false;
    if (n > 0 && path[n++] != '/')
        return false;
    return !direct || !strchr(path + n, '/');
}

static int check_parent(struct memory *m, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = strndup(path, slash ? (size_t)(slash - path) : 0);
    struct node *n;

    if (!folder)
        return -ENOMEM;
    n = find(m, folder);
    free(folder);
    if (!n)
        return -ENOENT;
    return S_ISDIR(n->st.st_mode) ? 0 : -ENOTDIR;
}

static int make(struct memory *m, const char *path, mode_t mode, uid_t uid,
                gid_t gid, struct node **made)
{
    struct node *n = calloc(1, sizeof(*n));

    if (!n || !(n->path = strdup(path))) {
        free(n);
        return -ENOMEM;
    }
    pthread_rwlock_init(&n->lock, NULL);
    n->linked = true;
    n->st.st_ino = ++m->last_inode;
    n->st.st_mode = mode;
    n->st.st_nlink = S_ISDIR(mode) ? 2 : 1;
    n->st.st_uid = uid;
    n->st.st_gid = gid;
    n->st.st_blksize = 4096;
    clock_gettime(CLOCK_REALTIME, &n->st.st_mtim);
    n->st.st_atim = n->st.st_ctim = n->st.st_mtim;
    attach(m, n);
    *made = n;
    return 0;
}

/* With the table locked. */
static void drop_if_unused(struct node *n)
{
    if (n->linked || n->users > 0)
        return;
    if (n->data)
        munmap(n->data, (size_t)n->room);
    pthread_rwlock_destroy(&n->lock);
    free(n->path);
    free(n);
}

static int reserve(struct node *n, int64_t bytes)
{
    int64_t room = n->room ? n->room : GROW_BYTES;
    void *data;

    if (bytes <= n->room)
        return 0;
    while (room < bytes)
        room *= 2;
    if (n->data)
        data = mremap(n->data, (size_t)n->room, (size_t)room, MREMAP_MAYMOVE);
    else
        data = mmap(NULL, (size_t)room, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return -ENOSPC;
    n->data = data;
    n->room = room;
    return 0;
}

static void set_size(struct node *n, int64_t size)
{
    n->st.st_size = size;
    n->st.st_blocks = (size + 511) / 512;
}

static void touch(struct node *n)
{
    clock_gettime(CLOCK_REALTIME, &n->st.st_mtim);
    n->st.st_ctim = n->st.st_mtim;
}

/* Zeros from 'from' to 'to', giving whole pages back. */
static void clear(struct node *n, int64_t from, int64_t to)
{
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t first = (from + page - 1) / page * page;
    int64_t last = to / page * page;

    if (to > n->room)
        to = n->room;
    if (last > n->room)
        last = n->room;
    if (from >= to)
        return;
    if (first >= last) {
        memset(n->data + from, 0, (size_t)(to - from));
        return;
    }
    memset(n->data + from, 0, (size_t)(first - from));
    madvise(n->data + first, (size_t)(last - first), MADV_DONTNEED);
    memset(n->data + last, 0, (size_t)(to - last));
}

static int resize(struct store *s, struct store_file *file, int64_t size)
{
    struct node *n = node_of(file);

    (void)s;
    pthread_rwlock_wrlock(&n->lock);
    if (n->data && size < n->st.st_size)
        clear(n, size, n->st.st_size);
    set_size(n, size);
    touch(n);
    pthread_rwlock_unlock(&n->lock);
    return 0;
}

static void copy_stat(struct node *n, struct stat *st)
{
    pthread_rwlock_rdlock(&n->lock);
    *st = n->st;
    pthread_rwlock_unlock(&n->lock);
}

static int get(struct store *s, const char *path, struct stat *st)
{
    struct memory *m = memory_of(s);
    struct node *n;

    pthread_mutex_lock(&m->lock);
    n = find(m, path);
    if (n)
        copy_stat(n, st);
    pthread_mutex_unlock(&m->lock);
    return n ? 0 : -ENOENT;
}

static int get_open(struct store *s, struct store_file *file, struct stat *st)
{
    (void)s;
    copy_stat(node_of(file), st);
    return 0;
}

static int find_to_open(struct memory *m, const char *path, int flags,
                        mode_t mode, uid_t uid, gid_t gid, struct node **n)
{
    int status = 0;

    *n = find(m, path);
    if (*n && (flags & O_CREAT) && (flags & O_EXCL))
        return -EEXIST;
    if (*n)
        return S_ISDIR((*n)->st.st_mode) ? -EISDIR : 0;
    if (!(flags & O_CREAT))
        return -ENOENT;
    status = check_parent(m, path);
    if (status == 0)
        status = make(m, path, S_IFREG | (mode & 07777), uid, gid, n);
    return status;
}

static int open_file(struct store *s, const char *path, int flags, mode_t mode,
                     uid_t uid, gid_t gid, struct store_file **file)
{
    struct memory *m = memory_of(s);
    struct node *n;
    int status;

    pthread_mutex_lock(&m->lock);
    status = find_to_open(m, path, flags, mode, uid, gid, &n);
    if (status == 0)
        n->users++;
    pthread_mutex_unlock(&m->lock);
    if (status != 0)
        return status;
    *file = (struct store_file *)n;
    if (flags & O_TRUNC)
        resize(s, *file, 0);
    return 0;
}

static void close_file(struct store *s, struct store_file *file)
{
    struct memory *m = memory_of(s);
    struct node *n = node_of(file);

    pthread_mutex_lock(&m->lock);
    n->users--;
    drop_if_unused(n);
    pthread_mutex_unlock(&m->lock);
}

static ssize_t read_file(struct store *s, struct store_file *file, void *to,
                         size_t n, int64_t offset)
{
    struct node *node = node_of(file);
    int64_t there, kept;

    (void)s;
    pthread_rwlock_rdlock(&node->lock);
    there = node->st.st_size - offset;
    if (there < 0)
        there = 0;
    if (there > (int64_t)n)
        there = (int64_t)n;
    kept = node->room - offset;
    kept = kept < 0 ? 0 : kept > there ? there : kept;
    if (kept > 0)
        memcpy(to, node->data + offset, (size_t)kept);
    pthread_rwlock_unlock(&node->lock);
    memset((char *)to + kept, 0, (size_t)(there - kept));
    return there;
}

static ssize_t write_file(struct store *s, struct store_file *file,
                          const void *from, size_t n, int64_t offset)
{
    struct node *node = node_of(file);
    int64_t end = offset + (int64_t)n;
    int64_t kept = end;
    int status = 0;

    if (!memory_of(s)->data && kept > HEAD_BYTES)
        kept = HEAD_BYTES;
    pthread_rwlock_wrlock(&node->lock);
    if (kept > offset)
        status = reserve(node, kept);
    if (status == 0 && kept > offset)
        memcpy(node->data + offset, from, (size_t)(kept - offset));
    if (status == 0 && end > node->st.st_size)
        set_size(node, end);
    touch(node);
    pthread_rwlock_unlock(&node->lock);
    return status == 0 ? (ssize_t)n : status;
}

static int allocate(struct store *s, struct store_file *file, int mode,
                    int64_t offset, int64_t size)
{
    struct node *n = node_of(file);
    int64_t end = offset + size;

    (void)s;
    if (mode &
        ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE))
        return -EOPNOTSUPP;
    pthread_rwlock_wrlock(&n->lock);
    if ((mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) && n->data)
        clear(n, offset, end);
    if (!(mode & FALLOC_FL_KEEP_SIZE) && end > n->st.st_size)
        set_size(n, end);
    pthread_rwlock_unlock(&n->lock);
    return 0;
}

static int make_folder(struct store *s, const char *path, mode_t mode,
                       uid_t uid, gid_t gid)
{
    struct memory *m = memory_of(s);
    struct node *n;
    int status;

    pthread_mutex_lock(&m->lock);
    status = find(m, path) ? -EEXIST : check_parent(m, path);
    if (status == 0)
        status = make(m, path, S_IFDIR | (mode & 07777), uid, gid, &n);
    pthread_mutex_unlock(&m->lock);
    return status;
}

static bool is_empty(struct memory *m, const char *folder)
{
    for (int b = 0; b < BUCKETS; b++) {
        for (struct node *n = m->bucket[b]; n; n = n->next) {
            if (is_below(n->path, folder, true))
                return false;
        }
    }
    return true;
}

static int remove_node(struct memory *m, const char *path, bool folder)
{
    struct node *n = find(m, path);

    if (!n)
        return -ENOENT;
    if (folder && !S_ISDIR(n->st.st_mode))
        return -ENOTDIR;
    if (!folder && S_ISDIR(n->st.st_mode))
        return -EISDIR;
    if (folder && !is_empty(m, path))
        return -ENOTEMPTY;
    detach(m, n);
    n->linked = false;
    n->st.st_nlink = 0;
    drop_if_unused(n);
    return 0;
}

static int remove_path(struct store *s, const char *path, bool folder)
{
    struct memory *m = memory_of(s);
    int status;

    pthread_mutex_lock(&m->lock);
    status = remove_node(m, path, folder);
    pthread_mutex_unlock(&m->lock);
    return status;
}

static int move(struct memory *m, struct node *n, const char *from,
                const char *to)
{
    size_t rest = strlen(n->path) - strlen(from);
    char *path = malloc(strlen(to) + rest + 1);

    if (!path)
        return -ENOMEM;
    strcpy(path, to);
    strcat(path, n->path + strlen(from));
    detach(m, n);
    free(n->path);
    n->path = path;
    attach(m, n);
    return 0;
}

static int move_below(struct memory *m, const char *from, const char *to)
{
    int status = 0;

    for (int b = 0; b < BUCKETS && status == 0; b++) {
        struct node *n = m->bucket[b];

        while (n && status == 0) {
            struct node *next = n->next;

            if (is_below(n->path, from, false))
                status = move(m, n, from, to);
            n = next;
        }
    }
    return status;
}

static int rename_path(struct store *s, const char *from, const char *to,
                       unsigned flags)
{
    struct memory *m = memory_of(s);
    struct node *n;
    int status = 0;

    if (flags & ~(unsigned)RENAME_NOREPLACE)
        return -EINVAL;
    pthread_mutex_lock(&m->lock);
    n = find(m, from);
    if (!n)
        status = -ENOENT;
    else if (find(m, to) && (flags & RENAME_NOREPLACE))
        status = -EEXIST;
    else if (find(m, to) && strcmp(from, to) != 0)
        status = remove_node(m, to, S_ISDIR(n->st.st_mode));
    if (status == 0 && S_ISDIR(n->st.st_mode))
        status = move_below(m, from, to);
    if (status == 0)
        status = move(m, n, from, to);
    pthread_mutex_unlock(&m->lock);
    return status;
}

static int set_mode(struct store *s, const char *path, mode_t mode)
{
    struct memory *m = memory_of(s);
    struct node *n;

    pthread_mutex_lock(&m->lock);
    n = find(m, path);
    if (n)
        n->st.st_mode = (n->st.st_mode & S_IFMT) | (mode & 07777);
    pthread_mutex_unlock(&m->lock);
    return n ? 0 : -ENOENT;
}

static int set_owner(struct store *s, const char *path, uid_t uid, gid_t gid)
{
    struct memory *m = memory_of(s);
    struct node *n;

    pthread_mutex_lock(&m->lock);
    n = find(m, path);
    if (n && uid != (uid_t)-1)
        n->st.st_uid = uid;
    if (n && gid != (gid_t)-1)
        n->st.st_gid = gid;
    pthread_mutex_unlock(&m->lock);
    return n ? 0 : -ENOENT;
}

static void set_time(struct timespec *time, const struct timespec *wanted)
{
    if (wanted->tv_nsec == UTIME_NOW)
        clock_gettime(CLOCK_REALTIME, time);
    else if (wanted->tv_nsec != UTIME_OMIT)
        *time = *wanted;
}

static int set_times(struct store *s, const char *path,
                     const struct timespec times[2])
{
    struct memory *m = memory_of(s);
    struct node *n;

    pthread_mutex_lock(&m->lock);
    n = find(m, path);
    if (n) {
        set_time(&n->st.st_atim, &times[0]);
        set_time(&n->st.st_mtim, &times[1]);
    }
    pthread_mutex_unlock(&m->lock);
    return n ? 0 : -ENOENT;
}

static int list(struct store *s, const char *path, store_list_fn found,
                void *context)
{
    struct memory *m = memory_of(s);
    size_t skip = path[0] ? strlen(path) + 1 : 0;
    int status = 0;

    pthread_mutex_lock(&m->lock);
    for (int b = 0; b < BUCKETS && status == 0; b++) {
        for (struct node *n = m->bucket[b]; n && status == 0; n = n->next) {
            if (is_below(n->path, path, true))
                status = found(context, n->path + skip);
        }
    }
    pthread_mutex_unlock(&m->lock);
    return status;
}

static const struct store_kind kind = {
    .get = get,
    .open = open_file,
    .close = close_file,
    .get_open = get_open,
    .read = read_file,
    .write = write_file,
    .resize = resize,
    .allocate = allocate,
    .make_folder = make_folder,
    .remove = remove_path,
    .rename = rename_path,
    .set_mode = set_mode,
    .set_owner = set_owner,
    .set_times = set_times,
    .list = list,
};

struct store *store_in_memory(bool data)
{
    struct memory *m = calloc(1, sizeof(*m));
    struct node *root;

    if (!m)
        return NULL;
    pthread_mutex_init(&m->lock, NULL);
    m->store.kind = &kind;
    m->data = data;
    if (make(m, "", S_IFDIR | 0755, getuid(), getgid(), &root) != 0) {
        free(m);
        return NULL;
    }
    return &m->store;
}
