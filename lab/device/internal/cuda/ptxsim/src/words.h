// Cutting text.
#pragma once
#include <string>
#include <vector>

namespace ptx {

inline std::string trim(const std::string& s) {
  size_t a = s.find_first_not_of(" \t\r\n"), b = s.find_last_not_of(" \t\r\n");
  return a == std::string::npos ? "" : s.substr(a, b - a + 1);
}
inline bool starts(const std::string& s, const std::string& with) { return s.compare(0, with.size(), with) == 0; }

// split cuts at a character that is in no bracket.
inline std::vector<std::string> split(const std::string& s, char at) {
  std::vector<std::string> all(1);
  int depth = 0;
  for (char c : s) {
    depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (c == at && depth == 0) all.emplace_back();
    else all.back() += c;
  }
  for (auto& one : all) one = trim(one);
  if (all.back().empty()) all.pop_back();
  return all;
}

// words cuts at blanks and commas.
inline std::vector<std::string> words(const std::string& s) {
  std::vector<std::string> all;
  for (size_t at = 0; (at = s.find_first_not_of(" \t,", at)) != std::string::npos;) {
    size_t end = std::min(s.find_first_of(" \t,", at), s.size());
    all.push_back(s.substr(at, end - at));
    at = end;
  }
  return all;
}

} // namespace ptx
