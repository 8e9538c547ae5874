// cuDNN's descriptors made from what a question says of them, and answers read from them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/record/fakecuda/cudnn/wire.hpp"
#include "tools/record/fakecuda/cudnn_library/library.hpp"

namespace highwater::cudnn_library {

/// A descriptor that could be finalized, or why not.
struct Built {
  Descriptor descriptor = nullptr;
  int status = 0;
  std::string message;
};

class Descriptors {
 public:
  explicit Descriptors(const Library& library) : library_(library) {}

  /// The library's answer; what is not well-formed gets CUDNN_STATUS_BAD_PARAM.
  fakecuda::wire::Answer answer(std::string_view question);

 private:
  using Reader = fakecuda::wire::Reader;

  /// Equal content is one descriptor, as tensors that two operations share are in the caller's
  /// graph.
  const Built& built(std::string_view node, int depth);
  Built made(Reader& reader, int depth);
  Built filled(Reader& reader, std::string_view node, int depth);
  Built set_attribute(Reader& reader, Descriptor descriptor, int depth);
  Built finished(Descriptor descriptor, int type, bool has_gpu);
  Built fill(std::string_view owner, int name, int type, std::int64_t asked, std::int64_t& count,
             int depth);
  fakecuda::wire::Answer values(Descriptor descriptor, int name, int type, std::int64_t asked);
  Built created(int type);
  Built failed(int status);
  void forget_all();

  const Library& library_;
  std::map<std::string, Built, std::less<>> known_;  ///< by content
  std::vector<Descriptor> owned_;                    ///< in the order of their creation
};

}  // namespace highwater::cudnn_library
