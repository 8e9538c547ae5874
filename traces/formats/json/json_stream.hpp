// Reads JSON of any length piece by piece: a handler is told of each value as it ends.
//
// Boost.JSON's parser checks the grammar and bounds the depth; strings are bounded here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/basic_parser_impl.hpp>

#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"

namespace highwater::detail {

/// What JsonStream asks of a handler, and does nothing; a handler hides what it wants to know.
struct JsonEvents {
  void begin_object() {}

  void end_object() {}

  void begin_array() {}

  void end_array() {}

  void key(std::string_view /*text*/) {}

  void text(std::string_view /*value*/) {}

  void integer(std::int64_t /*value*/) {}

  void natural(std::uint64_t /*value*/) {}  ///< 2^63 or more

  void real(double /*value*/) {}

  void boolean(bool /*value*/) {}

  void null() {}
};

/// `Events` as Boost's parser calls it. Text arrives in parts.
template <class Events>
class JsonHandler {
 public:
  static constexpr std::size_t max_object_size = ~std::size_t{0};
  static constexpr std::size_t max_array_size = ~std::size_t{0};
  static constexpr std::size_t max_key_size = std::size_t{1} << 20;
  static constexpr std::size_t max_string_size = std::size_t{1} << 20;

  using Code = boost::system::error_code;

  explicit JsonHandler(Events& events) : events_(&events) {}

  bool on_document_begin(Code& /*code*/) { return true; }

  bool on_document_end(Code& /*code*/) { return true; }

  bool on_object_begin(Code& /*code*/) { return events_->begin_object(), true; }

  bool on_object_end(std::size_t /*size*/, Code& /*code*/) { return events_->end_object(), true; }

  bool on_array_begin(Code& /*code*/) { return events_->begin_array(), true; }

  bool on_array_end(std::size_t /*size*/, Code& /*code*/) { return events_->end_array(), true; }

  bool on_key_part(std::string_view part, std::size_t /*size*/, Code& /*code*/) {
    return text_.append(part), true;
  }

  bool on_key(std::string_view part, std::size_t /*size*/, Code& /*code*/) {
    events_->key(text_.append(part));
    return text_.clear(), true;
  }

  bool on_string_part(std::string_view part, std::size_t /*size*/, Code& /*code*/) {
    return text_.append(part), true;
  }

  bool on_string(std::string_view part, std::size_t /*size*/, Code& /*code*/) {
    events_->text(text_.append(part));
    return text_.clear(), true;
  }

  bool on_number_part(std::string_view /*part*/, Code& /*code*/) { return true; }

  bool on_int64(std::int64_t value, std::string_view /*part*/, Code& /*code*/) {
    return events_->integer(value), true;
  }

  bool on_uint64(std::uint64_t value, std::string_view /*part*/, Code& /*code*/) {
    return events_->natural(value), true;
  }

  bool on_double(double value, std::string_view /*part*/, Code& /*code*/) {
    return events_->real(value), true;
  }

  bool on_bool(bool value, Code& /*code*/) { return events_->boolean(value), true; }

  bool on_null(Code& /*code*/) { return events_->null(), true; }

  bool on_comment_part(std::string_view /*part*/, Code& /*code*/) { return true; }

  bool on_comment(std::string_view /*part*/, Code& /*code*/) { return true; }

 private:
  Events* events_;
  std::string text_;
};

/// What people write into files by hand, beside JSON itself.
enum class JsonLeniency : std::uint8_t { none, comments_and_commas };

template <class Events>
class JsonStream {
 public:
  /// Both must outlive the stream. `remedy`: what to try about what is no JSON.
  JsonStream(ByteSource& source, Events& events, std::string_view remedy,
             JsonLeniency leniency = JsonLeniency::none)
      : source_(&source), remedy_(remedy), parser_(options(leniency), events) {}

  /// Reads a piece; false after the last. @throws InputError with the byte
  bool next() {
    const std::size_t size = source_->read(buffer_);
    boost::system::error_code code;
    const std::size_t used =
        parser_.write_some(size != 0, reinterpret_cast<const char*>(buffer_.data()), size, code);
    if (code || used < size) {
      throw InputError(source_->name(), "byte " + std::to_string(offset_ + used),
                       size == 0 ? "the JSON ends too early"
                                 : "not JSON: " + (code ? code.message() : "more follows its end"),
                       remedy_);
    }
    offset_ += size;
    return size != 0;
  }

 private:
  static boost::json::parse_options options(JsonLeniency leniency) {
    boost::json::parse_options options;
    options.allow_comments = leniency == JsonLeniency::comments_and_commas;
    options.allow_trailing_commas = options.allow_comments;
    options.max_depth = 64;  // of snapshots 9, of a profiler's traces as deep as its arguments
    return options;
  }

  ByteSource* source_;
  std::string_view remedy_;
  boost::json::basic_parser<JsonHandler<Events>> parser_;
  std::array<std::byte, 65536> buffer_{};
  std::uint64_t offset_ = 0;
};

}  // namespace highwater::detail
