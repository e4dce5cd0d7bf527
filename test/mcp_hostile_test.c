/* The client against servers that send too much, too little, too late or nonsense: each gets an
 * error, and the process lives on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp_side.h"

#define MODERN                                                                                     \
    "*'\"server/discover\"'*) result '{\"supportedVersions\":[\"2026-07-28\"]}';;\n"

TEST(a_server_that_wants_input_and_names_none_is_at_fault)
{
    struct mcp_tools tools;
    struct side s;

    side_init(
        &s,
        SERVER(MODERN "*'\"tools/list\"'*) result '{\"resultType\":\"input_required\"}';;\n"),
        NULL);
    CHECK(!mcp_client_tools(s.client, PATIENCE_MS, &s.arena, &tools, &s.e));
    CHECK_INT(s.e.code, ERR_UPSTREAM);
    CHECK(strstr(s.e.text, "does not say which"));
    side_release(&s);
}

TEST_MAIN(T(a_server_that_wants_input_and_names_none_is_at_fault))
