#include "http/api_tokens.hpp"

#include "base/json.hpp"

#include <fmt/format.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>
#include <stdexcept>

namespace tidemark {

namespace {

constexpr std::size_t max_name_bytes = 64;
constexpr std::size_t id_digits = 12;
constexpr std::array grantable{scope::read, scope::write, scope::admin};

std::string hex(const token_hash& hash) {
  return fmt::format("{:02x}", fmt::join(hash, ""));
}

std::optional<token_hash> parse_hash(std::string_view text) {
  token_hash out{};
  if (text.size() != 2 * out.size())
    return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = text[i];
    const auto digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0)
      return std::nullopt;
    out[i / 2] = static_cast<std::uint8_t>(out[i / 2] << 4 | digit);
  }
  return out;
}

/// Whether it has the one form that times are compared in, as texts.
bool is_time(std::string_view text) {
  constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd.dddZ";
  return text.size() == form.size()
         && std::equal(text.begin(), text.end(), form.begin(), [](char c, char like) {
              return like == 'd' ? c >= '0' && c <= '9' : c == like;
            });
}

expected<api_token> parse_entry(const json& entry) {
  if (!entry.is_object())
    return fail(errc::invalid_argument, "it must be an object");
  constexpr std::array<std::string_view, 5> known{"name", "sha256", "scopes", "created", "expires"};
  for (const auto& member : entry.items())
    if (std::ranges::find(known, member.key()) == known.end())
      return fail(errc::invalid_argument,
                  fmt::format("it has an unknown member {}", quote_json(member.key())));
  api_token out;
  auto name = check_token_name(string_or(entry, "name"));
  if (!name)
    return tl::make_unexpected(name.error());
  out.name = std::move(*name);
  const auto hash = parse_hash(string_or(entry, "sha256"));
  if (!hash)
    return fail(errc::invalid_argument, "\"sha256\" must be 64 lower-case hexadecimal digits");
  out.hash = *hash;
  std::vector<std::string> names;
  const auto scopes = entry.find("scopes");
  if (scopes == entry.end() || !scopes->is_array())
    return fail(errc::invalid_argument, "\"scopes\" must be a list");
  for (const auto& each : *scopes)
    names.push_back(each.is_string() ? each.get<std::string>() : dump_json(each));
  auto granted = parse_scopes(names);
  if (!granted)
    return tl::make_unexpected(granted.error());
  out.scopes = std::move(*granted);
  out.created = string_or(entry, "created");
  if (const auto expires = entry.find("expires"); expires != entry.end() && !expires->is_null()) {
    if (!expires->is_string() || !is_time(expires->get_ref<const std::string&>()))
      return fail(errc::invalid_argument, "\"expires\" must be like 2027-01-31T12:00:00.000Z");
    out.expires = expires->get<std::string>();
  }
  return out;
}

} // namespace

std::string_view to_string(scope what) noexcept {
  switch (what) {
  case scope::none: return "none";
  case scope::read: return "read";
  case scope::write: return "write";
  case scope::admin: return "admin";
  }
  return "none";
}

token_hash hash_of_token(std::string_view token) {
  token_hash out{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), out.data());
  return out;
}

std::string api_token::id() const {
  return hex(hash).substr(0, id_digits);
}

bool api_token::grants(scope needed) const {
  return needed == scope::none || scopes.contains(needed) || scopes.contains(scope::admin);
}

bool api_token::expired(timestamp now) const {
  return expires && *expires <= iso8601(now);
}

expected<std::vector<api_token>> parse_tokens(const std::string& file) {
  const auto root = parse_json(file);
  if (!root)
    return fail(errc::invalid_argument, "the tokens file is not JSON", root.error());
  if (!root->is_object() || root->size() != 1 || !root->contains("tokens")
      || !root->at("tokens").is_array())
    return fail(errc::invalid_argument, "the tokens file must be like {\"tokens\":[…]}");
  std::vector<api_token> out;
  for (const auto& entry : root->at("tokens")) {
    auto parsed = parse_entry(entry);
    if (!parsed)
      return fail(errc::invalid_argument,
                  fmt::format("entry {} of the tokens file is wrong", out.size() + 1),
                  parsed.error());
    out.push_back(std::move(*parsed));
  }
  return out;
}

std::string tokens_text(const std::vector<api_token>& tokens) {
  auto list = json::array();
  for (const auto& token : tokens) {
    auto entry = json::object();
    entry["name"] = token.name;
    entry["sha256"] = hex(token.hash);
    entry["scopes"] = json::array();
    for (const auto granted : token.scopes)
      entry["scopes"].push_back(std::string{to_string(granted)});
    entry["created"] = token.created;
    entry["expires"] = token.expires ? json(*token.expires) : json(nullptr);
    list.push_back(std::move(entry));
  }
  auto root = json::object();
  root["tokens"] = std::move(list);
  return root.dump(2) + "\n";
}

expected<std::string> check_token_name(std::string name) {
  const auto fits = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.'
           || c == '_' || c == '-';
  };
  if (name.empty() || name.size() > max_name_bytes || !std::ranges::all_of(name, fits))
    return fail(errc::invalid_argument,
                fmt::format("a token's name is 1 to {} of A-Z a-z 0-9 . _ -", max_name_bytes));
  return name;
}

expected<std::set<scope>> parse_scopes(const std::vector<std::string>& names) {
  std::set<scope> out;
  for (const auto& name : names) {
    const auto* const found =
      std::ranges::find(grantable, name, [](scope s) { return to_string(s); });
    if (found == grantable.end())
      return fail(errc::invalid_argument,
                  fmt::format("{} is no scope; there are read, write, admin", quote_json(name)));
    out.insert(*found);
  }
  if (out.empty())
    return fail(errc::invalid_argument, "a token needs a scope: read, write or admin");
  return out;
}

std::string new_token() {
  constexpr std::string_view letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, 32> random{};
  if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1)
    throw std::runtime_error{"the system has no random numbers to make a token of"};
  std::string out = "tmk_";
  unsigned buffer = 0;
  int bits = 0;
  for (const auto byte : random) {
    buffer = buffer << 8 | byte;
    for (bits += 8; bits >= 6; bits -= 6)
      out += letters[buffer >> (bits - 6) & 63];
  }
  return out + letters[buffer << (6 - bits) & 63];
}

} // namespace tidemark
