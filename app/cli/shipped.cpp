#include "app/cli/shipped.hpp"

#include <algorithm>
#include <filesystem>

namespace tapestry::app {

namespace {

namespace fs = std::filesystem;

bool is_shipped_folder(const fs::path& folder) {
  std::error_code failure;
  return fs::is_directory(folder / "costs", failure) &&
         fs::is_directory(folder / "schema", failure);
}

std::string find_shipped_folder() {
  if (is_shipped_folder("scenarios")) return "scenarios";
  std::error_code failure;
  for (fs::path place = fs::read_symlink("/proc/self/exe", failure); place.has_relative_path();
       place = place.parent_path())
    if (is_shipped_folder(place / "scenarios")) return (place / "scenarios").string();
  return "scenarios";
}

std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<std::string> paths;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(folder, failure))
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

const std::string& shipped_folder() {
  static const std::string folder = find_shipped_folder();
  return folder;
}

std::vector<std::string> shipped_scenarios() { return files_of(shipped_folder()); }

std::vector<std::string> shipped_lessons() {
  return files_of(fs::path(shipped_folder()) / "lessons");
}

// Not the sums that tests hold against the tables.
std::vector<std::string> shipped_costs() {
  std::vector<std::string> paths = files_of(fs::path(shipped_folder()) / "costs");
  std::erase_if(
      paths, [](const std::string& path) { return fs::path(path).filename() == "closures.yaml"; });
  return paths;
}

}  // namespace tapestry::app
