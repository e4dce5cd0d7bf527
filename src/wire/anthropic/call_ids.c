/* call_ids.c - ids of calls as Anthropic takes them: letters, digits, _ and -, none twice.
 *
 * Other dialects are freer: some hosts begin with call_0 in every turn, and a history that passed
 * through several models may have an id more than once. The second call of an id is ID_2, the third
 * ID_3. A result belongs to the first call of its id that has none yet, among those of the latest
 * turn that has the id.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

#include "base/ctype.h"

#define ID_MAX 256
#define IDS_MAX ((size_t)1 << 24)
#define ARENA_MAX ((size_t)1 << 30)

struct seen {
    size_t calls, results, turn;
};

void anthropic_ids_init(struct anthropic_ids *ids)
{
    arena_init(&ids->arena, ARENA_MAX);
    map_init(&ids->map, &ids->arena, IDS_MAX);
}

void anthropic_ids_release(struct anthropic_ids *ids)
{
    map_release(&ids->map);
    arena_release(&ids->arena);
}

static str anthropic_id_safe_id(str id, char out[ID_MAX])
{
    size_t n = id.n < ID_MAX ? id.n : ID_MAX;

    for (size_t i = 0; i < n; i++) {
        char c = id.p[i];
        bool good = char_is_letter(c) || char_is_digit(c) || c == '_' || c == '-';

        out[i] = good ? c : '_';
    }
    return n ? (str){out, n} : STR("call");
}

static struct seen *anthropic_id_seen_of(struct anthropic_ids *ids, str id)
{
    struct map_entry *found = map_find(&ids->map, id);
    struct seen *s;
    struct err e;

    if (found)
        return found->value.ptr;
    if (!arena_text_room(&ids->arena, id.n + sizeof *s))
        return NULL;
    s = arena_zero(&ids->arena, 1, sizeof *s);
    return map_set(&ids->map, id, MAP_PTR(s), &e) ? s : NULL;
}

static void anthropic_id_put(struct json_out *o, const char *key, str id, size_t number)
{
    char text[ID_MAX + 24];

    json_out_key(o, str_c(key));
    if (number > 1)
        (void)snprintf(text, sizeof text, STR_FMT "_%zu", STR_ARG(id), number);
    json_out_str(o, number > 1 ? str_c(text) : id);
}

void anthropic_put_call_id(struct anthropic_ids *ids, struct json_out *o, str id, size_t turn)
{
    char text[ID_MAX];
    str safe = anthropic_id_safe_id(id, text);
    struct seen *s = anthropic_id_seen_of(ids, safe);

    assert(!s || s->results <= s->calls);
    if (s) {
        if (s->turn != turn)
            s->results = s->calls; /* calls without a result so far will get none */
        s->turn = turn;
        s->calls++;
    }
    anthropic_id_put(o, "id", safe, s ? s->calls : 1);
}

void anthropic_put_result_id(struct anthropic_ids *ids, struct json_out *o, str id)
{
    char text[ID_MAX];
    str safe = anthropic_id_safe_id(id, text);
    struct seen *s = anthropic_id_seen_of(ids, safe);

    assert(!s || s->results <= s->calls);
    if (s && s->results < s->calls)
        s->results++;
    anthropic_id_put(o, "tool_use_id", safe, s ? s->results : 1);
}
