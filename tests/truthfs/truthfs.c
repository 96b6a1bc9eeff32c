/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * truthfs: a file system of known speed and known faults, for tests of what
 * measures file systems.  Here are the operations that FUSE asks for, and
 * main.
 *
 * Each operation: it hangs or fails if it is to; the store does it; the
 * answer waits until a device of this speed would have given it; and it is
 * noted.
 */

#define FUSE_USE_VERSION 35

#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <fuse_lowlevel.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "truthfs/moment.h"
#include "truthfs/truth.h"

#define THREADS  256
#define CACHED_S 1.0
/* libfuse's own lines; a version that knows of a limit to its threads. */
#define FUSE_VERSION_LIMITED 312

static struct truth *truth(void)
{
    return fuse_get_context()->private_data;
}

static struct handle *handle_of(const struct fuse_file_info *info)
{
    return (struct handle *)(uintptr_t)info->fh;
}

/* ---- an operation on names */

struct call {
    struct truth *t;
    enum op op;
    const char *path; /* without the slash */
    int64_t start_ns;
};

/* 0, or how it fails. */
static int begin(struct call *call, enum op op, const char *path)
{
    *call = (struct call){.t = truth(),
                          .op = op,
                          .path = path ? path + (path[0] == '/') : "",
                          .start_ns = moment_now_ns()};
    return faults_strike(&call->t->faults, op, call->path, 0, 0);
}

static int end(const struct call *call, int result)
{
    if (call->t->settings.meta_ns > 0)
        moment_wait(call->start_ns + call->t->settings.meta_ns);
    trace_note(&call->t->trace, NULL, call->op, call->path, 0, 0,
               call->start_ns, result);
    return result;
}

static int do_getattr(const char *path, struct stat *st,
                      struct fuse_file_info *info)
{
    struct handle *handle = info ? handle_of(info) : NULL;
    enum control control = control_of(path);
    struct call call;
    int status;

    if (handle)
        control = handle->control;
    if (control != CONTROL_NONE) {
        control_stat(control, st);
        return 0;
    }
    status = begin(&call, OP_STAT, handle ? handle->trace->path : path);
    if (status == 0 && handle)
        status = call.t->store->kind->get_open(call.t->store, handle->file, st);
    else if (status == 0)
        status = call.t->store->kind->get(call.t->store, call.path, st);
    return end(&call, status);
}

/* Files are made here and then opened: by FUSE's "create", which does both,
 * the kernel would lock the folder for as long as the opening takes. */
static int do_mknod(const char *path, mode_t mode, dev_t device)
{
    const struct fuse_context *who = fuse_get_context();
    struct store_file *file;
    struct call call;
    int status;

    (void)device;
    if (!S_ISREG(mode) || control_of(path) != CONTROL_NONE)
        return -EPERM;
    status = begin(&call, OP_CREATE, path);
    if (status == 0)
        status = call.t->store->kind->open(call.t->store, call.path,
                                           O_RDWR | O_CREAT | O_EXCL, mode,
                                           who->uid, who->gid, &file);
    if (status == 0)
        call.t->store->kind->close(call.t->store, file);
    return end(&call, status);
}

static int do_mkdir(const char *path, mode_t mode)
{
    const struct fuse_context *who = fuse_get_context();
    struct call call;
    int status = begin(&call, OP_MKDIR, path);

    if (status == 0)
        status = call.t->store->kind->make_folder(call.t->store, call.path,
                                                  mode, who->uid, who->gid);
    return end(&call, status);
}

static int remove_name(enum op op, const char *path)
{
    struct call call;
    int status = begin(&call, op, path);

    if (status == 0)
        status = call.t->store->kind->remove(call.t->store, call.path,
                                             op == OP_RMDIR);
    return end(&call, status);
}

static int do_unlink(const char *path)
{
    return remove_name(OP_UNLINK, path);
}

static int do_rmdir(const char *path)
{
    return remove_name(OP_RMDIR, path);
}

