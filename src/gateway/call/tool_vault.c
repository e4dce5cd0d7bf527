/* tool_vault.c - keeps the state that a provider wants back with the result of a tool call.
 *
 * Some providers number their tool calls from 0 in every reply, so an id alone may belong to
 * another conversation. The vault's name for a call is therefore its id and a digest of the tool's
 * name and its arguments, as JSON values; and of everything that the user had asked until then,
 * unless the id is random. The rest of the place (vault.h) distinguishes calls of one name.
 * Clients change reminders, system prompts and results between two turns, so these are not part of
 * a name.
 *
 * Arguments arrive in pieces: entries wait here until the reply has ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/map.h"
#include "base/sha256.h"
#include "gateway/call/internal.h"
#include "gateway/share.h"

#define MADE_MAX 1024 /* calls of one reply; the rest has only its id */
#define ARGUMENTS_MAX ((size_t)1 << 20)

struct call_made {
    struct call_made *next; /* an older one */
    str id, name;
    uint32_t choice, block;
    struct arena_text arguments;
    struct vault_call call; /* its name in the vault; without an id before it is needed */
};

struct call_kept {
    struct call_kept *next;
    struct call_made *made; /* NULL: the reply has no such call so far */
    str id, name, text;
};

/* A tool call of the request's history. */
struct history_call {
    struct history_call *next, *same_id;
    const struct chat_message *message;
    struct vault_call call;
};

struct history_id {
    struct history_call *first, *last, *at; /* at: the one that is looked for next */
};

struct call_history {
    struct history_call *first, *last;
    struct map by_id; /* of struct history_id */
};

/* Where in the conversation a message is. */
struct call_place {
    uint64_t asked, system;
    uint32_t results;
};

void call_vault_reset(struct call *c)
{
    assert(!c->tools.made == !c->tools.made_count);
    if (!c->tools.made && !c->tools.kept)
        return;
    c->tools.made = NULL;
    c->tools.made_count = 0;
    c->tools.kept = c->tools.kept_last = NULL;
}

static void tool_vault_add_call(struct call *c, const struct chat_event *ev)
{
    struct call_made *m;

    assert(c->tools.made_count <= MADE_MAX && !c->tools.made == !c->tools.made_count);
    if (c->tools.made_count == MADE_MAX || !ev->id.n)
        return;
    c->tools.made_count++;
    m = arena_zero(&c->arena, 1, sizeof *m);
    m->id = arena_dup(&c->arena, ev->id);
    m->name = arena_dup(&c->arena, ev->name);
    m->choice = ev->choice;
    m->block = ev->block;
    m->next = c->tools.made;
    c->tools.made = m;
}

static struct call_made *tool_vault_find_made(const struct call *c, str id)
{
    struct call_made *m = c->tools.made;

    while (m && !str_eq(m->id, id))
        m = m->next;
    return m;
}

/* A call may have thousands of them and a very long id, which they share. Without memory for all of
 * them none is kept: half of what must go back is worse than nothing. */
static void tool_vault_add_kept(struct call *c, const struct chat_event *ev)
{
    struct call_made *made = tool_vault_find_made(c, ev->id);
    struct call_kept *k, *last = c->tools.kept_last;
    str id = made ? made->id : last && str_eq(last->id, ev->id) ? last->id : STR("");

    assert(!c->tools.kept == !last && ev->id.n > 0);
    if (!arena_text_room(&c->arena,
                         sizeof *k + ev->name.n + ev->text.n + (id.n ? 0 : ev->id.n) + 64)) {
        c->tools.kept = c->tools.kept_last = NULL;
        return;
    }
    k = arena_alloc(&c->arena, sizeof *k);
    k->next = NULL;
    k->made = made;
    k->id = id.n ? id : arena_dup(&c->arena, ev->id);
    k->name = arena_dup(&c->arena, ev->name);
    k->text = arena_dup(&c->arena, ev->text);
    *(last ? &last->next : &c->tools.kept) = k;
    c->tools.kept_last = k;
}

