/* settings.h - the numeric settings of a request, as each dialect names them.
 *
 * Each dialect has one table. Reading a body and writing one both follow it, in its order, so a new
 * setting of a provider is a member of struct chat_request and a row here:
 *
 *     static const struct setting ollama_setting_rows[] = {
 *         SETTING("num_predict", max_tokens, 0, 0, SETTING_WHOLE),
 *         ...
 *     };
 *
 * A value that the dialect does not allow is left to providers of the same dialect: see
 * request_defer_error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/request_reader.h"

enum setting_flag {
    SETTING_WHOLE = 1,     /* no fraction */
    SETTING_READ_ONLY = 2, /* settings_write skips it */
    SETTING_OURS = 4,      /* a limit of the gateway, so other values fail at once */
};

struct setting {
    str name;
    size_t at;       /* offset of a str in struct chat_request: the number as the client wrote it */
    double min, max; /* of the values that the dialect allows, if its check uses them */
    unsigned flags;
};
#define SETTING_AT(member) offsetof(struct chat_request, member)
#define SETTING(name, member, min, max, flags)                                                     \
    {                                                                                              \
        STR_INIT(name), SETTING_AT(member), min, max, flags                                        \
    }

/* Returns the error of a value, worded for the dialect; or NULL, with *out set to the number.
 * `room` is memory for a message that the check composes. */
struct setting_room {
    char text[80];
};
typedef const char *setting_check(const struct request_reader *r, const struct json_node *v,
                                  const struct setting *s, str *out, struct setting_room *room);

#define SETTINGS_MAX 16 /* rows of a table */

struct settings {
    const struct setting *rows;
    size_t count;
    setting_check *check;
    /* The member of that name, or NULL if it is absent or null. */
    const struct json_node *(*find)(const struct json *doc, const struct json_node *v,
                                    const char *name);
};

/* Reads the settings among the members of v into r->out. */
bool settings_read(const struct request_reader *r, const struct request_path *at,
                   const struct json_node *v, const struct settings *table) MUST_USE;
/* The same for members that were already found: a value, or NULL, for each row. */
bool settings_take(const struct request_reader *r, const struct request_path *at,
                   const struct json_node *const *found, const struct settings *table) MUST_USE;
/* Writes the settings that the request has as members. */
void settings_write(struct json_out *o, const struct chat_request *r, const struct settings *table);
/* Whether the request has any of them. */
bool settings_present(const struct chat_request *r, const struct settings *table);
