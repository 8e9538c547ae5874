// One visitor out of several lambdas, for std::visit over the variant of model families.
#pragma once

namespace highwater {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace highwater
