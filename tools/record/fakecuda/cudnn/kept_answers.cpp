// A line: the question's digest (32 hexadecimal digits), the packed answer and the line's digest
// (16), with a space between.
#include "tools/record/fakecuda/cudnn/kept_answers.hpp"

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace highwater::fakecuda {
namespace {

// FNV-1a, 64 bits. Two with different starts make a key: a wrong answer by chance needs 10^19
// questions.
constexpr std::uint64_t kStart = 14695981039346656037ULL, kOtherStart = 1099511628211ULL;
constexpr std::size_t kKeyDigits = 32, kCheckDigits = 16;
constexpr std::uintmax_t kLargestFile = 256 << 20;

std::uint64_t digest(std::string_view text, std::uint64_t start) {
  for (const char each : text) {
    start = (start ^ static_cast<unsigned char>(each)) * 1099511628211ULL;
  }
  return start;
}

std::string hexadecimal(std::uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string key_of(std::string_view question) {
  return hexadecimal(digest(question, kStart)) + hexadecimal(digest(question, kOtherStart));
}

constexpr std::string_view kDigits = "0123456789abcdef";

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char each : bytes) {
    text += kDigits[static_cast<unsigned char>(each) >> 4];
    text += kDigits[static_cast<unsigned char>(each) & 15];
  }
  return text;
}

std::optional<std::string> bytes_of(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]), low = kDigits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) {
      return std::nullopt;
    }
    bytes += static_cast<char>(high << 4 | low);
  }
  return text.size() % 2 == 0 ? std::optional(bytes) : std::nullopt;
}

std::string line_of(std::string_view key, const std::string& packed) {
  const std::string text = std::string(key) + " " + hexadecimal(packed);
  return text + " " + hexadecimal(digest(text, kStart)) + "\n";
}

/// A file that others can write is not believed.
bool is_own(const std::string& file) {
  struct stat found = {};
  return ::lstat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         found.st_uid == ::geteuid() && (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

KeptAnswers::KeptAnswers(std::string file) : file_(std::move(file)) {
  std::error_code error;
  if (!is_own(file_)) {
    // There is none yet, or it is somebody else's, which is then left alone.
    file_ = std::filesystem::symlink_status(file_, error).type() ==
                    std::filesystem::file_type::not_found
                ? file_
                : "";
    return;
  }
  if (std::filesystem::file_size(file_, error) > kLargestFile) {
    std::filesystem::remove(file_, error);
  }
  std::ifstream in(file_, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    const std::size_t end = line.size() - std::min(line.size(), kCheckDigits + 1);
    if (end <= kKeyDigits + 1 || line[kKeyDigits] != ' ' || line[end] != ' ' ||
        line.substr(end + 1) != hexadecimal(digest(line.substr(0, end), kStart))) {
      continue;
    }
    const auto packed =
        bytes_of(std::string_view(line).substr(kKeyDigits + 1, end - kKeyDigits - 1));
    if (packed && wire::answer_in(*packed)) {
      answers_[line.substr(0, kKeyDigits)] = *packed;
    }
  }
}

std::optional<wire::Answer> KeptAnswers::find(std::string_view question) const {
  const auto found = answers_.find(key_of(question));
  return found == answers_.end() ? std::nullopt : wire::answer_in(found->second);
}

void KeptAnswers::keep(std::string_view question, const wire::Answer& answer) {
  const std::string key = key_of(question), packed = wire::packed(answer);
  answers_[key] = packed;
  if (file_.empty()) {
    return;
  }
  const int out = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                         S_IRUSR | S_IWUSR);
  if (out != -1) {
    const std::string line = line_of(key, packed);
    // One call: lines of several processes do not mix. A line that is cut short is not believed.
    [[maybe_unused]] const ssize_t written = ::write(out, line.data(), line.size());
    ::close(out);
  }
}

}  // namespace highwater::fakecuda
