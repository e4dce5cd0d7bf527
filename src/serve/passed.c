/* passed.c - see passed.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/internal.h"

str passed_id_name(const struct exchange *ex)
{
    return ex->wire->dialect == CHAT_ANTHROPIC ? STR("request-id") : STR("x-request-id");
}

void passed_set_headers(struct exchange *ex, const struct http1_field *fields, size_t n)
{
    const str ids[] = {passed_id_name(ex), /* the name that the client's SDK reads comes first */
                       STR("x-request-id"),
                       STR("request-id"),
                       STR("apim-request-id"),
                       STR("x-ms-request-id")};
    str id = STR("");

    assert(n <= HEADERS_REPLY_MAX);
    for (size_t k = 0; k < COUNT_OF(ids) && !id.n; k++)
        for (size_t i = 0; i < n && !id.n; i++)
            if (http1_same(fields[i].name, ids[k]))
                id = fields[i].value;
    ex->passed = (struct exchange_passed){fields, n, id};
    if (id.n)
        exchange_header(ex, passed_id_name(ex), id);
}

bool passed_has(const struct exchange *ex, str name)
{
    for (size_t i = 0; i < ex->passed.n; i++)
        if (http1_same(ex->passed.fields[i].name, name))
            return true;
    return false;
}

size_t passed_merge_headers(const struct exchange *ex, struct server_header *out)
{
    const struct exchange_passed *p = &ex->passed;
    size_t n = ex->header_count;

    assert(n <= SERVE_HEADERS_MAX && p->n <= HEADERS_REPLY_MAX);
    memcpy(out, ex->headers, n * sizeof *out);
    for (size_t i = 0; i < p->n; i++)
        if (!p->request_id.n || !http1_same(p->fields[i].name, passed_id_name(ex)))
            out[n++] = (struct server_header){p->fields[i].name, p->fields[i].value};
    return n;
}
