/* content.c - reads and checks the results of tools, and limits their size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/content.h"

#include "base/utf8.h"
#include "mcp/rpc.h"

static bool mcp_read_part(const struct json *doc, const struct json_node *v, struct arena *a,
                          struct mcp_part *p)
{
    const struct json_node *from = v;
    size_t kind;
    str type;

    if (!json_text(doc, json_find(doc, v, STR("type")), a, &type))
        return false;
    kind = str_place(type, "text image audio resource_link resource");
    p->kind = kind == STR_NONE ? MCP_OTHER : (enum mcp_part_kind)kind;
    if (p->kind == MCP_RESOURCE)
        from = json_find(doc, v, STR("resource"));
    p->raw = json_raw(doc, v);
    p->text = mcp_member(doc, from, STR("text"), a);
    p->data = mcp_member(doc, from, p->kind == MCP_RESOURCE ? STR("blob") : STR("data"), a);
    p->mime = mcp_member(doc, from, STR("mimeType"), a);
    p->uri = mcp_member(doc, from, STR("uri"), a);
    p->name = mcp_member(doc, from, STR("name"), a);
    return true;
}

static bool mcp_content_read_parts(const struct json *doc, const struct json_node *content,
                                   struct arena *a, struct mcp_result *r, struct err *e)
{
    size_t n = json_count(doc, content);

    if (!json_is_array(content))
        return err_set(e, ERR_UPSTREAM, "the result of the tool has no content");
    if (n > MCP_PARTS_MAX)
        return err_set(e, ERR_LIMIT, "the result has %zu parts; %d is the limit", n, MCP_PARTS_MAX);
    r->parts = arena_zero(a, n, sizeof *r->parts);
    JSON_FOREACH(v, doc, content)
        if (!mcp_read_part(doc, v, a, &r->parts[r->part_count++]))
            return err_set(e, ERR_UPSTREAM, "a part of the tool's result has no type");
    assert(r->part_count == n);
    return true;
}

bool mcp_result_read(str text, struct arena *a, struct mcp_result *out, struct err *e)
{
    struct mcp_result r = {.raw = text, .structured = STR("")};
    const struct json_node *root, *structured, *flag;
    struct json doc;
    bool ok = false;

    if (!json_open(&doc, text, e))
        goto out;
    root = json_root(&doc);
    structured = json_find(&doc, root, STR("structuredContent"));
    if (structured)
        r.structured = json_raw(&doc, structured);
    flag = json_find(&doc, root, STR("isError"));
    r.is_error = flag && flag->kind == JSON_TRUE;
    if (!mcp_content_read_parts(&doc, json_find(&doc, root, STR("content")), a, &r, e))
        goto out;
    *out = r;
    ok = true;
out:
    json_release(&doc);
    return ok;
}

bool mcp_result_check(const struct mcp_result *r, const struct schema *s, struct err *e)
{
    struct json doc;
    bool ok;

    assert(s);
    if (r->structured.n == 0)
        return r->is_error ||
               err_set(e, ERR_UPSTREAM, "the tool promised structured content and gave none");
    ok = json_open(&doc, r->structured, e) && schema_check(s, &doc, json_root(&doc), e);
    json_release(&doc);
    if (!ok) {
        err_prefix(e, "structuredContent: ");
        e->code = ERR_UPSTREAM;
    }
    return ok;
}

static void mcp_content_put_part(const struct mcp_part *p, struct buf *b)
{
    static const char *const names[] = {
        [MCP_IMAGE] = "image", [MCP_AUDIO] = "audio", [MCP_LINK] = "link", [MCP_RESOURCE] = "file"};

    if (b->n && b->p[b->n - 1] != '\n')
        buf_add_c(b, '\n');
    switch (p->kind) {
    case MCP_TEXT:
        buf_add(b, p->text);
        return;
    case MCP_OTHER:
        buf_add(b, p->raw);
        return;
    case MCP_RESOURCE:
        if (p->text.n) {
            buf_printf(b, "[file " STR_FMT "]\n", STR_ARG(p->uri));
            buf_add(b, p->text);
            return;
        }
        break;
    case MCP_IMAGE:
    case MCP_AUDIO:
    case MCP_LINK:
        break;
    }
    buf_printf(b, "[%s", names[p->kind]);
    if (p->name.n)
        buf_printf(b, " \"" STR_FMT "\"", STR_ARG(p->name));
    if (p->uri.n)
        buf_printf(b, " " STR_FMT, STR_ARG(p->uri));
    if (p->mime.n)
        buf_printf(b, " (" STR_FMT ")", STR_ARG(p->mime));
    if (p->data.n)
        buf_printf(b, ", %zu bytes", p->data.n / 4 * 3);
    buf_add_c(b, ']');
}

void mcp_result_text(const struct mcp_result *r, size_t size_max, struct buf *out)
{
    bool text = false;
    struct buf all;
    str shown;

    buf_init(&all, MCP_MESSAGE_MAX * 2);
    for (size_t i = 0; i < r->part_count; i++) {
        text = text || (r->parts[i].kind == MCP_TEXT && r->parts[i].text.n);
        mcp_content_put_part(&r->parts[i], &all);
    }
    if (!text && r->structured.n) {
        if (all.n)
            buf_add_c(&all, '\n');
        buf_add(&all, r->structured);
    }
    shown = utf8_cut_size(buf_str(&all), size_max);
    assert(shown.n <= all.n && shown.n <= size_max);
    buf_add(out, shown);
    if (shown.n < all.n)
        buf_printf(out, "\n[cut here: %zu of %zu bytes are shown]", shown.n, all.n);
    buf_release(&all);
}
