// Reading test pickles: from a value or bytes in memory to a Recording or the error's text.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "tests/support/pickle_builder.hpp"
#include "tests/support/snapshot_samples.hpp"
#include "traces/error.hpp"
#include "traces/formats/snapshot/torch_snapshot.hpp"

namespace highwater::test {

inline Recording read_bytes(const Bytestring& bytes, StackMode stacks = StackMode::skip) {
  const auto source = memory_source(bytes, "test.pickle");
  return read_torch_snapshot(*source, {stacks});
}

inline Recording read_value(const PyValue& value, Dialect dialect = Dialect::python,
                            StackMode stacks = StackMode::skip) {
  return read_bytes(write_pickle(value, dialect), stacks);
}

/// The error that reading ends with; nothing when it succeeds.
inline std::optional<InputError> error_of(const Bytestring& bytes,
                                          StackMode stacks = StackMode::skip) {
  try {
    read_bytes(bytes, stacks);
    return std::nullopt;
  } catch (const InputError& error) {
    return error;
  }
}

/// "WHERE | MESSAGE" of the error; empty when reading succeeds.
inline std::string refusal(const Bytestring& bytes) {
  const auto error = error_of(bytes);
  return error ? error->where() + " | " + error->what() : std::string();
}

inline std::string refusal(const PyValue& value, Dialect dialect = Dialect::python) {
  return refusal(write_pickle(value, dialect));
}

}  // namespace highwater::test
