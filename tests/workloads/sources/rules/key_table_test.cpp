#include "workloads/sources/rules/key_table.hpp"

#include <array>
#include <string>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "traces/error.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

void read_nothing(const Setting& /*setting*/, const SettingList& /*all*/, SourceKeys& /*keys*/) {}

constexpr std::array kReaders{NamedReader{"nothing", read_nothing}};

/// A file of facts, which its table refers to.
class File {
 public:
  explicit File(std::string_view text) : content_(boost::json::parse(text)) {}

  [[nodiscard]] KeyTable table() const {
    return {JsonField(content_, "", name_, "correct it"), {kReaders}};
  }

 private:
  std::string name_ = "made.json";
  boost::json::value content_;
};

std::string text_of(const KeyTable& table, std::string_view key) {
  const KeyRule* const rule = table.find(key);
  return rule == nullptr ? "none" : std::string(rule->text);
}

}  // namespace

TEST_CASE("key table: a name comes before patterns, the pattern with most letters first",
          "[plan][sources]") {
  const File file(R"({"keys": [{"ignored": "any", "keys": ["log*"]},
                               {"ignored": "some", "keys": ["log_to_*"]},
                               {"ignored": "one", "keys": ["log_to_file"]}]})");
  const KeyTable table = file.table();
  CHECK(text_of(table, "log_to_file") == "one");
  CHECK(text_of(table, "Log-To-File") == "one");
  CHECK(text_of(table, "log_to_disk") == "some");
  CHECK(text_of(table, "logging") == "any");
  CHECK(text_of(table, "lo") == "none");
}

TEST_CASE("key table: own rows come before included ones, names before patterns",
          "[plan][sources]") {
  const File file(R"({"keys": [{"ignored": "own", "keys": ["moe_router_topk", "moe_*"]}],
                      "includes": ["megatron_mixtures"]})");
  const KeyTable table = file.table();
  CHECK(text_of(table, "moe_router_topk") == "own");
  CHECK(text_of(table, "moe_unheard_of") == "own");
  CHECK(text_of(table, "moe_layer_freq") == "only some layers are mixtures");
}

TEST_CASE("key table: what a row can say", "[plan][sources]") {
  const File file(R"({"keys": [
      {"becomes": "grad-clip", "words": {"0": "none"}, "keys": ["clip"]},
      {"read": "nothing", "keys": ["read"]},
      {"unsupported": "it differs", "sign": "less", "off": ["0", "none"], "lacks": "model",
       "keys": ["off"]}]})");
  const KeyTable table = file.table();
  CHECK(table.find("clip")->use == KeyRule::Use::option);
  CHECK(table.find("clip")->words.front().word == "none");
  CHECK(table.find("read")->read == read_nothing);
  CHECK(table.find("off")->sign == MemorySign::less);
  CHECK(table.find("off")->off.size() == 2);
  CHECK(table.find("off")->lacks == "model");
}

TEST_CASE("key table: a wrong row names its place", "[plan][sources]") {
  const auto message = [](std::string_view rows) {
    try {
      static_cast<void>(File("{\"keys\": [" + std::string(rows) + "]}").table());
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK_THAT(message(R"({"keys": ["a"]})"),
             Contains("made.json: keys[0]: expected one of becomes, read, unsupported"));
  CHECK_THAT(message(R"({"ignored": "x"})"), Contains("keys[0]: the field 'keys' is missing"));
  CHECK_THAT(message(R"({"ignored": "x", "keys": ["a", "A"]})"),
             Contains("keys[0].keys[1]: the key 'A' stands twice"));
  CHECK_THAT(message(R"({"read": "no such", "keys": ["a"]})"),
             Contains("keys[0].read: there is no reader 'no such'"));
  CHECK_THAT(message(R"({"unsupported": "x", "keys": ["a"]})"), Contains("'sign' is missing"));
  CHECK_THAT(message(R"({"unsupported": "x", "sign": "up", "keys": ["a"]})"),
             Contains("keys[0].sign: expected more, less, either or little"));
  CHECK_THROWS_WITH(File(R"({"includes": ["unheard-of"]})").table(),
                    Contains("includes[0]: there is no file 'unheard-of'"));
}