void call_vault_add_event(struct call *c, const struct chat_event *ev)
{
    struct call_made *m = c->tools.made;

    if (ev->kind == CHAT_CALL)
        tool_vault_add_call(c, ev);
    if (ev->kind == CHAT_KEEP && ev->id.n)
        tool_vault_add_kept(c, ev);
    if (ev->kind != CHAT_ARGUMENTS)
        return;
    while (m && (m->block != ev->block || m->choice != ev->choice))
        m = m->next;
    if (m)
        arena_text_add_max(&m->arguments, &c->arena, ev->text, ARGUMENTS_MAX);
}

/* ---- places ---- */

/* Texts count without white space at their ends, and without reminders: clients put them into the
 * user's words, and take them out again. */
static uint64_t tool_vault_hash_words(struct call *c, uint64_t chain, str text)
{
    const str begin = STR("<system-reminder>"), end = STR("</system-reminder>");

    while (text.n) {
        size_t at = str_find(text, begin), over;
        str words = str_trim(str_slice(text, 0, at));

        if (words.n)
            chain = vault_hash(c->gl->gateway->vault, chain, words);
        text = str_slice(text, at, text.n);
        over = str_find(text, end);
        text = str_slice(text, over == STR_NONE ? text.n : over + end.n, text.n);
    }
    return chain;
}

static uint64_t tool_vault_hash_texts(struct call *c, uint64_t chain, const struct chat_message *m)
{
    for (size_t k = 0; k < m->part_count; k++)
        if (m->parts[k].kind == CHAT_PART_TEXT)
            chain = tool_vault_hash_words(c, chain, m->parts[k].text);
    return chain;
}

/* Questions of images alone are distinguished by the images; where there are words, clients may
 * drop the images later. */
static uint64_t tool_vault_hash_images(struct call *c, uint64_t chain, const struct chat_message *m)
{
    for (size_t k = 0; k < m->part_count; k++) {
        const struct chat_part *p = &m->parts[k];

        if (p->kind == CHAT_PART_IMAGE || p->kind == CHAT_PART_FILE)
            chain = vault_hash(c->gl->gateway->vault, chain, p->data.n ? p->data : p->url);
    }
    return chain;
}

static uint32_t tool_vault_count_results(const struct chat_message *m)
{
    uint32_t n = 0;

    for (size_t k = 0; k < m->part_count; k++)
        n += m->parts[k].kind == CHAT_PART_TOOL_RESULT;
    return n;
}

static void tool_vault_place_begin(struct call *c, struct call_place *at)
{
    const struct chat_request *r = c->in.request;

    *at = (struct call_place){0};
    for (size_t i = 0; i < r->message_count; i++)
        if (r->messages[i].role == CHAT_SYSTEM)
            at->system = tool_vault_hash_texts(c, at->system, &r->messages[i]);
}

/* After this message. Words beside results are mostly the client's, not the user's. */
static void tool_vault_place_pass(struct call *c, struct call_place *at,
                                  const struct chat_message *m)
{
    uint32_t results = tool_vault_count_results(m);
    uint64_t asked = at->asked;

    at->results += results;
    if (m->role != CHAT_USER || results)
        return;
    asked = tool_vault_hash_texts(c, at->asked, m);
    if (asked == at->asked)
        asked = tool_vault_hash_images(c, at->asked, m);
    if (asked != at->asked)
        at->results = 0;
    at->asked = asked;
}

/* ---- names ---- */

#define RANDOM_MIN 16 /* letters and digits without a break, of an id that comes once */

/* Ids that count have the tool's name in them, or are short. */
static bool tool_vault_id_is_random(str id, str name)
{
    size_t run = 0, digits = 0;

    if (name.n && str_find(id, name) != STR_NONE)
        return false;
    for (size_t i = 0; i < id.n; i++) {
        char ch = id.p[i];
        bool digit = ch >= '0' && ch <= '9';
        bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');

        run = digit || letter ? run + 1 : ch == '-' ? run : 0;
        digits = run ? digits + digit : 0;
        if (run >= RANDOM_MIN && digits)
            return true;
    }
    return false;
}