static int do_rename(const char *from, const char *to, unsigned flags)
{
    struct call call;
    int status = begin(&call, OP_RENAME, from);

    if (status == 0)
        status = call.t->store->kind->rename(call.t->store, call.path, to + 1,
                                             flags);
    return end(&call, status);
}

static int do_chmod(const char *path, mode_t mode, struct fuse_file_info *info)
{
    struct truth *t = truth();

    path = path ? path + 1 : handle_of(info)->trace->path;
    return t->store->kind->set_mode(t->store, path, mode);
}

static int do_chown(const char *path, uid_t uid, gid_t gid,
                    struct fuse_file_info *info)
{
    struct truth *t = truth();

    path = path ? path + 1 : handle_of(info)->trace->path;
    return t->store->kind->set_owner(t->store, path, uid, gid);
}

static int do_utimens(const char *path, const struct timespec times[2],
                      struct fuse_file_info *info)
{
    struct truth *t = truth();
    enum control control = info ? handle_of(info)->control : control_of(path);

    if (control == CONTROL_RELEASE)
        faults_release(&t->faults);
    if (control != CONTROL_NONE)
        return 0;
    path = path ? path + 1 : handle_of(info)->trace->path;
    return t->store->kind->set_times(t->store, path, times);
}

struct listing {
    void *buffer;
    fuse_fill_dir_t fill;
};

static int list_one(void *context, const char *name)
{
    const struct listing *listing = context;

    return listing->fill(listing->buffer, name, NULL, 0, 0) ? -ENOMEM : 0;
}

/* The path of a folder is kept while it is open. */
static int do_opendir(const char *path, struct fuse_file_info *info)
{
    char *copy = strdup(path);

    info->fh = (uintptr_t)copy;
    return copy ? 0 : -ENOMEM;
}

static int do_releasedir(const char *path, struct fuse_file_info *info)
{
    (void)path;
    free((char *)(uintptr_t)info->fh);
    return 0;
}

static int do_readdir(const char *path, void *buffer, fuse_fill_dir_t fill,
                      off_t offset, struct fuse_file_info *info,
                      enum fuse_readdir_flags flags)
{
    struct listing listing = {buffer, fill};
    struct call call;
    int status;

    (void)offset;
    (void)flags;
    path = (const char *)(uintptr_t)info->fh;
    list_one(&listing, ".");
    list_one(&listing, "..");
    if (control_of(path) == CONTROL_FOLDER) {
        for (int c = CONTROL_CONTROL; c < CONTROL_END; c++)
            list_one(&listing, control_name((enum control)c));
        return 0;
    }
    status = begin(&call, OP_LIST, path);
    if (status == 0)
        status = call.t->store->kind->list(call.t->store, call.path, list_one,
                                           &listing);
    return end(&call, status);
}

static int do_statfs(const char *path, struct statvfs *st)
{
    const struct truth *t = truth();

    (void)path;
    memset(st, 0, sizeof(*st));
    st->f_bsize = st->f_frsize = 4096;
    st->f_blocks = (fsblkcnt_t)(t->settings.space_bytes / 4096);
    st->f_bfree = st->f_bavail = st->f_blocks;
    st->f_files = st->f_ffree = st->f_favail = 1000000;
    st->f_namemax = 255;
    return 0;
}

/* ---- open files */

static void set_caching(const struct truth *t, struct fuse_file_info *info)
{
    info->direct_io = t->settings.cache == CACHE_NONE;
    info->keep_cache = t->settings.cache != CACHE_NONE;
}

static int open_data(const char *path, struct fuse_file_info *info,
                     struct handle *handle)
{
    struct call call;
    int status = begin(&call, OP_OPEN, path);
    int64_t delay_ns = faults_open_delay_ns(&call.t->faults, call.path);

    handle->trace = trace_find(&call.t->trace, call.path);
    if (!handle->trace)
        return -ENOMEM;
    moment_wait(call.start_ns + call.t->settings.meta_ns + delay_ns);
    if (status == 0)
        status = call.t->store->kind->open(call.t->store, call.path,
                                           info->flags & ~(O_CREAT | O_EXCL), 0,
                                           0, 0, &handle->file);
    trace_note(&call.t->trace, handle->trace, OP_OPEN, call.path, 0, 0,
               call.start_ns, status);
    set_caching(call.t, info);
    return status;
}

