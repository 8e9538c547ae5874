// One use of each library, of the parts that the program uses.
#include "uses.hpp"

#include <archive.h>
#include <sqlite3.h>
#include <sstream>
#include <toml++/toml.h>
#include <yaml-cpp/yaml.h>

#include <boost/iostreams/filter/bzip2.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filter/lzma.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <boost/json.hpp>
#include <boost/program_options.hpp>
#include <fmt/format.h>

namespace {

void use_compression() {
  std::istringstream text;
  boost::iostreams::filtering_istream stream;
  stream.push(boost::iostreams::gzip_decompressor());
  stream.push(boost::iostreams::lzma_decompressor());
  stream.push(boost::iostreams::zstd_decompressor());
  stream.push(boost::iostreams::bzip2_decompressor());
  stream.push(text);
}

void use_archives() {
  ::archive* const reader = ::archive_read_new();
  ::archive_read_support_format_tar(reader);
  ::archive_read_support_format_zip(reader);
  ::archive_read_free(reader);
}

void use_database() {
  ::sqlite3* database = nullptr;
  ::sqlite3_open(":memory:", &database);
  ::sqlite3_close(database);
}

}  // namespace

int uses(const char* text) {
  use_compression();
  use_archives();
  use_database();
  const boost::program_options::options_description options(text);
  const auto size = fmt::format("{}", boost::json::serialize(boost::json::parse(text))).size() +
                    YAML::Load(text).size() + toml::parse(text).size() + options.options().size();
  return static_cast<int>(size);
}