/* Digests arguments by their JSON values; invalid JSON by its bytes. Empty arguments count as
 * {}. */
static void tool_vault_add_arguments(struct buf *text, str arguments)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    if (arguments.n > ARGUMENTS_MAX)
        buf_add(text, STR("large"));
    else if (json_parse(&doc, str_trim(arguments).n ? arguments : STR("{}"), &e))
        cassette_canonical(&doc, STR(""), text);
    else
        buf_add(text, arguments);
    json_release(&doc);
}

static struct vault_call tool_vault_name_call(struct call *c, const struct call_place *at, str id,
                                              str name, str arguments)
{
    struct vault_call call = {.asked = at->asked, .system = at->system, .results = at->results};
    struct buf text;
    uint8_t digest[32];
    char hex[33];

    buf_init(&text, 4 * ARGUMENTS_MAX + name.n + 64);
    if (!tool_vault_id_is_random(id, name))
        buf_add(&text, (str){(const char *)&at->asked, sizeof at->asked});
    buf_add(&text, name);
    buf_add_c(&text, '\n');
    tool_vault_add_arguments(&text, arguments);
    sha256_of(buf_str(&text), digest);
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    buf_release(&text);
    call.id = arena_join(&c->arena, id, STR("#"), (str){hex, 32});
    return call;
}

static struct call_place tool_vault_place_of_reply(struct call *c)
{
    const struct chat_request *r = c->in.request;
    struct call_place at;

    tool_vault_place_begin(c, &at);
    for (size_t i = 0; i < r->message_count; i++)
        tool_vault_place_pass(c, &at, &r->messages[i]);
    return at;
}

/* The name of a call is computed once for all that is kept for it. */
static struct vault_call tool_vault_name_kept(struct call *c, const struct call_place *at,
                                              const struct call_kept *k)
{
    struct call_made *m = k->made ? k->made : tool_vault_find_made(c, k->id);

    if (!m)
        return tool_vault_name_call(c, at, k->id, STR(""), STR(""));
    if (!m->call.id.n)
        m->call = tool_vault_name_call(c, at, m->id, m->name, arena_text_str(&m->arguments));
    return m->call;
}

void call_vault_put(struct call *c)
{
    struct gateway *g = c->gl->gateway;
    struct vault_fragment *all;
    struct call_place at;
    size_t n = 0;
    uint64_t reply;

    assert(!c->tools.kept == !c->tools.kept_last);
    for (const struct call_kept *k = c->tools.kept; k; k = k->next)
        n++;
    if (n == 0) {
        call_vault_reset(c);
        return;
    }
    at = tool_vault_place_of_reply(c);
    reply = vault_reply(g->vault);
    all = arena_zero(&c->arena, n, sizeof *all);
    n = 0;
    for (const struct call_kept *k = c->tools.kept; k; k = k->next) {
        struct vault_fragment *f = &all[n++];

        *f = (struct vault_fragment){
            tool_vault_name_kept(c, &at, k), call_origin(c), k->name, k->text};
        f->call.reply = reply;
        vault_put(g->vault, f->origin, &f->call, f->name, f->text);
        gateway_share_kept(g, f);
    }
    if (c->recorded && c->config->keep == CONFIG_KEEP_TEXT)
        vault_file_add(g->vault_file, all, n);
    call_vault_reset(c);
}

/* ---- the history ---- */

