/* SPDX-License-Identifier: BSD-3-Clause */

/* The table of settings, and reading them; see settings.h. */

#include "truthfs/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "truthfs/moment.h"

#define PARTS_MAX 6

/* A setting being read: the value, cut at its colons. */
struct reading {
    struct settings_target *target;
    const char *key;
    char *part[PARTS_MAX];
    int parts;
    char *why;
    size_t room;
};

struct setting {
    const char *key, *form, *help;
    int least, most; /* parts */
    bool fixed;      /* when mounting only */
    bool (*apply)(struct reading *r);
};

static bool refuse(struct reading *r, const char *part, const char *wanted)
{
    snprintf(r->why, r->room, "'%s' in %s is not %s", part, r->key, wanted);
    return false;
}

/* 4096, 1.5M (10^6), 4Mi (2^20): a whole number >= 0. */
static bool read_size(struct reading *r, const char *text, int64_t *value)
{
    static const char letters[] = "kMGT";
    char *end;
    double number, unit = 1;
    const char *letter;

    errno = 0;
    number = strtod(text, &end);
    letter = *end ? strchr(letters, *end) : NULL;
    if (letter) {
        double step = end[1] == 'i' ? 1024 : 1000;

        for (long i = letter - letters; i >= 0; i--)
            unit *= step;
        end += end[1] == 'i' ? 2 : 1;
    }
    if (end == text || *end || errno || !(number >= 0) || number * unit > 9e18)
        return refuse(r, text,
                      "a number such as 4096, 50M (10^6) or 4Mi (2^20)");
    *value = (int64_t)(number * unit + 0.5);
    return true;
}

static bool read_rate(struct reading *r, const char *text, double *rate)
{
    int64_t value;

    if (!read_size(r, text, &value))
        return false;
    *rate = (double)value;
    return true;
}

static bool read_us(struct reading *r, const char *text, int64_t *ns)
{
    int64_t value;

    if (!read_size(r, text, &value))
        return false;
    if (value > INT64_MAX / 1000)
        return refuse(r, text, "a time");
    *ns = value * 1000;
    return true;
}

static bool read_pattern(struct reading *r, const char *text, char to[256])
{
    if (!text[0] || strlen(text) >= 256)
        return refuse(r, text, "a file's name or pattern");
    strcpy(to, text);
    return true;
}

static bool read_op(struct reading *r, const char *text, enum op *op)
{
    for (int i = 0; i < OP_COUNT; i++) {
        if (strcmp(text, op_name[i]) == 0) {
            *op = (enum op)i;
            return true;
        }
    }
    return refuse(r, text,
                  "an operation: create, open, read, write, fsync, close, "
                  "stat, truncate, unlink, rename, mkdir, rmdir, list");
}

static bool read_error(struct reading *r, const char *text, int *error)
{
    static const struct {
        const char *name;
        int error;
    } known[] = {
        {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT},
        {"EACCES", EACCES}, {"EPERM", EPERM},   {"EROFS", EROFS},
        {"ESTALE", ESTALE}, {"EAGAIN", EAGAIN}, {"EINTR", EINTR},
        {"ENOENT", ENOENT}, {"EBUSY", EBUSY},   {"ETIMEDOUT", ETIMEDOUT},
        {"EFBIG", EFBIG},   {"ENOMEM", ENOMEM}, {"EREMOTEIO", EREMOTEIO},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(text, known[i].name) == 0) {
            *error = known[i].error;
            return true;
        }
    }
    return refuse(r, text, "an error such as EIO or ENOSPC");
}

static bool read_word(struct reading *r, const char *text, const char *word,
                      bool *is)
{
    *is = strcmp(text, word) == 0;
    return *is || refuse(r, text, word);
}

static bool is_given(const struct reading *r, int part)
{
    return r->parts > part && r->part[part][0];
}

static struct fault new_fault(enum fault_kind kind)
{
    return (struct fault){
        .kind = kind, .op = OP_OPEN, .offset = -1, .count = -1, .length = 4096};
}

static bool add(struct reading *r, const struct fault *fault)
{
    if (faults_add(r->target->faults, fault))
        return true;
    snprintf(r->why, r->room, "out of memory");
    return false;
}

/* ---- speed */

