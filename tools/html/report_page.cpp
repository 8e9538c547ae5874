#include "tools/html/report_page.hpp"

#include <boost/json.hpp>
#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

#include "tools/html/report_resources.hpp"

namespace highwater {
namespace {

/// "{{file NAME}}" in the template becomes the text of that resource.
std::string with_files(std::string page) {
  constexpr std::string_view kBefore = "{{file ";
  constexpr std::string_view kAfter = "}}";
  for (std::size_t at = 0; (at = page.find(kBefore, at)) != std::string::npos;) {
    const std::size_t name = at + kBefore.size();
    const std::size_t end = page.find(kAfter, name);
    const std::string_view text = report_resource(page.substr(name, end - name));
    page.replace(at, end + kAfter.size() - at, text);
    at += text.size();
  }
  return page;
}

void replace_all(std::string& page, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = page.find(what, at)) != std::string::npos; at += with.size()) {
    page.replace(at, what.size(), with);
  }
}

/// Nobody can write a nonce into a file that the nonce itself is a digest of.
std::string nonce_of(const std::string& data) {
  const boost::uuids::name_generator_sha1 digest(boost::uuids::ns::oid());
  return boost::uuids::to_string(digest(data));
}

}  // namespace

std::string page_json(const boost::json::object& data) {
  const std::string text = boost::json::serialize(data);
  std::string safe;
  safe.reserve(text.size() + text.size() / 16);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i, 3);
    if (rest == "\xE2\x80\xA8" || rest == "\xE2\x80\xA9") {
      safe += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (text[i] == '<') {
      safe += "\\u003c";
    } else if (text[i] == '>') {
      safe += "\\u003e";
    } else if (text[i] == '&') {
      safe += "\\u0026";
    } else {
      safe += text[i];
    }
  }
  return safe;
}

std::string report_page(const boost::json::object& data) {
  const std::string json = page_json(data);
  const std::string nonce = nonce_of(json);
  std::string page = with_files(std::string(report_resource("page.html")));
  replace_all(page, "{{nonce}}", nonce);
  replace_all(page, "{{data}}", json);
  return page;
}

}  // namespace highwater
