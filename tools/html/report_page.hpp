// The HTML report as one page: our template, styles and scripts, the charting libraries, the data.
//
// The page needs no network and is forbidden to use one: its content security policy lets only the
// scripts with the page's nonce run. Data stands in a script element of type application/json, in
// which no text can end the element (page_json), and reaches the document as text only.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/fwd.hpp>

namespace highwater {

/// `data` is shown by the page; the same data gives the same page.
std::string report_page(const boost::json::object& data);

/// JSON that may stand inside a script element: no "<", ">", "&", U+2028 or U+2029 as itself.
std::string page_json(const boost::json::object& data);

}  // namespace highwater