static bool set_rate(struct reading *r)
{
    struct pace *pace = r->target->pace;
    double *rate = &pace->rate;

    if (strcmp(r->key, "read_rate") == 0)
        rate = &pace->read_rate;
    else if (strcmp(r->key, "write_rate") == 0)
        rate = &pace->write_rate;
    return read_rate(r, r->part[0], rate);
}

static bool set_burst(struct reading *r)
{
    return read_us(r, r->part[0], &r->target->pace->burst_ns);
}

static bool set_latency(struct reading *r)
{
    return read_us(r, r->part[0], &r->target->pace->latency_ns);
}

static bool set_stall(struct reading *r)
{
    struct pace *pace = r->target->pace;

    return read_size(r, r->part[0], &pace->stall_every) &&
           read_us(r, r->part[1], &pace->stall_ns);
}

static bool set_cliff(struct reading *r)
{
    struct pace *pace = r->target->pace;

    pace->cliff_drains = false;
    return read_size(r, r->part[0], &pace->cliff_bytes) &&
           read_rate(r, r->part[1], &pace->cliff_rate) &&
           (r->parts < 3 ||
            read_word(r, r->part[2], "drain", &pace->cliff_drains));
}

static bool set_cache_size(struct reading *r)
{
    struct pace *pace = r->target->pace;

    pace->cache_rate = 0;
    pace->cache_lazy = false;
    return read_size(r, r->part[0], &pace->cache_bytes) &&
           (r->parts < 2 || read_rate(r, r->part[1], &pace->cache_rate)) &&
           (r->parts < 3 ||
            read_word(r, r->part[2], "lazy", &pace->cache_lazy));
}

static bool add_file_rate(struct reading *r)
{
    struct fault fault = new_fault(FAULT_RATE);

    return read_pattern(r, r->part[0], fault.pattern) &&
           read_rate(r, r->part[1], &fault.rate) && add(r, &fault);
}

static bool add_open_delay(struct reading *r)
{
    struct fault fault = new_fault(FAULT_DELAY);

    if (!read_pattern(r, r->part[0], fault.pattern) ||
        !read_us(r, r->part[1], &fault.delay_ns))
        return false;
    if (fault.delay_ns > INT64_MAX / 1000)
        return refuse(r, r->part[1], "a time");
    fault.delay_ns *= 1000;
    return (!is_given(r, 2) || read_size(r, r->part[2], &fault.count)) &&
           add(r, &fault);
}

/* ---- faults */

static bool set_enospc(struct reading *r)
{
    struct faults *faults = r->target->faults;
    int64_t bytes;

    if (!read_size(r, r->part[0], &bytes))
        return false;
    pthread_mutex_lock(&faults->lock);
    faults->space_bytes = bytes;
    pthread_mutex_unlock(&faults->lock);
    return true;
}

static bool add_fail(struct reading *r)
{
    struct fault fault = new_fault(FAULT_FAIL);

    fault.error = EIO;
    return read_op(r, r->part[0], &fault.op) &&
           read_pattern(r, r->part[1], fault.pattern) &&
           (!is_given(r, 2) || read_error(r, r->part[2], &fault.error)) &&
           (!is_given(r, 3) || read_size(r, r->part[3], &fault.offset)) &&
           (!is_given(r, 4) || read_size(r, r->part[4], &fault.count)) &&
           add(r, &fault);
}

static bool add_hang(struct reading *r)
{
    struct fault fault = new_fault(FAULT_HANG);

    return read_op(r, r->part[0], &fault.op) &&
           read_pattern(r, r->part[1], fault.pattern) &&
           (!is_given(r, 2) || read_size(r, r->part[2], &fault.offset)) &&
           add(r, &fault);
}

static bool add_short(struct reading *r)
{
    struct fault fault = new_fault(FAULT_SHORT);

    if (!read_op(r, r->part[0], &fault.op) ||
        !read_pattern(r, r->part[1], fault.pattern) ||
        !read_size(r, r->part[2], &fault.length))
        return false;
    if (fault.op != OP_READ && fault.op != OP_WRITE)
        return refuse(r, r->part[0], "read or write");
    return add(r, &fault);
}

