/* wire_json_fields_test.c - members found in one pass equal those that json_find finds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"
#include "wire/json_write.h"
#include "wire/openai/fields.h"

static const struct json_field_set *const sets[] = {
    &openai_reply_fields, &openai_usage_fields, &openai_request_fields};

TEST(every_name_has_its_number)
{
    for (size_t i = 0; i < COUNT_OF(sets); i++)
        for (int k = 0; k < sets[i]->count; k++) {
            str name = sets[i]->names[k];

            CHECK(name.n > 0);
            CHECK(sets[i]->find(name.p, name.n) == k);
        }
}

/* A name with one byte changed or appended must not match. */
TEST(a_name_with_one_byte_changed_is_not_found)
{
    char near[64];

    for (size_t i = 0; i < COUNT_OF(sets); i++)
        for (int k = 0; k < sets[i]->count; k++) {
            str name = sets[i]->names[k];

            for (size_t at = 0; at < name.n; at++) {
                memcpy(near, name.p, name.n);
                near[at] = '#';
                CHECK(sets[i]->find(near, name.n) == -1);
            }
            memcpy(near, name.p, name.n);
            near[name.n] = '#';
            CHECK(sets[i]->find(near, name.n + 1) == -1);
        }
    CHECK(openai_reply_fields.find("", 0) == -1);
}

/* Objects with random members: some repeated, some null, some with an escape in the key. */
TEST(one_walk_finds_what_single_looks_find)
{
    unsigned seed = 7;
    struct json doc;
    struct buf b;
    struct err e;

    json_init(&doc);
    buf_init(&b, 1 << 16);
    for (int round = 0; round < 3000; round++) {
        const struct json_field_set *set = sets[round % 3];
        struct json_fields m;

        buf_reset(&b);
        buf_add_c(&b, '{');
        for (int i = 0; i < round % 9; i++) {
            str name;

            seed = seed * 1103515245u + 12345u;
            name = set->names[(int)(seed >> 16) % set->count];
            buf_printf(&b, i ? ",\"" : "\"");
            if (seed >> 28 == 0)
                buf_printf(&b, "\\u00%02x", (unsigned char)name.p[0]);
            else
                buf_add_c(&b, seed >> 28 == 1 ? '#' : name.p[0]);
            buf_add(&b, str_slice(name, 1, name.n));
            buf_add(&b, seed >> 28 == 2 ? STR("\":null") : STR("\":[1,{}]"));
        }
        buf_add_c(&b, '}');
        CHECK(json_parse(&doc, buf_str(&b), &e));
        json_fields_read(set, &doc, json_root(&doc), ~(uint64_t)0, &m);
        for (int k = 0; k < set->count; k++)
            CHECK(json_fields_get(&m, (unsigned)k) ==
                  json_find(&doc, json_root(&doc), set->names[k]));
        CHECK(!m.odd || json_raw(&doc, m.odd).p[1] == '#');
    }
    json_release(&doc);
    buf_release(&b);
}

TEST(what_is_no_object_has_no_members)
{
    struct json doc;
    struct json_fields m;
    struct err e;

    json_init(&doc);
    CHECK(json_parse(&doc, STR("[\"id\",1]"), &e));
    json_fields_read(&openai_reply_fields, &doc, json_root(&doc), 0, &m);
    CHECK(m.seen == 0 && !m.odd && !json_fields_get(&m, OPENAI_AT_ID));
    json_fields_read(&openai_reply_fields, &doc, NULL, 0, &m);
    CHECK(m.seen == 0 && !m.odd);
    json_release(&doc);
}

TEST(a_template_writes_json_with_texts_quoted)
{
    struct arena a;

    arena_init(&a, 1 << 20);
    CHECK_STR(
        json_format(&a, "{'role':%q,'n':%d,'raw':%j}", STR("a\"b\n"), (int64_t)-7, STR("[1]")),
        "{\"role\":\"a\\\"b\\n\",\"n\":-7,\"raw\":[1]}");
    CHECK_STR(json_format(&a, ""), "");
    arena_release(&a);
}

TEST_MAIN(T(a_template_writes_json_with_texts_quoted), T(every_name_has_its_number),
          T(a_name_with_one_byte_changed_is_not_found), T(one_walk_finds_what_single_looks_find),
          T(what_is_no_object_has_no_members))