static int do_open(const char *path, struct fuse_file_info *info)
{
    struct handle *handle = calloc(1, sizeof(*handle));
    enum control control = control_of(path);
    int status;

    if (!handle)
        return -ENOMEM;
    if (control != CONTROL_NONE) {
        status = control_open(truth(), control, handle);
        info->direct_io = 1;
    } else {
        status = open_data(path, info, handle);
    }
    if (status != 0)
        free(handle);
    else
        info->fh = (uintptr_t)handle;
    return status;
}

static int do_release(const char *path, struct fuse_file_info *info)
{
    struct handle *handle = handle_of(info);
    struct truth *t = truth();

    (void)path;
    if (handle->file)
        t->store->kind->close(t->store, handle->file);
    free(handle->text);
    free(handle);
    return 0;
}

/* The answer to a transfer goes out when its time has come. */
static int answer(struct truth *t, struct trace_file *file, enum op op,
                  int64_t offset, size_t size, int64_t start_ns, int64_t result)
{
    int64_t bytes = result > 0 ? result : 0;
    int64_t due_ns = pace_transfer(&t->pace, &file->pace,
                                   faults_rate(&t->faults, file->path),
                                   op == OP_WRITE, bytes, start_ns);

    moment_wait(due_ns);
    trace_note(&t->trace, file, op, file->path, offset, (int64_t)size, start_ns,
               result);
    return (int)result;
}

static int do_read(const char *path, char *to, size_t size, off_t offset,
                   struct fuse_file_info *info)
{
    struct handle *handle = handle_of(info);
    struct truth *t = truth();
    int64_t start_ns = moment_now_ns();
    int64_t result;

    (void)path;
    if (!handle->file)
        return control_read(handle, to, size, offset);
    path = handle->trace->path;
    result = faults_strike(&t->faults, OP_READ, path, offset, (int64_t)size);
    if (result == 0)
        result = faults_limit(&t->faults, OP_READ, path, (int64_t)size);
    if (result > 0)
        result = t->store->kind->read(t->store, handle->file, to,
                                      (size_t)result, offset);
    if (result > 0)
        faults_spoil(&t->faults, path, (uint8_t *)to, offset, result);
    return answer(t, handle->trace, OP_READ, offset, size, start_ns, result);
}

static int do_write(const char *path, const char *from, size_t size,
                    off_t offset, struct fuse_file_info *info)
{
    struct handle *handle = handle_of(info);
    struct truth *t = truth();
    int64_t start_ns = moment_now_ns();
    int64_t result;

    (void)path;
    if (!handle->file)
        return control_write(t, handle, from, size);
    path = handle->trace->path;
    result = faults_strike(&t->faults, OP_WRITE, path, offset, (int64_t)size);
    if (result == 0)
        result = faults_limit(&t->faults, OP_WRITE, path, (int64_t)size);
    if (result > 0)
        result = t->store->kind->write(t->store, handle->file, from,
                                       (size_t)result, offset);
    if (result > 0)
        faults_written(&t->faults, path, offset, result);
    return answer(t, handle->trace, OP_WRITE, offset, size, start_ns, result);
}

static int do_fsync(const char *path, int data_only,
                    struct fuse_file_info *info)
{
    struct handle *handle = handle_of(info);
    struct truth *t = truth();
    int64_t start_ns = moment_now_ns();
    int status;

    (void)path;
    (void)data_only;
    if (!handle->file)
        return 0;
    status = faults_strike(&t->faults, OP_SYNC, handle->trace->path, 0, 0);
    moment_wait(pace_sync(&t->pace, &handle->trace->pace, start_ns));
    trace_note(&t->trace, handle->trace, OP_SYNC, handle->trace->path, 0, 0,
               start_ns, status);
    return status;
}

