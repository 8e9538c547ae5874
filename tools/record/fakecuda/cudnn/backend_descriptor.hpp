// A descriptor of cuDNN's graph API: a bag of attributes that the caller has set, or one that the
// library has filled. Its content (wire.hpp) names it in questions for the real library.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace highwater::fakecuda {

struct Attribute {
  int name;
  int type;  ///< cudnnBackendAttributeType_t
  std::int64_t count;
  std::string bytes;  ///< as the caller gave them: addresses, if they are descriptors
  std::string nodes;  ///< the contents of these descriptors, which may be destroyed before this one
};

class BackendDescriptor {
 public:
  explicit BackendDescriptor(int type) : type_(type) {}

  void set(int name, int type, std::int64_t count, const void* data);

  /// The library has filled it: `node` is its content, `graph` that of the operations it belongs
  /// to.
  void fill(std::string node, std::shared_ptr<const std::string> graph);

  /// Nobody knows what the library would have filled in, or whether it would have finalized it.
  void set_unknown() { is_known_ = false; }

  /// Whether the library can be asked about it.
  [[nodiscard]] bool is_known() const { return is_known_; }

  /// Whether the library, rather than the caller, says what its attributes are.
  [[nodiscard]] bool is_of_library() const;

  [[nodiscard]] int type() const { return type_; }

  [[nodiscard]] std::string node() const;

  /// The content of the operation graph that it belongs to, or nullptr.
  [[nodiscard]] std::shared_ptr<const std::string> graph() const;

  /// Copies at most `asked` elements of what the caller has set. Returns how many there are.
  std::int64_t put_stored(int name, std::int64_t asked, void* out) const;

 private:
  int type_;
  std::vector<Attribute> attributes_;  ///< in the order in which they were first set
  std::string filled_;                 ///< content of one that the library has filled, or empty
  std::shared_ptr<const std::string> graph_;
  bool is_known_ = true;
};

}  // namespace highwater::fakecuda
