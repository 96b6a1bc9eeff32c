/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Option tables at work: the command line into a struct, and the struct and
 * the table out again as help, man page and record.  Which options there are
 * and which go together is not known here.
 */
#include "conf/parse.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define HELP_COLUMNS    80
#define HELP_INDENT     30 /* where the explanations begin */
#define NAME_MAX_LENGTH 63

/* Where a value is "not given" and has no default. */
#define NOT_GIVEN INT64_C(-1)

struct scan {
    const struct iobm_option *table;
    int argc;
    char *const *argv;
    int at; /* the next word */
    void *options;
    bool *given;
    const char **operands; /* NULL: refused */
    int *operand_count;
    bool ended; /* by an action */
};

static void *member(const struct iobm_option *row, void *options)
{
    return (char *)options + row->offset;
}

static const void *const_member(const struct iobm_option *row,
                                const void *options)
{
    return (const char *)options + row->offset;
}

static bool is_end(const struct iobm_option *row)
{
    return row->type == IOBM_OPT_END;
}

static bool takes_value(const struct iobm_option *row)
{
    return row->type != IOBM_OPT_BOOL && row->type != IOBM_OPT_ACTION;
}

/* "no-sync" has no "--no-no-sync". */
static bool has_negation(const struct iobm_option *row)
{
    return row->type == IOBM_OPT_BOOL && strncmp(row->name, "no-", 3) != 0;
}

int opt_row(const struct iobm_option *table, const char *name)
{
    for (int i = 0; !is_end(&table[i]); i++)
        if (strcmp(table[i].name, name) == 0)
            return i;
    assert(!"an option that is not in the table");
    return -1;
}

