#include "traces/formats/bytes/byte_sink.hpp"

#include <ios>
#include <utility>

#include <boost/iostreams/categories.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zstd.hpp>

#include "traces/error.hpp"
#include "traces/formats/bytes/compression.hpp"
#include "traces/formats/bytes/file_sink.hpp"

namespace highwater {
namespace {

namespace io = boost::iostreams;

/// What a Boost compressor writes to.
class CompressedOutput {
 public:
  using char_type = char;
  using category = io::sink_tag;

  explicit CompressedOutput(ByteSink& sink) : sink_(&sink) {}

  std::streamsize write(const char* data, std::streamsize n) {
    sink_->write(std::as_bytes(std::span(data, static_cast<std::size_t>(n))));
    return n;
  }

 private:
  ByteSink* sink_;
};

template <class Filter>
class FilteredSink : public ByteSink {
 public:
  FilteredSink(std::unique_ptr<ByteSink> inner, Filter filter)
      : inner_(std::move(inner)), output_(*inner_), filter_(std::move(filter)) {}

  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const std::streamsize n = filter_.write(output_, reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<std::streamsize>(bytes.size()));
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
  }

  void commit() override {
    filter_.close(output_, std::ios_base::out);
    inner_->commit();
  }

  [[nodiscard]] const std::string& name() const override { return inner_->name(); }

 private:
  std::unique_ptr<ByteSink> inner_;
  CompressedOutput output_;
  Filter filter_;
};

template <class Filter>
std::unique_ptr<ByteSink> filtered(std::unique_ptr<ByteSink> inner, Filter filter) {
  return std::make_unique<FilteredSink<Filter>>(std::move(inner), std::move(filter));
}

std::unique_ptr<ByteSink> compressed(std::unique_ptr<ByteSink> inner, Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return filtered(std::move(inner), io::gzip_compressor(io::gzip_params(), kFilterBuffer));
    case Compression::xz:
      return filtered(std::move(inner), io::lzma_compressor(io::lzma_params(), kFilterBuffer));
    case Compression::zstd:
      return filtered(std::move(inner), io::zstd_compressor(io::zstd_params(), kFilterBuffer));
    case Compression::none:
      break;
  }
  return inner;
}

}  // namespace

void write_text(ByteSink& sink, std::string_view text) {
  sink.write(std::as_bytes(std::span(text)));
  sink.commit();
}

std::unique_ptr<ByteSink> open_sink(const std::filesystem::path& path, Overwrite overwrite) {
  if (path.empty()) {
    throw UsageError("the path of the output is empty; name a file, or - for standard output");
  }
  if (path == "-") {
    return standard_output_sink(overwrite);
  }
  return compressed(file_sink(path, overwrite), compression_of(path));
}

}  // namespace highwater
