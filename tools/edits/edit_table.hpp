// The words of --edit: what each edit is called, and what may be said about it.
//
//   NAME            NAME:VALUE            NAME:KEY=VALUE,KEY=VALUE            NAME:VALUE,KEY=VALUE
//
// The value without a key is that of the row's first parameter.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace highwater {

/// What a parameter takes.
enum class EditValueKind : std::uint8_t {
  size,      ///< 20GiB
  amount,    ///< a size, or 0
  number,    ///< a whole number
  count,     ///< a whole number from 1 on
  factor,    ///< 0.5
  site,      ///< part of a call site's name, or a pattern with * and ?
  pool,      ///< the number of a torch.cuda.MemPool, or default
  word,      ///< one of `words`
  captures,  ///< one of `words`, or lists of captures by number: 1+2/3+4
  file,
};

enum class EditNeed : std::uint8_t { required, optional };

struct EditParameter {
  std::string_view key;
  EditValueKind kind = EditValueKind::number;
  EditNeed need = EditNeed::optional;
  std::string_view words;  ///< of EditValueKind::word, separated by spaces
};

struct EditKind {
  std::string_view name;
  std::string_view form;     ///< as one types it
  std::string_view summary;  ///< for --help
  std::span<const EditParameter> parameters;
};

std::span<const EditKind> edit_kinds();

/// Null if there is none of that name.
const EditKind* find_edit_kind(std::string_view name);

/// "preallocate:SIZE[,stream=HANDLE]: a block ...", one for each kind, for --help.
std::vector<std::string> edit_help();

}  // namespace highwater
