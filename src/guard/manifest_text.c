/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The text of a manifest, both ways.  Lines come in one fixed order; anything
 * else, and any line too many or too few, is damage.  Memory that is
 * allocated while reading grows with the text, not with numbers in it.
 */

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "guard/manifest.h"

static const char magic[] = "iobm-manifest ";

enum {
    VERSION = 2, /* 1 has no older seeds */
    LINE_ROOM = 512,
    CHECKSUM_BYTES = sizeof("checksum 0123456789abcdef\n") - 1,
    MAX_PARTS = 1 << 24,
};

/* FNV-1a: against damage and absent-minded edits, not against malice; whom a
 * file belongs to is told by its owner and its name. */
static uint64_t checksum(const char *text, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Texts are words: what is not printable, and blanks, become '_'. */
static void add_word(struct str *out, const char *key, const char *word)
{
    str_addf(out, "%s ", key);
    if (!*word)
        str_add(out, "-");
    for (; *word; word++) {
        unsigned char c = (unsigned char)*word;
        char plain = c > 0x20 && c < 0x7f ? (char)c : '_';

        str_addn(out, &plain, 1);
    }
    str_add(out, "\n");
}

static void add_layout(struct str *out, const struct layout *layout)
{
    str_addf(out,
             "shared %d\nstrided %d\nparts %d\ntotal_bytes %" PRId64
             "\ntransfer_bytes %" PRId64 "\nblock_bytes %" PRId64
             "\ngrain_bytes %" PRId64 "\n",
             layout->shared, layout->strided, layout->parts,
             layout->total_bytes, layout->transfer_bytes,
             layout->block_bytes > 0 ? layout->block_bytes : 0,
             layout->grain_bytes);
}

void manifest_format(const struct manifest *m, struct str *out)
{
    size_t start = out->length;
    int files = layout_files(&m->layout);

    str_addf(out, "%s%d\n", magic, VERSION);
    add_word(out, "run_id", m->run_id);
    str_addf(out, "seed %" PRIu64 "\nolder_seeds %d\n", m->seed,
             m->older_count);
    for (int i = 0; i < m->older_count; i++)
        str_addf(out, "older_seed %" PRIu64 "\n", m->older_seed[i]);
    add_word(out, "state", m->state);
    add_word(out, "written_utc", m->written_utc);
    add_layout(out, &m->layout);
    str_addf(out, "site %d\n", m->site);
    add_word(out, "writer_host", m->writer.host);
    add_word(out, "writer_place", m->writer.place);
    str_addf(out, "writer_pid %" PRId64 "\nwriter_start %" PRId64 "\n",
             m->writer.pid, m->writer.start);
    str_addf(out, "hosts %d\nfiles %d\n", m->host ? m->layout.parts : 0,
             m->file ? files : 0);
    for (int p = 0; m->host && p < m->layout.parts; p++)
        add_word(out, "host", m->host[p]);
    for (int f = 0; m->file && f < files; f++)
        str_addf(out, "file %" PRIu64 " %" PRId64 "\n", m->file[f].inode,
                 m->file[f].mtime_ns);
    if (!out->failed)
        str_addf(out, "checksum %016" PRIx64 "\n",
                 checksum(out->text + start, out->length - start));
}

/* ---- reading */

struct cursor {
    const char *at, *end;
    char value[LINE_ROOM]; /* of the line that was taken last */
    const char *wanted;    /* its key */
    bool broken;
};

/* Take the next line, which must be "KEY VALUE". */
static bool take(struct cursor *c, const char *key)
{
    const char *line = c->at;
    const char *stop =
        c->broken ? NULL : memchr(line, '\n', (size_t)(c->end - line));
    size_t length = stop ? (size_t)(stop - line) : 0;
    size_t n = strlen(key);

    if (c->broken)
        return false;
    c->wanted = key;
    if (!stop || length >= LINE_ROOM || length < n + 2 ||
        memchr(line, '\0', length) || memcmp(line, key, n) != 0 ||
        line[n] != ' ') {
        c->broken = true;
        return false;
    }
    memcpy(c->value, line + n + 1, length - n - 1);
    c->value[length - n - 1] = '\0';
    c->at = stop + 1;
    return true;
}

static void take_word(struct cursor *c, const char *key, char *word,
                      size_t room)
{
    if (!take(c, key))
        return;
    if (strlen(c->value) >= room || strpbrk(c->value, " \t\r")) {
        c->broken = true;
        return;
    }
    strcpy(word, strcmp(c->value, "-") == 0 ? "" : c->value);
}

/* Digits at '*text', a minus sign in front allowed; moves '*text' on. */
static bool scan_number(const char **text, int64_t min, int64_t max,
                        int64_t *value)
{
    char *end;
    long long number;

    if (!isdigit((unsigned char)(*text)[**text == '-']))
        return false;
    errno = 0;
    number = strtoll(*text, &end, 10);
    if (errno || number < min || number > max)
        return false;
    *value = number;
    *text = end;
    return true;
}

static bool scan_unsigned(const char **text, uint64_t *value)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    *value = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static int64_t take_number(struct cursor *c, const char *key, int64_t min,
                           int64_t max)
{
    const char *text = c->value;
    int64_t value = min;

    if (take(c, key) && (!scan_number(&text, min, max, &value) || *text))
        c->broken = true;
    return value;
}

static void take_layout(struct cursor *c, struct layout *layout)
{
    layout->shared = take_number(c, "shared", 0, 1);
    layout->strided = take_number(c, "strided", 0, 1);
    layout->parts = (int)take_number(c, "parts", 1, MAX_PARTS);
    layout->total_bytes = take_number(c, "total_bytes", 0, INT64_MAX);
    layout->transfer_bytes = take_number(c, "transfer_bytes", 1, INT64_MAX);
    layout->block_bytes = take_number(c, "block_bytes", 0, INT64_MAX);
    layout->grain_bytes = take_number(c, "grain_bytes", 1, INT64_MAX);
    if (!c->broken && layout_check(layout, NULL) != IOBM_OK) {
        c->wanted = "layout";
        c->broken = true;
    }
}

/* Room for 'count' rows only once the text is long enough to hold them. */
static void *rows(struct cursor *c, int64_t count, size_t size,
                  size_t line_bytes, bool *short_of_memory)
{
    void *array;

    if (c->broken || count == 0)
        return NULL;
    if ((uint64_t)count > (uint64_t)(c->end - c->at) / line_bytes) {
        c->broken = true;
        return NULL;
    }
    array = calloc((size_t)count, size);
    *short_of_memory = *short_of_memory || !array;
    return array;
}

static void take_rows(struct cursor *c, struct manifest *m,
                      bool *short_of_memory)
{
    int files = c->broken ? 0 : layout_files(&m->layout);
    int64_t host_count = take_number(c, "hosts", 0, m->layout.parts);
    int64_t file_count = take_number(c, "files", 0, files);

    if ((host_count != 0 && host_count != m->layout.parts) ||
        (file_count != 0 && file_count != files))
        c->broken = true;
    m->host = rows(c, host_count, sizeof(*m->host), sizeof("host -"),
                   short_of_memory);
    for (int64_t p = 0; m->host && p < host_count && !c->broken; p++)
        take_word(c, "host", m->host[p], sizeof(m->host[p]));
    m->file = rows(c, file_count, sizeof(*m->file), sizeof("file 0 0"),
                   short_of_memory);
    for (int64_t f = 0; m->file && f < file_count && !c->broken; f++) {
        const char *text = c->value;

        if (!take(c, "file") || !scan_unsigned(&text, &m->file[f].inode) ||
            *text++ != ' ' ||
            !scan_number(&text, INT64_MIN, INT64_MAX, &m->file[f].mtime_ns) ||
            *text)
            c->broken = true;
    }
}

static uint64_t take_seed(struct cursor *c, const char *key)
{
    const char *text = c->value;
    uint64_t seed = 0;

    if (take(c, key) && (!scan_unsigned(&text, &seed) || *text))
        c->broken = true;
    return seed;
}

static void take_all(struct cursor *c, struct manifest *m, int64_t version,
                     bool *short_of_memory)
{
    take_word(c, "run_id", m->run_id, sizeof(m->run_id));
    m->seed = take_seed(c, "seed");
    if (version >= 2)
        m->older_count = (int)take_number(c, "older_seeds", 0, MANIFEST_OLDER);
    for (int i = 0; i < m->older_count && !c->broken; i++)
        m->older_seed[i] = take_seed(c, "older_seed");
    take_word(c, "state", m->state, sizeof(m->state));
    if (!c->broken && strcmp(m->state, "writing") != 0 &&
        strcmp(m->state, "complete") != 0)
        c->broken = true;
    take_word(c, "written_utc", m->written_utc, sizeof(m->written_utc));
    take_layout(c, &m->layout);
    m->site = (int)take_number(c, "site", 0, INT_MAX);
    take_word(c, "writer_host", m->writer.host, sizeof(m->writer.host));
    take_word(c, "writer_place", m->writer.place, sizeof(m->writer.place));
    m->writer.pid = take_number(c, "writer_pid", 0, INT_MAX);
    m->writer.start = take_number(c, "writer_start", 0, INT64_MAX);
    take_rows(c, m, short_of_memory);
    if (!c->broken && c->at != c->end) {
        c->wanted = "end";
        c->broken = true;
    }
}

static enum iobm_status check_version(const char *text, size_t length,
                                      int64_t *version, struct iobm_error *err)
{
    size_t n = sizeof(magic) - 1;
    char number[16] = "";
    const char *at = number;

    if (length <= n || memcmp(text, magic, n) != 0)
        return iobm_fail(err, IOBM_ECORRUPT, "it is no manifest of iobm");
    for (size_t i = 0;
         i + 1 < sizeof(number) && n + i < length && text[n + i] != '\n'; i++)
        number[i] = text[n + i];
    if (!scan_number(&at, 1, INT_MAX, version) || *at)
        return iobm_fail(err, IOBM_ECORRUPT, "its first line is damaged");
    if (*version > VERSION)
        return iobm_fail(err, IOBM_ECORRUPT,
                         "it has format %" PRId64 ", made by a newer iobm",
                         *version);
    return IOBM_OK;
}

static enum iobm_status check_checksum(const char *text, size_t length,
                                       struct iobm_error *err)
{
    char expected[CHECKSUM_BYTES + 1];

    if (length < CHECKSUM_BYTES)
        return iobm_fail(err, IOBM_ECORRUPT, "its end is missing");
    snprintf(expected, sizeof(expected), "checksum %016" PRIx64 "\n",
             checksum(text, length - CHECKSUM_BYTES));
    if (memcmp(text + length - CHECKSUM_BYTES, expected, CHECKSUM_BYTES) != 0)
        return iobm_fail(err, IOBM_ECORRUPT,
                         "its checksum is wrong: it is damaged, or was edited");
    return IOBM_OK;
}

enum iobm_status manifest_parse(const char *text, size_t length,
                                struct manifest *manifest,
                                struct iobm_error *err)
{
    struct manifest found = {.owner_uid = -1};
    bool short_of_memory = false;
    struct cursor c = {0};
    int64_t version;
    enum iobm_status status = check_version(text, length, &version, err);

    if (status == IOBM_OK)
        status = check_checksum(text, length, err);
    if (status != IOBM_OK)
        return status;
    c.at = memchr(text, '\n', length);
    c.at++; /* the checksum matched, so there is one */
    c.end = text + length - CHECKSUM_BYTES;
    if (c.at > c.end)
        return iobm_fail(err, IOBM_ECORRUPT, "its end is missing");
    take_all(&c, &found, version, &short_of_memory);
    if (short_of_memory)
        status = iobm_fail(err, IOBM_ENOMEM,
                           "cannot hold a manifest of %d parts: out of memory",
                           found.layout.parts);
    else if (c.broken)
        status =
            iobm_fail(err, IOBM_ECORRUPT, "its line '%s' is damaged", c.wanted);
    if (status != IOBM_OK)
        manifest_release(&found);
    else
        *manifest = found;
    return status;
}
