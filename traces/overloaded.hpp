// A visitor of a std::variant from one function per alternative.
#pragma once

namespace highwater {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace highwater
