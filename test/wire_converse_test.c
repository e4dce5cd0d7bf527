#include "wire_help.h"
TEST(x)
{
}
TEST_MAIN(T(x))
