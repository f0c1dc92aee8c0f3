// 128-bit whole numbers, for products of two 64-bit ones.
#pragma once

namespace tapestry::core {

__extension__ using Wide = unsigned __int128;

}  // namespace tapestry::core
