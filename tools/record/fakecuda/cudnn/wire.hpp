// What passes between a recorded process and the program that holds the real cuDNN
// (cudnn_library/): questions and answers over a socket.
//
// A message is its length (4 bytes) and that many bytes. The program speaks first, a Greeting; then
// every question gets an Answer. A question names a descriptor by its content, so that it means the
// same in every process, and answers can be kept. TEXT stands for a length and bytes, NODE for the
// TEXT of a node:
//
//   node       'M', type, number of attributes, attributes    a descriptor that a caller filled
//              'F', NODE, name, type, asked, place            one that the library wrote there, for
//              an
//                                                             attribute of another descriptor
//   attribute  name, type, count, then as many NODEs if it is of descriptors, else TEXT
//   question   'S', NODE                                      can it be finalized?
//              'A', NODE, name, type, asked                   values of an attribute
//              'D', NODE, name, type, asked                   how many descriptors are in an
//              attribute;
//                                                             type: of the descriptors
//
// Names, types and lengths are 4 bytes, counts and places 8, in the machine's order.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace highwater::fakecuda::wire {

constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kLongestMessage = 16 << 20;
constexpr std::int64_t kMostElements = 1 << 16;  ///< of an attribute
constexpr int kDeepestNode = 16;  ///< plan, configuration, heuristics, graph, operation, tensor: 6

constexpr char kMade = 'M', kFilled = 'F';
constexpr char kStatus = 'S', kValues = 'A', kDescriptors = 'D';

// cudnnBackendAttributeType_t, those that no other process understands, and descriptors
constexpr int kHandleType = 0, kPointerType = 6, kDescriptorType = 15;

/// The size of an element of cudnnBackendAttributeType_t.
inline std::size_t element_size(int type) {
  switch (type) {
    case 2:   // boolean
    case 24:  // char
      return 1;
    case kHandleType:
    case 3:  // int64
    case 5:  // double
    case kPointerType:
    case kDescriptorType:
      return 8;
    case 26:  // fraction
      return 16;
    default:
      return 4;
  }
}

template <class Number>
void put(std::string& message, Number number) {
  static_assert(std::is_trivially_copyable_v<Number>);
  message.append(reinterpret_cast<const char*>(&number), sizeof number);
}

inline void put_text(std::string& message, std::string_view text) {
  put(message, static_cast<std::uint32_t>(text.size()));
  message += text;
}

inline std::string filled_node(std::string_view owner, int name, int type, std::int64_t asked,
                               std::int64_t place) {
  std::string node(1, kFilled);
  put_text(node, owner);
  put(node, name);
  put(node, type);
  put(node, asked);
  put(node, place);
  return node;
}

inline std::string status_question(std::string_view node) {
  std::string question(1, kStatus);
  put_text(question, node);
  return question;
}

/// `kind`: kValues or kDescriptors
inline std::string attribute_question(char kind, std::string_view node, int name, int type,
                                      std::int64_t asked) {
  std::string question(1, kind);
  put_text(question, node);
  put(question, name);
  put(question, type);
  put(question, asked);
  return question;
}

/// Reads what the other side wrote; once something is missing, everything is.
class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}

  template <class Number>
  Number number() {
    Number value{};
    if (const std::string_view bytes = take(sizeof value); !bytes.empty()) {
      std::memcpy(&value, bytes.data(), sizeof value);
    }
    return value;
  }

  std::string_view text() { return take(number<std::uint32_t>()); }

  [[nodiscard]] std::string_view rest() const { return rest_; }

  [[nodiscard]] bool is_good() const { return is_good_; }

  [[nodiscard]] bool is_done() const { return is_good_ && rest_.empty(); }

 private:
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) {
      is_good_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  bool is_good_ = true;
};

/// What the program says of itself.
struct Greeting {
  std::int64_t cudnn = 0;  ///< cudnnGetVersion(), 0 without a library
  std::string compiler;    ///< NVRTC's release, empty without one
  std::string problem;     ///< why it cannot answer, or empty
};

struct Answer {
  std::int32_t status = 0;  ///< cudnnStatus_t
  std::int64_t count = 0;   ///< elements that there are
  std::string bytes;        ///< elements, or the library's message where the status is not 0
};

inline std::string packed(const Greeting& greeting) {
  std::string message;
  put(message, kVersion);
  put(message, greeting.cudnn);
  put_text(message, greeting.compiler);
  put_text(message, greeting.problem);
  return message;
}

inline std::optional<Greeting> greeting_in(std::string_view message) {
  Reader reader(message);
  if (reader.number<std::uint32_t>() != kVersion) {
    return std::nullopt;
  }
  Greeting greeting;
  greeting.cudnn = reader.number<std::int64_t>();
  greeting.compiler = reader.text();
  greeting.problem = reader.text();
  return reader.is_done() ? std::optional(greeting) : std::nullopt;
}

inline std::string packed(const Answer& answer) {
  std::string message;
  put(message, answer.status);
  put(message, answer.count);
  put_text(message, answer.bytes);
  return message;
}

inline std::optional<Answer> answer_in(std::string_view message) {
  Reader reader(message);
  Answer answer;
  answer.status = reader.number<std::int32_t>();
  answer.count = reader.number<std::int64_t>();
  answer.bytes = reader.text();
  return reader.is_done() ? std::optional(answer) : std::nullopt;
}

}  // namespace highwater::fakecuda::wire
