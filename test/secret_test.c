/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"
#include "test.h"

TEST(secret_reveals_what_it_was_given_and_keeps_its_own_copy)
{
    char text[] = "sk-123";
    struct secret s;
    struct err e;

    CHECK(secret_init(&s, str_c(text), &e));
    secret_wipe(text, sizeof text);
    for (size_t i = 0; i < sizeof text; i++)
        CHECK(text[i] == 0);
    CHECK_STR(secret_reveal(&s), "sk-123");
    CHECK(secret_reveal(&s).p[6] == '\0');
    secret_release(&s);
    CHECK_STR(secret_reveal(&s), "");
    secret_release(&s);
}

TEST(secret_equals_only_the_same_bytes)
{
    static const struct {
        const char *own, *given;
        bool equal;
    } cases[] = {
        {"sk-123", "sk-123", true},
        {"sk-123", "sk-124", false},
        {"sk-123", "sk-12", false},
        {"sk-123", "sk-1234", false},
        {"sk-123", "", false},
        {"", "", false}, /* an empty secret equals nothing */
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct secret s;
        struct err e;

        CHECK(secret_init(&s, str_c(cases[i].own), &e));
        CHECK(secret_equal(&s, str_c(cases[i].given)) == cases[i].equal);
        secret_release(&s);
    }
    CHECK(!secret_equal(&(struct secret){NULL}, STR("")));
}

TEST(secret_has_a_ceiling)
{
    char *large = base_alloc(SECRET_SIZE_MAX + 1);
    struct secret s = {NULL};
    struct err e;

    memset(large, 'k', SECRET_SIZE_MAX + 1);
    CHECK(!secret_init(&s, (str){large, SECRET_SIZE_MAX + 1}, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(s.page == NULL);
    CHECK(secret_init(&s, (str){large, SECRET_SIZE_MAX}, &e));
    CHECK_INT(secret_reveal(&s).n, SECRET_SIZE_MAX);
    secret_release(&s);
    free(large);
}

/* In /proc/self/smaps, the flag dd excludes the secret's pages from core dumps. */
TEST(secret_is_not_in_a_core_dump)
{
    struct secret s;
    struct err e;
    bool inside = false, marked = false;
    char line[512];
    FILE *maps;

    CHECK(secret_init(&s, STR("sk-123"), &e));
    maps = fopen("/proc/self/smaps", "re");
    while (fgets(line, sizeof line, maps)) {
        unsigned long from, to;

        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = from <= (uintptr_t)s.page && (uintptr_t)s.page < to;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            marked = strstr(line, " dd") != NULL;
    }
    fclose(maps);
    CHECK(marked);
    secret_release(&s);
}

TEST_MAIN(T(secret_reveals_what_it_was_given_and_keeps_its_own_copy),
          T(secret_equals_only_the_same_bytes), T(secret_has_a_ceiling),
          T(secret_is_not_in_a_core_dump))
