/* keep.c - what a provider wants back with a tool call, under a name that is that call's alone.
 *
 * Some providers count their calls from 0 in every reply, so an id alone may be known from another
 * conversation, and its signature would be the wrong one. The vault's name for a call is therefore
 * its id and a digest of what was called with which arguments, whatever their spelling. Arguments
 * come in pieces: what is to be kept waits here until the call is over.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/sha256.h"
#include "gateway/call/internal.h"
#include "wire/piece.h"

#define MADE_MAX 1024 /* calls of one reply; the rest has only its id */
#define ARGUMENTS_MAX ((size_t)1 << 20)

struct call_made {
    struct call_made *next; /* an older one */
    str id, name;
    uint32_t choice, block;
    struct piece arguments;
};

struct call_kept {
    struct call_kept *next;
    str id, name, text;
};

void call_keep_reset(struct call *c)
{
    if (!c->made && !c->kept)
        return;
    c->made = NULL;
    c->made_count = 0;
    c->kept = c->kept_last = NULL;
}

static void add_made(struct call *c, const struct chat_event *ev)
{
    struct call_made *m;

    if (c->made_count == MADE_MAX || !ev->id.n)
        return;
    c->made_count++;
    m = arena_zero(&c->arena, 1, sizeof *m);
    m->id = arena_dup(&c->arena, ev->id);
    m->name = arena_dup(&c->arena, ev->name);
    m->choice = ev->choice;
    m->block = ev->block;
    m->next = c->made;
    c->made = m;
}

static void add_kept(struct call *c, const struct chat_event *ev)
{
    struct call_kept *k = arena_alloc(&c->arena, sizeof *k);

    k->next = NULL;
    k->id = arena_dup(&c->arena, ev->id);
    k->name = arena_dup(&c->arena, ev->name);
    k->text = arena_dup(&c->arena, ev->text);
    *(c->kept_last ? &c->kept_last->next : &c->kept) = k;
    c->kept_last = k;
}

void call_keep_event(struct call *c, const struct chat_event *ev)
{
    struct call_made *m = c->made;

    if (ev->kind == CHAT_CALL)
        add_made(c, ev);
    if (ev->kind == CHAT_KEEP && ev->id.n)
        add_kept(c, ev);
    if (ev->kind != CHAT_ARGUMENTS)
        return;
    while (m && (m->block != ev->block || m->choice != ev->choice))
        m = m->next;
    if (m)
        piece_add_max(&m->arguments, &c->arena, ev->text, ARGUMENTS_MAX);
}

/* Arguments are digested as the values they are; what is no JSON, as it stands. None are {}. */
static str key_of(struct call *c, str id, str name, str arguments)
{
    struct buf text;
    struct json doc;
    uint8_t digest[32];
    char hex[33];
    struct err e;

    buf_init(&text, 4 * ARGUMENTS_MAX + name.n + 64);
    json_init(&doc);
    buf_add(&text, name);
    buf_add_c(&text, '\n');
    if (arguments.n > ARGUMENTS_MAX)
        buf_add(&text, STR("large"));
    else if (json_parse(&doc, str_trim(arguments).n ? arguments : STR("{}"), &e))
        cassette_canonical(&doc, STR(""), &text);
    else
        buf_add(&text, arguments);
    sha256_of(buf_str(&text), digest);
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    json_release(&doc);
    buf_release(&text);
    return arena_join(&c->arena, id, STR("#"), (str){hex, 32});
}

void call_keep_put(struct call *c)
{
    for (const struct call_kept *k = c->kept; k; k = k->next) {
        const struct call_made *m = c->made;

        while (m && !str_eq(m->id, k->id))
            m = m->next;
        vault_put(c->gl->gateway->vault,
                  call_origin(c),
                  m ? key_of(c, m->id, m->name, piece_str(&m->arguments)) : k->id,
                  k->name,
                  k->text);
    }
    call_keep_reset(c);
}

/* What each id of the history stands for; one id for two calls stands for nothing, because nobody
 * can say which is meant. */
static void keys_make(struct call *c)
{
    const struct chat_request *r = c->in.request;
    struct map_entry *there;
    struct err e;

    c->keys = arena_alloc(&c->arena, sizeof *c->keys);
    map_init(c->keys, NULL, MAP_COUNT_MAX);
    for (size_t i = 0; i < r->message_count; i++) {
        const struct chat_message *m = &r->messages[i];

        for (size_t k = 0; m->role == CHAT_ASSISTANT && k < m->part_count; k++) {
            const struct chat_part *p = &m->parts[k];
            str *key;

            if (p->kind != CHAT_PART_TOOL_CALL)
                continue;
            key = arena_alloc(&c->arena, sizeof *key);
            *key = key_of(c, p->id, p->name, p->json);
            there = map_find(c->keys, p->id);
            if (there && !str_eq(*(str *)there->value.ptr, *key))
                *key = STR("");
            if (!map_set(c->keys, p->id, MAP_PTR(key), &e))
                return; /* a request has no so many */
        }
    }
}

str call_keep_key(struct call *c, str id)
{
    struct map_entry *found;

    if (!c->keys)
        keys_make(c);
    found = map_find(c->keys, id);
    return found ? *(str *)found->value.ptr : id;
}

void call_keep_release(struct call *c)
{
    if (c->keys)
        map_release(c->keys);
    c->keys = NULL;
}
