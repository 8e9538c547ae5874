// A page without scripts that needs no network: what such pages begin with, and text in them.
#pragma once

#include <string>
#include <string_view>

namespace highwater {

/// Up to <body>, in light or dark as the reader's system is; `style` is the page's own.
/// @pre `title` is safe as it is
std::string plain_page_start(std::string_view title, std::string_view style);

/// As the text or the attribute of an element.
std::string escaped(std::string_view text);

}  // namespace highwater
