/* column.c - see column.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/column.h"

#include "base/clock.h"

static void column_write_time(struct json_out *o, const char *name, const struct db_value *us)
{
    char at[CLOCK_TEXT_SIZE];

    json_member_str_or_null(
        o, name, us->type == DB_NULL ? STR("") : clock_format(us->i / 1000, at));
}

static void column_write_one(struct json_out *o, const char *name, char form,
                             const struct db_value *v)
{
    str text = v->type == DB_TEXT ? v->s : STR("");

    if (form == '@')
        column_write_time(o, name, v);
    else if (form == '#' && v->type == DB_REAL)
        json_member_double(o, name, v->d);
    else if (form == '#')
        json_member_i64(o, name, v->i);
    else if (form == '*')
        json_member_raw(o, name, text.n ? text : STR("null"));
    else if (form == '?')
        json_member_str_or_null(o, name, text);
    else
        json_member_str(o, name, text);
}

void column_write(struct json_out *o, const char *names, const struct db_value *c)
{
    char name[64];

    while (*names) {
        size_t n = strcspn(names, " ");
        char form = names[n - 1];

        assert(n > 0);
        assert(n < sizeof name);
        memcpy(name, names, n);
        name[n - (strchr("?#@*{", form) ? 1 : 0)] = '\0';
        if (form == '}')
            json_out_end(o);
        else if (form == '{')
            json_member_object(o, name);
        else if (form == '-')
            c++;
        else
            column_write_one(o, name, form, c++);
        names += n + (names[n] == ' ');
    }
}

bool column_on_row(void *list, const struct db_value *c, size_t n)
{
    const struct column_list *l = list;

    (void)n;
    json_out_object(l->o);
    column_write(l->o, l->names, c);
    json_out_end(l->o);
    return true;
}
