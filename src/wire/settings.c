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

bool settings_read(const struct request_reader *r, const struct request_path *at,
                   const struct json_node *v, const struct settings *table)
{
    assert(table->check && table->find);
    for (size_t i = 0; i < table->count; i++) {
        const struct setting *s = &table->rows[i];
        const struct json_node *m = table->find(r->doc, v, s->name);
        char room[SETTING_ROOM];
        const char *wrong;
        str number;

        if (!m)
            continue;
        wrong = table->check(r, m, s, &number, room);
        if (!wrong)
            *(str *)(void *)((char *)r->out + s->at) = number;
        else if (s->flags & SETTING_OURS)
            return request_fail(r, at, s->name, wrong);
        else
            request_defer_error(r, at, s->name, wrong);
    }
    return true;
}

void settings_write(struct json_out *o, const struct chat_request *r, const struct settings *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (!(table->rows[i].flags & SETTING_READ_ONLY))
            json_write_raw(o, table->rows[i].name, *setting_value(r, &table->rows[i]));
}

bool settings_given(const struct chat_request *r, const struct settings *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (setting_value(r, &table->rows[i])->n)
            return true;
    return false;
}
