#include "tools/html/plain_page.hpp"

#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

constexpr std::string_view kPlainHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>)";

constexpr std::string_view kPlainStyle = R"(</title>
<style>
:root { color-scheme: light dark; --ink: light-dark(#1c2430, #e6ebf1); --rule: light-dark(#d5dbe2, #3a4450); }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); margin: 2rem; }
svg { display: block; margin: .5rem 0; }
table { border-collapse: collapse; }
th, td { padding: .2rem .8rem .2rem 0; text-align: left; border-bottom: 1px solid var(--rule); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
)";

}  // namespace

std::string plain_page_start(std::string_view title, std::string_view style) {
  std::string start(kPlainHead);
  start += title;
  start += kPlainStyle;
  start += style;
  return start + "</style>\n</head>\n<body>\n";
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : printable(text)) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace highwater
