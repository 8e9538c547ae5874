// Stores of results in files: a journal that grows, and the parts that shards have written.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/fleet/piece_file.hpp"
#include "tools/fleet/result_store.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"

namespace highwater {

/// A file open for reading at any place.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags);
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  [[nodiscard]] std::string read(std::uint64_t offset, std::size_t length) const;

  /// All of it with one call, at the end.
  void append(const std::string& bytes) const;

  void cut_to(std::uint64_t length) const;

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_;
};

/// Where results are: by job and number.
class RecordIndex {
 public:
  struct Place {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
  };

  void add(std::size_t file, const std::vector<PieceRecord>& records);

  [[nodiscard]] const Place* find(std::uint32_t job, PieceNumber number) const;

 private:
  /// By job: a file may hold any number there, so none is a place in a list.
  std::map<std::uint32_t, std::unordered_map<PieceNumber, Place>> jobs_;
};

enum class Resume : bool { no, yes };

/// `--journal FILE`: every result is appended as soon as it is there.
class Journal : public ResultStore {
 public:
  /// @throws UsageError if the file exists and is not to be resumed, or is an input; InputError if
  /// it is of another run
  Journal(const std::string& path, const RunIdentity& run, Resume resume);

  [[nodiscard]] bool has(std::uint32_t job, PieceNumber number) const override;
  [[nodiscard]] std::string find(std::uint32_t job, PieceNumber number) const override;
  void keep(std::uint32_t job, PieceNumber number, const std::string& result) override;

 private:
  RecordIndex index_;
  std::unique_ptr<OpenFile> file_;
  OutputClaim claim_;  ///< of that file
};

/// What `merge` reads.
class PartFiles : public ResultStore {
 public:
  /// @throws InputError for parts that are incomplete, missing, given twice, or of different runs
  explicit PartFiles(const std::vector<std::string>& paths);

  [[nodiscard]] const RunIdentity& run() const { return run_; }

  /// Of the first part, for messages.
  [[nodiscard]] const std::string& name() const { return paths_.front(); }

  /// Whoever merges has given `option` beside the parts.
  void add_typed(std::string option) { typed_.push_back(std::move(option)); }

  [[nodiscard]] bool is_typed(const std::string& option) const {
    return std::ranges::find(typed_, option) != typed_.end();
  }

  /// From now on they are those of this command line, which has the same pieces.
  void use_for(std::vector<std::string> arguments) { run_.arguments = std::move(arguments); }

  /// @throws InputError unless the parts are of this run
  void check(const RunIdentity& run) const;

  /// @throws InputError unless they have the results of pieces 0 to `count` - 1: to carry out what
  /// parts lack would take as long as whoever made them up likes
  void require_all(std::uint32_t job, std::size_t count) const;

  /// The same for some pieces.
  void require(std::uint32_t job, const std::vector<PieceNumber>& numbers) const;

  [[nodiscard]] bool has(std::uint32_t job, PieceNumber number) const override;
  [[nodiscard]] std::string find(std::uint32_t job, PieceNumber number) const override;

  void keep(std::uint32_t /*job*/, PieceNumber /*number*/, const std::string& /*result*/) override {
  }

 private:
  std::vector<std::string> paths_;     ///< as they were given
  std::vector<std::string> by_shard_;  ///< the same in order
  std::vector<std::string> typed_;     ///< options
  RunIdentity run_;
  RecordIndex index_;
  std::vector<std::unique_ptr<OpenFile>> files_;
};

/// The part of one shard; the file appears when it is finished.
class PartWriter {
 public:
  PartWriter(const std::string& path, const RunIdentity& run);

  void add(std::uint32_t job, PieceNumber number, const std::string& result);

  /// Once, last.
  void finish();

 private:
  void flush();

  std::mutex lock_;
  std::unique_ptr<ByteSink> sink_;
  std::string buffer_;
  std::uint64_t records_ = 0;
};

}  // namespace highwater