static bool add_flip(struct reading *r)
{
    struct fault fault = new_fault(FAULT_FLIP);
    int64_t bit = 0;

    if (!read_pattern(r, r->part[0], fault.pattern) ||
        !read_size(r, r->part[1], &fault.offset) ||
        (is_given(r, 2) && !read_size(r, r->part[2], &bit)))
        return false;
    if (bit > 7)
        return refuse(r, r->part[2], "a bit from 0 to 7");
    fault.bit = (int)bit;
    return add(r, &fault);
}

static bool read_length(struct reading *r, int part, int64_t *length)
{
    if (!is_given(r, part))
        return true;
    if (!read_size(r, r->part[part], length))
        return false;
    return (*length > 0 && *length <= (INT64_C(1) << 30)) ||
           refuse(r, r->part[part], "a length from 1 to 1Gi");
}

static bool add_block(struct reading *r)
{
    struct fault fault =
        new_fault(strcmp(r->key, "lost") == 0 ? FAULT_LOST : FAULT_STALE);

    return read_pattern(r, r->part[0], fault.pattern) &&
           read_size(r, r->part[1], &fault.offset) &&
           read_length(r, 2, &fault.length) && add(r, &fault);
}

static bool add_swap(struct reading *r)
{
    struct fault fault = new_fault(FAULT_SWAP);

    return read_pattern(r, r->part[0], fault.pattern) &&
           read_size(r, r->part[1], &fault.offset) &&
           read_pattern(r, r->part[2], fault.other) &&
           read_size(r, r->part[3], &fault.other_offset) &&
           read_length(r, 4, &fault.length) && add(r, &fault);
}

/* ---- fixed when mounted */

static bool set_text(struct reading *r)
{
    struct settings *s = r->target->fixed;
    char *to = strcmp(r->key, "log") == 0 ? s->log : s->store;

    if (!r->part[0][0] || strlen(r->part[0]) >= sizeof(s->store))
        return refuse(r, r->part[0], "a path");
    strcpy(to, r->part[0]);
    return true;
}

static bool set_cache(struct reading *r)
{
    static const char *const names[] = {"none", "page", "writeback"};

    for (int i = 0; i < 3; i++) {
        if (strcmp(r->part[0], names[i]) == 0) {
            r->target->fixed->cache = (enum cache)i;
            return true;
        }
    }
    return refuse(r, r->part[0], "none, page or writeback");
}

static bool set_io(struct reading *r)
{
    struct settings *s = r->target->fixed;

    if (!read_size(r, r->part[0], &s->io_bytes))
        return false;
    return (s->io_bytes >= 4096 && s->io_bytes <= (1 << 20)) ||
           refuse(r, r->part[0], "from 4Ki to 1Mi");
}

static bool set_space(struct reading *r)
{
    return read_size(r, r->part[0], &r->target->fixed->space_bytes);
}

static bool set_life(struct reading *r)
{
    return read_size(r, r->part[0], &r->target->fixed->life_s);
}

static bool set_meta(struct reading *r)
{
    return read_us(r, r->part[0], &r->target->fixed->meta_ns);
}

static bool set_allow_other(struct reading *r)
{
    r->target->fixed->allow_other = true;
    return true;
}

