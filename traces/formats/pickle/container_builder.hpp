// What a PickleMachine hands its containers to as they are filled.
//
// The machine knows lists, dicts and the values in them; the builder knows what a file of its kind
// means. It may replace a container by a value of its own (a record kind of PickleKind), and it
// supplies the advice in error messages. The machine calls it once per batch of items, so the
// indirect calls cost nothing that can be measured.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "traces/formats/pickle/pickle_value.hpp"

namespace highwater::detail {

/// A value that does not fit its field. The machine adds the place and throws an InputError.
struct FieldProblem {
  std::string field;
  std::string problem;
};

/// What to try about a file that is not what the builder expects.
struct PickleAdvice {
  std::string_view write_again;  ///< the file is empty, or holds something else
  std::string_view right_file;   ///< the file is not a pickle
  std::string_view damaged;      ///< no program writes such a pickle
  std::string_view implausible;  ///< a sound pickle, but not of a file of this kind
};

class ContainerBuilder {
 public:
  ContainerBuilder() = default;
  ContainerBuilder(const ContainerBuilder&) = delete;
  ContainerBuilder& operator=(const ContainerBuilder&) = delete;
  virtual ~ContainerBuilder() = default;

  /// Puts `items` at the end of `list`; returns what `list` is from now on.
  /// @throws FieldProblem
  virtual PickleValue append(PickleValue list, std::span<const PickleValue> items,
                             std::uint64_t bytes_read) = 0;

  /// Puts `items` (keys and values in turn) into `dict`; returns what `dict` is from now on.
  /// @throws FieldProblem
  virtual PickleValue set_items(PickleValue dict, std::span<const PickleValue> items) = 0;

  /// As set_items, for a dict in an unused place: it gets no shape, so nothing in it can be wrong.
  /// @throws FieldProblem if it is not a dict
  virtual PickleValue set_plain_items(PickleValue dict, std::span<const PickleValue> items) = 0;

  /// The kind of item that the list on top of `stack` takes, from its place: a record kind, or
  /// PickleKind::list. PickleKind::absent where any item may come.
  [[nodiscard]] virtual PickleKind items_of_list(std::span<const PickleValue> stack) const = 0;

  /// Whether `item` may come in a list with items of this kind. `before`: what lies between it and
  /// the list, absent where nothing does; it may be a container that `item` goes into.
  /// @throws FieldProblem if not
  virtual void check_item(PickleKind kind, PickleValue before, PickleValue item) const = 0;

  /// Whether nobody reads the value at `path`, such as "device_traces[0][17].frames".
  [[nodiscard]] virtual bool is_unused_place(std::string_view path) const = 0;

  /// Whether the builder's own value `record` stands for a list.
  [[nodiscard]] virtual bool is_list(PickleValue record) const = 0;

  /// Bytes of everything kept so far, the PickleStore included.
  [[nodiscard]] virtual std::uint64_t memory() const = 0;

  [[nodiscard]] virtual const PickleAdvice& advice() const = 0;
};

}  // namespace highwater::detail
