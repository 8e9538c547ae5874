#include "tools/fleet/run_identity.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include <boost/crc.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/bytes/compression.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSample = std::uint64_t{1} << 20;

/// The 64-bit CRC of ECMA-182.
using Check = boost::crc_optimal<64, 0x42F0E1EBA9EA3693, 0, 0, false, false>;

void add_text(Check& check, const std::string& text) {
  check.process_bytes(text.data(), text.size() + 1);
}

/// @throws InputError where the disk fails; whoever reads the file says what else is wrong with it
void add_stretch(Check& check, const fs::path& path, std::ifstream& file, std::uint64_t begin,
                 std::uint64_t length) {
  std::vector<char> bytes(length);
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(bytes.data(), static_cast<std::streamsize>(length));
  if (file.bad()) {
    throw InputError(path.string(), "", "cannot be read: " + system_reason(errno),
                     "check the file and the disk");
  }
  check.process_bytes(bytes.data(), static_cast<std::size_t>(file.gcount()));
}

void add_file(Check& check, const fs::path& path) {
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  std::ifstream file(path, std::ios::binary);
  add_text(check, std::to_string(size));
  if (size <= 3 * kSample) {
    add_stretch(check, path, file, 0, size);
    return;
  }
  for (const std::uint64_t begin : {std::uint64_t{0}, (size - kSample) / 2, size - kSample}) {
    add_stretch(check, path, file, begin, kSample);
  }
}

void add_folder(Check& check, const fs::path& folder) {
  std::vector<std::string> entries;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code unknown;
    if (it->is_regular_file(unknown)) {
      entries.push_back(fmt::format("{} {}", it->path().lexically_relative(folder).string(),
                                    it->file_size(unknown)));
    }
  }
  std::ranges::sort(entries);
  std::ranges::for_each(entries, [&](const std::string& entry) { add_text(check, entry); });
}

/// A word, or what follows its "=".
void add_input(Check& check, const std::string& name) {
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  if (fs::is_regular_file(status)) {
    add_file(check, name);
  } else if (fs::is_directory(status)) {
    add_folder(check, name);
  }
}

}  // namespace

std::vector<std::string> without_options(const std::vector<std::string>& arguments,
                                         const std::vector<FleetOptionName>& left_out) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string name = arguments[i].substr(0, arguments[i].find('='));
    const auto found = std::ranges::find_if(left_out, [&](const FleetOptionName& each) {
      return name == fmt::format("--{}", each.name);
    });
    if (found == left_out.end()) {
      kept.push_back(arguments[i]);
    } else if (found->has_value && name.size() == arguments[i].size()) {
      ++i;
    }
  }
  return kept;
}

std::string check_of_inputs(const std::vector<std::string>& arguments) {
  Check check;
  for (const std::string& word : arguments) {
    add_input(check, word);
    if (const std::size_t equals = word.find('='); equals != std::string::npos) {
      add_input(check, word.substr(equals + 1));
    }
  }
  return fmt::format("{:016x}", check.checksum());
}

}  // namespace highwater
