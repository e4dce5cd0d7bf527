/* pick.c - tree search by a model: the question and the tree, without its text, to nodes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/react_state.h"

#include "agent/history.h"
#include "base/json_loose.h"

#define BODY_MAX ((size_t)1 << 20)

static str policy_pick_body(const struct react *r, str question, str tree_json, struct arena *a)
{
    struct history h;

    history_init(&h, BODY_MAX);
    history_text(&h, "system", prompt_text(r->o->prompt, &policy_built_in, "tree_search", a));
    history_text(
        &h,
        "user",
        arena_printf(
            a, "Question: " STR_FMT "\n\nTree:\n" STR_FMT, STR_ARG(question), STR_ARG(tree_json)));
    return history_body(&h, r->o->model, STR(""), a);
}

/* ---- the answer ---- */

static void pick_add_ids(const struct json *doc, const struct json_node *list, struct arena *a,
                         struct policy_ids *out)
{
    JSON_FOREACH(v, doc, list) {
        const struct json_node *id = v->kind == JSON_OBJECT ? json_find(doc, v, STR("node_id")) : v;
        str text;
        int64_t number;

        assert(out->n <= POLICY_TOP_MAX);
        if (out->n == POLICY_TOP_MAX)
            return;
        if (json_text(doc, id, a, &text))
            out->at[out->n++] = arena_dup(a, str_trim(text));
        else if (json_i64(doc, id, &number) && number > 0 && number < 10000)
            out->at[out->n++] = arena_printf(a, "%04d", (int)number);
    }
}

static const struct json_node *pick_list(const struct json *doc)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *list =
        root->kind == JSON_ARRAY ? root : json_find(doc, root, STR("node_list"));

    return list && list->kind == JSON_ARRAY ? list : NULL;
}

static bool pick_is_wanted(void *kind, const struct json *doc)
{
    return json_root(doc)->kind == *(const enum json_kind *)kind && pick_list(doc);
}

/* An object with the list, or else a list: of an object that is cut off, its list. */
bool react_read_ids(str text, struct arena *a, struct policy_ids *out)
{
    enum json_kind object = JSON_OBJECT, array = JSON_ARRAY;
    struct json doc;
    struct buf found;
    struct err e;
    bool ok;

    buf_init(&found, JSON_LOOSE_MAX);
    json_init(&doc);
    ok = (json_loose(text, pick_is_wanted, &object, &found, &e) ||
          json_loose(text, pick_is_wanted, &array, &found, &e)) &&
         json_parse(&doc, buf_str(&found), &e);
    if (ok)
        pick_add_ids(&doc, pick_list(&doc), a, out);
    json_release(&doc);
    buf_release(&found);
    return ok;
}

static void policy_pick_count(struct react *r, const struct chat_usage *u)
{
    pthread_mutex_lock(&r->lock);
    r->search_tokens += (u->input > 0 ? u->input : 0) + (u->output > 0 ? u->output : 0);
    pthread_mutex_unlock(&r->lock);
}

bool react_pick(struct react *r, const struct react_search *s, str tree_json, struct arena *a,
                struct policy_ids *out, struct err *e)
{
    struct ask_request q = {.body = policy_pick_body(r, s->question, tree_json, a),
                            .part = true,
                            .route = STR("agent:policy"),
                            .session = r->o->session,
                            .title = react_title(r, a),
                            .id = STR(""),
                            .level = STR(""),
                            .key = r->o->key};
    struct ask_reply reply;

    out->n = 0;
    if (!q.body.n)
        return err_set(e, ERR_LIMIT, "pageindex_error: the tree is too large");
    if (!react_ask(r, &q, s->cancel, a, &reply))
        return err_set(e, ERR_UPSTREAM, "pageindex_error: " STR_FMT, STR_ARG(reply.error.message));
    policy_pick_count(r, &reply.usage);
    return react_read_ids(reply.text, a, out) ||
           err_set(e, ERR_UPSTREAM, "pageindex_error: the model named no nodes");
}
