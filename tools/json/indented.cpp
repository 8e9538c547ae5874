#include "tools/json/indented.hpp"

#include <boost/json.hpp>

namespace highwater {
namespace {

namespace json = boost::json;

void write(const json::value& value, std::size_t depth, std::string& text);

void write_member(const json::key_value_pair& member, std::size_t depth, std::string& text) {
  text += json::serialize(member.key()) + ": ";
  write(member.value(), depth, text);
}

void write_member(const json::value& element, std::size_t depth, std::string& text) {
  write(element, depth, text);
}

template <class Members>
void write_all(const Members& members, std::size_t depth, std::string& text) {
  std::string_view between = "\n";
  for (const auto& member : members) {
    text += between;
    text.append(depth + 1, ' ');
    write_member(member, depth + 1, text);
    between = ",\n";
  }
  text += '\n';
  text.append(depth, ' ');
}

void write(const json::value& value, std::size_t depth, std::string& text) {
  const json::object* const object = value.if_object();
  const json::array* const array = value.if_array();
  if (object != nullptr && !object->empty()) {
    text += '{';
    write_all(*object, depth, text);
    text += '}';
  } else if (array != nullptr && !array->empty()) {
    text += '[';
    write_all(*array, depth, text);
    text += ']';
  } else {
    text += json::serialize(value);
  }
}

}  // namespace

std::string indented(const json::value& value) {
  std::string text;
  write(value, 0, text);
  return text + "\n";
}

}  // namespace highwater