static const struct setting table[] = {
    {"store", "none|ram|DIR", "what is kept: 64 KiB a file, all, all in DIR", 1,
     1, true, set_text},
    {"log", "FILE", "a line per operation", 1, 1, true, set_text},
    {"cache", "none|page|writeback", "the kernel's page cache", 1, 1, true,
     set_cache},
    {"max_io", "BYTES", "largest request, up to 1Mi", 1, 1, true, set_io},
    {"space", "BYTES", "free space that statfs tells of", 1, 1, true,
     set_space},
    {"life", "SECONDS", "unmount after so long", 1, 1, true, set_life},
    {"meta_us", "US", "time of an operation on names", 1, 1, true, set_meta},
    {"allow_other", "", "all users may use it", 0, 0, true, set_allow_other},

    {"rate", "RATE", "bytes per second, reads and writes together", 1, 1, false,
     set_rate},
    {"read_rate", "RATE", "of reads alone", 1, 1, false, set_rate},
    {"write_rate", "RATE", "of writes alone", 1, 1, false, set_rate},
    {"burst_us", "US", "pause of a client that costs it nothing (20000)", 1, 1,
     false, set_burst},
    {"lat_us", "US", "latency of each transfer and sync", 1, 1, false,
     set_latency},
    {"stall", "N:US", "each Nth transfer takes US more", 2, 2, false,
     set_stall},
    {"slowfile", "GLOB:RATE", "a file's own rate", 2, 2, false, add_file_rate},
    {"opendelay", "GLOB:MS[:COUNT]", "opening it takes longer", 2, 3, false,
     add_open_delay},
    {"cliff", "BYTES:RATE[:drain]", "the first bytes are faster", 2, 3, false,
     set_cliff},
    {"wcache", "BYTES[:RATE[:lazy]]", "write-back cache, paid for by fsync", 1,
     3, false, set_cache_size},

    {"enospc", "BYTES", "no space after so much was written", 1, 1, false,
     set_enospc},
    {"fail", "OP:GLOB[:ERROR[:OFFSET[:COUNT]]]",
     "an operation (EIO; any offset; always)", 2, 5, false, add_fail},
    {"hang", "OP:GLOB[:OFFSET]", "until it is released", 2, 3, false, add_hang},
    {"short", "OP:GLOB:BYTES", "transfers of at most so much", 3, 3, false,
     add_short},
    {"flip", "GLOB:OFFSET[:BIT]", "one bit is read wrong", 2, 3, false,
     add_flip},
    {"lost", "GLOB:OFFSET[:LENGTH]", "reads as zeros", 2, 3, false, add_block},
    {"stale", "GLOB:OFFSET[:LENGTH]", "keeps what was written first", 2, 3,
     false, add_block},
    {"swap", "FILE:OFFSET:FILE:OFFSET[:LENGTH]",
     "two blocks in each other's "
     "place",
     4, 5, false, add_swap},
};
#define SETTINGS (sizeof(table) / sizeof(table[0]))

void settings_init(struct settings *settings)
{
    *settings = (struct settings){
        .store = "ram",
        .io_bytes = 1 << 20,
        .space_bytes = INT64_C(1) << 40,
    };
}

void settings_print_help(void)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        char left[64];

        snprintf(left, sizeof(left), "%s%s%s", table[i].key,
                 table[i].form[0] ? "=" : "", table[i].form);
        printf("  %-36s %s%s\n", left, table[i].help,
               table[i].fixed ? " *" : "");
    }
}

static const struct setting *find(const char *key, size_t length)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        if (strlen(table[i].key) == length &&
            strncmp(table[i].key, key, length) == 0)
            return &table[i];
    }
    return NULL;
}

/* At colons; a value of one part may have them. */
static void cut(struct reading *r, char *value, int most)
{
    while (value && r->parts < most) {
        char *colon = most > 1 ? strchr(value, ':') : NULL;

        r->part[r->parts++] = value;
        if (colon)
            *colon++ = '\0';
        value = colon;
    }
    if (value) /* more than it takes */
        r->parts++;
}

static bool apply(struct reading *r, const struct setting *setting, char *value)
{
    bool done;

    cut(r, value, setting->most);
    if (r->parts < setting->least || r->parts > setting->most) {
        snprintf(r->why, r->room, "%s takes %s", setting->key,
                 setting->form[0] ? setting->form : "no value");
        return false;
    }
    if (setting->fixed && !r->target->fixed) {
        snprintf(r->why, r->room, "%s cannot be changed while mounted",
                 setting->key);
        return false;
    }
    pthread_mutex_lock(&r->target->pace->lock);
    done = setting->apply(r);
    pthread_mutex_unlock(&r->target->pace->lock);
    return done;
}

bool settings_apply(struct settings_target *target, const char *text, char *why,
                    size_t room)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    const struct setting *setting = find(text, length);
    struct reading r = {.target = target, .why = why, .room = room};
    char *value;
    bool done;

    if (!setting) {
        snprintf(why, room, "unknown option '%.*s'", (int)length, text);
        return false;
    }
    value = equals ? strdup(equals + 1) : NULL;
    if (equals && !value) {
        snprintf(why, room, "out of memory");
        return false;
    }
    r.key = setting->key;
    done = apply(&r, setting, value);
    free(value);
    return done;
}
