// Rules: what readers see is the decompressed content, whole, or an error that says what to do.
#include "traces/formats/bytes/byte_source.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "tests/support/temp_dir.hpp"
#include "traces/formats/bytes/peeked_source.hpp"
#include "traces/formats/bytes/zstd_frames.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Matchers::Contains;

namespace {

/// Several blocks of every compressor, and not too regular.
std::string sample_text() {
  std::string text;
  std::uint32_t state = 1;
  while (text.size() < 300000) {
    state = state * 1664525 + 1013904223;
    text += std::to_string(state >> 12U) + '\n';
  }
  return text;
}

void write_through_sink(const std::filesystem::path& path, std::string_view content) {
  const auto sink = open_sink(path);
  sink->write(std::as_bytes(std::span(content)));
  sink->commit();
}

std::string read_path(const std::filesystem::path& path) {
  return read_all(*open_source(path));
}

}  // namespace

TEST_CASE("byte_source: content comes back whole from every compression", "[traces][formats]") {
  const auto name = GENERATE(as<std::string>{}, "plain", "a.gz", "a.xz", "a.zst");
  const auto content = GENERATE(as<std::string>{}, "", "x", sample_text());
  const TempDir dir;
  write_through_sink(dir / name, content);
  CAPTURE(name, content.size());
  CHECK(read_path(dir / name) == content);
}

TEST_CASE("byte_source: compression is recognised by content, not by name", "[traces][formats]") {
  const TempDir dir;
  write_through_sink(dir / "a.xz", "hello");
  std::filesystem::rename(dir / "a.xz", dir / "a.pickle");
  CHECK(read_path(dir / "a.pickle") == "hello");
  write_file(dir / "b.gz", "not compressed");
  CHECK(read_path(dir / "b.gz") == "not compressed");
}

TEST_CASE("byte_source: content that outgrows the compressed file is refused at once",
          "[traces][formats]") {
  const auto name = GENERATE(as<std::string>{}, "a.gz", "a.xz", "a.zst");
  const TempDir dir;
  write_through_sink(dir / name, std::string(2000000, ' '));
  CHECK(read_path(dir / name).size() == 2000000);  // less than any file may become
  const auto read = [&](ExpansionLimit limit) {
    return input_error([&] { read_all(*open_source(dir / name, {limit, {}})); });
  };
  CHECK_THAT(read({.times = 10, .always = 100000}), Contains(name + ": before byte ") &&
                                                        Contains("more than 10 times as many") &&
                                                        Contains("--max-expansion none"));
  CHECK_THAT(read({.times = 1000000, .always = 100000}), Catch::Equals(""));
  CHECK_THAT(read({.times = std::nullopt, .always = 0}), Catch::Equals(""));
}

TEST_CASE("byte_source: a listener is told how much of the file was read", "[traces][formats]") {
  const TempDir dir;
  write_through_sink(dir / "a.gz", sample_text());
  std::uint64_t last = 0;
  std::uint64_t size = 0;
  const auto source = open_source(dir / "a.gz", {{}, [&](std::uint64_t done, std::uint64_t total) {
                                                   CHECK(done >= last);
                                                   last = done;
                                                   size = total;
                                                 }});
  read_all(*source);
  CHECK(size == std::filesystem::file_size(dir / "a.gz"));
  CHECK(last == size);
}

TEST_CASE("byte_source: members one after the other read as one file", "[traces][formats]") {
  const auto name = GENERATE(as<std::string>{}, "a.gz", "a.xz", "a.zst");
  const TempDir dir;
  const std::string text = sample_text();
  write_through_sink(dir / name, text);
  const std::string member = read_file(dir / name);
  write_file(dir / name, member + member);
  CHECK(read_path(dir / name) == text + text);
}