/* ---- suggestions ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (insert, delete, replace, swap neighbours) from 'a' to 'b'. */
static size_t edits(const char *a, const char *b)
{
    size_t rows[3][NAME_MAX_LENGTH + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    size_t la = strlen(a), lb = strlen(b);

    if (la > NAME_MAX_LENGTH || lb > NAME_MAX_LENGTH)
        return SIZE_MAX;
    for (size_t j = 0; j <= lb; j++)
        before[j] = last[j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t *spare = before;

        now[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1,
                           last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        before = last;
        last = now;
        now = spare;
    }
    return last[lb];
}

/* The option whose name is most like 'name', or NULL when none is. */
static const char *nearest_name(const struct iobm_option *table,
                                const char *name)
{
    size_t length = strlen(name), best = SIZE_MAX;
    const char *found = NULL;

    for (; !is_end(table); table++) {
        size_t distance = edits(name, table->name);

        /* a beginning counts as one edit: it is what was meant */
        if (length >= 2 && strncmp(name, table->name, length) == 0)
            distance = 1;
        if (distance < best) {
            best = distance;
            found = table->name;
        }
    }
    return best <= 1 + length / 4 ? found : NULL;
}

static const char *where_to_look(const struct iobm_option *table)
{
    for (; !is_end(table); table++)
        if (table->type == IOBM_OPT_ACTION && table->choices)
            return "see --help=all";
    return "see --help";
}

static enum iobm_status unknown_long(const struct scan *scan, const char *word,
                                     const char *name, struct iobm_error *err)
{
    const char *near = nearest_name(scan->table, name);

    if (near)
        return iobm_fail(err, IOBM_EUSAGE,
                         "unknown option '%s': did you mean '--%s'? (%s)", word,
                         near, where_to_look(scan->table));
    return iobm_fail(err, IOBM_EUSAGE, "unknown option '%s': %s", word,
                     where_to_look(scan->table));
}

/* ---- values ---- */

static void list_choices(const char *const *choices, const char *between,
                         struct str *out)
{
    for (size_t i = 0; choices[i]; i++) {
        if (i > 0)
            str_add(out, between);
        str_add(out, choices[i]);
    }
}

static enum iobm_status parse_choice(const struct iobm_option *row,
                                     const char *spelled, const char *text,
                                     int *index, struct iobm_error *err)
{
    struct str all = {0};
    enum iobm_status status;

    for (int i = 0; row->choices[i]; i++)
        if (strcmp(row->choices[i], text) == 0) {
            *index = i;
            return IOBM_OK;
        }
    list_choices(row->choices, ", ", &all);
    status = iobm_fail(err, IOBM_EUSAGE, "%s: '%s' is none of %s", spelled,
                       text, str_text(&all));
    str_release(&all);
    return status;
}

static enum iobm_status parse_number(const struct iobm_option *row,
                                     const char *text, int64_t *value,
                                     struct iobm_error *err)
{
    switch (row->type) {
    case IOBM_OPT_SIZE:
        return units_parse_size(text, row->bare, value, err);
    case IOBM_OPT_TIME:
        return units_parse_time(text, value, err);
    default:
        return units_parse_int(text, value, err);
    }
}

static enum iobm_status check_range(const struct iobm_option *row,
                                    const char *spelled, const char *text,
                                    int64_t value, struct iobm_error *err)
{
    int64_t limit;

    if (row->min) {
        if (parse_number(row, row->min, &limit, err))
            return IOBM_EBUG;
        if (value < limit)
            return iobm_fail(err, IOBM_EUSAGE,
                             "%s: '%s' is too small, the least is %s", spelled,
                             text, row->min);
    }
    if (row->max) {
        if (parse_number(row, row->max, &limit, err))
            return IOBM_EBUG;
        if (value > limit)
            return iobm_fail(err, IOBM_EUSAGE,
                             "%s: '%s' is too large, the most is %s", spelled,
                             text, row->max);
    }
    return IOBM_OK;
}

/* 'spelled' is the option as the user wrote it, for the message. */
static enum iobm_status set_value(const struct iobm_option *row,
                                  const char *spelled, const char *text,
                                  void *options, struct iobm_error *err)
{
    void *into = member(row, options);
    enum iobm_status status;
    int64_t number;
    char *copy;

    switch (row->type) {
    case IOBM_OPT_CHOICE:
    case IOBM_OPT_ACTION:
        return parse_choice(row, spelled, text, into, err);
    case IOBM_OPT_STRING:
        copy = strdup(text);
        if (!copy)
            return iobm_fail(err, IOBM_ENOMEM, "no memory for %s", spelled);
        free(*(char **)into);
        *(char **)into = copy;
        return IOBM_OK;
    case IOBM_OPT_LIST:
        status = kv_parse(into, text, err);
        return status ? iobm_context(err, status, "%s", spelled) : IOBM_OK;
    default:
        status = parse_number(row, text, &number, err);
        if (status)
            return iobm_context(err, status, "%s", spelled);
        status = check_range(row, spelled, text, number, err);
        if (status)
            return status;
        *(int64_t *)into = number;
        return IOBM_OK;
    }
}

static enum iobm_status set_preset(const struct iobm_option *row, void *options,
                                   struct iobm_error *err)
{
    void *into = member(row, options);

    switch (row->type) {
    case IOBM_OPT_BOOL:
        *(bool *)into = row->preset && strcmp(row->preset, "true") == 0;
        return IOBM_OK;
    case IOBM_OPT_CHOICE:
        *(int *)into = 0;
        break;
    case IOBM_OPT_ACTION:
        if (row->choices)
            *(int *)into = 0;
        return IOBM_OK;
    case IOBM_OPT_STRING:
        *(char **)into = NULL;
        break;
    case IOBM_OPT_LIST:
        *(struct kvlist *)into = (struct kvlist){0};
        return IOBM_OK;
    default:
        *(int64_t *)into = NOT_GIVEN;
        break;
    }
    return row->preset ? set_value(row, row->name, row->preset, options, err)
                       : IOBM_OK;
}

enum iobm_status opt_init(const struct iobm_option *table, void *options,
                          struct iobm_error *err)
{
    enum iobm_status status = IOBM_OK;
    const struct iobm_option *row;

    for (row = table; !is_end(row); row++) {
        status = set_preset(row, options, err);
        if (status)
            break;
    }
    if (!status)
        return IOBM_OK;
    /* what opt_release would free must be set, whatever failed */
    for (; !is_end(row); row++) {
        if (row->type == IOBM_OPT_STRING)
            *(char **)member(row, options) = NULL;
        else if (row->type == IOBM_OPT_LIST)
            *(struct kvlist *)member(row, options) = (struct kvlist){0};
    }
    opt_release(table, options);
    return status;
}

void opt_release(const struct iobm_option *table, void *options)
{
    for (; !is_end(table); table++) {
        if (table->type == IOBM_OPT_STRING) {
            free(*(char **)member(table, options));
            *(char **)member(table, options) = NULL;
        } else if (table->type == IOBM_OPT_LIST) {
            kv_release(member(table, options));
        }
    }
}

/* ---- the command line ---- */

/* Take note of a use of 'row'; refuse a second one that would replace the
 * first.  A flag twice says the same twice. */
static enum iobm_status note_use(const struct scan *scan,
                                 const struct iobm_option *row,
                                 const char *spelled, struct iobm_error *err)
{
    size_t i = (size_t)(row - scan->table);

    if (scan->given[i] && takes_value(row) && row->type != IOBM_OPT_LIST) {
        if (row->letter)
            return iobm_fail(err, IOBM_EUSAGE,
                             "'%s' is given twice (-%c is --%s): give it once",
                             spelled, row->letter, row->name);
        return iobm_fail(err, IOBM_EUSAGE, "'%s' is given twice: give it once",
                         spelled);
    }
    scan->given[i] = true;
    return IOBM_OK;
}

static enum iobm_status set_flag(const struct scan *scan,
                                 const struct iobm_option *row, bool value,
                                 struct iobm_error *err)
{
    bool *flag = member(row, scan->options);

    if (scan->given[row - scan->table] && *flag != value)
        return iobm_fail(err, IOBM_EUSAGE,
                         "'--%s' and '--no-%s' contradict each other: "
                         "give one of them",
                         row->name, row->name);
    scan->given[row - scan->table] = true;
    *flag = value;
    return IOBM_OK;
}

/* "-w" or "--write", but neither "-" nor "-5". */
static bool looks_like_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' &&
           !isdigit((unsigned char)word[1]) && word[1] != '.';
}

/* The next word as the value of 'row'. */
static enum iobm_status take_value(struct scan *scan,
                                   const struct iobm_option *row,
                                   const char *spelled, const char **value,
                                   struct iobm_error *err)
{
    const char *what = row->argument ? row->argument : "value";
    const char *next;

    if (scan->at >= scan->argc)
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' needs a value (%s) and nothing follows it",
                         spelled, what);
    next = scan->argv[scan->at];
    if (looks_like_option(next))
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' needs a value (%s) and the option '%s' follows "
                         "it: if that is the value, write '--%s=%s'",
                         spelled, what, next, row->name, next);
    scan->at++;
    *value = next;
    return IOBM_OK;
}

