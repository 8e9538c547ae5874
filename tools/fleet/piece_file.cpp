#include "tools/fleet/piece_file.hpp"

#include <cstring>
#include <fstream>

#include <boost/crc.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

constexpr std::string_view kSchema = "highwater.pieces/1";
constexpr std::uint32_t kEndJob = 0xffffffff;
constexpr std::size_t kLongestHeader = std::size_t{16} << 20;

/// In front of each record's bytes.
struct RecordHead {
  std::uint32_t job = 0;
  std::uint32_t length = 0;
  PieceNumber number = 0;
  std::uint32_t check = 0;
  std::uint32_t unused = 0;  // so that no byte of a file is undefined
};

std::uint32_t check_of(RecordHead head, std::string_view bytes) {
  head.check = 0;
  boost::crc_32_type crc;
  crc.process_bytes(&head, sizeof head);
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

[[noreturn]] void fail(const std::string& path, const std::string& where,
                       const std::string& problem) {
  throw InputError(path, where, problem,
                   "name a file that --journal, or --shard with --output, has written");
}

RunIdentity identity_of(const json::object& header) {
  RunIdentity run;
  run.version = header.at("version").as_string();
  for (const json::value& word : header.at("arguments").as_array()) {
    run.arguments.emplace_back(word.as_string());
  }
  run.inputs = header.at("inputs").as_string();
  if (header.contains("shard")) {
    run.shard = Shard{header.at("shard").to_number<std::uint64_t>(),
                      header.at("shards").to_number<std::uint64_t>()};
    if (!is_possible(*run.shard)) {
      throw std::out_of_range("shard");
    }
  }
  return run;
}

RunIdentity read_header(std::ifstream& file, const std::string& path) {
  std::string line;
  for (char c = 0; file.get(c) && c != '\n' && line.size() < kLongestHeader;) {
    line += c;
  }
  try {
    const json::value header = json::parse(line);
    if (header.at("schema").as_string() != kSchema) {
      fail(path, "", "holds no results of pieces");
    }
    return identity_of(header.as_object());
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    fail(path, "", "holds no results of pieces");
  }
}

/// Reads records up to the end of the file, or to the first that is not whole.
class RecordReader {
 public:
  RecordReader(std::ifstream& file, const std::string& path, PieceFile& result)
      : file_(&file), path_(&path), result_(&result) {}

  void read_all() {
    result_->end = static_cast<std::uint64_t>(file_->tellg());
    file_->seekg(0, std::ios::end);
    size_ = static_cast<std::uint64_t>(file_->tellg());
    file_->seekg(static_cast<std::streamoff>(result_->end));
    while (!result_->is_complete && read_one()) {
    }
  }

 private:
  bool read_one() {
    RecordHead head;
    if (!file_->read(reinterpret_cast<char*>(&head), sizeof head)) {
      return false;
    }
    const std::uint64_t begin = result_->end + sizeof head;
    if (head.length > size_ - begin) {
      return false;  // cut short
    }
    bytes_.resize(head.length);
    file_->read(bytes_.data(), head.length);
    if (!*file_ || head.check != check_of(head, bytes_)) {
      return is_last(begin + head.length);
    }
    add(head, begin);
    return true;
  }

  /// A damaged record is the end of a crashed run, or else a damaged file.
  [[nodiscard]] bool is_last(std::uint64_t end) const {
    if (end < size_) {
      fail(*path_, fmt::format("byte {}", result_->end), "a damaged record");
    }
    return false;
  }

  void add(const RecordHead& head, std::uint64_t begin) {
    result_->end = begin + head.length;
    if (head.job == kEndJob) {
      result_->is_complete = head.number == result_->records.size();
    } else {
      result_->records.push_back({head.job, head.number, begin, head.length});
    }
  }

  std::ifstream* file_;
  const std::string* path_;
  PieceFile* result_;
  std::uint64_t size_ = 0;
  std::string bytes_;
};

std::string with_head(std::uint32_t job, PieceNumber number, std::string_view result) {
  RecordHead head{
      .job = job, .length = static_cast<std::uint32_t>(result.size()), .number = number};
  head.check = check_of(head, result);
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  bytes.append(result);
  return bytes;
}

}  // namespace

PieceFile read_piece_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw InputError(path, "", std::strerror(errno), "check its name and permissions");
  }
  PieceFile result;
  result.run = read_header(file, path);
  RecordReader(file, path, result).read_all();
  if (file.bad()) {  // what looks cut short is not
    throw InputError(path, fmt::format("byte {}", result.end), "cannot be read",
                     "check the file and the disk");
  }
  return result;
}

std::string header_line(const RunIdentity& run) {
  json::object header{{"schema", kSchema},
                      {"version", run.version},
                      {"arguments", json::array(run.arguments.begin(), run.arguments.end())},
                      {"inputs", run.inputs}};
  if (run.shard) {
    header["shard"] = run.shard->index;
    header["shards"] = run.shard->count;
  }
  return json::serialize(header) + "\n";
}

std::string record_bytes(std::uint32_t job, PieceNumber number, std::string_view result) {
  return with_head(job, number, result);
}

std::string end_bytes(std::uint64_t records) {
  return with_head(kEndJob, records, "");
}

std::string why_other_run(const RunIdentity& kept, const RunIdentity& run) {
  if (kept.version != run.version) {
    return fmt::format("is of highwater {}, this is {}", kept.version, run.version);
  }
  if (kept.arguments != run.arguments) {
    return fmt::format("is of another command: highwater {}", fmt::join(kept.arguments, " "));
  }
  if (kept.inputs != run.inputs) {
    return "is of other inputs: a file that the command names has changed";
  }
  if (kept.shard != run.shard) {
    return "is of another shard";
  }
  return "";
}

}  // namespace highwater
