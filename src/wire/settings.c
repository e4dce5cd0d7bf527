/* settings.c - see settings.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/settings.h"

#include "wire/json_write.h"

static const str *setting_value(const struct chat_request *r, const struct setting *s)
{
    return (const str *)(const void *)((const char *)r + s->at);
}

bool settings_take(const struct request_reader *r, const struct request_path *at,
                   const struct json_node *const *found, const struct settings *table)
{
    assert(table->count <= SETTINGS_MAX);
    assert(table->check);
    for (size_t i = 0; i < table->count; i++) {
        const struct setting *s = &table->rows[i];
        struct setting_room room;
        const char *wrong;
        str number;

        assert(s->at + sizeof(str) <= sizeof *r->out);
        if (!found[i])
            continue;
        wrong = table->check(r, found[i], s, &number, &room);
        if (!wrong)
            *(str *)(void *)((char *)r->out + s->at) = number;
        else if (s->flags & SETTING_OURS)
            return request_fail(r, at, s->name.p, wrong);
        else
            request_defer_error(r, at, s->name.p, wrong);
    }
    return true;
}

bool settings_read(const struct request_reader *r, const struct request_path *at,
                   const struct json_node *v, const struct settings *table)
{
    const struct json_node *found[SETTINGS_MAX];

    assert(table->find && table->count <= SETTINGS_MAX);
    for (size_t i = 0; i < table->count; i++)
        found[i] = table->find(r->doc, v, table->rows[i].name.p);
    return settings_take(r, at, found, table);
}

void settings_write(struct json_out *o, const struct chat_request *r, const struct settings *table)
{
    assert(table->count <= SETTINGS_MAX);
    for (size_t i = 0; i < table->count; i++)
        if (!(table->rows[i].flags & SETTING_READ_ONLY))
            json_write_raw(o, table->rows[i].name.p, *setting_value(r, &table->rows[i]));
}

bool settings_present(const struct chat_request *r, const struct settings *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (setting_value(r, &table->rows[i])->n)
            return true;
    return false;
}