static enum iobm_status use_value(const struct scan *scan,
                                  const struct iobm_option *row,
                                  const char *spelled, const char *value,
                                  struct iobm_error *err)
{
    enum iobm_status status = note_use(scan, row, spelled, err);

    if (status)
        return status;
    return set_value(row, spelled, value, scan->options, err);
}

/* "-size 10" would be -s and -i otherwise: never guess. */
static bool is_long_name(const struct iobm_option *table, const char *name)
{
    size_t length = strcspn(name, "=");

    if (length < 2)
        return false;
    for (; !is_end(table); table++)
        if (strlen(table->name) == length &&
            strncmp(table->name, name, length) == 0)
            return true;
    return false;
}

static enum iobm_status unknown_letter(const struct scan *scan, char letter,
                                       const char *word, struct iobm_error *err)
{
    if (!word[2])
        return iobm_fail(err, IOBM_EUSAGE, "unknown option '%s': %s", word,
                         where_to_look(scan->table));
    return iobm_fail(err, IOBM_EUSAGE, "unknown option '-%c' in '%s': %s",
                     isprint((unsigned char)letter) ? letter : '?', word,
                     where_to_look(scan->table));
}

/* The value of a letter: what is left of the word, or the next word. */
static enum iobm_status scan_letter_value(struct scan *scan,
                                          const struct iobm_option *row,
                                          const char *word, const char *value,
                                          struct iobm_error *err)
{
    char spelled[3] = {'-', row->letter, '\0'};
    enum iobm_status status;

    if (*value == '=')
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' is not understood: write '-%c %s' or '--%s=%s'",
                         word, row->letter, value + 1, row->name, value + 1);
    if (!*value) {
        status = take_value(scan, row, spelled, &value, err);
        if (status)
            return status;
    }
    return use_value(scan, row, spelled, value, err);
}

