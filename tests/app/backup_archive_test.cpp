// A backup in one file: what is written is read again, and whatever else somebody hands us is refused.
#include "app/archive_library.hpp"
#include "app/backup_archive.hpp"
#include "base/json.hpp"
#include "storage/backup_repository.hpp"
#include "tests/storage/support.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <sys/stat.h>

using namespace tidemark;
using testing::overwrite;
using testing::slurp;
using testing::temporary_directory;

namespace {

digest hash_of(std::string_view text) {
  running_sha256 hasher;
  hasher.add(text);
  return hasher.end();
}

/// The files of a log by their names.
using contents = std::map<std::string, std::string>;

backup_manifest manifest_of(const contents& files) {
  backup_manifest manifest{"id", timestamp{1'764'435'909'042'000'000}, epoch{1}, position{3}, {}};
  for (const auto& [name, text] : files)
    manifest.files.push_back({name, text.size(), hash_of(text)});
  return manifest;
}

const contents small_log{{"CURRENT", "MANIFEST-000001\n"},
                         {"000012.sst", std::string(3'000'000, 'x')},
                         {"blobs/ab/abcd", "a long line"},
                         {"empty", ""}};

expected<void> write_archive(const std::filesystem::path& file, const contents& files,
                             bool overwrites = false) {
  auto out = backup_archive_writer::create(file, overwrites);
  if (!out)
    return tl::unexpected(out.error());
  const auto manifest = manifest_of(files);
  if (auto begun = out->begin(manifest); !begun)
    return begun;
  for (const auto& each : manifest.files) {
    auto done = out->begin_object(each)
                  .and_then([&] { return out->write(files.at(each.name)); })
                  .and_then([&] { return out->end_object(); });
    if (!done)
      return done;
  }
  return out->finish();
}

expected<contents> read_archive(const std::filesystem::path& file) {
  contents found;
  std::string* at = nullptr;
  backup_archive_visitor visit;
  visit.begin = [](const backup_manifest&) { return expected<void>{}; };
  visit.begin_object = [&](const backup_file& each) {
    at = &found[each.name];
    return expected<void>{};
  };
  visit.piece = [&](std::string_view piece) {
    *at += piece;
    return expected<void>{};
  };
  visit.end_object = [] { return expected<void>{}; };
  return read_backup_archive(file, visit).map([&](const backup_manifest&) { return found; });
}

/// One entry as an attacker writes it.
struct forged {
  std::string name;
  std::string text;
  unsigned type = AE_IFREG;
  std::string link = {};
  bool is_hard_link = false;
};

void forge(const std::filesystem::path& file, const std::vector<forged>& entries) {
  const auto& lib = **archive_library::instance();
  auto text = std::string{};
  auto* out = lib.write_new();
  lib.write_set_format_pax_restricted(out);
  lib.write_add_filter_zstd(out);
  lib.write_set_bytes_in_last_block(out, 1);
  const auto keep = [](archive*, void* user, const void* bytes, std::size_t size) {
    static_cast<std::string*>(user)->append(static_cast<const char*>(bytes), size);
    return static_cast<la_ssize_t>(size);
  };
  lib.write_open(out, &text, nullptr, keep, nullptr);
  for (const auto& each : entries) {
    auto* entry = lib.entry_new();
    lib.entry_set_pathname(entry, each.name.c_str());
    lib.entry_set_filetype(entry, each.type);
    lib.entry_set_perm(entry, 0600);
    lib.entry_set_size(entry, static_cast<la_int64_t>(each.text.size()));
    if (!each.link.empty() && each.is_hard_link)
      ::archive_entry_set_hardlink(entry, each.link.c_str());
    else if (!each.link.empty())
      ::archive_entry_set_symlink(entry, each.link.c_str());
    lib.write_header(out, entry);
    if (!each.text.empty())
      lib.write_data(out, each.text.data(), each.text.size());
    lib.entry_free(entry);
  }
  lib.write_close(out);
  lib.write_free(out);
  overwrite(file, text);
}

forged list_of(const backup_manifest& manifest) {
  return {"backups/" + backup_name(manifest.time) + ".json", dump_json(to_json(manifest))};
}

forged object_of(const std::string& text) {
  return {"objects/" + to_hex(hash_of(text)), text};
}

} // namespace

