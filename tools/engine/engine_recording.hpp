// What a run of the torch engine leaves in its folder.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "workloads/training/generate.hpp"

namespace highwater {

/// The text under `key`; empty if there is none.
std::string text_of(const boost::json::object& object, std::string_view key);

std::string read_text(const std::filesystem::path& path);

/// Checks the engine's answer about the run in `folder`; the folder in it that has the recording
/// and nothing else. @throws InputError with the reason if it was refused or failed
std::filesystem::path accept_recording(const boost::json::object& answer,
                                       const std::filesystem::path& folder);

/// The key of what a reader should know of the model and its batch, in an answer and a recording.
inline constexpr const char* kNote = "note";

/// The key of a sentence in both: what the answer takes for granted, and most scripts say
/// otherwise.
inline constexpr const char* kAssumed = "assumed";

/// The files in the folder of a recording that was accepted.
inline constexpr std::array kRecordingFiles{"record.pickle", "trainable", kNote, kAssumed};

/// The text of an accepted recording under kNote or kAssumed; empty under any other key.
std::string kept_text(const std::filesystem::path& recording, std::string_view key);

/// The requests of a recording that was accepted. @throws InputError @throws std::logic_error
GeneratedRun read_recording(const std::filesystem::path& recording);

}  // namespace highwater