static void tool_vault_add_history_calls(struct call *c, const struct chat_message *m,
                                         const struct call_place *at)
{
    struct history_call *h;

    assert(m->role == CHAT_ASSISTANT && c->tools.history);
    for (size_t k = 0; k < m->part_count; k++) {
        const struct chat_part *p = &m->parts[k];
        struct history_id *id;
        struct map_entry *there;
        struct err e;

        if (p->kind != CHAT_PART_TOOL_CALL)
            continue;
        there = map_find(&c->tools.history->by_id, p->id);
        id = there ? there->value.ptr : arena_zero(&c->arena, 1, sizeof *id);
        assert(!id->first == !id->last);
        if (!there && !map_set(&c->tools.history->by_id, p->id, MAP_PTR(id), &e))
            return; /* a request has no so many */
        h = arena_zero(&c->arena, 1, sizeof *h);
        h->message = m;
        h->call = tool_vault_name_call(c, at, p->id, p->name, p->json);
        *(id->last ? &id->last->same_id : &id->first) = h;
        id->last = h;
        LIST_APPEND(c->tools.history->first, c->tools.history->last, h);
    }
}

/* How many messages there are up to the last tool call. */
static size_t tool_vault_history_size(const struct chat_request *r)
{
    size_t n = r->message_count;

    for (; n > 0; n--) {
        const struct chat_message *m = &r->messages[n - 1];

        for (size_t k = 0; m->role == CHAT_ASSISTANT && k < m->part_count; k++)
            if (m->parts[k].kind == CHAT_PART_TOOL_CALL)
                return n;
    }
    return 0;
}

static void tool_vault_read_history(struct call *c)
{
    const struct chat_request *r = c->in.request;
    size_t n = tool_vault_history_size(r);
    struct call_place at;

    assert(!c->tools.history);
    if (n == 0)
        return;
    c->tools.history = arena_zero(&c->arena, 1, sizeof *c->tools.history);
    map_init(&c->tools.history->by_id, NULL, MAP_COUNT_MAX);
    tool_vault_place_begin(c, &at);
    for (size_t i = 0; i < n; i++) {
        if (r->messages[i].role == CHAT_ASSISTANT)
            tool_vault_add_history_calls(c, &r->messages[i], &at);
        tool_vault_place_pass(c, &at, &r->messages[i]);
    }
}

void call_vault_rewind(struct call *c)
{
    if (!c->tools.history)
        tool_vault_read_history(c);
    if (!c->tools.history)
        return;
    for (struct map_entry *i = map_next(&c->tools.history->by_id, NULL); i;
         i = map_next(&c->tools.history->by_id, i)) {
        struct history_id *id = i->value.ptr;

        id->at = id->first;
    }
}

static size_t tool_vault_find_in_vault(struct call *c, const struct vault_call *call,
                                       struct wire_kept *out, size_t n_max)
{
    return vault_find(c->gl->gateway->vault, call_origin(c), call, &c->arena, out, n_max);
}

size_t call_vault_find(void *ctx, str id, struct wire_kept *out, size_t n_max)
{
    struct call *c = ctx;
    struct map_entry *found = c->tools.history ? map_find(&c->tools.history->by_id, id) : NULL;
    struct history_id *same = found ? found->value.ptr : NULL;
    const struct history_call *h = same ? same->at : NULL;

    if (!h)
        return 0;
    same->at = h->same_id;
    return tool_vault_find_in_vault(c, &h->call, out, n_max);
}

/* Whether the calls of a message have entries in the vault, but none of this conversation. Often
 * only the first call has an entry, and other conversations may use the same ids. */
bool call_vault_has_foreign(struct call *c)
{
    const struct history_call *h = c->tools.history ? c->tools.history->first : NULL;

    while (h) {
        const struct chat_message *m = h->message;
        bool known = false, own = false;

        for (; h && h->message == m; h = h->next) {
            own = own || tool_vault_find_in_vault(c, &h->call, NULL, 0);
            known = known || vault_knows(c->gl->gateway->vault, h->call.id);
        }
        if (known && !own)
            return true;
    }
    return false;
}

void call_vault_release(struct call *c)
{
    if (c->tools.history)
        map_release(&c->tools.history->by_id);
    c->tools.history = NULL;
}
