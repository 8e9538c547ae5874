#include "workloads/facts/facts.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include <boost/json.hpp>

#include "workloads/json/json_document.hpp"

namespace highwater {
namespace {

constexpr std::string_view kRemedy = "correct workloads/facts and build the program again";

struct ParsedFile {
  std::string name;
  boost::json::value content;
};

std::string_view text_of(std::string_view path) {
  const auto found = std::ranges::find(embedded_facts(), path, &EmbeddedFile::path);
  if (found == embedded_facts().end()) {
    throw std::out_of_range("no facts " + std::string(path));
  }
  return found->content;
}

}  // namespace

JsonField facts(std::string_view path) {
  static std::mutex mutex;
  static std::map<std::string, ParsedFile, std::less<>> parsed;
  const std::scoped_lock lock(mutex);
  auto found = parsed.find(path);
  if (found == parsed.end()) {
    std::string name = "workloads/facts/" + std::string(path);
    boost::json::value content = parse_json_document(text_of(path), name, kRemedy);
    found = parsed.try_emplace(std::string(path), std::move(name), std::move(content)).first;
  }
  return {found->second.content, "", found->second.name, kRemedy};
}

std::vector<std::string_view> facts_in(std::string_view folder) {
  std::vector<std::string_view> paths;
  for (const EmbeddedFile& file : embedded_facts()) {
    if (file.path.size() > folder.size() && file.path.starts_with(folder) &&
        file.path[folder.size()] == '/') {
      paths.push_back(file.path);
    }
  }
  return paths;
}

}  // namespace highwater