// Boost ends a zstd file with an empty frame: a cut before that one loses nothing.
TEST_CASE("byte_source: a cut that loses content never goes unnoticed", "[traces][formats]") {
  const auto name = GENERATE(as<std::string>{}, "a.gz", "a.xz", "a.zst");
  const TempDir dir;
  const std::string text = sample_text();
  write_through_sink(dir / name, text);
  const std::string whole = read_file(dir / name);
  for (std::size_t i = 0; i < 60; ++i) {
    const std::size_t size = i < 40 ? whole.size() - 1 - i : 7 + (i - 40) * whole.size() / 21;
    write_file(dir / name, std::string_view(whole).substr(0, size));
    CAPTURE(name, size, whole.size());
    std::string read;
    const std::string message = input_error([&] { read = read_path(dir / name); });
    if (read != text) {
      CHECK_THAT(message, Contains("byte " + std::to_string(size)) &&
                              Contains("ends early; the file is truncated"));
    }
  }
}

TEST_CASE("byte_source: a damaged compressed file names itself and a way to check it",
          "[traces][formats]") {
  // Boost writes no checksum into zstd files: only damage to their structure shows.
  const auto [name, program, where] = GENERATE(table<std::string, std::string, std::size_t>(
      {{"a.gz", "gzip", 50000}, {"a.xz", "xz", 50000}, {"a.zst", "zstd", 6}}));
  const TempDir dir;
  write_through_sink(dir / name, sample_text());
  std::string content = read_file(dir / name);
  content.replace(where, 16, 16, '\xa5');
  write_file(dir / name, content);
  CHECK_THAT(input_error([&, n = name] { read_path(dir / n); }),
             Contains((dir / name).string()) && Contains(program + " stream is damaged") &&
                 Contains("'" + program + " -t'"));
}

TEST_CASE("byte_source: what is no readable file is named with a remedy", "[traces][formats]") {
  const TempDir dir;
  const std::string missing = (dir / "missing").string();
  CHECK(input_error([&] { open_source(missing); }) == missing + ": does not exist; check the path");
  CHECK(input_error([&] { open_source("/tmp"); }) ==
        "/tmp: is a directory; name a snapshot or trace file inside it");
  CHECK(input_error([] { open_source(""); }) ==
        "the path of the input is empty; name a file, or - for standard input");
}

TEST_CASE("byte_source: a file without read permission is refused", "[traces][formats]") {
  if (::geteuid() == 0) {
    return;  // root reads everything
  }
  const TempDir dir;
  write_file(dir / "secret", "x");
  ::chmod((dir / "secret").c_str(), 0);
  CHECK_THAT(input_error([&] { open_source(dir / "secret"); }),
             Contains("is not readable; check its permissions"));
}

TEST_CASE("peeked_source: what was looked at is read again in its place", "[traces][formats]") {
  const std::size_t size = GENERATE(0U, 1U, 4095U, 4096U, 4097U, 20000U);
  const std::string text = sample_text().substr(0, size);
  PeekedSource source(memory_source(std::as_bytes(std::span(text)), "m"));
  CHECK(to_text(source.head()) == text.substr(0, PeekedSource::kHead));
  CHECK(read_all(source) == text);
  CHECK(source.name() == "m");
}

TEST_CASE("zstd_frames: the end of a frame is a boundary, however the bytes come",
          "[traces][formats]") {
  const TempDir dir;
  write_through_sink(dir / "a.zst", sample_text());
  const ByteString frame = to_bytes(read_file(dir / "a.zst"));
  const std::size_t piece = GENERATE(1U, 3U, 4096U);
  ZstdFrames frames;
  for (std::size_t i = 0; i < frame.size(); i += piece) {
    const bool may_be_end = i + 10 > frame.size();  // an empty frame of 9 bytes comes last
    CHECK((may_be_end || frames.at_boundary() == (i == 0)));
    frames.feed(std::span(frame).subspan(i, std::min(piece, frame.size() - i)));
  }
  CHECK(frames.at_boundary());
}

TEST_CASE("zstd_frames: skippable frames are followed too", "[traces][formats]") {
  ZstdFrames frames;
  frames.feed(to_bytes(std::string_view("\x50\x2a\x4d\x18\x03\0\0\0abc", 11)));
  CHECK(frames.at_boundary());
  frames.feed(to_bytes("P"));
  CHECK_FALSE(frames.at_boundary());
}
