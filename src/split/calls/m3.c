/* SPDX-License-Identifier: Apache-2.0
 *
 * MiniMax M3 puts a token before each tag, so that text may hold any tag without it, and spreads
 * arguments out as nested elements ("!" is the token):
 *
 *     !<invoke
 * name="f">!<city>Paris!</city>!<tags>!<item>a!</item>!<item>b!</item>!</tags>!</invoke>
 *
 * Elements named item are a list, neighbours of one name are a list under that name, other elements
 * are members, and text is a value; "null" is a word, for the model leaves nulls out. The tree is
 * in the arena, since a list shows only when its second element comes.
 */
#include "split/calls/internal.h"

#define TOKEN STR("]<]minimax[>[")

struct node {
    str name, text;
    struct node *parent, *first, *last, *next;
};

struct m3 {
    struct calls *c;
    struct calls_find token;
    struct node *here; /* the element that is open, or NULL outside of a call */
    unsigned depth;
    bool bad; /* the call that is open is not understood */
};

struct element {
    str inside; /* all between < or </ and > */
    str text;   /* up to the next token */
    bool close;
};

/* Reads the tag after a token, and its text. The cursor moves to the next token. */
static bool calls_read_element(struct m3 *m, struct element *e)
{
    struct calls *c = m->c;
    size_t from = c->at, to = calls_seek(c, &m->token, from), gt;
    str s = str_slice(c->raw, from, to);

    assert(from <= to && to <= c->raw.n);
    c->at = to;
    while (s.n > 0 && char_is_json_space(s.p[0]))
        s = str_slice(s, 1, s.n);
    gt = str_find(s, STR(">"));
    if (s.n < 3 || s.p[0] != '<' || gt == STR_NONE)
        return false;
    e->close = s.p[1] == '/';
    e->inside = str_trim(str_slice(s, e->close ? 2 : 1, gt));
    e->text = str_slice(s, gt + 1, s.n);
    return e->inside.n > 0;
}

/* <city> is named so; <parameter name="city"> is too. */
static str element_name(str inside)
{
    str name;

    if (calls_is_tag(inside, STR("parameter")) && calls_attr(inside, STR("name"), &name))
        return name;
    return inside;
}

static void calls_m3_push(struct m3 *m, str name, str text)
{
    struct node *n = arena_zero(m->c->arena, 1, sizeof *n), *parent = m->here;

    assert(!parent || !parent->first == !parent->last);
    n->name = name;
    n->text = text;
    n->parent = parent;
    if (parent && parent->last)
        parent->last->next = n;
    else if (parent)
        parent->first = n;
    if (parent)
        parent->last = n;
    m->here = n;
    m->depth++;
}

static bool calls_m3_is_list(const struct node *n)
{
    for (const struct node *i = n->first; i; i = i->next)
        if (!str_eq(i->name, STR("item")))
            return false;
    return n->first;
}

static void calls_write_children(struct calls *c, const struct node *n, bool list);

static void calls_write_node(struct calls *c, const struct node *n)
{
    if (!n->first) {
        calls_value(c, n->text, CALLS_NO_NULL);
    } else if (calls_m3_is_list(n)) {
        json_out_array(&c->out);
        calls_write_children(c, n, true);
        json_out_end(&c->out);
    } else {
        json_out_object(&c->out);
        calls_write_children(c, n, false);
        json_out_end(&c->out);
    }
}

static void calls_write_children(struct calls *c, const struct node *n, bool list)
{
    bool again = false; /* in a list of neighbours */

    for (const struct node *i = n->first; i; i = i->next) {
        bool more = !list && i->next && str_eq(i->name, i->next->name);

        if (!list && !again)
            json_out_key(&c->out, i->name);
        if (more && !again)
            json_out_array(&c->out);
        calls_write_node(c, i);
        if (again && !more)
            json_out_end(&c->out);
        again = more;
    }
}

static void calls_m3_begin_call(struct m3 *m, const struct element *e)
{
    str name = STR("");

    if (m->here)
        calls_doubt(m->c);
    m->here = NULL;
    m->depth = 0;
    m->bad = !calls_attr(e->inside, STR("name"), &name);
    calls_m3_push(m, name, e->text);
}

static void calls_m3_end_call(struct m3 *m)
{
    struct calls *c = m->c;

    if (m->here && !m->bad && !m->here->parent && str_trim(m->here->text).n == 0) {
        calls_make(c);
        calls_write_children(c, m->here, false);
        calls_finish_object(c, m->here->name);
    } else {
        calls_doubt(c);
    }
    m->here = NULL;
}

/* Text beside elements belongs to nothing. */
static void calls_open_element(struct m3 *m, const struct element *e)
{
    if (!m->here || m->bad || m->depth >= CALLS_DEPTH_MAX || str_trim(m->here->text).n > 0)
        m->bad = true;
    else
        calls_m3_push(m, element_name(e->inside), e->text);
}

static void calls_close_element(struct m3 *m, const struct element *e)
{
    struct node *n = m->here;

    if (!n || m->bad || !n->parent || str_trim(e->text).n > 0 ||
        !(str_eq(n->name, e->inside) || str_eq(e->inside, STR("parameter")))) {
        m->bad = true;
        return;
    }
    assert(m->depth > 1);
    m->here = n->parent;
    m->depth--;
}

static void calls_m3_read_one(struct m3 *m)
{
    struct calls *c = m->c;
    struct element e;
    bool framing;

    if (!calls_read_element(m, &e)) {
        calls_doubt(c);
        m->bad = true;
        return;
    }
    framing = str_eq(e.inside, STR("tool_call")) && (!m->here || m->bad || !m->here->parent);
    if (framing && m->here) {
        calls_doubt(c); /* a call that never closed */
        m->here = NULL;
    }
    if (!e.close && calls_is_tag(e.inside, STR("invoke")))
        calls_m3_begin_call(m, &e);
    else if (e.close && str_eq(e.inside, STR("invoke")))
        calls_m3_end_call(m);
    else if (framing)
        ;
    else if (!m->here)
        calls_doubt(c);
    else if (e.close)
        calls_close_element(m, &e);
    else
        calls_open_element(m, &e);
    if (!m->here && (e.close || framing) && str_trim(e.text).n > 0)
        calls_doubt(c);
}

void calls_m3(struct calls *c)
{
    struct m3 m = {.c = c, .token.needle = TOKEN};

    calls_framing(c, calls_seek(c, &m.token, c->at));
    while (calls_eat(c, TOKEN))
        calls_m3_read_one(&m);
    if (m.here)
        calls_doubt(c);
}
