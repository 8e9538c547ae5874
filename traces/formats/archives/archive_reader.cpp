#include "traces/formats/archives/archive_reader.hpp"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <cerrno>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <initializer_list>
#include <span>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "traces/cancellation.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/compression.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"
#include "traces/formats/bytes/peeked_source.hpp"

namespace highwater {
namespace {

constexpr std::size_t kArchiveBlock = 64 * 1024;

Compression compression_of_file(const std::filesystem::path& path) {
  std::array<char, 16> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  const auto count = static_cast<std::size_t>(file.gcount());
  return compression_of(std::as_bytes(std::span(head).first(count)));
}

bool ends_with_any(std::string_view name, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [name](std::string_view end) { return name.ends_with(end); });
}

std::string member_name(::archive_entry* entry) {
  const char* name = ::archive_entry_pathname_utf8(entry);
  name = name != nullptr ? name : ::archive_entry_pathname(entry);
  return name != nullptr ? name : "(a name that is no text)";
}

/// Hard links have no content of their own.
bool is_own_file(::archive_entry* entry) {
  return ::archive_entry_filetype(entry) == AE_IFREG && ::archive_entry_hardlink(entry) == nullptr;
}

}  // namespace

struct ArchiveReader::State {
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    ::archive_read_free(handle);
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }

  std::string path;
  ExpansionLimit expansion;
  std::uint64_t size = 0;                ///< of the file
  ::archive* handle = nullptr;           ///< libarchive's
  int descriptor = -1;                   ///< of an archive that is not compressed as a whole
  std::unique_ptr<ByteSource> unpacked;  ///< of one that is
  std::array<std::byte, kArchiveBlock> block{};
  std::exception_ptr failure;  ///< thrown below libarchive, which is C
  std::size_t position = 0;
  std::string member;
  std::uint64_t member_size = 0;
  std::string damage;

  void open();
  [[nodiscard]] InputError error(const std::string& source) const;
  ::la_ssize_t fill() noexcept;
};

namespace {

class MemberSource : public ByteSource {
 public:
  using Read = std::function<std::size_t(std::span<std::byte>)>;

  MemberSource(std::string name, Read read) : name_(std::move(name)), read_(std::move(read)) {}

  std::size_t read(std::span<std::byte> buffer) override {
    stop_if_cancelled();
    return read_(buffer);
  }

  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::string name_;
  Read read_;
};

}  // namespace

::la_ssize_t ArchiveReader::State::fill() noexcept {
  try {
    return static_cast<::la_ssize_t>(unpacked->read(block));
  } catch (...) {
    failure = std::current_exception();
    return ARCHIVE_FATAL;
  }
}

InputError ArchiveReader::State::error(const std::string& source) const {
  if (failure) {
    std::rethrow_exception(failure);
  }
  const char* const reason = ::archive_error_string(handle);
  return {source, fmt::format("byte {}", ::archive_filter_bytes(handle, 0)),
          fmt::format("damaged archive: {}", reason == nullptr ? "it ends early" : reason),
          "copy it again, or pack it anew"};
}

void ArchiveReader::State::open() {
  ::archive_read_support_format_tar(handle);
  ::archive_read_support_format_zip(handle);
  int status = ARCHIVE_OK;
  if (compression_of_file(path) != Compression::none) {
    unpacked = open_source(path, {.expansion = expansion, .listener = {}});
    status = ::archive_read_open(
        handle, this, nullptr,
        [](::archive* /*handle*/, void* self, const void** bytes) {
          auto& state = *static_cast<State*>(self);
          *bytes = state.block.data();
          return state.fill();
        },
        nullptr);
  } else {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      throw InputError(path, "", "cannot be opened: " + system_reason(errno),
                       "check the path and its permissions");
    }
    remember_input(descriptor, path);
    status = ::archive_read_open_fd(handle, descriptor, kArchiveBlock);
  }
  if (status != ARCHIVE_OK) {
    throw error(path);
  }
}

bool is_archive_name(const std::filesystem::path& path) {
  return ends_with_any(path.native(),
                       {".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.zst", ".tzst", ".zip"});
}

ArchiveReader::ArchiveReader(const std::filesystem::path& path, ExpansionLimit expansion)
    : state_(std::make_unique<State>()) {
  state_->path = path.native();
  state_->expansion = expansion;
  std::error_code unknown;
  state_->size = std::filesystem::file_size(path, unknown);
  state_->handle = ::archive_read_new();
  if (state_->handle == nullptr) {
    throw std::bad_alloc();
  }
  state_->open();
}

ArchiveReader::~ArchiveReader() = default;

bool ArchiveReader::next() {
  ::archive_entry* entry = nullptr;
  for (;;) {
    stop_if_cancelled();
    const int status = ::archive_read_next_header(state_->handle, &entry);
    if (status == ARCHIVE_EOF) {
      return false;
    }
    if (status < ARCHIVE_WARN) {
      throw state_->error(state_->path);
    }
    if (status == ARCHIVE_RETRY) {  // libarchive looks for the next header that is whole
      if (state_->damage.empty()) {
        state_->damage = state_->error(state_->path).what();
      }
    } else if (is_own_file(entry)) {
      break;
    }
  }
  state_->member = member_name(entry);
  state_->member_size = ::archive_entry_size_is_set(entry) != 0
                            ? static_cast<std::uint64_t>(::archive_entry_size(entry))
                            : 0;
  ++state_->position;
  return true;
}

const std::string& ArchiveReader::damage() const {
  return state_->damage;
}

std::size_t ArchiveReader::position() const {
  return state_->position;
}

const std::string& ArchiveReader::member() const {
  return state_->member;
}

std::uint64_t ArchiveReader::size() const {
  return state_->member_size;
}

std::unique_ptr<ByteSource> ArchiveReader::content() {
  const std::string name = state_->path + "/" + state_->member;
  auto source = std::make_unique<MemberSource>(
      name,
      [state = state_.get(), name, made = std::uint64_t{0}](std::span<std::byte> buffer) mutable {
        const ::la_ssize_t count = ::archive_read_data(state->handle, buffer.data(), buffer.size());
        if (count < 0) {
          throw state->error(name);
        }
        made += static_cast<std::uint64_t>(count);
        if (!state->unpacked && !state->expansion.allows(state->size, made)) {
          throw InputError(
              name, "",
              fmt::format("becomes larger than {} times its archive", *state->expansion.times),
              "if you trust the file, add --max-expansion none");
        }
        return static_cast<std::size_t>(count);
      });
  auto peeked = std::make_unique<PeekedSource>(std::move(source));
  const Compression compression = compression_of(peeked->head());
  return decompressed(std::move(peeked), compression, state_->expansion);
}

}  // namespace highwater
