/* pick.c - tree search by a model: the question and the tree, without its text, to nodes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/react_state.h"

#define BODY_MAX ((size_t)1 << 20)
#define TRIES_MAX 64 /* places where an object may begin */

static void policy_pick_message(struct buf *out, const char *role, str text)
{
    buf_printf(out, "{\"role\":\"%s\",\"content\":", role);
    (void)json_quote(out, text);
    buf_add_c(out, '}');
}

static void policy_pick_body_write(const struct react *r, str question, str tree_json,
                                   struct arena *a, struct buf *out)
{
    struct buf user;

    buf_init(&user, BODY_MAX / 2);
    buf_add(&user, STR("Question: "));
    buf_add(&user, question);
    buf_add(&user, STR("\n\nTree:\n"));
    buf_add(&user, tree_json);
    buf_add(out, STR("{\"model\":"));
    (void)json_quote(out, r->o->model);
    buf_add(out, STR(",\"messages\":["));
    policy_pick_message(
        out, "system", prompt_text(r->o->prompt, &policy_built_in, "tree_search", a));
    buf_add_c(out, ',');
    policy_pick_message(out, "user", buf_str(&user));
    buf_add(out, STR("]}"));
    buf_release(&user);
}

/* ---- the answer ---- */

/* From a bracket to the one that closes it, quotes minded; STR_NONE if none does. */
static size_t closing(str text, size_t from)
{
    size_t depth = 0;
    bool quoted = false;

    for (size_t i = from; i < text.n; i++) {
        char c = text.p[i];

        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return i;
        }
    }
    return STR_NONE;
}

static void add_ids(const struct json *doc, const struct json_node *list, struct arena *a,
                    str ids[POLICY_TOP_MAX], size_t *n)
{
    for (const struct json_node *v = json_first(doc, list); v && *n < POLICY_TOP_MAX;
         v = json_next(doc, list, v)) {
        const struct json_node *id = v->kind == JSON_OBJECT ? json_find(doc, v, STR("node_id")) : v;
        str text;
        int64_t number;

        if (json_text(doc, id, a, &text))
            ids[(*n)++] = arena_dup(a, str_trim(text));
        else if (json_i64(doc, id, &number) && number > 0 && number < 10000)
            ids[(*n)++] = arena_printf(a, "%04d", (int)number);
    }
}

static bool try_json(str text, struct arena *a, str ids[POLICY_TOP_MAX], size_t *n)
{
    const struct json_node *root, *list;
    struct json doc;
    struct err e;
    bool there = false;

    json_init(&doc);
    if (json_parse(&doc, text, &e)) {
        root = json_root(&doc);
        list = root->kind == JSON_ARRAY ? root : json_find(&doc, root, STR("node_list"));
        there = list && list->kind == JSON_ARRAY;
        if (there)
            add_ids(&doc, list, a, ids, n);
    }
    json_release(&doc);
    return there;
}

/* Words around it, a fence, an unfinished object: whatever has a list of nodes will do. */
bool react_read_ids(str text, struct arena *a, str ids[POLICY_TOP_MAX], size_t *n)
{
    size_t at = str_find(text, STR("\"node_list\"")), open, tries = 0;

    for (size_t i = 0; i < text.n && tries < TRIES_MAX; i++) {
        size_t end = text.p[i] == '{' ? closing(text, i) : STR_NONE;

        tries += text.p[i] == '{';
        if (end == STR_NONE)
            continue;
        if (try_json(str_slice(text, i, end + 1), a, ids, n))
            return true;
        i = end;
    }
    text = at == STR_NONE ? text : str_slice(text, at, text.n);
    for (open = 0; open < text.n && text.p[open] != '['; open++)
        ;
    if (open == text.n || closing(text, open) == STR_NONE)
        return false;
    return try_json(str_slice(text, open, closing(text, open) + 1), a, ids, n);
}

static void policy_pick_count(struct react *r, const struct chat_usage *u)
{
    pthread_mutex_lock(&r->lock);
    r->search_tokens += (u->input > 0 ? u->input : 0) + (u->output > 0 ? u->output : 0);
    pthread_mutex_unlock(&r->lock);
}

bool react_pick(struct react *r, const struct react_search *s, str tree_json, struct arena *a,
                str ids[POLICY_TOP_MAX], size_t *n, struct err *e)
{
    struct ask_reply reply;
    struct buf body;
    bool ok;

    *n = 0;
    buf_init(&body, BODY_MAX);
    policy_pick_body_write(r, s->question, tree_json, a, &body);
    ok = buf_ok(&body, "the tree", e);
    if (ok) {
        struct ask_request q = {.body = buf_str(&body),
                                .part = true,
                                .route = STR("agent:policy"),
                                .session = r->o->session,
                                .title = react_title(r, a),
                                .id = STR(""),
                                .level = STR(""),
                                .key = r->o->key};

        ok = react_ask(r, &q, s->cancel, a, &reply);
        if (ok)
            policy_pick_count(r, &reply.usage);
        if (!ok)
            err_set(e, ERR_UPSTREAM, "pageindex_error: " STR_FMT, STR_ARG(reply.error.message));
        else if (!(ok = react_read_ids(reply.text, a, ids, n)))
            err_set(e, ERR_UPSTREAM, "pageindex_error: the model named no nodes");
    }
    buf_release(&body);
    return ok;
}
