#include "tools/fleet/file_stores.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {
namespace {

constexpr ::mode_t kUsualMode = 0666;

[[noreturn]] void fail_by_system(const std::string& path, const std::string& what) {
  throw Error(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

/// @throws UsageError if this run has read the file
OutputClaim claim_of(const OpenFile& file, const std::string& path) {
  struct stat status {};

  return ::fstat(file.descriptor(), &status) == 0 ? OutputClaim(status, path) : OutputClaim();
}

std::string shard_name(const Shard& shard) {
  return fmt::format("shard {}/{}", shard.index, shard.count);
}

}  // namespace

OpenFile::OpenFile(const std::string& path, int flags)
    : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, kUsualMode)) {
  if (descriptor_ < 0) {
    fail_by_system(path, "cannot be opened");
  }
}

OpenFile::~OpenFile() {
  ::close(descriptor_);
}

std::string OpenFile::read(std::uint64_t offset, std::size_t length) const {
  std::string bytes(length, '\0');
  std::size_t done = 0;
  while (done < length) {
    const ::ssize_t got = ::pread(descriptor_, bytes.data() + done, length - done,
                                  static_cast<::off_t>(offset + done));
    if (got <= 0) {
      fail_by_system(path_, "cannot be read");
    }
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

// One call per record: another one starts behind it even if this process ends in between.
void OpenFile::append(const std::string& bytes) const {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ::ssize_t put = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno != EINTR) {
      fail_by_system(path_, "cannot be written");
    }
    done += static_cast<std::size_t>(std::max<::ssize_t>(put, 0));
  }
}

void OpenFile::cut_to(std::uint64_t length) const {
  if (::ftruncate(descriptor_, static_cast<::off_t>(length)) != 0) {
    fail_by_system(path_, "cannot be written");
  }
}

void RecordIndex::add(std::size_t file, const std::vector<PieceRecord>& records) {
  for (const PieceRecord& record : records) {
    jobs_[record.job].try_emplace(record.number, Place{file, record.offset, record.length});
  }
}

const RecordIndex::Place* RecordIndex::find(std::uint32_t job, PieceNumber number) const {
  const auto of_job = jobs_.find(job);
  if (of_job == jobs_.end()) {
    return nullptr;
  }
  const auto found = of_job->second.find(number);
  return found == of_job->second.end() ? nullptr : &found->second;
}

Journal::Journal(const std::string& path, const RunIdentity& run, Resume resume) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  if (exists && resume == Resume::no) {
    throw UsageError(
        fmt::format("--journal {}: exists; add --resume to go on from it, or remove it", path));
  }
  file_ = std::make_unique<OpenFile>(path, O_RDWR | O_CREAT | O_APPEND);
  claim_ = claim_of(*file_, path);
  std::uint64_t end = 0;
  if (exists && std::filesystem::file_size(path, error) > 0) {
    const PieceFile kept = read_piece_file(path);
    if (const std::string why = why_other_run(kept.run, run); !why.empty()) {
      throw InputError(path, "", why, "use a journal of the same run, or another name");
    }
    index_.add(0, kept.records);
    end = kept.end;
  }
  file_->cut_to(end);
  if (end == 0) {
    file_->append(header_line(run));
  }
}

bool Journal::has(std::uint32_t job, PieceNumber number) const {
  return index_.find(job, number) != nullptr;
}

std::string Journal::find(std::uint32_t job, PieceNumber number) const {
  const RecordIndex::Place& place = *index_.find(job, number);
  return file_->read(place.offset, place.length);
}

// Appended by the system as a whole, so threads need no lock.
void Journal::keep(std::uint32_t job, PieceNumber number, const std::string& result) {
  file_->append(record_bytes(job, number, result));
}

PartFiles::PartFiles(const std::vector<std::string>& paths) : paths_(paths) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const PieceFile part = read_piece_file(paths[i]);
    if (!part.run.shard) {
      throw InputError(paths[i], "", "is a journal, no part of a run in shards",
                       "merge what --shard with --output has written");
    }
    if (!part.is_complete) {
      throw InputError(paths[i], fmt::format("byte {}", part.end), "is cut short",
                       "copy the part again, or run its shard again");
    }
    if (i == 0) {
      run_ = part.run;
      by_shard_.resize(part.run.shard->count);
    }
    RunIdentity expected = run_;
    expected.shard->index = part.run.shard->index;
    if (const std::string why = why_other_run(part.run, expected); !why.empty()) {
      throw InputError(paths[i], "", fmt::format("{} than {}", why, paths.front()),
                       "merge the parts of one run");
    }
    std::string& earlier = by_shard_[part.run.shard->index - 1];
    if (!earlier.empty()) {
      throw InputError(paths[i], "",
                       fmt::format("is {}, and so is {}", shard_name(*part.run.shard), earlier),
                       "name each part once");
    }
    earlier = paths[i];
    index_.add(i, part.records);
    files_.push_back(std::make_unique<OpenFile>(paths[i], O_RDONLY));
    remember_input(files_.back()->descriptor(), paths[i]);
  }
  for (std::size_t i = 0; i < by_shard_.size(); ++i) {
    if (by_shard_[i].empty()) {
      throw InputError("", "", shard_name({i + 1, by_shard_.size()}) + " is missing",
                       "name the parts of all shards");
    }
  }
  run_.shard.reset();
}

void PartFiles::check(const RunIdentity& run) const {
  if (const std::string why = why_other_run(run_, run); !why.empty()) {
    throw InputError(paths_.front(), "", why,
                     "merge with the program and the files that the shards ran with");
  }
}

void PartFiles::require_all(std::uint32_t job, std::size_t count) const {
  for (PieceNumber number = 0; number < count; ++number) {
    if (!has(job, number)) {
      throw InputError(by_shard_[number % by_shard_.size()], "",
                       fmt::format("lacks the result of piece {} of {}", number + 1, count),
                       "run its shard again");
    }
  }
}

void PartFiles::require(std::uint32_t job, const std::vector<PieceNumber>& numbers) const {
  for (const PieceNumber number : numbers) {
    if (!has(job, number)) {
      throw InputError(name(), "", fmt::format("lacks the result of piece {}", number + 1),
                       "run the shards again");
    }
  }
}

bool PartFiles::has(std::uint32_t job, PieceNumber number) const {
  return index_.find(job, number) != nullptr;
}

std::string PartFiles::find(std::uint32_t job, PieceNumber number) const {
  const RecordIndex::Place& place = *index_.find(job, number);
  return files_[place.file]->read(place.offset, place.length);
}

PartWriter::PartWriter(const std::string& path, const RunIdentity& run)
    : sink_(open_sink(path)), buffer_(header_line(run)) {}

void PartWriter::add(std::uint32_t job, PieceNumber number, const std::string& result) {
  constexpr std::size_t kFlushAt = std::size_t{1} << 16;
  const std::lock_guard lock(lock_);
  buffer_ += record_bytes(job, number, result);
  ++records_;
  if (buffer_.size() >= kFlushAt) {
    flush();
  }
}

void PartWriter::flush() {
  sink_->write(std::as_bytes(std::span(buffer_.data(), buffer_.size())));
  buffer_.clear();
}

void PartWriter::finish() {
  buffer_ += end_bytes(records_);
  flush();
  sink_->commit();
}

}  // namespace highwater
