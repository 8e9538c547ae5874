#include "traces/formats/bytes/compression.hpp"

#include <algorithm>
#include <array>
#include <ios>
#include <string>
#include <utility>

#include <boost/iostreams/categories.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/bytes/zstd_frames.hpp"

namespace highwater {
namespace {

namespace io = boost::iostreams;

constexpr int kLzmaMemoryLimit = 6;  // LZMA_MEMLIMIT_ERROR of lzma/base.h; Boost has no name for it

struct Magic {
  Compression compression;
  std::size_t size;
  std::array<unsigned char, 6> bytes;
};

constexpr std::array<Magic, 3> kMagics{{
    {Compression::gzip, 3, {0x1f, 0x8b, 0x08}},
    {Compression::xz, 6, {0xfd, '7', 'z', 'X', 'Z', 0x00}},
    {Compression::zstd, 4, {0x28, 0xb5, 0x2f, 0xfd}},
}};

bool starts_with(std::span<const std::byte> head, const Magic& magic) {
  return head.size() >= magic.size &&
         std::equal(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(magic.size),
                    magic.bytes.begin(),
                    [](std::byte a, unsigned char b) { return a == std::byte{b}; });
}

/// The compressed bytes as a Boost.Iostreams source, which remembers how far it was read.
class CompressedInput {
 public:
  using char_type = char;
  using category = io::source_tag;

  explicit CompressedInput(ByteSource& source, bool is_zstd)
      : source_(&source), is_zstd_(is_zstd) {}

  std::streamsize read(char* data, std::streamsize n) {
    const auto buffer = std::as_writable_bytes(std::span(data, static_cast<std::size_t>(n)));
    const std::size_t got = source_->read(buffer);
    consumed_ += got;
    ended_ = got == 0;
    if (is_zstd_) {
      frames_.feed(buffer.first(got));
    }
    return ended_ ? -1 : static_cast<std::streamsize>(got);
  }

  [[nodiscard]] std::uint64_t consumed() const { return consumed_; }

  [[nodiscard]] bool has_ended() const { return ended_; }

  [[nodiscard]] bool ends_inside_frame() const { return is_zstd_ && !frames_.at_boundary(); }

 private:
  ByteSource* source_;
  ZstdFrames frames_;
  std::uint64_t consumed_ = 0;
  bool is_zstd_;
  bool ended_ = false;
};

bool wants_too_much_memory(const std::ios_base::failure& failure) {
  const auto* lzma = dynamic_cast<const io::lzma_error*>(&failure);
  return lzma != nullptr && lzma->error() == kLzmaMemoryLimit;
}

/// One Boost filter on top of a byte source. The filter is driven directly, because a stream or
/// stream buffer around it would swallow its exceptions.
template <class Filter>
class FilteredSource : public ByteSource {
 public:
  FilteredSource(std::unique_ptr<ByteSource> inner, Compression compression, ExpansionLimit limit,
                 Filter filter)
      : inner_(std::move(inner)),
        input_(*inner_, compression == Compression::zstd),
        filter_(std::move(filter)),
        compression_(compression),
        limit_(limit) {}

  std::size_t read(std::span<std::byte> buffer) override {
    if (done_ || buffer.empty()) {
      return 0;
    }
    try {
      const std::size_t n = read_some(buffer);
      produced_ += n;
      check_expansion();
      return n;
    } catch (const std::ios_base::failure& failure) {
      fail(failure);
    }
  }

  [[nodiscard]] const std::string& name() const override { return inner_->name(); }

 private:
  std::size_t read_some(std::span<std::byte> buffer) {
    for (;;) {
      const std::uint64_t before = input_.consumed();
      const std::streamsize n = filter_.read(input_, reinterpret_cast<char*>(buffer.data()),
                                             static_cast<std::streamsize>(buffer.size()));
      if (n > 0) {
        return static_cast<std::size_t>(n);
      }
      if (n < 0 || input_.consumed() == before) {
        return finish();
      }
    }
  }

  std::size_t finish() {
    done_ = true;
    if (!input_.has_ended() || input_.ends_inside_frame()) {
      fail(std::ios_base::failure("no end marker"));
    }
    return 0;
  }

  void check_expansion() const {
    if (!limit_.allows(input_.consumed(), produced_)) {
      throw InputError(
          name(), fmt::format("before byte {}", input_.consumed()),
          fmt::format("decompression gave {} bytes, more than {} times as many as it has read",
                      produced_, limit_.times.value_or(0)),
          "real snapshots grow 5 to 58 times; if you trust the file, add --max-expansion none");
    }
  }

  [[noreturn]] void fail(const std::ios_base::failure& failure) {
    const std::string_view program = to_string(compression_);
    const std::string where = fmt::format("before byte {}", input_.consumed());
    if (wants_too_much_memory(failure)) {
      throw InputError(name(), where, "decompression would need more than 100 MiB of memory",
                       fmt::format("decompress it with '{} -d' first", program));
    }
    if (input_.has_ended()) {
      throw InputError(name(), fmt::format("byte {}", input_.consumed()),
                       fmt::format("the {} stream ends early", program),
                       "the file is truncated: copy it again");
    }
    throw InputError(name(), where, fmt::format("the {} stream is damaged", program),
                     fmt::format("run '{} -t' for details, and copy the file again", program));
  }

  std::unique_ptr<ByteSource> inner_;
  CompressedInput input_;
  Filter filter_;
  Compression compression_;
  ExpansionLimit limit_;
  std::uint64_t produced_ = 0;
  bool done_ = false;
};

template <class Filter>
std::unique_ptr<ByteSource> filtered(std::unique_ptr<ByteSource> inner, Compression compression,
                                     ExpansionLimit limit, Filter filter) {
  return std::make_unique<FilteredSource<Filter>>(std::move(inner), compression, limit,
                                                  std::move(filter));
}

}  // namespace

std::string system_reason(int error) {
  return std::generic_category().message(error);
}

std::string_view to_string(Compression compression) {
  constexpr std::array<std::string_view, 4> kNames{"none", "gzip", "xz", "zstd"};
  return kNames.at(static_cast<std::size_t>(compression));
}

Compression compression_of(std::span<const std::byte> head) {
  for (const Magic& magic : kMagics) {
    if (starts_with(head, magic)) {
      return magic.compression;
    }
  }
  return Compression::none;
}

Compression compression_of(const std::filesystem::path& path) {
  const auto ending = path.extension();
  if (ending == ".gz") {
    return Compression::gzip;
  }
  if (ending == ".xz") {
    return Compression::xz;
  }
  return ending == ".zst" ? Compression::zstd : Compression::none;
}

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> inner, Compression compression,
                                         ExpansionLimit limit) {
  switch (compression) {
    case Compression::gzip:
      return filtered(std::move(inner), compression, limit,
                      io::gzip_decompressor(io::gzip::default_window_bits, kFilterBuffer));
    case Compression::xz:
      return filtered(std::move(inner), compression, limit, io::lzma_decompressor(kFilterBuffer));
    case Compression::zstd:
      return filtered(std::move(inner), compression, limit, io::zstd_decompressor(kFilterBuffer));
    case Compression::none:
      break;
  }
  return inner;
}

}  // namespace highwater