/* "-wsn10": flags, then at most one option with a value. */
static enum iobm_status scan_letters(struct scan *scan, const char *word,
                                     struct iobm_error *err)
{
    if (is_long_name(scan->table, word + 1))
        return iobm_fail(err, IOBM_EUSAGE,
                         "unknown option '%s': did you mean '-%s'? (long "
                         "names take two dashes)",
                         word, word);
    for (const char *c = word + 1; *c; c++) {
        const struct iobm_option *row = scan->table;
        enum iobm_status status;

        while (!is_end(row) && row->letter != *c)
            row++;
        if (is_end(row))
            return unknown_letter(scan, *c, word, err);
        if (takes_value(row))
            return scan_letter_value(scan, row, word, c + 1, err);
        if (row->type == IOBM_OPT_ACTION) {
            scan->given[row - scan->table] = true;
            scan->ended = true;
            return IOBM_OK;
        }
        status = set_flag(scan, row, true, err);
        if (status)
            return status;
    }
    return IOBM_OK;
}

/* An action: its optional value comes only with '='. */
static enum iobm_status scan_action(struct scan *scan,
                                    const struct iobm_option *row,
                                    const char *spelled, const char *value,
                                    struct iobm_error *err)
{
    if (value && !row->choices)
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' takes no value: leave out '=%s'", spelled,
                         value);
    if (value) {
        enum iobm_status status =
            set_value(row, spelled, value, scan->options, err);

        if (status)
            return status;
    }
    scan->given[row - scan->table] = true;
    scan->ended = true;
    return IOBM_OK;
}

static enum iobm_status scan_long_row(struct scan *scan,
                                      const struct iobm_option *row,
                                      const char *name, const char *value,
                                      bool negated, struct iobm_error *err)
{
    char spelled[NAME_MAX_LENGTH + 8] = "--";
    enum iobm_status status;

    strncat(spelled, name, NAME_MAX_LENGTH);
    if (row->type == IOBM_OPT_ACTION)
        return scan_action(scan, row, spelled, value, err);
    if (row->type == IOBM_OPT_BOOL) {
        if (value)
            return iobm_fail(err, IOBM_EUSAGE,
                             "'%s' takes no value: leave out '=%s'", spelled,
                             value);
        return set_flag(scan, row, !negated, err);
    }
    if (!value) {
        status = take_value(scan, row, spelled, &value, err);
        if (status)
            return status;
    }
    return use_value(scan, row, spelled, value, err);
}

static enum iobm_status scan_long(struct scan *scan, const char *word,
                                  struct iobm_error *err)
{
    size_t length = strcspn(word + 2, "=");
    const char *value = word[2 + length] ? word + 2 + length + 1 : NULL;
    char name[NAME_MAX_LENGTH + 1];

    if (length > NAME_MAX_LENGTH)
        return iobm_fail(err, IOBM_EUSAGE, "unknown option '%.80s': %s", word,
                         where_to_look(scan->table));
    memcpy(name, word + 2, length);
    name[length] = '\0';
    for (const struct iobm_option *r = scan->table; !is_end(r); r++)
        if (strcmp(r->name, name) == 0)
            return scan_long_row(scan, r, name, value, false, err);
    if (strncmp(name, "no-", 3) == 0)
        for (const struct iobm_option *r = scan->table; !is_end(r); r++)
            if (has_negation(r) && strcmp(r->name, name + 3) == 0)
                return scan_long_row(scan, r, name, value, true, err);
    return unknown_long(scan, word, name, err);
}

/* Dashes that word processors put in place of '-' (U+2010 to 2015, 2212). */
static bool is_pasted_dash(const char *word)
{
    const unsigned char *c = (const unsigned char *)word;

    return c[0] == 0xe2 && ((c[1] == 0x80 && c[2] >= 0x90 && c[2] <= 0x95) ||
                            (c[1] == 0x88 && c[2] == 0x92));
}

static enum iobm_status scan_operand(const struct scan *scan, const char *word,
                                     struct iobm_error *err)
{
    const char *near;

    if (is_pasted_dash(word))
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' begins with a typographic dash: type '-%s'",
                         word, word + 3);
    if (scan->operands) {
        scan->operands[(*scan->operand_count)++] = word;
        return IOBM_OK;
    }
    near = nearest_name(scan->table, word);
    if (near)
        return iobm_fail(err, IOBM_EUSAGE,
                         "'%s' belongs to no option: did you mean '--%s'?",
                         word, near);
    return iobm_fail(err, IOBM_EUSAGE,
                     "'%s' belongs to no option: only options are "
                     "understood here (%s)",
                     word, where_to_look(scan->table));
}

