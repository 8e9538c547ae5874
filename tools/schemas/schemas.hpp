// The JSON schemas of what the commands print, as the program carries them.
//
// Each file names its version ("$id": "highwater.replay/1"): keys are added, never changed.
#pragma once

#include <span>
#include <string_view>

namespace highwater {

struct CommandSchema {
  std::string_view command;
  std::string_view text;
};

/// Of every command that prints JSON, by name; defined by a source that the build writes.
std::span<const CommandSchema> command_schemas();

}  // namespace highwater
