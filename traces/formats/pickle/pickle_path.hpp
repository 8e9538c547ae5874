// The machine's position in the pickle, such as "device_traces[0][17]": derived from its stack only
// when an error message needs it, so it does not slow down reading.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "traces/formats/pickle/container_builder.hpp"
#include "traces/formats/pickle/pickle_store.hpp"

namespace highwater::detail {

struct PickleStack {
  std::span<const PickleValue> values;
  std::span<const std::size_t> marks;  ///< stack sizes, ascending
};

/// The path of stack.values[target]; empty for the outermost value.
std::string pickle_path(const PickleStack& stack, std::size_t target, const PickleStore& store,
                        const ContainerBuilder& builder);

/// `path` followed by `field`; either may be empty.
std::string join_path(std::string path, const std::string& field);

}  // namespace highwater::detail
