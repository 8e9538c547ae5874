// The compressions that files may have on the way in and out: gzip, xz and zstd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "traces/formats/bytes/byte_source.hpp"

namespace highwater {

/// Bytes that a compressor or decompressor holds at a time.
inline constexpr std::ptrdiff_t kFilterBuffer = 64 * 1024;

/// The system's words for an errno, for messages.
std::string system_reason(int error);

enum class Compression : std::uint8_t { none, gzip, xz, zstd };

/// The command-line program of a compression ("gzip", "xz", "zstd"), for messages.
std::string_view to_string(Compression compression);

/// By the magic number at the front of a file.
Compression compression_of(std::span<const std::byte> head);

/// By the extension: .gz, .xz, .zst.
Compression compression_of(const std::filesystem::path& path);

/// The decompressed content of `inner`; several members one after the other read as one.
/// Reading throws InputError if the stream is damaged, ends before its end marker, or becomes
/// larger than `limit` allows.
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> inner, Compression compression,
                                         ExpansionLimit limit = {});

}  // namespace highwater
