/* SPDX-License-Identifier: Apache-2.0 */
#include "erase_help.h"

#include "base/json_get.h"
#include "store/query.h"

void erase_as_counted(struct place *p, struct store *s, enum store_erase_what what,
                      const char *name, struct store_receipt *got)
{
    struct reader *r;
    struct json doc;
    struct buf out;
    struct err e;

    settle(s);
    buf_init(&out, 65536);
    CHECK_F(reader_open(str_c(p->url), &r, &e), "%s", e.text);
    CHECK_F(query_erase(r, what, str_c(name), &out, &e), "%s", e.text);
    reader_close(r);
    CHECK_F(store_erase(s, what, str_c(name), STR("operator"), got, &e), "%s", e.text);
    CHECK(json_open(&doc, buf_str(&out), &e));

    const struct {
        const char *name;
        uint64_t n;
    } counts[] = {{"sessions", got->sessions},
                  {"interactions", got->interactions},
                  {"decisions", got->decisions},
                  {"communications", got->communications},
                  {"threads", got->threads},
                  {"runs", got->runs}};

    for (size_t i = 0; i < COUNT_OF(counts); i++)
        CHECK_INT(json_get_i64(&doc, json_root(&doc), counts[i].name, -1), (int64_t)counts[i].n);
    json_release(&doc);
    buf_release(&out);
}