enum iobm_status opt_parse(const struct iobm_option *table, int argc,
                           char *const *argv, void *options, bool *given,
                           const char **operands, int *operand_count,
                           struct iobm_error *err)
{
    struct scan scan = {.table = table,
                        .argc = argc,
                        .argv = argv,
                        .options = options,
                        .given = given,
                        .operands = operands,
                        .operand_count = operand_count};
    bool only_operands = false;
    enum iobm_status status = IOBM_OK;

    for (size_t i = 0; !is_end(&table[i]); i++)
        given[i] = false;
    if (operands)
        *operand_count = 0;
    while (!status && !scan.ended && scan.at < argc) {
        const char *word = argv[scan.at++];

        if (only_operands || word[0] != '-' || !word[1])
            status = scan_operand(&scan, word, err);
        else if (strcmp(word, "--") == 0)
            only_operands = true;
        else if (word[1] == '-')
            status = scan_long(&scan, word, err);
        else
            status = scan_letters(&scan, word, err);
    }
    return status;
}

/* ---- help ---- */

static void add_spaces(struct str *out, size_t n)
{
    while (n-- > 0)
        str_addn(out, " ", 1);
}

/* Words of 'text' from column 'column' on, further lines at 'indent'. */
static void add_wrapped(struct str *out, const char *text, size_t column,
                        size_t indent)
{
    bool first = true;

    while (*text) {
        size_t length = strcspn(text, " ");

        if (!first && column + 1 + length > HELP_COLUMNS) {
            str_add(out, "\n");
            add_spaces(out, indent);
            column = indent;
        } else if (!first) {
            str_add(out, " ");
            column++;
        }
        str_addn(out, text, length);
        column += length;
        text += length;
        text += strspn(text, " ");
        first = false;
    }
    str_add(out, "\n");
}

/* The default as people read it. */
static void add_preset(const struct iobm_option *row, struct str *out)
{
    int64_t bytes;
    char text[64];

    if (row->type == IOBM_OPT_SIZE &&
        units_parse_size(row->preset, row->bare, &bytes, NULL) == IOBM_OK)
        str_add(out, units_size(text, sizeof(text), bytes));
    else
        str_add(out, row->preset);
}

/* The sentence of the table, what a bare number means, and the default. */
static void add_explanation(const struct iobm_option *row, struct str *out)
{
    str_add(out, row->help);
    if (row->type == IOBM_OPT_SIZE && row->bare)
        str_addf(out, "; a bare number is %s", row->bare);
    if (row->type == IOBM_OPT_TIME)
        str_add(out, "; a bare number is seconds");
    if (row->preset && row->type != IOBM_OPT_BOOL) {
        str_add(out, " (default ");
        add_preset(row, out);
        str_add(out, ")");
    }
}

/* "SIZE", "end|every|none", "" for flags. */
static void add_argument(const struct iobm_option *row, struct str *out)
{
    if (row->choices)
        list_choices(row->choices, "|", out);
    else if (row->argument)
        str_add(out, row->argument);
    else
        str_add(out, "VALUE");
}

static void help_row(const struct iobm_option *row, struct str *out)
{
    struct str left = {0}, right = {0};
    size_t column;

    if (row->letter)
        str_addf(&left, "  -%c, --%s", row->letter, row->name);
    else
        str_addf(&left, "      --%s", row->name);
    if (takes_value(row)) {
        str_add(&left, " ");
        add_argument(row, &left);
    } else if (row->type == IOBM_OPT_ACTION && row->choices) {
        str_add(&left, "[=");
        add_argument(row, &left);
        str_add(&left, "]");
    }
    add_explanation(row, &right);
    str_add(out, str_text(&left));
    column = left.length;
    if (column + 2 > HELP_INDENT) {
        str_add(out, "\n");
        column = 0;
    }
    add_spaces(out, HELP_INDENT - column);
    add_wrapped(out, str_text(&right), HELP_INDENT, HELP_INDENT);
    out->failed = out->failed || left.failed || right.failed;
    str_release(&left);
    str_release(&right);
}

void opt_help(const struct iobm_option *table, struct str *out)
{
    bool first = true;

    for (; !is_end(table); table++) {
        if (table->group) {
            str_addf(out, "%s%s:\n", first ? "" : "\n", table->group);
        }
        first = false;
        help_row(table, out);
    }
}

/* ---- man page ---- */

/* Text that troff shows as it is. */
static void add_troff(struct str *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (c == text && (*c == '.' || *c == '\''))
            str_add(out, "\\&");
        if (*c == '\\')
            str_add(out, "\\e");
        else if (*c == '-')
            str_add(out, "\\-");
        else if (*c == '\'')
            str_add(out, "\\(aq");
        else
            str_addn(out, c, 1);
    }
}