static int do_flush(const char *path, struct fuse_file_info *info)
{
    struct handle *handle = handle_of(info);
    struct truth *t = truth();
    int64_t start_ns = moment_now_ns();
    int status;

    (void)path;
    if (!handle->file)
        return 0;
    status = faults_strike(&t->faults, OP_CLOSE, handle->trace->path, 0, 0);
    trace_note(&t->trace, handle->trace, OP_CLOSE, handle->trace->path, 0, 0,
               start_ns, status);
    return status;
}

static int resize_by_name(struct store *s, const char *path, off_t size)
{
    struct store_file *file;
    int status = s->kind->open(s, path, O_WRONLY, 0, 0, 0, &file);

    if (status != 0)
        return status;
    status = s->kind->resize(s, file, size);
    s->kind->close(s, file);
    return status;
}

static int do_truncate(const char *path, off_t size,
                       struct fuse_file_info *info)
{
    struct handle *handle = info ? handle_of(info) : NULL;
    struct call call;
    int status;

    if (control_of(path) != CONTROL_NONE || (handle && !handle->file))
        return 0;
    status = begin(&call, OP_TRUNCATE, handle ? handle->trace->path : path);
    if (status == 0 && handle)
        status = call.t->store->kind->resize(call.t->store, handle->file, size);
    else if (status == 0)
        status = resize_by_name(call.t->store, call.path, size);
    return end(&call, status);
}

static int do_fallocate(const char *path, int mode, off_t offset, off_t size,
                        struct fuse_file_info *info)
{
    struct handle *handle = handle_of(info);
    struct truth *t = truth();

    (void)path;
    if (!handle->file)
        return -EOPNOTSUPP;
    return t->store->kind->allocate(t->store, handle->file, mode, offset, size);
}

/* ---- mounting */

static bool session_exited(void *session)
{
    return fuse_session_exited(session);
}

/* A test that was killed cannot unmount. */
static void *end_of_life(void *seconds)
{
    sleep((unsigned)*(int64_t *)seconds);
    kill(getpid(), SIGTERM);
    return NULL;
}

static void *do_init(struct fuse_conn_info *connection, struct fuse_config *how)
{
    struct truth *t = truth();
    bool cached = t->settings.cache != CACHE_NONE;
    pthread_t thread;

    moment_init(session_exited, fuse_get_session(fuse_get_context()->fuse));
    if (t->settings.life_s > 0 &&
        pthread_create(&thread, NULL, end_of_life, &t->settings.life_s) == 0)
        pthread_detach(thread);

    connection->max_write = (unsigned)t->settings.io_bytes;
    connection->max_read = (unsigned)t->settings.io_bytes;
    connection->max_readahead = (unsigned)t->settings.io_bytes;
    connection->max_background = 64;
    connection->want &= ~(unsigned)FUSE_CAP_SPLICE_READ;
    if (t->settings.cache == CACHE_WRITEBACK)
        connection->want |= connection->capable & FUSE_CAP_WRITEBACK_CACHE;

    how->use_ino = 1;
    how->nullpath_ok = 1;
    how->hard_remove = 1;
    how->entry_timeout = how->attr_timeout = cached ? CACHED_S : 0;
    how->negative_timeout = 0;
    return t;
}

static const struct fuse_operations operations = {
    .init = do_init,
    .getattr = do_getattr,
    .mknod = do_mknod,
    .mkdir = do_mkdir,
    .unlink = do_unlink,
    .rmdir = do_rmdir,
    .rename = do_rename,
    .chmod = do_chmod,
    .chown = do_chown,
    .utimens = do_utimens,
    .opendir = do_opendir,
    .readdir = do_readdir,
    .releasedir = do_releasedir,
    .statfs = do_statfs,
    .open = do_open,
    .release = do_release,
    .read = do_read,
    .write = do_write,
    .fsync = do_fsync,
    .flush = do_flush,
    .truncate = do_truncate,
    .fallocate = do_fallocate,
};

