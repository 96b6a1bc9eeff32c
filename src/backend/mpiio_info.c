/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Hints for MPI-IO, and finding out which component served the requests: the
 * MPI standard has no question for it, Open MPI's control variables tell.
 */

#include "backend/mpiio_info.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum iobm_status mpiio_fail(struct iobm_error *err, int code, const char *what,
                            const char *subject)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    MPI_Error_string(code, text, &length);
    return iobm_fail(err, IOBM_EIO, "%s '%s': %s", what, subject, text);
}

enum iobm_status mpiio_info_make(const struct kvlist *hints, MPI_Info *info,
                                 struct iobm_error *err)
{
    *info = MPI_INFO_NULL;
    if (!hints || hints->count == 0)
        return IOBM_OK;
    if (MPI_Info_create(info) != MPI_SUCCESS)
        return iobm_fail(err, IOBM_ENOMEM, "cannot make an MPI info object");
    for (size_t i = 0; i < hints->count; i++) {
        const struct kv *hint = &hints->items[i];
        bool fits = strlen(hint->key) < MPI_MAX_INFO_KEY &&
                    strlen(hint->value) < MPI_MAX_INFO_VAL && hint->value[0];

        if (fits && MPI_Info_set(*info, hint->key, hint->value) == MPI_SUCCESS)
            continue;
        MPI_Info_free(info);
        *info = MPI_INFO_NULL;
        return iobm_fail(err, IOBM_EUSAGE,
                         "hint '%s=%s': MPI takes keys of up to %d and values "
                         "of 1 to %d characters",
                         hint->key, hint->value, MPI_MAX_INFO_KEY - 1,
                         MPI_MAX_INFO_VAL - 1);
    }
    return IOBM_OK;
}

/* Facts are worth having, but no reason to fail: memory may be short. */
static void add(struct kvlist *facts, const char *key, const char *value)
{
    if (kv_set(facts, key, value, NULL) != IOBM_OK)
        return;
}

void mpiio_info_echo(MPI_File file, struct kvlist *facts)
{
    MPI_Info info;
    int keys = 0;

    if (MPI_File_get_info(file, &info) != MPI_SUCCESS)
        return;
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY + 1] = "", name[MPI_MAX_INFO_KEY + 16];
        char value[MPI_MAX_INFO_VAL + 1] = "";
        char text[MPI_MAX_INFO_VAL + 32];
        int there = 0;

        if (MPI_Info_get_nthkey(info, i, key) != MPI_SUCCESS ||
            MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &there) !=
                MPI_SUCCESS ||
            !there)
            continue;
        snprintf(name, sizeof(name), "mpiio.echo.%s", key);
        snprintf(text, sizeof(text), "%s (echoed, not proof)", value);
        add(facts, name, text);
    }
    MPI_Info_free(&info);
}

/* Read a control variable of text type. */
static void read_text(int index, char *text, size_t room)
{
    MPI_T_cvar_handle handle;
    char *value;
    int count;

    if (MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return;
    value = calloc((size_t)count + 1, 1);
    if (value && MPI_T_cvar_read(handle, value) == MPI_SUCCESS)
        snprintf(text, room, "%s", value);
    free(value);
    MPI_T_cvar_handle_free(&handle);
}

struct mpiio_vars {
    bool ompio;       /* could be chosen */
    bool ompio_used;  /* its file-system layer has been set up */
    char romio[32];   /* could be chosen: "romio321"; else "" */
    char wanted[128]; /* the user's choice */
};

static void look_at_var(int index, struct mpiio_vars *vars)
{
    char name[128] = "", no[1];
    int name_room = sizeof(name), no_room = 1, verbosity, bind, scope;
    MPI_T_enum values;
    MPI_Datatype type;
    size_t length;

    if (MPI_T_cvar_get_info(index, name, &name_room, &verbosity, &type, &values,
                            no, &no_room, &bind, &scope) != MPI_SUCCESS)
        return;
    if (strcmp(name, "io") == 0 && type == MPI_CHAR)
        read_text(index, vars->wanted, sizeof(vars->wanted));
    vars->ompio |= strcmp(name, "io_ompio_priority") == 0;
    /* These come when ompio is chosen for a file, not before. */
    vars->ompio_used |=
        strncmp(name, "fbtl_", 5) == 0 || strncmp(name, "fcoll_", 6) == 0;
    length = strlen(name);
    if (strncmp(name, "io_romio", 8) == 0 && length > 12 &&
        strcmp(name + length - 9, "_priority") == 0)
        snprintf(vars->romio, sizeof(vars->romio), "%.*s", (int)length - 12,
                 name + 3);
}

void mpiio_component(struct kvlist *facts)
{
    struct mpiio_vars vars = {0};
    int provided, count = 0;
    char evidence[256];

    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    MPI_T_cvar_get_num(&count);
    for (int i = 0; i < count; i++)
        look_at_var(i, &vars);
    MPI_T_finalize();

    add(facts, "mpiio.component",
        vars.ompio_used ? "ompio"
        : vars.romio[0] ? vars.romio
                        : "unknown");
    snprintf(evidence, sizeof(evidence),
             "control variables: io='%s', ompio %s, romio %s, ompio's file "
             "layer %s",
             vars.wanted, vars.ompio ? "there" : "absent",
             vars.romio[0] ? "there" : "absent",
             vars.ompio_used ? "in use" : "not in use");
    add(facts, "mpiio.evidence", evidence);
}
