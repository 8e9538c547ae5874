#include "tools/text/frame_code.hpp"

#include <algorithm>

namespace highwater {
namespace {

bool is_package_folder(std::string_view part) {
  return part == "site-packages" || part == "dist-packages";
}

bool is_library_folder(std::string_view part) {
  return part == "lib" || part == "Lib" || part == "lib64";
}

/// "cpython-3.10.19-windows", "Python310", "miniconda3".
bool is_python_installation(std::string_view part) {
  const bool has_digit = part.find_first_of("0123456789") != std::string_view::npos;
  return part.find("conda") != std::string_view::npos ||
         (has_digit && part.find("ython") != std::string_view::npos);
}

/// The folders of a path, from the left.
class PathWalk {
 public:
  explicit PathWalk(std::string_view path)
      : is_windows_(path.find('\\') != std::string_view::npos) {}

  void enter(std::string_view part) {
    if (is_package_folder(last_)) {
      code_ = part == "torch" ? FrameCode::torch : FrameCode::library;
      is_decided_ = true;
    } else if (part == "torch" || part.starts_with("torchinductor_")) {
      code_ = FrameCode::torch;
    } else if (is_standard_library(part) && code_ == FrameCode::user) {
      code_ = FrameCode::standard;
    }
    is_installation_ = is_installation_ || is_python_installation(part);
    last_ = part;
  }

  [[nodiscard]] bool is_decided() const { return is_decided_; }

  [[nodiscard]] FrameCode code() const { return code_; }

 private:
  /// "lib/python3.12" on Linux, "Python310\lib" on Windows.
  [[nodiscard]] bool is_standard_library(std::string_view part) const {
    return (is_library_folder(last_) && part.starts_with("python3")) ||
           (is_windows_ && is_installation_ && is_library_folder(part));
  }

  bool is_windows_;
  std::string_view last_;
  FrameCode code_ = FrameCode::user;
  bool is_installation_ = false;
  bool is_decided_ = false;
};

FrameCode code_of_python(std::string_view file) {
  PathWalk walk(file);
  for (std::size_t end = file.find_first_of("/\\"); !walk.is_decided();
       end = file.find_first_of("/\\")) {
    walk.enter(file.substr(0, end));
    if (end == std::string_view::npos) {
      break;
    }
    file.remove_prefix(end + 1);
  }
  return walk.code();
}

}  // namespace

FrameCode code_of(std::string_view file) {
  if (file.ends_with(".py")) {
    return code_of_python(file);
  }
  if (file.starts_with("<ipython") || file == "<stdin>") {
    return FrameCode::user;
  }
  return file.starts_with('<') ? FrameCode::standard : FrameCode::native;
}

}  // namespace highwater