static int usage(void)
{
    puts("usage: truthfs [-f] -o OPTION[,OPTION...] FOLDER\n"
         "\n"
         "Mounts a file system of known speed and faults.  -f: stay in the\n"
         "foreground.  What has no star can also be written to\n"
         "FOLDER/.truth/control, as can \"clear\" (no faults), \"release\"\n"
         "(what hangs) and \"reset\" (counts and schedules).\n");
    settings_print_help();
    return 0;
}

/* "a,b,c"; a line and false for the first that cannot be. */
static bool read_options(struct truth *t, char *text)
{
    struct settings_target target = {&t->settings, &t->pace, &t->faults};
    char why[400], *option;

    while ((option = strsep(&text, ","))) {
        if (option[0] && !settings_apply(&target, option, why, sizeof(why))) {
            fprintf(stderr, "truthfs: %s\n", why);
            return false;
        }
    }
    return true;
}

static bool check_folder(const char *folder)
{
    struct stat st;

    if (!folder) {
        fprintf(stderr, "truthfs: give the folder to mount on\n");
        return false;
    }
    if (stat(folder, &st) != 0) {
        fprintf(stderr, "truthfs: cannot mount on '%s': %s\n", folder,
                strerror(errno));
        return false;
    }
    if (!S_ISDIR(st.st_mode)) {
        fprintf(stderr, "truthfs: cannot mount on '%s': not a folder\n",
                folder);
        return false;
    }
    return true;
}

static bool open_store(struct truth *t)
{
    const char *what = t->settings.store;

    if (strcmp(what, "none") == 0 || strcmp(what, "ram") == 0)
        t->store = store_in_memory(strcmp(what, "ram") == 0);
    else
        t->store = store_in_folder(what);
    t->faults.store = t->store;
    if (!t->store)
        fprintf(stderr, "truthfs: cannot use '%s' as store: %s\n", what,
                strerror(errno));
    return t->store != NULL;
}

static bool open_trace(struct truth *t)
{
    FILE *log = NULL;

    if (t->settings.log[0]) {
        log = fopen(t->settings.log, "ae");
        if (!log) {
            fprintf(stderr, "truthfs: cannot write '%s': %s\n", t->settings.log,
                    strerror(errno));
            return false;
        }
        setvbuf(log, NULL, _IOLBF, 1 << 16);
    }
    trace_init(&t->trace, log);
    return true;
}

static int mount_and_serve(struct truth *t, char *program, bool foreground,
                           char *folder)
{
    char options[160], flag[] = "-f", option[] = "-o";
    char *argv[] = {program, option, options, folder, flag, NULL};

    snprintf(options, sizeof(options),
             "fsname=truthfs,subtype=truthfs,default_permissions,"
             "max_read=%" PRId64 "%s",
             t->settings.io_bytes,
             t->settings.allow_other ? ",allow_other" : "");
    /* An operation that waits has a thread of its own. */
    if (fuse_version() >= FUSE_VERSION_LIMITED)
        snprintf(options + strlen(options), sizeof(options) - strlen(options),
                 ",max_threads=%d", THREADS);
    umask(0);
    return fuse_main(foreground ? 5 : 4, argv, &operations, t) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static struct truth mounted;
    struct truth *t = &mounted;
    bool foreground = false;
    int letter;

    pthread_mutex_init(&t->lock, NULL);
    settings_init(&t->settings);
    pace_init(&t->pace);
    faults_init(&t->faults, NULL);
    opterr = 0;
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return usage();
    while ((letter = getopt(argc, argv, "fho:")) != -1) {
        if (letter == 'h')
            return usage();
        if (letter == 'f') {
            foreground = true;
        } else if (letter != 'o') {
            fprintf(stderr, "truthfs: bad argument '%s': see --help\n",
                    argv[optind - 1]);
            return 2;
        } else if (!read_options(t, optarg)) {
            return 2;
        }
    }
    if (optind + 1 < argc) {
        fprintf(stderr, "truthfs: one folder, not '%s' as well\n",
                argv[optind + 1]);
        return 2;
    }
    if (!check_folder(argv[optind]) || !open_store(t) || !open_trace(t))
        return 2;
    return mount_and_serve(t, argv[0], foreground, argv[optind]);
}