static void man_row(const struct iobm_option *row, struct str *out)
{
    struct str argument = {0}, explanation = {0};

    add_argument(row, &argument);
    add_explanation(row, &explanation);
    str_add(out, ".TP\n");
    if (row->letter)
        str_addf(out, "\\fB\\-%c\\fR, ", row->letter);
    str_add(out, "\\fB\\-\\-");
    add_troff(out, row->name);
    str_add(out, "\\fR");
    if (takes_value(row)) {
        str_add(out, " \\fI");
        add_troff(out, str_text(&argument));
        str_add(out, "\\fR");
    } else if (row->type == IOBM_OPT_ACTION && row->choices) {
        str_add(out, "[=\\fI");
        add_troff(out, str_text(&argument));
        str_add(out, "\\fR]");
    }
    str_add(out, "\n");
    add_troff(out, str_text(&explanation));
    str_add(out, "\n");
    out->failed = out->failed || argument.failed || explanation.failed;
    str_release(&argument);
    str_release(&explanation);
}

void opt_man(const struct iobm_option *table, struct str *out)
{
    for (; !is_end(table); table++) {
        if (table->group) {
            str_add(out, ".SS \"");
            add_troff(out, table->group);
            str_add(out, "\"\n");
        }
        man_row(table, out);
    }
}

/* ---- record ---- */

/* The largest unit that divides it: "1h", "90s", "5ms". */
static void add_time(struct str *out, int64_t ns)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"h", INT64_C(3600000000000)}, {"min", INT64_C(60000000000)},
                 {"s", INT64_C(1000000000)},    {"ms", INT64_C(1000000)},
                 {"us", INT64_C(1000)},         {"ns", INT64_C(1)}};
    size_t i = 0;

    if (ns == 0) {
        str_add(out, "0s");
        return;
    }
    while (ns % units[i].ns != 0)
        i++;
    str_addf(out, "%" PRId64 "%s", ns / units[i].ns, units[i].name);
}

static void add_number(const struct iobm_option *row, int64_t value,
                       struct str *out)
{
    char text[64];

    if (value == NOT_GIVEN && !row->preset)
        return;
    if (row->type == IOBM_OPT_SIZE)
        str_add(out, units_size_typed(text, sizeof(text), value));
    else if (row->type == IOBM_OPT_TIME)
        add_time(out, value);
    else
        str_addf(out, "%" PRId64, value);
}

static enum iobm_status record_list(const struct iobm_option *row,
                                    const struct kvlist *list,
                                    struct kvlist *out, struct iobm_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        struct str both = {0};
        enum iobm_status status;

        str_addf(&both, "%s=%s", list->items[i].key, list->items[i].value);
        status = both.failed
                     ? iobm_fail(err, IOBM_ENOMEM, "no memory for options")
                     : kv_add(out, row->name, str_text(&both), err);
        str_release(&both);
        if (status)
            return status;
    }
    return IOBM_OK;
}

static enum iobm_status record_row(const struct iobm_option *row,
                                   const void *options, struct kvlist *out,
                                   struct iobm_error *err)
{
    const void *from = const_member(row, options);
    struct str value = {0};
    enum iobm_status status;
    const char *text;

    switch (row->type) {
    case IOBM_OPT_ACTION:
        return IOBM_OK;
    case IOBM_OPT_LIST:
        return record_list(row, from, out, err);
    case IOBM_OPT_BOOL:
        str_add(&value, *(const bool *)from ? "true" : "false");
        break;
    case IOBM_OPT_CHOICE:
        str_add(&value, row->choices[*(const int *)from]);
        break;
    case IOBM_OPT_STRING:
        text = *(char *const *)from;
        str_add(&value, text ? text : "");
        break;
    default:
        add_number(row, *(const int64_t *)from, &value);
        break;
    }
    status = value.failed ? iobm_fail(err, IOBM_ENOMEM, "no memory for options")
                          : kv_add(out, row->name, str_text(&value), err);
    str_release(&value);
    return status;
}

enum iobm_status opt_record(const struct iobm_option *table,
                            const void *options, struct kvlist *out,
                            struct iobm_error *err)
{
    for (; !is_end(table); table++) {
        enum iobm_status status = record_row(table, options, out, err);

        if (status)
            return status;
    }
    return IOBM_OK;
}
