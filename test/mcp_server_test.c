/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

TEST(x)
{
    CHECK(true);
}

TEST_MAIN(T(x))
