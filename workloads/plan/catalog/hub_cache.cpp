#include "workloads/plan/catalog/hub_cache.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "traces/formats/bytes/byte_source.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const char* variable, std::string_view below) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? fs::path() : fs::path(value) / below;
}

fs::path cache_folder() {
  for (const fs::path& folder :
       {folder_of("HF_HUB_CACHE", ""), folder_of("HUGGINGFACE_HUB_CACHE", ""),
        folder_of("HF_HOME", "hub"), folder_of("XDG_CACHE_HOME", "huggingface/hub")}) {
    if (!folder.empty()) {
      return folder;
    }
  }
  return folder_of("HOME", ".cache/huggingface/hub");
}

/// The commit of the main branch; empty if the file is not there or says no commit.
std::string main_commit(const fs::path& model) {
  const fs::path file = model / "refs" / "main";
  constexpr std::size_t kLongest = 256;
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kLongest || error) {
    return "";
  }
  std::string commit = read_text_file(file.string(), {.size = kLongest, .remedy = ""});
  std::erase_if(commit, [](unsigned char c) { return std::isspace(c) != 0; });
  const bool is_commit =
      std::ranges::all_of(commit, [](unsigned char c) { return std::isxdigit(c) != 0; });
  return is_commit ? commit : "";
}

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

bool is_name(std::string_view text) {
  return !text.empty() && text.front() != '.' && std::ranges::all_of(text, is_of_name);
}

}  // namespace

bool is_hub_id(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && is_name(text.substr(0, slash)) &&
         is_name(text.substr(slash + 1));
}

std::optional<std::string> cached_config(std::string_view id) {
  const fs::path cache = cache_folder();
  if (!is_hub_id(id) || cache.empty()) {
    return std::nullopt;
  }
  const std::size_t slash = id.find('/');
  const fs::path model =
      cache / fmt::format("models--{}--{}", id.substr(0, slash), id.substr(slash + 1));
  const std::string commit = main_commit(model);
  const fs::path config = model / "snapshots" / commit / "config.json";
  std::error_code error;
  return !commit.empty() && fs::is_regular_file(config, error) ? std::optional(config.string())
                                                               : std::nullopt;
}

}  // namespace highwater