SCENARIO("an archive of a backup holds the whole of it and is read again") {
  const temporary_directory directory;
  const auto file = directory.path() / "log.tar.zst";
  REQUIRE(write_archive(file, small_log));
  const auto found = read_archive(file);
  REQUIRE(found);
  CHECK(*found == small_log);
  CHECK(std::filesystem::file_size(file) < 100'000);
  CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::all)
        == (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  CHECK_FALSE(std::filesystem::exists(file.string() + ".part"));
}

SCENARIO(
  "an archive never replaces a file that nobody said it may, and is there whole or not at all") {
  const temporary_directory directory;
  const auto file = directory.path() / "log.tar.zst";
  overwrite(file, "mine");
  CHECK(write_archive(file, small_log).error().code == errc::conflict);
  CHECK(slurp(file) == "mine");
  REQUIRE(write_archive(file, small_log, true));
  CHECK(read_archive(file));
  GIVEN("one that is given up") {
    const auto other = directory.path() / "other.tar.zst";
    {
      auto out = backup_archive_writer::create(other, false);
      REQUIRE(out);
      REQUIRE(out->begin(manifest_of(small_log)));
      CHECK(std::filesystem::exists(other.string() + ".part"));
      CHECK(backup_archive_writer::create(other, false).error().code == errc::conflict);
    }
    CHECK_FALSE(std::filesystem::exists(other));
    CHECK_FALSE(std::filesystem::exists(other.string() + ".part"));
  }
  GIVEN("one that came to be while it was written") {
    const auto other = directory.path() / "other.tar.zst";
    auto out = backup_archive_writer::create(other, false);
    REQUIRE(out);
    REQUIRE(out->begin(manifest_of({{"CURRENT", ""}})));
    overwrite(other, "theirs");
    CHECK(out->finish().error().code == errc::conflict);
    CHECK(slurp(other) == "theirs");
  }
  GIVEN("what a killed run has left, or a link in its place") {
    const auto other = directory.path() / "other.tar.zst";
    overwrite(other.string() + ".part", std::string(100'000, '.'));
    REQUIRE(write_archive(other, small_log));
    CHECK(read_archive(other));
    const auto third = directory.path() / "third.tar.zst";
    std::filesystem::create_symlink(file, third.string() + ".part");
    CHECK_FALSE(write_archive(third, small_log));
    CHECK(read_archive(file));
  }
}

SCENARIO("what is not the content that was said ends an archive while it is written") {
  const temporary_directory directory;
  const auto file = directory.path() / "log.tar.zst";
  const auto manifest = manifest_of(small_log);
  for (const auto* text : {"a long lin_", "a long li", "a long line and more"}) {
    INFO(text);
    auto out = backup_archive_writer::create(file, false);
    REQUIRE(out);
    REQUIRE(out->begin(manifest));
    REQUIRE(out->begin_object({"blobs/ab/abcd", 11, hash_of("a long line")}));
    const auto done = out->write(text).and_then([&] { return out->end_object(); });
    CHECK(done.error().code == errc::corrupt);
  }
  CHECK_FALSE(std::filesystem::exists(file));
}

SCENARIO("an archive that is damaged anywhere, or cut short, is refused") {
  const temporary_directory directory;
  const auto file = directory.path() / "log.tar.zst";
  contents files{{"CURRENT", "MANIFEST-000001\n"}};
  std::string noise(40'000, '\0');
  std::uint32_t state = 7;
  for (auto& c : noise)
    c = static_cast<char>((state = state * 1'664'525 + 1'013'904'223) >> 24);
  files["000012.sst"] = noise;
  REQUIRE(write_archive(file, files));
  const auto good = slurp(file);
  std::size_t cut_steps = good.size() / 40;
  for (std::size_t size = 0; size < good.size(); size += cut_steps) {
    overwrite(file, good.substr(0, size));
    INFO("cut to " << size << " of " << good.size());
    CHECK_FALSE(read_archive(file));
  }
  for (std::size_t at = 0; at < good.size(); at += cut_steps) {
    auto bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    overwrite(file, bad);
    INFO("a bit of byte " << at << " of " << good.size());
    const auto found = read_archive(file);
    CHECK((!found || *found == files)); // never another content
  }
  overwrite(file, "no archive");
  CHECK(read_archive(file).error().code == errc::corrupt);
  CHECK(read_archive(directory.path() / "none.tar.zst").error().code == errc::not_found);
  REQUIRE(::mkfifo((directory.path() / "pipe.tar.zst").c_str(), 0600) == 0);
  CHECK(read_archive(directory.path() / "pipe.tar.zst").error().code == errc::corrupt);
}

SCENARIO("an archive with anything in it but its list and what that names is refused") {
  const temporary_directory directory;
  const auto file = directory.path() / "log.tar.zst";
  const contents two{{"CURRENT", "MANIFEST-000001\n"}, {"000012.sst", "twelve"}};
  const auto manifest = manifest_of(two);
  const auto list = list_of(manifest);
  const auto current = object_of("MANIFEST-000001\n");
  const auto twelve = object_of("twelve");
  forge(file, {list, current, twelve});
  const auto unchanged = read_archive(file); // of the cases below
  INFO((unchanged ? "" : unchanged.error().describe()));
  REQUIRE(unchanged);
  forge(file, {list, twelve, current});
  CHECK(read_archive(file));

  auto renamed = [](forged entry, std::string name) {
    entry.name = std::move(name);
    return entry;
  };
  auto of_type = [](forged entry, unsigned type) {
    entry.type = type;
    if (type != AE_IFREG)
      entry.text.clear();
    return entry;
  };
  auto linked = [](forged entry, bool hard) {
    entry.link = "/etc/passwd";
    entry.is_hard_link = hard;
    entry.text.clear();
    if (!hard)
      entry.type = AE_IFLNK;
    return entry;
  };
  auto holding = [](forged entry, std::string text) {
    entry.text = std::move(text);
    return entry;
  };
  auto early = manifest;
  early.time = timestamp{0};
  auto upward = list;
  upward.text.replace(upward.text.find("000012.sst"), 10, "../../x.ss");
  auto two_sizes = manifest;
  two_sizes.files.push_back({"other", 7, hash_of("twelve")});
  const std::map<std::string, std::vector<forged>> cases{
    {"nothing", {}},
    {"only its list", {list}},
    {"an object missing", {list, current}},
    {"an object twice", {list, current, twelve, twelve}},
    {"its list twice", {list, list, current, twelve}},
    {"its list last", {current, twelve, list}},
    {"no list", {current, twelve}},
    {"a second list", {list, list_of(early), current, twelve}},
    {"a list under another time",
     {renamed(list, "backups/20010101T000000.000Z.json"), current, twelve}},
    {"a list elsewhere", {renamed(list, "/" + list.name), current, twelve}},
    {"a list that leads out", {upward, current, twelve}},
    {"a list that is none", {holding(list, "{}"), current, twelve}},
    {"a list with a content of two sizes", {list_of(two_sizes), current, twelve}},
    {"an absolute name", {list, renamed(current, "/" + current.name), twelve}},
    {"a name upward", {list, renamed(current, "../" + current.name), twelve}},
    {"a name with a detour", {list, renamed(current, "objects/../" + current.name), twelve}},
    {"a name in dots", {list, renamed(current, "./" + current.name), twelve}},
    {"an unknown name", {list, current, twelve, object_of("more")}},
    {"a foreign file", {list, current, twelve, {"readme", "x"}}},
    {"a directory", {list, of_type({"objects", ""}, AE_IFDIR), current, twelve}},
    {"a device", {list, of_type(current, AE_IFCHR), twelve}},
    {"a pipe", {list, of_type(current, AE_IFIFO), twelve}},
    {"a symbolic link", {list, linked(current, false), twelve}},
    {"a hard link", {list, linked(current, true), twelve}},
    {"another content", {list, current, holding(twelve, "tvelve")}},
    {"a larger content", {list, current, holding(twelve, std::string(50'000'000, '\0'))}},
    {"a smaller content", {list, current, holding(twelve, "twelv")}},
    {"a list without bounds", {holding(list, std::string(most_archived_manifest_bytes + 1, ' '))}},
  };
  for (const auto& [what, entries] : cases) {
    INFO(what);
    forge(file, entries);
    const auto found = read_archive(file);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == errc::corrupt);
    CHECK_THAT(found.error().describe(), Catch::Contains("log.tar.zst"));
  }
}
