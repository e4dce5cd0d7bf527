/* SPDX-License-Identifier: Apache-2.0 */
#include "tokens/tokens.h"
#include "test.h"

TEST(tokens_x)
{
    CHECK_INT(tokens_count(tokens_vocab_at(0), STR("Hello, world! 🌍")), 5);
}

TEST_MAIN(T(tokens_x))
