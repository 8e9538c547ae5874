#include "traces/formats/bytes/output_target.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

/// As many as Linux follows (path_resolution(7)).
constexpr int kMostLinks = 40;

/// The folder that `path` is in, without links.
fs::path folder_of(const fs::path& path, const fs::path& name) {
  std::error_code error;
  const fs::path parent = path.parent_path();
  const fs::path folder = fs::canonical(parent.empty() ? fs::path(".") : parent, error);
  if (error) {
    fail_to_create(name, error);
  }
  return folder;
}

/// The number that `text` is, all of it.
std::optional<int> whole_number(const std::string& text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc{} && stop == end && number >= 0 ? std::optional(number) : std::nullopt;
}

/// "/proc/PID/fd", "/proc/PID/task/TID/fd": the links in it name open descriptors (proc(5)).
bool holds_descriptors(const fs::path& folder) {
  return folder.filename() == "fd" && folder.string().starts_with("/proc/");
}

bool is_of_this_process(const fs::path& folder) {
  return folder.string().starts_with(fmt::format("/proc/{}/", ::getpid()));
}

OutputTarget descriptor_target(const fs::path& folder, const fs::path& link, int number) {
  return is_of_this_process(folder) ? OutputTarget{OutputTarget::Kind::descriptor, link, number}
                                    : OutputTarget{OutputTarget::Kind::special, link, -1};
}

OutputTarget plain_target(const fs::path& path) {
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  return {fs::exists(status) && fs::is_other(status) ? OutputTarget::Kind::special
                                                     : OutputTarget::Kind::file,
          path, -1};
}

}  // namespace

void fail_to_create(const fs::path& name, const std::error_code& reason) {
  throw UsageError(
      fmt::format("{}: cannot be created: {}; name a file in a folder that exists and "
                  "can be written to",
                  name.string(), reason.message()));
}

OutputTarget output_target(const fs::path& name) {
  fs::path path = name;
  for (int links = 0; links <= kMostLinks; ++links) {
    const fs::path folder = folder_of(path, name);
    const fs::path entry = path.has_filename() ? folder / path.filename() : folder;
    const auto number = whole_number(entry.filename().string());
    if (number && holds_descriptors(folder)) {
      return descriptor_target(folder, entry, *number);
    }
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(entry, error))) {
      return plain_target(entry);
    }
    path = folder / fs::read_symlink(entry, error);  // an absolute target replaces the folder
  }
  fail_to_create(name, std::make_error_code(std::errc::too_many_symbolic_link_levels));
}

bool is_standard_output(const fs::path& name) {
  if (name == "-") {
    return true;
  }
  try {
    const OutputTarget target = output_target(name);
    return target.kind == OutputTarget::Kind::descriptor && target.descriptor == STDOUT_FILENO;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace highwater
